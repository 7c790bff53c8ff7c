//! `Wait`, `Poll` and `Look`: answered from the timeline, never by the board.

use super::{Call, Context, Refusal, Session};
use crate::layout::{Status, WaitKind};
use crate::mailbox::{Answer, Header};
use gil_timing::{Event, QueueEnd, Times};
use gil_wire::envelope::{self, Class, Envelope, Observation, State};

impl Session {
    /// When all that an envelope waits for has ended; 0 for nothing.
    pub(super) fn wait_end(&self, envelope: &Envelope<'_>) -> Result<u64, Refusal> {
        let mut end_ns = 0;
        for &event in &envelope.waits {
            let interval = self.timeline.interval(event);
            end_ns = end_ns.max(interval.ok_or(Refusal::Unresolved)?.end_ns);
        }
        if let Some(queue) = envelope.queue {
            match self.timeline.queue_end(queue.id) {
                QueueEnd::Resolved(at_ns) => end_ns = end_ns.max(at_ns),
                QueueEnd::Unresolved => return Err(Refusal::Unresolved),
            }
        }
        Ok(end_ns)
    }

    pub(super) fn observe(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        posts: &[Call<'_>],
    ) -> Result<Answer, Refusal> {
        let (header, envelope) = (main.header, main.envelope);
        let is_wait = envelope.class == Class::Wait;
        let end_ns = if is_wait { self.wait_end(envelope)? } else { 0 };
        if !posts.is_empty() {
            self.forward(context, posts, None)?;
        }
        let at_ns = header.now_ns.max(end_ns);
        let waits = envelope.waits.iter();
        let observed = waits.map(|&event| self.observation(event, at_ns)).collect();
        let mut answer = Answer::status(Status::Ok);
        answer.reply = self.encode(&[], observed, header, at_ns)?;
        if end_ns > header.now_ns {
            (answer.deadline_ns, answer.wait) = (end_ns, WaitKind::Sleep);
        }
        if is_wait {
            self.forget_awaited(&envelope.waits);
        }
        if let Some(event) = envelope.retires {
            self.retire(event);
        }
        Ok(answer)
    }

    fn observation(&self, event: Event, at_ns: u64) -> Observation {
        let times = self.timeline.times(event);
        let interval = times.and_then(|times| times.interval);
        Observation {
            event,
            state: times.map_or(State::Queued, |times| state(times, at_ns)),
            status: interval.map_or(0, |i| i.status),
            queued_ns: times.map_or(0, |t| t.queued_ns),
            submitted_ns: times.map_or(0, |t| t.submitted_ns),
            start_ns: interval.map_or(0, |i| i.start_ns),
            end_ns: interval.map_or(0, |i| i.end_ns),
        }
    }

    /// The sender of operations whose events nobody holds has seen their end.
    fn forget_awaited(&mut self, events: &[Event]) {
        for event in events {
            if self.pending.remove(event).is_some_and(|p| !p.observable) {
                self.timeline.retire(*event);
            }
        }
    }
}

fn state(times: Times, at_ns: u64) -> State {
    match times.interval {
        Some(interval) if interval.end_ns <= at_ns => State::Complete,
        Some(interval) if interval.start_ns <= at_ns => State::Running,
        _ if times.ready_ns.is_some_and(|ready_ns| ready_ns <= at_ns) => State::Submitted,
        _ => State::Queued,
    }
}

/// Bytes that text adds to an answer beside itself: its length.
const TEXT_LEN: usize = 2;

impl Session {
    /// An answer's bytes, with as much text that is due at `at_ns` as fits
    /// where the guest has room.
    pub(super) fn encode(
        &mut self,
        result: &[u8],
        observed: Vec<Observation>,
        header: &Header,
        at_ns: u64,
    ) -> Result<Vec<u8>, Refusal> {
        let mut answer = envelope::Answer {
            result,
            observed,
            printed: &[],
            more: false,
        };
        let bytes = encode(&answer, header)?;
        let room = header.reply_cap().saturating_sub(bytes.len() + TEXT_LEN);
        let (printed, more) = self.printed.take(at_ns, room.min(envelope::PRINTED_MAX));
        if printed.is_empty() && !more {
            return Ok(bytes);
        }
        (answer.printed, answer.more) = (&printed, more);
        encode(&answer, header)
    }
}

fn encode(answer: &envelope::Answer<'_>, header: &Header) -> Result<Vec<u8>, Refusal> {
    let bytes = postcard::to_stdvec(answer).map_err(|error| Refusal::Bad(error.to_string()))?;
    let cap = header.reply_cap();
    match bytes.len() <= cap {
        true => Ok(bytes),
        false => Err(Refusal::Bad(format!(
            "the answer has {} bytes, the guest has room for {cap}",
            bytes.len()
        ))),
    }
}
