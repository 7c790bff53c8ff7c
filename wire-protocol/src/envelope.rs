//! A call as the driver, the simulators and the host interface handle it: numbers
//! that they do not interpret, and bytes that they pass on.

pub mod bytes;
mod observation;

use crate::Op;
use crate::ending::Ending;
use crate::rows::RegionRows;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What a call means for time. Not what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Class {
    /// Asks; changes nothing.
    Query,
    /// Runs to its end before it returns. If it signals an event (a user
    /// event set by the program), the event completes at its end.
    Sync,
    /// Needs no answer: the guest found every synchronous error itself.
    Post,
    /// Puts an operation on a queue's timeline.
    Enqueue,
    /// Waits for the events in `waits`, or for all of `queue` so far. Answered
    /// from the timeline; never goes to the board.
    Wait,
    /// Asks how far the events in `waits` are. Answered from the timeline;
    /// never goes to the board.
    Poll,
    /// Asks when the events in `waits` end, now or in the future. As a wait,
    /// but nobody sleeps, and what waits for an event that the program has yet
    /// to set is answered [`State::Queued`] with an end of 0.
    Look,
}

/// Part of a device that one operation occupies at a time, or several by their shares, by number: what an
/// API's operations occupy is the API's to say, and nothing between the guest
/// and the board asks what an engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Engine(pub u8);

impl Engine {
    /// Takes no device time.
    pub const NONE: Self = Self(0);
    /// Kernels; also what has no engine of its own.
    pub const COMPUTE: Self = Self(1);
    /// Copies to the device.
    pub const COPY_IN: Self = Self(2);
    /// Copies from the device.
    pub const COPY_OUT: Self = Self(3);
    /// What draws.
    pub const GRAPHICS: Self = Self(4);
    /// The first of the processors that a GPU's kernel driver starts jobs on; the last is
    /// [`LAST`](Self::LAST). They slow each other down, by the board's profile.
    pub const PROCESSOR_FIRST: Self = Self(8);
    /// The greatest number: a device has no more engines.
    pub const LAST: Self = Self(15);
}

/// How much of its engine an operation needs: thousandths in the lower ten bits, and above them
/// the number of a group, of the process. Operations of one group whose shares fit into the
/// engine together run at the same time; those of different groups take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Share(pub u32);

impl Share {
    const BITS: u32 = 10;
    /// All of it.
    pub const WHOLE: Self = Self(1000);

    /// Of so many thousandths, for a group of which the lower 22 bits count.
    #[inline]
    pub const fn of_thousand(thousandths: u16, group: u32) -> Self {
        if thousandths >= 1000 {
            return Self::WHOLE;
        }
        Self(thousandths as u32 | group << Self::BITS)
    }

    /// Whether it is all of it.
    #[inline(always)]
    pub const fn is_whole(self) -> bool {
        self.0 == Self::WHOLE.0
    }

    /// Thousandths; a peer may have written more than there are.
    pub const fn thousandths(self) -> u16 {
        (self.0 & ((1 << Self::BITS) - 1)) as u16
    }

    /// The group.
    pub const fn group(self) -> u32 {
        self.0 >> Self::BITS
    }
}

/// How an operation is ordered with the others of its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Order {
    /// As the queue has it.
    #[default]
    Command,
    /// With empty `waits`, waits for everything before it on its queue, in
    /// order or not.
    Marker,
    /// As a marker, and everything after it on its queue waits for it.
    Barrier,
}

/// A command queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Its handle.
    pub id: u64,
    /// Whether each operation waits for the one before.
    pub in_order: bool,
    /// The device whose engines it uses (a handle).
    pub device: u64,
}

