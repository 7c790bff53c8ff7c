//! One guest program's OpenCL objects and operations.

use super::driver::Driver;
use super::files;
use super::generated;
use super::generated::functions::Functions;
use super::generated::types::*;
use super::objects::Data;
use super::programs::Programs;
use super::refusal;
use super::staging::Staged;
use super::svm::Svm;
use super::waits::StandIn;
use crate::back_end::dispatch::Dispatch;
use crate::back_end::notices::Notices;
use crate::back_end::operations::{Device, Finished, Operation, Operations, QueueRef};
use crate::back_end::printing::Printing;
use crate::back_end::{
    Call, Enqueued, Enqueues, Objects, Pointer, References, Refusal, Table, staging,
};
use crate::board::{self, Ended, Guest, Outcome, Unable};
use crate::region::Budget;
use gil_opencl_common::status;
use gil_wire::Op;
use gil_wire::api::{self, Described};
use gil_wire::call::Handle;
use gil_wire::checkpoint::{PastEvent, Survey};
use gil_wire::ending::Ending;
use gil_wire::generated::opencl::{self as wire, Kind};
use gil_wire::identity::DeviceIdentity;
use std::time::Instant;

/// What is generated.
const DISPATCH: Dispatch<Session> = Dispatch {
    function: generated::dispatch,
    failed: generated::dispatch::failed,
    code: refusal::code,
    missing: CL_INVALID_OPERATION,
};

/// A session of the OpenCL back end.
#[derive(Debug)]
pub struct Session {
    pub(super) driver: &'static Driver,
    pub(super) guest: Guest,
    /// What its objects take of the board's memory.
    pub(super) budget: Budget,
    pub(super) table: Table<Kind, Data>,
    pub(super) operations: Operations,
    /// In the wait list of the enqueue under way.
    pub(super) stand_ins: Vec<StandIn>,
    /// What was said of contexts.
    pub(super) notices: Notices,
    /// What is remembered of programs' texts.
    pub(super) programs: Programs,
    /// Kernels that print.
    pub(super) printing: Printing,
    /// Shared virtual memory.
    pub(super) svm: Svm,
    /// Bytes of files of the guest that programs include.
    pub(super) files: Budget,
}

impl Session {
    /// A session without objects but platforms and devices, which have the same
    /// numbers in every session.
    pub fn new(driver: &'static Driver, guest: Guest, budget: &Budget) -> Self {
        let mut table = Table::default();
        for (kind, root) in driver.roots() {
            // A table without objects has room.
            let _ = table.found(kind, root, || driver.retain(kind, root));
        }
        Self {
            driver,
            guest,
            budget: budget.clone(),
            table,
            operations: Operations::default(),
            stand_ins: Vec::new(),
            notices: Notices::default(),
            programs: Programs::default(),
            printing: Printing::default(),
            svm: Svm::default(),
            files: files::budget(),
        }
    }

    /// An operation with the call's memory.
    fn operation(
        &self,
        call: &mut Call,
        op: &Enqueued<'_>,
        event: Pointer,
    ) -> Result<Operation, Refusal> {
        let queue = self.table.get(op.queue, Kind::CommandQueue)?;
        let waits = op
            .waits
            .iter()
            .map(|wait| self.table.get(*wait, Kind::Event));
        let waits = waits.collect::<Result<_, _>>()?;
        self.driver.retain(Kind::CommandQueue, queue);
        Ok(Operation {
            number: op.signals.number.0,
            event,
            queue: QueueRef {
                queue,
                in_order: self.queue(op.queue).is_none_or(|made| made.in_order),
            },
            order: op.order,
            waits,
            memory: call.take_memory(),
        })
    }

    /// A user event was made.
    pub(super) fn user_event(&mut self, event: Pointer) {
        self.driver.retain(Kind::Event, event);
        self.operations.user_event(event);
    }

    /// A user event was set: reports what it unblocked.
    pub(super) fn user_event_set(&mut self, event: Pointer, call: &mut Call) {
        for ended in self.unblock(event, call.finishes()) {
            call.report(ended);
        }
    }

    fn unblock(&mut self, event: Pointer, finish: bool) -> Vec<Ended> {
        if !self.operations.is_unset(event) {
            return Vec::new();
        }
        let mut finisher = Finisher(self.driver);
        let ended = self.operations.set(event, finish, &mut finisher);
        self.driver.release(Kind::Event, event);
        ended
            .into_iter()
            .map(|(operation, finished)| finished.report(operation))
            .collect()
    }
}

impl Objects for Session {
    type Kind = Kind;
    type Data = Data;
    type Driver = Driver;
    type Functions = Functions;

    fn driver(&self) -> &'static Driver {
        self.driver
    }

    fn functions(&self) -> &'static Functions {
        &self.driver.functions
    }

    fn table(&self) -> &Table<Kind, Data> {
        &self.table
    }

    fn table_mut(&mut self) -> &mut Table<Kind, Data> {
        &mut self.table
    }

    fn admit(&mut self, kind: Kind, object: Pointer) -> Result<(), Refusal> {
        match kind {
            Kind::Mem => self.count(object),
            _ => Ok(()),
        }
    }

    fn entered(&mut self, kind: Kind, number: Handle, parent: Handle) -> Result<(), Refusal> {
        match kind {
            Kind::Kernel => self.kernel_made(number, parent),
            _ => Ok(()),
        }
    }
}

