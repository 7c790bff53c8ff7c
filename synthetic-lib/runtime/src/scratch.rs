//! Each thread's own buffers for a request and its answer, used again by every
//! call so that a call allocates nothing.

use crate::client::Call;
use crate::{Error, body, uapi};
use gil_wire::Op;
use serde::Serialize;
use std::cell::Cell;

const LENGTH: usize = size_of::<u32>();

/// Room for one call.
pub(crate) struct Scratch {
    args: [u8; uapi::REQUEST_MAX],
    envelope: [u8; uapi::REQUEST_MAX],
    envelope_len: usize,
    pub(crate) reply: [u8; uapi::REPLY_MAX],
}

thread_local! {
    static SLOT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Gives this thread's buffers to `f`. Calls inside `f` get others; so do those
/// of a thread that is about to end.
pub(crate) fn with<R>(f: impl FnOnce(&mut Scratch) -> R) -> R {
    let kept = SLOT.try_with(Cell::take).ok().flatten();
    let mut scratch = kept.unwrap_or_else(|| Box::new(Scratch::new()));
    let result = f(&mut scratch);
    let _ = SLOT.try_with(|slot| slot.set(Some(scratch)));
    result
}

impl Scratch {
    fn new() -> Self {
        Self {
            args: [0; uapi::REQUEST_MAX],
            envelope: [0; uapi::REQUEST_MAX],
            envelope_len: 0,
            reply: [0; uapi::REPLY_MAX],
        }
    }

    /// The encoded envelope, behind its length.
    #[cfg(test)]
    pub(crate) fn envelope(&self) -> &[u8] {
        &self.envelope[..self.envelope_len]
    }

    /// The encoded envelope, and the room for the answer.
    pub(crate) fn halves(&mut self) -> (&[u8], &mut [u8]) {
        (&self.envelope[..self.envelope_len], &mut self.reply)
    }

    /// Encodes `call` with `args` into the envelope.
    pub(crate) fn encode(&mut self, call: &Call<'_>, args: &impl Serialize) -> Result<(), Error> {
        check_regions(call)?;
        let args: &[u8] = match postcard::to_slice(args, &mut self.args) {
            Ok(args) => args,
            Err(error) => return Err(too_long(call.op, args, error)),
        };
        let room = &mut self.envelope[LENGTH..];
        if body::len_max(call, args) > room.len() {
            return Err(too_many_bytes(call.op, body::len_max(call, args)));
        }
        let len = body::write(call, args, room);
        self.envelope[..LENGTH].copy_from_slice(&(len as u32).to_le_bytes());
        self.envelope_len = LENGTH + len;
        Ok(())
    }
}

fn check_regions(call: &Call<'_>) -> Result<(), Error> {
    let bounds = |what, len, max| Error::Bounds {
        op: call.op,
        what,
        len,
        max,
    };
    if call.regions.len() > uapi::REGIONS_MAX {
        let len = call.regions.len();
        return Err(bounds("a number of memory regions", len, uapi::REGIONS_MAX));
    }
    Ok(())
}

/// Why `value` does not encode: in memory that can only be its length.
#[cold]
fn too_long(op: Op, value: &impl Serialize, error: postcard::Error) -> Error {
    match postcard::to_stdvec(value) {
        Ok(bytes) => too_many_bytes(op, bytes.len()),
        Err(_) => Error::Answer { op, error },
    }
}

#[cold]
fn too_many_bytes(op: Op, len: usize) -> Error {
    Error::Bounds {
        op,
        what: "a request in bytes",
        len,
        max: uapi::REQUEST_MAX - LENGTH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::envelope::{self, Class};

    #[test]
    fn an_envelope_stands_behind_its_length() {
        let call = Call::new(Op::new(1, 2), Class::Query, 1 << 40);
        with(|scratch| {
            scratch.encode(&call, &(7u32, "seven")).unwrap();
            let all = envelope::parse(scratch.envelope()).unwrap();
            assert_eq!((all.len(), all[0].op, all[0].entry), (1, call.op, 1 << 40));
            assert_eq!(postcard::from_bytes(all[0].args), Ok((7u32, "seven")));
        });
    }

    #[test]
    fn what_is_too_long_says_how_long() {
        let call = Call::new(Op::new(1, 2), Class::Query, 0);
        let args = vec![0u8; 9000];
        let error = with(|scratch| scratch.encode(&call, &args)).unwrap_err();
        let waits = vec![1; 2000];
        let many = Call {
            waits: &waits,
            ..call
        };
        let error_of_waits = with(|scratch| scratch.encode(&many, &0u8)).unwrap_err();
        assert!(matches!(error_of_waits, Error::Bounds { .. }));
        assert!(
            matches!(
                error,
                Error::Bounds {
                    len: 9002,
                    max: 8188,
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn calls_inside_a_call_have_their_own_buffers() {
        let call = Call::new(Op::new(1, 2), Class::Query, 0);
        with(|outer| {
            outer.encode(&call, &1u8).unwrap();
            let before = outer.envelope().to_vec();
            with(|inner| inner.encode(&call, &2u8).unwrap());
            assert_eq!(outer.envelope(), before);
        });
    }
}
