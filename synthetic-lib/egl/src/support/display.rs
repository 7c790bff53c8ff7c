//! Displays. A program may have several, of any platform; the board draws on its own,
//! the same for all, so that ending one display ends only what was made on it.

use super::details::{Details, Display};
use super::platform::Platform;
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult};
use gil_wire::envelope::Class;
use gil_wire::generated::egl::{self as wire, Kind};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// The displays by what the program asked for: platform and native display, and the
/// handle's address. They are never removed, as EGL has it.
static DISPLAYS: Mutex<Vec<((EGLenum, usize), usize)>> = Mutex::new(Vec::new());

/// The display of a native one; `windows` says whose windows it has.
pub fn get(platform: EGLenum, native: usize, windows: impl FnOnce() -> Platform) -> EGLDisplay {
    let mut displays = DISPLAYS.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = (platform, native);
    if let Some((_, known)) = displays.iter().find(|(key, _)| *key == asked) {
        return *known as EGLDisplay;
    }
    let details = Details::Display(Display {
        platform: windows(),
        ..Display::default()
    });
    let made: EGLDisplay = Object::create(Kind::Display, gil_guest::new_number(), &[], details);
    displays.push((asked, made as usize));
    made
}

/// Whose windows it has.
pub fn platform(dpy: &Object) -> &Platform {
    state(dpy).map_or(&Platform::None, |display| &display.platform)
}

fn state(dpy: &Object) -> CallResult<&Display> {
    match dpy.details() {
        Details::Display(state) => Ok(state),
        _ => Err(EGL_BAD_DISPLAY),
    }
}

/// Whether calls may use it.
///
/// # Errors
/// `EGL_NOT_INITIALIZED` if not.
pub fn initialized(dpy: &Object) -> CallResult<()> {
    match state(dpy)?.is_initialized.load(Ordering::Acquire) {
        true => Ok(()),
        false => Err(EGL_NOT_INITIALIZED),
    }
}

/// Initializes it; its version.
///
/// # Errors
/// The API's code.
pub fn initialize(entry: u64, dpy: &Object) -> CallResult<(EGLint, EGLint)> {
    let state = state(dpy)?;
    state.platform.connect()?;
    let request = Request::new(wire::EGL_INITIALIZE, Class::Sync, entry);
    let args = wire::EglInitializeArgs { dpy: dpy.number() };
    let version = request.forward(&args, |reply| {
        let reply: wire::EglInitializeReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok((reply.major, reply.minor))
    })?;
    state.is_initialized.store(true, Ordering::Release);
    // What this library has.
    Ok(version.min((1, 5)))
}

/// Ends it: the program's contexts, surfaces and sync objects on it are destroyed, those that are
/// current once they no longer are.
///
/// # Errors
/// The API's code.
pub fn terminate(entry: u64, dpy: &Object) -> CallResult<()> {
    state(dpy)?.is_initialized.store(false, Ordering::Release);
    let number = Some(dpy.number());
    let kinds = [
        Kind::Context,
        Kind::Surface,
        Kind::Image,
        Kind::Sync,
        Kind::ReusableSync,
    ];
    for kind in kinds {
        for object in Object::all(kind) {
            if object.ancestor(Kind::Display) == number && object.references() > 0 {
                // Another thread may have been faster.
                let _ = Object::release(kind, object.address(), entry);
            }
        }
    }
    Ok(())
}
