//! An agent whose nodes stand in for those of a Mali-400 and a Mali-T628.

use crate::scripted::Scripted;
use crate::{Finished, Run, binary};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// An agent with stand-in nodes, and its log.
#[derive(Debug)]
pub struct Board {
    agent: Scripted,
    log: PathBuf,
    _folder: tempfile::TempDir,
}

impl Board {
    /// One whose jobs take these times, and that waits so long for one.
    pub fn new(times: &str, limit_ms: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut agent = Command::new(binary("stand-in-board"));
        agent.env("GIL_STAND_IN_TIMES", times);
        agent.env("GIL_STAND_IN_LIMIT_MS", limit_ms.to_string());
        let to: Stdio = File::create(&log).unwrap().into();
        Self {
            agent: Scripted::logging(agent, &[], to),
            log,
            _folder: folder,
        }
    }

    /// What the agent wrote so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// A run on it; `gpu` is how the guest has the GPU: `--driver lima`, or another option.
    pub fn run_as(&self, gpu: [&str; 2], options: &[&str], program: &[&str]) -> Finished {
        let mut args = vec![gpu[0], gpu[1], "--board", self.agent.address()];
        args.extend(options);
        args.extend(program);
        Run::new(args).finish()
    }

    /// One with gil's driver of this name.
    pub fn run(&self, driver: &str, options: &[&str], program: &[&str]) -> Finished {
        self.run_as(["--driver", driver], options, program)
    }
}

/// Jobs of a processor in a log, and that none of them failed.
pub fn jobs(log: &str, processor: &str) -> usize {
    assert!(!log.contains("fails: "), "{log}");
    let name = format!(" on {processor} names ");
    log.lines().filter(|line| line.contains(&name)).count()
}