/// One call on its way from the guest's library to the host interface;
/// [`bytes`] says how. A library fills one in and writes it where it travels; the
/// host interface reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope<'a> {
    /// The entry point.
    pub op: Op,
    /// The call's behaviour in time.
    pub class: Class,
    /// The guest's counter when the program entered the library.
    pub entry: u64,
    /// Ticks of that counter that the library took for it, if it is a post or an enqueue that
    /// nobody waits for, and for a call before it that was answered at once. The target's
    /// driver takes its time in their place.
    pub spent: u32,
    /// The queue it works on or waits for.
    pub queue: Option<Queue>,
    /// The engine an enqueued operation occupies.
    pub engine: Engine,
    /// How much of the engine.
    pub share: Share,
    /// How it is ordered with the others of its queue.
    pub order: Order,
    /// Whether an enqueue returns only when its operation is complete; of a wait
    /// for a queue, whether the program is notified of errors there.
    pub blocking: bool,
    /// Event numbers it waits for.
    pub waits: Cow<'a, [u64]>,
    /// The event number it signals. Every enqueue has one.
    pub signals: Option<u64>,
    /// Whether the program holds that event; if not, nobody will ever ask for
    /// it by number but the envelope's own sender.
    pub observable: bool,
    /// An event number that nobody will ask for any more.
    pub retires: Option<u64>,
    /// How many of the submission's regions are this envelope's, in order.
    pub regions: u32,
    /// Those of its regions of which only rows count. The board gets and gives
    /// their rows one behind the other.
    pub rows: Cow<'a, [RegionRows]>,
    /// The number under which the host keeps a copy of its regions, as the board has them:
    /// input that equals its copy goes as a region without bytes. The regions of each
    /// direction are counted apart, and one of either has the same copy. Without regions,
    /// the copy goes.
    pub mirror: Option<u64>,
    /// The address to which the program's call returns, if the run asks for it; 0 is not
    /// known. It travels as a [note](bytes::note) in front of the envelope.
    pub site: u64,
    /// The generated argument type, encoded. Opaque here. A library that encodes
    /// its arguments where they travel leaves this empty.
    pub args: &'a [u8],
}

impl Envelope<'_> {
    /// A call without queue, events and regions.
    #[inline(always)]
    pub const fn new(op: Op, class: Class, entry: u64) -> Self {
        Self {
            op,
            class,
            entry,
            spent: 0,
            queue: None,
            engine: Engine::NONE,
            share: Share::WHOLE,
            order: Order::Command,
            blocking: false,
            waits: Cow::Borrowed(&[]),
            signals: None,
            observable: false,
            retires: None,
            regions: 0,
            rows: Cow::Borrowed(&[]),
            mirror: None,
            site: 0,
            args: &[],
        }
    }

    /// The same, whose lists are this one's.
    #[inline(always)]
    pub fn borrowed(&self) -> Envelope<'_> {
        Envelope {
            waits: Cow::Borrowed(&self.waits),
            rows: Cow::Borrowed(&self.rows),
            ..*self
        }
    }
}

/// Where an operation is at the moment of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Known, and not yet started for lack of a dependency or of the engine.
    Queued,
    /// Its dependencies are met; it has not started.
    Submitted,
    /// It started.
    Running,
    /// It ended.
    Complete,
}

/// What the timeline says of an event. On the wire as bytes at fixed places,
/// which take the guest few instructions to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The event's number.
    pub event: u64,
    /// Its state.
    pub state: State,
    /// How it ended. Known only when it is resolved; [`Ending::Done`] till then.
    pub ending: Ending,
    /// When the call that enqueued it was entered, guest nanoseconds.
    pub queued_ns: u64,
    /// When it was submitted, guest nanoseconds.
    pub submitted_ns: u64,
    /// When it starts, guest nanoseconds; 0 while unresolved.
    pub start_ns: u64,
    /// When it ends, guest nanoseconds; 0 while unresolved.
    pub end_ns: u64,
}

/// Observations of some events. The usual one takes no memory.
pub type Observations = smallvec::SmallVec<[Observation; 1]>;

/// The host's answer to a submission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer<'a> {
    /// The generated reply type, encoded; empty for `Wait`, `Poll` and `Look`.
    #[serde(borrow)]
    pub result: &'a [u8],
    /// For `Wait`, `Poll` and `Look`: one for each event in `waits`. For calls
    /// that wait for their queue or for an operation on it also that of an
    /// operation which the board refused when it was too late to say so; once.
    pub observed: Observations,
    /// For a `Poll` without `waits`: text that kernels printed, ready by the
    /// deadline, in the order of their operations' ends; at most [`PRINTED_MAX`].
    #[serde(borrow)]
    pub printed: &'a [u8],
    /// What else is ready: [`MORE_TEXT`], [`MORE_NOTICES`].
    pub more: u8,
}

/// In [`Answer::more`]: more text, asked for with a [`Class::Poll`] without
/// `waits`.
pub const MORE_TEXT: u8 = 1;
/// In [`Answer::more`]: the board's driver said something of a context, or
/// refused an operation behind the program's back. Said once; the guest's
/// library asks the board what.
pub const MORE_NOTICES: u8 = 2;

