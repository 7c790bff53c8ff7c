//! Configurations are the board's, which draws windows as pbuffers. A program sees them as
//! the platform's windows have them.

use super::display;
use super::platform::Platform;
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_gbm::format::Format;
use gil_guest::api::{Api, CallResult};
use gil_wire::call::{Handle, Property};
use gil_wire::envelope::Class;
use gil_wire::generated::egl::{self as wire, Kind};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The board's configurations that are looked at. Drivers have tens.
const MOST: i32 = 1024;

/// Pairs of a list of attributes that are looked at.
const PAIRS_MAX: usize = 64;

/// `EGL_NONE`, in a type from which both of a list come.
const NONE: i16 = EGL_NONE as i16;

/// What the client APIs are, of those that a board has.
const APIS: EGLint = EGL_OPENGL_ES_BIT | EGL_OPENGL_ES2_BIT | EGL_OPENGL_ES3_BIT;

/// Attributes that were asked for: by the configuration's number and their own.
static KNOWN: Mutex<Option<HashMap<(Handle, EGLint), EGLint>>> = Mutex::new(None);

/// An attribute as the board's display has it.
fn boards(entry: u64, dpy: &Object, config: &Object, attribute: EGLint) -> CallResult<EGLint> {
    let key = (config.number(), attribute);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(value) = known().get_or_insert_default().get(&key) {
        return Ok(*value);
    }
    let request = Request::new(wire::EGL_GET_CONFIG_ATTRIB, Class::Query, entry);
    let args = wire::EglGetConfigAttribArgs {
        dpy: dpy.number(),
        config: config.number(),
        attribute,
        value: true,
    };
    let value = request.forward(&args, |reply| {
        let reply: wire::EglGetConfigAttribReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.value)
    })?;
    known().get_or_insert_default().insert(key, value);
    Ok(value)
}

/// The format of the platform's windows that a configuration draws to, if there is one.
///
/// # Errors
/// The API's code.
pub fn window_format(entry: u64, dpy: &Object, config: &Object) -> CallResult<Option<Format>> {
    let platform = display::platform(dpy);
    if !platform.has_windows() {
        return Ok(None);
    }
    let mut channels = [0; 4];
    let names = [EGL_RED_SIZE, EGL_GREEN_SIZE, EGL_BLUE_SIZE, EGL_ALPHA_SIZE];
    for (channel, name) in channels.iter_mut().zip(names) {
        *channel = boards(entry, dpy, config, name)?;
    }
    Ok(platform.format(channels))
}

/// An attribute as the program sees it.
///
/// # Errors
/// The API's code.
pub fn attribute(
    entry: u64,
    dpy: &Object,
    config: &Object,
    attribute: EGLint,
) -> CallResult<EGLint> {
    let value = boards(entry, dpy, config, attribute)?;
    match attribute {
        EGL_RENDERABLE_TYPE | EGL_CONFORMANT => Ok(value & APIS),
        EGL_SURFACE_TYPE => {
            let value = value & !(EGL_WINDOW_BIT | EGL_PIXMAP_BIT);
            let window = window_format(entry, dpy, config)?;
            let drawn = value & EGL_PBUFFER_BIT != 0 && window.is_some();
            Ok(value | if drawn { EGL_WINDOW_BIT } else { 0 })
        }
        EGL_NATIVE_VISUAL_ID => {
            let format = window_format(entry, dpy, config)?;
            Ok(format.map_or(0, |format| display::platform(dpy).visual(format)))
        }
        _ => Ok(value),
    }
}

/// Whether no configuration that a program sees has such an attribute.
fn is_never((name, value): (EGLint, EGLint)) -> bool {
    let never = match name {
        EGL_RENDERABLE_TYPE | EGL_CONFORMANT => !APIS,
        EGL_SURFACE_TYPE => EGL_PIXMAP_BIT,
        _ => 0,
    };
    value != EGL_DONT_CARE && value & never != 0
}

/// What a program asks for, as the board is asked, and whether it asks for windows.
fn asked(platform: &Platform, mut list: Vec<(EGLint, EGLint)>) -> (Vec<(EGLint, EGLint)>, bool) {
    if !platform.has_windows() {
        return (list, false);
    }
    let place = list.iter().position(|(name, _)| *name == EGL_SURFACE_TYPE);
    // EGL 1.5 specification, table 3.4: windows, if nothing is said.
    let place = place.unwrap_or_else(|| {
        list.push((EGL_SURFACE_TYPE, EGL_WINDOW_BIT));
        list.len() - 1
    });
    let kinds = &mut list[place].1;
    let wants_windows = *kinds != EGL_DONT_CARE && *kinds & EGL_WINDOW_BIT != 0;
    if wants_windows {
        *kinds = *kinds & !EGL_WINDOW_BIT | EGL_PBUFFER_BIT;
    }
    (list, wants_windows)
}

