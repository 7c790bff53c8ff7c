//! `Wait`, `Poll` and `Look`: answered from the timeline, never by the board.

use super::calls::{Call, Calls};
use super::delivery::Delivery;
use super::schedule::Timeline;
use super::{Context, Refusal, Session};
use crate::mailbox::Answer;
use crate::submission::Submission;
use gil_timing::{Event, QueueEnd};
use gil_uapi::{Status, WaitKind};
use gil_wire::api::is_of_a_driver;
use gil_wire::envelope::{self, Class, Envelope, Observation, State};

impl Session {
    /// Whether a wait needs what the program has yet to cause.
    pub(super) fn is_blocked(&self, envelope: &Envelope<'_>) -> bool {
        let timeline = &self.schedule.timeline;
        let queue = || envelope.queue.map(|queue| timeline.queue_end(queue.id));
        let mut waits = envelope.waits.iter();
        envelope.class == Class::Wait
            && !self.links.of(envelope.op).is_unserved(envelope.op.api())
            && (waits.any(|&event| timeline.is_blocked(event))
                || queue() == Some(QueueEnd::Blocked))
    }

    /// When all that an envelope waits for has ended; 0 for nothing.
    fn wait_end(&mut self, context: &mut Context<'_>, main: &Call<'_>) -> Result<u64, Refusal> {
        let envelope = main.envelope;
        let end = |timeline: &Timeline| {
            let mut end_ns = 0;
            for &event in envelope.waits.iter() {
                end_ns = end_ns.max(timeline.interval(event)?.end_ns);
            }
            match envelope.queue.map(|queue| timeline.queue_end(queue.id)) {
                None => Some(end_ns),
                Some(QueueEnd::Resolved(at_ns)) => Some(end_ns.max(at_ns)),
                Some(QueueEnd::Open | QueueEnd::Blocked) => None,
            }
        };
        self.publish_for(context, |timeline| end(timeline).is_some())?;
        end(&self.schedule.timeline).ok_or(Refusal::Unresolved)
    }

    /// Publishes what a look asks for, as far as that can be known.
    fn look(&mut self, context: &mut Context<'_>, events: &[Event]) -> Result<(), Refusal> {
        let timeline = &self.schedule.timeline;
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
        let (submission, envelope) = (main.submission, main.envelope);
        let now_ns = submission.now_ns();
        if !calls.unsent_front().is_empty() {
            self.forward(context, calls.unsent_front(), None)?;
        }
        if is_of_a_driver(envelope.op) {
            self.ask_ahead(context, &envelope.waits)?;
        }
        let end_ns = match envelope.class {
            Class::Wait => {
                let end_ns = self.wait_end(context, main)?;
                self.schedule.seen_ns(main, end_ns)
            }
            Class::Look => self.look(context, &envelope.waits).map(|()| 0)?,
            _ => 0,
        };
        let at_ns = now_ns.max(end_ns);
        let waits = envelope.waits.iter();
        let observed = waits.map(|&event| self.schedule.observation(event, at_ns));
        let mut observed: Vec<_> = observed.collect();
        let ended = observed.iter().filter(|it| it.state == State::Complete);
        let seen_ns = ended.map(|it| it.end_ns).fold(end_ns, u64::max);
        self.delivery.failures.seen(&observed);
        observed.extend(self.delivery.told(envelope, envelope.blocking));
        let mut answer = Answer::status(Status::Ok);
        answer.reply = match envelope.class == Class::Wait && envelope.waits.is_empty() {
            // Nobody reads the answer.
            true if !envelope.blocking => Vec::new(),
            _ => {
                let takes_text = envelope.class == Class::Poll && envelope.waits.is_empty();
                self.delivery
                    .encode(&[], observed, submission, (at_ns, takes_text))?
            }
        };
        let link = self.links.of_mut(envelope.op);
        if end_ns > now_ns {
            (answer.deadline_ns, answer.wait) = (end_ns, WaitKind::Sleep);
            link.lateness.spend(main);
            link.lateness.is_on_time();
        } else {
            link.lateness.spend(main);
        }
        link.lateness.has_seen(seen_ns);
        if envelope.class == Class::Wait {
            self.schedule.forget_awaited(&envelope.waits);
        }
        if let Some(event) = envelope.retires {
            self.schedule.retire(event);
        }
        Ok(answer)
    }
}

/// Bytes that text adds to an answer beside itself: its length.
const TEXT_LEN: usize = 2;

impl Delivery {
    /// An answer's bytes. It says whether there is text that is ready at `at_ns`. If it takes text,
    /// it has as much of it as fits into the guest's buffer: who asks for text
    /// alone writes it at once, while one that waits has it when another thread should have written it.
    pub(super) fn encode(
        &mut self,
        result: &[u8],
        observed: Vec<Observation>,
        submission: &Submission,
        (at_ns, takes_text): (u64, bool),
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
        let bytes = encode(&answer, submission)?;
        let room = submission.reply_cap.saturating_sub(bytes.len() + TEXT_LEN);
        let room = match takes_text {
            true => room.min(envelope::PRINTED_MAX),
            false => 0,
        };
        let (printed, more) = self.printed.take(at_ns, room);
        if printed.is_empty() && !more {
            return Ok(bytes);
        }
        answer.printed = &printed;
        answer.more |= if more { envelope::MORE_TEXT } else { 0 };
        encode(&answer, submission)
    }
}

fn encode(answer: &envelope::Answer<'_>, submission: &Submission) -> Result<Vec<u8>, Refusal> {
    let bytes = postcard::to_stdvec(answer).map_err(|error| Refusal::Bad(error.to_string()))?;
    let cap = submission.reply_cap;
    match bytes.len() <= cap {
        true => Ok(bytes),
        false => Err(Refusal::Bad(format!(
            "the answer has {} bytes, the guest has room for {cap}",
            bytes.len()
        ))),
    }
}
