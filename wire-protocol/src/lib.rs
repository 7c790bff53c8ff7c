//! The messages between the guest's libraries, the host interface and the board
//! agent. No I/O: callers move the bytes, this crate encodes and decodes them.
//!
//! | module | between | what |
//! |---|---|---|
//! | [`hello`] | host ↔ board | the first 64 bytes: magic, version, capabilities |
//! | [`identity`] | host ↔ board | the physical device behind an API's device |
//! | [`frame`] | host ↔ board | lengths before every message, bounded |
//! | [`message`] | host ↔ board | the messages themselves |
//! | [`finish`] | host → board | when a board waits for its device |
//! | [`status`] | operator ↔ board | an agent's status |
//! | [`envelope`] | guest → host | one call as simulators and drivers handle it: opaque numbers |
//! | [`call`] | guest ↔ board | building blocks of the generated argument types |
//! | [`compact`] | guest | hand-written encoding of some of them |
//! | [`length`] | guest, board | sizes computed from arguments, the same on both sides |
//! | [`pieces`] | board | arrays of strings as C functions take them |
//! | [`control`] | guest's init → host | calls that the host interface answers itself |
//! | [`input`] | guest's init ↔ `gil run` | the program's standard input |
//! | [`monitor`] | host interface → `gil run` | console output, progress, the report |
//! | [`api`], [`description`] | host ↔ board | the APIs, and which of them both sides have |
//! | [`address`] | users → host, board | where an agent listens |
//! | [`choice`] | users → host | options that are for some APIs only |
//! | [`checkpoint`] | host ↔ board | a session's contents for a checkpoint |
//! | [`driver`] | guest ↔ board | calls of a kernel driver: arguments and answers |
//! | [`differences`] | host ↔ board | what differs in memory of which both have a copy |
//! | [`generated`] | guest ↔ board | one argument and one reply type per entry point |
#![forbid(unsafe_code)]

pub mod address;
pub mod api;
pub mod call;
pub mod checkpoint;
pub mod choice;
pub mod compact;
pub mod control;
pub mod description;
pub mod differences;
pub mod driver;
pub mod ending;
pub mod envelope;
pub mod finish;
pub mod frame;
pub mod generated;
pub mod gpu;
pub mod hello;
pub mod identity;
pub mod input;
pub mod length;
pub mod message;
pub mod monitor;
pub mod pieces;
pub mod rows;
pub mod state;
pub mod status;
pub mod subject;
pub mod words;

/// Number of an entry point: the API's number in the upper half, the entry's in
/// the lower. Numbers are never reused (`api/*.toml`).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Op(pub u32);

impl Op {
    /// The operation `entry` of API `api`.
    pub const fn new(api: u16, entry: u16) -> Self {
        Self(((api as u32) << 16) | entry as u32)
    }

    /// The API's number; 0 is [`control`].
    pub const fn api(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// The entry's number within its API.
    pub const fn entry(self) -> u16 {
        self.0 as u16
    }

    /// The entry point's name, if this build knows it.
    pub fn name(self) -> Option<&'static str> {
        match self.api() {
            0 => control::name(self),
            _ => api::info(self).map(|call| call.name),
        }
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "op {:#010x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operations_number_holds_its_api_and_its_entry() {
        let op = Op::new(0x12, 0x3456);
        assert_eq!((op.0, op.api(), op.entry()), (0x12_3456, 0x12, 0x3456));
    }

    #[test]
    fn operations_are_shown_by_their_names() {
        let shown = [control::CONSOLE, Op::new(1, 1), Op::new(9, 1)].map(|op| op.to_string());
        assert_eq!(shown, ["gil_console", "clGetPlatformIDs", "op 0x00090001"]);
    }
}
