//! However a run ends, it says why and leaves no process and no file behind.

use gil_tests::{Finished, Link, binary, guest_program, processes_naming};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A run whose temporary files and processes can be distinguished from others'.
struct Watched {
    folder: TempDir,
}

impl Watched {
    fn new() -> Self {
        // Short: sockets lie below.
        let folder = tempfile::Builder::new().prefix("gil-e-").tempdir_in("/tmp");
        Self {
            folder: folder.expect("a temporary folder"),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// With a letter that QEMU's options give a meaning.
    fn temp(&self) -> PathBuf {
        self.path().join("tmp=")
    }

    fn gil(&self, args: &[&str]) -> Command {
        let report = self.path().join("report.json");
        let temp = self.temp();
        std::fs::create_dir_all(&temp).expect("a folder");
        let mut command = Command::new(binary("gil"));
        command
            .args(["run", "--quiet", "--json"])
            .arg(report)
            .args(args)
            .env("TMPDIR", temp)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A run whose program has written its first line and goes on for ever.
    fn endless(&self) -> Child {
        let script = "echo begun; while :; do sleep 1; done";
        let mut child = self.gil(&["sh", "-c", script]).spawn().expect("gil starts");
        let stdout = child.stdout.as_mut().expect("a pipe");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("output");
        assert_eq!(line, "begun\n");
        child
    }

    fn finish(&self, child: Child) -> Finished {
        Finished::of(child.wait_with_output().expect("gil ends"), &self.folder)
    }

    /// Processes of the run, by what their command lines name.
    fn processes(&self) -> Vec<String> {
        processes_naming(&self.temp().display().to_string())
    }

    #[track_caller]
    fn no_process_is_left(&self) {
        let until = Instant::now() + Duration::from_secs(5);
        while !self.processes().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.processes(), Vec::<String>::new());
    }

    #[track_caller]
    fn no_file_is_left(&self) {
        let left = std::fs::read_dir(self.temp()).expect("a folder");
        let left: Vec<PathBuf> = left.flatten().map(|entry| entry.path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).expect("it runs");
}

#[test]
fn ctrl_c_ends_everything_soon() {
    for (number, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let watched = Watched::new();
        let child = watched.endless();
        assert!(watched.processes().len() >= 2, "{:?}", watched.processes());
        let sent = Instant::now();
        signal(&child, number);
        let run = watched.finish(child);
        assert!(
            sent.elapsed() < Duration::from_secs(5),
            "{:?}",
            sent.elapsed()
        );
        assert_eq!(run.code, Some(code), "{run:#?}");
        assert_eq!(run.report.pointer("/exit/origin").unwrap(), "user");
        let program = run.report.pointer("/program").expect("a report");
        assert_eq!(
            (&program["started"], &program["ended"]),
            (&true.into(), &false.into())
        );
        watched.no_process_is_left();
        watched.no_file_is_left();
    }
}

#[test]
fn a_killed_gil_leaves_no_process() {
    let watched = Watched::new();
    let mut child = watched.endless();
    signal(&child, Signal::SIGKILL);
    child.wait().expect("it ends");
    watched.no_process_is_left();
}

#[test]
fn a_run_that_takes_too_long_gives_124() {
    let watched = Watched::new();
    let mut command = watched.gil(&["--timeout", "2", "sleep", "100000000"]);
    let run = watched.finish(command.spawn().expect("gil starts"));
    assert_eq!(run.code, Some(124), "{run:#?}");
    assert!(run.stderr.contains("2 s of --timeout"), "{}", run.stderr);
    watched.no_process_is_left();
    watched.no_file_is_left();
}

#[test]
fn a_program_that_writes_for_ever_takes_no_longer() {
    for program in ["yes", "yes >&2"] {
        let watched = Watched::new();
        let mut command = watched.gil(&["--timeout", "3", "sh", "-c", program]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("gil starts");
        // Nobody reads. What gil itself has to say finds the pipe full, too.
        let unread = (child.stdout.take(), child.stderr.take());
        let run = watched.finish(child);
        assert_eq!(run.code, Some(124), "{program}: {run:#?}");
        drop(unread);
        watched.no_process_is_left();
    }
}

#[test]
fn a_reader_that_goes_ends_the_run_as_a_closed_pipe_does() {
    let watched = Watched::new();
    let mut child = watched.gil(&["yes"]).spawn().expect("gil starts");
    let mut first = [0; 4];
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_exact(&mut first).expect("output");
    assert_eq!(&first, b"y\ny\n");
    drop(stdout);
    let run = watched.finish(child);
    assert_eq!(run.code, Some(141), "{run:#?}");
    watched.no_process_is_left();
    watched.no_file_is_left();
}

#[test]
fn a_panicking_kernel_is_told_with_its_words() {
    let watched = Watched::new();
    let mut command = watched.gil(&["sh", "-c", "echo c > /proc/sysrq-trigger"]);
    let run = watched.finish(command.spawn().expect("gil starts"));
    assert_eq!(run.code, Some(125), "{run:#?}");
    assert_eq!(run.report.pointer("/exit/origin").unwrap(), "bridge");
    assert!(run.stderr.contains("kernel panicked"), "{}", run.stderr);
    assert!(run.stderr.contains("sysrq"), "{}", run.stderr);
    watched.no_process_is_left();
    watched.no_file_is_left();
}

/// The process of the run whose command line has these words.
fn process_with(watched: &Watched, words: &[&str]) -> Option<Pid> {
    let place = watched.path().join("tmp").display().to_string();
    let is_it = |line: &str| line.contains(&place) && words.iter().all(|word| line.contains(word));
    std::fs::read_dir("/proc")
        .ok()?
        .flatten()
        .find_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            is_it(&String::from_utf8_lossy(&line).replace('\0', " ")).then(|| Pid::from_raw(pid))
        })
}

#[test]
fn a_killed_simulator_is_told() {
    let watched = Watched::new();
    let child = watched.endless();
    let qemu = process_with(&watched, &["qemu-system-aarch64", "-plugin"]).expect("QEMU runs");
    kill(qemu, Signal::SIGKILL).expect("it runs");
    let run = watched.finish(child);
    assert_eq!(run.code, Some(125), "{run:#?}");
    assert!(run.stderr.contains("QEMU ended"), "{}", run.stderr);
    watched.no_process_is_left();
    watched.no_file_is_left();
}

#[test]
fn a_board_that_dies_fails_the_programs_calls_and_the_simulation_goes_on() {
    let watched = Watched::new();
    let program = guest_program("examples/matmul/matmul.c", Link::OpenCl);
    let copy = format!("{}:/matmul", program.display());
    let loader = "ocl-icd-libopencl1";
    let script = "echo begun; exec /matmul";
    let args = ["--pkg", loader, "--file", &copy, "sh", "-c", script];
    let mut child = watched.gil(&args).spawn().expect("gil starts");
    let stdout = child.stdout.as_mut().expect("a pipe");
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).expect("output");
    assert_eq!(line, "begun\n");
    // Into its work, which takes many times as long.
    std::thread::sleep(Duration::from_secs(2));
    let board = process_with(&watched, &["board", "--listen"]).expect("the agent runs");
    kill(board, Signal::SIGKILL).expect("it runs");
    let run = watched.finish(child);
    assert_eq!(
        run.report.pointer("/exit/origin").unwrap(),
        "program",
        "{run:#?}"
    );
    assert_ne!(run.code, Some(0), "{run:#?}");
    assert!(
        run.stderr.contains("lost the board in cl"),
        "{}",
        run.stderr
    );
    watched.no_process_is_left();
    watched.no_file_is_left();
}
