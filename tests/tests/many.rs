//! Many objects of each kind, made and freed by four threads in each of two
//! processes: nothing stays behind, on the board or in its table of handles.

use gil_tests::{Link, Run, binary, guest_program, native_program};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// By how much more the agent may grow: its own buffers, and the allocator's
/// arenas of threads that ended.
const SLACK_KIB: i64 = 8 << 10;

/// An agent of the test's own, whose memory and words it sees.
struct Agent {
    child: Child,
    address: String,
}

impl Agent {
    fn start(folder: &Path) -> Self {
        let address = format!("unix:{}", folder.join("board").display());
        let mut child = Command::new(binary("gil-board"))
            .args(["--listen", &address, "--exit-with-stdin"])
            // So that what sessions leave behind is the agent's to hold.
            .args(["--sessions", "threads", "--no-confinement"])
            .env("GIL_LOG", "gil_board=debug")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("gil-board starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert!(line.starts_with("listening on"), "{line}");
        Self { child, address }
    }

    fn resident_kib(&self) -> i64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        let pages: i64 = text.split(' ').nth(1).unwrap().parse().unwrap();
        pages * 4
    }

    /// Ends it; what it said.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut said = String::new();
        let stderr = self.child.stderr.as_mut().expect("piped");
        stderr.read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success());
        said
    }
}

/// By how much two processes grow natively in a second round of the same.
fn native_growth_kib(folder: &Path, many: [&str; 2]) -> i64 {
    let output = Command::new(native_program("tests/guest/cl_many.c", folder))
        .args(many)
        .args(["2", "tell"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let kib = |line: &str| {
        line.strip_prefix("grew by ")?
            .split(' ')
            .next()?
            .parse()
            .ok()
    };
    text.lines()
        .filter_map(kib)
        .map(|kib: i64| kib.max(0))
        .sum()
}

#[test]
fn many_objects_leave_nothing_behind() {
    leave_nothing_behind(["1000", "16"]);
}

#[test]
#[ignore = "takes minutes: cargo test -p gil-tests --test many -- --ignored --nocapture"]
fn ten_thousand_objects_leave_nothing_behind() {
    leave_nothing_behind(["10000", "100"]);
}

/// With so many objects of each kind, and so many built programs.
fn leave_nothing_behind(many: [&str; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::start(folder.path());
    let program = guest_program("tests/guest/cl_many.c", Link::OpenCl);
    let program = program.display().to_string();
    let mut resident = Vec::new();
    for _ in 0..2 {
        let args = ["--board", &agent.address, &program, many[0], many[1], "1"];
        let run = Run::new(args).finish().ok();
        assert_eq!(run.stdout, "ok\nok\n", "{}", run.stderr);
        resident.push(agent.resident_kib());
    }
    let grown = resident[1] - resident[0];
    let said = agent.end();
    let over: Vec<&str> = said
        .lines()
        .filter(|l| l.contains("session over"))
        .collect();
    assert_eq!(over.len(), 4, "{said}");
    assert!(over.iter().all(|l| l.contains("left=0")), "{over:#?}");
    let native = native_growth_kib(folder.path(), many);
    println!("the agent grew by {grown} KiB, two native processes by {native} KiB");
    assert!(
        grown <= native + SLACK_KIB,
        "{grown} KiB, natively {native} KiB"
    );
}
