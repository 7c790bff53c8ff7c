//! Contexts, and what is current in a thread: a stack of contexts, which the guest knows and
//! the board does not.

use super::export_tables::storage::Storage;
use super::streams::{self, Lane, Stream};
use super::{
    Details, capture, create, event, launch, library, memory, primary, shared, textures, thread_end,
};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult};
use gil_guest::process::is_forked;
use gil_wire::call::Handle;
use gil_wire::envelope::{Class, Queue};
use gil_wire::generated::cuda::{self as wire, Kind};
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

static IS_INITIALIZED: AtomicBool = AtomicBool::new(false);

/// The bits of a context's flags: how threads wait, mapped memory, local memory that stays.
const FLAGS: u32 = 0x1f;
/// How threads wait: least bits.
const WAYS_TO_WAIT: u32 = 7;

/// A context.
#[derive(Debug)]
pub struct Context {
    /// Its number on the wire.
    pub number: Handle,
    /// Its device.
    pub device: CUdevice,
    /// How it was made, or is to be since.
    flags: AtomicU32,
    /// Its number for programs.
    pub id: u64,
    /// The program's handle.
    address: AtomicUsize,
    is_destroyed: AtomicBool,
    /// The error that ended it; 0 for none.
    ended_with: AtomicI32,
    /// The default stream.
    pub legacy: Lane,
    /// Whether a stream that waits for the default stream, and for which that waits, has
    /// operations that the default stream does not wait for yet.
    pub is_behind: AtomicBool,
    /// Its other streams, and what remains of those that are destroyed.
    streams: Mutex<Streams>,
    /// What NVIDIA's libraries keep with it.
    pub storage: Storage,
    /// How often it has to be detached before it goes.
    uses: AtomicUsize,
}

/// A context's streams.
#[derive(Debug, Default)]
pub struct Streams {
    /// Alive.
    pub live: Vec<Weak<Stream>>,
    /// Of those that are destroyed, the marks behind their last operations, and whether the
    /// default stream waits for them.
    pub ended: Vec<(u64, bool)>,
    /// Default streams of threads that ended.
    pub spare: Vec<Arc<Stream>>,
}

impl Context {
    fn new(number: Handle, device: CUdevice, flags: u32) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let queue = Queue {
            id: number.0,
            in_order: true,
            device: device_number(device),
        };
        Arc::new(Self {
            number,
            device,
            flags: AtomicU32::new(flags),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            address: AtomicUsize::new(0),
            is_destroyed: AtomicBool::new(false),
            ended_with: AtomicI32::new(CUDA_SUCCESS),
            legacy: Lane::legacy(queue),
            is_behind: AtomicBool::new(false),
            streams: Mutex::default(),
            storage: Storage::default(),
            uses: AtomicUsize::new(1),
        })
    }

    /// These are its flags from here on.
    pub fn has_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    /// How it was made, or is to be since.
    pub fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// Whether it was destroyed, or is a primary context that nobody uses.
    pub fn is_destroyed(&self) -> bool {
        self.is_destroyed.load(Ordering::Relaxed)
    }

    /// The program's handle.
    pub fn handle(&self) -> CUcontext {
        std::ptr::with_exposed_provenance_mut(self.address.load(Ordering::Relaxed))
    }

    /// Whether calls in it may go on.
    ///
    /// # Errors
    /// The error that ended it.
    #[inline(always)]
    pub fn healthy(&self) -> CallResult<()> {
        match self.ended_with.load(Ordering::Relaxed) {
            CUDA_SUCCESS => Ok(()),
            code => Err(code),
        }
    }

    /// An operation in it, or a call, ended with this error.
    ///
    /// # Errors
    /// The same.
    #[cold]
    pub fn failed<T>(&self, code: i32) -> CallResult<T> {
        if is_lasting(code) {
            self.ended_with.store(code, Ordering::Relaxed);
        }
        Err(code)
    }

    /// A captured stream that waits with the default stream.
    pub fn captured_beside_legacy(&self) -> Option<Arc<Stream>> {
        let live = self.streams().live.clone();
        let mut streams = live.iter().filter_map(Weak::upgrade);
        streams.find(|stream| {
            let captured = stream.lane.captured.lock();
            let captured = captured.unwrap_or_else(PoisonError::into_inner);
            stream.lane.is_blocking() && captured.is_some()
        })
    }

    /// Its streams.
    pub fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The device of this number, as the timeline names it.
pub fn device_number(device: CUdevice) -> u64 {
    Handle::BOARD | (u64::from(device.cast_unsigned()) + 1)
}

/// Whether a context has this error from here on: a kernel did what nothing can undo.
fn is_lasting(code: i32) -> bool {
    matches!(
        code,
        CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_NVLINK_UNCORRECTABLE
    )
}

