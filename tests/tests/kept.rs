//! A file that `--record` or `--calls` names is replaced by a run that has something to put
//! there, and by one run at a time.

use gil_tests::{Finished, Link, Run, guest_program};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A folder with a recording and a log of calls.
struct Kept {
    folder: tempfile::TempDir,
    program: String,
}

impl Kept {
    fn new() -> Self {
        let program = guest_program("tests/guest/cl_replayed.c", Link::OpenCl);
        let kept = Self {
            folder: tempfile::tempdir().unwrap(),
            program: program.display().to_string(),
        };
        kept.run(&[&kept.program, "a"]).ok();
        kept
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Finished {
        let files = [("--record", "trace"), ("--calls", "calls")];
        let files = files.map(|(option, name)| format!("{option}={}", self.at(name).display()));
        let files = files.iter().map(String::as_str);
        Run::new(files.chain(args.iter().copied())).finish()
    }

    fn bytes(&self) -> [Vec<u8>; 2] {
        ["trace", "calls"].map(|name| fs::read(self.at(name)).unwrap())
    }
}

#[test]
fn a_run_that_does_not_start_in_the_guest_leaves_them_as_they_were() {
    let kept = Kept::new();
    let before = kept.bytes();
    assert!(before.iter().all(|bytes| bytes.len() > 100));
    let share = kept.at("share");
    fs::create_dir(&share).unwrap();
    let script = |name: &str, text: &str, mode| {
        fs::write(share.join(name), text).unwrap();
        fs::set_permissions(share.join(name), Permissions::from_mode(mode)).unwrap();
    };
    script("plain", "#!/bin/sh\n", 0o644);
    script("lost", "#!/no/such/interpreter\n", 0o755);
    let share = format!("--share={}:/mnt/it", share.display());
    let wrong = [
        &[&share[..], "/mnt/it/plain"][..],
        &[&share, "/mnt/it/lost"],
        &[&share, "/mnt/it/missing"],
        &["--call-sites", &share, "/mnt/it/lost"],
        &["no-such-program"],
        &["--cpu", "no-such-cpu", "true"],
        &["--board", "unix:/no/such/board", "true"],
        &["--no-such-option", "true"],
    ];
    for args in wrong {
        let run = kept.run(args);
        let is_no_start = matches!(run.code, Some(125..=127));
        assert!(is_no_start, "{args:?}: {run:#?}");
        assert!(kept.bytes() == before, "{args:?}: {run:#?}");
    }
    let names = fs::read_dir(kept.folder.path()).unwrap().count();
    assert_eq!(names, 3, "nothing is left beside them");
}

#[test]
fn a_program_without_calls_has_an_empty_recording() {
    let kept = Kept::new();
    let before = kept.bytes();
    kept.run(&["true"]).ok();
    let after = kept.bytes();
    for (before, after) in before.iter().zip(&after) {
        assert!(!after.is_empty() && after.len() < before.len());
        assert_eq!(before[..9], after[..9]);
    }
    let replay = format!("replay:{}", kept.at("trace").display());
    Run::new(["--board", &replay, "true"]).finish().ok();
}

fn refused(option: &str, file: &Path) {
    let file = file.display().to_string();
    let run = Run::new([option, &file, "true"]).finish();
    assert_eq!(run.code, Some(125), "{run:#?}");
    let sentence = format!("another run writes {option} {file}: wait until it ends");
    assert!(run.stderr.contains(&sentence), "{run:#?}");
}

#[test]
fn two_runs_do_not_write_to_one_file() {
    let kept = Kept::new();
    let other = kept.at("other");
    fs::hard_link(kept.at("trace"), &other).unwrap();
    let script = "echo begun; while :; do sleep 1; done";
    let trace = kept.at("trace").display().to_string();
    let calls = kept.at("new").display().to_string();
    let args = ["--record", &trace, "--calls", &calls, "sh", "-c", script];
    let (mut first, _folder) = Run::new(args).start();
    let mut line = String::new();
    let mut output = BufReader::new(first.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    refused("--record", &kept.at("trace"));
    refused("--record", &other);
    refused("--calls", &kept.at("new"));
    let first_pid = nix::unistd::Pid::from_raw(first.id().cast_signed());
    nix::sys::signal::kill(first_pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(130));
    assert!(!kept.at("new").exists(), "no call, no log");
    Run::new(["--record", &trace, &kept.program, "a"])
        .finish()
        .ok();
}

/// A program with the folder of its own recording writes there before its first call.
#[test]
fn what_is_put_there_before_the_first_call_stays() {
    let work = tempfile::tempdir().unwrap();
    let program = guest_program("tests/guest/cl_replayed.c", Link::OpenCl);
    let file = format!("--file={}:/program", program.display());
    let share = format!("--share={}:/mnt/it", work.path().display());
    let script = "echo notes >/mnt/it/file; exec /program a";
    for (option, kind) in [("--record", "recording"), ("--calls", "log of calls")] {
        let path = work.path().join("file").display().to_string();
        let loader = ["--pkg", "ocl-icd-libopencl1"];
        let args = [option, &path, &file, &share, "sh", "-c", script];
        let run = Run::new([&loader[..], &args].concat()).finish();
        let sentence = format!("something that is no {kind} was put into {path}");
        assert!(run.stderr.contains(&sentence), "{run:#?}");
        assert_eq!(fs::read(&path).unwrap(), b"notes\n");
        fs::remove_file(&path).unwrap();
    }
}
