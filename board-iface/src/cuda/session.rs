//! One guest program's CUDA objects.

use super::arrays::{Array, Mipmapped};
use super::driver::{DEFAULT_STREAM, Driver};
use super::generated::types::*;
use super::generated::{self, Functions};
use super::green::Greens;
use super::linker::Link;
use super::memory::{Owner, Ranges};
use super::operations::{Needs, Operation, Operations, Pool, Running};
use super::pinned::{Block, Blocks, Staged, Window};
use super::shared::{Shared, Sharing};
use super::textures::Views;
use super::virtual_memory::Spaces;
use crate::back_end::call::Memory;
use crate::back_end::dispatch::Dispatch;
use crate::back_end::operations::Finished;
use crate::back_end::{
    Call, Current, Enqueued, Enqueues, Objects, Pointer, References, Refusal, Table, cpu_time,
};
use crate::board::{self, Ended, Outcome};
use crate::printed;
use crate::region::Budget;
use gil_cuda_common::image;
use gil_cuda_common::ptx::Param;
use gil_cuda_common::room::Room;
use gil_wire::Op;
use gil_wire::api::{self, Described};
use gil_wire::call::{Handle, NewEvent};
use gil_wire::checkpoint::Survey;
use gil_wire::ending::Ending;
use gil_wire::generated::cuda::{self as wire, API, Kind};
use gil_wire::identity::DeviceIdentity;
use std::ptr::null_mut;

const DISPATCH: Dispatch<Session> = Dispatch {
    function: generated::dispatch,
    failed: generated::dispatch::failed,
    code: |refusal, _| match refusal {
        Refusal::Width { .. } | Refusal::Wide(_) => Some(CUDA_ERROR_INVALID_VALUE),
        // Another thread of the program's may have destroyed it meanwhile.
        Refusal::Table(_) => Some(CUDA_ERROR_INVALID_HANDLE),
        _ => None,
    },
    missing: CUDA_ERROR_NOT_SUPPORTED,
};

const NO_CHECKPOINTS: &str = "it uses CUDA, whose memory and modules cannot be kept: take the \
    checkpoint before its first call of CUDA";

/// A session of the back end. All that it has, it has in contexts, which end with it.
#[derive(Debug)]
pub struct Session {
    driver: &'static Driver,
    table: Table<Kind, Data>,
    pub(super) operations: Operations,
    pub(super) ranges: Ranges,
    /// Bytes that it has pinned, of all contexts.
    pinned_len: usize,
    /// What of the window is pinned.
    window: Window,
    /// Bytes of its states of the linker.
    pub(super) linking_len: usize,
    /// What the copy has that is put on its stream next.
    pub(super) staged: Option<Staged>,
    /// What of the device it needs.
    pub(super) copy_needs: Needs,
    /// Memory that the program shares.
    pub(super) shared: Shared,
    /// What is put on its stream next for that.
    pub(super) sharing: Option<Sharing>,
    /// Addresses that are reserved, and what is mapped there.
    pub(super) spaces: Spaces,
    pub(super) greens: Greens,
    /// Whether a module has kernels that may print.
    prints: bool,
    /// Textures and surfaces.
    pub(super) views: Views,
    /// The context that is current in the thread of the session's calls.
    current: Handle,
}

/// How a copy gets to the memory of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// As it is: memory that is not pinned.
    Plain,
    /// As it is: a part of the window that is pinned.
    Pinned,
    /// By way of pinned memory.
    ByBlock,
}

/// What the session keeps of an object.
#[derive(Debug)]
pub enum Data {
    /// Nothing.
    None,
    /// Of a context.
    Context(Context),
    /// Of a stream or a module: its context.
    Of(Handle),
    /// Of a function.
    Function(Function),
    /// Of a state of the linker.
    Link(Link),
    /// Of an array.
    Array(Array),
    /// Of an array with mipmaps.
    Mipmapped(Mipmapped),
    /// Of a pool of memory: whether the session made it.
    Pool {
        /// It is not the device's own.
        is_own: bool,
    },
}

