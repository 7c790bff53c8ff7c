//! An agent whose nodes stand in for those of a Mali-400 and a Mali-T628.

use crate::scripted::Scripted;
use crate::{Finished, Link, Run, binary, guest_program};
use std::fs::File;
use std::path::{Path, PathBuf};
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
        Self::seeded(times, 0, limit_ms)
    }

    /// The same; times with a spread are drawn by this seed.
    pub fn seeded(times: &str, seed: u64, limit_ms: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut agent = Command::new(binary("stand-in-board"));
        agent.env("GIL_STAND_IN_TIMES", times);
        agent.env("GIL_STAND_IN_SEED", seed.to_string());
        agent.env("GIL_STAND_IN_LIMIT_MS", limit_ms.to_string());
        let to: Stdio = File::create(&log).unwrap().into();
        Self {
            agent: Scripted::logging(agent, &[], to),
            log,
            _folder: folder,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        self.agent.address()
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

/// A board's profile with this factor of contention, in a folder.
pub fn profile(folder: &Path, factor: f64) -> PathBuf {
    let factor = format!("factor = {factor:?}\nleast = {factor:?}\nmost = {factor:?}\n");
    let of_board = "repetitions = 1\nprocessors = 2\njobs = 2\ndevice = \"a stand-in\"\n";
    let text = format!("version = 1\n[contention]\n{factor}{of_board}");
    let path = folder.join("board.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// By a board's profile, a job of panfrost's lasts longer beside another, and only there;
/// `gpu` as for [`Board::run_as`].
pub fn is_slowed_beside_another(gpu: [&str; 2]) {
    let board = Board::new("slot0=3000000;slot1=3000000", 30_000);
    let path = guest_program("tests/guest/panfrost_jobs.c", Link::Static);
    let path = path.display().to_string();
    let folder = tempfile::tempdir().unwrap();
    for (factor, us) in [(1.0, "3000"), (2.5, "7500")] {
        let profile = profile(folder.path(), factor);
        let options = ["--board-profile", &profile.display().to_string()];
        let run = board.run_as(gpu, &options, &[&path, "beside", "3000", us]);
        let run = run.ok();
        assert!(run.stdout.contains("ok a job beside"), "{run:#?}");
        assert!(!run.stdout.contains("not ok"), "{run:#?}");
    }
}
