//! Each thread's own buffers for a request and its answer, used again by every
//! call so that a call allocates nothing.

use crate::client::Call;
use crate::{Error, uapi};
use gil_wire::Op;
use gil_wire::envelope::{Class, Engine, Queue};
use serde::{Serialize, Serializer};
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
        let body = Body::new(call, args);
        match postcard::to_slice(&body, &mut self.envelope[LENGTH..]) {
            Ok(bytes) => self.envelope_len = LENGTH + bytes.len(),
            Err(error) => return Err(too_long(call.op, &body, error)),
        }
        let len = (self.envelope_len - LENGTH) as u32;
        self.envelope[..LENGTH].copy_from_slice(&len.to_le_bytes());
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
        Ok(bytes) => Error::Bounds {
            op,
            what: "a request in bytes",
            len: bytes.len(),
            max: uapi::REQUEST_MAX - LENGTH,
        },
        Err(_) => Error::Answer { op, error },
    }
}

/// [`Envelope`](gil_wire::envelope::Envelope) with every list borrowed; the
/// bytes are the same.
#[derive(Serialize)]
struct Body<'a> {
    op: Op,
    class: Class,
    entry: u64,
    queue: Option<Queue>,
    engine: Engine,
    blocking: bool,
    waits: &'a [u64],
    signals: Option<u64>,
    observable: bool,
    retires: Option<u64>,
    regions: u32,
    #[serde(serialize_with = "at_once")]
    args: &'a [u8],
}

impl<'a> Body<'a> {
    fn new(call: &Call<'a>, args: &'a [u8]) -> Self {
        Self {
            op: call.op,
            class: call.class,
            entry: call.entry,
            queue: call.queue,
            engine: call.engine,
            blocking: call.blocking,
            waits: call.waits,
            signals: call.signals,
            observable: call.observable,
            retires: call.retires,
            regions: call.regions.len() as u32,
            args,
        }
    }
}

/// As a sequence of bytes would be, but copied in one piece.
fn at_once<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Region;
    use gil_wire::envelope;
    use gil_wire::message::Direction;

    #[test]
    fn encodes_as_the_wire_has_it() {
        let region = Region::new(std::ptr::null(), 4, Direction::In);
        let call = Call {
            queue: Some(Queue {
                id: 9,
                in_order: true,
                device: 1 << 63,
            }),
            engine: Engine::CopyIn,
            blocking: true,
            waits: &[1, 200, 70_000],
            signals: Some(5),
            observable: true,
            retires: Some(3),
            regions: &[region],
            ..Call::new(Op::new(1, 2), Class::Enqueue, 1 << 40)
        };
        with(|scratch| {
            scratch.encode(&call, &(7u32, "seven")).unwrap();
            let all = envelope::parse(scratch.envelope()).unwrap();
            let mut wire = Vec::new();
            envelope::push(&all[0], &mut wire);
            assert_eq!(scratch.envelope(), wire);
            assert_eq!(all[0].waits, [1, 200, 70_000]);
            assert_eq!((all[0].entry, all[0].regions), (1 << 40, 1));
            assert_eq!((all[0].signals, all[0].retires), (Some(5), Some(3)));
            assert_eq!(postcard::from_bytes(all[0].args), Ok((7u32, "seven")));
        });
    }

    #[test]
    fn what_is_too_long_says_how_long() {
        let call = Call::new(Op::new(1, 2), Class::Query, 0);
        let args = vec![0u8; 9000];
        let error = with(|scratch| scratch.encode(&call, &args)).unwrap_err();
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
