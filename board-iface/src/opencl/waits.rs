//! Wait lists for the driver.
//!
//! A driver may never end a command that waits for an event that has already failed:
//! PoCL does not. So each failed event is replaced by one that fails once the command
//! is enqueued, which every driver propagates.

use super::generated::types::*;
use super::refusal::OpenClRefusal;
use super::session::Session;
use crate::back_end::{Objects, Pointer, References, Refusal};
use gil_wire::call::Handle;
use gil_wire::generated::opencl::Kind;

/// A user event in the place of one that failed.
#[derive(Debug)]
pub struct StandIn {
    event: Pointer,
    /// The failed event's error.
    status: cl_int,
}

impl Session {
    /// The events of a wait list.
    ///
    /// # Errors
    /// [`Refusal::Table`] for the first that is not there,
    /// [`OpenClRefusal::StandIn`] if the driver makes no user event.
    pub(super) fn wait_list<T>(&mut self, list: &[Handle]) -> Result<Vec<*mut T>, Refusal> {
        let mut waits: Vec<*mut T> = self.list(Kind::Event, list)?;
        if self.operations.has_failed() {
            for event in &mut waits {
                *event = self.stand_in(event.cast())?.cast();
            }
        }
        Ok(waits)
    }

    /// The event, or what stands in for it if it failed.
    fn stand_in(&mut self, event: cl_event) -> Result<cl_event, Refusal> {
        let Some(failed) = Pointer::new(event.cast()) else {
            return Ok(event);
        };
        let status = self.driver.status(failed);
        if status >= 0 {
            return Ok(event);
        }
        let event = self.sibling(failed).map_err(OpenClRefusal::StandIn)?;
        self.stand_ins.push(StandIn { event, status });
        Ok(event.as_ptr().cast())
    }

    /// A user event of another event's context.
    fn sibling(&self, event: Pointer) -> Result<Pointer, cl_int> {
        let context = self.event_context(event).ok_or(CL_INVALID_CONTEXT)?;
        self.new_user_event(context.as_ptr().cast())
    }

    /// The command is enqueued, or will not be.
    pub(super) fn fail_stand_ins(&mut self) {
        for StandIn { event, status } in self.stand_ins.drain(..) {
            self.driver.set_user_event(event, status);
            self.driver.release(Kind::Event, event);
        }
    }
}
