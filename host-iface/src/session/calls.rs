//! A submission's calls: posts and enqueues that need no answer, then one call.

use super::Refusal;
use crate::submission::{Region, Submission};
use gil_wire::api;
use gil_wire::driver::Fetch;
use gil_wire::envelope::{Class, Envelope};
use gil_wire::gpu;
use gil_wire::message::{self, RegionDesc};

/// One call of a submission, ready to be executed.
pub(super) struct Call<'a> {
    pub(super) submission: &'a Submission,
    pub(super) envelope: &'a Envelope<'a>,
    pub(super) regions: &'a [Region],
    /// When the program entered it.
    pub(super) entry_ns: u64,
    /// Whether no other of the submission follows it.
    pub(super) is_last: bool,
    /// Whether the board answers it.
    pub(super) is_answered: bool,
    /// Whether operations are to end before the board answers.
    pub(super) finish: bool,
}

impl<'a> Call<'a> {
    /// As a board gets it.
    pub(super) fn message(&self) -> message::Call<'a> {
        message::Call {
            seq: self.submission.seq,
            op: self.envelope.op,
            thread: self.submission.thread,
            answer: self.is_answered,
            finish: self.finish,
            event: self.envelope.signals,
            args: self.envelope.args,
            regions: self.descriptions(),
        }
    }

    /// What the guest's library says that it took for it.
    pub(super) fn spent_ns(&self) -> u64 {
        let ticks = self.envelope.spent.into();
        self.submission.clock.ticks_ns(ticks)
    }

    /// Whether its operation's output is what that changed in its regions.
    pub(super) fn makes_differences(&self) -> bool {
        api::makes_differences(self.envelope.op)
    }

    /// Whether its output is differences from copies.
    pub(super) fn brings_differences(&self) -> bool {
        api::is_fetch(self.envelope.op)
    }

    /// The numbers of its out regions' copies, if these are of several numbers.
    pub(super) fn fetched(&self) -> Vec<u64> {
        if self.envelope.op.entry() == gpu::FETCH {
            return crate::gpu::fetched(self.envelope.args);
        }
        let fetch = Fetch::parse(self.envelope.args);
        let buffers = fetch.map(|it| it.buffers).unwrap_or_default();
        buffers.into_iter().map(u64::from).collect()
    }

    /// Its regions, as a board gets them.
    pub(super) fn descriptions(&self) -> Vec<RegionDesc> {
        let describe = |region: &Region| RegionDesc {
            len: region.len().0,
            dir: region.dir,
        };
        self.regions.iter().map(describe).collect()
    }
}

/// All of them; at least one.
pub(super) struct Calls<'a> {
    all: Vec<Call<'a>>,
    sent: usize,
}

impl<'a> Calls<'a> {
    /// Pairs envelopes with their regions, and checks that a submission has
    /// the shape it must have.
    pub(super) fn new(
        submission: &'a Submission,
        envelopes: &'a [Envelope<'a>],
        mut regions: &'a [Region],
    ) -> Result<Self, Refusal> {
        let bad = |reason: &str| Err(Refusal::Bad(reason.into()));
        let mut all = Vec::with_capacity(envelopes.len());
        for (index, envelope) in envelopes.iter().enumerate() {
            let Some((own, rest)) = regions.split_at_checked(envelope.regions as usize) else {
                return bad("its envelopes have more regions than the submission");
            };
            regions = rest;
            let is_last = index + 1 == envelopes.len();
            check(envelope, own, is_last)?;
            all.push(Call {
                submission,
                envelope,
                regions: own,
                entry_ns: submission.clock.entry_ns(envelope.entry),
                is_last,
                is_answered: is_last && envelope.class != Class::Post,
                finish: true,
            });
        }
        match regions.is_empty() && !all.is_empty() {
            true => Ok(Self { all, sent: 0 }),
            false => bad("the submission has more regions than its envelopes"),
        }
    }

    pub(super) fn all(&self) -> &[Call<'a>] {
        &self.all
    }

    /// The one that is answered.
    pub(super) fn last(&self) -> &Call<'a> {
        &self.all[self.all.len() - 1]
    }

    pub(super) fn last_mut(&mut self) -> &mut Call<'a> {
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// Those before it.
    pub(super) fn front(&self) -> &[Call<'a>] {
        &self.all[..self.all.len() - 1]
    }

    /// Operations end before the board answers, or later, whichever call
    /// enqueues them.
    pub(super) fn set_finish(&mut self, finish: bool) {
        self.all.iter_mut().for_each(|call| call.finish = finish);
    }

    /// Leaves others out that stand before the last call; nothing was sent yet.
    pub(super) fn retain_front(&mut self, mut keep: impl FnMut(&Call<'a>) -> bool) {
        let mut left = self.all.len();
        self.all.retain(|call| {
            left -= 1;
            left == 0 || keep(call)
        });
    }

    /// Whether operations are enqueued before the last call.
    pub(super) fn has_enqueues_in_front(&self) -> bool {
        let mut front = self.front().iter();
        front.any(|call| call.envelope.class == Class::Enqueue)
    }

    /// The board has those before the last.
    pub(super) fn front_is_sent(&mut self) {
        self.sent = self.all.len() - 1;
    }

    /// What the board has yet to get, the last included.
    pub(super) fn unsent(&self) -> &[Call<'a>] {
        &self.all[self.sent..]
    }

    /// The same without the last.
    pub(super) fn unsent_front(&self) -> &[Call<'a>] {
        &self.all[self.sent..self.all.len() - 1]
    }
}

fn check(envelope: &Envelope<'_>, regions: &[Region], is_last: bool) -> Result<(), Refusal> {
    let bad = |reason: &str| Err(Refusal::Bad(reason.into()));
    let is_post = envelope.class == Class::Post;
    let may_stand_in_front = is_post || envelope.class == Class::Enqueue && !envelope.blocking;
    if !is_last && !may_stand_in_front {
        return bad("a call that needs an answer is not the last one");
    }
    if (is_post || !is_last) && regions.iter().any(|region| region.dir.is_out()) {
        return bad("a call without an answer has an out region");
    }
    if envelope.op.api() == 0 {
        return bad("a call to the host interface among calls to the board");
    }
    Ok(())
}
