//! Runs `gil` and looks at what it says and leaves behind.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder of a test's own, short enough for sockets, and a command that
/// keeps its temporary files there.
pub struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("gil-t-")
            .tempdir_in("/tmp")
            .unwrap();
        std::fs::create_dir(folder.path().join("tmp")).unwrap();
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `gil` with these arguments.
    pub fn gil(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gil"));
        command.args(args);
        self.prepare(&mut command);
        command
    }

    pub fn prepare(&self, command: &mut Command) {
        command
            .env("TMPDIR", self.path("tmp"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
    }

    /// A program in a folder that can be put in front of `PATH`.
    pub fn program(&self, name: &str, script: &str) -> PathBuf {
        let folder = self.path("bin");
        std::fs::create_dir_all(&folder).unwrap();
        self.executable(&format!("bin/{name}"), script.as_bytes());
        folder
    }

    pub fn executable(&self, name: &str, bytes: &[u8]) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    /// An ELF file of 64 bytes that calls itself an arm64 program.
    pub fn arm64_program(&self) -> PathBuf {
        let mut header = vec![0; 64];
        header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        header[16] = 2; // ET_EXEC
        header[18] = 183; // EM_AARCH64
        header[20] = 1;
        header[52] = 64; // its own size
        header[54] = 56; // a program header's
        header[58] = 64; // a section header's
        self.executable("arm64", &header)
    }

    /// Runs it; asserts the exit code, one sentence with `words`, and that
    /// nothing is left behind.
    #[track_caller]
    pub fn refuses(&self, command: &mut Command, code: i32, words: &[&str]) -> String {
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        for word in words {
            assert!(said.contains(word), "\"{word}\" is not in: {said}");
        }
        assert!(output.stdout.is_empty(), "{output:?}");
        self.is_one_sentence(&said);
        self.nothing_is_left();
        said
    }

    #[track_caller]
    fn is_one_sentence(&self, said: &str) {
        // Another test's gil may have the cache.
        let waits = "gil: waiting for another gil";
        let own: Vec<_> = said.lines().filter(|l| !l.starts_with(waits)).collect();
        assert_eq!(own.len(), 1, "{said}");
        assert!(own[0].starts_with("gil: "), "{said}");
        assert!(!said.contains("panicked"), "{said}");
    }

    /// No process and no file of the run. The kernel ends a tool as gil ends, which
    /// may take it a moment.
    #[track_caller]
    pub fn nothing_is_left(&self) {
        let until = Instant::now() + Duration::from_secs(2);
        while !self.running().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.running(), Vec::<String>::new());
        let left = std::fs::read_dir(self.path("tmp")).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new());
    }

    /// Processes that name the test's folder.
    fn running(&self) -> Vec<String> {
        let place = self.folder.path().display().to_string();
        let all = processes().into_iter();
        all.filter(|line| line.contains(&place)).collect()
    }
}

fn processes() -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .collect()
}

/// Standard output as text, of a command that must succeed.
#[track_caller]
pub fn succeeds(command: &mut Command) -> String {
    let output: Output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
