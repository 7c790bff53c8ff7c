//! A run is added to the recording that it answered from.

mod common;

use common::{Made, called};
use gil_files::container::Compression;
use gil_trace::merge::add_run;
use gil_trace::{Trace, diff::Compared};
use std::path::{Path, PathBuf};

/// A recording with a session for each list of calls.
fn made(folder: &Path, name: &str, sessions: &[&[&str]], compression: Compression) -> PathBuf {
    let mut made = Made::new(compression);
    for (number, calls) in (1..).zip(sessions) {
        made.open(number);
        for (seq, name) in (1..).zip(*calls) {
            made.call(called(number, seq, name), &[]);
        }
        made.close(number);
    }
    let path = folder.join(name);
    std::fs::write(&path, made.bytes).unwrap();
    path
}

const GET: &str = "clGetPlatformIDs";
const INFO: &str = "clGetPlatformInfo";

#[test]
fn the_new_run_comes_first_and_what_it_repeats_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let at =
        |name: &str, sessions: &[&[&str]]| made(folder.path(), name, sessions, Compression::None);
    let old = at("old", &[&[GET, GET], &[INFO]]);
    let run = at("run", &[&[GET, INFO], &[INFO]]);
    let out = folder.path().join("out");
    assert!(add_run(&run, &old, &out).unwrap());
    let wanted = at("wanted", &[&[GET, INFO], &[INFO], &[GET, GET]]);
    let [mut out, mut wanted] = [out, wanted].map(|path| Trace::open(&path).unwrap());
    let compared = Compared::of(&mut out, &mut wanted).unwrap();
    assert!(compared.are_equal(), "{}", compared.text());
}

#[test]
fn nothing_is_written_of_a_run_that_is_there_already() {
    let folder = tempfile::tempdir().unwrap();
    let old: &[&[&str]] = &[&[GET, GET], &[INFO]];
    let old = made(folder.path(), "old", old, Compression::None);
    let run = made(folder.path(), "run", &[&[INFO]], Compression::Lz4);
    let out = folder.path().join("out");
    assert!(!add_run(&run, &old, &out).unwrap());
    assert!(!out.exists());
}
