//! Files that programs' texts name by absolute paths. In the text that the driver
//! gets, these paths are relative to a folder in the folders with the guest's files,
//! which exists nowhere else. The guest sees its own text.
//!
//! Each name that begins with `/` gets [`FOLDER`] as a prefix, and so does a name that
//! begins with [`FOLDER`] already, so that removing one prefix always gives the guest's
//! own text.

use super::driver::fetch;
use super::generated::types::*;
use super::session::Session;
use crate::back_end::info::info_shown;
use crate::back_end::{Call, InfoReply, Objects, Refusal, info};
use gil_opencl_common::include_lines::names;
use gil_wire::call::{InfoType, pack, unpack};
use gil_wire::generated::opencl::{self as wire, Kind};
use gil_wire::length::Length;
use gil_wire::pieces::Pieces;
use std::borrow::Cow;
use std::ffi::c_void;

/// The folder of the guest's files.
pub const FOLDER: &str = "gil-guest-files";

/// The driver's text for a guest's; `None` if it is the same.
pub fn led(text: &[u8]) -> Option<Vec<u8>> {
    let is_led = |rest: &[u8]| rest.starts_with(b"/") || rest.starts_with(FOLDER.as_bytes());
    let mut places = names(text).filter(|at| is_led(&text[*at..])).peekable();
    places.peek()?;
    let mut out = Vec::with_capacity(text.len() + 2 * FOLDER.len());
    let mut from = 0;
    for at in places {
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(FOLDER.as_bytes());
        from = at;
    }
    out.extend_from_slice(&text[from..]);
    Some(out)
}

/// The guest's text for a driver's; `None` if it is the same.
pub fn original(text: &[u8]) -> Option<Vec<u8>> {
    let is_led = |at: &usize| text[*at..].starts_with(FOLDER.as_bytes());
    let mut places = names(text).filter(is_led).peekable();
    places.peek()?;
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in places {
        out.extend_from_slice(&text[from..at]);
        from = at + FOLDER.len();
    }
    out.extend_from_slice(&text[from..]);
    Some(out)
}

/// What a compiler says of a driver's text, with the guest's paths.
pub fn shown(text: &[u8]) -> Vec<u8> {
    without(text, FOLDER.as_bytes(), |rest| rest.starts_with(b"/"))
}

/// A text without a piece, wherever what follows is so.
pub fn without(text: &[u8], piece: &[u8], follows: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.first() {
        match rest.strip_prefix(piece).filter(|rest| follows(rest)) {
            Some(behind) => rest = behind,
            None => {
                out.push(*first);
                rest = &rest[1..];
            }
        }
    }
    out
}

/// The strings of a program, led, as one; `None` if they stay as they are.
fn led_strings(count: u32, packed: Option<&[u8]>) -> Result<Option<Vec<u8>>, Refusal> {
    let Some(packed) = packed else {
        return Ok(None);
    };
    let strings: Option<Vec<&[u8]>> = unpack(count, packed)?.into_iter().collect();
    let text = strings.map(|strings| match strings[..] {
        [one] => Cow::Borrowed(one),
        _ => Cow::Owned(strings.concat()),
    });
    let led = text.and_then(|text| led(&text));
    Ok(led.map(|text| pack([Some(text.as_slice())])))
}

/// `clCreateProgramWithSource`.
///
/// # Errors
/// [`Refusal`].
pub fn create_program(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClCreateProgramWithSourceArgs<'_>,
) -> Result<cl_int, Refusal> {
    let Some(function) = session.functions().clCreateProgramWithSource else {
        return Ok(CL_INVALID_OPERATION);
    };
    let context: cl_context = session.get(Kind::Context, args.context)?;
    let packed = call.bytes(&args.strings.data)?;
    let strings = Pieces::new(args.strings.count, packed)?;
    if !strings.covers(Length::of(args.count)) {
        return Err(Refusal::missing_size("strings"));
    }
    let (count, strings) = match led_strings(args.strings.count, packed)? {
        Some(packed) => (1, Pieces::new(1, Some(&packed))?),
        None => (args.count, strings),
    };
    session.can_bind(args.new)?;
    let mut result = CL_SUCCESS;
    // SAFETY: the context is alive; there are as many strings, each as long.
    let program = call.timed(|| unsafe {
        function(
            context,
            count,
            strings.pointers().cast_mut().cast(),
            strings.lengths().cast(),
            &mut result,
        )
    });
    if result == CL_SUCCESS {
        session.bind(Kind::Program, args.new, program, args.context)?;
    }
    Ok(result)
}

