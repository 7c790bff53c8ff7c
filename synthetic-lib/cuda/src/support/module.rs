//! Modules, their functions and variables.

use super::context::{self, Context};
use super::jit::{self, Places};
use super::{Details, create, image, launch, memory};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_cuda_common::jit::Told;
use gil_cuda_common::names;
use gil_cuda_common::room::Room;
use gil_guest::api::{Api, CallResult, new_number};
use gil_wire::Op;
use gil_wire::envelope::Class;
use gil_wire::generated::cuda::{self as wire, Kind};
use launch::{Function, Params};
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};

/// A module.
#[derive(Debug)]
pub struct Module {
    /// Its context.
    pub context: Arc<Context>,
    /// The handles of its functions that the program asked for.
    functions: Mutex<HashMap<CString, usize>>,
    /// Whether it is a library's, with which it goes.
    is_of_library: bool,
}

/// Loads a module into the current context.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// As `cuModuleLoadDataEx` in CUDA's documentation.
pub unsafe fn load(
    (entry, op): (u64, Op),
    image: *const c_void,
    (count, names, values): (u32, *mut CUjit_option, *mut *mut c_void),
) -> CallResult<CUmodule> {
    context::with(|context| {
        context.healthy()?;
        // SAFETY: the caller's.
        unsafe {
            let options = jit::read(count, names, values)?;
            let options = (options.sent, &options.places);
            load_image((entry, op), context, image::find(image)?, options, false)
        }
    })
}

/// Loads an image into a context, with options as pairs of words, and tells the program what the
/// compiler tells.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// The image has as many bytes, and the places are the program's.
pub unsafe fn load_image(
    (entry, op): (u64, Op),
    context: &Arc<Context>,
    (place, len): (*const c_void, usize),
    (options, places): (Vec<u64>, &Places),
    is_of_library: bool,
) -> CallResult<CUmodule> {
    let new = new_number();
    let mut request = Request::new(op, Class::Sync, entry);
    // All calls that load have the same arguments.
    let args = wire::CuModuleLoadDataArgs {
        current: context.number,
        new,
        // SAFETY: the image is as long as it says.
        image: unsafe { request.input(place, len) },
        options,
        logs: places.asked(),
    };
    let loaded = request.forward(&args, |reply| {
        let reply: wire::CuModuleLoadDataReply = reply.decode()?;
        if let Some(told) = Told::read(&reply.logs) {
            // SAFETY: the caller's.
            unsafe { places.write(&told) };
        }
        Guest::check(reply.result)
    });
    loaded.or_else(|code| context.failed(code))?;
    let module = Module {
        context: context.clone(),
        functions: Mutex::default(),
        is_of_library,
    };
    create(Kind::Module, new, Details::Module(module))
}

/// Loads a module from a file of the guest's.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `name` is null or a text.
pub unsafe fn load_file(entry: u64, name: *const c_char) -> CallResult<CUmodule> {
    if name.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    context::with(|context| context.healthy())?;
    // SAFETY: the caller's.
    let name = unsafe { CStr::from_ptr(name) };
    let bytes = file(OsStr::from_bytes(name.to_bytes()))?;
    let none = (0, std::ptr::null_mut(), std::ptr::null_mut());
    let call = (entry, wire::CU_MODULE_LOAD);
    // SAFETY: it is a whole image.
    unsafe { load(call, bytes.as_ptr().cast(), none) }
}

/// An image in a file of the guest's.
///
/// # Errors
/// `CUDA_ERROR_FILE_NOT_FOUND`, `CUDA_ERROR_INVALID_IMAGE`.
pub fn file(name: &OsStr) -> CallResult<Vec<u8>> {
    let mut bytes = std::fs::read(name).map_err(|_| CUDA_ERROR_FILE_NOT_FOUND)?;
    // A text ends with a 0 for the driver, and not in a file.
    bytes.push(0);
    match gil_cuda_common::image::is_whole(&bytes) {
        true => Ok(bytes),
        false => Err(CUDA_ERROR_INVALID_IMAGE),
    }
}

/// Checks that the program may unload a module.
///
/// # Errors
/// `CUDA_ERROR_NOT_PERMITTED` for a library's, or the API's code.
pub fn check_own(module: CUmodule) -> CallResult<()> {
    with(module, |_, module| match module.is_of_library {
        true => Err(CUDA_ERROR_NOT_PERMITTED),
        false => Ok(()),
    })
}

fn with<R>(
    module: CUmodule,
    work: impl FnOnce(&Object, &Module) -> CallResult<R>,
) -> CallResult<R> {
    context::initialized()?;
    let object = Object::find(Kind::Module, module)?;
    match object.details() {
        Details::Module(module) => {
            module.context.healthy()?;
            work(&object, module)
        }
        _ => Err(CUDA_ERROR_INVALID_HANDLE),
    }
}

