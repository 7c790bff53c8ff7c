//! A call of a watched function, as values, and the line that a user reads.

use super::arguments::Arguments;
use super::ioctl::Ioctl;
use std::fmt;

/// What is seen at a point. Prints as the user's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting<'a> {
    /// A watched function is called.
    Call(Call<'a>),
    /// A module was loaded that has no such function.
    NoFunction {
        /// The module, as the kernel writes it.
        module: String,
        /// The function that is watched.
        function: &'a str,
    },
}

/// A call of a watched function, at its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The function's number among those that are watched.
    pub watch: usize,
    /// The function, as lines name it.
    pub label: String,
    /// When, if the simulator says so.
    pub when: Option<When>,
    /// The process that runs, as the kernel counts them, if it is known.
    pub process: Option<u32>,
    /// The arguments.
    pub arguments: Arguments<'a>,
    /// The ioctl, if the function executes a driver's, decoded.
    pub ioctl: Option<Ioctl>,
}

/// When something happened in the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Simulated nanoseconds.
    Nanoseconds(u64),
    /// Instructions executed, where the simulator shows no clock.
    Instructions(u64),
}

impl fmt::Display for Sighting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(call) => call.fmt(f),
            Self::NoFunction { module, function } => write!(
                f,
                "the module {module} was loaded and has no function {function}"
            ),
        }
    }
}

impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.when {
            Some(when) => when.fmt(f)?,
            None => f.write_str("at an unknown time")?,
        }
        if let Some(process) = self.process {
            write!(f, ", pid {process}")?;
        }
        match &self.ioctl {
            Some(ioctl) => write!(f, ": {ioctl}"),
            None => write!(f, ": {}({})", self.label, self.arguments),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nanoseconds(time) => {
                write!(f, "{}.{:09} s", time / 1_000_000_000, time % 1_000_000_000)
            }
            Self::Instructions(count) => write!(f, "{count} instructions"),
        }
    }
}