impl<'a> Answer<'a> {
    /// As postcard reads it. The usual answer, a short result and nothing else,
    /// is read by hand: the guest counts these instructions.
    ///
    /// # Errors
    /// Postcard's.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> postcard::Result<Self> {
        match Self::result_alone(bytes) {
            Some(result) => Ok(Self {
                result,
                ..Self::default()
            }),
            None => postcard::from_bytes(bytes),
        }
    }

    #[inline]
    fn result_alone(bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (len, rest) = bytes.split_first().filter(|(len, _)| **len < 0x80)?;
        let (result, end) = rest.split_at_checked(usize::from(*len))?;
        // No observations, no text, and no more of it.
        (end == [0; 3]).then_some(result)
    }
}

/// Most bytes of text in one answer.
pub const PRINTED_MAX: usize = 4096;

/// Bytes that are no sequence of envelopes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// A length runs past the end.
    #[error("an envelope of {len} bytes at offset {at} runs past the request's {total} bytes")]
    Length {
        /// Offset of the length.
        at: usize,
        /// The length.
        len: usize,
        /// Bytes of the request.
        total: usize,
    },
    /// An envelope does not decode.
    #[error("the envelope at offset {at} does not decode: {error}")]
    Decode {
        /// Offset of the envelope.
        at: usize,
        /// What is wrong with its bytes.
        error: bytes::BodyError,
    },
    /// There is none.
    #[error("a submission without an envelope")]
    Empty,
}

/// Appends one envelope with its arguments, behind its length, and in front of it the note
/// of its call site, if that is known.
///
/// # Panics
/// If it has more regions, waits or rows than [`bytes`] can say.
pub fn push(envelope: &Envelope<'_>, out: &mut Vec<u8>) {
    if envelope.site != 0 {
        out.extend(bytes::note(envelope.site));
    }
    let start = out.len();
    out.resize(start + envelope.head_max(), 0);
    let len = envelope
        .write_head(&mut out[start..])
        .expect("counts that can be said");
    out.truncate(start + len);
    out.extend_from_slice(envelope.args);
    bytes::close(&mut out[start..]);
}

