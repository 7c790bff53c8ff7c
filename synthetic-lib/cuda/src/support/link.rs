//! The linker: its states, what is added to them, and what they make of it.

use super::context::{self, Context};
use super::jit::{self, Places};
use super::{Details, create};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_cuda_common::jit::{PTX, Told};
use gil_guest::api::data;
use gil_guest::api::{Api, CallResult, new_number};
use gil_wire::Op;
use gil_wire::envelope::Class;
use gil_wire::generated::cuda::{self as wire, Kind};
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};

/// A state of the linker.
#[derive(Debug)]
pub struct Link {
    /// The context that was current where it was created, with which it goes.
    pub context: Arc<Context>,
    /// The program keeps them as long as the state.
    places: Mutex<Places>,
    /// What was linked, each time, which is the program's to read until the state is destroyed.
    linked: Mutex<Vec<Box<[u8]>>>,
}

impl Link {
    /// Tells the program what the linker told.
    fn tell(&self, words: &[u64]) {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = Told::read(words) {
            // SAFETY: the program keeps the places until it destroys the state.
            unsafe { places.write(&told) };
        }
    }
}

/// Options as a program has them: how many, which, their values.
pub type Options = (u32, *mut CUjit_option, *mut *mut c_void);

/// Creates a state in the current context.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// As `cuLinkCreate` in CUDA's documentation.
pub unsafe fn begin(entry: u64, (count, names, values): Options) -> CallResult<CUlinkState> {
    context::with(|context| {
        context.healthy()?;
        // SAFETY: the caller's.
        let options = unsafe { jit::read(count, names, values) }?;
        let new = new_number();
        let args = wire::CuLinkCreateV2Args {
            current: context.number,
            new,
            options: options.sent,
            logs: options.places.asked(),
        };
        let request = Request::new(wire::CU_LINK_CREATE_V2, Class::Sync, entry);
        let made = request.forward(&args, |reply| {
            let reply: wire::CuLinkCreateV2Reply = reply.decode()?;
            Guest::check(reply.result)
        });
        made.or_else(|code| context.failed(code))?;
        let link = Link {
            context: context.clone(),
            places: options.places.into(),
            linked: Mutex::default(),
        };
        create(Kind::Link, new, Details::Link(Arc::new(link)))
    })
}

/// Does something with a state.
fn with<R>(
    state: CUlinkState,
    work: impl FnOnce(&Object, &Link) -> CallResult<R>,
) -> CallResult<R> {
    context::initialized()?;
    let object = Object::find(Kind::Link, state)?;
    match object.details() {
        Details::Link(link) => {
            let link = link.clone();
            link.context.healthy()?;
            work(&object, &link)
        }
        _ => Err(CUDA_ERROR_INVALID_HANDLE),
    }
}

/// Adds code to a state. `op` says by which call.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// As `cuLinkAddData` in CUDA's documentation; there are as many bytes as it says.
unsafe fn add(
    (entry, op): (u64, Op),
    state: CUlinkState,
    (input, bytes): (CUjitInputType, &[u8]),
    name: &CStr,
    (count, names, values): Options,
) -> CallResult<()> {
    with(state, |object, link| {
        // SAFETY: the caller's.
        let options = unsafe { jit::read(count, names, values) }?;
        // Where the linker tells something is the state's matter.
        if !options.places.asked().is_empty() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let mut ended = Vec::new();
        let mut bytes = bytes;
        // With its end a text comes whether the program counts that or not.
        if input == PTX && bytes.last() != Some(&0) {
            ended.extend_from_slice(bytes);
            ended.push(0);
            bytes = &ended;
        }
        let mut request = Request::new(op, Class::Sync, entry);
        // Both calls that add have the same arguments.
        let args = wire::CuLinkAddDataV2Args {
            state: object.number(),
            input,
            // SAFETY: there are as many bytes, and the name is a text.
            data: unsafe { request.input(bytes.as_ptr().cast(), bytes.len()) },
            // SAFETY: as above.
            name: unsafe { request.string(name.as_ptr()) },
            options: options.sent,
        };
        let added = request.forward(&args, |reply| {
            let reply: wire::CuLinkAddDataV2Reply = reply.decode()?;
            link.tell(&reply.logs);
            Guest::check(reply.result)
        });
        added.or_else(|code| link.context.failed(code))
    })
}

