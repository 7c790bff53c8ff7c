//! `gil run --live`: how a run does, drawn in a terminal while it goes on.

use gil_tests::{Link, Run, binary, guest_program};
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ROWS: u16 = 40;
const COLUMNS: u16 = 120;

/// A terminal's screen, and what became of it.
#[derive(Default)]
struct Screen {
    /// The last picture of the view.
    last_picture: Option<String>,
    /// All bytes since the view was closed.
    after: Vec<u8>,
    parser: vt100::Parser,
}

fn size(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).unwrap()
}

impl Screen {
    fn new() -> Self {
        Self {
            parser: vt100::Parser::new(size(ROWS), size(COLUMNS), 0),
            ..Self::default()
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let before = self.parser.screen().alternate_screen();
            let picture = || self.parser.screen().contents();
            // Contents are expensive: only where the view can end.
            let picture = (before && byte == b'l').then(picture);
            self.parser.process(&[byte]);
            if before && !self.parser.screen().alternate_screen() {
                self.last_picture = picture;
                self.after.clear();
            } else {
                self.after.push(byte);
            }
        }
    }
}

/// A user at the terminal in which gil runs.
struct User {
    keyboard: File,
    screen: Arc<Mutex<Screen>>,
    reader: JoinHandle<()>,
    terminal: OwnedFd,
    before: Termios,
    gil: Child,
    folder: TempDir,
}

impl User {
    /// Runs this in a terminal, with `stdout` there, too, unless it is given.
    fn runs(args: &[&str], stdout: Option<File>) -> Self {
        Self::runs_by(Command::new(binary("gil")), args, stdout)
    }

    /// The same by a shell with job control, which does this.
    fn runs_by_shell(script: &str, args: &[&str]) -> Self {
        let mut shell = Command::new("bash");
        shell.args(["-c", script]).arg(binary("gil"));
        Self::runs_by(shell, args, None)
    }

