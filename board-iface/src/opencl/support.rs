//! Everything that the generated dispatch calls.

pub use super::call::{Call, Output};
pub use super::info::{InfoReply, info};
pub use super::refusal::Refusal;
pub use super::session::{Enqueued, Session};

use serde::{Deserialize, Serialize};

/// Most entries of an out array.
const MAX_ROOM: u32 = 4096;

/// Runs one entry point: decodes its arguments, calls the driver, encodes the
/// answer (empty for posts).
pub type DispatchFn = fn(&mut Session, &mut Call, args: &[u8]) -> Result<Vec<u8>, Refusal>;

/// The calls whose bodies are written by hand.
#[derive(Clone, Copy, Debug)]
pub struct Board;

/// Reads a call's arguments.
///
/// # Errors
/// [`Refusal::Decode`], or [`Refusal::Trailing`] if bytes follow.
pub fn decode<'a, A: Deserialize<'a>>(args: &'a [u8]) -> Result<A, Refusal> {
    match postcard::take_from_bytes(args).map_err(Refusal::Decode)? {
        (decoded, []) => Ok(decoded),
        (_, rest) => Err(Refusal::Trailing(rest.len())),
    }
}

/// Writes an answer.
///
/// # Errors
/// [`Refusal::Encode`].
pub fn encode<R: Serialize>(reply: &R) -> Result<Vec<u8>, Refusal> {
    postcard::to_stdvec(reply).map_err(Refusal::Encode)
}

/// Entries of an out array that are fetched: the program's room, bounded.
pub fn room(count: u32) -> usize {
    count.min(MAX_ROOM) as usize
}

/// A guest's `size_t` as this machine's.
///
/// # Errors
/// [`Refusal::Width`] if it does not fit.
pub fn size(value: u64, name: &'static str) -> Result<usize, Refusal> {
    usize::try_from(value).map_err(|_| Refusal::Width { name, value })
}

/// The address of a list; null if it is empty, as OpenCL wants it.
pub fn list_ptr<T>(list: &[T]) -> *const T {
    if list.is_empty() {
        return std::ptr::null();
    }
    list.as_ptr()
}
