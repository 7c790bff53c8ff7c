//! One guest program's OpenCL objects and operations.

use super::call::Call;
use super::driver::Driver;
use super::files;
use super::generated;
use super::generated::dispatch::failed;
use super::generated::functions::Functions;
use super::generated::types::*;
use super::notices::Notices;
use super::objects::Data;
use super::operations::{Device, Finished, Operation, Operations, Order, QueueRef};
use super::printing::Printing;
use super::programs::Programs;
use super::refusal::Refusal;
use super::staging;
use super::svm::Svm;
use super::waits::StandIn;
use crate::board::{self, Ended, Guest, Outcome, Unable};
use crate::region::Budget;
use crate::table::{Pointer, Table};
use gil_opencl_common::status;
use gil_wire::Op;
use gil_wire::api::{self, Described};
use gil_wire::call::{Handle, NewEvent, Property};
use gil_wire::checkpoint::{PastEvent, Survey};
use gil_wire::ending::Ending;
use gil_wire::envelope::Class;
use gil_wire::generated::opencl::{self as wire, Kind};
use gil_wire::identity::DeviceIdentity;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::time::Instant;

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

/// An enqueue function returned.
#[derive(Debug)]
pub struct Enqueued<'a> {
    /// What it returned.
    pub result: cl_int,
    /// On which queue.
    pub queue: Handle,
    /// How it is ordered there.
    pub order: Order,
    /// Its wait list.
    pub waits: &'a [Handle],
    /// The guest's number for its event.
    pub signals: NewEvent,
    /// Its event, if it succeeded.
    pub event: cl_event,
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

    /// The driver's functions.
    pub fn functions(&self) -> &'static Functions {
        &self.driver.functions
    }

    /// The object with this number.
    ///
    /// # Errors
    /// [`Refusal::Table`] if it is NULL, unknown, or of another kind.
    pub fn get<T>(&self, kind: Kind, handle: Handle) -> Result<*mut T, Refusal> {
        Ok(self.table.get(handle, kind)?.as_ptr().cast())
    }

    /// As [`get`](Self::get), and null for NULL.
    ///
    /// # Errors
    /// [`Refusal::Table`].
    pub fn get_optional<T>(&self, kind: Kind, handle: Handle) -> Result<*mut T, Refusal> {
        if handle.is_null() {
            return Ok(std::ptr::null_mut());
        }
        self.get(kind, handle)
    }

    /// The objects with these numbers.
    ///
    /// # Errors
    /// [`Refusal::Table`] for the first that is not there.
    pub fn list<T>(&self, kind: Kind, handles: &[Handle]) -> Result<Vec<*mut T>, Refusal> {
        handles
            .iter()
            .map(|handle| self.get(kind, *handle))
            .collect()
    }

    /// Whether the guest may give a new object this number.
    ///
    /// # Errors
    /// [`Refusal::Table`].
    pub fn can_bind(&self, number: Handle) -> Result<(), Refusal> {
        Ok(self.table.vacant(number)?)
    }

    /// Enters an object that the call made under the guest's number. The
    /// session owns the reference from here on.
    ///
    /// # Errors
    /// [`Refusal::Table`] if the number cannot be used, [`Refusal::Objects`] if
    /// there is no room for it; the object is released.
    pub fn bind<T>(
        &mut self,
        kind: Kind,
        number: Handle,
        object: *mut T,
        parent: Handle,
    ) -> Result<(), Refusal> {
        self.bind_with(kind, number, object, kind.into())?;
        if kind == Kind::Kernel {
            self.kernel_made(number, parent)?;
        }
        Ok(())
    }

    /// As [`bind`](Self::bind), with what is to be kept of the object.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub(super) fn bind_with<T>(
        &mut self,
        kind: Kind,
        number: Handle,
        object: *mut T,
        data: Data,
    ) -> Result<(), Refusal> {
        let Some(pointer) = NonNull::new(object.cast()) else {
            return Err(Refusal::parameter("new object", 0));
        };
        let counted = match kind {
            Kind::Mem => self.count(pointer),
            _ => Ok(()),
        };
        let bound = counted.and_then(|()| Ok(self.table.insert(number, kind, pointer, data)?));
        if bound.is_err() {
            self.driver.release(kind, pointer);
        }
        bound
    }

    /// The number of an object that a query named; NULL for null, and when the
    /// session has too many objects.
    pub fn found<T>(&mut self, kind: Kind, object: *mut T) -> Handle {
        let Some(pointer) = NonNull::new(object.cast::<c_void>()) else {
            return Handle::NULL;
        };
        let driver = self.driver;
        let retain = || driver.retain(kind, pointer);
        let number = self.table.found(kind, pointer, retain);
        number.unwrap_or(Handle::NULL)
    }

    /// The board's number for an object that a call made, whose reference is the
    /// session's from here on; NULL as with [`found`](Self::found).
    pub fn made<T>(&mut self, kind: Kind, object: *mut T) -> Handle {
        let Some(pointer) = NonNull::new(object.cast::<c_void>()) else {
            return Handle::NULL;
        };
        self.table.made(kind, pointer).unwrap_or_else(|_| {
            self.driver.release(kind, pointer);
            Handle::NULL
        })
    }

    /// The guest's last reference is gone. What operations under way use, the
    /// driver or the operation itself keeps.
    ///
    /// # Errors
    /// [`Refusal::Table`].
    pub fn release(&mut self, kind: Kind, number: Handle) -> Result<(), Refusal> {
        let (pointer, data) = self.table.remove(number, kind)?;
        drop(data);
        self.driver.release(kind, pointer);
        Ok(())
    }

    /// A property list for the driver: flat, terminated by 0.
    ///
    /// # Errors
    /// [`Refusal::Parameter`] for an object under a key that has none, or a
    /// number under one that has; [`Refusal::Table`].
    pub fn properties(
        &self,
        list: &Option<Vec<Property>>,
        kinds: &[(u64, Kind)],
    ) -> Result<Option<Vec<u64>>, Refusal> {
        let Some(list) = list else { return Ok(None) };
        let kind_of = |key: u64| kinds.iter().find(|(k, _)| *k == key).map(|(_, kind)| *kind);
        let mut flat = Vec::new();
        for property in list {
            match property {
                Property::Word(key, word) if kind_of(*key).is_none() => flat.extend([*key, *word]),
                Property::Many(key, words) if kind_of(*key).is_none() => {
                    flat.push(*key);
                    flat.extend(words.iter().chain([&0]));
                }
                Property::Handle(key, handle) => {
                    let none = || Refusal::parameter("properties", *key);
                    let object = self.get::<c_void>(kind_of(*key).ok_or_else(none)?, *handle)?;
                    // With its sign, as all words of the list.
                    flat.extend([*key, object as isize as u64]);
                }
                Property::Word(key, _) | Property::Many(key, _) => {
                    return Err(Refusal::parameter("properties", *key));
                }
            }
        }
        flat.push(0);
        Ok(Some(flat))
    }

    /// An enqueue function returned: its memory becomes the operation's, and
    /// unless it is blocked, it is waited for if the call says so.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn enqueued(&mut self, call: &mut Call, op: Enqueued<'_>) -> Result<(), Refusal> {
        call.set_enqueued();
        self.fail_stand_ins();
        let result = self.result_of(call, &op);
        if result != CL_SUCCESS {
            // Nothing was enqueued. The host learns it here; it has put a call
            // that it gets no answer to on its timeline.
            self.refused(call, op.queue, result);
            return Ok(());
        }
        let Some(event) = NonNull::new(op.event.cast::<c_void>()) else {
            // The driver may use the call's memory for ever.
            std::mem::forget(call.take_memory());
            return Err(Refusal::NoEvent);
        };
        if op.signals.kept {
            self.driver.retain(Kind::Event, event);
        }
        let operation = self.operation(call, &op, event)?;
        let mut finisher = Finisher(self.driver);
        let finish = call.finishes();
        let ended = self.operations.enqueued(operation, finish, &mut finisher);
        if let Some((operation, finished)) = ended {
            call.report(Ended {
                event: operation.number,
                duration_ns: finished.duration_ns,
                ending: finished.ending,
                out: Vec::new(),
                printed: Vec::new(),
                rejected: false,
            });
            if !finished.ending.is_failure() {
                call.give_back(operation.memory);
            }
        }
        if op.signals.kept {
            self.bind(Kind::Event, op.signals.number, event.as_ptr(), op.queue)?;
        }
        Ok(())
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
            .map(|(op, ending)| report(op, ending))
            .collect()
    }

    fn run(&mut self, call: &mut Call, args: &[u8]) -> Result<Vec<u8>, Refusal> {
        let function = generated::dispatch::dispatch(call.op());
        let function = function.ok_or(Refusal::UnknownOp(call.op()))?;
        let result = function(self, call, args);
        let result = result.or_else(|refusal| not_asked(call, refusal))?;
        for ended in call.ended_mut() {
            self.printed_by(ended);
        }
        if is_enqueue(call.op()) && !call.was_enqueued() {
            // The driver lacks the function: nothing will come of this either.
            call.reject(CL_INVALID_OPERATION);
        }
        Ok(result)
    }
}

