//! Fences.

use super::generated::types::*;
use crate::back_end::{Call, Objects, Pointer, Refusal};
use crate::graphics::gles::Gles;
use crate::graphics::session::Session;
use gil_wire::generated::egl::{self as wire, Kind};
use std::ptr::null;

/// How long one call waits at most, in nanoseconds: the guest asks again.
const LONGEST_WAIT_NS: EGLTime = 1_000_000_000;

impl Session {
    /// A fence behind the context's commands, with which the driver begins at once: so no
    /// wait is for a flush by another thread of the guest. How it ended.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn create_fence(
        &mut self,
        call: &mut Call,
        args: &wire::EglCreateSyncArgs,
    ) -> Result<EGLint, Refusal> {
        self.resume(args.current)?;
        self.can_bind(args.new)?;
        let Some(function) = self.functions().eglCreateSync else {
            return Ok(EGL_BAD_MATCH);
        };
        let display = self.driver.display();
        // SAFETY: the display is EGL's; there are no attributes.
        let made = call.timed(|| unsafe { function(display, EGL_SYNC_FENCE, null()) });
        let Some(object) = Pointer::new(made.cast()) else {
            return Ok(self.driver.error());
        };
        self.table_mut()
            .insert(args.new, Kind::Sync, object, Kind::Sync.into())?;
        if let Some(flush) = Gles::of(self).functions().glFlush {
            // SAFETY: it has no conditions.
            call.timed(|| unsafe { flush() });
        }
        Ok(EGL_SUCCESS)
    }

    /// Waits for a fence, but not for long.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn wait_for_fence(
        &mut self,
        call: &mut Call,
        args: &wire::EglClientWaitSyncArgs,
    ) -> Result<wire::EglClientWaitSyncReply, Refusal> {
        let sync: EGLSync = self.get(Kind::Sync, args.sync)?;
        let (display, timeout) = (self.driver.display(), args.timeout.min(LONGEST_WAIT_NS));
        let ended = self.functions().eglClientWaitSync.map(|function| {
            // SAFETY: the object is alive.
            call.timed(|| unsafe { function(display, sync, args.flags, timeout) })
        });
        let result = match ended {
            Some(EGL_CONDITION_SATISFIED | EGL_TIMEOUT_EXPIRED) => EGL_SUCCESS,
            Some(_) => self.driver.error(),
            None => EGL_BAD_MATCH,
        };
        Ok(wire::EglClientWaitSyncReply {
            result,
            is_signaled: ended == Some(EGL_CONDITION_SATISFIED),
        })
    }

    /// Has the context's next commands wait for a fence.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn wait_in_driver(
        &mut self,
        call: &mut Call,
        args: &wire::EglWaitSyncArgs,
    ) -> Result<(), Refusal> {
        self.resume(args.current)?;
        let sync: EGLSync = self.get(Kind::Sync, args.sync)?;
        let display = self.driver.display();
        if let Some(function) = self.functions().eglWaitSync {
            // SAFETY: the object is alive.
            call.timed(|| unsafe { function(display, sync, 0) });
        }
        Ok(())
    }
}
