//! The entry points that are written by hand, by subject; the others are here.

mod buffers;
mod draws;
mod fixed_arrays;
mod framebuffers;
mod image_storage;
mod messages;
mod reads;
mod uniforms;
mod vertex_arrays;

use crate::generated::manual::{Guest, Manual, Object, Request};
use crate::generated::types::*;
use crate::support::{LOST, debug, fixed, images, shadow, syncs, texts};
use gil_egl::support::{strings, work};
use gil_guest::api::{Api, CallResult, Current, data};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;
use std::ptr;

impl Manual for Guest {
    unsafe fn glGetPointerv(_: u64, pname: GLenum, params: *mut *mut c_void) {
        Self::nothing(|| {
            let current = Self::current()?;
            let debug = shadow::of(&current).debug.pointer(pname);
            let found = debug.or_else(|| fixed::pointer(&current, pname));
            let found = found.ok_or(GL_INVALID_ENUM as i32)?;
            // SAFETY: null, or the caller's.
            unsafe { data::write(params, found) };
            Ok(())
        });
    }

    /// A session that is lost has lost its contexts.
    unsafe fn glGetGraphicsResetStatus(entry: u64) -> GLenum {
        Self::value(|| {
            let request = Request::new(wire::GL_GET_GRAPHICS_RESET_STATUS, Class::Query, entry);
            let args = wire::GlGetGraphicsResetStatusArgs {
                current: Self::current()?.number(),
            };
            let answer = request.forward(&args, |reply| {
                let reply: wire::GlGetGraphicsResetStatusReply = reply.decode()?;
                Ok(reply.value)
            });
            match answer {
                Err(LOST) => Ok(GL_UNKNOWN_CONTEXT_RESET),
                answer => answer,
            }
        })
    }

    unsafe fn glGetStringi(_: u64, name: GLenum, index: GLuint) -> *const GLubyte {
        let mut found = ptr::null();
        Self::nothing(|| {
            if name != GL_EXTENSIONS {
                return Err(GL_INVALID_ENUM as i32);
            }
            let index = usize::try_from(index).map_err(|_| Self::INVALID_VALUE)?;
            let word = texts::extensions()?.nth(index).ok_or(Self::INVALID_VALUE)?;
            found = strings::keep(word).as_ptr().cast();
            Ok(())
        });
        found
    }

    unsafe fn glIsSync(_: u64, sync: GLsync) -> GLboolean {
        GLboolean::from(Object::find(wire::Kind::Sync, sync).is_ok())
    }

    unsafe fn glGetError(entry: u64) -> GLenum {
        let lost = |code: i32| match code {
            LOST => Ok(code.unsigned_abs()),
            code => Err(code),
        };
        Self::value(|| {
            let current = Self::current().map_err(|_| Self::SILENT)?;
            let request = Request::new(wire::GL_GET_ERROR, Class::Query, entry);
            let args = wire::GlGetErrorArgs {
                current: current.number(),
            };
            let answer = request.forward(&args, |reply| {
                let reply: wire::GlGetErrorReply = reply.decode()?;
                Ok(reply.value)
            });
            debug::deliver(&current)?;
            answer.or_else(lost)
        })
    }

    unsafe fn glGetString(entry: u64, name: GLenum) -> *const GLubyte {
        let mut found = ptr::null();
        Self::nothing(|| {
            found = texts::get(entry, &Self::current()?, name)?.as_ptr().cast();
            Ok(())
        });
        found
    }

    unsafe fn glFlush(entry: u64) {
        Self::nothing(|| {
            let current = Self::current()?;
            let request: Request = work::handed_over(wire::GL_FLUSH, entry, &current, false);
            let args = wire::GlFlushArgs {
                current: current.number(),
            };
            request.forward(&args, |_| Ok(()))?;
            images::drain(entry, &current)?;
            debug::deliver(&current)
        });
    }

    unsafe fn glFinish(entry: u64) {
        Self::nothing(|| {
            let current = Self::current()?;
            let request: Request = work::handed_over(wire::GL_FINISH, entry, &current, true);
            let args = wire::GlFinishArgs {
                current: current.number(),
            };
            request.forward(&args, |_| Ok(()))?;
            images::drain(entry, &current)
        });
    }

    unsafe fn glClientWaitSync(
        entry: u64,
        sync: GLsync,
        flags: GLbitfield,
        timeout: GLuint64,
    ) -> GLenum {
        let mut ended = GL_WAIT_FAILED;
        Self::nothing(|| {
            let current = Self::current()?;
            let sync = Object::find(wire::Kind::Sync, sync)?;
            // It lives until the wait has ended.
            let hold = sync.hold().ok_or(Self::INVALID_VALUE)?;
            ended = syncs::client_wait(entry, &current, hold.object(), flags, timeout)?;
            match ended {
                GL_TIMEOUT_EXPIRED => Ok(()),
                _ => images::drain(entry, &current),
            }
        });
        ended
    }
}

/// The names of objects that a program deletes.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `names` is null or has `n` of them.
unsafe fn names(n: GLsizei, names: *const GLuint) -> CallResult<Vec<u32>> {
    let count = usize::try_from(n).map_err(|_| Guest::INVALID_VALUE)?;
    // SAFETY: the caller's.
    let list = unsafe { data::array::<Guest, u32, u32>(names.cast(), count) }?;
    Ok(list.unwrap_or_default())
}

impl Guest {
    /// For numbers below zero and the like.
    const INVALID_VALUE: i32 = GL_INVALID_VALUE as i32;
}
