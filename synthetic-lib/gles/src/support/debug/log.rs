//! The log of messages: the driver's, and in front of it what a program had not asked for
//! when it gave its function for messages. From there on, the driver's log is how messages
//! come to the function.

use super::MOST;
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use crate::support::{Context, shadow};
use gil_guest::api::{CallResult, Described, data};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;
use gil_wire::length::Length;
use std::ptr::null_mut;

/// Bytes of the longest message that is fetched.
const LONGEST: usize = 4096;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Source, type, number and severity.
    pub about: (GLenum, GLenum, GLuint, GLenum),
    /// With the 0 at its end.
    pub text: Vec<u8>,
}

/// Where a program wants messages: null, or arrays of as many.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Most messages.
    pub count: GLuint,
    /// Bytes of all texts.
    pub size: GLsizei,
    /// Who says so.
    pub sources: *mut GLenum,
    /// Of which kind.
    pub types: *mut GLenum,
    /// Their numbers.
    pub ids: *mut GLuint,
    /// How bad it is.
    pub severities: *mut GLenum,
    /// Bytes of each text.
    pub lengths: *mut GLsizei,
    /// The texts, one behind the other.
    pub texts: *mut GLchar,
}

/// `glGetDebugMessageLog`: how many messages there were.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// Each place is null or as large as `places` says.
pub unsafe fn get(entry: u64, current: &Context, places: Places) -> CallResult<GLuint> {
    let is_bad = places.size < 0 && !places.texts.is_null();
    if is_bad || !is_kept(current) {
        // SAFETY: the caller's.
        return unsafe { boards(entry, current, places) };
    }
    gather_without_function(current)?;
    let log = &mut shadow::of(current).debug_log;
    let count = fitting(log.iter(), &places);
    let mut at = 0;
    for (n, message) in log.drain(..count).enumerate() {
        // SAFETY: the caller's: there are no more than it has places for.
        unsafe { put(&message, n, at, &places) };
        at += message.text.len();
    }
    Ok(GLuint::try_from(count).unwrap_or(GLuint::MAX))
}

/// What the log says of itself; none for another name, or if the driver's is all there is.
pub fn about(current: &Context, name: GLenum) -> Option<CallResult<GLint>> {
    if !matches!(
        name,
        GL_DEBUG_LOGGED_MESSAGES | GL_DEBUG_NEXT_LOGGED_MESSAGE_LENGTH
    ) || !is_kept(current)
    {
        return None;
    }
    let number = |number: usize| GLint::try_from(number).unwrap_or(GLint::MAX);
    Some(gather_without_function(current).map(|()| {
        let log = &shadow::of(current).debug_log;
        match name {
            GL_DEBUG_LOGGED_MESSAGES => number(log.len()),
            _ => number(log.front().map_or(0, |message| message.text.len())),
        }
    }))
}

/// Whether the driver's log alone is not the program's.
fn is_kept(current: &Context) -> bool {
    let shadow = shadow::of(current);
    !shadow.debug.is_none() || !shadow.debug_log.is_empty()
}

/// Takes what is in the driver's log, unless it is for a function.
fn gather_without_function(current: &Context) -> CallResult<()> {
    let is_for_function = !shadow::of(current).debug.is_none();
    match is_for_function {
        true => Ok(()),
        false => gather(current),
    }
}

/// Takes what is in the driver's log behind what was taken before.
///
/// # Errors
/// The API's code.
pub fn gather(current: &Context) -> CallResult<()> {
    while shadow::of(current).debug_log.len() < MOST {
        let Some(message) = next(current)? else {
            break;
        };
        shadow::of(current).debug_log.push_back(message);
    }
    Ok(())
}