/// A context.
#[derive(Debug)]
pub struct Context {
    /// The device whose primary context it is, if it is one.
    pub primary: Option<CUdevice>,
    /// Events for operations.
    pub events: Pool,
    /// Pinned memory for copies.
    pub pinned: Blocks,
}

/// A function of a module.
#[derive(Debug)]
pub struct Function {
    /// Its module.
    pub module: Handle,
    /// Its module's context.
    pub context: Handle,
    /// Its parameters.
    pub params: Vec<Param>,
    /// What the device has room for of it.
    pub room: Room,
}

impl From<Kind> for Data {
    fn from(_: Kind) -> Self {
        Self::None
    }
}

/// What has the driver begin an operation on a stream.
pub(super) type Work<'a> = Option<&'a dyn Fn(&Functions, CUstream) -> CUresult>;

/// Whether the program waits in this call for its operation: the CPU's work for it, most of all the
/// bytes that the driver moves to and from memory of its own, is a part of its duration.
fn is_waited_for(op: Op) -> bool {
    matches!(op, wire::CU_MEMCPY_HTO_D_V2 | wire::CU_MEMCPY_DTO_H_V2)
}

/// Where an operation is put, and what it signals.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// Its context.
    pub context: Handle,
    /// Its stream; null for the default stream.
    pub stream: Handle,
    /// Its event.
    pub event: NewEvent,
}

impl Session {
    /// One without objects.
    pub fn new(driver: &'static Driver, budget: Budget) -> Self {
        // The driver's threads that are there are no call's.
        cpu_time::look();
        Self {
            driver,
            table: Table::default(),
            operations: Operations::default(),
            ranges: Ranges::default(),
            pinned_len: 0,
            window: Window::default(),
            linking_len: 0,
            staged: None,
            copy_needs: Needs::Nothing,
            shared: Shared::new(budget),
            sharing: None,
            spaces: Spaces::default(),
            greens: Greens::default(),
            prints: false,
            views: Views::default(),
            current: Handle::NULL,
        }
    }

    /// What is kept of a context.
    fn context(&mut self, context: Handle) -> Result<&mut Context, Refusal> {
        self.table.get(context, Kind::Context)?;
        match self.table.data_mut(context) {
            Some(Data::Context(context)) => Ok(context),
            _ => Err(Refusal::parameter("context", context.0)),
        }
    }

    /// A function, and what is kept of it.
    pub(super) fn function(&self, function: Handle) -> Result<(CUfunction, &Function), Refusal> {
        let real = self.get(Kind::Function, function)?;
        match self.table.data(function) {
            Some(Data::Function(function)) => Ok((real, function)),
            _ => Err(Refusal::parameter("function", function.0)),
        }
    }

    /// The context that a stream or module belongs to.
    pub(super) fn owner(&self, kind: Kind, object: Handle) -> Result<Handle, Refusal> {
        self.table.get(object, kind)?;
        match self.table.data(object) {
            Some(Data::Of(context)) => Ok(*context),
            _ => Err(Refusal::parameter("object", object.0)),
        }
    }

    /// A stream of a context; its default stream for null.
    pub(super) fn stream(&self, context: Handle, stream: Handle) -> Result<CUstream, Refusal> {
        if stream.is_null() {
            return Ok(DEFAULT_STREAM);
        }
        match self.owner(Kind::Stream, stream)? == context {
            true => self.get(Kind::Stream, stream),
            false => Err(Refusal::parameter("stream", stream.0)),
        }
    }

    /// Pinned memory of so many bytes for a copy; `None` if there is to be none.
    ///
    /// # Errors
    /// [`Refusal`] if there is no such context.
    pub(super) fn pinned(&mut self, context: Handle, len: usize) -> Result<Option<Block>, Refusal> {
        self.make_current(context)?;
        let driver = self.driver;
        let mut all = self.pinned_len;
        let block = self.context(context)?.pinned.take(driver, len, &mut all);
        self.pinned_len = all;
        Ok(block)
    }

