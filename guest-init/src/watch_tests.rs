//! Whole runs on the testing machine, with a host that records calls.

use super::*;
use crate::config::{Config, Live};
use gil_wire::input::{ANSWER_MAX, Ask, Given, INPUT_MAX, Size};
use std::sync::Mutex;

/// Children are reaped for the whole process, so one run at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[derive(Debug, Default)]
struct Notes {
    out: Vec<u8>,
    err: Vec<u8>,
    largest: usize,
    started: Option<u32>,
    exited: Option<Exited>,
    user: User,
}

/// Who types, or pipes.
#[derive(Debug, Default)]
struct User {
    /// What comes, each part once the output ends so.
    parts: Vec<(&'static str, Vec<u8>)>,
    /// Nothing comes after that.
    hangs_up: bool,
    /// The window's size from the first question on, and once the output ends so.
    sizes: Vec<(&'static str, Size)>,
    asked: Vec<Ask>,
}

impl Host for Notes {
    fn console(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), Error> {
        self.largest = self.largest.max(bytes.len());
        match stream {
            Stream::Out => self.out.extend_from_slice(bytes),
            Stream::Err => self.err.extend_from_slice(bytes),
        }
        Ok(())
    }

    fn started(&mut self, process: u32) -> Result<(), Error> {
        assert!(self.out.is_empty() && self.err.is_empty());
        self.started = Some(process);
        Ok(())
    }

    fn exited(&mut self, ended: Exited) -> Result<(), Error> {
        self.exited = Some(ended);
        Ok(())
    }

    fn ask<'a>(&mut self, ask: Ask, room: &'a mut [u8]) -> Result<Option<Given<'a>>, Error> {
        let user = &mut self.user;
        user.asked.push(ask);
        let is_next = |text: &str| self.out.ends_with(text.as_bytes());
        let size = user.sizes.first().filter(|(text, _)| is_next(text));
        let size = size.map(|(_, size)| *size);
        user.sizes.drain(..usize::from(size.is_some()));
        let mut bytes = Vec::new();
        if let Some((text, part)) = user.parts.first_mut()
            && is_next(text)
        {
            bytes = part.drain(..part.len().min(ask.most as usize)).collect();
            // Not even the first bytes of a part are typed before.
            *text = "";
        }
        if user.parts.first().is_some_and(|(_, part)| part.is_empty()) {
            user.parts.remove(0);
        }
        let ended = user.hangs_up && user.parts.is_empty();
        let given = Given {
            size,
            ended,
            bytes: &bytes,
        };
        let encoded = postcard::to_stdvec(&given).unwrap();
        assert!(encoded.len() <= ANSWER_MAX && room.len() == ANSWER_MAX);
        room[..encoded.len()].copy_from_slice(&encoded);
        Ok(postcard::from_bytes(room).ok())
    }

    fn failed(&mut self, _: u8, reason: &str) -> Result<(), Error> {
        panic!("{reason}")
    }
}

