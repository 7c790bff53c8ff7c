//! When a board waits for its device, beyond what the program asks for.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// When a board waits until what was called is done on its device, for APIs whose calls
/// collect work: one parameter of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Finish {
    /// Where the program waits.
    #[default]
    Program,
    /// Also at each call that ends a frame, for which the program then waits: the times
    /// of frames.
    Frame,
    /// After each call, which lasts until then: what every call costs.
    Call,
}

impl Finish {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Program, Self::Frame, Self::Call];

    /// As options and reports have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Frame => "frame",
            Self::Call => "call",
        }
    }
}

impl fmt::Display for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No name of a [`Finish`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not program, frame or call")]
pub struct NoFinish(String);

impl FromStr for Finish {
    type Err = NoFinish;

    fn from_str(name: &str) -> Result<Self, NoFinish> {
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| NoFinish(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written() {
        for finish in Finish::ALL {
            assert_eq!(finish.to_string().parse(), Ok(finish));
        }
        let error = "swap".parse::<Finish>().unwrap_err().to_string();
        assert_eq!(error, "\"swap\" is not program, frame or call");
    }
}
