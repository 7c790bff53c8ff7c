//! An agent's process, and what processes take of the system.

use gil_wire::address::Address;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// By how much memory may differ: buffers that a later call makes larger, and
/// the allocator's arenas.
const SLACK_KIB: u64 = 4 << 10;
/// How often an agent is looked at until its last sessions' processes have ended.
const SETTLES: u32 = 100;

/// What a process takes.
#[derive(Debug)]
pub struct Footprint {
    resident_kib: u64,
    descriptors: usize,
}

impl Footprint {
    pub fn of_this() -> Self {
        Self::of("self")
    }

    fn of(process: &str) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = line.expect("as proc(5) has it").trim().split(' ').next();
        Self {
            resident_kib: resident.unwrap().parse().unwrap(),
            descriptors: std::fs::read_dir(format!("/proc/{process}/fd"))
                .unwrap()
                .count(),
        }
    }

    /// Whether nothing was added to `before`.
    pub fn is_as(&self, before: &Self) -> bool {
        self.descriptors <= before.descriptors
            && self.resident_kib <= before.resident_kib + SLACK_KIB
    }
}

/// It ends with this value.
pub struct Agent {
    pub address: Address,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Agent {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("unix:{}", folder.path().join("board").display());
        let mut child = Command::new(env!("CARGO_BIN_EXE_plain-board"))
            .arg(&address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert!(line.starts_with("listening on"), "{line}");
        Self {
            address: address.parse().unwrap(),
            child,
            _folder: folder,
        }
    }

    pub fn footprint(&self) -> Footprint {
        Footprint::of(&self.child.id().to_string())
    }

    /// The same once it is as it was, or if it does not become so: a session's
    /// process ends after its connection, and is known until then.
    pub fn footprint_again(&self, before: &Footprint) -> Footprint {
        for _ in 0..SETTLES {
            let now = self.footprint();
            if now.is_as(before) {
                return now;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.footprint()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