/// Unloads a module, once all that may use it has ended.
///
/// # Errors
/// The API's code.
pub fn unload(entry: u64, handle: CUmodule) -> CallResult<()> {
    with(handle, |object, module| {
        let op = wire::CU_MODULE_UNLOAD;
        super::streams::finish_all(entry, op, &module.context)?;
        Object::release(Kind::Module, handle, entry)?;
        launch::changed();
        let mut functions = module
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (_, function) in functions.drain() {
            let function: *mut c_void = std::ptr::with_exposed_provenance_mut(function);
            let _ = Object::release(Kind::Function, function, entry);
        }
        let args = wire::CuModuleUnloadArgs {
            hmod: object.number(),
        };
        let request = Request::new(op, Class::Sync, entry);
        request.forward(&args, |reply| {
            let reply: wire::CuModuleUnloadReply = reply.decode()?;
            Guest::check(reply.result)
        })
    })
}

/// The function of this name. Asked for again, it is the same.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `name` is null or a text.
pub unsafe fn function(
    entry: u64,
    handle: CUmodule,
    name: *const c_char,
) -> CallResult<CUfunction> {
    if name.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let name = unsafe { CStr::from_ptr(name) };
    with(handle, |object, module| {
        let mut functions = module
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = functions.get(name) {
            return Ok(std::ptr::with_exposed_provenance_mut(*known));
        }
        let new = new_number();
        let mut request = Request::new(wire::CU_MODULE_GET_FUNCTION, Class::Sync, entry);
        let args = wire::CuModuleGetFunctionArgs {
            hmod: object.number(),
            new,
            // SAFETY: a text.
            name: unsafe { request.string(name.as_ptr()) },
        };
        let known = request.forward(&args, |reply| {
            let reply: wire::CuModuleGetFunctionReply = reply.decode()?;
            Guest::check(reply.result)?;
            let params = Params::new(&reply.params).ok_or(Guest::GARBLED)?;
            Ok((params, Room::new(&reply.room)))
        })?;
        let address = handle.expose_provenance();
        let function = Function::new(module.context.clone(), address, name.into(), known);
        let made: CUfunction = create(Kind::Function, new, Details::Function(function))?;
        functions.insert(name.into(), made.expose_provenance());
        Ok(made)
    })
}

/// The names of at most so many of a module's functions.
///
/// # Errors
/// The API's code.
pub fn names(entry: u64, handle: CUmodule, most: u32) -> CallResult<Vec<CString>> {
    with(handle, |object, _| {
        let request = Request::new(wire::CU_MODULE_ENUMERATE_FUNCTIONS, Class::Query, entry);
        let args = wire::CuModuleEnumerateFunctionsArgs {
            hmod: object.number(),
            most,
        };
        request.forward(&args, |reply| {
            let reply: wire::CuModuleEnumerateFunctionsReply = reply.decode()?;
            Guest::check(reply.result)?;
            let names = names::read(&reply.names).ok_or(Guest::GARBLED)?;
            let names = names.into_iter().take(most as usize).map(CString::new);
            names.collect::<Result<_, _>>().map_err(|_| Guest::GARBLED)
        })
    })
}

/// At most so many of a module's functions.
///
/// # Errors
/// The API's code.
pub fn functions(entry: u64, handle: CUmodule, most: u32) -> CallResult<Vec<CUfunction>> {
    let names = names(entry, handle, most)?;
    // SAFETY: a text.
    let find = |name: CString| unsafe { function(entry, handle, name.as_ptr()) };
    names.into_iter().map(find).collect()
}

/// Where a variable is, and its bytes.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `name` is null or a text.
pub unsafe fn variable(
    entry: u64,
    handle: CUmodule,
    name: *const c_char,
) -> CallResult<(CUdeviceptr, usize)> {
    if name.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    with(handle, |object, module| {
        let mut request = Request::new(wire::CU_MODULE_GET_GLOBAL_V2, Class::Query, entry);
        let args = wire::CuModuleGetGlobalV2Args {
            hmod: object.number(),
            // SAFETY: the caller's.
            name: unsafe { request.string(name) },
        };
        let (address, bytes) = request.forward(&args, |reply| {
            let reply: wire::CuModuleGetGlobalV2Reply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok((reply.address, reply.bytes))
        })?;
        memory::note_variable(address, bytes, &module.context);
        Ok((address, bytes as usize))
    })
}

/// Does something with what is known of a function.
///
/// # Errors
/// The API's code.
pub fn with_function<R>(
    function: CUfunction,
    work: impl FnOnce(&Function) -> CallResult<R>,
) -> CallResult<R> {
    context::initialized()?;
    let object = Object::find(Kind::Function, function)?;
    match object.details() {
        Details::Function(function) => work(function),
        _ => Err(CUDA_ERROR_INVALID_HANDLE),
    }
}
