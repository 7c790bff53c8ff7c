//! A call equal to one that the board accepted cannot fail, so it travels in a
//! batch, without an answer. Guest instructions count here.

use super::{Api, CallResult, Reply};
use crate::{Answered, ByHand};
use gil_wire::call::Handle;
use gil_wire::compact::Writer;
use gil_wire::envelope::Envelope;
use std::fmt::Debug;

/// What the board judges a launch by, besides its queue.
pub trait Shape: Copy + Debug {
    /// Whether these are the same.
    fn is(&self, other: &Self) -> bool;

    /// Whether the board, which accepted `self`, accepts `other` too.
    fn covers(&self, other: &Self) -> bool;
}

/// The arguments of a launch, in two parts: the first is the same for the same
/// shape on the same queue.
pub trait Parts {
    /// Writes the first part.
    fn write_front(&self, to: &mut Writer<'_>);

    /// Writes the second part.
    fn write_rest(&self, to: &mut Writer<'_>);

    /// Writes all of them.
    #[inline(never)]
    fn write(&self, to: &mut Writer<'_>) {
        self.write_front(to);
        self.write_rest(to);
    }

    /// Writes all of them, the first part as it was written before.
    #[inline(always)]
    fn write_behind(&self, front: &Front, to: &mut Writer<'_>) {
        match front.len {
            0 => self.write(to),
            len => {
                to.piece(&front.bytes, len);
                self.write_rest(to);
            }
        }
    }
}

/// The first part of a launch's arguments, encoded; no bytes if they are too
/// many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Front {
    bytes: [u8; Self::ROOM],
    len: usize,
}

impl Front {
    const ROOM: usize = 64;
    /// Not known.
    pub const NONE: Self = Self {
        bytes: [0; Self::ROOM],
        len: 0,
    };

    /// That of these arguments.
    pub fn new(args: &impl Parts) -> Self {
        let mut bytes = [0; Self::ROOM];
        let mut writer = Writer::new(&mut bytes, 0);
        args.write_front(&mut writer);
        match writer.end() {
            Some(len) => Self { bytes, len },
            None => Self::NONE,
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A launch that the board accepted.
#[derive(Debug)]
struct One<S> {
    queue: Handle,
    shape: S,
    front: Front,
}

/// What the board accepted of something that is launched: queues and shapes. A
/// few: programs launch a thing in few ways.
#[derive(Debug)]
pub struct Accepted<S> {
    all: Vec<One<S>>,
    /// The one that was asked for last: most often it is again.
    latest: usize,
    /// The number of replaced entries.
    replaced: usize,
}

impl<S> Default for Accepted<S> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            latest: 0,
            replaced: 0,
        }
    }
}

impl<S: Shape> Accepted<S> {
    /// Most that are kept.
    pub const MAX: usize = 8;

    /// Whether the like of this launch was accepted before; the first part of its
    /// arguments if it was the same.
    #[inline]
    pub fn like(&mut self, queue: Handle, shape: &S) -> Option<Front> {
        let latest = self.all.get(self.latest);
        if let Some(same) = latest.filter(|it| it.queue == queue && it.shape.is(shape)) {
            return Some(same.front);
        }
        self.other_like(queue, shape)
    }

    #[inline(never)]
    fn other_like(&mut self, queue: Handle, shape: &S) -> Option<Front> {
        let mut all = self.all.iter();
        let found = all.position(|it| it.queue == queue && it.shape.covers(shape))?;
        self.latest = found;
        let like = &self.all[found];
        Some(match like.shape.is(shape) {
            true => like.front,
            false => Front::NONE,
        })
    }

