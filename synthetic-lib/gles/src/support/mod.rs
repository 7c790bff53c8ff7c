//! What is written by hand.
//!
//! | module | what |
//! |---|---|
//! | here | the API as the runtime and the generated stubs ask for it |
//! | [`shadow`] | what the library knows of a context's state |
//! | [`arrays`] | draws, and vertex arrays in the program's memory |
//! | [`texts`] | `glGetString` |
//! | `manual` | the other entry points |

pub mod arrays;
mod manual;
pub mod shadow;
pub mod texts;

use crate::generated::manual::{Guest, Helpers, Kept, Local, Request};
use crate::generated::types::*;
use gil_egl::generated::manual as egl;
use gil_gles_common::values;
use gil_guest::Error;
use gil_guest::api::{self, Api, CallResult, Current, CurrentObject};
use gil_guest::registry::Registry;
use gil_wire::Op;
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use gil_wire::length::Length;

/// The current context.
pub type Context = CurrentObject<Guest>;

/// `GL_CONTEXT_LOST`.
const LOST: i32 = 0x0507;

static REGISTRY: Registry<api::Kept<Guest>> = Registry::new();

impl Api for Guest {
    type Details = ();

    const GARBLED: i32 = GL_INVALID_OPERATION as i32;

    fn registry() -> &'static Registry<api::Kept<Self>> {
        &REGISTRY
    }

    fn code(_: Op, error: &Error) -> i32 {
        match error {
            error if error.is_final() => LOST,
            Error::NotServed => GL_INVALID_OPERATION as i32,
            _ => GL_OUT_OF_MEMORY as i32,
        }
    }

    fn status(_: CallResult<()>) {}

    /// The board keeps it, in the order of its own errors.
    fn unreported(code: i32) {
        let Ok(current) = Self::current() else {
            // Calls without a context do nothing.
            return;
        };
        if code == LOST || code == Self::SILENT {
            return;
        }
        let request = Request::new(wire::GIL_ERROR, Class::Post, gil_guest::entry());
        let args = wire::GilErrorArgs {
            current: current.number(),
            code: code.unsigned_abs(),
        };
        // One that cannot be posted finds the session lost.
        let _ = request.post(&args);
    }
}

impl Current for Guest {
    type Owner = egl::Guest;

    fn current() -> CallResult<Context> {
        gil_egl::support::current::context().ok_or(GL_INVALID_OPERATION as i32)
    }
}

impl Local for Guest {}
impl Kept for Guest {}

fn size(name: u64) -> u32 {
    // Names are enums.
    u32::try_from(name).unwrap_or(0)
}

impl Helpers for Guest {
    fn state_values(_: &Context, pname: u64) -> Length {
        let name = size(pname);
        let Some(number) = values::number_of_list(name) else {
            return Length::of(values::of_state(name) as u64);
        };
        let mut values = 0;
        // SAFETY: this name has one value.
        unsafe { crate::generated::stubs::glGetIntegerv(number, &mut values) };
        Length::of(values)
    }

    fn program_values(_: &Context, pname: u64) -> Length {
        Length::of(values::of_program(size(pname)) as u64)
    }

    fn texture_values(_: &Context, pname: u64) -> Length {
        Length::of(values::of_texture(size(pname)) as u64)
    }

    fn attribute_values(_: &Context, pname: u64) -> Length {
        Length::of(values::of_attribute(size(pname)) as u64)
    }

    fn unpacked(current: &Context, width: u64, height: u64, format: u64, ty: u64) -> Length {
        picture(shadow::of(current).unpack, width, height, format, ty)
    }

    fn packed(current: &Context, width: u64, height: u64, format: u64, ty: u64) -> Length {
        picture(shadow::of(current).pack, width, height, format, ty)
    }
}

fn picture(
    store: gil_gles_common::pixels::Store,
    width: u64,
    height: u64,
    format: u64,
    ty: u64,
) -> Length {
    // They came as 32 bits, with their sign.
    let bytes = store.bytes(width as i32, height as i32, size(format), size(ty));
    bytes.map_or(Length::NONE, Length::of)
}
