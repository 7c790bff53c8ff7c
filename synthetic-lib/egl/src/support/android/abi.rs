//! The structures by which Android's windows and buffers come to a driver.
//!
//! Sources of the layouts, all of the Android Open Source Project: `system/window.h` and
//! `nativebase/nativebase.h` of `frameworks/native`, `cutils/native_handle.h` of
//! `system/core`. They are the same since Android 4.2; what was added later took reserved
//! words.

use super::refusal::Refusal;
use std::ffi::c_int;
use std::ptr::NonNull;

/// A window's magic word.
const WINDOW_MAGIC: u32 = u32::from_be_bytes(*b"_wnd");
/// A buffer's.
const BUFFER_MAGIC: u32 = u32::from_be_bytes(*b"_bfr");

/// `android_native_base_t`: what windows and buffers begin with.
#[repr(C)]
#[derive(Debug)]
pub struct Base {
    magic: u32,
    /// Bytes of the whole structure.
    version: u32,
    reserved: [usize; 4],
    inc_ref: Option<Counted>,
    dec_ref: Option<Counted>,
}

/// Adds or drops a reference.
type Counted = unsafe extern "C" fn(*mut Base);

/// `ANativeWindowBuffer`.
#[repr(C)]
#[derive(Debug)]
pub struct Buffer {
    base: Base,
    /// Pixels.
    pub width: c_int,
    /// Pixels.
    pub height: c_int,
    /// Pixels from a row to the next.
    pub stride: c_int,
    /// `HAL_PIXEL_FORMAT_…`.
    pub format: c_int,
    usage_before_64_bits: c_int,
    layers: usize,
    reserved: usize,
    /// The memory.
    pub handle: *const Handle,
    usage: u64,
    reserved_functions: [usize; 8 - 8 / size_of::<usize>()],
}

/// `native_handle_t`: descriptors and numbers follow it.
#[repr(C)]
#[derive(Debug)]
pub struct Handle {
    version: c_int,
    fds: c_int,
    ints: c_int,
    data: [c_int; 0],
}

/// Most descriptors of a handle, and most numbers.
const HANDLE_MAX: usize = 1024;

/// `ANativeWindow`.
#[repr(C)]
#[derive(Debug)]
pub struct Window {
    base: Base,
    flags: u32,
    min_swap_interval: c_int,
    max_swap_interval: c_int,
    xdpi: f32,
    ydpi: f32,
    oem: [isize; 4],
    set_swap_interval: Option<unsafe extern "C" fn(*mut Window, c_int) -> c_int>,
    /// To dequeue, lock and queue without fences, as the first releases had it.
    unfenced: [usize; 3],
    query: Option<Query>,
    perform: Option<Perform>,
    unfenced_cancel: usize,
    dequeue: Option<Dequeue>,
    queue: Option<Return>,
    cancel: Option<Return>,
}

type Query = unsafe extern "C" fn(*const Window, c_int, *mut c_int) -> c_int;
type Perform = unsafe extern "C" fn(*mut Window, c_int, ...) -> c_int;
type Dequeue = unsafe extern "C" fn(*mut Window, *mut *mut Buffer, *mut c_int) -> c_int;
type Return = unsafe extern "C" fn(*mut Window, *mut Buffer, c_int) -> c_int;

/// What [`Hooks::query`] asks for: `NATIVE_WINDOW_…`.
pub mod question {
    /// The width that buffers have if nobody asks for another.
    pub const DEFAULT_WIDTH: i32 = 6;
    /// The height.
    pub const DEFAULT_HEIGHT: i32 = 7;
}

/// What [`Hooks::perform`] does: `NATIVE_WINDOW_…`.
mod operation {
    pub const SET_USAGE: i32 = 0;
    pub const SET_BUFFERS_DIMENSIONS: i32 = 8;
    pub const SET_BUFFERS_FORMAT: i32 = 9;
    pub const SET_USAGE_64: i32 = 30;
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Window>() == 192 && size_of::<Buffer>() == 168);
#[cfg(target_pointer_width = "32")]
const _: () = assert!(size_of::<Window>() == 108 && size_of::<Buffer>() == 96);
const _: () = assert!(size_of::<Handle>() == 12);

