//! The APIs that the session's board serves. Calls of other APIs are not sent.

use super::calls::Calls;
use super::link::Link;
use super::{Context, Refusal, Session};
use gil_wire::Op;
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
    /// Leaves calls in front out that no board takes; whether one takes the last.
    /// What asks nothing of a board needs none.
    ///
    /// # Errors
    /// [`Refusal::Lost`] or [`Refusal::Unserved`], the inner one of the last call:
    /// those in front may go on.
    pub(super) fn leave_out_unserved(
        &mut self,
        context: &mut Context<'_>,
        calls: &mut Calls<'_>,
    ) -> Result<Result<(), Refusal>, Refusal> {
        let is_sent = |class| !matches!(class, Class::Wait | Class::Poll | Class::Look);
        let all = calls.all().iter().map(|call| call.envelope);
        for envelope in all.filter(|envelope| is_sent(envelope.class)) {
            self.open_first(context, envelope.op, calls.last().submission.now_ns())?;
        }
        calls.retain_front(|call| self.takes(context, call.envelope.op).is_ok());
        let last = calls.last().envelope;
        match self.links.of(last.op).is_unopened() {
            true => Ok(Ok(())),
            false => Ok(self.takes(context, last.op)),
        }
    }

    /// Connects to the board of this call, if that was not tried before. Only of
    /// several boards one that is not there leaves the others to go on.
    fn open_first(
        &mut self,
        context: &mut Context<'_>,
        op: Op,
        now_ns: u64,
    ) -> Result<(), Refusal> {
        if !self.links.of(op).is_unopened() {
            return Ok(());
        }
        match self.open(context, op, now_ns) {
            Ok(client) => self.links.of_mut(op).put(client),
            Err(refusal) if !self.links.are_several() => return Err(refusal),
            // It counts as lost.
            Err(_) => {}
        }
        Ok(())
    }

    /// Whether there is a board that takes this call.
    fn takes(&mut self, context: &mut Context<'_>, op: Op) -> Result<(), Refusal> {
        let link = self.links.of_mut(op);
        match link.is_lost() {
            true => Err(Refusal::Lost),
            false if link.serves(context, op.api()) => Ok(()),
            false => Err(Refusal::Unserved),
        }
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