/// Reads a submission's envelopes.
///
/// # Errors
/// [`EnvelopeError`] with the offset of what is wrong.
pub fn parse(request: &[u8]) -> Result<Vec<Envelope<'_>>, EnvelopeError> {
    let mut all = Vec::new();
    let (mut at, mut site) = (0, 0);
    while at < request.len() {
        let rest = &request[at..];
        let past_end = |len| EnvelopeError::Length {
            at,
            len,
            total: request.len(),
        };
        let (len, rest) = rest.split_first_chunk::<4>().ok_or(past_end(4))?;
        if *len == bytes::NOTE_MARK {
            let noted = rest.first_chunk().ok_or(past_end(bytes::NOTE))?;
            site = u64::from_le_bytes(*noted);
            at += bytes::NOTE;
            continue;
        }
        let len = u32::from_le_bytes(*len) as usize;
        let body = rest.get(..len).ok_or(past_end(len))?;
        let envelope = bytes::read(body).map_err(|error| EnvelopeError::Decode { at, error })?;
        all.push(Envelope { site, ..envelope });
        at += 4 + len;
    }
    if all.is_empty() {
        return Err(EnvelopeError::Empty);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Rows;
    use proptest::prelude::*;

    fn sample(args: &[u8]) -> Envelope<'_> {
        Envelope {
            op: Op::new(1, 2),
            class: Class::Enqueue,
            entry: 99,
            spent: 12,
            queue: Some(Queue {
                id: 5,
                in_order: true,
                device: 1,
            }),
            engine: Engine::COPY_IN,
            share: Share::of_thousand(250, 9),
            order: Order::Command,
            blocking: true,
            waits: vec![1, 2, 3].into(),
            signals: Some(7),
            observable: false,
            retires: None,
            regions: 1,
            rows: vec![RegionRows {
                region: 0,
                rows: Rows::packed_of(1, 2, 3),
            }]
            .into(),
            mirror: Some(8),
            site: 0,
            args,
        }
    }

    #[test]
    fn round_trip() {
        let mut bytes = Vec::new();
        push(&sample(b"one"), &mut bytes);
        push(&sample(b"two"), &mut bytes);
        assert_eq!(parse(&bytes).unwrap(), vec![sample(b"one"), sample(b"two")]);
        assert_eq!(parse(&[]), Err(EnvelopeError::Empty));
        bytes.pop();
        assert!(matches!(parse(&bytes), Err(EnvelopeError::Length { .. })));
    }

    #[test]
    fn a_note_is_of_all_envelopes_behind_it() {
        let of = |site| Envelope {
            site,
            ..sample(b"one")
        };
        let all = [of(0), of(0x7f00_1234), of(0x7f00_1234), of(9)];
        let mut bytes = Vec::new();
        push(&all[0], &mut bytes);
        push(&all[1], &mut bytes);
        push(&sample(b"one"), &mut bytes);
        push(&all[3], &mut bytes);
        assert_eq!(parse(&bytes).unwrap(), all);
        bytes.extend(bytes::note(7));
        assert_eq!(parse(&bytes).unwrap(), all, "a note of nothing");
        bytes.pop();
        assert!(matches!(parse(&bytes), Err(EnvelopeError::Length { .. })));
        assert_eq!(parse(&bytes::note(7)), Err(EnvelopeError::Empty));
    }

    /// As both ways of reading an answer have it.
    fn both(bytes: &[u8]) -> postcard::Result<Answer<'_>> {
        let answer = Answer::read(bytes);
        assert_eq!(answer, postcard::from_bytes(bytes));
        answer
    }

    proptest! {
        #[test]
        fn answers_are_read_as_postcard_does(
            result in prop::collection::vec(any::<u8>(), 0..200),
            events in prop::collection::vec(any::<u64>(), 0..3),
            printed in prop_oneof![Just(Vec::new()), any::<Vec<u8>>()],
            more: u8,
            cut: prop::sample::Index,
            odd: Vec<u8>,
        ) {
            let observe = |event: &u64| Observation {
                event: *event,
                state: State::Running,
                ending: Ending::Done,
                queued_ns: 1,
                submitted_ns: 2,
                start_ns: 3,
                end_ns: 4,
            };
            let observed = events.iter().map(observe).collect();
            let answer = Answer { result: &result, observed, printed: &printed, more };
            let bytes = postcard::to_stdvec(&answer).unwrap();
            prop_assert_eq!(both(&bytes), Ok(answer));
            let _ = both(&bytes[..cut.index(bytes.len())]);
            let _ = both(&odd);
            prop_assert_eq!(both(&[2, 7, 8, 0, 0, 0]).unwrap().result, [7, 8]);
        }
    }

    #[test]
    fn a_length_of_two_bytes_is_read_as_postcard_does() {
        for len in [0x80, 0x81] {
            // Read as one byte, it would be followed by just that many, and the end.
            let bytes = [&[len, 1][..], &vec![0; usize::from(len) + 2]].concat();
            assert!(both(&bytes).is_err(), "{len}");
        }
    }

    fn region_rows((region, sizes): (u32, [u64; 5])) -> RegionRows {
        let [row, rows, row_pitch, slices, slice_pitch] = sizes;
        let rows = Rows {
            row,
            rows,
            row_pitch,
            slices,
            slice_pitch,
        };
        RegionRows { region, rows }
    }

    prop_compose! {
        fn envelopes()(
            (op, class, entry, engine) in (any::<u32>(), 0usize..7, any::<u64>(), 0..=Engine::LAST.0),
            spent: u32,
            queue: Option<(u64, bool, u64)>,
            (blocking, observable) in any::<(bool, bool)>(),
            order in 0usize..3,
            (signals, retires, mirror) in any::<(Option<u64>, Option<u64>, Option<u64>)>(),
            waits: Vec<u64>,
            (regions, rows) in any::<(u16, Vec<(u32, [u64; 5])>)>(),
        ) -> Envelope<'static> {
            Envelope {
                op: Op(op),
                class: bytes::CLASSES[class],
                entry,
                spent,
                queue: queue.map(|(id, in_order, device)| Queue { id, in_order, device }),
                engine: Engine(engine),
                share: Share::WHOLE,
                order: [Order::Command, Order::Marker, Order::Barrier][order],
                blocking,
                waits: waits.into(),
                signals,
                observable,
                retires,
                regions: regions.into(),
                rows: rows.into_iter().map(region_rows).collect(),
                mirror,
                site: 0,
                args: b"arguments",
            }
        }
    }

    proptest! {
        #[test]
        fn every_envelope_round_trips(envelope in envelopes()) {
            let mut bytes = Vec::new();
            push(&envelope.borrowed(), &mut bytes);
            prop_assert_eq!(parse(&bytes).unwrap(), vec![envelope]);
        }

        #[test]
        fn a_changed_byte_parses_or_fails(envelope in envelopes(), at: usize, byte: u8) {
            let mut bytes = Vec::new();
            push(&envelope, &mut bytes);
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = parse(&bytes);
        }

        #[test]
        fn any_bytes_parse_or_fail(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}