impl Base {
    /// Whether it begins a structure with this magic word, of `least` bytes.
    fn check(&self, magic: u32, least: usize) -> Result<(), Refusal> {
        if self.magic != magic {
            return Err(Refusal::Magic {
                found: self.magic,
                wanted: magic,
            });
        }
        match self.version as usize >= least {
            true => Ok(()),
            false => Err(Refusal::Version {
                found: self.version,
                least,
            }),
        }
    }
}

/// The structure at an address.
///
/// # Safety
/// An address that is aligned for it is readable, as far as its magic word is right.
unsafe fn at<T>(address: usize) -> Result<NonNull<T>, Refusal> {
    let place = NonNull::new(address as *mut T).filter(|place| place.is_aligned());
    place.ok_or(Refusal::Address(address))
}

/// The buffer at an address.
///
/// # Errors
/// [`Refusal`] if there is none.
///
/// # Safety
/// The address is null, or readable.
pub unsafe fn buffer<'a>(address: usize) -> Result<&'a Buffer, Refusal> {
    // SAFETY: the caller's.
    let buffer = unsafe { at::<Buffer>(address) }?;
    // SAFETY: the same; the base first, which says how much there is.
    unsafe {
        buffer
            .cast::<Base>()
            .as_ref()
            .check(BUFFER_MAGIC, size_of::<Buffer>())?;
        Ok(buffer.as_ref())
    }
}

impl Buffer {
    /// The descriptors of its memory.
    ///
    /// # Errors
    /// [`Refusal::Handle`] if there are none.
    ///
    /// # Safety
    /// It is a buffer of the program's, of which a handle is null or readable.
    pub unsafe fn descriptors(&self) -> Result<&[c_int], Refusal> {
        let nothing = Refusal::Handle { fds: 0, ints: 0 };
        if self.handle.is_null() || !self.handle.is_aligned() {
            return Err(nothing);
        }
        // SAFETY: the caller's.
        let handle = unsafe { &*self.handle };
        let count = |count: c_int| usize::try_from(count).ok().filter(|it| *it <= HANDLE_MAX);
        let is_whole = usize::try_from(handle.version) == Ok(size_of::<Handle>());
        match (count(handle.fds), count(handle.ints)) {
            (Some(fds @ 1..), Some(_)) if is_whole => {
                // SAFETY: so many are behind it.
                Ok(unsafe { std::slice::from_raw_parts(handle.data.as_ptr(), fds) })
            }
            _ => Err(Refusal::Handle {
                fds: handle.fds,
                ints: handle.ints,
            }),
        }
    }
}

/// A buffer that a window gave, to be queued or cancelled there.
#[derive(Debug)]
pub struct Dequeued(*mut Buffer);

// SAFETY: it is an address, which only the window's functions use.
unsafe impl Send for Dequeued {}

impl Dequeued {
    /// Its address, which the window did not check.
    pub fn address(&self) -> usize {
        self.0 as usize
    }
}

/// A window that has been checked, with its functions. It holds a reference to it.
#[derive(Debug)]
pub struct Hooks {
    window: NonNull<Window>,
    set_swap_interval: Option<unsafe extern "C" fn(*mut Window, c_int) -> c_int>,
    query: Query,
    perform: Perform,
    dequeue: Dequeue,
    queue: Return,
    cancel: Return,
    dec_ref: Counted,
}

// SAFETY: Android's windows are called from any thread, and the reference keeps it.
unsafe impl Send for Hooks {}
// SAFETY: the same.
unsafe impl Sync for Hooks {}

impl Hooks {
    /// Those of the window at an address.
    ///
    /// # Errors
    /// [`Refusal`] if there is none.
    ///
    /// # Safety
    /// The address is null, or readable.
    pub unsafe fn of(address: usize) -> Result<Self, Refusal> {
        // SAFETY: the caller's.
        let window = unsafe { at::<Window>(address) }?;
        // SAFETY: the same; the base first, which says how much there is.
        let found = unsafe {
            window
                .cast::<Base>()
                .as_ref()
                .check(WINDOW_MAGIC, size_of::<Window>())?;
            window.as_ref()
        };
        let inc_ref = found.base.inc_ref.ok_or(Refusal::Function("incRef"))?;
        let hooks = Self {
            window,
            set_swap_interval: found.set_swap_interval,
            query: found.query.ok_or(Refusal::Function("query"))?,
            perform: found.perform.ok_or(Refusal::Function("perform"))?,
            dequeue: found.dequeue.ok_or(Refusal::Function("dequeueBuffer"))?,
            queue: found.queue.ok_or(Refusal::Function("queueBuffer"))?,
            cancel: found.cancel.ok_or(Refusal::Function("cancelBuffer"))?,
            dec_ref: found.base.dec_ref.ok_or(Refusal::Function("decRef"))?,
        };
        // SAFETY: the window's own function.
        unsafe { inc_ref(window.as_ptr().cast()) };
        Ok(hooks)
    }

