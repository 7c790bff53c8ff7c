//! Standard input as it comes: `gil run --interactive`, with and without `--tty`.

use gil_tests::{Finished, Run};
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, Termios, tcgetattr};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A user at a terminal in which gil runs.
struct User {
    keyboard: File,
    screen: BufReader<File>,
    /// What the screen showed so far.
    seen: String,
    /// gil's end.
    terminal: OwnedFd,
    gil: Child,
    folder: TempDir,
}

impl User {
    /// Runs this.
    fn runs(args: &[&str]) -> Self {
        let OpenptyResult { master, slave } = openpty(&window(33, 77), None).unwrap();
        // Clones are closed in other programs that tests start meanwhile.
        let [master, slave] = [master, slave].map(|end| end.try_clone().unwrap());
        let mut run = Run::new(args);
        let end = || Stdio::from(slave.try_clone().unwrap());
        let command = run.command().stdin(end()).stdout(end());
        command.env("TERM", "xterm-of-the-user");
        let (gil, folder) = run.start();
        let keyboard = File::from(master);
        Self {
            screen: BufReader::new(keyboard.try_clone().unwrap()),
            keyboard,
            seen: String::new(),
            terminal: slave,
            gil,
            folder,
        }
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen shows this behind what was seen before.
    fn sees(&mut self, text: &str) {
        let mut new = String::new();
        while !new.contains(text) {
            let mut byte = [0];
            let read = self.screen.read(&mut byte).unwrap();
            assert_eq!(read, 1, "{text:?} did not come after {:?}", self.seen);
            new.push(byte[0].into());
            self.seen.push(byte[0].into());
        }
    }

    fn resizes(&self, rows: u16, columns: u16) {
        let size = window(rows, columns);
        // SAFETY: `size` is laid out as TIOCSWINSZ reads it.
        let done = unsafe { libc::ioctl(self.keyboard.as_raw_fd(), libc::TIOCSWINSZ, &size) };
        assert_eq!(done, 0);
    }

    fn settings(&self) -> Termios {
        tcgetattr(&self.terminal).unwrap()
    }

    /// Waits for the end.
    fn ends(self) -> Finished {
        drop(self.terminal);
        // Nobody writes to a terminal that nobody reads.
        let rest = std::thread::spawn(move || {
            let mut screen = self.screen;
            let _ = std::io::copy(&mut screen, &mut std::io::sink());
        });
        let output = self.gil.wait_with_output().unwrap();
        rest.join().unwrap();
        Finished::of(output, &self.folder)
    }
}

fn window(rows: u16, columns: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

#[test]
fn a_shell_of_the_guest_is_used_as_one_of_this_machine() {
    let mut user = User::runs(&["-it", "--pkg", "bash", "bash", "--norc"]);
    let before = user.settings();
    user.sees("# ");
    assert!(!user.settings().local_flags.contains(LocalFlags::ICANON));
    user.types("echo $((6 * 7)) $TERM\r");
    user.sees("\r\n42 xterm-of-the-user\r\n");
    user.types("stty size\r");
    user.sees("\r\n33 77\r\n");
    user.resizes(44, 88);
    user.types("stty size\r");
    user.sees("\r\n44 88\r\n");
    user.types("sleep 1000; echo $((40 + 2)) was not reached\r");
    user.sees("reached\r\n");
    std::thread::sleep(Duration::from_millis(200));
    user.types("\x03");
    user.sees("^C");
    user.sees("# ");
    user.types("echo code $?\r");
    user.sees("\r\ncode 130\r\n");
    user.types("\x04");
    user.sees("exit");
    user.gil.wait().unwrap();
    assert!(user.settings() == before);
    assert!(!user.seen.contains("42 was not"), "{:?}", user.seen);
    let run = user.ends().ok();
    // The guest's clock did not run on while it waited.
    assert!(
        run.number("/simulated/program_ns") < 600e9,
        "{}",
        run.report
    );
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    for signal in [Signal::SIGTERM, Signal::SIGQUIT] {
        let mut user = User::runs(&["-it", "sh"]);
        let before = user.settings();
        user.sees("# ");
        assert!(user.settings() != before);
        kill(Pid::from_raw(user.gil.id() as i32), signal).unwrap();
        user.gil.wait().unwrap();
        assert!(user.settings() == before, "{signal}");
        assert_ne!(user.ends().code, Some(0));
    }
}

#[test]
fn much_comes_through_a_pipe_whole_and_once() {
    let bytes: Vec<u8> = (0u32..1 << 20)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let mut run = Run::new(["-i", "cat"]);
    run.command().stdin(Stdio::piped());
    let (mut gil, _folder) = run.start();
    let (mut stdin, mut stdout) = (gil.stdin.take().unwrap(), gil.stdout.take().unwrap());
    let given = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&given).unwrap());
    let mut out = Vec::new();
    stdout.read_to_end(&mut out).unwrap();
    writer.join().unwrap();
    assert!(gil.wait().unwrap().success());
    assert!(out == bytes, "{} of {}", out.len(), bytes.len());
}

#[test]
fn programs_on_both_sides_of_a_pipe_talk() {
    let script = "while read a; do echo \"got $a\"; done; echo end; exit 3";
    let mut run = Run::new(["-i", "sh", "-c", script]);
    run.command().stdin(Stdio::piped());
    let (mut gil, folder) = run.start();
    let mut stdin = gil.stdin.take().unwrap();
    let mut lines = BufReader::new(gil.stdout.take().unwrap()).lines();
    for text in ["1", "two words", "3"] {
        // The program waits, and the clock of its guest does not run on.
        std::thread::sleep(Duration::from_millis(300));
        stdin.write_all(format!("{text}\n").as_bytes()).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), format!("got {text}"));
    }
    drop(stdin);
    assert_eq!(lines.next().unwrap().unwrap(), "end");
    let run = Finished::of(gil.wait_with_output().unwrap(), &folder);
    assert_eq!(run.code, Some(3));
    assert!(
        run.number("/simulated/program_ns") < 600e9,
        "{}",
        run.report
    );
}

#[test]
fn the_input_of_a_file_takes_the_same_time_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let text: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    std::fs::write(&path, text).unwrap();
    let runs = [0, 1].map(|_| {
        let mut run = Run::new(["-i", "sh", "-c", "wc -l; read a || echo end"]);
        run.command().stdin(File::open(&path).unwrap());
        run.finish().ok()
    });
    assert_eq!(runs[0].stdout, "20000\nend\n");
    let [one, two] = runs.map(|run| run.integer("/simulated/program_ns"));
    assert_eq!(one, two);
}

#[test]
fn what_the_program_does_not_read_stays_for_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    std::fs::write(&path, "one\ntwo\n").unwrap();
    let script = "while read a; do $GIL run -q echo \"$a\"; done";
    let gil = gil_tests::binary("gil");
    let done = std::process::Command::new("sh")
        .args(["-c", script])
        .env("GIL", gil)
        .stdin(File::open(&path).unwrap())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "one\ntwo\n");
}
