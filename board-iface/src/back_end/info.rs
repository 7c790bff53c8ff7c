//! Size-and-data queries.

use super::call::{Call, Output};
use super::objects::Objects;
use super::refusal::Refusal;
use gil_transport::memory::OutOfMemory;
use gil_wire::call::{Handle, InfoType, InfoValue, OutData, OutRoom};
use std::ffi::c_void;
use std::ptr::null_mut;

/// What a function returns that did it.
const SUCCESS: i32 = 0;
/// Most bytes of a value.
const MAX_VALUE: usize = 64 << 20;

/// A query's answer.
#[derive(Debug)]
pub struct InfoReply {
    /// The function's result.
    pub result: i32,
    /// Bytes of the whole value.
    pub size: u64,
    value: Value,
}

#[derive(Debug)]
enum Value {
    None,
    /// The output buffer, and whether it is a region.
    Bytes(Output, bool),
    Sizes(Vec<u64>),
    Handles(Vec<Handle>),
}

impl InfoReply {
    /// The function failed.
    pub fn failed(result: i32) -> Self {
        Self {
            result,
            size: 0,
            value: Value::None,
        }
    }

    /// The value, as far as there was room.
    pub fn value(&self) -> InfoValue<'_> {
        match &self.value {
            Value::None => InfoValue::None,
            Value::Bytes(_, true) => InfoValue::Bytes(OutData::Region),
            Value::Bytes(output, false) => {
                InfoValue::Bytes(OutData::Inline(output.inline(self.size as usize)))
            }
            Value::Sizes(sizes) => InfoValue::Sizes(sizes.as_slice().into()),
            Value::Handles(handles) => InfoValue::Handles(handles.clone()),
        }
    }
}

/// Asks for a value's size and then for the value.
///
/// # Errors
/// [`Refusal`] for a value beyond all bounds and for room that is not there.
/// What the driver returns is in the answer.
pub fn info<S: Objects>(
    session: &mut S,
    call: &mut Call,
    kind: InfoType<S::Kind>,
    room: OutRoom,
    mut ask: impl FnMut(usize, *mut c_void, *mut usize) -> i32,
) -> Result<InfoReply, Refusal> {
    let mut size = 0;
    let result = call.timed(|| ask(0, null_mut(), &mut size));
    if result != SUCCESS {
        return Ok(InfoReply::failed(result));
    }
    if size > MAX_VALUE {
        return Err(Refusal::InfoSize(size));
    }
    let fetch = |call: &mut Call, value: *mut c_void| {
        // A program that asks for the value calls once: only that call counts.
        call.restart_time();
        call.timed(|| ask(size, value, null_mut()))
    };
    let (result, value) = match kind {
        InfoType::Sizes | InfoType::Limits => sizes(call, size, fetch)?,
        InfoType::Handles(kind) => handles(session, kind, call, size, fetch)?,
        _ => bytes(call, room, size, fetch)?,
    };
    if result != SUCCESS {
        return Ok(InfoReply::failed(result));
    }
    let size = size as u64;
    Ok(InfoReply {
        result,
        size,
        value,
    })
}

/// Asks the driver, for its errors and its time, and shows the guest this text.
///
/// # Errors
/// As [`info`].
pub fn info_shown<S: Objects>(
    session: &mut S,
    call: &mut Call,
    text: &[u8],
    room: OutRoom,
    ask: impl Fn(usize, *mut c_void, *mut usize) -> i32,
) -> Result<InfoReply, Refusal> {
    info(
        session,
        call,
        InfoType::Bytes,
        room,
        |size, value, size_ret| {
            if value.is_null() {
                let result = ask(size, value, size_ret);
                // SAFETY: without a value, `info` gives a place for the size.
                unsafe { *size_ret = text.len() };
                return result;
            }
            // SAFETY: `info` provides a buffer of the size it was given.
            unsafe {
                value
                    .cast::<u8>()
                    .copy_from(text.as_ptr(), size.min(text.len()))
            };
            SUCCESS
        },
    )
}

type Fetched = Result<(i32, Value), Refusal>;

fn bytes(
    call: &mut Call,
    room: OutRoom,
    size: usize,
    fetch: impl FnOnce(&mut Call, *mut c_void) -> i32,
) -> Fetched {
    let mut output = call.output(room, 0)?;
    if output.room() < size || output.as_mut_ptr().is_null() {
        return Ok((SUCCESS, Value::None));
    }
    let result = match size {
        0 => SUCCESS,
        _ => fetch(call, output.as_mut_ptr()),
    };
    let written = if result == SUCCESS { size } else { 0 };
    let is_region = output.note(call, written);
    Ok((result, Value::Bytes(output, is_region)))
}

fn sizes(
    call: &mut Call,
    size: usize,
    fetch: impl FnOnce(&mut Call, *mut c_void) -> i32,
) -> Fetched {
    let (result, words) = words(call, size, fetch)?;
    let words = words.into_iter().map(|word| word as u64).collect();
    Ok((result, Value::Sizes(words)))
}

fn handles<S: Objects>(
    session: &mut S,
    kind: S::Kind,
    call: &mut Call,
    size: usize,
    fetch: impl FnOnce(&mut Call, *mut c_void) -> i32,
) -> Fetched {
    let (result, words) = words(call, size, fetch)?;
    let found = |word: usize| session.found(kind, word as *mut c_void);
    let handles = match result {
        SUCCESS => words.into_iter().map(found).collect(),
        _ => Vec::new(),
    };
    Ok((result, Value::Handles(handles)))
}

/// A value of pointer-wide words.
fn words(
    call: &mut Call,
    size: usize,
    fetch: impl FnOnce(&mut Call, *mut c_void) -> i32,
) -> Result<(i32, Vec<usize>), Refusal> {
    let count = size.div_ceil(size_of::<usize>());
    let mut words = Vec::new();
    words
        .try_reserve_exact(count)
        .map_err(|_| OutOfMemory(size))?;
    words.resize(count, 0);
    let result = match size {
        0 => SUCCESS,
        _ => fetch(call, words.as_mut_ptr().cast()),
    };
    words.truncate(size / size_of::<usize>());
    Ok((result, words))
}
