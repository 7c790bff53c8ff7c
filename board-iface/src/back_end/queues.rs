//! APIs with queues whose operations signal events: registers an operation when its
//! function has returned, waits for its end, and ends what a user event unblocks.
//!
//! The driver implements [`Events`], the API [`Queues`].
//! [`operations`](super::operations) stores which operation waits for which.

use super::call::Call;
use super::dispatch::Enqueued;
use super::objects::{Objects, References};
use super::operations::{Device, Finished, Operation, Operations, QueueRef};
use super::refusal::Refusal;
use super::table::Pointer;
use crate::board::Ended;
use gil_wire::call::Handle;
use gil_wire::ending::Ending;
use std::time::Instant;

/// A driver whose operations signal events. All objects that it is given are
/// alive.
pub trait Events: References {
    /// The kind of a queue.
    const QUEUE: Self::Kind;
    /// The kind of an event.
    const EVENT: Self::Kind;

    /// Has the device begin what was put on a queue.
    fn flush(&self, queue: Pointer);

    /// Waits until what an event stands for has ended.
    fn wait(&self, event: Pointer);

    /// Whether it has ended.
    fn has_ended(&self, event: Pointer) -> bool;

    /// How it ended.
    fn ending(&self, event: Pointer) -> Ending;

    /// Nanoseconds that it took on the device, if they were measured.
    fn duration_ns(&self, event: Pointer) -> Option<u64>;

    /// Sets a user event, which nobody will set any more: what waits for it
    /// fails, and ends.
    fn abandon(&self, event: Pointer);

    /// Waits for an operation that is not blocked; its references stay.
    fn wait_for(&self, operation: &Operation) {
        self.flush(operation.queue.queue);
        self.wait(operation.event);
    }
}

/// Waits with a driver's own functions.
struct Waiting<D: 'static>(&'static D);

impl<D: Events> Device for Waiting<D> {
    fn begin(&mut self, operation: &Operation) {
        self.0.flush(operation.queue.queue);
    }

    fn finish(&mut self, operation: &Operation) -> Finished {
        let began = Instant::now();
        self.0.wait_for(operation);
        let waited = || Some(began.elapsed().as_nanos() as u64);
        let finished = self.finished(operation, waited);
        finished.expect("a duration is known")
    }

    /// An operation that was not measured is waited for, since its duration is
    /// what the wait takes.
    fn finish_ended(&mut self, operation: &Operation) -> Option<Finished> {
        let has_ended = self.0.has_ended(operation.event);
        has_ended.then(|| self.finished(operation, || None))?
    }
}

impl<D: Events> Waiting<D> {
    /// How an operation ended, whose duration is `otherwise` if the driver does
    /// not say it. Gives up its references, unless nobody knows its duration.
    fn finished(
        &self,
        operation: &Operation,
        otherwise: impl Fn() -> Option<u64>,
    ) -> Option<Finished> {
        let Self(driver) = self;
        let ending = driver.ending(operation.event);
        let measured = driver.duration_ns(operation.event);
        let duration_ns = match ending {
            Ending::Done => measured.or_else(otherwise)?,
            Ending::Failed(_) => 0,
        };
        driver.release(D::EVENT, operation.event);
        driver.release(D::QUEUE, operation.queue.queue);
        Some(Finished {
            duration_ns,
            ending,
        })
    }
}

/// A session of an API with queues. An API gives the first methods, the others
/// follow.
pub trait Queues: Objects<Driver: Events> {
    /// The session's operations and user events.
    fn operations(&mut self) -> &mut Operations;

    /// Whether a queue executes in order.
    fn is_in_order(&self, queue: Handle) -> bool;

    /// Nothing was put on the queue, for this error. The host learns it here: it
    /// has put a call that it gets no answer to on its timeline.
    fn refused(&mut self, call: &mut Call, _queue: Handle, error: i32) {
        call.reject(error);
    }

