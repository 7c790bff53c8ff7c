//! `libtoy.so`: the toy API's driver, over the OpenCL of the machine, so that
//! its commands run on the same devices.
//!
//! It is to gil's toy back end what a vendor's `libcuda.so.1` is to CUDA's, and
//! programs of the toy API run over it natively. `../toy.h` says what its
//! functions do.
#![allow(non_snake_case, reason = "the functions have the API's names")]

mod context;
mod device;
mod error;
mod handles;

use context::{Buffer, Context};
use device::Found;
use error::{Error, INVALID_HANDLE, INVALID_VALUE, NO_CONTEXT, code};
use handles::Handles;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

static CONTEXTS: Handles<Context> = Handles::new();
static BUFFERS: Handles<Buffer> = Handles::new();

thread_local! {
    static CURRENT: Cell<*mut c_void> = const { Cell::new(ptr::null_mut()) };
}

fn current() -> Result<Arc<Context>, Error> {
    let current = CURRENT.get();
    if current.is_null() {
        return Err(Error(NO_CONTEXT));
    }
    CONTEXTS.get(current).ok_or(Error(INVALID_HANDLE))
}

/// A live buffer of the current context.
fn buffer(handle: *mut c_void) -> Result<Arc<Buffer>, Error> {
    let current = current()?;
    let buffer = BUFFERS.get(handle).filter(|buffer| buffer.is_of(&current));
    buffer.ok_or(Error(INVALID_HANDLE))
}

/// `toyDeviceInfo`.
///
/// # Safety
/// As `toy.h` says of the caller: pointers are null or name room for what is
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toyDeviceInfo(
    device: u32,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    const NAME: u32 = 1;
    const PLACE: u32 = 2;
    const UUID: u32 = 3;
    let string = |text: String| [text.as_bytes(), &[0]].concat();
    code((|| {
        let found = Found::numbered(device)?;
        let bytes = match name {
            NAME => string(found.name()?),
            PLACE => string(found.place()?),
            UUID => found.uuid().to_vec(),
            _ => return Err(Error(INVALID_VALUE)),
        };
        if !size_ret.is_null() {
            // SAFETY: the caller's.
            unsafe { size_ret.write(bytes.len()) };
        }
        if value.is_null() {
            return Ok(());
        }
        if size < bytes.len() {
            return Err(Error(INVALID_VALUE));
        }
        // SAFETY: the caller's; there is room.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), bytes.len()) };
        Ok(())
    })())
}

/// `toyContextCreate`.
///
/// # Safety
/// `context` is null or points to space for one handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toyContextCreate(context: *mut *mut c_void, device: u32) -> i32 {
    code((|| {
        if context.is_null() {
            return Err(Error(INVALID_VALUE));
        }
        let made = Context::new(&Found::numbered(device)?)?;
        // SAFETY: the caller's.
        unsafe { context.write(CONTEXTS.add(made)) };
        Ok(())
    })())
}

/// `toyContextDestroy`. In a thread in which it is current, a dead one is.
#[unsafe(no_mangle)]
pub extern "C" fn toyContextDestroy(context: *mut c_void) -> i32 {
    let dead = CONTEXTS.remove(context);
    code(dead.map(drop).ok_or(Error(INVALID_HANDLE)))
}

/// `toyContextSetCurrent`.
#[unsafe(no_mangle)]
pub extern "C" fn toyContextSetCurrent(context: *mut c_void) -> i32 {
    code((|| {
        if !context.is_null() && CONTEXTS.get(context).is_none() {
            return Err(Error(INVALID_HANDLE));
        }
        CURRENT.set(context);
        Ok(())
    })())
}

/// `toyBufferCreate`.
///
/// # Safety
/// `buffer` is null or points to space for one handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toyBufferCreate(buffer: *mut *mut c_void, size: usize) -> i32 {
    code((|| {
        let current = current()?;
        if buffer.is_null() {
            return Err(Error(INVALID_VALUE));
        }
        let made = Buffer::new(current, size)?;
        // SAFETY: the caller's.
        unsafe { buffer.write(BUFFERS.add(made)) };
        Ok(())
    })())
}

/// `toyBufferDestroy`.
#[unsafe(no_mangle)]
pub extern "C" fn toyBufferDestroy(buffer: *mut c_void) -> i32 {
    let dead = BUFFERS.remove(buffer);
    code(dead.map(drop).ok_or(Error(INVALID_HANDLE)))
}

/// `toyUpload`.
///
/// # Safety
/// `data` is null or names `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toyUpload(
    buffer: *mut c_void,
    offset: usize,
    data: *const c_void,
    size: usize,
) -> i32 {
    code((|| {
        let buffer = self::buffer(buffer)?;
        if data.is_null() {
            return Err(Error(INVALID_VALUE));
        }
        // SAFETY: the caller's.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast(), size) };
        buffer.upload(offset, bytes)
    })())
}

/// `toyScale`.
#[unsafe(no_mangle)]
pub extern "C" fn toyScale(buffer: *mut c_void, factor: u32) -> i32 {
    code((|| self::buffer(buffer)?.scale(factor))())
}

/// `toyRead`.
///
/// # Safety
/// `data` is null or points to space for `size` bytes, until the command is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toyRead(
    buffer: *mut c_void,
    offset: usize,
    data: *mut c_void,
    size: usize,
    wait: i32,
) -> i32 {
    code((|| {
        let buffer = self::buffer(buffer)?;
        if data.is_null() {
            return Err(Error(INVALID_VALUE));
        }
        // SAFETY: the caller's.
        unsafe { buffer.read(offset, data, size, wait != 0) }
    })())
}

/// `toyNotify`. Without a function it marks the place only.
///
/// # Safety
/// `callback` may be called with `user_data` in another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toyNotify(
    callback: Option<unsafe extern "C" fn(i32, *mut c_void)>,
    user_data: *mut c_void,
) -> i32 {
    code((|| {
        let current = current()?;
        if let Some(callback) = callback {
            let user_data = user_data.expose_provenance();
            current.when_done(move |result| {
                let user_data = ptr::with_exposed_provenance_mut(user_data);
                // SAFETY: the caller's.
                unsafe { callback(code(result), user_data) }
            });
        }
        Ok(())
    })())
}

/// `toyFinish`.
#[unsafe(no_mangle)]
pub extern "C" fn toyFinish() -> i32 {
    code((|| current()?.finish())())
}

/// `toyElapsed`.
///
/// # Safety
/// `nanoseconds` is null or points to space for one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn toyElapsed(nanoseconds: *mut u64) -> i32 {
    code((|| {
        let elapsed = current()?.elapsed()?;
        if nanoseconds.is_null() {
            return Err(Error(INVALID_VALUE));
        }
        // SAFETY: the caller's.
        unsafe { nanoseconds.write(elapsed) };
        Ok(())
    })())
}
