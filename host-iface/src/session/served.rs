//! The APIs that the session's board serves. Calls of other APIs are not sent.

use super::calls::Calls;
use super::link::Link;
use super::{Context, Refusal, Session};
use gil_wire::api::{self, ApiError, Described};
use gil_wire::envelope::Class;
use std::collections::BTreeSet;

/// The APIs that the board serves.
#[derive(Debug, Default)]
pub(super) struct Served {
    /// As it says.
    theirs: Vec<Described>,
    /// Of these, the APIs that this build describes in the same way.
    agreed: Vec<u16>,
    /// What was reported to the user as not served.
    told: BTreeSet<u16>,
}

impl Served {
    /// Of a board that says so as the session opens.
    pub(super) fn by(theirs: Vec<Described>) -> Self {
        let numbers = theirs.iter().map(|api| api.number);
        let agreed = numbers.filter(|&number| api::check(number, &theirs).is_ok());
        Self {
            agreed: agreed.collect(),
            theirs,
            told: BTreeSet::new(),
        }
    }

    /// Whether calls of this API may be sent.
    ///
    /// # Errors
    /// [`ApiError`] says why not.
    pub(super) fn check(&self, number: u16) -> Result<(), ApiError> {
        match self.agreed.contains(&number) {
            true => Ok(()),
            false => api::check(number, &self.theirs),
        }
    }

    /// As the board said.
    pub(super) fn all(&self) -> &[Described] {
        &self.theirs
    }
}

impl Session {
    /// Leaves calls in front out that the board does not serve; whether it
    /// serves the last one. What asks nothing of a board needs none.
    pub(super) fn leave_out_unserved(
        &mut self,
        context: &mut Context<'_>,
        calls: &mut Calls<'_>,
    ) -> Result<bool, Refusal> {
        if self.link.is_unopened() {
            let is_sent = |class| !matches!(class, Class::Wait | Class::Poll | Class::Look);
            if !calls.all().iter().any(|call| is_sent(call.envelope.class)) {
                return Ok(true);
            }
            let (last, now_ns) = (calls.last(), calls.last().submission.now_ns());
            let client = self.open(context, last.envelope.op, now_ns)?;
            self.link.put(client);
        }
        calls.retain_front(|call| self.link.serves(context, call.envelope.op.api()));
        Ok(self.link.serves(context, calls.last().envelope.op.api()))
    }
}

impl Link {
    /// Whether the board is known not to serve an API: nothing of it will come.
    pub(super) fn is_unserved(&self, number: u16) -> bool {
        self.is_open() && self.served.check(number).is_err()
    }

    /// Whether the board serves an API; says once why not.
    fn serves(&mut self, context: &mut Context<'_>, number: u16) -> bool {
        let Err(error) = self.served.check(number) else {
            return true;
        };
        self.is_not_served(context, number, error);
        false
    }

    /// Says why, once an API.
    pub(super) fn is_not_served(
        &mut self,
        context: &mut Context<'_>,
        number: u16,
        reason: impl std::fmt::Display,
    ) {
        if self.served.told.insert(number) {
            let process = self.process();
            context.events.warn(format!("process {process}: {reason}"));
        }
    }
}
