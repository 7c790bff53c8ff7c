//! Regions of which only rows count, on their way through the host interface.

mod support;

use gil_uapi::Status;
use gil_wire::envelope::{Class, Envelope};
use gil_wire::rows::{RegionRows, Rows};
use support::board::{Act, FakeBoard};
use support::guest::{DATA, Guest, IN, OUT, call, config, enqueue};

const OK: u32 = Status::Ok as u32;

/// Three rows of 2 bytes, 5 bytes from one's beginning to the next one's.
fn rows() -> Vec<RegionRows> {
    let rows = Rows {
        row: 2,
        rows: 3,
        row_pitch: 5,
        slices: 1,
        slice_pitch: 0,
    };
    vec![RegionRows { region: 0, rows }]
}

fn with_rows(envelope: Envelope<'static>) -> Envelope<'static> {
    Envelope {
        regions: 1,
        rows: rows().into(),
        ..envelope
    }
}

#[test]
fn the_board_gets_the_rows_one_behind_the_other() {
    let board = FakeBoard::new(|_| Act::default());
    let mut guest = Guest::new(&board);
    guest.write(DATA, b"ab...cd...ef");
    let seen = guest.submit(&[with_rows(call(Class::Sync, 0))], &[(DATA, 12, IN)]);
    assert_eq!(seen.status, OK);
    assert_eq!(board.calls()[0].payload, b"abcdef");
}

fn held_rows_leave_the_gaps(callbacks: bool) {
    let report = (1, 50_000, vec![b"abcdef".to_vec()]);
    let board = FakeBoard::acts([Act {
        cpu_ns: 100,
        reports: vec![report],
        ..Act::default()
    }]);
    let mut guest = Guest::with(config(Some(&board)), callbacks);
    guest.write(DATA, b"............");
    let read = with_rows(enqueue(1, 1_000_000));
    let seen = guest.submit(&[read], &[(DATA, 12, OUT)]);
    assert_eq!(seen.status, OK);
    // The program writes between the rows before they come.
    guest.write(DATA, b"..123..456..");
    guest.now_ns = 2_000_000;
    guest.collect();
    assert_eq!(guest.read(DATA, 12), b"ab123cd456ef");
}

#[test]
fn held_rows_leave_the_gaps_in_mapped_ram() {
    held_rows_leave_the_gaps(false);
}

#[test]
fn held_rows_leave_the_gaps_behind_callbacks() {
    held_rows_leave_the_gaps(true);
}

#[test]
fn rows_beyond_the_region_are_refused() {
    let board = FakeBoard::new(|_| Act::default());
    let mut guest = Guest::new(&board);
    let seen = guest.submit(&[with_rows(call(Class::Sync, 0))], &[(DATA, 11, IN)]);
    assert_eq!(seen.status, Status::BadRequest as u32);
    assert!(board.calls().is_empty());
}
