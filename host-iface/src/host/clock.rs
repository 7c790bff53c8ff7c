//! The clock of the target's GPU, where a governor in the guest sets it.

use super::State;
use crate::mailbox::Answer;
use gil_uapi::{Mailbox, Status, clock};
use std::sync::Arc;

impl State {
    /// Says what the clock is and can be, and sets it if that is asked for. What began
    /// before goes on as it began.
    pub(super) fn clock(&mut self, mailbox: &Mailbox) -> Answer {
        if !self.target.costs.rates.are_there() {
            return Answer::status(Status::Unserved);
        }
        let hz = mailbox.request.0;
        if mailbox.request_len == clock::SET && self.set_rate(hz, mailbox.now_ns).is_none() {
            return Answer::status(Status::BadRequest);
        }
        Answer {
            released: self.target.costs.rates.answer(),
            ..Answer::status(Status::Ok)
        }
    }

    /// For all sessions, those to come as well.
    fn set_rate(&mut self, hz: u64, now_ns: u64) -> Option<()> {
        let mut costs = (*self.target.costs).clone();
        costs.set_rate(hz, now_ns)?;
        self.target.costs = Arc::new(costs);
        let sessions = self.sessions.values_mut();
        sessions.for_each(|session| session.have_costs(&self.target.costs));
        Some(())
    }
}