    /// The window's address.
    pub fn address(&self) -> usize {
        self.window.as_ptr() as usize
    }

    /// What a [`question`] answers; none if the window does not.
    pub fn query(&self, what: i32) -> Option<i32> {
        let mut value = 0;
        // SAFETY: the window's function, with space for its answer.
        let ended = unsafe { (self.query)(self.window.as_ptr(), what, &raw mut value) };
        (ended == 0).then_some(value)
    }

    /// Its next buffers have this size.
    ///
    /// # Errors
    /// [`Refusal::Operation`] with what the window returns.
    pub fn set_size(&self, (width, height): (u32, u32)) -> Result<(), Refusal> {
        let side = |side: u32| c_int::try_from(side).unwrap_or(c_int::MAX);
        let (operation, width, height) =
            (operation::SET_BUFFERS_DIMENSIONS, side(width), side(height));
        // SAFETY: this operation takes two of C's int.
        let ended = unsafe { (self.perform)(self.window.as_ptr(), operation, width, height) };
        Refusal::unless_done("NATIVE_WINDOW_SET_BUFFERS_DIMENSIONS", ended)
    }

    /// Its next buffers have this format.
    ///
    /// # Errors
    /// As [`set_size`](Self::set_size).
    pub fn set_format(&self, format: c_int) -> Result<(), Refusal> {
        let operation = operation::SET_BUFFERS_FORMAT;
        // SAFETY: this operation takes one of C's int.
        let ended = unsafe { (self.perform)(self.window.as_ptr(), operation, format) };
        Refusal::unless_done("NATIVE_WINDOW_SET_BUFFERS_FORMAT", ended)
    }

    /// What its next buffers are for. Windows of releases before 9 know 32 bits of it; one
    /// that knows none says by its buffers what they can.
    pub fn set_usage(&self, usage: u32) {
        let window = self.window.as_ptr();
        // SAFETY: one takes 64 bits, the other one of C's int.
        unsafe {
            if (self.perform)(window, operation::SET_USAGE_64, u64::from(usage)) != 0 {
                (self.perform)(window, operation::SET_USAGE, usage.cast_signed());
            }
        }
    }

    /// Frames wait for every `interval`th of the display's.
    pub fn set_swap_interval(&self, interval: c_int) {
        if let Some(set) = self.set_swap_interval {
            // SAFETY: the window's function. One that cannot stays as it is.
            unsafe { set(self.window.as_ptr(), interval) };
        }
    }

    /// A buffer to be drawn to, and the descriptor of a fence before that, or a negative
    /// number.
    ///
    /// # Errors
    /// [`Refusal::Operation`] with what the window returns.
    pub fn dequeue(&self) -> Result<(Dequeued, c_int), Refusal> {
        let (mut buffer, mut fence) = (std::ptr::null_mut(), -1);
        // SAFETY: the window's function, with space for its answers.
        let ended =
            unsafe { (self.dequeue)(self.window.as_ptr(), &raw mut buffer, &raw mut fence) };
        Refusal::unless_done("dequeueBuffer", ended)?;
        Ok((Dequeued(buffer), fence))
    }

    /// A buffer that it gave is drawn.
    ///
    /// # Errors
    /// [`Refusal::Operation`] with what the window returns.
    pub fn queue(&self, buffer: Dequeued) -> Result<(), Refusal> {
        // SAFETY: the window's function and its buffer. Nothing is to be waited for.
        let ended = unsafe { (self.queue)(self.window.as_ptr(), buffer.0, -1) };
        Refusal::unless_done("queueBuffer", ended)
    }

    /// A buffer that it gave is not drawn.
    pub fn cancel(&self, buffer: Dequeued) {
        if !buffer.0.is_null() {
            // SAFETY: as in `queue`. One that is refused is the window's all the same.
            unsafe { (self.cancel)(self.window.as_ptr(), buffer.0, -1) };
        }
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        // SAFETY: the reference of this structure's.
        unsafe { (self.dec_ref)(self.window.as_ptr().cast()) };
    }
}
