//! The choice of the simulator, and how it gets durations.

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

impl Time {
    /// As the host interface's configuration has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Async => "async",
        }
    }
}
