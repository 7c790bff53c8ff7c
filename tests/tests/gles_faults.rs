//! Bad input of EGL and OpenGL ES: the API's error, or the end of that program's session
//! alone. Nothing hangs, and nothing stays behind.

use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, guest_program, native_program_with, numbers_of_processes};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStdout, Command};
use std::time::{Duration, Instant};

const PROGRAM: &str = "tests/guest/gles_faults.c";
/// What a process prints that draws without any fault.
const DRAWS: &str = "draws\n  c7f9ebc5, 0\n  4f285bc5, 0\n  40e67bc5, 0\n  5158dfc5, 0\n";

/// What a list of faults prints on this machine.
fn natively(list: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let libraries: Vec<_> = Link::Gles.libraries().iter().map(OsStr::new).collect();
    let program = native_program_with(PROGRAM, folder.path(), &libraries);
    let output = Command::new(program).arg(list).output().unwrap();
    assert!(output.status.success(), "{list} natively: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn guest(options: &[&str], list: &str) -> Run {
    let program = guest_program(PROGRAM, Link::Gles).display().to_string();
    let all = options.iter().copied();
    Run::new(all.chain([program.as_str(), list]))
}

/// No session is left in a while, and no process of the agent once it has ended.
fn nothing_is_left(agent: Scripted) {
    let until = Instant::now() + Duration::from_secs(40);
    while agent.open_sessions() > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(agent.open_sessions(), 0);
    let workers = workers(&agent);
    drop(agent);
    let alive = |pid: &i32| kill(Pid::from_raw(*pid), None).is_ok();
    while workers.iter().any(alive) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left: Vec<i32> = workers.into_iter().filter(alive).collect();
    assert_eq!(left, Vec::<i32>::new());
}

/// The agent's processes, one a session and one for the next.
fn workers(agent: &Scripted) -> Vec<i32> {
    numbers_of_processes(&format!("--worker {}", agent.id()))
}

fn agent(options: &[&str]) -> Scripted {
    Scripted::with(
        &[
            &["--ready-sessions", "1", "--hang-up-grace", "1"][..],
            options,
        ]
        .concat(),
    )
}

#[test]
fn mistakes_have_the_errors_that_they_have_natively() {
    let agent = agent(&[]);
    let run = guest(&["--board", agent.address()], "same").finish().ok();
    assert_eq!(run.stdout, natively("same"), "{}", run.stderr);
    nothing_is_left(agent);
}

/// What the process of this name printed.
fn part<'a>(run: &'a Finished, name: &str) -> Vec<&'a str> {
    let lines = run.stdout.lines().skip_while(|line| *line != name).skip(1);
    lines
        .take_while(|line| line.starts_with(' '))
        .map(str::trim)
        .collect()
}

#[test]
fn ranges_threads_children_and_ends_are_checked() {
    let agent = agent(&[]);
    let run = guest(&["--board", agent.address()], "checked")
        .finish()
        .ok();
    let ranges = part(&run, "ranges");
    assert_eq!(ranges[0], "to the end of memory: 0", "{run:#?}");
    let (last, checked) = ranges[1..].split_last().expect("a picture");
    assert_eq!(checked.len(), 7, "{run:#?}");
    assert!(checked.iter().all(|line| line.ends_with(": 1")), "{run:#?}");
    assert_eq!(*last, "then e3009fc5");
    let ends = part(&run, "a thread ends");
    assert_eq!(ends[..3], ["in a thread 17e60fc5"; 3], "{run:#?}");
    assert!(ends[3].starts_with("here: 1, "), "{run:#?}");
    let absurd = part(&run, "absurd");
    let (last, sizes) = absurd.split_last().expect("a picture");
    assert!(
        sizes.len() == 14 && sizes.iter().all(|line| line.ends_with(": 1")),
        "{run:#?}"
    );
    assert_eq!(*last, "then 5158dfc5");
    let forks = part(&run, "a fork");
    assert!(forks[0].starts_with("in the child: 1, "), "{run:#?}");
    assert_eq!(forks[1], "the child: 7");
    assert!(forks[2].ends_with(", 0"), "{run:#?}");
    let ended = part(&run, "terminated");
    assert_eq!(ended[0], "terminated: 1", "{run:#?}");
    assert!(
        run.stdout.ends_with(DRAWS) && !run.stdout.contains("ended by"),
        "{run:#?}"
    );
    nothing_is_left(agent);
}