    /// How a copy gets to a region of its call. Where the program's memory is pinned, a region in the
    /// window is used as it is, if that can be pinned there. Memory that is not pinned is copied
    /// as such, which the device may take longer for.
    ///
    /// # Errors
    /// [`Refusal`] if there is no such context, or no memory.
    pub(super) fn way(
        &mut self,
        call: &mut Call,
        context: Handle,
        region: Option<u32>,
        is_pinned: bool,
    ) -> Result<Way, Refusal> {
        if is_pinned && let Some(kept) = region.and_then(|region| call.kept(region)) {
            self.make_current(context)?;
            if self.window.pins(self.driver, context, kept) {
                return Ok(Way::Pinned);
            }
        }
        if let Some(region) = region.filter(|_| self.window.is_pinned()) {
            call.leave_window(region)?;
        }
        Ok(match is_pinned {
            true => Way::ByBlock,
            false => Way::Plain,
        })
    }

    /// The copy that the last pinned memory was for was not begun.
    pub(super) fn unstage(&mut self, context: Handle) {
        self.copy_needs = Needs::Nothing;
        self.sharing = None;
        if let (Some(staged), Ok(context)) = (self.staged.take(), self.context(context)) {
            // SAFETY: no operation uses it.
            context.pinned.give(unsafe { staged.end(false) });
        }
    }

    /// Puts an operation on a stream; `work` calls the driver. Without work, it is a place on
    /// the stream alone.
    ///
    /// # Errors
    /// [`Refusal`]; what the driver says is in the result.
    pub(super) fn put(
        &mut self,
        call: &mut Call,
        at: At,
        work: Work<'_>,
    ) -> Result<CUresult, Refusal> {
        let needs = std::mem::replace(&mut self.copy_needs, Needs::Nothing);
        self.put_beside(call, at, work, needs)
    }

    /// The same for what needs some of the device. Where it does not find room beside the
    /// operations of other streams, it comes behind them.
    pub(super) fn put_beside(
        &mut self,
        call: &mut Call,
        at: At,
        work: Work<'_>,
        needs: Needs,
    ) -> Result<CUresult, Refusal> {
        self.can_signal(call, at.event)?;
        let stream = self.stream(at.context, at.stream)?;
        self.make_current(at.context)?;
        call.set_enqueued();
        let queue = (at.context, at.stream);
        let query = self.driver.own.cuEventQuery;
        // SAFETY: the events are operations'.
        let has_ended = |end| unsafe { query(end) } == CUDA_SUCCESS;
        let in_the_way = self.operations.in_the_way(queue, needs, has_ended);
        // A driver that cannot wait has it measured beside the others.
        if let Some(wait) = self.driver.functions.cuStreamWaitEvent {
            for end in &in_the_way {
                // SAFETY: both are alive.
                unsafe { wait(stream, *end, 0) };
            }
        }
        let is_idle =
            in_the_way.is_empty() && work.is_some() && self.operations.is_idle(queue, self.driver);
        let before = call.cpu();
        let mut running = match self.begin(call, at.context, stream, work)? {
            Ok(running) => running,
            Err(error) => {
                call.reject(error);
                return Ok(error);
            }
        };
        running.staged = self.staged.take();
        running.needs = needs;
        let took_ns = (call.cpu() - before).as_nanos() as u64;
        let sharing = self.sharing.take();
        if sharing.is_some() {
            // The program made no call for it.
            call.passes_beside(took_ns);
        }
        if let Some(Sharing::Down(snapshot)) = sharing {
            self.shared.is_under_way(&snapshot);
            running.snapshot = Some(snapshot);
        }
        let is_waited_for = call.finishes() && is_waited_for(call.op());
        if is_idle && !is_waited_for {
            running.billed_ns = took_ns;
        }
        let number = at.event.number.0;
        if !call.finishes() {
            self.operations.add(number, queue, running);
            return Ok(CUDA_SUCCESS);
        }
        let finished = running.wait(self.driver);
        if is_waited_for {
            call.passes_beside(took_ns.min(finished.duration_ns));
        }
        let memory = self.recycle(running, &finished)?;
        finished.report(number, memory, call);
        let printed = self.printed();
        if let Some(ended) = call.ended_mut().last_mut() {
            ended.printed.extend(printed);
        }
        Ok(finished.ending.failure().unwrap_or(CUDA_SUCCESS))
    }

