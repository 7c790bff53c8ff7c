//! Whole runs on the testing machine, with a host that records calls.

use super::*;
use crate::config::Config;
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
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let mut notes = Notes::default();
    crate::run(config, &mut notes).map(|()| notes)
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
