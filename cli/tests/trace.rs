//! `gil trace`: exit codes, and a sentence for what is no recording.

use gil_files::container::{Compression, pieces};
use gil_files::recording::{FILE, Record, SessionClosed, SessionOpened};
use nix::fcntl::{Flock, FlockArg};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A folder in which `gil` runs.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn gil(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gil"));
        command.args(args).current_dir(self.0.path());
        command
    }
}

/// A session that did nothing.
fn recording(process: u32) -> Vec<u8> {
    let opened = Record::SessionOpened(SessionOpened {
        session: 1,
        process,
        pointer_bits: 64,
        apis: gil_wire::api::described(&[1]),
    });
    let closed = Record::SessionClosed(SessionClosed { session: 1 });
    let records = [opened, closed].map(|record| {
        let pieces = pieces(&record, &[], Compression::None);
        pieces.unwrap().concat()
    });
    [&FILE.header()[..], &records.concat()].concat()
}

/// What it prints, and its exit code.
fn gil(bench: &Bench, args: &[&str]) -> (String, Option<i32>, String) {
    let output = bench.gil(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        text(output.stdout),
        output.status.code(),
        text(output.stderr),
    )
}

#[test]
fn a_recording_is_listed_counted_shown_and_compared() {
    let bench = Bench::new();
    std::fs::write(bench.path("a"), recording(42)).unwrap();
    std::fs::write(bench.path("b"), recording(43)).unwrap();
    for (args, word) in [
        (&["trace", "ls", "a"][..], "its end is whole"),
        (&["trace", "ls", "--json", "a"], "\"process\": 42"),
        (&["trace", "stats", "a"], "board's CPU"),
        (&["trace", "stats", "--json", "a"], "\"entries\": []"),
        (&["trace", "stats", "--csv", "a"], ""),
        (&["trace", "show", "--bytes", "a"], "session opened"),
        (
            &["trace", "show", "--bytes=16", "--from", "2", "a"],
            "session closed",
        ),
        (
            &["trace", "diff", "a", "b"],
            "the same run: 1 session, 0 calls",
        ),
        (&["trace", "merge", "a", "b", "--out", "c"], ""),
        (&["trace", "ls", "c"], "4 records"),
    ] {
        let (out, code, err) = gil(&bench, args);
        assert_eq!((code, &err[..]), (Some(0), ""), "{args:?}");
        assert!(out.contains(word), "{args:?}: {out}");
    }
    let (out, code, _) = gil(&bench, &["trace", "diff", "a", "c"]);
    assert_eq!(code, Some(1), "{out}");
}

#[test]
fn what_is_no_whole_recording_is_a_sentence_and_a_code() {
    let bench = Bench::new();
    let whole = recording(42);
    std::fs::write(bench.path("a"), &whole).unwrap();
    std::fs::write(bench.path("cut"), &whole[..whole.len() - 1]).unwrap();
    std::fs::write(bench.path("empty"), "").unwrap();
    for (args, code, word) in [
        (
            &["trace", "ls", "cut"][..],
            1,
            "record the run again, or copy",
        ),
        (
            &["trace", "stats", "cut"],
            1,
            "record the run again, or copy",
        ),
        (
            &["trace", "show", "cut"],
            1,
            "record the run again, or copy",
        ),
        (
            &["trace", "diff", "a", "cut"],
            2,
            "record the run again, or copy",
        ),
        (&["trace", "diff", "a", "nowhere"], 2, "No such file"),
        (&["trace", "ls", "empty"], 1, "the file is empty: check"),
        (&["trace", "ls", "/dev/null"], 1, "the file is empty: check"),
        (
            &["trace", "show", "--session", "7", "a"],
            1,
            "has no session 7",
        ),
        (
            &["trace", "show", "--from", "1000000", "a"],
            1,
            "has no record 1000000: its last is",
        ),
        (
            &["trace", "show", "--from", "5", "--to", "3", "a"],
            1,
            "no record is from 5 to 3",
        ),
        (
            &["trace", "merge", "a", "a", "--out", "/proc"],
            1,
            "cannot write --out /proc: Is a directory",
        ),
        (
            &["trace", "show", "--call", "clNever", "a"],
            2,
            "no API has an entry point",
        ),
        (
            &["trace", "merge", "a", "cut", "--out", "c"],
            1,
            "record the run again",
        ),
        (
            &["trace", "merge", "a", "a", "--out", "a"],
            1,
            "is read and written",
        ),
        (&["trace", "merge", "a", "--out", "c"], 2, "required"),
    ] {
        let (_, found, err) = gil(&bench, args);
        assert_eq!(found, Some(code), "{args:?}: {err}");
        assert!(err.contains(word), "{args:?}: {err}");
    }
    assert!(!bench.path("c").exists());
    assert_eq!(std::fs::read(bench.path("a")).unwrap(), whole);
}

#[test]
fn nobody_needs_to_read_it() {
    let bench = Bench::new();
    let mut long = FILE.header().to_vec();
    for _ in 0..20_000 {
        let closed = Record::SessionClosed(SessionClosed { session: 1 });
        let closed = pieces(&closed, &[], Compression::None).unwrap().concat();
        long.extend(closed);
    }
    std::fs::write(bench.path("a"), long).unwrap();
    for args in [&["trace", "show", "a"][..], &["trace", "ls", "a"]] {
        let mut child = bench
            .gil(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = bench
        .gil(&["trace", "show", "a"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("cannot write the result") && said.contains("make room"),
        "{said}"
    );
}

/// What is being written may be looked at. What is read in parts may not change meanwhile.
#[test]
fn a_recording_that_a_run_writes_is_listed_and_not_merged() {
    let bench = Bench::new();
    for name in ["a", "b"] {
        std::fs::write(bench.path(name), recording(42)).unwrap();
    }
    let lock = |how| {
        let file = std::fs::File::open(bench.path("a")).unwrap();
        Flock::lock(file, how).map_err(|(_, errno)| errno).unwrap()
    };
    let merge = |args: [&str; 2], out| {
        let args = [&["trace", "merge"], &args[..], &["--out", out]].concat();
        let (_, code, said) = gil(&bench, &args);
        (code, said)
    };
    let writes = lock(FlockArg::LockExclusiveNonblock);
    assert_eq!(gil(&bench, &["trace", "ls", "a"]).1, Some(0));
    let (code, said) = merge(["a", "b"], "c");
    assert_eq!(code, Some(1));
    assert!(said.starts_with("gil: a run writes a, "), "{said}");
    assert!(!bench.path("c").exists());
    drop(writes);
    let reads = lock(FlockArg::LockSharedNonblock);
    std::fs::copy(bench.path("b"), bench.path("c")).unwrap();
    let (code, said) = merge(["b", "c"], "a");
    assert_eq!(code, Some(1));
    let sentence = "gil: another run writes or replays a: wait";
    assert!(said.starts_with(sentence), "{said}");
    assert_eq!(std::fs::read(bench.path("a")).unwrap(), recording(42));
    drop(reads);
    assert_eq!(merge(["b", "c"], "a").0, Some(0));
    // What programs sent is for nobody else, as in a run's recording.
    assert_eq!(merge(["b", "c"], "new").0, Some(0));
    let mode = std::fs::metadata(bench.path("new")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}
