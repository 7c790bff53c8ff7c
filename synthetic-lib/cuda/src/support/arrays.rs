//! Arrays, and arrays with mipmaps. Their layouts are kept here: nobody else is asked for them.

use super::context::{self, Context};
use super::{Details, create, streams};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_cuda_common::array::{Layout, Wrong};
use gil_guest::api::{Api, CallResult, Reply, new_number};
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::envelope::Class;
use gil_wire::generated::cuda::{self as wire, Kind};
use std::sync::{Arc, Mutex, PoisonError};

/// An array.
#[derive(Debug)]
pub struct Array {
    /// Its context.
    pub context: Arc<Context>,
    /// What it was made with; of a level, what follows from that.
    pub layout: Layout,
    /// Whether it goes with an array with mipmaps.
    is_level: bool,
}

/// An array with mipmaps.
#[derive(Debug)]
pub struct Mipmapped {
    /// Its context.
    pub context: Arc<Context>,
    /// That of its first level.
    pub layout: Layout,
    /// How many levels it has.
    pub levels: u32,
    /// The handles of the levels that the program asked for.
    known: Mutex<Vec<Option<usize>>>,
}

/// Every reply without more is its result.
fn done(reply: Reply<'_, Guest>) -> CallResult<()> {
    let reply: wire::CuArrayDestroyReply = reply.decode()?;
    Guest::check(reply.result)
}

/// The code for a layout that is none.
fn refused(wrong: Wrong) -> CUresult {
    match wrong {
        Wrong::Value => CUDA_ERROR_INVALID_VALUE,
        Wrong::NotOffered => CUDA_ERROR_NOT_SUPPORTED,
    }
}

/// As the program describes an array of two dimensions.
pub fn flat(asked: &CUDA_ARRAY_DESCRIPTOR) -> Layout {
    Layout {
        width: asked.Width as u64,
        height: asked.Height as u64,
        depth: 0,
        format: asked.Format,
        channels: asked.NumChannels,
        flags: 0,
    }
}

/// As the program describes an array.
pub fn layout(asked: &CUDA_ARRAY3D_DESCRIPTOR) -> Layout {
    Layout {
        width: asked.Width as u64,
        height: asked.Height as u64,
        depth: asked.Depth as u64,
        format: asked.Format,
        channels: asked.NumChannels,
        flags: asked.Flags,
    }
}

/// Makes an array.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` for formats of blocks and planes and for memory that is mapped
/// by hand, or the API's code.
pub fn make((entry, op): (u64, Op), layout: Layout) -> CallResult<CUarray> {
    context::with(|context| {
        context.healthy()?;
        layout.size().map_err(refused)?;
        let new = new_number();
        // Both calls that make one have the same arguments.
        let args = wire::CuArrayCreateV2Args {
            current: context.number,
            new,
            layout: layout.words(),
        };
        let made = Request::new(op, Class::Sync, entry).forward(&args, done);
        made.or_else(|code| context.failed(code))?;
        let array = Array {
            context: context.clone(),
            layout,
            is_level: false,
        };
        create(Kind::Array, new, Details::Array(Arc::new(array)))
    })
}

/// Makes an array with so many levels, but at least one and no more than it can have.
///
/// # Errors
/// As [`make`].
pub fn make_mipmapped(entry: u64, layout: Layout, levels: u32) -> CallResult<CUmipmappedArray> {
    context::with(|context| {
        context.healthy()?;
        layout.size().map_err(refused)?;
        let levels = levels.clamp(1, layout.levels());
        let new = new_number();
        let args = wire::CuMipmappedArrayCreateArgs {
            current: context.number,
            new,
            layout: layout.words(),
            levels,
        };
        let request = Request::new(wire::CU_MIPMAPPED_ARRAY_CREATE, Class::Sync, entry);
        let made = request.forward(&args, done);
        made.or_else(|code| context.failed(code))?;
        let array = Mipmapped {
            context: context.clone(),
            layout,
            levels,
            known: Mutex::new(vec![None; levels as usize]),
        };
        let details = Details::Mipmapped(Arc::new(array));
        create(Kind::MipmappedArray, new, details)
    })
}

