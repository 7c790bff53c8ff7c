//! An API's description (`api/*.toml`), with its hash, which both ends of a
//! connection compare.

use crate::Op;
use crate::call::CallInfo;
use crate::state::Effect;
use crate::subject::Subject;
use serde::{Deserialize, Serialize};

/// SHA-256 of a description, without its comments and layout.
pub type Hash = [u8; 32];

/// What a call leaves behind in its session, by its arguments and its result,
/// if it was answered; `None` if nothing.
pub type EffectOf = fn(Op, &[u8], Option<&[u8]>) -> Option<Effect>;

/// One API.
#[derive(Debug)]
pub struct Api {
    /// The upper half of its operations' numbers; never reused.
    pub number: u16,
    /// Its name in options, as its description is called.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The board's module that serves it, alone or with others.
    pub back_end: &'static str,
    /// Whether it is part of gil, and not a test's or an example's.
    pub is_own: bool,
    /// Of a kernel driver whose GPU has several processors: their names, those of the
    /// engines from [`Engine::PROCESSOR_FIRST`](crate::envelope::Engine::PROCESSOR_FIRST)
    /// on.
    pub processors: &'static [&'static str],
    /// Of its description.
    pub hash: Hash,
    /// Its entry points, by number.
    pub calls: &'static [CallInfo],
    /// Those of its calls that end a frame, by number.
    pub frames: &'static [u16],
    /// Those whose output is [what differs](crate::differences) in their regions from what
    /// was there when their operations began, by number.
    pub differences: &'static [u16],
    /// What a call leaves behind in its session.
    pub effect: EffectOf,
    /// The queue on which a call puts its operation, by its arguments; `None` if they do
    /// not say so.
    pub queue: fn(Op, &[u8]) -> Option<u64>,
    /// What a call says of names, by its arguments; `None` if nothing.
    pub subject: fn(Op, &[u8]) -> Option<Subject<'_>>,
}

/// The kinds of object an API has, such as a context and a queue.
pub trait Kind: Copy + Eq + std::fmt::Debug {
    /// As the API calls it.
    fn name(self) -> &'static str;
}

/// An API as one side of a connection has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described {
    /// Its number.
    pub number: u16,
    /// Of the description that the side was generated from.
    pub hash: Hash,
}

impl Api {
    /// As it is sent to the other side.
    pub const fn described(&self) -> Described {
        Described {
            number: self.number,
            hash: self.hash,
        }
    }
}