impl Enqueues for Session {
    fn waits<T>(&mut self, list: &[Handle]) -> Result<Vec<*mut T>, Refusal> {
        self.wait_list(list)
    }

    fn enqueued(&mut self, call: &mut Call, op: Enqueued<'_>) -> Result<(), Refusal> {
        call.set_enqueued();
        self.fail_stand_ins();
        let result = self.result_of(call, &op);
        if result != CL_SUCCESS {
            // Nothing was enqueued. The host learns it here; it has put a call
            // that it gets no answer to on its timeline.
            self.refused(call, op.queue, result);
            return Ok(());
        }
        let Some(event) = Pointer::new(op.event) else {
            // The driver may use the call's memory for ever.
            std::mem::forget(call.take_memory());
            return Err(Refusal::NoEvent);
        };
        if op.signals.kept {
            self.driver.retain(Kind::Event, event);
        }
        let operation = self.operation(call, &op, event)?;
        let mut finisher = Finisher(self.driver);
        self.operations.enqueued_by(call, operation, &mut finisher);
        if op.signals.kept {
            self.bind(Kind::Event, op.signals.number, event.as_ptr(), op.queue)?;
        }
        Ok(())
    }
}

impl board::Session for Session {
    fn apis(&self) -> Vec<Described> {
        api::described(&[wire::API])
    }

    fn call(&mut self, call: board::Call<'_>) -> Outcome {
        let (op, args, answer) = (call.head.op, call.head.args, call.head.answer);
        let mut running = Call::of(call);
        let result = DISPATCH.run(self, &mut running, args);
        for ended in running.ended_mut() {
            self.printing.give(ended);
        }
        let mut outcome = match result {
            Ok(result) => running.outcome(result),
            Err(refusal) => Outcome::refused(format_args!("{op} is refused: {refusal}")),
        };
        self.fail_stand_ins();
        self.svm.settle(self.driver);
        outcome.notices = answer && self.notices.take_news();
        outcome
    }

    fn finish(&mut self, event: u64, _budget: &Budget) -> Option<Ended> {
        let mut finisher = Finisher(self.driver);
        let (operation, finished) = self.operations.finish(event, &mut finisher)?;
        let mut ended = finished.report(operation);
        self.printing.give(&mut ended);
        self.svm.settle(self.driver);
        Some(ended)
    }

    fn identify(&mut self, _api: u16, device: u64) -> Option<DeviceIdentity> {
        let device = self.table.get(Handle(device), Kind::Device).ok()?;
        self.driver.identity(device)
    }

    fn survey(&mut self) -> Survey {
        self.surveyed()
    }

    fn fetch(&mut self, _api: u16, object: u64) -> Result<Vec<u8>, Unable> {
        staging::fetch(&Staged::new(self, Handle(object))?)
    }

    fn fill(&mut self, _api: u16, object: u64, bytes: &[u8]) -> Result<(), Unable> {
        staging::fill(&Staged::new(self, Handle(object))?, object, bytes)
    }

    fn past(&mut self, event: &PastEvent) -> Result<(), Unable> {
        self.past_is_back(event)
    }

    fn number_from(&mut self, _api: u16, number: u64) -> Result<(), Unable> {
        let next = self.table.number_from(Handle(number));
        next.map_err(Unable::because)
    }

    fn not_run(&self, _op: Op) -> i32 {
        CL_OUT_OF_RESOURCES
    }

    fn takes_shared(&self, _op: Op) -> bool {
        self.operations.none_blocks()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let unset: Vec<Pointer> = self.operations.unset().collect();
        for event in unset {
            // Nobody will set it any more: what waits for it fails, and ends.
            self.driver.set_user_event(event, -1);
            self.unblock(event, true);
        }
        self.operations.finish_all(&mut Finisher(self.driver));
        let mut left = self.release_all();
        left += self.svm.release(self.driver);
        let process = self.guest.process;
        tracing::debug!(
            process,
            left,
            "session over; what the program left is released"
        );
    }
}

/// Waits with the driver's own functions.
struct Finisher(&'static Driver);

impl Device for Finisher {
    fn begin(&mut self, operation: &Operation) {
        self.0.flush(operation.queue.queue);
    }

    fn finish(&mut self, operation: &Operation) -> Finished {
        let began = Instant::now();
        let Self(driver) = self;
        driver.flush(operation.queue.queue);
        driver.wait(operation.event);
        let ending = status::ending(driver.status(operation.event));
        let measured = driver.duration_ns(operation.event);
        let waited = || began.elapsed().as_nanos() as u64;
        driver.release(Kind::Event, operation.event);
        driver.release(Kind::CommandQueue, operation.queue.queue);
        Finished {
            duration_ns: match ending {
                Ending::Done => measured.unwrap_or_else(waited),
                Ending::Failed(_) => 0,
            },
            ending,
        }
    }
}