/// A live array: its number, and what is known of it.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE`.
pub fn find(array: CUarray) -> CallResult<(Handle, Arc<Array>)> {
    context::initialized()?;
    let object = Object::find(Kind::Array, array)?;
    match object.details() {
        Details::Array(known) => Ok((object.number(), known.clone())),
        _ => Err(CUDA_ERROR_INVALID_HANDLE),
    }
}

/// The same of an array with mipmaps.
///
/// # Errors
/// As [`find`].
pub fn find_mipmapped(array: CUmipmappedArray) -> CallResult<(Handle, Arc<Mipmapped>)> {
    context::initialized()?;
    let object = Object::find(Kind::MipmappedArray, array)?;
    match object.details() {
        Details::Mipmapped(known) => Ok((object.number(), known.clone())),
        _ => Err(CUDA_ERROR_INVALID_HANDLE),
    }
}

/// A level of an array with mipmaps; one has the same handle each time.
///
/// # Errors
/// The API's code.
pub fn level(entry: u64, mipmapped: CUmipmappedArray, level: u32) -> CallResult<CUarray> {
    let (number, known) = find_mipmapped(mipmapped)?;
    known.context.healthy()?;
    let mut all = known.known.lock().unwrap_or_else(PoisonError::into_inner);
    let place = all
        .get_mut(level as usize)
        .ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if let Some(address) = *place {
        return Ok(std::ptr::with_exposed_provenance_mut(address));
    }
    let new = new_number();
    let args = wire::CuMipmappedArrayGetLevelArgs {
        hMipmappedArray: number,
        new,
        level,
    };
    let request = Request::new(wire::CU_MIPMAPPED_ARRAY_GET_LEVEL, Class::Sync, entry);
    let made = request.forward(&args, done);
    made.or_else(|code| known.context.failed(code))?;
    let array = Array {
        context: known.context.clone(),
        layout: known.layout.level(level),
        is_level: true,
    };
    let made: CUarray = create(Kind::Array, new, Details::Array(Arc::new(array)))?;
    *place = Some(made.expose_provenance());
    Ok(made)
}

/// Destroys an array, once all that may use it has ended.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE` for another array's level, or the API's code.
pub fn destroy(entry: u64, array: CUarray) -> CallResult<()> {
    let (number, known) = find(array)?;
    if known.is_level {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    known.context.healthy()?;
    streams::finish_all(entry, wire::CU_ARRAY_DESTROY, &known.context)?;
    Object::release(Kind::Array, array, entry)?;
    let args = wire::CuArrayDestroyArgs { hArray: number };
    let request = Request::new(wire::CU_ARRAY_DESTROY, Class::Sync, entry);
    let ended = request.forward(&args, done);
    ended.or_else(|code| known.context.failed(code))
}

/// Destroys an array with mipmaps and its levels, once all that may use them has ended.
///
/// # Errors
/// The API's code.
pub fn destroy_mipmapped(entry: u64, array: CUmipmappedArray) -> CallResult<()> {
    let (number, known) = find_mipmapped(array)?;
    known.context.healthy()?;
    streams::finish_all(entry, wire::CU_MIPMAPPED_ARRAY_DESTROY, &known.context)?;
    let mut levels = known.known.lock().unwrap_or_else(PoisonError::into_inner);
    for level in levels.drain(..).flatten() {
        let level: CUarray = std::ptr::with_exposed_provenance_mut(level);
        Object::release(Kind::Array, level, entry)?;
    }
    Object::release(Kind::MipmappedArray, array, entry)?;
    let args = wire::CuMipmappedArrayDestroyArgs {
        hMipmappedArray: number,
    };
    let request = Request::new(wire::CU_MIPMAPPED_ARRAY_DESTROY, Class::Sync, entry);
    let ended = request.forward(&args, done);
    ended.or_else(|code| known.context.failed(code))
}
