//! Work that comes again takes what it took, in the same run and in the next.

mod support;

use gil_host::Config;
use gil_wire::envelope::Class;
use std::path::Path;
use support::board::{Act, FakeBoard};
use support::guest::{Guest, call};

const ENTRY: u64 = 1_000_000;

/// When calls return that did this work, and took so many nanoseconds on the board.
fn returns<const N: usize>(file: Option<&Path>, works: [(Option<u64>, u64); N]) -> [u64; N] {
    let acts = works.map(|(work, cpu_ns)| Act {
        work,
        cpu_ns,
        ..Act::default()
    });
    let board = FakeBoard::acts(acts);
    let config = Config {
        board: Some(board.address()),
        work_times: file.map(Into::into),
        ..Config::default()
    };
    let mut guest = Guest::with(config, false);
    guest.now_ns = ENTRY;
    works.map(|_| guest.submit(&[call(Class::Sync, ENTRY)], &[]).deadline_ns - ENTRY)
}

#[test]
fn equal_work_takes_what_it_took() {
    let works = [
        (Some(1), 700),
        (Some(2), 50),
        (Some(1), 9),
        (None, 30),
        (None, 31),
        (Some(2), 8_000),
    ];
    assert_eq!(returns(None, works), [700, 50, 700, 30, 31, 50]);
    assert_eq!(returns(None, [(Some(1), 9)]), [9], "another run");
}

#[test]
fn a_file_keeps_it_for_later_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("times.csv");
    assert_eq!(returns(Some(&file), [(Some(1), 700)]), [700]);
    assert_eq!(returns(Some(&file), [(Some(1), 9), (Some(3), 4)]), [700, 4]);
    assert_eq!(returns(Some(&file), [(Some(3), 9)]), [4]);
}
