//! `Wait`, `Poll` and `Look`: answered from the timeline, never by the board.

use super::calls::{Call, Calls};
use super::{Context, Refusal, Session, Timeline, Times};
use crate::mailbox::{Answer, Header};
use gil_timing::{Event, QueueEnd};
use gil_uapi::{Status, WaitKind};
use gil_wire::ending::Ending;
use gil_wire::envelope::{self, Class, Envelope, Observation, State};

impl Session {
    /// Whether a wait needs what the program has yet to cause.
    pub(super) fn is_blocked(&self, envelope: &Envelope<'_>) -> bool {
        let queue = || {
            envelope
                .queue
                .map(|queue| self.timeline.queue_end(queue.id))
        };
        let mut waits = envelope.waits.iter();
        envelope.class == Class::Wait
            && !self.is_unserved(envelope.op.api())
            && (waits.any(|&event| self.timeline.is_blocked(event))
                || queue() == Some(QueueEnd::Blocked))
    }

    /// When all that an envelope waits for has ended; 0 for nothing.
    fn wait_end(&mut self, context: &mut Context<'_>, main: &Call<'_>) -> Result<u64, Refusal> {
        let envelope = main.envelope;
        let end = |timeline: &Timeline| {
            let mut end_ns = 0;
            for &event in &envelope.waits {
                end_ns = end_ns.max(timeline.interval(event)?.end_ns);
            }
            match envelope.queue.map(|queue| timeline.queue_end(queue.id)) {
                None => Some(end_ns),
                Some(QueueEnd::Resolved(at_ns)) => Some(end_ns.max(at_ns)),
                Some(QueueEnd::Open | QueueEnd::Blocked) => None,
            }
        };
        self.publish_for(context, |timeline| end(timeline).is_some())?;
        end(&self.timeline).ok_or(Refusal::Unresolved)
    }

    /// Publishes what a look asks for, as far as that can be known.
    fn look(&mut self, context: &mut Context<'_>, events: &[Event]) -> Result<(), Refusal> {
        let timeline = &self.timeline;
        let known = events.iter().filter(|&&event| !timeline.is_blocked(event));
        let known: Vec<Event> = known.copied().collect();
        self.publish_for(context, |timeline| {
            known
                .iter()
                .all(|&event| timeline.interval(event).is_some())
        })
    }

    pub(super) fn observe(
        &mut self,
        context: &mut Context<'_>,
        calls: &Calls<'_>,
    ) -> Result<Answer, Refusal> {
        let main = calls.last();
        let (header, envelope) = (main.header, main.envelope);
        if !calls.unsent_front().is_empty() {
            self.forward(context, calls.unsent_front(), None)?;
        }
        let end_ns = match envelope.class {
            Class::Wait => self.wait_end(context, main)?,
            Class::Look => self.look(context, &envelope.waits).map(|()| 0)?,
            _ => 0,
        };
        let at_ns = header.now_ns.max(end_ns);
        let waits = envelope.waits.iter();
        let observed = waits.map(|&event| self.observation(event, at_ns));
        let mut observed: Vec<_> = observed.collect();
        self.failures.seen(&observed);
        observed.extend(self.told(envelope, envelope.blocking));
        let mut answer = Answer::status(Status::Ok);
        answer.reply = match envelope.class == Class::Wait && envelope.waits.is_empty() {
            // Nobody reads the answer.
            true if !envelope.blocking => Vec::new(),
            _ => self.encode(&[], observed, header, at_ns)?,
        };
        if end_ns > header.now_ns {
            (answer.deadline_ns, answer.wait) = (end_ns, WaitKind::Sleep);
        }
        if envelope.class == Class::Wait {
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
            ending: interval.map_or(Ending::Done, |i| i.ending),
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
            observed: observed.into(),
            printed: &[],
            more: match std::mem::take(&mut self.notices) {
                true => envelope::MORE_NOTICES,
                false => 0,
            },
        };
        let bytes = encode(&answer, header)?;
        let room = header.reply_cap().saturating_sub(bytes.len() + TEXT_LEN);
        let (printed, more) = self.printed.take(at_ns, room.min(envelope::PRINTED_MAX));
        if printed.is_empty() && !more {
            return Ok(bytes);
        }
        answer.printed = &printed;
        answer.more |= if more { envelope::MORE_TEXT } else { 0 };
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
