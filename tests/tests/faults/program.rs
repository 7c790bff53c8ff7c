//! A guest's program whose messages to the board are of every kind, played
//! from its driver's side.

use crate::support::guest::{DATA, Guest, IN, OUT, call, enqueue};
use gil_uapi::{Status, kind};
use gil_wire::envelope::{Class, Envelope};
use gil_wire::generated::opencl as cl;

/// Bytes of the buffer: more than either side reads at a time.
const LEN: u64 = 40_000;
const INPUT: u64 = DATA;
const FIRST: u64 = DATA + 0x10000;
const SECOND: u64 = DATA + 0x20000;

/// What became of the program.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Each submission's status.
    pub statuses: Vec<u32>,
    /// Whether every answer and all output is as it should be.
    pub is_right: bool,
    /// Answered calls to the board that were answered well.
    pub answered: Vec<u64>,
}

impl Outcome {
    pub fn is_finished(&self) -> bool {
        self.statuses
            .iter()
            .all(|&status| status == Status::Ok as u32)
    }

    /// Whether the board was lost at one of the calls, and stayed so.
    pub fn is_lost(&self) -> bool {
        let lost = Status::Lost as u32;
        let first = self.statuses.iter().position(|&status| status == lost);
        first.is_some_and(|at| {
            let (before, after) = self.statuses.split_at(at);
            before.iter().all(|&status| status == Status::Ok as u32)
                && after.iter().all(|&status| status == lost)
        })
    }

    /// Whether the board did not serve any of the calls.
    pub fn is_not_served(&self) -> bool {
        let unserved = Status::Unserved as u32;
        self.statuses.iter().all(|&status| status == unserved)
    }
}

struct Playing<'g> {
    guest: &'g mut Guest,
    outcome: Outcome,
}

/// Plays the program in the session that the guest has open.
pub fn play(guest: &mut Guest) -> Outcome {
    let outcome = Outcome {
        is_right: true,
        ..Outcome::default()
    };
    let mut playing = Playing { guest, outcome };
    playing.all();
    playing.outcome
}

/// Ends the guest's session and begins another.
pub fn next_session(guest: &mut Guest) {
    assert_eq!(guest.close().status, Status::Ok as u32);
    guest.session += 1;
    assert_eq!(guest.simple(kind::OPEN).status, Status::Ok as u32);
}

impl Playing<'_> {
    fn all(&mut self) {
        let input: Vec<u8> = (0..LEN).map(|i| ((i * 31) >> 3) as u8).collect();
        self.guest.write(INPUT, &input);
        [FIRST, SECOND]
            .iter()
            .for_each(|&at| self.guest.write(at, &vec![0xee; LEN as usize]));
        self.ask(b"who are you");
        self.submit(&[call(Class::Post, 0)], &[]);
        let write = self.operation(1, cl::CL_ENQUEUE_WRITE_BUFFER);
        self.submit(&[write], &[(INPUT, LEN, IN)]);
        let add = |event| self.operation(event, cl::CL_ENQUEUE_ND_RANGE_KERNEL);
        let (one, two) = (add(2), add(3));
        self.submit(&[call(Class::Post, 0), one, two], &[]);
        let read = self.operation(4, cl::CL_ENQUEUE_READ_BUFFER);
        self.submit(&[read], &[(FIRST, LEN, OUT)]);
        self.attend();
        let wait = Envelope {
            waits: vec![4].into(),
            ..call(Class::Wait, 0)
        };
        self.submit(&[wait], &[]);
        let blocking = Envelope {
            blocking: true,
            ..self.operation(5, cl::CL_ENQUEUE_READ_BUFFER)
        };
        self.submit(&[blocking], &[(SECOND, LEN, OUT)]);
        self.guest.collect();
        self.ask(b"are you still there");
        let sum: Vec<u8> = input.iter().map(|byte| byte.wrapping_add(2)).collect();
        for at in [FIRST, SECOND] {
            self.outcome.is_right &= self.guest.read(at, LEN as usize) == sum;
        }
    }

    fn operation(&self, event: u64, op: gil_wire::Op) -> Envelope<'static> {
        Envelope {
            op,
            ..enqueue(event, 0)
        }
    }

    /// Has the board say something backwards.
    fn ask(&mut self, args: &'static [u8]) {
        let query = Envelope {
            args,
            op: cl::CL_GET_PLATFORM_INFO,
            ..call(Class::Query, 0)
        };
        let said = self.submit(&[query], &[]);
        let backwards: Vec<u8> = args.iter().rev().copied().collect();
        self.outcome.is_right &= said == backwards;
    }

    /// Submits, lets the time pass that the answer takes, and collects.
    fn submit(&mut self, envelopes: &[Envelope<'_>], regions: &[(u64, u64, u32)]) -> Vec<u8> {
        let now = self.guest.now_ns;
        let envelopes: Vec<_> = envelopes
            .iter()
            .map(|envelope| Envelope {
                entry: now,
                regions: match envelope.class {
                    Class::Enqueue => regions.len() as u32,
                    _ => 0,
                },
                ..envelope.clone()
            })
            .collect();
        let seen = self.guest.submit(&envelopes, regions);
        self.guest.now_ns = now.max(seen.deadline_ns) + 1;
        self.outcome.statuses.push(seen.status);
        if seen.status != Status::Ok as u32 || seen.reply.is_empty() {
            return Vec::new();
        }
        let is_forwarded = envelopes
            .last()
            .is_some_and(|last| last.class != Class::Wait);
        if is_forwarded {
            self.outcome.answered.push(self.guest.seq);
        }
        seen.answer().result.to_vec()
    }

    /// The driver's timer rings, as far as it was asked to.
    fn attend(&mut self) {
        let at_ns = self.guest.collect().attention_ns;
        self.guest.now_ns = self.guest.now_ns.max(at_ns);
        assert_eq!(self.guest.simple(kind::ATTEND).status, Status::Ok as u32);
    }
}