/// Adds code from the program's memory.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// As `cuLinkAddData` in CUDA's documentation.
pub unsafe fn add_data(
    entry: u64,
    state: CUlinkState,
    input: CUjitInputType,
    (place, len): (*const c_void, usize),
    name: *const c_char,
    options: Options,
) -> CallResult<()> {
    context::initialized()?;
    Object::find(Kind::Link, state)?;
    if place.is_null() || len == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let bytes = unsafe { std::slice::from_raw_parts(place.cast::<u8>(), len) };
    let name: CString = match name.is_null() {
        true => CString::default(),
        // SAFETY: the caller's.
        false => unsafe { CStr::from_ptr(name) }.into(),
    };
    let call = (entry, wire::CU_LINK_ADD_DATA_V2);
    // SAFETY: the caller's.
    unsafe { add(call, state, (input, bytes), &name, options) }
}

/// Adds code from a file of the guest's.
///
/// # Errors
/// The API's code; `CUDA_ERROR_FILE_NOT_FOUND` for a file that cannot be read.
///
/// # Safety
/// As `cuLinkAddFile` in CUDA's documentation.
pub unsafe fn add_file(
    entry: u64,
    state: CUlinkState,
    input: CUjitInputType,
    path: *const c_char,
    options: Options,
) -> CallResult<()> {
    context::initialized()?;
    Object::find(Kind::Link, state)?;
    if path.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let path = unsafe { CStr::from_ptr(path) };
    let file = OsStr::from_bytes(path.to_bytes());
    let bytes = std::fs::read(file).map_err(|_| CUDA_ERROR_FILE_NOT_FOUND)?;
    let call = (entry, wire::CU_LINK_ADD_FILE_V2);
    // SAFETY: the caller's.
    unsafe { add(call, state, (input, &bytes), path, options) }
}

/// Links: where the result is, and its bytes.
///
/// # Errors
/// The API's code.
pub fn complete(entry: u64, state: CUlinkState) -> CallResult<(*mut c_void, usize)> {
    with(state, |object, link| {
        let number = object.number();
        let request = Request::new(wire::CU_LINK_COMPLETE, Class::Sync, entry);
        let args = wire::CuLinkCompleteArgs { state: number };
        let size = request.forward(&args, |reply| {
            let reply: wire::CuLinkCompleteReply = reply.decode()?;
            link.tell(&reply.logs);
            Guest::check(reply.result)?;
            Ok(reply.size)
        });
        let size = match size {
            Ok(size) => usize::try_from(size).map_err(|_| CUDA_ERROR_OUT_OF_MEMORY)?,
            Err(code) => return link.context.failed(code),
        };
        let mut bytes = Vec::new();
        let room = bytes.try_reserve_exact(size);
        room.map_err(|_| CUDA_ERROR_OUT_OF_MEMORY)?;
        bytes.resize(size, 0u8);
        let mut bytes = bytes.into_boxed_slice();
        let place: *mut c_void = bytes.as_mut_ptr().cast();
        let mut request = Request::new(wire::GIL_LINKED, Class::Query, entry);
        let args = wire::GilLinkedArgs {
            state: number,
            // SAFETY: there are so many bytes.
            cubin: unsafe { request.output(place, size) },
        };
        request.forward(&args, |reply| {
            let reply: wire::GilLinkedReply<'_> = reply.decode()?;
            Guest::check(reply.result)?;
            // SAFETY: as above.
            unsafe { data::write_data(&reply.cubin, place, size) };
            Ok(())
        })?;
        let mut linked = link.linked.lock().unwrap_or_else(PoisonError::into_inner);
        linked.push(bytes);
        Ok((place, size))
    })
}

/// Destroys a state.
///
/// # Errors
/// The API's code.
pub fn end(entry: u64, state: CUlinkState) -> CallResult<()> {
    with(state, |object, _| {
        Object::release(Kind::Link, state, entry)?;
        let args = wire::CuLinkDestroyArgs {
            state: object.number(),
        };
        let request = Request::new(wire::CU_LINK_DESTROY, Class::Sync, entry);
        request.forward(&args, |reply| {
            let reply: wire::CuLinkDestroyReply = reply.decode()?;
            Guest::check(reply.result)
        })
    })
}