    fn runs_by(mut command: Command, args: &[&str], stdout: Option<File>) -> Self {
        let window = Winsize {
            ws_row: ROWS,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let OpenptyResult { master, slave } = openpty(&window, None).unwrap();
        // Clones are closed in other programs that tests start meanwhile.
        let [master, slave] = [master, slave].map(|end| end.try_clone().unwrap());
        let before = tcgetattr(&slave).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        command
            .args(["run", "--live", "--json"])
            .arg(folder.path().join("report.json"))
            .args(args)
            .env("TERM", "xterm-256color")
            .stdin(end())
            .stdout(stdout.map_or_else(end, Stdio::from))
            .stderr(end());
        // SAFETY: both calls may be made between fork and exec.
        unsafe { command.pre_exec(has_a_terminal) };
        let gil = command.spawn().unwrap();
        let keyboard = File::from(master);
        let screen = Arc::new(Mutex::new(Screen::new()));
        let (shown, from) = (screen.clone(), keyboard.try_clone().unwrap());
        Self {
            keyboard,
            screen,
            reader: std::thread::spawn(move || shows(from, &shown)),
            terminal: slave,
            before,
            gil,
            folder,
        }
    }

    fn picture(&self) -> String {
        let screen = self.screen.lock().unwrap();
        match screen.parser.screen().alternate_screen() {
            true => screen.parser.screen().contents(),
            false => String::new(),
        }
    }

    /// Waits for a picture that is as it should be.
    fn sees(&self, is_it: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let picture = self.picture();
            if is_it(&picture) {
                return picture;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{picture}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until this is on the terminal, behind the view.
    fn reads(&self, text: &str) {
        let begun = Instant::now();
        while !String::from_utf8_lossy(&self.screen.lock().unwrap().after).contains(text) {
            assert!(begun.elapsed() < Duration::from_secs(120), "no {text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn is_restored(&self) -> bool {
        let screen = self.screen.lock().unwrap();
        let screen = screen.parser.screen();
        let is_uncovered = !screen.alternate_screen() && !screen.hide_cursor();
        is_uncovered && tcgetattr(&self.terminal).unwrap() == self.before
    }

    /// Waits for gil's end.
    fn ends(mut self) -> Ended {
        let status = self.gil.wait().unwrap();
        // What it wrote last is read yet.
        std::thread::sleep(Duration::from_millis(200));
        let is_restored = self.is_restored();
        drop(self.terminal);
        self.reader.join().unwrap();
        let screen = std::mem::take(&mut *self.screen.lock().unwrap());
        let report = std::fs::read(self.folder.path().join("report.json"));
        Ended {
            status,
            is_restored,
            last_picture: screen.last_picture.unwrap_or_default(),
            after: String::from_utf8_lossy(&screen.after).replace("\r\n", "\n"),
            report: serde_json::from_slice(&report.unwrap_or_default()).unwrap_or_default(),
        }
    }
}

struct Ended {
    status: ExitStatus,
    is_restored: bool,
    last_picture: String,
    /// What the terminal got once the view was closed.
    after: String,
    report: serde_json::Value,
}

fn has_a_terminal() -> std::io::Result<()> {
    nix::unistd::setsid()?;
    // SAFETY: the call takes no pointer.
    nix::errno::Errno::result(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) })?;
    Ok(())
}

fn shows(mut from: File, screen: &Mutex<Screen>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        screen.lock().unwrap().show(&bytes[..count]);
    }
}

fn rounds() -> String {
    let program = guest_program("tests/guest/cl_rounds.c", Link::OpenCl);
    program.to_str().unwrap().into()
}

/// The words behind a name and a bar, if there is one, in the line that says a number there.
fn value(text: &str, name: &str) -> String {
    let no_word = |c: char| " █░".contains(c);
    let number = |(at, _): (usize, &str)| {
        let rest = &text[at + name.len()..];
        let value = rest.trim_start_matches(no_word);
        let is_it = value.len() < rest.len() && value.starts_with(|c: char| c.is_ascii_digit());
        value.lines().next().filter(|_| is_it)
    };
    let line = text.match_indices(name).find_map(number);
    let line = line.unwrap_or_else(|| panic!("no {name:?} in {text}"));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The last picture of a run that is over has the figures of the report, as its table says
/// them.
fn has_the_figures(ended: &Ended) {
    let (picture, after) = (&ended.last_picture, &ended.after);
    for name in [
        "simulated time",
        "on the GPU",
        "on the board's CPU",
        "wall time",
    ] {
        let (said, drawn) = (value(after, name), value(picture, name));
        assert!(drawn.starts_with(&said), "{name}: {picture}{after}");
    }
    for name in ["simulator", "bridge", "board", "transport"] {
        let said = value(after, &format!("  {name}"));
        let [time, unit, share, sign] = said.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{name}: {said}");
        };
        let drawn = value(picture, &format!(" {name}"));
        assert_eq!(drawn, format!("{share} {sign} {time} {unit}"), "{picture}");
    }
    for entry in [
        "clEnqueueNDRangeKernel",
        "clEnqueueReadBuffer",
        "clBuildProgram",
    ] {
        let (said, drawn) = (value(after, entry), value(picture, entry));
        let said: Vec<_> = said.split(' ').collect();
        let (count, cpu) = (said[0], said[said.len() - 2..].join(" "));
        let has_all = drawn.starts_with(count) && drawn.contains(&cpu);
        assert!(has_all, "{drawn}: {after}");
    }
    let (all, drawn) = (value(after, " all"), value(picture, "OpenCL"));
    assert_eq!(drawn.split(' ').nth(1), all.split(' ').next(), "{picture}");
    let number = |pointer: &str| ended.report.pointer(pointer).unwrap().as_f64().unwrap();
    let slowdown = number("/wall/total_ns") / number("/simulated/program_ns");
    let drawn = value(picture, "slowdown");
    assert_eq!(drawn.split(' ').next(), Some(&*format!("{slowdown:.1}")));
    let bytes = gil_report::bytes(number("/totals/bytes_to_board") as u64);
    assert_eq!(value(picture, "to board"), bytes, "{picture}");
}

/// What the program writes to both streams.
fn output(rounds: u32) -> String {
    let round = |n: u32| {
        let done = n.is_multiple_of(10).then(|| format!("{n} done\n"));
        format!(
            "\x1b[32mround\x1b[0m {n} of {rounds}\n{}",
            done.unwrap_or_default()
        )
    };
    (1..=rounds).map(round).collect()
}

/// Whether a process is stopped.
fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('T')
}

/// What a user does in a shell, who presses Ctrl-Z twice, and a key before each `fg`.
const STOPS: &str = r#"set -m; "$0" "$@"; echo stop 1; read -r; fg; echo stop 2; read -r; fg"#;

/// Ctrl-Z gives the shell its terminal; `fg` shows the run again.
#[test]
fn a_stopped_run_leaves_the_terminal_and_comes_back() {
    let mut user = User::runs_by_shell(STOPS, &[&rounds(), "100000", "20"]);
    for stop in ["stop 1", "stop 2"] {
        user.sees(|picture| picture.contains("running") && picture.contains("of 100000"));
        user.keyboard.write_all(b"\x1a").unwrap();
        user.reads(stop);
        assert!(user.is_restored());
        user.keyboard.write_all(b"\n").unwrap();
        // All of the picture is there again, and keys arrive one by one.
        user.sees(|picture| picture.contains("slowdown") && picture.contains("slowest calls"));
    }
    user.keyboard.write_all(b"q").unwrap();
    user.sees(str::is_empty);
    user.keyboard.write_all(b"\x03").unwrap();
    let ended = user.ends();
    assert_eq!(ended.status.code(), Some(130));
    assert!(ended.is_restored);
}

/// A stopped run that is ended, as `kill %1` does it, or continued in the background does not
/// wait for the terminal.
#[test]
fn a_stopped_run_ends_in_the_background() {
    // The shell may not know yet that it goes on, and then waits for nothing: 148.
    let script = r#"set -m; "$0" "$@"; echo stop 1; kill %1; wait %1; code=$?
        while [ $code = 148 ]; do sleep 0.05; wait %1; code=$?; done; echo "ended $code""#;
    let mut user = User::runs_by_shell(script, &[&rounds(), "100000", "20"]);
    user.sees(|picture| picture.contains("running") && picture.contains("of 100000"));
    user.keyboard.write_all(b"\x1a").unwrap();
    user.reads("ended 143");
    assert!(user.ends().is_restored);
}

/// Where no shell could continue it, Ctrl-Z stops nothing.
#[test]
fn a_run_without_a_shell_does_not_stop() {
    let mut user = User::runs(&[&rounds(), "100000", "20"], None);
    user.sees(|picture| picture.contains("running") && picture.contains("of 100000"));
    user.keyboard.write_all(b"\x1a").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(!is_stopped(user.gil.id()));
    user.sees(|picture| picture.contains("slowdown") && picture.contains("slowest calls"));
    user.keyboard.write_all(b"\x03").unwrap();
    let ended = user.ends();
    assert_eq!(ended.status.code(), Some(130));
    assert!(ended.is_restored);
}

#[test]
fn a_view_has_the_figures_of_the_summary() {
    let user = User::runs(&[&rounds(), "40", "20"], None);
    let running = user.sees(|picture| picture.contains("round 15 of 40"));
    assert!(running.contains("running"), "{running}");
    assert!(!running.contains("[32m"), "{running}");
    let ended = user.ends();
    assert!(ended.status.success() && ended.is_restored);
    has_the_figures(&ended);
    // All of the output comes then, and as it was written.
    assert!(ended.after.contains(&output(40)), "{}", ended.after);
}

#[test]
fn a_view_of_gem5_has_them_too() {
    let Some(gem5) = std::env::var_os("GIL_GEM5") else {
        gil_need::skip(
            "gem5",
            "set GIL_GEM5 to a gem5.opt built with EXTRAS=gem5-patches",
        );
        return;
    };
    let outdir = tempfile::tempdir().unwrap();
    let [gem5, outdir] = [Path::new(&gem5), outdir.path()].map(|path| path.to_str().unwrap());
    let simulator = [
        "--sim", "gem5", "--mode", "se", "--gem5", gem5, "--outdir", outdir,
    ];
    let program = [&*rounds(), "10", "0"];
    let ended = User::runs(&[&simulator[..], &program].concat(), None).ends();
    assert!(
        ended.status.success() && ended.is_restored,
        "{}",
        ended.after
    );
    has_the_figures(&ended);
    assert!(
        ended.after.contains("round\x1b[0m 10 of 10\n"),
        "{}",
        ended.after
    );
}

#[test]
fn a_key_closes_the_view_and_the_run_goes_on() {
    let mut user = User::runs(&[&rounds(), "60", "20"], None);
    user.sees(|picture| picture.contains("round 5 of 60"));
    assert!(!user.is_restored());
    user.keyboard.write_all(b"xq").unwrap();
    let begun = Instant::now();
    while !user.is_restored() {
        assert!(begun.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(user.gil.try_wait().unwrap().is_none(), "it ended before");
    let ended = user.ends();
    assert!(ended.status.success() && ended.is_restored);
    for n in 1..=60 {
        let line = format!("round\x1b[0m {n} of 60\n");
        assert_eq!(ended.after.matches(&line).count(), 1, "{}", ended.after);
    }
    assert!(ended.after.contains("simulated time"), "{}", ended.after);
}

#[test]
fn whatever_ends_the_run_the_terminal_is_as_it_was() {
    let typed = |user: &mut User| user.keyboard.write_all(b"\x03").unwrap();
    let sent = |signal: Signal| {
        move |user: &mut User| kill(Pid::from_raw(user.gil.id() as i32), signal).unwrap()
    };
    type Way<'a> = (&'a dyn Fn(&mut User), Option<i32>);
    let ways: [Way<'_>; 3] = [
        (&typed, Some(130)),
        (&sent(Signal::SIGTERM), Some(143)),
        (&sent(Signal::SIGQUIT), None),
    ];
    for (ends, code) in ways {
        let mut user = User::runs(&[&rounds(), "1000", "20"], None);
        user.sees(|picture| picture.contains("round 5 of 1000"));
        ends(&mut user);
        let ended = user.ends();
        assert_eq!(ended.status.code(), code);
        assert!(ended.is_restored, "{code:?}");
        if code.is_some() {
            assert!(ended.after.contains("5 of 1000\n"), "{}", ended.after);
            assert!(ended.after.contains("simulated time"), "{}", ended.after);
        }
    }
}

#[test]
fn output_that_goes_elsewhere_goes_there_at_once() {
    let out = tempfile::NamedTempFile::new().unwrap();
    let user = User::runs(&[&rounds(), "30", "20"], Some(out.reopen().unwrap()));
    let picture = user.sees(|picture| picture.contains("round 5 of 30"));
    let written = std::fs::read_to_string(out.path()).unwrap();
    assert!(
        written.contains("round\x1b[0m 5 of 30\n"),
        "{picture}{written}"
    );
    let ended = user.ends();
    assert!(ended.status.success() && ended.is_restored);
    let lines: String = (1..=30)
        .map(|n| format!("\x1b[32mround\x1b[0m {n} of 30\n"))
        .collect();
    assert_eq!(std::fs::read_to_string(out.path()).unwrap(), lines);
    assert!(
        ended.after.contains("10 done\n20 done\n30 done\n"),
        "{}",
        ended.after
    );
}

#[test]
fn without_a_terminal_there_is_no_view() {
    let gil = Command::new(binary("gil"))
        .args(["run", "--live", "true"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(gil.status.code(), Some(125));
    let said = String::from_utf8_lossy(&gil.stderr);
    let sentence = "gil: --live needs a terminal that can be drawn on as standard error or standard output: run gil in one, or leave --live out\n";
    assert_eq!(said, sentence);
}

#[test]
fn a_view_changes_no_simulated_time() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let (rounds, trace) = (rounds(), trace.to_str().unwrap());
    let args = [&rounds, "20", "5"];
    Run::new(["--record", trace].iter().chain(&args))
        .finish()
        .ok();
    let board = format!("replay:{trace}");
    let replayed = ["--board", &board, args[0], args[1], args[2]];
    let without = Run::new(replayed).finish().ok();
    let with = User::runs(&replayed, None).ends();
    assert!(with.last_picture.contains("ended"), "{}", with.last_picture);
    let simulated = |report: &serde_json::Value| report["simulated"].clone();
    assert_eq!(simulated(&with.report), simulated(&without.report));
}