    /// Has the driver begin an operation between two events.
    fn begin(
        &mut self,
        call: &mut Call,
        context: Handle,
        stream: CUstream,
        work: Work<'_>,
    ) -> Result<Result<Running, CUresult>, Refusal> {
        let driver = self.driver;
        let pool = &mut self.context(context)?.events;
        let mark = |pool: &mut Pool| {
            let event = pool.take(driver)?;
            // SAFETY: both are alive, of the current context.
            match unsafe { (driver.own.cuEventRecord)(event, stream) } {
                CUDA_SUCCESS => Ok(event),
                error => {
                    pool.give(driver, event);
                    Err(error)
                }
            }
        };
        let mut begin = None;
        if let Some(work) = work {
            let event = match mark(pool) {
                Ok(event) => event,
                Err(error) => return Ok(Err(error)),
            };
            let result = call.timed(|| work(&driver.functions, stream));
            if result != CUDA_SUCCESS {
                pool.give(driver, event);
                return Ok(Err(result));
            }
            begin = Some(event);
        }
        Ok(match mark(pool) {
            Ok(end) => Ok(Running {
                context,
                begin,
                end,
                billed_ns: 0,
                needs: Needs::Nothing,
                staged: None,
                snapshot: None,
                memory: call.take_memory(),
            }),
            Err(error) => {
                // The driver may use the call's memory for ever, and pinned memory likewise: its
                // block is no other copy's any more.
                std::mem::forget(call.take_memory());
                self.staged = None;
                Err(error)
            }
        })
    }

    /// The events and the pinned memory of an operation that ended are the next ones'; its own
    /// memory.
    fn recycle(&mut self, mut running: Running, finished: &Finished) -> Result<Memory, Refusal> {
        let driver = self.driver;
        let is_done = finished.ending == Ending::Done;
        let context = self.context(running.context)?;
        for event in running.begin.into_iter().chain([running.end]) {
            context.events.give(driver, event);
        }
        if let Some(staged) = running.staged {
            // SAFETY: it ended; what is copied back goes to the operation's memory, which is here.
            context.pinned.give(unsafe { staged.end(is_done) });
        }
        if let Some(snapshot) = running.snapshot {
            self.shared.taken(&snapshot, is_done, &mut running.memory);
        }
        Ok(running.memory)
    }

    fn reported(&mut self, number: u64, running: Running, finished: Finished) -> Option<Ended> {
        let memory = self.recycle(running, &finished).ok()?;
        Some(Ended {
            printed: self.printed(),
            ..finished.later(number, memory)
        })
    }

    /// A module is loaded of this image.
    pub(super) fn has_loaded(&mut self, image: &[u8]) {
        self.prints |= image::may_print(image);
    }

    /// What kernels printed, as far as the driver has brought it: it does so where their end is
    /// waited for (`CUDA C++ Programming Guide`, formatted output).
    fn printed(&self) -> Vec<u8> {
        match self.prints {
            true => printed::take(),
            false => Vec::new(),
        }
    }

    /// No context is current in the thread of the session's calls.
    pub(super) fn is_current_no_more(&mut self) {
        self.current = Handle::NULL;
    }

    /// Has what is put on a stream next wait for an operation, if that is under way.
    pub(super) fn wait_on(
        &mut self,
        call: &mut Call,
        at: At,
        number: u64,
    ) -> Result<CUresult, Refusal> {
        let Some(event) = self.operations.end_of(number) else {
            return self.put(call, at, None);
        };
        let stream = self.stream(at.context, at.stream)?;
        self.make_current(at.context)?;
        let wait = self.driver.functions.cuStreamWaitEvent;
        // SAFETY: both are alive.
        let waited = wait.map(|wait| call.timed(|| unsafe { wait(stream, event, 0) }));
        match waited.unwrap_or(CUDA_ERROR_NOT_SUPPORTED) {
            CUDA_SUCCESS => self.put(call, at, None),
            error => {
                call.set_enqueued();
                call.reject(error);
                Ok(error)
            }
        }
    }