    /// Notes that a launch was accepted.
    pub fn accept(&mut self, queue: Handle, shape: &S, front: Front) {
        let one = One {
            queue,
            shape: *shape,
            front,
        };
        if self.all.len() < Self::MAX {
            self.latest = self.all.len();
            self.all.push(one);
        } else {
            self.latest = self.replaced % Self::MAX;
            self.all[self.latest] = one;
            self.replaced += 1;
        }
    }
}

/// Hands over a launch whose like was accepted, and which waits for nothing, with
/// the next call that needs an answer. Put into its caller.
///
/// # Errors
/// The API's code for what went wrong on the way.
#[inline(always)]
pub fn post<A: Api>(call: &Envelope<'_>, args: &impl Parts, front: &Front) -> CallResult<()> {
    let args = ByHand(|to: &mut Writer<'_>| args.write_behind(front, to));
    crate::client()
        .and_then(|client| client.post_here(call, &args))
        .map_err(|error| A::failed(call.op, &error))
}

/// The same for one that waits for events.
///
/// # Errors
/// As [`post`].
pub fn post_waiting<A: Api>(call: &Envelope<'_>, args: &impl Parts) -> CallResult<()> {
    let args = ByHand(|to: &mut Writer<'_>| args.write(to));
    crate::client()
        .and_then(|client| client.post(call, &args))
        .map_err(|error| A::failed(call.op, &error))
}

/// Has the board judge a launch.
///
/// # Errors
/// That of `read`, or the API's code for what went wrong on the way.
pub fn ask<A: Api>(
    call: &Envelope<'_>,
    args: &impl Parts,
    front: &Front,
    read: impl FnOnce(Reply<'_, A>) -> CallResult<()>,
) -> CallResult<()> {
    let args = ByHand(|to: &mut Writer<'_>| args.write_behind(front, to));
    let read = |answered: Answered<'_>| read(Reply::of(&answered));
    crate::client()
        .and_then(|client| client.forward(call, &args, read))
        .unwrap_or_else(|error| Err(A::failed(call.op, &error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fewer are accepted, too.
    #[derive(Clone, Copy, Debug)]
    struct Items(u64);

    impl Shape for Items {
        fn is(&self, other: &Self) -> bool {
            self.0 == other.0
        }

        fn covers(&self, other: &Self) -> bool {
            self.0 >= other.0
        }
    }

    struct Args(usize);

    impl Parts for Args {
        fn write_front(&self, to: &mut Writer<'_>) {
            (0..self.0).for_each(|_| to.byte(7));
        }

        fn write_rest(&self, to: &mut Writer<'_>) {
            to.byte(8);
        }
    }

    #[test]
    fn the_latest_few_are_known_on_their_queues() {
        let mut accepted = Accepted::default();
        let queue = Handle(1);
        for items in [90, 1, 2, 3, 4, 5, 6, 7] {
            accepted.accept(queue, &Items(items), Front::new(&Args(items as usize)));
        }
        let same = accepted.like(queue, &Items(7)).expect("accepted");
        assert_eq!(same.bytes(), [7; 7]);
        assert_eq!(accepted.like(queue, &Items(50)), Some(Front::NONE), "fewer");
        assert_eq!(accepted.like(queue, &Items(91)), None);
        assert_eq!(accepted.like(Handle(2), &Items(7)), None);
        accepted.accept(queue, &Items(8), Front::NONE);
        assert_eq!(accepted.like(queue, &Items(50)), None, "too long ago");
    }

    #[test]
    fn a_front_that_is_known_is_not_written_again() {
        for len in [3, Front::ROOM, Front::ROOM + 1] {
            let front = Front::new(&Args(len));
            assert_eq!(front.bytes().len(), if len > Front::ROOM { 0 } else { len });
            let mut bytes = [0; 100];
            let mut writer = Writer::new(&mut bytes, 0);
            // Were the first part written anew, it would be of another length.
            let args = Args(if len > Front::ROOM { len } else { 1 });
            args.write_behind(&front, &mut writer);
            assert_eq!(writer.end(), Some(len + 1));
            assert_eq!(bytes[len - 1..=len], [7, 8]);
        }
    }
}
