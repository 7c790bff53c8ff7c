//! A real `gil-board` process.

use gil_wire::address::Address;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A free port of this machine, without a key.
pub const ANY_PORT: [&str; 3] = ["--listen", "tcp://127.0.0.1:0", "--allow-any-local-user"];

pub struct Agent {
    pub address: Address,
    process: Child,
    /// Kept open: the agent ends with it.
    pub stdin: Option<ChildStdin>,
    said: Arc<Mutex<String>>,
}

impl Agent {
    /// Starts an agent on a free port; the sentence it ends with if it does
    /// not come up.
    pub fn start(args: &[&str]) -> Result<Self, String> {
        Self::started(command(&[&ANY_PORT, args].concat()))
    }

    /// The same, at an address.
    pub fn listening(address: &str, args: &[&str]) -> Result<Self, String> {
        Self::started(command(&[&["--listen", address], args].concat()))
    }

    /// The same, with the drivers that are registered in a folder.
    pub fn with_vendors(vendors: &Path, args: &[&str]) -> Result<Self, String> {
        let mut command = command(&[&ANY_PORT, args].concat());
        // Debian's loader takes a folder only with the slash at its end.
        command.env("OCL_ICD_VENDORS", format!("{}/", vendors.display()));
        command.env("GIL_BOARD_EGL", "/nonexistent");
        Self::started(command)
    }

    /// The same, with a command.
    pub fn started(mut command: Command) -> Result<Self, String> {
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let mut stderr = process.stderr.take().unwrap();
        let Some(address) = line.strip_prefix("listening on ") else {
            let mut reason = String::new();
            stderr.read_to_string(&mut reason).unwrap();
            assert!(!process.wait().unwrap().success());
            return Err(reason);
        };
        let said = Arc::default();
        // What the agent says goes to the test's own output, too.
        std::thread::spawn({
            let said = Arc::clone(&said);
            move || keep(BufReader::new(stderr), &said)
        });
        Ok(Self {
            address: address.trim().parse().unwrap(),
            stdin: process.stdin.take(),
            process,
            said,
        })
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Processes that the agent started and that are there.
    pub fn children(&self) -> Vec<i32> {
        let mut children = Vec::new();
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid()));
        for task in tasks.into_iter().flatten().flatten() {
            let list = std::fs::read_to_string(task.path().join("children"));
            let list = list.unwrap_or_default();
            children.extend(
                list.split_whitespace()
                    .map(|pid| pid.parse::<i32>().unwrap()),
            );
        }
        children.sort_unstable();
        children
    }

    /// What it said so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it has said this.
    pub fn says(&self, what: &str) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let said = self.said();
            if said.contains(what) {
                return said;
            }
            assert!(Instant::now() < until, "{what:?} was never said: {said}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + limit;
        while Instant::now() < until {
            if let Some(status) = self.process.try_wait().unwrap() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

/// An agent that came up, unless there is no device here: the sentence that it
/// ended with says so.
pub fn on_a_device(started: Result<Agent, String>) -> Option<Agent> {
    match started {
        Ok(agent) => Some(agent),
        Err(reason) if reason.contains("install") => {
            gil_need::skip("an OpenCL device", reason);
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

/// A `gil-board` with these arguments.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gil-board"));
    command.arg("--exit-with-stdin").args(args);
    piped(&mut command);
    command
}

/// What a test has of an agent.
pub fn piped(command: &mut Command) {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

fn keep(stderr: impl BufRead, said: &Mutex<String>) {
    for line in stderr.lines().map_while(Result::ok) {
        eprintln!("{line}");
        let mut said = said.lock().unwrap();
        said.push_str(&line);
        said.push('\n');
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