fn is_enqueue(op: Op) -> bool {
    let info = gil_wire::api::info(op);
    info.is_some_and(|info| info.class == Some(Class::Enqueue))
}

/// The answer where a value does not fit this machine's types: the API's error,
/// as if the driver had given it.
fn not_asked(call: &mut Call, refusal: Refusal) -> Result<Vec<u8>, Refusal> {
    let code = refusal.code(call.op());
    let answer = code.and_then(|code| Some((code, failed(call.op(), code)?)));
    let Some((code, answer)) = answer else {
        return Err(refusal);
    };
    tracing::info!("{} fails with {code}: {refusal}", call.op());
    if is_enqueue(call.op()) {
        call.set_enqueued();
        call.reject(code);
    }
    answer
}

impl board::Session for Session {
    fn apis(&self) -> Vec<Described> {
        api::described(&[wire::API])
    }

    fn call(&mut self, call: board::Call<'_>) -> Outcome {
        let mut running = Call::new(call.op, call.event, call.regions);
        if !call.finish {
            running.set_unfinished();
        }
        if !call.answer {
            running.set_unanswered();
        }
        let mut outcome = match self.run(&mut running, call.args) {
            Ok(result) => running.outcome(result),
            Err(refusal) => Outcome::refused(format_args!("{} is refused: {refusal}", call.op)),
        };
        self.fail_stand_ins();
        self.svm.settle(self.driver);
        outcome.notices = call.answer && self.notices.take_news();
        outcome
    }

    fn finish(&mut self, event: u64, _budget: &Budget) -> Option<Ended> {
        let mut finisher = Finisher(self.driver);
        let (operation, ending) = self.operations.finish(event, &mut finisher)?;
        let mut ended = report(operation, ending);
        self.printed_by(&mut ended);
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
        staging::fetch(self, Handle(object))
    }

    fn fill(&mut self, _api: u16, object: u64, bytes: &[u8]) -> Result<(), Unable> {
        staging::fill(self, Handle(object), bytes)
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
        let mut left = 0;
        for (number, object, data) in self.table.drain() {
            drop(data);
            self.driver.release(object.kind, object.pointer);
            left += usize::from(!number.is_boards());
        }
        left += self.svm.release(self.driver);
        let process = self.guest.process;
        tracing::debug!(
            process,
            left,
            "session over; what the program left is released"
        );
    }
}

fn report(operation: Operation, finished: Finished) -> Ended {
    let memory = operation.memory;
    Ended {
        event: operation.number,
        duration_ns: finished.duration_ns,
        ending: finished.ending,
        printed: Vec::new(),
        rejected: false,
        out: match finished.ending {
            Ending::Done => memory.outputs(),
            Ending::Failed(_) => memory.no_outputs(),
        },
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