/// How many of the messages there is space for.
fn fitting<'a>(messages: impl Iterator<Item = &'a Message>, places: &Places) -> usize {
    let mut left = match places.texts.is_null() {
        true => usize::MAX,
        false => usize::try_from(places.size).unwrap_or(0),
    };
    let fits = |message: &&Message| {
        let rest = left.checked_sub(message.text.len());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    messages
        .take(places.count as usize)
        .take_while(fits)
        .count()
}

/// Writes the message `n`, whose text is behind `at` bytes of others.
///
/// # Safety
/// The places that are not null have space for it.
unsafe fn put(message: &Message, n: usize, at: usize, places: &Places) {
    let (source, ty, id, severity) = message.about;
    let length = GLsizei::try_from(message.text.len()).unwrap_or(GLsizei::MAX);
    // SAFETY: the caller's; `wrapping_add` makes no use of a null.
    unsafe {
        for (place, value) in [
            (places.sources, source),
            (places.types, ty),
            (places.ids, id),
            (places.severities, severity),
        ] {
            if !place.is_null() {
                place.add(n).write(value);
            }
        }
        if !places.lengths.is_null() {
            places.lengths.add(n).write(length);
        }
        if !places.texts.is_null() {
            let to = places.texts.add(at);
            std::ptr::copy_nonoverlapping(message.text.as_ptr(), to, message.text.len());
        }
    }
}

/// The driver's next message.
///
/// # Errors
/// The API's code.
pub(super) fn next(current: &Context) -> CallResult<Option<Message>> {
    let mut text = vec![0; LONGEST];
    let (mut source, mut ty, mut id, mut severity, mut length) = (0, 0, 0, 0, 0);
    let places = Places {
        count: 1,
        size: LONGEST as GLsizei,
        sources: &raw mut source,
        types: &raw mut ty,
        ids: &raw mut id,
        severities: &raw mut severity,
        lengths: &raw mut length,
        texts: text.as_mut_ptr(),
    };
    // SAFETY: there is space for one message.
    let count = unsafe { boards(gil_guest::entry(), current, places) }?;
    text.truncate(usize::try_from(length).unwrap_or(0).clamp(1, LONGEST));
    let about = (source, ty, id, severity);
    Ok((count > 0).then_some(Message { about, text }))
}

/// Most bytes of texts that are fetched at once: more than logs have.
const TEXTS_MAX: usize = 1 << 18;

/// What the driver's log has.
///
/// # Safety
/// As of [`get`].
unsafe fn boards(entry: u64, current: &Context, places: Places) -> CallResult<GLuint> {
    let room = Length::of(places.size).get().ok_or(Guest::BOUNDS)?;
    // The driver writes less than there is room for.
    let mut texts = match places.texts.is_null() {
        true => Vec::new(),
        false => vec![0; room.min(TEXTS_MAX)],
    };
    let start = match places.texts.is_null() {
        true => null_mut(),
        false => texts.as_mut_ptr(),
    };
    let mut request = Request::new(wire::GL_GET_DEBUG_MESSAGE_LOG, Class::Sync, entry);
    let args = wire::GlGetDebugMessageLogArgs {
        current: current.number(),
        count: places.count,
        bufSize: GLsizei::try_from(texts.len()).unwrap_or(GLsizei::MAX),
        sources: !places.sources.is_null(),
        types: !places.types.is_null(),
        ids: !places.ids.is_null(),
        severities: !places.severities.is_null(),
        lengths: true,
        // SAFETY: the bytes are this call's.
        messageLog: unsafe { request.output(start.cast(), texts.len()) },
    };
    let (count, written) = request.forward(&args, |reply| {
        let reply: wire::GlGetDebugMessageLogReply<'_> = reply.decode()?;
        let count = reply.value.min(places.count);
        let lengths = reply.lengths.iter().take(count as usize);
        let written: usize = lengths.map(|len| usize::try_from(*len).unwrap_or(0)).sum();
        // SAFETY: the caller's.
        unsafe {
            fill(places.sources, &reply.sources, count);
            fill(places.types, &reply.types, count);
            fill(places.ids, &reply.ids, count);
            fill(places.severities, &reply.severities, count);
            fill(places.lengths, &reply.lengths, count);
            data::write_data(&reply.messageLog, start.cast(), texts.len());
        }
        Ok((count, written))
    })?;
    let written = &texts[..written.min(texts.len())];
    // SAFETY: the caller's: no more than it has space for.
    unsafe { fill(places.texts, written, GLuint::MAX) };
    Ok(count)
}

/// Writes values, no more than `count`.
///
/// # Safety
/// `place` is null or has space for as many.
unsafe fn fill<T: Copy>(place: *mut T, values: &[T], count: GLuint) {
    let values = &values[..values.len().min(count as usize)];
    if !place.is_null() {
        // SAFETY: the caller's.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), place, values.len()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_many_as_their_texts_fit() {
        let message = |text: &[u8]| Message {
            about: (1, 2, 3, 4),
            text: text.to_vec(),
        };
        let log = [message(b"ab\0"), message(b"c\0"), message(b"d\0")];
        let mut text = [0; 8];
        let places = |count, size, texts| Places {
            count,
            size,
            sources: null_mut(),
            types: null_mut(),
            ids: null_mut(),
            severities: null_mut(),
            lengths: null_mut(),
            texts,
        };
        for (count, size, fits) in [(9, 8, 3), (2, 8, 2), (9, 6, 2), (9, 2, 0), (0, 8, 0)] {
            let there = places(count, size, text.as_mut_ptr());
            assert_eq!(fitting(log.iter(), &there), fits, "{count} {size}");
        }
        assert_eq!(fitting(log.iter(), &places(9, 0, null_mut())), 3);
        let there = places(9, 8, text.as_mut_ptr());
        // SAFETY: the text fits.
        unsafe { put(&log[1], 1, 3, &there) };
        assert_eq!(&text, b"\0\0\0c\0\0\0\0");
    }
}
