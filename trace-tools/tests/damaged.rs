//! Files that are no recordings, or not whole ones: each gives one sentence, and what is
//! whole is shown.

mod common;

use common::{Folder, refusal, small};
use gil_files::container::{Compression, FileError, HEADER_LEN, Prefix, ReadError};
use gil_trace::show::{Shown, show};
use gil_trace::stats::Stats;
use gil_trace::summary::Summary;
use gil_trace::{Trace, TraceError};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

fn all_with_bytes() -> Shown {
    Shown {
        sessions: BTreeSet::new(),
        calls: BTreeSet::new(),
        records: 1..=u64::MAX,
        bytes: Some(64),
    }
}

/// Reads it in every way; how many records are whole, and what is said at the end.
fn read(path: &Path) -> (u64, Result<(), TraceError>) {
    let open = || match Trace::open(path) {
        Ok(trace) => Ok(trace),
        Err(error) => Err((0, Err(error))),
    };
    let every = || {
        let mut trace = open()?;
        let listed = Summary::of(&mut trace).map(|it| it.table().len());
        let records = trace.records();
        let counted = Stats::of(&mut open()?).map(|it| it.table().len());
        let mut lines = Vec::new();
        let shown = show(&mut open()?, &all_with_bytes(), &mut lines);
        let done = listed.and(counted).and(shown);
        Ok((records, done.and_then(|()| trace.check_whole())))
    };
    every().unwrap_or_else(|refused| refused)
}

fn check_sentence(error: &TraceError) {
    let text = error.to_string();
    assert!(!text.contains('\n') && text.contains(": "), "{text}");
}

#[test]
fn a_recording_is_cut_at_any_byte() {
    let folder = Folder::new();
    let made = small(Compression::Lz4);
    for len in 0..made.bytes.len() {
        let path = folder.file("trace", &made.bytes[..len]);
        let whole = made.starts.iter().filter(|start| **start <= len).count();
        let (records, end) = read(&path);
        assert_eq!(records, whole.saturating_sub(1) as u64, "cut at {len}");
        let is_between = len == HEADER_LEN || made.starts.contains(&len);
        match end {
            Ok(()) => assert!(is_between, "cut at {len}"),
            Err(error) => {
                assert!(!is_between, "cut at {len}: {error}");
                check_sentence(&error);
                assert!(error.to_string().contains("again") || len == 0, "{error}");
            }
        }
    }
}

#[test]
fn a_bit_is_flipped_in_any_byte() {
    let folder = Folder::new();
    for compression in [Compression::None, Compression::Lz4] {
        let made = small(compression);
        // One of each byte.
        for bit in (0..made.bytes.len()).map(|at| at * 8 + at % 8) {
            let mut bytes = made.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (records, end) = read(&folder.file("trace", &bytes));
            let before = made
                .starts
                .iter()
                .filter(|start| **start <= bit / 8)
                .count();
            assert_eq!(records, before.saturating_sub(1) as u64, "bit {bit}");
            check_sentence(&end.expect_err("a checksum differs"));
        }
    }
}

#[test]
fn lengths_are_not_believed() {
    let folder = Folder::new();
    for payload_len in [100 << 30, 200 << 30, u64::MAX] {
        let prefix = Prefix {
            head_len: 10,
            stored_len: payload_len,
            payload_len,
            kind: 2,
            ..Prefix::default()
        };
        let mut bytes = small(Compression::None).bytes;
        bytes.extend(prefix.encode());
        bytes.extend([0; 100]);
        let (records, end) = read(&folder.file("trace", &bytes));
        assert_eq!(records, 11);
        let error = end.unwrap_err();
        let TraceError::Rest { rest, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(rest.bytes, Some(132));
        let is_length = matches!(
            &rest.why,
            ReadError::Cut | ReadError::File(FileError::Length { .. })
        );
        assert!(is_length, "{error}");
    }
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = Folder::new();
    let file = |bytes: &[u8]| refusal(&folder.file("trace", bytes));
    assert!(file(b"").contains("the file is empty: check"));
    assert!(file(b"#!/bin/sh\n").contains("is no gil recording"));
    assert!(file(&[0; 5000]).contains("is no gil recording"));
    let calls = gil_files::calls::FILE.header();
    assert!(file(&calls).contains("is a log of calls, no recording: see `gil report "));
    assert!(file(b"gil-trace").contains("ends within its header: record"));
    let mut newer = small(Compression::None).bytes;
    newer[12] = 8;
    assert!(file(&newer).contains("has layout version 8, this gil reads 7: record it again"));
    let nowhere = refusal(&folder.path("none"));
    assert!(nowhere.contains("No such file") && nowhere.contains("gil run --record"));
    assert!(refusal(folder.path("").as_path()).contains("cannot read the recording"));
}

#[test]
fn a_pipe_is_read_but_not_twice() {
    let folder = Folder::new();
    let path = folder.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let bytes = small(Compression::None).bytes;
    let written = |read: &dyn Fn(Trace)| {
        let (to, bytes) = (path.clone(), bytes.clone());
        let writer = std::thread::spawn(move || {
            // The reader may not want all of it.
            let _ = std::fs::write(to, bytes);
        });
        read(Trace::open(&path).unwrap());
        writer.join().unwrap();
    };
    written(&|mut trace| {
        let summary = Summary::of(&mut trace).unwrap();
        assert_eq!((summary.records, summary.rest), (11, None));
    });
    written(&|mut trace| {
        let shown = show(&mut trace, &all_with_bytes(), &mut Vec::new());
        let error = shown.unwrap_err().to_string();
        assert!(
            error.contains("is no regular file") && error.contains("save it"),
            "{error}"
        );
    });
}

proptest! {
    #[test]
    fn several_damages_at_once_are_survived(
        cut in 0..1200usize,
        flips in prop::collection::vec((0..1200usize, 1..=255u8), 0..4),
        behind in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let folder = Folder::new();
        let mut bytes = small(Compression::Lz4).bytes;
        bytes.truncate(cut);
        for (at, flip) in flips {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= flip;
            }
        }
        bytes.extend(behind);
        if let (_, Err(error)) = read(&folder.file("trace", &bytes)) {
            check_sentence(&error);
        }
    }
}