fn config(argv: &[&str]) -> Config {
    let argv = serde_json::to_string(argv).unwrap();
    let text = format!(r#"{{"argv": {argv}, "env": {{"PATH": "/usr/bin:/bin", "A": "b c"}}}}"#);
    serde_json::from_str(&text).unwrap()
}

fn run(config: &Config) -> Result<Notes, Error> {
    run_with(config, User::default())
}

fn run_with(config: &Config, user: User) -> Result<Notes, Error> {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let mut notes = Notes {
        user,
        ..Notes::default()
    };
    crate::run(config, &mut notes).map(|()| notes)
}

/// A shell whose standard input is a user's.
fn talk(input: Live, script: &str, user: User) -> Notes {
    let mut config = config(&["sh", "-c", script]);
    config.input = Some(input);
    run_with(&config, user).unwrap()
}

fn types(parts: &[(&'static str, &[u8])]) -> User {
    let own = |&(text, bytes): &(&'static str, &[u8])| (text, bytes.to_vec());
    User {
        parts: parts.iter().map(own).collect(),
        ..User::default()
    }
}

fn window(rows: u16, columns: u16) -> Size {
    Size { rows, columns }
}

fn shell(script: &str) -> Notes {
    run(&config(&["sh", "-c", script])).unwrap()
}

fn error(argv: &[&str]) -> Error {
    run(&config(argv)).unwrap_err()
}

#[test]
fn output_and_exit_code_arrive() {
    let notes = shell("echo out $A; echo err >&2; echo more; exit 3");
    assert_eq!(notes.out, b"out b c\nmore\n");
    assert_eq!(notes.err, b"err\n");
    let ended = notes.exited.unwrap();
    assert_eq!((ended.code, ended.signal), (Some(3), None));
}

#[test]
fn the_process_number_is_the_programs() {
    let notes = shell("echo $$");
    let number: u32 = String::from_utf8_lossy(&notes.out).trim().parse().unwrap();
    assert_eq!(notes.started, Some(number));
}

#[test]
fn large_output_arrives_whole_in_bounded_chunks() {
    let notes = shell("seq 1 100000");
    let expected: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(notes.out, expected.as_bytes());
    assert!(notes.largest <= CHUNK);
}

#[test]
fn a_signal_is_reported() {
    let ended = shell("kill -SEGV $$").exited.unwrap();
    assert_eq!((ended.code, ended.signal), (None, Some(libc::SIGSEGV)));
    // One of those without a name.
    let ended = shell("kill -40 $$").exited.unwrap();
    assert_eq!((ended.code, ended.signal), (None, Some(40)));
}

#[test]
fn a_broken_pipe_ends_the_program_again() {
    // Rust ignores SIGPIPE, which would be inherited.
    let notes = shell("grep SigIgn /proc/self/status");
    let line = String::from_utf8(notes.out).unwrap();
    let ignored = u64::from_str_radix(line.trim_start_matches("SigIgn:").trim(), 16).unwrap();
    assert_eq!(ignored & (1 << (libc::SIGPIPE - 1)), 0, "{line}");
}

#[test]
fn a_program_that_closes_its_streams_is_awaited() {
    let notes = shell("exec >&- 2>&-; sleep 0.1; exit 5");
    assert_eq!(notes.exited.unwrap().code, Some(5));
}

#[test]
fn standard_input_is_the_file_or_empty() {
    assert_eq!(shell("wc -c").out, b"0\n");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"hello").unwrap();
    let mut config = config(&["cat"]);
    config.stdin = Some(file.path().into());
    assert_eq!(run(&config).unwrap().out, b"hello");
    config.stdin = Some("/nowhere".into());
    assert!(matches!(run(&config), Err(Error::Input { .. })));
}

#[test]
fn much_input_arrives_whole_as_it_is_read() {
    let bytes: Vec<u8> = (0..1 << 20).map(|n: u64| ((n * 7919) >> 8) as u8).collect();
    let user = User {
        hangs_up: true,
        ..types(&[("", &bytes)])
    };
    let notes = talk(Live::Pipe, "sleep 0.1; cat", user);
    assert!(notes.out == bytes);
    assert!(
        notes
            .user
            .asked
            .iter()
            .all(|ask| ask.most as usize <= INPUT_MAX)
    );
    assert_eq!(notes.exited.unwrap().code, Some(0));
}

#[test]
fn no_more_is_asked_for_than_the_program_may_take() {
    let user = types(&[("", &[7; 1 << 20])]);
    let notes = talk(Live::Pipe, "sleep 0.2", user);
    let left = notes.user.parts[0].1.len();
    // A pipe's 64 KiB, and a question's worth.
    assert!(left >= (1 << 20) - (64 << 10) - INPUT_MAX, "{left}");
}

#[test]
fn a_program_and_its_user_take_turns() {
    let script = "echo name; read a; echo \"hello $a\"; read b; echo \"bye $b\"; cat; exit 4";
    let user = User {
        hangs_up: true,
        ..types(&[("name\n", b"x\n"), ("hello x\n", b"y\n")])
    };
    let notes = talk(Live::Pipe, script, user);
    assert_eq!(notes.out, b"name\nhello x\nbye y\n");
    assert_eq!(notes.exited.unwrap().code, Some(4));
    // It was asked again, and not at once.
    assert!(notes.user.asked.len() < 100, "{}", notes.user.asked.len());
}

#[test]
fn a_program_that_reads_no_more_is_not_asked_for() {
    let user = types(&[("closed\n", b"never taken")]);
    let notes = talk(Live::Pipe, "exec <&-; echo closed; sleep 0.1", user);
    assert_eq!(notes.user.parts.len(), 1);
}

#[test]
fn a_terminal_has_lines_signals_and_a_size() {
    let user = User {
        sizes: vec![("", window(12, 34))],
        ..types(&[("go\r\n", b"hexo\x7f\x7fllo\r"), ("]\r\n", b"\x03")])
    };
    // A shell that a signal reaches just before it starts a program awaits that first.
    let script = "trap 'echo interrupted; exit 3' INT; tty >/dev/null || exit 9
        stty size; echo go; read a; echo \"[$a]\"; while :; do sleep 0.05; done";
    let notes = talk(Live::Terminal, script, user);
    let out = String::from_utf8_lossy(&notes.out);
    assert!(out.starts_with("12 34\r\ngo\r\n"), "{out:?}");
    assert!(out.contains("\r\n[hello]\r\n^C"), "{out:?}");
    assert!(out.ends_with("interrupted\r\n"), "{out:?}");
    assert_eq!(notes.exited.unwrap().code, Some(3));
    assert!(notes.err.is_empty());
}

#[test]
fn a_terminals_new_size_is_signalled_and_its_end_is_typed() {
    let user = User {
        sizes: vec![("", window(1, 2)), ("go\r\n", window(50, 60))],
        ..types(&[("50 60\r\n", b"x\r\x04")])
    };
    let script = "trap 'stty size; seen=1' WINCH; echo go;
        while [ -z \"$seen\" ]; do sleep 0.01; done; wc -l";
    let notes = talk(Live::Terminal, script, user);
    let out = String::from_utf8_lossy(&notes.out);
    assert!(out.ends_with("50 60\r\nx\r\n1\r\n"), "{out:?}");
}

#[test]
fn a_terminal_that_the_program_closes_stays() {
    let user = types(&[("again\r\n", b"y\r")]);
    let script = "exec 3<&0 </dev/null >/dev/null 2>&1 3<&-; sleep 0.05
        exec </dev/tty >/dev/tty; echo again; read a; exit 6";
    let notes = talk(Live::Terminal, script, user);
    assert_eq!(notes.exited.unwrap().code, Some(6), "{notes:?}");
}

#[test]
fn what_cannot_be_executed_is_explained() {
    let missing = error(&["no-such-program"]);
    assert_eq!(missing.code(), 127);
    assert!(missing.to_string().contains("/usr/bin:/bin"), "{missing}");
    assert_eq!(error(&["/no/such/program"]).code(), 127);
    assert_eq!(error(&["/etc/passwd"]).code(), 126);
    assert!(matches!(error(&[]), Error::NoProgram));
    assert!(matches!(error(&["a\0b"]), Error::Zero(_)));
}

#[test]
fn a_missing_folder_is_named() {
    let mut config = config(&["true"]);
    config.cwd = "/nowhere".into();
    let error = run(&config).unwrap_err();
    assert!(error.to_string().contains("/nowhere"));
    assert_eq!(error.code(), 125);
}

#[test]
fn a_missing_interpreter_and_a_wrong_format_are_told_apart() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let script = program("script", "#!/no/shell\n");
    assert!(matches!(error(&[&script]), Error::Interpreter { .. }));
    let text = program("text", "plain words\n");
    assert!(matches!(error(&[&text]), Error::Format { .. }));
}
