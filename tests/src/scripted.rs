//! A board whose operations take the times that a test gives, or that has
//! other options.

use crate::binary;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// An agent of a test's own, such as one that reports given times instead of
/// measured ones; it ends with this value.
#[derive(Debug)]
pub struct Scripted {
    agent: Child,
    address: String,
    /// Of its socket, removed with this value.
    folder: Option<tempfile::TempDir>,
}

impl Scripted {
    /// One whose API functions take `cpu_ns` each and whose operations take
    /// `device_ns` each, in simulated time.
    ///
    /// # Panics
    /// If the agent does not start.
    pub fn start(cpu_ns: u64, device_ns: u64) -> Self {
        let times = format!("cpu={cpu_ns},device={device_ns}");
        Self::with(&["--scripted-times", &times])
    }

    /// One that is started with these options.
    ///
    /// # Panics
    /// If the agent does not start.
    pub fn with(options: &[&str]) -> Self {
        Self::other(Command::new(binary("gil-board")), options)
    }

    /// The same at an address, whose port may be 0 for any free one.
    ///
    /// # Panics
    /// If the agent does not start.
    pub fn listening(address: &str, options: &[&str]) -> Self {
        let agent = Command::new(binary("gil-board"));
        Self::of(agent, address, options, Stdio::null())
    }

    /// As [`with`](Self::with), of another agent.
    ///
    /// # Panics
    /// If the agent does not start.
    pub fn other(agent: Command, options: &[&str]) -> Self {
        Self::logging(agent, options, Stdio::null())
    }

    /// The same, whose log goes there.
    ///
    /// # Panics
    /// If the agent does not start.
    pub fn logging(agent: Command, options: &[&str], log: Stdio) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = format!("unix:{}", folder.path().join("board").display());
        let mut scripted = Self::of(agent, &address, options, log);
        scripted.folder = Some(folder);
        scripted
    }

    fn of(mut agent: Command, address: &str, options: &[&str], log: Stdio) -> Self {
        let mut agent = agent
            .args(["--listen", address, "--exit-with-stdin"])
            .args(
                address
                    .starts_with("tcp://")
                    .then_some("--allow-any-local-user"),
            )
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the agent starts");
        let mut ready = String::new();
        let stdout = agent.stdout.take().expect("its standard output");
        let read = BufReader::new(stdout).read_line(&mut ready);
        let address = ready.trim().strip_prefix("listening on ");
        let address = address.filter(|_| read.is_ok()).expect(&ready).into();
        Self {
            agent,
            address,
            folder: None,
        }
    }

    /// Ends it without a word, as a crash does.
    ///
    /// # Panics
    /// If the system does not let it.
    pub fn kill(&mut self) {
        self.agent.kill().expect("it is this process's child");
        self.agent.wait().expect("it ends");
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.agent.id()
    }

    /// Its sessions that are open, as it says itself.
    ///
    /// # Panics
    /// If it does not answer.
    pub fn open_sessions(&self) -> u64 {
        let status = Command::new(binary("gil"))
            .args(["status", "--json", &self.address])
            .output()
            .expect("gil starts");
        let json: serde_json::Value = serde_json::from_slice(&status.stdout).expect("its status");
        json["open_sessions"].as_u64().expect("a number")
    }

    /// Its address, as `--board` takes it.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        drop(self.agent.stdin.take());
        let _ = self.agent.wait();
    }
}
