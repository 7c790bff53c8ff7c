//! One guest program's contexts and surfaces, and what is current in its threads.
//!
//! A context is current in the board's thread that stands for the guest's thread in
//! which the program made it current, so that calls need not make it so again. A
//! context is current in at most one thread: it tells whose a posted call is, whichever
//! thread handed it over.

use super::driver::Driver;
use super::egl::generated::types::*;
use super::egl::generated::{self, Functions};
use super::gles::{self, Gles};
use super::images::{Hidden, Image};
use super::present::Shown;
use super::work::{self, Work};
use crate::back_end::dispatch::Dispatch;
use crate::back_end::posted::Costs;
use crate::back_end::{Call, Current, Objects, Refusal, Table};
use crate::board::{self, Ended, Outcome};
use crate::region::Budget;
use gil_wire::Op;
use gil_wire::api::{self, Described};
use gil_wire::call::Handle;
use gil_wire::checkpoint::Survey;
use gil_wire::ending::Ending;
use gil_wire::finish::Finish;
use gil_wire::generated::egl::{self as wire, Kind};
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::CallStatus;
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

const DISPATCH: Dispatch<Session> = Dispatch {
    function: generated::dispatch,
    failed: generated::dispatch::failed,
    code: |_, _| None,
    missing: EGL_BAD_MATCH,
};

const NO_CHECKPOINTS: &str = "it uses EGL, and what OpenGL ES draws with cannot be kept: take \
    the checkpoint before its first call of EGL";

thread_local! {
    /// Of which session which context is current in this thread of the board.
    static HERE: Cell<(u64, Option<(Handle, Serial)>)> = const { Cell::new((0, None)) };
}

/// A context's own number, which no other of this process ever has: the guest's is free
/// again once the context is destroyed, while the driver's may still be current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Serial(u64);

impl Default for Serial {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A session of the back end.
#[derive(Debug)]
pub struct Session {
    pub(crate) driver: &'static Driver,
    pub(crate) table: Table<Kind, Data>,
    /// OpenGL ES's sync objects.
    pub(crate) syncs: Table<gil_wire::generated::gles::Kind, gles::Data>,
    /// A context of its own, once it has images.
    pub(crate) hidden: Option<Hidden>,
    /// Its number in this process.
    id: u64,
    /// The guest thread whose call is executed.
    thread: u32,
    /// Whether that call is one of OpenGL ES 1.1: its context is.
    pub(crate) is_fixed: bool,
    /// When it waits for the device.
    finish: Finish,
    /// What posted calls took which no answer has told yet.
    posted: Costs,
}

/// What the session keeps of an object.
#[derive(Debug)]
pub enum Data {
    /// Nothing.
    None,
    /// Of a context.
    Context(Box<Context>),
    /// Of a surface.
    Surface(Box<Shown>),
    /// Of an image of a buffer of the guest's.
    Image(Box<Image>),
}

impl From<Kind> for Data {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Context => Self::Context(Box::default()),
            Kind::Surface => Self::Surface(Box::default()),
            _ => Self::None,
        }
    }
}

/// A context.
#[derive(Debug, Default)]
pub struct Context {
    serial: Serial,
    /// Whether it is one of OpenGL ES 1.1, whose functions are fixed.
    pub is_fixed: bool,
    /// The guest thread in which it is current.
    thread: Option<u32>,
    draw: Handle,
    read: Handle,
    /// What it has the device do.
    work: Work,
    /// What OpenGL ES keeps of it.
    pub gles: gles::State,
}

/// A call in a context that is current nowhere, or in another thread.
#[derive(Debug, thiserror::Error)]
#[error("context {0:#x} is not current in the thread that calls")]
struct NotCurrent(u64);

/// A context that was current and cannot be again.
#[derive(Debug, thiserror::Error)]
#[error("context {number:#x} cannot be current again in its thread (EGL error {error:#x})")]
struct NotAgain {
    number: u64,
    error: EGLint,
}

