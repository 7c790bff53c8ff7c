//! Labels and messages: `GL_KHR_debug`. The board's driver writes its messages into its
//! own log; a program's function gets them from there when the program flushes, asks for
//! errors or writes messages of its own.

use super::{Context, shadow};
use crate::generated::manual::{Guest, Request};
use crate::generated::stubs;
use crate::generated::types::*;
use gil_guest::api::{CallResult, Described};
use gil_wire::call::InData;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// A program's function for messages: source, type, number, severity, length in bytes,
/// text, and what the program gave with the function.
pub type Callback =
    unsafe extern "C" fn(GLenum, GLenum, GLuint, GLenum, GLsizei, *const GLchar, *const c_void);

/// Bytes of the longest message that is fetched.
const LONGEST: usize = 4096;
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

/// Gives the program's function what is in the driver's log.
///
/// # Errors
/// The API's code.
pub fn deliver(current: &Context) -> CallResult<()> {
    let receiver = shadow::of(current).debug;
    let Some(callback) = receiver.callback else {
        return Ok(());
    };
    let mut text = [0; LONGEST];
    for _ in 0..MOST {
        let (mut source, mut ty, mut id, mut severity, mut length) = (0, 0, 0, 0, 0);
        // SAFETY: there is space for one message.
        let count = unsafe {
            stubs::glGetDebugMessageLog(
                1,
                LONGEST as GLsizei,
                &mut source,
                &mut ty,
                &mut id,
                &mut severity,
                &mut length,
                text.as_mut_ptr(),
            )
        };
        if count == 0 {
            break;
        }
        // A log's length counts the 0 at the end, a callback's does not.
        let length = length.saturating_sub(1);
        let user_param = receiver.user_param as *const c_void;
        // SAFETY: the program promised a function of this type.
        unsafe { callback(source, ty, id, severity, length, text.as_ptr(), user_param) };
    }
    Ok(())
}
