//! One guest program's OpenCL objects and operations.

use super::driver::Driver;
use super::files;
use super::first_launch::FirstLaunches;
use super::generated;
use super::generated::functions::Functions;
use super::generated::types::*;
use super::objects::Data;
use super::programs::Programs;
use super::refusal;
use super::staging::Staged;
use super::svm::Svm;
use super::waits::StandIn;
use crate::back_end::cpu_time;
use crate::back_end::dispatch::Dispatch;
use crate::back_end::notices::Notices;
use crate::back_end::operations::Operations;
use crate::back_end::printing::Printing;
use crate::back_end::{
    Call, Enqueued, Enqueues, Objects, Pointer, Queues, References, Refusal, Table, staging,
};
use crate::board::{self, Ended, Guest, Outcome, Unable};
use crate::region::Budget;
use foldhash::HashSet;
use gil_wire::Op;
use gil_wire::api::{self, Described};
use gil_wire::call::Handle;
use gil_wire::checkpoint::{PastEvent, Survey};
use gil_wire::generated::opencl::{self as wire, Kind};
use gil_wire::identity::DeviceIdentity;

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
    /// Notices about contexts.
    pub(super) notices: Notices,
    /// How many contexts it made.
    pub(super) contexts: u64,
    /// What is remembered of programs' texts.
    pub(super) programs: Programs,
    /// Kernels' first launches.
    pub(super) first_launches: FirstLaunches,
    /// Kernels that print.
    pub(super) printing: Printing,
    /// Shared virtual memory.
    pub(super) svm: Svm,
    /// Bytes of files of the guest that programs include.
    pub(super) files: Budget,
    /// Devices that the guest has released, until all else is: PoCL 3.1 frees a part of a
    /// device that a queue is on, and what it is to release behind that crashes it.
    released: HashSet<Pointer>,
}

/// Most of them.
const RELEASED_MAX: usize = 1 << 12;

impl Session {
    /// A session without objects but platforms and devices, which have the same
    /// numbers in every session.
    pub fn new(driver: &'static Driver, guest: Guest, budget: &Budget) -> Self {
        // The driver's threads that are there are no call's.
        cpu_time::look();
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
            contexts: 0,
            programs: Programs::default(),
            first_launches: FirstLaunches::default(),
            printing: Printing::default(),
            released: HashSet::default(),
            svm: Svm::default(),
            files: files::budget(),
        }
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

    fn release(&mut self, kind: Kind, number: Handle) -> Result<(), Refusal> {
        let (pointer, data) = self.table.remove(number, kind)?;
        drop(data);
        let is_device = kind == Kind::Device && self.released.len() < RELEASED_MAX;
        if !is_device || !self.released.insert(pointer) {
            self.driver.release(kind, pointer);
        }
        Ok(())
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

impl Session {
    /// What is known of an operation once it was reported, and what it held is
    /// let go of.
    fn settled(&mut self, mut ended: Ended) -> Ended {
        self.printing.give(&mut ended);
        self.svm.settle(self.driver);
        ended
    }
}

impl Enqueues for Session {
    fn waits<T>(&mut self, list: &[Handle]) -> Result<Vec<*mut T>, Refusal> {
        self.wait_list(list)
    }

    fn has_operation(&self, event: Handle) -> bool {
        self.operations.has(event.0)
    }

    fn enqueued(&mut self, call: &mut Call, op: Enqueued<'_>) -> Result<(), Refusal> {
        self.fail_stand_ins();
        self.look_at_first(&op);
        let result = self.result_of(call, &op);
        self.put_on_queue(call, Enqueued { result, ..op })
    }
}

impl Queues for Session {
    fn operations(&mut self) -> &mut Operations {
        &mut self.operations
    }

    fn is_in_order(&self, queue: Handle) -> bool {
        self.queue(queue).is_none_or(|made| made.in_order)
    }

    /// Where the guest does not wait for the answer, it hears of it by the
    /// queue's context.
    fn refused(&mut self, call: &mut Call, queue: Handle, error: cl_int) {
        call.reject(error);
        if !call.is_answered() {
            self.say_refused(call.op(), queue, error);
        }
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
        if answer
            && let Some(owed) = self.first_launches.take()
            && !owed.is_added(&mut outcome)
        {
            self.first_launches.put_back(owed);
        }
        outcome.notices = answer && self.notices.take_news();
        outcome
    }

    fn finish(&mut self, event: u64, _budget: &Budget) -> Option<Ended> {
        let ended = self.end(event)?;
        Some(self.settled(ended))
    }

    fn ended_behind(&mut self) -> Option<Ended> {
        let ended = self.end_behind()?;
        Some(self.settled(ended))
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
        self.end_all();
        let mut left = self.release_all();
        left += self.svm.release(self.driver);
        for device in self.released.drain() {
            self.driver.release(Kind::Device, device);
        }
        let process = self.guest.process;
        tracing::debug!(
            process,
            left,
            "session over; what the program left is released"
        );
    }
}