impl Session {
    /// One without objects.
    pub fn new(driver: &'static Driver, finish: Finish) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            driver,
            table: Table::default(),
            syncs: Table::default(),
            hidden: None,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            thread: 0,
            is_fixed: false,
            finish,
            posted: Costs::default(),
        }
    }

    /// What is kept of a context.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn context(&mut self, number: Handle) -> Result<&mut Context, Refusal> {
        self.table.get(number, Kind::Context)?;
        match self.table.data_mut(number) {
            Some(Data::Context(context)) => Ok(context),
            _ => Err(Refusal::parameter("context", number.0)),
        }
    }

    /// What the guest has of a surface's picture.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such surface.
    pub fn shown(&mut self, number: Handle) -> Result<&mut Shown, Refusal> {
        self.table.get(number, Kind::Surface)?;
        match self.table.data_mut(number) {
            Some(Data::Surface(shown)) => Ok(shown),
            _ => Err(Refusal::parameter("surface", number.0)),
        }
    }

    /// Does something in the context that is current here, with a surface of it as the
    /// one that is read; `None` if that is not the one drawn to.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn reading<T>(
        &mut self,
        surface: Handle,
        work: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Refusal> {
        let here = self.here();
        if here.is_null() {
            return Ok(None);
        }
        let context = self.context(here)?;
        let (draw, read) = (context.draw, context.read);
        if draw != surface {
            return Ok(None);
        }
        if read != draw {
            self.enter(draw, draw, here)?;
        }
        let done = work(self);
        if read != draw {
            self.enter(draw, read, here)?;
        }
        done.map(Some)
    }

    /// Has calls of this thread draw to and read from the surfaces that its context names,
    /// one of which is another object now.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn enter_again(&mut self) -> Result<EGLint, Refusal> {
        let here = self.here();
        if here.is_null() {
            return Ok(EGL_SUCCESS);
        }
        let context = self.context(here)?;
        let (draw, read) = (context.draw, context.read);
        self.enter(draw, read, here)
    }

    /// The context that is current in this thread of the board; null if none of this
    /// session's is, or one that is destroyed.
    pub fn here(&self) -> Handle {
        match HERE.get() {
            (id, Some((number, serial)))
                if id == self.id && self.serial(number) == Some(serial) =>
            {
                number
            }
            _ => Handle::NULL,
        }
    }

    fn serial(&self, number: Handle) -> Option<Serial> {
        match self.table.data(number) {
            Some(Data::Context(context)) => Some(context.serial),
            _ => None,
        }
    }

    /// Nothing is current in this thread of the board from here on.
    pub fn quit(&self) {
        if let Some(function) = self.driver.egl.eglMakeCurrent {
            // SAFETY: nothing is always allowed to be current.
            unsafe { function(self.driver.display(), null_mut(), null_mut(), null_mut()) };
        }
        HERE.set((self.id, None));
    }

    /// The guest's last reference to a context is gone.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn destroy_context(&mut self, number: Handle) -> Result<(), Refusal> {
        self.table.get(number, Kind::Context)?;
        if self.here() == number {
            self.quit();
        }
        self.release(Kind::Context, number)
    }

    /// Calls `eglMakeCurrent` in this thread of the board.
    fn enter(&self, draw: Handle, read: Handle, context: Handle) -> Result<EGLint, Refusal> {
        let Some(function) = self.driver.egl.eglMakeCurrent else {
            return Ok(EGL_BAD_MATCH);
        };
        let draw = self.get_optional(Kind::Surface, draw)?;
        let read = self.get_optional(Kind::Surface, read)?;
        let object = self.get_optional(Kind::Context, context)?;
        // SAFETY: the objects are the table's, so they are alive.
        let result = unsafe { function(self.driver.display(), draw, read, object) };
        if result != EGL_TRUE {
            return Ok(self.driver.error());
        }
        let serial = self.serial(context);
        HERE.set((self.id, serial.map(|serial| (context, serial))));
        Ok(EGL_SUCCESS)
    }

    /// The program makes a context current in the thread that calls, or none.
    ///
    /// # Errors
    /// [`Refusal::Table`].
    pub fn choose(
        &mut self,
        call: &mut Call,
        args: &wire::EglMakeCurrentArgs,
    ) -> Result<EGLint, Refusal> {
        let elsewhere = match args.context.is_null() {
            true => None,
            false => self.context(args.context)?.thread,
        };
        if elsewhere.is_some_and(|thread| thread != self.thread) {
            return Ok(EGL_BAD_ACCESS);
        }
        let result = call.timed(|| self.enter(args.draw, args.read, args.context))?;
        if result == EGL_SUCCESS {
            self.leave();
            if !args.context.is_null() {
                let thread = Some(self.thread);
                let context = self.context(args.context)?;
                (context.thread, context.draw, context.read) = (thread, args.draw, args.read);
            }
        }
        Ok(result)
    }

    /// No context is current in the guest thread that calls.
    fn leave(&mut self) {
        let thread = Some(self.thread);
        for (number, object) in self.table.all() {
            if object.kind == Kind::Context
                && let Ok(context) = self.context(number)
                && context.thread == thread
            {
                context.thread = None;
            }
        }
    }

    /// A guest thread ended.
    ///
    /// # Errors
    /// [`Refusal::Table`].
    pub fn release_thread(&mut self, context: Handle) -> Result<(), Refusal> {
        let here = Some(self.thread);
        if self.context(context)?.thread == here {
            self.enter(Handle::NULL, Handle::NULL, Handle::NULL)?;
            self.leave();
        }
        Ok(())
    }

    /// Has a context be current here, as the program made it in this thread.
    ///
    /// # Errors
    /// [`Refusal`] if the program did not.
    pub fn resume(&mut self, number: Handle) -> Result<(), Refusal> {
        let (thread, is_here) = (self.thread, self.here() == number);
        let context = self.context(number)?;
        if context.thread != Some(thread) {
            return Err(Refusal::Api(Box::new(NotCurrent(number.0))));
        }
        if is_here {
            return Ok(());
        }
        let (draw, read) = (context.draw, context.read);
        match self.enter(draw, read, number)? {
            EGL_SUCCESS => Ok(()),
            error => Err(Refusal::Api(Box::new(NotAgain {
                number: number.0,
                error,
            }))),
        }
    }

    /// The context that a call names first, if it names one.
    fn named(&self, call: &board::Call<'_>) -> Option<&Context> {
        let (op, args) = (call.head.op, call.head.args);
        let names_context = op.api() == gil_wire::generated::gles::API
            || matches!(
                op,
                wire::GIL_RELEASE_THREAD | wire::EGL_CREATE_SYNC | wire::EGL_WAIT_SYNC
            );
        let context = names_context.then(|| named(args)).flatten();
        match context.and_then(|number| self.table.data(number)) {
            Some(Data::Context(context)) => Some(context),
            _ => None,
        }
    }

    /// A call comes, of a context's work or at its end: how many nanoseconds that took.
    fn before(&mut self, op: Op, args: &[u8], ends: bool) -> u64 {
        let is_counted = self.finish == Finish::Program;
        let gl = &self.driver.gles;
        let context = match op.api() {
            gil_wire::generated::gles::API => named(args),
            _ => Some(self.here()).filter(|_| ends),
        };
        let context = context.filter(|_| is_counted || ends);
        let Some(context) = context.filter(|context| self.resume(*context).is_ok()) else {
            return 0;
        };
        match self.context(context) {
            Ok(context) if ends => context.work.end(gl),
            Ok(context) => {
                context.work.begin(gl);
                0
            }
            Err(_) => 0,
        }
    }

    /// Whether the context that a call is in, or that is current here, is one of OpenGL ES
    /// 1.1.
    fn is_of_fixed(&self, call: &board::Call<'_>) -> bool {
        let here = || match self.table.data(self.here()) {
            Some(Data::Context(context)) => Some(&**context),
            _ => None,
        };
        let context = self.named(call).or_else(here);
        context.is_some_and(|context| context.is_fixed)
    }

    /// The guest thread whose a call is.
    fn owner(&self, call: &board::Call<'_>) -> u32 {
        let context = self.named(call);
        let thread = context.and_then(|context| context.thread);
        thread.unwrap_or(call.head.thread)
    }
}

