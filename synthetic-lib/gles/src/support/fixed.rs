//! OpenGL ES 1.1: arrays that are not vertex attributes. Those of texture coordinates
//! belong to texture units, of which the client has one active.

use super::shadow::{self, Array as Described};
use super::{Context, arrays};
use crate::generated::stubs;
use crate::generated::types::*;
use gil_gles_common::fixed::Array;
use gil_guest::api::CallResult;
use std::ffi::c_void;

/// Texture units that every board has.
const UNITS_MIN: u32 = 2;

/// What the library knows of the state that only OpenGL ES 1.1 has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed {
    /// The client's active texture unit.
    unit: u32,
    /// How many units the board has, once that was asked.
    units: Option<u32>,
}

/// `glClientActiveTexture`; the board refuses units that it lacks.
pub fn activate(current: &Context, texture: GLenum) {
    let unit = texture.wrapping_sub(GL_TEXTURE0);
    let mut shadow = shadow::of(current);
    let Some(fixed) = shadow.fixed else {
        return;
    };
    let units = match fixed.units {
        Some(units) => units,
        None if unit < UNITS_MIN => UNITS_MIN,
        None => {
            drop(shadow);
            let units = units();
            shadow = shadow::of(current);
            units
        }
    };
    if let Some(fixed) = &mut shadow.fixed
        && unit < units
    {
        fixed.unit = unit;
        fixed.units = (units > UNITS_MIN).then_some(units);
    }
}

/// How many texture units the board has.
fn units() -> u32 {
    let mut units = 0;
    // SAFETY: this name has one value.
    unsafe { stubs::glGetIntegerv(GL_MAX_TEXTURE_UNITS, &mut units) };
    u32::try_from(units).unwrap_or(0)
}

/// `glEnableClientState`, `glDisableClientState`.
pub fn enable(current: &Context, name: GLenum, is_enabled: bool) {
    let mut shadow = shadow::of(current);
    let array = shadow
        .fixed
        .and_then(|fixed| Array::of_name(name, fixed.unit));
    if let Some(kept) = array.and_then(|array| shadow.fixed_array(array)) {
        kept.is_enabled = is_enabled;
    }
}

/// The array of the client's active texture unit.
pub fn active(current: &Context) -> Array {
    let fixed = shadow::of(current).fixed.unwrap_or_default();
    Array::TexCoord(fixed.unit)
}

/// Notes an array: components, their type, and bytes from one element to the next; the
/// offset into the buffer that has it.
///
/// # Errors
/// The API's code.
pub fn describe(
    current: &Context,
    array: Array,
    (size, ty, stride): (GLint, GLenum, GLsizei),
    pointer: *const c_void,
) -> CallResult<u64> {
    let described = array.layout(size, ty, stride).map(|layout| Described {
        layout,
        size,
        ty,
        normalized: 0,
        is_integer: false,
        stride,
    });
    arrays::describe(&mut shadow::of(current), described, pointer, |shadow| {
        shadow.fixed_array(array)
    })
}

/// What `glGetPointerv` says; none for another name.
pub fn pointer(current: &Context, name: GLenum) -> Option<*mut c_void> {
    let mut shadow = shadow::of(current);
    let array = Array::of_pointer(name, shadow.fixed?.unit)?;
    let kept = shadow.fixed_array(array)?;
    Some(kept.pointer as *mut c_void)
}