    /// An object goes, and what the session keeps of it.
    pub(super) fn drop_object(&mut self, kind: Kind, object: Handle) -> Result<Pointer, Refusal> {
        let (pointer, _) = self.table.remove(object, kind)?;
        Ok(pointer)
    }

    /// The same, with what was kept.
    pub(super) fn drop_with_data(
        &mut self,
        kind: Kind,
        object: Handle,
    ) -> Result<(Pointer, Data), Refusal> {
        Ok(self.table.remove(object, kind)?)
    }

    /// What is kept of an object.
    pub(super) fn data(&self, object: Handle) -> Option<&Data> {
        self.table.data(object)
    }

    /// The same, to change it.
    pub(super) fn data_mut(&mut self, object: Handle) -> Option<&mut Data> {
        self.table.data_mut(object)
    }

    /// The objects of a kind.
    pub(super) fn objects_of(&self, kind: Kind) -> Vec<Handle> {
        let all = self.table.all().into_iter();
        all.filter(|(_, object)| object.kind == kind)
            .map(|(number, _)| number)
            .collect()
    }

    /// Whether the session made this pool.
    pub(super) fn made_pool(&self, pool: Handle) -> bool {
        matches!(self.table.data(pool), Some(Data::Pool { is_own: true }))
    }

    /// A module is gone: its functions and variables are, too.
    pub(super) fn forget_module(&mut self, module: Handle) {
        for (number, _) in self.table.all() {
            let is_its = matches!(
                self.table.data(number),
                Some(Data::Function(function)) if function.module == module
            );
            if is_its {
                let _ = self.table.remove(number, Kind::Function);
            }
        }
        let is_gone = |owner| matches!(owner, Owner::Module { module: it, .. } if it == module);
        self.ranges.forget(is_gone);
    }

    /// Destroys a context with all that it has. Its operations end first.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub(super) fn destroy(
        &mut self,
        call: &mut Call,
        context: Handle,
    ) -> Result<CUresult, Refusal> {
        self.make_current(context)?;
        for (number, running) in self.operations.take_of(context) {
            let finished = running.wait(self.driver);
            let memory = self.recycle(running, &finished)?;
            let ended = Ended {
                printed: self.printed(),
                ..finished.later(number, memory)
            };
            self.operations.ended(number, ended);
        }
        self.free_streams_memory(context);
        self.destroy_links(call, context);
        self.destroy_greens(call, context);
        for (number, object) in self.table.all() {
            let is_its = match self.table.data(number) {
                Some(Data::Of(owner)) => *owner == context,
                Some(Data::Function(function)) => function.context == context,
                Some(Data::Array(array)) => array.context == context,
                Some(Data::Mipmapped(array)) => array.context == context,
                _ => false,
            };
            if is_its {
                let _ = self.table.remove(number, object.kind);
            }
        }
        self.ranges.forget(|owner| owner.context() == context);
        self.shared.forget(context);
        self.views.forget(context);
        let driver = self.driver;
        let mut all = self.pinned_len;
        self.context(context)?.pinned.clear(driver, &mut all);
        self.pinned_len = all;
        self.window.forget(driver, context);
        let (pointer, data) = self.table.remove(context, Kind::Context)?;
        self.driver.set_current(null_mut());
        self.current = Handle::NULL;
        let primary = match data {
            Data::Context(Context { primary, .. }) => primary,
            _ => None,
        };
        Ok(call.timed(|| match primary {
            // SAFETY: the session has one reference to it.
            Some(device) => unsafe { (driver.own.cuDevicePrimaryCtxRelease_v2)(device) },
            None => {
                driver.release(Kind::Context, pointer);
                CUDA_SUCCESS
            }
        }))
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
}

