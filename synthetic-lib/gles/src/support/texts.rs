//! `glGetString`: the board's texts, cut down to what this library has.

use super::{Context, shadow};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_egl::support::strings;
use gil_guest::api::{CallResult, Current, data};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use std::ffi::{CStr, c_void};

/// The extensions that work, of those that the board's context has.
const EXTENSIONS: &str = include_str!("extensions.txt");
/// The same of contexts of OpenGL ES 1.1.
const EXTENSIONS_1: &str = include_str!("extensions1.txt");
/// The version of OpenGL ES that this library has, if the board has as much.
const VERSION: &[u8] = b"3.2";
/// That version's shading language.
const LANGUAGE: &[u8] = b"3.20";
const BEFORE_VERSION: &[u8] = b"OpenGL ES ";
/// Room for a text of the board's.
const ROOM: usize = 32 << 10;

/// A text of the current context.
///
/// # Errors
/// The API's code.
pub fn get(entry: u64, current: &Context, name: u32) -> CallResult<&'static CStr> {
    if let Some(known) = shadow::of(current).texts.get(&name) {
        return Ok(known);
    }
    let text = of_the_board(entry, current, name)?;
    let is_fixed = shadow::of(current).fixed.is_some();
    let kept = strings::keep(&shown(name, &text, is_fixed));
    shadow::of(current).texts.insert(name, kept);
    Ok(kept)
}

fn of_the_board(entry: u64, current: &Context, name: u32) -> CallResult<Vec<u8>> {
    let mut text = vec![0; ROOM];
    let place: *mut c_void = text.as_mut_ptr().cast();
    let mut request = Request::new(wire::GL_GET_STRING, Class::Query, entry);
    let args = wire::GlGetStringArgs {
        current: current.number(),
        name,
        // SAFETY: there is as much space.
        text: unsafe { request.output(place, ROOM) },
    };
    request.forward(&args, |reply| {
        let reply: wire::GlGetStringReply<'_> = reply.decode()?;
        // SAFETY: the same.
        unsafe { data::write_data(&reply.text, place, ROOM) };
        Ok(())
    })?;
    // The board answers with an empty text where the driver has none.
    match text.first() {
        None | Some(0) => Err(Guest::SILENT),
        _ => Ok(text),
    }
}

impl Guest {
    /// The driver keeps the error already.
    pub const SILENT: i32 = GL_NO_ERROR as i32;
}

/// What programs see of a text, in a context of OpenGL ES 1.1 or of a later version.
fn shown(name: u32, text: &[u8], is_fixed: bool) -> Vec<u8> {
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    match name {
        GL_EXTENSIONS if is_fixed => strings::among(text, EXTENSIONS_1),
        GL_VERSION if is_fixed => with_version(b"OpenGL ES-CM ", b"1.1", text),
        GL_EXTENSIONS => strings::among(text, EXTENSIONS),
        GL_VERSION => with_version(BEFORE_VERSION, VERSION, text),
        GL_SHADING_LANGUAGE_VERSION => with_version(b"OpenGL ES GLSL ES ", LANGUAGE, text),
        _ => text.to_vec(),
    }
}

/// The version that programs see in the current context: major, minor.
///
/// # Errors
/// The API's code.
pub fn version() -> CallResult<(i32, i32)> {
    let text = get(gil_guest::entry(), &Guest::current()?, GL_VERSION)?.to_bytes();
    let digit = |at: usize| {
        let digit = text.get(BEFORE_VERSION.len() + at);
        digit.map_or(0, |digit| i32::from(digit.wrapping_sub(b'0')))
    };
    Ok((digit(0), digit(2)))
}

/// The extensions that programs see in the current context.
///
/// # Errors
/// The API's code.
pub fn extensions() -> CallResult<impl Iterator<Item = &'static [u8]>> {
    let all = get(gil_guest::entry(), &Guest::current()?, GL_EXTENSIONS)?;
    let words = all.to_bytes().split(|&byte| byte == b' ');
    Ok(words.filter(|word| !word.is_empty()))
}

/// The text with this version, or the smaller one that it has, behind its beginning. Section 20.2 of the
/// specification says how they look.
fn with_version(begin: &[u8], version: &[u8], text: &[u8]) -> Vec<u8> {
    let rest = text.strip_prefix(begin).unwrap_or_default();
    let vendor = rest.iter().position(|&byte| byte == b' ');
    let (own, vendor) = rest.split_at(vendor.unwrap_or(rest.len()));
    [begin, own.min(version), vendor].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_this_librarys() {
        let of =
            |name, text: &[u8], is_fixed| String::from_utf8(shown(name, text, is_fixed)).unwrap();
        let shown = |name, text: &[u8]| of(name, text, false);
        assert_eq!(
            of(GL_VERSION, b"OpenGL ES-CM 1.1 Mesa 22.3.6\0", true),
            "OpenGL ES-CM 1.1 Mesa 22.3.6"
        );
        assert_eq!(
            shown(GL_VERSION, b"OpenGL ES 3.2 Mesa 22.3.6\0\0"),
            "OpenGL ES 3.2 Mesa 22.3.6"
        );
        assert_eq!(
            shown(GL_VERSION, b"OpenGL ES 3.3 of later"),
            "OpenGL ES 3.2 of later"
        );
        assert_eq!(
            shown(GL_SHADING_LANGUAGE_VERSION, b"OpenGL ES GLSL ES 3.20"),
            "OpenGL ES GLSL ES 3.20"
        );
        assert_eq!(shown(GL_VERSION, b"OpenGL ES 2.0"), "OpenGL ES 2.0");
        assert_eq!(shown(GL_RENDERER, b"llvmpipe\0x"), "llvmpipe");
    }
}