/// The context that a call's arguments begin with.
fn named(args: &[u8]) -> Option<Handle> {
    let named = postcard::take_from_bytes::<Handle>(args);
    named.ok().map(|(context, _)| context)
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
        &self.driver.egl
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
        self.resume(context)
    }

    fn last_error(&self) -> EGLint {
        self.driver.error()
    }
}

impl board::Session for Session {
    fn apis(&self) -> Vec<Described> {
        api::described(&[wire::API, gil_wire::generated::gles::API])
    }

    fn thread_of(&self, call: &board::Call<'_>) -> u32 {
        self.owner(call)
    }

    fn call(&mut self, call: board::Call<'_>) -> Outcome {
        self.thread = self.owner(&call);
        self.is_fixed = self.is_of_fixed(&call);
        let (op, args, event) = (call.head.op, call.head.args, call.head.event);
        let is_answered = call.head.answer;
        // A driver lets a call wait for the device where it has no space for more work.
        let mut running = Call::of(call).waiting();
        let worked_ns = self.before(op, args, event.is_some());
        let result = match op.api() {
            wire::API => DISPATCH.run(self, &mut running, args),
            _ => gles::DISPATCH.run(Gles::of(self), &mut running, args),
        };
        let mut outcome = match result {
            Ok(result) => running.outcome(result),
            Err(refusal) => Outcome::refused(format_args!("{op} is refused: {refusal}")),
        };
        if let (Some(event), CallStatus::Ran) = (event, outcome.status) {
            outcome.ended.push(Ended {
                duration_ns: worked_ns,
                ..Ended::bare(event, Ending::Done)
            });
        }
        if self.finish == Finish::Call && !self.here().is_null() {
            outcome.cpu_ns += work::finish(&self.driver.gles);
        }
        // A post's time is the program's, too: it passes with the next answer.
        if is_answered {
            let (posted, sum) = self.posted.take();
            outcome.cpu_ns = outcome.cpu_ns.saturating_add(sum);
            outcome.posted = posted;
        } else {
            self.posted.add(op, outcome.cpu_ns);
        }
        outcome
    }

    /// Calls end before they are answered.
    fn finish(&mut self, _event: u64, _budget: &Budget) -> Option<Ended> {
        None
    }

    /// There is one display, and one device behind it.
    fn identify(&mut self, _api: u16, _device: u64) -> Option<DeviceIdentity> {
        self.driver.identity()
    }

    /// Nothing that was drawn with can be made again elsewhere.
    fn survey(&mut self) -> Survey {
        Survey {
            obstacles: vec![NO_CHECKPOINTS.into()],
            ..Survey::default()
        }
    }

    fn not_run(&self, _op: Op) -> i32 {
        EGL_CONTEXT_LOST
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.release_all();
        if let Some(hidden) = self.hidden.take() {
            self.driver.release_hidden(&hidden);
        }
        if HERE.get().0 == self.id {
            self.quit();
        }
    }
}
