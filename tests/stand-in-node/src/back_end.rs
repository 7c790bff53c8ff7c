//! The back end: which nodes there are, and how long their jobs take. Variables of the
//! agent say so, which its sessions' processes have, too.

use crate::node::{Driver, StandIn};
use crate::script::{Script, ScriptError};
use gil_board::back_end::{BackEnd, DriverOptions, Needs, Registered, Selection};
use gil_board::board::{Board, BoardError};
use gil_board::drivers::node::Node;
use gil_board::drivers::{DriversBoard, LIMIT};
use gil_wire::generated as wire;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How long jobs take: [`Script`].
pub const TIMES: &str = "GIL_STAND_IN_TIMES";
/// What times with a spread are drawn by: a number.
pub const SEED: &str = "GIL_STAND_IN_SEED";
/// How long a session waits for a job, in milliseconds.
pub const LIMIT_MS: &str = "GIL_STAND_IN_LIMIT_MS";
/// How the variables' names begin.
const PREFIX: &str = "GIL_STAND_IN_";

/// The back end.
#[derive(Debug)]
pub struct StandIns;

/// A variable whose value is none.
#[derive(Debug, thiserror::Error)]
pub enum VariableError {
    /// The jobs' times.
    #[error("{TIMES}: {0}")]
    Times(#[from] ScriptError),
    /// The seed.
    #[error("{SEED}={0:?}: write a number")]
    Seed(String),
    /// The limit.
    #[error("{LIMIT_MS}={0:?}: write a number of milliseconds")]
    Limit(String),
}

impl From<VariableError> for BoardError {
    fn from(error: VariableError) -> Self {
        Self::Driver(Box::new(error))
    }
}

fn script() -> Result<Script, VariableError> {
    let times = std::env::var(TIMES).unwrap_or_default();
    Ok(times.parse::<Script>()?.with_seed(seed()?))
}

fn seed() -> Result<u64, VariableError> {
    let text = std::env::var(SEED).unwrap_or_default();
    match &*text {
        "" => Ok(0),
        _ => text.parse().map_err(|_| VariableError::Seed(text)),
    }
}

fn limit() -> Result<Duration, VariableError> {
    match std::env::var(LIMIT_MS) {
        Err(_) => Ok(LIMIT),
        Ok(text) => match text.parse() {
            Ok(ms) => Ok(Duration::from_millis(ms)),
            Err(_) => Err(VariableError::Limit(text)),
        },
    }
}

impl BackEnd for StandIns {
    fn name(&self) -> &'static str {
        gil_wire::driver::BACK_END
    }

    fn apis(&self) -> &'static [u16] {
        &[wire::lima::API, wire::panfrost::API, wire::sample_gpu::API]
    }

    fn registered(&self) -> Vec<Registered> {
        vec![Registered {
            label: "stand-in".into(),
            library: None,
            file: None,
        }]
    }

    fn place(&self) -> Option<PathBuf> {
        None
    }

    fn needs(&self) -> Needs {
        Needs {
            variables: &[PREFIX],
            ..Needs::default()
        }
    }

    fn only(&self, _drivers: &[&Registered]) -> io::Result<Selection> {
        Ok(Selection::default())
    }

    fn load(&self, _options: DriverOptions) -> Result<Box<dyn Board>, BoardError> {
        let script = script()?;
        let node = |driver| Box::new(StandIn::new(driver, script.clone())) as Box<dyn Node>;
        let nodes = [Driver::Lima, Driver::Panfrost, Driver::SampleGpu].map(node);
        Ok(Box::new(DriversBoard::of(nodes.into(), limit()?)?))
    }
}