impl Current for Session {
    fn make_current(&mut self, context: Handle) -> Result<(), Refusal> {
        let real = self.table.get(context, Kind::Context)?;
        if self.current != context {
            self.driver.set_current(real.as_ptr());
            self.current = context;
        }
        Ok(())
    }

    /// Each function returns its own.
    fn last_error(&self) -> CUresult {
        CUDA_SUCCESS
    }
}

impl Enqueues for Session {
    /// Events are operations here.
    fn waits<T>(&mut self, _list: &[Handle]) -> Result<Vec<*mut T>, Refusal> {
        Ok(Vec::new())
    }

    fn has_operation(&self, event: Handle) -> bool {
        self.operations.has(event.0)
    }

    /// Every operation is put there by hand.
    fn enqueued(&mut self, call: &mut Call, _operation: Enqueued<'_>) -> Result<(), Refusal> {
        Err(Refusal::UnknownOp(call.op()))
    }
}

impl board::Session for Session {
    fn apis(&self) -> Vec<Described> {
        api::described(&[API])
    }

    fn call(&mut self, call: board::Call<'_>) -> Outcome {
        let (op, args) = (call.head.op, call.head.args);
        let mut running = Call::of(call);
        match DISPATCH.run(self, &mut running, args) {
            Ok(result) => running.outcome(result),
            Err(refusal) => Outcome::refused(format_args!("{op} is refused: {refusal}")),
        }
    }

    fn finish(&mut self, event: u64, _budget: &Budget) -> Option<Ended> {
        match self.operations.take(event)? {
            Operation::Ended(ended) => Some(ended),
            Operation::Running(running) => {
                self.make_current(running.context).ok()?;
                let finished = running.wait(self.driver);
                self.reported(event, running, finished)
            }
        }
    }

    fn ended_behind(&mut self) -> Option<Ended> {
        let (number, running) = self.operations.next()?;
        let finished = running.look(self.driver)?;
        match self.operations.take(number)? {
            Operation::Running(running) => self.reported(number, running, finished),
            Operation::Ended(ended) => Some(ended),
        }
    }

    /// Devices are numbered as the driver does, from 1.
    fn identify(&mut self, _api: u16, device: u64) -> Option<DeviceIdentity> {
        let number = (device & !Handle::BOARD).checked_sub(1)?;
        self.driver.identity(CUdevice::try_from(number).ok()?)
    }

    fn survey(&mut self) -> Survey {
        let uses_contexts = !self.table.all().is_empty();
        Survey {
            obstacles: Vec::from_iter(uses_contexts.then(|| NO_CHECKPOINTS.into())),
            ..Survey::default()
        }
    }

    fn not_run(&self, _op: Op) -> i32 {
        CUDA_ERROR_UNKNOWN
    }

    /// Copies, which take bytes as data alone.
    fn takes_shared(&self, op: Op) -> bool {
        matches!(
            op,
            wire::CU_MEMCPY_HTO_D_V2
                | wire::CU_MEMCPY_HTO_D_ASYNC_V2
                | wire::CU_MEMCPY_DTO_H_V2
                | wire::CU_MEMCPY_DTO_H_ASYNC_V2
        )
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let contexts = self.table.all().into_iter();
        let contexts = contexts.filter(|(_, object)| object.kind == Kind::Context);
        for (number, _) in contexts.collect::<Vec<_>>() {
            let mut call = Call::new(gil_wire::generated::cuda::CU_CTX_DESTROY_V2, None, vec![]);
            let _ = self.destroy(&mut call, number);
        }
        let mut call = Call::new(wire::CU_MEM_UNMAP, None, vec![]);
        self.end_spaces(&mut call);
        for (number, _) in self.table.all() {
            if self.made_pool(number) {
                let mut call = Call::new(wire::CU_MEM_POOL_DESTROY, None, vec![]);
                let _ = self.destroy_pool(&mut call, number);
            }
        }
    }
}