    /// An enqueue function returned: what [`Enqueues::enqueued`] promises.
    ///
    /// # Errors
    /// [`Refusal`].
    ///
    /// [`Enqueues::enqueued`]: super::dispatch::Enqueues::enqueued
    fn put_on_queue(&mut self, call: &mut Call, op: Enqueued<'_>) -> Result<(), Refusal> {
        call.set_enqueued();
        if op.result != 0 {
            self.refused(call, op.queue, op.result);
            return Ok(());
        }
        let Some(event) = Pointer::new(op.event) else {
            // The driver may use the call's memory for ever.
            std::mem::forget(call.take_memory());
            return Err(Refusal::NoEvent);
        };
        let (driver, kind) = (self.driver(), Self::Driver::EVENT);
        if op.signals.kept {
            driver.retain(kind, event);
        }
        let operation = operation(self, call, &op, event)?;
        let operations = self.operations();
        operations.enqueued_by(call, operation, &mut Waiting(driver));
        if op.signals.kept {
            self.bind(kind, op.signals.number, event.as_ptr(), op.queue)?;
        }
        Ok(())
    }

    /// A user event was made.
    fn user_event(&mut self, event: Pointer) {
        self.driver().retain(Self::Driver::EVENT, event);
        self.operations().user_event(event);
    }

    /// A user event was set: reports what ends by that.
    fn user_event_set(&mut self, event: Pointer, call: &mut Call) {
        for ended in unblock(self, event, call.finishes()) {
            call.report(ended);
        }
    }

    /// Waits for the operation under way that has this number; how it ended.
    fn end(&mut self, number: u64) -> Option<Ended> {
        let mut device = Waiting(self.driver());
        let (operation, finished) = self.operations().finish(number, &mut device)?;
        Some(finished.later(operation.number, operation.memory))
    }

    /// The next operation under way on the queue of the one that was waited for
    /// last, if it has ended, too.
    fn end_behind(&mut self) -> Option<Ended> {
        let mut device = Waiting(self.driver());
        let (operation, finished) = self.operations().finish_behind(&mut device)?;
        Some(finished.later(operation.number, operation.memory))
    }

    /// The session is over: has all operations end, those that waited for the
    /// guest too.
    fn end_all(&mut self) {
        let driver = self.driver();
        let unset: Vec<Pointer> = self.operations().unset().collect();
        for event in unset {
            driver.abandon(event);
            unblock(self, event, true);
        }
        self.operations().finish_all(&mut Waiting(driver));
    }
}

/// An operation with the call's memory.
fn operation<S: Queues + ?Sized>(
    session: &S,
    call: &mut Call,
    op: &Enqueued<'_>,
    event: Pointer,
) -> Result<Operation, Refusal> {
    let (table, driver) = (session.table(), session.driver());
    let queue = table.get(op.queue, S::Driver::QUEUE)?;
    let waits = op.waits.iter();
    let waits = waits.map(|wait| table.get(*wait, S::Driver::EVENT));
    let waits = waits.collect::<Result<_, _>>()?;
    driver.retain(S::Driver::QUEUE, queue);
    Ok(Operation {
        number: op.signals.number.0,
        event,
        queue: QueueRef {
            queue,
            in_order: session.is_in_order(op.queue),
        },
        order: op.order,
        waits,
        memory: call.take_memory(),
    })
}

/// A user event is set: what is not blocked any more begins, and is waited for
/// if `finish`.
fn unblock<S: Queues + ?Sized>(session: &mut S, event: Pointer, finish: bool) -> Vec<Ended> {
    let driver = session.driver();
    let operations = session.operations();
    if !operations.is_unset(event) {
        return Vec::new();
    }
    let ended = operations.set(event, finish, &mut Waiting(driver));
    driver.release(S::Driver::EVENT, event);
    let ended = ended.into_iter();
    ended
        .map(|(operation, finished)| finished.later(operation.number, operation.memory))
        .collect()
}

#[cfg(test)]
mod tests;