/// The configurations that fit, in EGL's order.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `list` is null or pairs that end with `EGL_NONE`.
pub unsafe fn choose(entry: u64, dpy: &Object, list: *const EGLint) -> CallResult<Vec<Handle>> {
    // SAFETY: the caller's.
    let list = unsafe { pairs(list) }?;
    let has_any = !list.iter().any(|&pair| is_never(pair));
    let (list, wants_windows) = asked(display::platform(dpy), list);
    let word = |value: EGLint| i64::from(value).cast_unsigned();
    let attributes = list
        .iter()
        .map(|&(name, value)| Property::Word(word(name), word(value)));
    let request = Request::new(wire::EGL_CHOOSE_CONFIG, Class::Query, entry);
    let args = wire::EglChooseConfigArgs {
        dpy: dpy.number(),
        attrib_list: Some(attributes.collect()),
        configs: true,
        config_size: MOST,
        num_config: true,
    };
    let mut found = request.forward(&args, |reply| {
        let reply: wire::EglChooseConfigReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.configs)
    })?;
    // The board may have what no program is offered, desktop OpenGL: but what is wrong
    // with the list it has found.
    found.retain(|_| has_any);
    if wants_windows {
        let is_drawn = |config: &Handle| {
            let address: EGLConfig = Object::found(Kind::Config, *config);
            let config = Object::find(Kind::Config, address)?;
            Ok(window_format(entry, dpy, &config)?.is_some())
        };
        let drawn: CallResult<Vec<bool>> = found.iter().map(is_drawn).collect();
        let mut drawn = drawn?.into_iter();
        found.retain(|_| drawn.next().unwrap_or(false));
    }
    Ok(found)
}

/// All configurations, in EGL's order.
///
/// # Errors
/// The API's code.
pub fn all(entry: u64, dpy: &Object) -> CallResult<Vec<Handle>> {
    let request = Request::new(wire::EGL_GET_CONFIGS, Class::Query, entry);
    let args = wire::EglGetConfigsArgs {
        dpy: dpy.number(),
        configs: true,
        config_size: MOST,
        num_config: true,
    };
    request.forward(&args, |reply| {
        let reply: wire::EglGetConfigsReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok(reply.configs)
    })
}

/// Hands configurations to a program, as many as it has room for; without a place for
/// them, their number alone. Room for less than none is none.
///
/// # Safety
/// `configs` is null or has the room, and `number` takes a number.
pub unsafe fn hand_over(
    found: &[Handle],
    configs: *mut EGLConfig,
    room: EGLint,
    number: *mut EGLint,
) {
    let room = usize::try_from(room).unwrap_or(0);
    let count = match configs.is_null() {
        true => found.len(),
        false => found.len().min(room),
    };
    // SAFETY: the caller's.
    unsafe {
        Object::write_all(Kind::Config, configs, room, found, None);
        number.write(EGLint::try_from(count).unwrap_or(EGLint::MAX));
    }
}

/// A list's pairs.
///
/// # Errors
/// `EGL_BAD_ATTRIBUTE` for a list that does not end.
///
/// # Safety
/// `list` is null or pairs that end with `EGL_NONE`.
pub unsafe fn pairs<T: Copy + PartialEq + From<i16>>(
    mut list: *const T,
) -> CallResult<Vec<(T, T)>> {
    let mut pairs = Vec::new();
    // SAFETY: the caller's: a name that is not the end has a value.
    unsafe {
        while !list.is_null() && *list != T::from(NONE) {
            if pairs.len() == PAIRS_MAX {
                return Err(EGL_BAD_ATTRIBUTE);
            }
            pairs.push((*list, *list.add(1)));
            list = list.add(2);
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn desktop_opengl_is_never_offered() {
        const EGL_OPENGL_BIT: EGLint = 8;
        let wanted = [EGL_OPENGL_BIT, EGL_OPENGL_BIT | EGL_OPENGL_ES2_BIT];
        for name in [EGL_RENDERABLE_TYPE, EGL_CONFORMANT] {
            assert!(wanted.iter().all(|&value| is_never((name, value))));
            assert!(!is_never((name, APIS)) && !is_never((name, EGL_DONT_CARE)));
        }
        assert!(is_never((
            EGL_SURFACE_TYPE,
            EGL_PBUFFER_BIT | EGL_PIXMAP_BIT
        )));
        assert!(!is_never((EGL_RED_SIZE, EGL_OPENGL_BIT)));
    }

    #[test]
    fn windows_are_asked_for_as_pbuffers() {
        let red = (EGL_RED_SIZE, 8);
        for (list, expected) in [
            (vec![red], vec![red, (EGL_SURFACE_TYPE, EGL_PBUFFER_BIT)]),
            (
                vec![(EGL_SURFACE_TYPE, EGL_WINDOW_BIT), red],
                vec![(EGL_SURFACE_TYPE, EGL_PBUFFER_BIT), red],
            ),
        ] {
            assert_eq!(asked(&Platform::Gbm, list), (expected, true));
        }
        let any = vec![(EGL_SURFACE_TYPE, EGL_DONT_CARE)];
        assert_eq!(asked(&Platform::Gbm, any.clone()), (any, false));
        assert_eq!(asked(&Platform::None, vec![red]), (vec![red], false));
    }
}
