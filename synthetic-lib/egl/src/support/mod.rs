//! What is written by hand.
//!
//! | module | what |
//! |---|---|
//! | here | the API as the runtime asks for it |
//! | [`android`] | what Android hands to a driver |
//! | [`details`] | what the library keeps of objects |
//! | [`error`] | the error of a thread's last call |
//! | [`display`] | displays, and what is on them |
//! | [`platform`] | what has windows |
//! | [`configs`] | configurations: the board's, as the platform's windows have them |
//! | [`image`] | images of buffers and of objects |
//! | [`dma_buf`] | how programs describe buffers, and in which formats |
//! | [`native`] | the windows of each platform |
//! | [`window`] | surfaces, and windows among them |
//! | [`present`] | a window's pictures |
//! | [`current`] | what is current in a thread |
//! | [`work`] | what a context has the board's device do |
//! | [`syncs`] | sync objects |
//! | [`native_fences`] | those of the guest's kernel among them |
//! | [`strings`] | texts that a program gets and keeps |
//! | [`glvnd`] | this library as a vendor's for libglvnd |
//! | [`procedures`] | functions by name |
//! | `manual` | the entry points |

pub mod android;
pub mod configs;
pub mod current;
pub mod details;
pub mod display;
pub mod dma_buf;
pub mod error;
pub mod glvnd;
pub mod image;
mod manual;
pub mod native;
pub mod native_fences;
pub mod platform;
pub mod present;
pub mod procedures;
pub mod strings;
pub mod syncs;
pub mod window;
pub mod work;

use crate::generated::manual::{self as generated, Guest, Helpers, Local, Object};
use crate::generated::types::*;
use details::{Context, Details};
use gil_guest::Error;
use gil_guest::api::{Api, CallResult, Kept, Noted};
use gil_guest::registry::Registry;
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::generated::egl::Kind;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use window::Surface;

static REGISTRY: Registry<Kept<Guest>> = Registry::new();

impl Api for Guest {
    type Details = Details;

    const GARBLED: i32 = EGL_BAD_ALLOC;

    fn registry() -> &'static Registry<Kept<Self>> {
        &REGISTRY
    }

    fn code(_: Op, error: &Error) -> i32 {
        match error {
            // There is no display, as without a driver.
            Error::NotServed => EGL_NOT_INITIALIZED,
            error if error.is_final() => EGL_CONTEXT_LOST,
            Error::Fault => EGL_BAD_PARAMETER,
            _ => EGL_BAD_ALLOC,
        }
    }

    fn status(ended: CallResult<()>) -> EGLBoolean {
        Self::note(ended);
        match ended {
            Ok(()) => EGL_TRUE,
            Err(_) => EGL_FALSE,
        }
    }

    fn is_key(key: u64) -> bool {
        NAMES.contains(&key)
    }

    fn mirror(details: &Details) -> Option<Handle> {
        match details {
            Details::Image(image) => Some(image.mirror()),
            _ => None,
        }
    }

    /// Configurations are the board's.
    fn is_found(kind: Kind) -> bool {
        kind == Kind::Config
    }
}

impl Noted for Guest {
    fn note(ended: CallResult<()>) {
        error::set(ended.err().unwrap_or(EGL_SUCCESS));
        glvnd::called();
    }
}

impl Local for Guest {}

impl Helpers for Guest {
    unsafe fn can_create(dpy: &Object, attrib_list: *const EGLint) -> CallResult<()> {
        Self::initialized(dpy)?;
        // SAFETY: a list of the caller's.
        let version = unsafe { context_version(attrib_list) };
        match VERSIONS.contains(&version) {
            true => Ok(()),
            false => Err(EGL_BAD_MATCH),
        }
    }

    fn initialized(dpy: &Object) -> CallResult<()> {
        display::initialized(dpy)
    }
}

/// The numbers of attributes, and of everything else that EGL and its extensions name.
const NAMES: RangeInclusive<u64> = 0x3000..=0x3FFF;

/// The versions of OpenGL ES that the guest's library has.
const VERSIONS: [(EGLint, EGLint); 6] = [(1, 0), (1, 1), (2, 0), (3, 0), (3, 1), (3, 2)];

fn key(name: EGLint) -> u64 {
    i64::from(name).cast_unsigned()
}

/// The version that a context is asked for.
///
/// # Safety
/// `list` is null or pairs that end with `EGL_NONE`.
unsafe fn context_version(mut list: *const EGLint) -> (EGLint, EGLint) {
    let mut version = (1, 0);
    // SAFETY: the caller's.
    unsafe {
        while !list.is_null() && *list != EGL_NONE && Guest::is_key(key(*list)) {
            let value = *list.add(1);
            match *list {
                EGL_CONTEXT_CLIENT_VERSION => version.0 = value,
                EGL_CONTEXT_MINOR_VERSION => version.1 = value,
                _ => {}
            }
            list = list.add(2);
        }
    }
    version
}

impl generated::Kept for Guest {
    unsafe fn context(
        _: &Object,
        share_context: &Option<Object>,
        attrib_list: *const EGLint,
    ) -> Details {
        let shared = share_context.as_ref().map(Object::details);
        let group = match shared {
            Some(Details::Context(shared)) => shared.group.clone(),
            _ => Arc::default(),
        };
        Details::Context(Context {
            group,
            // SAFETY: a list of the caller's.
            version: unsafe { context_version(attrib_list) },
            client: OnceLock::new(),
        })
    }

    fn surface(_: &Object) -> Details {
        Details::Surface(Surface::default())
    }
}
