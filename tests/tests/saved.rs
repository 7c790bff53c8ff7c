//! A run continues a guest that booted before and was saved. Nothing of the
//! program tells that from a guest that boots.

use gil_tests::{Finished, Link, Run, guest_program};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What is saved, in the cache.
const SAVED: &str = "saved-guests";

/// A cache with all that this machine's has, but for saved guests.
fn cache() -> TempDir {
    let usual = std::env::var_os("GIL_CACHE").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/gil"),
        PathBuf::from,
    );
    Run::new(["true"]).finish().ok();
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(usual).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != SAVED {
            symlink(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    folder
}

fn saved(cache: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.join(SAVED)).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Runs `echo hello` with this cache.
fn hello(cache: &Path, options: &[&str]) -> Finished {
    let mut run = Run::new([options, &["echo", "hello"]].concat());
    run.command().env("GIL_CACHE", cache);
    let finished = run.finish().ok();
    assert_eq!(finished.stdout, "hello\n", "{finished:?}");
    finished
}

/// What the program saw, and what gil counted of it, with the board's answers
/// from a recording.
fn replayed(recording: &str, options: &[&str], program: &[&str]) -> (String, Vec<String>) {
    let common = ["--count", "--board", recording];
    let run = Run::new([options, &common, program].concat()).finish().ok();
    let parts = ["simulated", "guest", "totals", "calls"];
    let counted = parts.map(|part| run.report[part].to_string());
    (run.stdout, counted.to_vec())
}

#[test]
fn the_examples_are_the_same_in_a_guest_that_boots_and_in_a_saved_one() {
    let examples: [(&str, &[&str]); 6] = [
        ("vector-add", &["--out", "-", "4099"]),
        ("reduction", &["--out", "-", "5003"]),
        ("histogram", &["--out", "-", "50021"]),
        ("n-body", &["--out", "-", "67", "4"]),
        ("matmul-split", &["--out", "-", "35", "48", "3"]),
        ("matmul", &["2"]),
    ];
    let work = tempfile::tempdir().unwrap();
    for (name, args) in examples {
        let source = format!("examples/{name}/{name}.c");
        let program = guest_program(&source, Link::OpenCl).display().to_string();
        let program = [&[&program[..]], args].concat();
        let file = work.path().join(name).display().to_string();
        let record = ["--boot", "--record", &file];
        let recorded = Run::new([&record[..], &program].concat()).finish().ok();
        let recording = format!("replay:{file}");
        let booted = replayed(&recording, &["--boot"], &program);
        let continued = replayed(&recording, &[], &program);
        assert_eq!(booted, continued, "{name}");
        assert_eq!(booted.0, recorded.stdout, "{name}");
    }
}

#[test]
fn two_runs_continue_one_guest_at_once() {
    let script = "i=0; while [ $i -lt 40 ]; do echo $1 $i >>/tmp/x; i=$((i + 1)); done
        wc -l </tmp/x; sort -u /tmp/x | cut -c 1 | sort -u";
    let runs = ["a", "b"].map(|name| {
        (
            name,
            Run::new(["--", "sh", "-c", script, "sh", name]).start(),
        )
    });
    for (name, (child, folder)) in runs {
        let run = Finished::of(child.wait_with_output().unwrap(), &folder).ok();
        assert_eq!(run.stdout, format!("40\n{name}\n"));
    }
}

#[test]
fn a_guest_is_saved_once_and_anew_where_it_is_damaged_or_another() {
    let cache = cache();
    hello(cache.path(), &["--boot"]);
    assert!(saved(cache.path()).is_empty());
    hello(cache.path(), &[]);
    let [one] = &saved(cache.path())[..] else {
        panic!("one guest is saved");
    };
    let state = fs::read(one.join("state")).unwrap();
    let made = || fs::metadata(one.join("state")).unwrap().modified().unwrap();
    let first = made();
    hello(cache.path(), &["--env", "A=B"]);
    assert_eq!((saved(cache.path()).len(), made()), (1, first));

    fs::write(one.join("state"), &state[..state.len() / 2]).unwrap();
    hello(cache.path(), &[]);
    assert_eq!(fs::read(one.join("state")).unwrap().len(), state.len());
    fs::remove_file(one.join("ram")).unwrap();
    hello(cache.path(), &[]);
    assert_eq!(saved(cache.path()).len(), 1);

    hello(cache.path(), &["--memory", "512M"]);
    let both = saved(cache.path());
    let aside = cache.path().join("aside");
    for (from, to) in [(&both[0], &aside), (&both[1], &both[0]), (&aside, &both[1])] {
        fs::rename(from, to).unwrap();
    }
    // Each is whole, and another machine's.
    hello(cache.path(), &[]);
    hello(cache.path(), &["--memory", "512M"]);
    hello(cache.path(), &["--cpu", "cortex-a72"]);
    assert_eq!(saved(cache.path()).len(), 3);
}

#[test]
fn a_guest_that_cannot_be_saved_boots_and_says_so() {
    let cache = cache();
    fs::write(cache.path().join(SAVED), "no folder").unwrap();
    let run = Run::new(["echo", "hello"]);
    let mut run = run;
    run.command().env("GIL_CACHE", cache.path());
    let run = run.finish().ok();
    assert_eq!(run.stdout, "hello\n");
    // --quiet: no notes.
    assert!(!run.stderr.contains("saved"), "{}", run.stderr);
}

/// The module is loaded before a guest is saved.
#[test]
fn who_watches_a_module_of_the_kernels_sees_it_loaded() {
    let run = Run::new([
        "--watch",
        "overlay:ovl_get_tree",
        "--watch-limit",
        "1",
        "true",
    ]);
    let run = run.finish().ok();
    assert!(run.stderr.contains("overlay:ovl_"), "{}", run.stderr);
}