/// `clGetProgramInfo`; the text is the guest's own.
///
/// # Errors
/// [`Refusal`].
pub fn get_info(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClGetProgramInfoArgs,
) -> Result<InfoReply, Refusal> {
    let Some(function) = session.functions().clGetProgramInfo else {
        return Ok(InfoReply::failed(CL_INVALID_OPERATION));
    };
    let program: cl_program = session.get(Kind::Program, args.program)?;
    let name = args.param_name;
    let kind = wire::cl_get_program_info(name).filter(|kind| *kind != InfoType::Local);
    let kind = kind.ok_or(Refusal::parameter("param_name", name.into()))?;
    let ask = |size: usize, value: *mut c_void, size_ret: *mut usize| {
        // SAFETY: the program is alive, and `info` provides a buffer of the size it states.
        unsafe { function(program, name, size, value, size_ret) }
    };
    let text = (name == CL_PROGRAM_SOURCE).then(|| fetch(ask)).flatten();
    match text.and_then(|text| original(&text)) {
        Some(text) => info_shown(session, call, &text, args.param_value, ask),
        None => info(session, call, kind, args.param_value, ask),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn absolute_names_are_led_and_others_stay() {
        let text = b"#include \"/a/b.h\"\n # include </c.h> // /d\n#include \"e.h\"\n";
        let driver = "#include \"gil-guest-files/a/b.h\"\n # include <gil-guest-files/c.h> // /d\n#include \"e.h\"\n";
        assert_eq!(led(text).as_deref(), Some(driver.as_bytes()));
        assert_eq!(original(driver.as_bytes()).as_deref(), Some(&text[..]));
        for same in ["", "#include \"e.h\"\n", "kernel void k() {} // \"/a\""] {
            assert_eq!(led(same.as_bytes()), None);
            assert_eq!(original(same.as_bytes()), None);
        }
    }

    #[test]
    fn what_compilers_say_has_the_guests_paths() {
        let said = b"a:1:10: 'gil-guest-files/b.h' file not found, gil-guest-files";
        let own = b"a:1:10: '/b.h' file not found, gil-guest-files";
        assert_eq!(shown(said), own);
    }

    #[test]
    fn a_name_over_two_strings_is_seen() {
        let packed = pack([Some(&b"#include \""[..]), Some(&b"/a.h\"\n"[..])]);
        let led = led_strings(2, Some(&packed)).unwrap().unwrap();
        let whole = unpack(1, &led).unwrap()[0].unwrap();
        assert_eq!(whole, b"#include \"gil-guest-files/a.h\"\n");
        let null = pack([Some(&b"#include \"/a.h\""[..]), None]);
        assert!(led_strings(2, Some(&null)).unwrap().is_none());
        assert!(led_strings(2, Some(&packed[1..])).is_err());
    }

    proptest! {
        #[test]
        fn the_guests_text_comes_back(
            text in "(#|include| |\"|<|/|\\*|\n|gil-guest-files|a){0,60}"
        ) {
            let driver = led(text.as_bytes());
            let driver = driver.as_deref().unwrap_or(text.as_bytes());
            let own = original(driver);
            prop_assert_eq!(own.as_deref().unwrap_or(driver), text.as_bytes());
            let is_absolute = names(driver).any(|at| driver[at..].starts_with(b"/"));
            prop_assert!(!is_absolute);
        }
    }
}
