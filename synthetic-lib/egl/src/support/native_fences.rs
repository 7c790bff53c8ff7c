//! Native fences: sync files of the guest's kernel, which displays and other drivers of the
//! guest wait for as well as programs. One that is made signals when the context's commands
//! so far have ended, in simulated time. Source: EGL_ANDROID_native_fence_sync.

use super::{current, image, work};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult};
use gil_wire::generated::egl as wire;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// A native fence.
#[derive(Debug)]
pub struct Native {
    file: OwnedFd,
    /// It came from the program.
    is_imported: bool,
}

impl Native {
    /// A fence behind the commands of the current context.
    ///
    /// # Errors
    /// The API's code; `EGL_BAD_ALLOC` if the driver makes no sync file.
    pub fn behind(entry: u64) -> CallResult<Self> {
        let context = current::context().ok_or(EGL_BAD_MATCH)?;
        let op = wire::EGL_WAIT_CLIENT;
        let request: Request = work::handed_over(op, entry, &context, false);
        request.forward(&wire::EglWaitClientArgs, |reply| {
            let reply: wire::EglWaitClientReply = reply.decode()?;
            match reply.result {
                // Mesa's refuses a context without a surface, whose work the board has ended.
                EGL_BAD_CURRENT_SURFACE => Ok(()),
                result => Guest::check(result),
            }
        })?;
        image::flushed(entry);
        let client = gil_guest::client().map_err(|error| Guest::failed(op, &error))?;
        let file = client.queue_fence(op, gil_guest::entry(), context.number().0);
        Ok(Self {
            file: file.map_err(|_| EGL_BAD_ALLOC)?,
            is_imported: false,
        })
    }

    /// A fence of the program's, which belongs to EGL from here on.
    ///
    /// # Safety
    /// The descriptor is the program's to give.
    ///
    /// # Errors
    /// `EGL_BAD_PARAMETER` if it is no descriptor of this process.
    pub unsafe fn of_program(fd: RawFd) -> CallResult<Self> {
        if fd < 0 {
            return Err(EGL_BAD_PARAMETER);
        }
        // SAFETY: used for this question alone.
        let file = unsafe { BorrowedFd::borrow_raw(fd) };
        fcntl(file, FcntlArg::F_GETFD).map_err(|_| EGL_BAD_PARAMETER)?;
        Ok(Self {
            // SAFETY: it is open, and the caller's to give.
            file: unsafe { OwnedFd::from_raw_fd(fd) },
            is_imported: true,
        })
    }

    /// When it signals, as the API names it.
    pub const fn condition(&self) -> EGLenum {
        match self.is_imported {
            true => EGL_SYNC_NATIVE_FENCE_SIGNALED_ANDROID,
            false => EGL_SYNC_PRIOR_COMMANDS_COMPLETE,
        }
    }

    /// Waits until it has signaled, or until the deadline; whether it has.
    pub fn wait(&self, deadline: Option<Instant>) -> bool {
        loop {
            let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let mut file = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            match poll(&mut file, timeout(rest)) {
                Ok(0) if rest == Some(Duration::ZERO) => return false,
                Ok(0) | Err(Errno::EINTR) => {}
                // A descriptor that is no sync file never would.
                Ok(_) | Err(_) => return true,
            }
        }
    }

    /// One more descriptor of it, for the program.
    ///
    /// # Errors
    /// `EGL_BAD_ALLOC` if there is none to be had.
    pub fn descriptor(&self) -> CallResult<RawFd> {
        let copy = self.file.try_clone().map_err(|_| EGL_BAD_ALLOC)?;
        Ok(copy.into_raw_fd())
    }
}

/// Waits for a fence that another driver or a window gave with its descriptor, which is
/// closed then; not at all for what is no descriptor.
pub fn wait_for(fd: RawFd) {
    // SAFETY: whoever gives a fence gives its descriptor away.
    if let Ok(fence) = unsafe { Native::of_program(fd) } {
        fence.wait(None);
    }
}

/// For `poll`, which counts milliseconds: the last begins anew.
fn timeout(rest: Option<Duration>) -> PollTimeout {
    let Some(rest) = rest else {
        return PollTimeout::NONE;
    };
    let milliseconds = rest.as_nanos().div_ceil(1_000_000);
    let milliseconds = i32::try_from(milliseconds).unwrap_or(i32::MAX);
    PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)
}
