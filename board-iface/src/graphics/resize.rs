//! Surfaces of windows that change their size: another pbuffer in the place of the first.

use super::driver::Driver;
use super::egl::generated::types::*;
use super::session::Session;
use crate::back_end::{Call, Objects, Pointer, References, Refusal};
use gil_wire::generated::egl::{self as wire, Kind};
use std::ptr::null_mut;

/// Gives a surface another size; its picture is undefined then.
///
/// # Errors
/// [`Refusal`].
pub fn resize(
    session: &mut Session,
    call: &mut Call,
    args: &wire::GilResizeArgs,
) -> Result<EGLint, Refusal> {
    let driver = session.driver();
    let old: EGLSurface = session.get(Kind::Surface, args.surface)?;
    let side = |side| i32::try_from(side).map_err(|_| Refusal::wide("width"));
    let size = (side(args.width)?, side(args.height)?);
    let Some(made) = call.timed(|| driver.surface_like(old, size)) else {
        return Ok(driver.error());
    };
    let (old, data) = session.table_mut().remove(args.surface, Kind::Surface)?;
    let table = session.table_mut();
    table.insert(args.surface, Kind::Surface, made, data)?;
    let result = session.enter_again()?;
    driver.release(Kind::Surface, old);
    Ok(result)
}

impl Driver {
    /// Whether a surface, which is alive, has a picture of this size.
    pub(super) fn covers(&self, surface: EGLSurface, (width, height): (i32, i32)) -> bool {
        let has = |name, least| {
            let mut side = 0;
            let is_known = self.egl.eglQuerySurface.is_some_and(|query| {
                // SAFETY: the surface is alive, and there is space for a number.
                unsafe { query(self.display(), surface, name, &mut side) == EGL_TRUE }
            });
            is_known && side >= least
        };
        has(EGL_WIDTH, width) && has(EGL_HEIGHT, height)
    }

    /// A pbuffer with another's configuration.
    fn surface_like(&self, other: EGLSurface, (width, height): (i32, i32)) -> Option<Pointer> {
        let egl = &self.egl;
        let (query, choose) = (egl.eglQuerySurface?, egl.eglChooseConfig?);
        let create = egl.eglCreatePbufferSurface?;
        let (mut id, mut config, mut count) = (0, null_mut(), 0);
        // SAFETY: the surface is alive, the lists end with EGL_NONE, and there is space for
        // two numbers and one configuration.
        unsafe {
            if query(self.display(), other, EGL_CONFIG_ID, &mut id) != EGL_TRUE {
                return None;
            }
            let list = [EGL_CONFIG_ID, id, EGL_NONE];
            let found = choose(self.display(), list.as_ptr(), &mut config, 1, &mut count);
            if found != EGL_TRUE || count < 1 {
                return None;
            }
            let list = [EGL_WIDTH, width, EGL_HEIGHT, height, EGL_NONE];
            Pointer::new(create(self.display(), config, list.as_ptr()).cast())
        }
    }
}