#[test]
fn a_program_with_a_wild_pointer_ends_and_the_next_draws() {
    let agent = agent(&[]);
    let run = guest(&["--board", agent.address()], "wild").finish().ok();
    let expected = format!("wild\n  ended by signal 11\n{DRAWS}");
    assert_eq!(run.stdout, expected, "{run:#?}");
    nothing_is_left(agent);
}

#[test]
fn a_program_that_takes_all_memory_has_an_error_and_others_none() {
    let agent = agent(&["--max-memory", "512"]);
    let run = guest(&["--board", agent.address()], "full").finish().ok();
    let lines = part(&run, "too much");
    assert_eq!(lines[0], "all: 0, 0x505", "{run:#?}");
    assert!(lines[1].starts_with("then "), "{run:#?}");
    assert!(run.stdout.ends_with(DRAWS), "{run:#?}");
    nothing_is_left(agent);
}

#[test]
fn contexts_beyond_the_memory_are_an_error_and_those_before_draw() {
    let agent = agent(&["--max-memory", "512"]);
    let run = guest(&["--board", agent.address()], "crowded")
        .finish()
        .ok();
    let lines = part(&run, "contexts");
    let expected = [
        "first 4f285bc5, 0",
        // EGL_BAD_ALLOC
        "many: 1, current 1, 0x3003",
        "then 40e67bc5, 0",
        "one more: 1, 0x3000",
        "then 5158dfc5, 0",
    ];
    assert_eq!(lines, expected, "{run:#?}");
    assert!(run.stdout.ends_with(DRAWS), "{run:#?}");
    nothing_is_left(agent);
}

/// A run whose program has printed this line: its output from there on.
fn begun(
    run: Run,
    line: &str,
) -> (
    std::process::Child,
    tempfile::TempDir,
    BufReader<ChildStdout>,
) {
    let (mut child, folder) = run.start();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut read = String::new();
    while read.trim() != line {
        read.clear();
        assert_ne!(
            stdout.read_line(&mut read).unwrap(),
            0,
            "it never says {line}"
        );
    }
    (child, folder, stdout)
}

#[test]
fn an_endless_shader_ends_its_session_at_the_limit_and_no_other() {
    let agent = agent(&[]);
    let options = ["--board", agent.address(), "--board-timeout", "8"];
    let (child, folder, mut stdout) = begun(guest(&options, "endless"), "endless, 0");
    // Another program, meanwhile.
    let other = guest(&["--board", agent.address()], "draws").finish().ok();
    assert_eq!(other.stdout, DRAWS, "{other:#?}");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let run = Finished::of(child.wait_with_output().unwrap(), &folder).ok();
    assert_eq!(rest, format!("  an error: 1\n{DRAWS}"), "{run:#?}");
    assert!(run.stderr.contains("no answer within 8 s"), "{run:#?}");
    nothing_is_left(agent);
}

/// Whose driver crashes while it draws: what the program says of that.
fn crashes(how: impl FnOnce(Scripted) -> Option<Scripted>) -> (String, Option<Scripted>) {
    let agent = agent(&[]);
    let options = ["--board", agent.address()];
    let (child, folder, mut stdout) = begun(guest(&options, "lost"), "begun");
    let agent = how(agent);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    Finished::of(child.wait_with_output().unwrap(), &folder).ok();
    (rest, agent)
}

/// `EGL_CONTEXT_LOST`, `GL_CONTEXT_LOST`, `GL_UNKNOWN_CONTEXT_RESET`, and nothing new; but
/// what is there can be given up.
const LOST: &str =
    "  lost: 0x300e, 0x507, reset 0x8255\n  another: 0, 0x300e\n  current: 1, terminated: 1\n";

#[test]
fn a_session_whose_process_ends_is_a_lost_context_and_the_next_program_draws() {
    let (rest, agent) = crashes(|agent| {
        for worker in workers(&agent) {
            kill(Pid::from_raw(worker), Signal::SIGKILL).expect("it runs");
        }
        Some(agent)
    });
    assert!(rest.starts_with(LOST) && rest.ends_with(DRAWS), "{rest}");
    nothing_is_left(agent.expect("it goes on"));
}

#[test]
fn a_killed_agent_is_a_lost_context() {
    let (rest, _) = crashes(|mut agent| {
        let workers = workers(&agent);
        agent.kill();
        let until = Instant::now() + Duration::from_secs(10);
        let alive = |pid: &i32| kill(Pid::from_raw(*pid), None).is_ok();
        while workers.iter().any(alive) {
            assert!(Instant::now() < until, "sessions outlive their agent");
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    });
    assert!(rest.starts_with(LOST), "{rest}");
    // The next program has no board either.
    assert!(rest.contains("there is no EGL: 0x3001"), "{rest}");
}
