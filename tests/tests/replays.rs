//! Runs from a recording: what differs from the recorded run ends them, and `gil trace`
//! makes one recording of several.

use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, binary, guest_program};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A run of the program with options of `gil run`.
fn run(options: &[&str], args: &[&str]) -> Finished {
    let program = guest_program("tests/guest/cl_replayed.c", Link::OpenCl);
    let program = program.display().to_string();
    Run::new([options, &[&program], args].concat()).finish()
}

struct Recorded {
    folder: tempfile::TempDir,
}

impl Recorded {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The recording of a run that writes this byte.
    fn run(&self, byte: &str) -> String {
        let file = self.path(byte).display().to_string();
        let recorded = run(&["--record", &file], &[byte]).ok();
        assert_eq!(recorded.stdout, format!("{byte}\n"));
        file
    }
}

/// `gil trace` with these arguments: what it prints, and its exit code.
fn trace(args: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(binary("gil")).arg("trace").args(args).output();
    let output = output.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (
        String::from_utf8(output.stdout).unwrap(),
        output.status.code(),
    )
}

/// The sentence with which a run departs from the recording ends it.
fn departs(recording: &str, args: &[&str], call: &str, clause: &str) {
    let replayed = run(&["--board", &format!("replay:{recording}")], args);
    assert_eq!(replayed.code, Some(125), "{replayed:#?}");
    assert_eq!(replayed.stdout, "", "{replayed:#?}");
    let lines = replayed.stderr.lines();
    let sentence = "gil: the run departs from the recording at call ";
    let mut sentences = lines.filter_map(|line| line.strip_prefix(sentence));
    let said = sentences.next().unwrap_or_default();
    let place = format!(" of session 1 ({call}, thread ");
    assert!(
        said.contains(&place) && said.contains(", sequence number "),
        "{replayed:#?}"
    );
    assert!(said.contains(clause), "{replayed:#?}");
    assert_eq!(sentences.next(), None, "{replayed:#?}");
}

#[test]
fn a_request_that_differs_ends_the_run_and_names_the_first_byte() {
    let recorded = Recorded::new();
    let a = recorded.run("a");
    let replay = format!("replay:{a}");
    let replayed = run(&["--board", &replay], &["a"]).ok();
    assert_eq!(replayed.stdout, "a\n");
    let clause = "byte 4321 of region 0 is 0x62 now and 0x61 in the recording;";
    departs(&a, &["b"], "clEnqueueWriteBuffer", clause);
    departs(&a, &["a", "6000"], "clCreateBuffer", "of its arguments is ");
    let b = recorded.run("b");
    let (said, code) = trace(&["diff", &a, &b]);
    assert_eq!(code, Some(1), "{said}");
    let clause = "byte 4321 of region 0 is 0x61 in a and 0x62 in b\n";
    assert!(said.contains(clause), "{said}");
    assert_eq!(trace(&["diff", &a, &a]).1, Some(0));
}

#[test]
fn two_recordings_as_one_serve_both_runs() {
    let recorded = Recorded::new();
    let (a, b) = (recorded.run("a"), recorded.run("b"));
    let both = recorded.path("both").display().to_string();
    assert_eq!(
        trace(&["merge", &a, &b, "--out", &both]),
        (String::new(), Some(0))
    );
    let agent = Scripted::with(&["--replay", &both]);
    for byte in ["a", "b"] {
        let replayed = run(&["--board", agent.address()], &[byte]).ok();
        assert_eq!(replayed.stdout, format!("{byte}\n"));
    }
    let more = run(&["--board", agent.address()], &["a"]);
    assert_eq!(more.code, Some(125), "{more:#?}");
    assert!(
        more.stderr
            .contains("the recording holds 2 sessions and one more was opened")
    );
}

#[test]
fn a_recording_of_a_run_is_listed_and_counted() {
    let recorded = Recorded::new();
    let a = recorded.run("a");
    let (listed, code) = trace(&["ls", &a]);
    assert_eq!(code, Some(0));
    assert!(
        listed.contains("its end is whole") && listed.contains(" closed "),
        "{listed}"
    );
    assert!(listed.contains("session 1, opencl device "), "{listed}");
    let (shown, _) = trace(&["show", "--call", "clEnqueueWriteBuffer", "--bytes=4", &a]);
    assert!(
        shown.contains("  enqueue  ") && shown.contains("2e 2e 2e 2e"),
        "{shown}"
    );
    assert!(
        shown.contains("region 0 in: 5000 bytes, the first 4"),
        "{shown}"
    );
    let (csv, _) = trace(&["stats", "--csv", &a]);
    let write = csv
        .lines()
        .find(|line| line.starts_with("clEnqueueWriteBuffer,"));
    assert!(
        write
            .unwrap()
            .starts_with("clEnqueueWriteBuffer,opencl,enqueue,1,0,50"),
        "{csv}"
    );
    assert!(Path::new(&a).exists());
}
