//! The choice of the simulator, and how it gets durations.

use gil_wire::finish::Finish;

/// The simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Sim {
    /// Fast, with one CPU whose time is its instructions.
    Qemu,
    /// For timing studies; built by the user.
    Gem5,
}

/// When the durations of operations are learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Time {
    /// Each before its call returns.
    Strict,
    /// As simulated time reaches them.
    Async,
}

/// When the board waits until what was drawn is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum GlTime {
    /// Where the program waits.
    Program,
    /// Also at each swap, and the program with it: the times of frames.
    Frame,
    /// After each call: what every call costs.
    Call,
}

impl GlTime {
    /// As the host interface's configuration has it.
    pub fn finish(self) -> Finish {
        match self {
            Self::Program => Finish::Program,
            Self::Frame => Finish::Frame,
            Self::Call => Finish::Call,
        }
    }
}

impl Time {
    /// As the host interface's configuration has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Async => "async",
        }
    }
}
