//! A real `gil-board` process.

use gil_wire::address::Address;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub struct Agent {
    pub address: Address,
    process: Child,
    /// Kept open: the agent ends with it.
    pub stdin: Option<ChildStdin>,
}

impl Agent {
    /// Starts an agent on a free port; the sentence it ends with if it does
    /// not come up.
    pub fn start(args: &[&str]) -> Result<Self, String> {
        Self::listening("tcp://127.0.0.1:0", args)
    }

    /// The same, at an address.
    pub fn listening(address: &str, args: &[&str]) -> Result<Self, String> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_gil-board"))
            .args(["--listen", address, "--exit-with-stdin"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
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
        // What the agent says goes to the test's own output.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::stderr()));
        Ok(Self {
            address: address.trim().parse().unwrap(),
            stdin: process.stdin.take(),
            process,
        })
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
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

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
