//! Labels and messages: `GL_KHR_debug`. The board's driver writes its messages into its
//! own log; a program's function gets them from there when the program flushes, asks for
//! errors or writes messages of its own, and after each call if the program wants them
//! before that returns.

pub mod log;

use super::{Context, shadow};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_guest::api::{CallResult, Current, Described};
use gil_wire::call::InData;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

/// A program's function for messages: source, type, number, severity, length in bytes,
/// text, and what the program gave with the function.
pub type Callback =
    unsafe extern "C" fn(GLenum, GLenum, GLuint, GLenum, GLsizei, *const GLchar, *const c_void);

/// Messages that one delivery fetches at most: more than logs have.
const MOST: usize = 1024;

/// Who gets messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Receiver {
    callback: Option<Callback>,
    /// What the program gave with it, an address.
    user_param: usize,
}

impl Receiver {
    /// Whether it is nobody.
    pub fn is_none(self) -> bool {
        self.callback.is_none()
    }

    /// The program's function; none for nobody.
    pub fn new(callback: Option<Callback>, user_param: *const c_void) -> Self {
        Self {
            callback,
            user_param: user_param as usize,
        }
    }

    /// What `glGetPointerv` says; none for another name.
    pub fn pointer(self, name: GLenum) -> Option<*mut c_void> {
        match name {
            GL_DEBUG_CALLBACK_FUNCTION => Some(
                self.callback
                    .map_or(null_mut(), |callback| callback as *mut c_void),
            ),
            GL_DEBUG_CALLBACK_USER_PARAM => Some(self.user_param as *mut c_void),
            _ => None,
        }
    }
}

/// A text for the board, which ends with a 0 if `length` is below 0; its length then, the
/// 0 not counted.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// The text is null or so long.
pub unsafe fn text<'a>(
    request: &mut Request,
    length: GLsizei,
    text: *const GLchar,
) -> CallResult<(GLsizei, InData<'a>)> {
    if text.is_null() {
        return Ok((0, InData::Null));
    }
    let len = match usize::try_from(length) {
        Ok(len) => len,
        // SAFETY: the caller's.
        Err(_) => unsafe { CStr::from_ptr(text.cast()) }.to_bytes().len(),
    };
    let length = GLsizei::try_from(len).map_err(|_| Guest::BOUNDS)?;
    // SAFETY: the caller's.
    Ok((length, unsafe { request.input(text.cast(), len) }))
}

/// Whether any context of the process ever wanted messages at once. The others' calls ask
/// for nothing more.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Whether the program wants a message before the call returns that it is about.
pub fn at_once(current: &Context, wanted: bool) {
    shadow::of(current).debugs_at_once = wanted;
    if wanted {
        AT_ONCE.store(true, Ordering::Relaxed);
    }
}

/// A call has ended.
#[inline]
pub fn call_ended() {
    if AT_ONCE.load(Ordering::Relaxed) {
        deliver_at_once();
    }
}

#[cold]
fn deliver_at_once() {
    let Ok(current) = Guest::current() else {
        return;
    };
    let wanted = shadow::of(&current).debugs_at_once;
    if wanted {
        // A session that is lost has no messages.
        let _ = deliver(&current);
    }
}

/// Gives the program's function what is in the driver's log. The function may call the
/// API: what that says comes behind.
///
/// # Errors
/// The API's code.
pub fn deliver(current: &Context) -> CallResult<()> {
    let receiver = {
        let mut shadow = shadow::of(current);
        if shadow.debug.callback.is_none() || shadow.is_delivering {
            return Ok(());
        }
        shadow.is_delivering = true;
        shadow.debug
    };
    let delivered = hand_over(current, receiver);
    shadow::of(current).is_delivering = false;
    delivered
}

/// Empties the driver's log.
fn hand_over(current: &Context, receiver: Receiver) -> CallResult<()> {
    let Some(callback) = receiver.callback else {
        return Ok(());
    };
    for _ in 0..MOST {
        let Some(message) = log::next(current)? else {
            break;
        };
        // A log's length counts the 0 at the end, a callback's does not.
        let length = GLsizei::try_from(message.text.len()).unwrap_or(0) - 1;
        let (source, ty, id, severity) = message.about;
        let user_param = receiver.user_param as *const c_void;
        // SAFETY: the program promised a function of this type.
        unsafe {
            callback(
                source,
                ty,
                id,
                severity,
                length,
                message.text.as_ptr(),
                user_param,
            );
        }
    }
    Ok(())
}

/// `glDebugMessageCallback`. What the log has stays there; what was meant for the function
/// before comes to that.
///
/// # Errors
/// The API's code.
pub fn receive(current: &Context, receiver: Receiver) -> CallResult<()> {
    deliver(current)?;
    if receiver.callback.is_some() {
        log::gather(current)?;
    }
    shadow::of(current).debug = receiver;
    Ok(())
}