/// The contexts of a thread, the current one last.
#[derive(Debug)]
struct Entry {
    /// What the program's handle is; kept from being used for another object.
    object: Object,
    context: Arc<Context>,
}

/// What a thread has.
#[derive(Debug, Default)]
struct Thread {
    /// Its contexts, the current one last.
    stack: Vec<Option<Entry>>,
    /// Its own default streams, one a context.
    own: RefCell<Vec<Arc<Stream>>>,
}

impl Drop for Thread {
    /// Another thread may have its streams. Nothing is called here: the thread is ending.
    fn drop(&mut self) {
        for stream in self.own.get_mut().drain(..) {
            capture::forget(&stream.lane);
            let context = stream.context.clone();
            if !context.is_destroyed() {
                context.streams().spare.push(stream);
            }
        }
    }
}

/// What a thread has, once it has something.
type Slot = RefCell<ManuallyDrop<Option<Box<Thread>>>>;

thread_local! {
    /// Borrowed mutably while the thread runs a function of the program's that a stream
    /// called: that one may not call CUDA. Boxed, as threads' variables must be few bytes. Dropped
    /// by [`thread_ended`].
    static THREAD: Slot = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// The thread has ended: nothing of the program's runs there any more.
pub fn thread_ended() {
    let taken = THREAD.with(|thread| thread.try_borrow_mut().ok()?.take());
    drop(taken);
}

/// What a function says to which a stream's callback may not go.
const NOT_PERMITTED: CUresult = CUDA_ERROR_NOT_PERMITTED;

/// Calls a function of the program's, in which no call of CUDA is permitted.
pub fn call_out<R>(call: impl FnOnce() -> R) -> R {
    THREAD.with(|thread| {
        let _held = thread.try_borrow_mut();
        call()
    })
}

/// Whether the thread may call CUDA, and wait.
///
/// # Errors
/// `CUDA_ERROR_NOT_PERMITTED` in a function that a stream called.
pub fn permitted() -> CallResult<()> {
    match THREAD.with(|thread| thread.try_borrow().is_ok()) {
        true => Ok(()),
        false => Err(NOT_PERMITTED),
    }
}

/// The calling thread's own default stream in a context, which it has from its first use on.
///
/// # Errors
/// The API's code.
pub fn own_stream(context: &Arc<Context>) -> CallResult<Arc<Stream>> {
    let known = |thread: &Slot| {
        let thread = thread.try_borrow().map_err(|_| NOT_PERMITTED)?;
        let thread = thread.as_ref().ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
        let own = thread.own.borrow();
        let found = own.iter().find(|it| Arc::ptr_eq(&it.context, context));
        if let Some(known) = found {
            return Ok(known.clone());
        }
        drop(own);
        let spare = context.streams().spare.pop();
        let stream = match spare {
            Some(spare) => spare,
            None => streams::make_own(context)?,
        };
        let mut own = thread.own.borrow_mut();
        own.retain(|it| !it.context.is_destroyed());
        own.push(stream.clone());
        Ok(stream)
    };
    THREAD.with(known)
}

/// `cuInit` succeeded.
pub fn set_initialized() {
    IS_INITIALIZED.store(true, Ordering::Relaxed);
}

/// Whether `cuInit` succeeded, in this process.
///
/// # Errors
/// `CUDA_ERROR_NOT_INITIALIZED`.
#[inline(always)]
pub fn initialized() -> CallResult<()> {
    match IS_INITIALIZED.load(Ordering::Relaxed) && !is_forked() {
        true => Ok(()),
        false => Err(CUDA_ERROR_NOT_INITIALIZED),
    }
}

/// Does something with the current context.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` if there is none, `CUDA_ERROR_CONTEXT_IS_DESTROYED`, or as
/// [`initialized`].
#[inline(always)]
pub fn with<R>(work: impl FnOnce(&Arc<Context>) -> CallResult<R>) -> CallResult<R> {
    initialized()?;
    THREAD.with(|thread| {
        let Ok(thread) = thread.try_borrow() else {
            return Err(NOT_PERMITTED);
        };
        match thread.as_ref().and_then(|thread| thread.stack.last()) {
            Some(Some(entry)) if !entry.context.is_destroyed() => work(&entry.context),
            Some(Some(_)) => {
                drop(thread);
                work(&revived()?)
            }
            _ => Err(CUDA_ERROR_INVALID_CONTEXT),
        }
    })
}

/// The current context is destroyed. If it was a primary context, and its device has one again,
/// that one is current.
///
/// # Errors
/// `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
#[cold]
fn revived() -> CallResult<Arc<Context>> {
    let found = find(current_handle()).ok();
    let found = found.filter(|(_, context)| !context.is_destroyed());
    let (object, context) = found.ok_or(CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
    let entry = Entry {
        object,
        context: context.clone(),
    };
    let dead = change(|stack| stack.last_mut().map(|last| last.replace(entry)))
        // A call is at work with the old one, on this thread.
        .map_err(|_| CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
    drop(dead);
    Ok(context)
}

/// The current context's object.
///
/// # Errors
/// As [`with`].
pub fn current() -> CallResult<Object> {
    with(|_| Ok(()))?;
    let top = |thread: &Slot| {
        let thread = thread.try_borrow().ok()?;
        let entry = thread.as_ref()?.stack.last()?.as_ref();
        entry.map(|entry| entry.object.clone())
    };
    THREAD.with(top).ok_or(CUDA_ERROR_INVALID_CONTEXT)
}

/// The current context's handle; null if there is none.
pub fn current_handle() -> CUcontext {
    let top = |thread: &Slot| {
        let thread = thread.try_borrow().ok()?;
        let entry = thread.as_ref()?.stack.last()?.as_ref()?;
        Some(entry.context.handle())
    };
    THREAD.with(top).unwrap_or(std::ptr::null_mut())
}

/// The context behind a handle. That of a primary context which nobody uses is one that is
/// destroyed.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`.
pub fn find(handle: CUcontext) -> CallResult<(Object, Arc<Context>)> {
    let object = Object::find(Kind::Context, handle)?;
    let object = primary::in_use(handle).unwrap_or(object);
    match object.details() {
        Details::Context(context) => {
            let context = context.clone();
            Ok((object, context))
        }
        _ => Err(CUDA_ERROR_INVALID_CONTEXT),
    }
}

fn entry_of(handle: CUcontext) -> CallResult<Entry> {
    let (object, context) = find(handle)?;
    Ok(Entry { object, context })
}

/// Changes the thread's stack; what goes is dropped outside of it.
fn change<R>(change: impl FnOnce(&mut Vec<Option<Entry>>) -> R) -> CallResult<R> {
    launch::forget_latest();
    THREAD.with(|thread| {
        let mut thread = thread.try_borrow_mut().map_err(|_| NOT_PERMITTED)?;
        if thread.is_none() {
            thread_end::is_awaited();
        }
        Ok(change(&mut thread.get_or_insert_default().stack))
    })
}

/// Makes a context current on top of what is.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`.
pub fn push(handle: CUcontext) -> CallResult<()> {
    let entry = entry_of(handle)?;
    change(|stack| stack.push(Some(entry)))
}

/// What was current before is again; the handle of what was.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` if there is none.
pub fn pop() -> CallResult<CUcontext> {
    let last = change(Vec::pop)?.flatten();
    let last = last.ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
    Ok(last.context.handle())
}

/// Makes a context current in the place of what is; null: none.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`.
pub fn set(handle: CUcontext) -> CallResult<()> {
    let next = match handle.is_null() {
        true => None,
        false => Some(entry_of(handle)?),
    };
    let last = change(|stack| {
        let last = stack.pop();
        if next.is_some() {
            stack.push(next);
        }
        last
    })?;
    drop(last);
    Ok(())
}

/// Changes the current context's flags.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what are none, or the API's code.
pub fn set_flags(flags: u32) -> CallResult<()> {
    with(|context| {
        context.healthy()?;
        check_flags(flags)?;
        context.has_flags(flags);
        Ok(())
    })
}

/// A context by its handle; the current one for null.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`, `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
pub fn named(handle: CUcontext) -> CallResult<Arc<Context>> {
    initialized()?;
    if handle.is_null() {
        return with(|context| Ok(context.clone()));
    }
    let (_, context) = find(handle)?;
    match context.is_destroyed() {
        true => Err(CUDA_ERROR_CONTEXT_IS_DESTROYED),
        false => Ok(context),
    }
}

/// Checks a context's flags.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn check_flags(flags: u32) -> CallResult<()> {
    let way = flags & WAYS_TO_WAIT;
    match flags & !FLAGS == 0 && (way == 0 || way.is_power_of_two()) {
        true => Ok(()),
        false => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// A new context and its object.
fn add(number: Handle, device: CUdevice, flags: u32) -> CallResult<(CUcontext, Arc<Context>)> {
    let context = Context::new(number, device, flags);
    let object: CUcontext = create(Kind::Context, number, Details::Context(context.clone()))?;
    let address = object.expose_provenance();
    context.address.store(address, Ordering::Relaxed);
    Ok((object, context))
}

/// The object of a primary context that the board made under this number. Programs know it by
/// another handle.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub fn enter_primary(
    number: Handle,
    device: CUdevice,
    flags: u32,
    handle: CUcontext,
) -> CallResult<CUcontext> {
    let (object, context) = add(number, device, flags)?;
    let address = handle.expose_provenance();
    context.address.store(address, Ordering::Relaxed);
    Ok(object)
}

/// The handle by which programs know a device's primary context, whether it is in use or not:
/// that of a context that is always destroyed.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub fn stand_in(device: CUdevice) -> CallResult<CUcontext> {
    let (handle, context) = add(gil_guest::api::new_number(), device, 0)?;
    context.is_destroyed.store(true, Ordering::Relaxed);
    Ok(handle)
}

/// The current context, which [`detach`] has to be called for once more before it goes.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` if there is none.
pub fn attach() -> CallResult<CUcontext> {
    with(|context| {
        context.healthy()?;
        context.uses.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })?;
    Ok(current_handle())
}

/// A context has one user less; without any, it is destroyed.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` for one that is not current, or the API's code.
pub fn detach(entry: u64, handle: CUcontext) -> CallResult<()> {
    initialized()?;
    if handle.is_null() || handle != current_handle() || primary::is(handle) {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    }
    let (_, context) = find(handle)?;
    match context.uses.fetch_sub(1, Ordering::Relaxed) {
        ..=1 => destroy(entry, handle),
        _ => Ok(()),
    }
}

/// Makes a context on a device, which is current in this thread then.
///
/// # Errors
/// The API's code.
pub fn make(entry: u64, device: CUdevice, flags: u32) -> CallResult<CUcontext> {
    check_flags(flags)?;
    let new = gil_guest::api::new_number();
    let args = wire::CuCtxCreateV2Args {
        new,
        flags,
        dev: device,
    };
    let request = Request::new(wire::CU_CTX_CREATE_V2, Class::Sync, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuCtxCreateV2Reply = reply.decode()?;
        Guest::check(reply.result)
    })?;
    let (handle, _) = add(new, device, flags)?;
    push(handle)?;
    Ok(handle)
}

/// Destroys a context with all that it has.
///
/// # Errors
/// The API's code.
pub fn destroy(entry: u64, handle: CUcontext) -> CallResult<()> {
    permitted()?;
    let (object, context) = find(handle)?;
    if context.is_destroyed.swap(true, Ordering::Relaxed) {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    }
    launch::changed();
    context.storage.end(context.handle());
    textures::forget(&context);
    let its = [
        Kind::Stream,
        Kind::Event,
        Kind::Function,
        Kind::Module,
        Kind::Link,
        Kind::Array,
        Kind::MipmappedArray,
    ];
    for kind in its {
        for object in Object::all(kind) {
            let details = object.details();
            if !details.owner().is_some_and(|it| Arc::ptr_eq(it, &context)) {
                continue;
            }
            if let Details::Event(event) = details {
                event::forget(entry, event);
            }
            if let Details::Stream(stream) = details {
                capture::forget(&stream.lane);
            }
            // Another thread may have released it.
            let _ = Object::release(kind, object.address(), entry);
        }
    }
    memory::forget(&context);
    shared::forget(&context);
    library::forget(&context);
    context.streams().spare.clear();
    let ended = Object::release(Kind::Context, handle, entry);
    // What is current in this thread goes; in others it is found to be destroyed.
    change(|stack| match stack.last() {
        Some(Some(top)) if top.object.number() == object.number() => stack.pop(),
        _ => None,
    })?;
    ended?;
    let args = wire::CuCtxDestroyV2Args {
        ctx: context.number,
    };
    let request = Request::new(wire::CU_CTX_DESTROY_V2, Class::Sync, entry);
    request.forward(&args, |reply| {
        let reply: wire::CuCtxDestroyV2Reply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// Does something while a context of a device is current, or of any: the thread's own if it is
/// one. Otherwise it is the device's primary context, which is made for this if it has no user; it
/// stays, and the program does not see that it is there until it retains it.
///
/// # Errors
/// The API's code.
pub fn on<R>(
    entry: u64,
    device: Option<CUdevice>,
    work: impl FnOnce() -> CallResult<R>,
) -> CallResult<R> {
    match (with(|context| Ok(context.device)), device) {
        (Ok(_), None) => return work(),
        (Ok(current), Some(wanted)) if current == wanted => return work(),
        (Ok(_) | Err(CUDA_ERROR_INVALID_CONTEXT | CUDA_ERROR_CONTEXT_IS_DESTROYED), _) => {}
        (Err(code), _) => return Err(code),
    }
    push(primary::object(entry, device.unwrap_or(0))?)?;
    let done = work();
    // Another thread may have destroyed it meanwhile, and it stays in this one's stack.
    let _ = pop();
    done
}
