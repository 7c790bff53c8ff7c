//! A CUDA driver without a device, for tests: what the board's agent loads in the place of
//! `libcuda.so.1` if `GIL_CUDA_DRIVER` names it.
//!
//! It answers, allocates, moves memory and checks its arguments. It runs no kernel: a launch
//! takes time, and leaves the values of its parameters in the module's variable
//! `null_params`, its attributes in `null_attributes`, and how many bytes were copied from and to
//! pinned memory in `null_pinned`, those of them that are the host's registered memory in
//! `null_registered`, if there are such. A kernel whose name is a trap's ends its context:
//! `trap_address`, `trap_assert`, `trap_failure`; `long_one` takes a millisecond. Durations are the same in every run.

#![allow(non_snake_case)]
#![expect(missing_docs, reason = "the functions are CUDA's")]
#![expect(
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    reason = "as CUDA's documentation says of the caller: places have space for one value, and \
              texts end with a 0"
)]

mod arrays;
mod cubin;
mod device;
mod fat;
mod green;
mod jit;
mod launches;
mod link;
mod peers;
mod pools;
mod rectangles;
mod spaces;
mod state;
mod tensor_maps;

use device::{attribute, function_attribute};
use gil_cuda_common::image::{self, Image, Memory};
use gil_cuda_common::ptx;
use state::{Context, Event, Function, Module, State, Stream, Work, state};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

pub type Code = c_int;
pub type Object = *mut c_void;

pub const SUCCESS: Code = 0;
pub const INVALID_VALUE: Code = 1;
pub const OUT_OF_MEMORY: Code = 2;
pub const NOT_INITIALIZED: Code = 3;
pub const INVALID_DEVICE: Code = 101;
pub const INVALID_IMAGE: Code = 200;
pub const INVALID_CONTEXT: Code = 201;
pub const NO_BINARY: Code = 209;
pub const INVALID_PTX: Code = 218;
pub const INVALID_HANDLE: Code = 400;
pub const NOT_FOUND: Code = 500;
pub const NOT_READY: Code = 600;
pub const HOST_MEMORY_ALREADY_REGISTERED: Code = 712;
pub const HOST_MEMORY_NOT_REGISTERED: Code = 713;
pub const COOPERATIVE_LAUNCH_TOO_LARGE: Code = 720;
pub const INVALID_CLUSTER_SIZE: Code = 912;

/// Its version of CUDA.
const VERSION: c_int = 13000;
const NAME: &str = "Null device";
const PLACE: &str = "0000:07:00.0";
const UUID: [u8; 16] = *b"gil null device\0";
/// Bytes of the device's memory.
const MEMORY: u64 = 1 << 30;
const THREADS_MAX: u32 = 1024;
const SHARED_MAX: u32 = 48 << 10;

/// Does something with what there is; a code if that fails.
fn run(work: impl FnOnce(&mut State) -> Result<(), Code>) -> Code {
    let mut state = state();
    if !state.is_initialized {
        return NOT_INITIALIZED;
    }
    work(&mut state).err().unwrap_or(SUCCESS)
}

/// Writes a result.
unsafe fn put<T>(place: *mut T, value: T) -> Result<(), Code> {
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    unsafe { place.write(value) };
    Ok(())
}

fn device(number: c_int) -> Result<(), Code> {
    match number {
        0 => Ok(()),
        _ => Err(INVALID_DEVICE),
    }
}

unsafe fn put_text(place: *mut c_char, len: c_int, text: &str) -> Result<(), Code> {
    let room = usize::try_from(len).map_err(|_| INVALID_VALUE)?;
    if place.is_null() || room == 0 {
        return Err(INVALID_VALUE);
    }
    let len = text.len().min(room - 1);
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), len);
        place.cast::<u8>().add(len).write(0);
    }
    Ok(())
}

// ---- the driver and its device ----

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuInit(flags: c_uint) -> Code {
    if flags != 0 {
        return INVALID_VALUE;
    }
    state().is_initialized = true;
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    unsafe { put(version, VERSION) }.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Code {
    run(|_| unsafe { put(count, 1) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(place: *mut c_int, ordinal: c_int) -> Code {
    run(|_| {
        device(ordinal)?;
        unsafe { put(place, ordinal) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, number: c_int) -> Code {
    run(|_| {
        device(number)?;
        unsafe { put_text(name, len, NAME) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], number: c_int) -> Code {
    run(|_| {
        device(number)?;
        unsafe { put(uuid, UUID) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], number: c_int) -> Code {
    unsafe { cuDeviceGetUuid(uuid, number) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(
    place: *mut c_int,
    name: c_int,
    number: c_int,
) -> Code {
    run(|_| {
        device(number)?;
        unsafe { put(place, attribute(name).ok_or(INVALID_VALUE)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, number: c_int) -> Code {
    run(|_| {
        device(number)?;
        unsafe { put(bytes, MEMORY as usize) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, number: c_int) -> Code {
    run(|_| {
        device(number)?;
        unsafe { put_text(text, len, PLACE) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetByPCIBusId(place: *mut c_int, text: *const c_char) -> Code {
    run(|_| {
        if text.is_null() {
            return Err(INVALID_VALUE);
        }
        match unsafe { CStr::from_ptr(text) }.to_bytes() == PLACE.as_bytes() {
            true => unsafe { put(place, 0) },
            false => Err(INVALID_DEVICE),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceComputeCapability(
    major: *mut c_int,
    minor: *mut c_int,
    number: c_int,
) -> Code {
    run(|_| {
        device(number)?;
        unsafe {
            put(major, 9)?;
            put(minor, 0)
        }
    })
}

// ---- contexts ----

fn make_context(state: &mut State, number: c_int) -> Result<Object, Code> {
    device(number)?;
    Ok(state.contexts.add(Context::default()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v2(place: *mut Object, flags: c_uint, number: c_int) -> Code {
    run(|state| {
        if flags > 0x1f {
            return Err(INVALID_VALUE);
        }
        let context = make_context(state, number)?;
        state::set_current(context);
        unsafe { put(place, context) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxDestroy_v2(context: Object) -> Code {
    run(|state| {
        state.contexts.remove(context).ok_or(INVALID_CONTEXT)?;
        state.forget(context);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSetCurrent(context: Object) -> Code {
    run(|state| {
        if !context.is_null() {
            state.contexts.get(context).ok_or(INVALID_CONTEXT)?;
        }
        state::set_current(context);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice(device: *mut c_int) -> Code {
    run(|state| {
        state.current()?;
        unsafe { put(device, 0) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetLimit(value: *mut usize, limit: c_int) -> Code {
    run(|state| {
        let context = state.current()?;
        let known = context.limits.get(usize::try_from(limit).unwrap_or(99));
        unsafe { put(value, *known.ok_or(INVALID_VALUE)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSetLimit(limit: c_int, value: usize) -> Code {
    run(|state| {
        let context = state.current()?;
        let known = context.limits.get_mut(usize::try_from(limit).unwrap_or(99));
        *known.ok_or(INVALID_VALUE)? = value;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCacheConfig(config: *mut c_int) -> Code {
    run(|state| {
        let cache = state.current()?.cache;
        unsafe { put(config, cache) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSetCacheConfig(config: c_int) -> Code {
    run(|state| {
        if !(0..4).contains(&config) {
            return Err(INVALID_VALUE);
        }
        state.current()?.cache = config;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetSharedMemConfig(config: *mut c_int) -> Code {
    run(|state| {
        let banks = state.current()?.banks;
        unsafe { put(config, banks) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSetSharedMemConfig(config: c_int) -> Code {
    run(|state| {
        if !(0..3).contains(&config) {
            return Err(INVALID_VALUE);
        }
        state.current()?.banks = config;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncSetSharedMemConfig(function: Object, config: c_int) -> Code {
    run(|state| {
        state.functions.get(function).ok_or(INVALID_HANDLE)?;
        match config {
            0..3 => Ok(()),
            _ => Err(INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxResetPersistingL2Cache() -> Code {
    run(|state| {
        // To be seen by a test.
        state.current()?.cache = 0;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> Code {
    run(|state| {
        state.current()?;
        unsafe {
            put(least, 0)?;
            put(greatest, -5)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(place: *mut Object, number: c_int) -> Code {
    run(|state| {
        let context = match state.primary {
            Some((context, references)) => {
                state.primary = Some((context, references + 1));
                context
            }
            None => {
                let context = make_context(state, number)?.expose_provenance();
                state.primary = Some((context, 1));
                context
            }
        };
        unsafe { put(place, std::ptr::with_exposed_provenance_mut(context)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(number: c_int) -> Code {
    run(|state| {
        device(number)?;
        match state.primary {
            None => Err(INVALID_CONTEXT),
            Some((context, references)) if references > 1 => {
                state.primary = Some((context, references - 1));
                Ok(())
            }
            Some((context, _)) => {
                let context = std::ptr::with_exposed_provenance_mut(context);
                state.primary = None;
                state.contexts.remove(context);
                state.forget(context);
                Ok(())
            }
        }
    })
}

// ---- modules and functions ----

/// How an ELF file begins.
const ELF: &[u8] = b"\x7fELF";

/// The image at an address, as long as it says that it is.
struct At(*const u8);

impl Memory for At {
    fn read<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let at = usize::try_from(at).ok()?;
        // SAFETY: an image is as long as it says.
        Some(unsafe { self.0.wrapping_add(at).cast::<[u8; N]>().read() })
    }

    fn text_len(&self, _: u64) -> Option<u64> {
        // SAFETY: a text ends with a 0.
        Some(unsafe { CStr::from_ptr(self.0.cast()) }.count_bytes() as u64)
    }
}

/// What is declared by an image: PTX, a cubin of the device's architecture, or a fat binary that
/// has one of them. Nothing here executes its code.
unsafe fn declared(image: *const c_void) -> Result<ptx::Module, Code> {
    if image.is_null() {
        return Err(INVALID_VALUE);
    }
    let place = image.cast::<u8>();
    let Some(Image::Bytes(len)) = image::image(&At(place)) else {
        return Err(INVALID_IMAGE);
    };
    // SAFETY: so many bytes are the image's.
    let bytes = unsafe { std::slice::from_raw_parts(place, len as usize) };
    if bytes.starts_with(&image::FAT.to_le_bytes()) {
        if !fat::is_whole(bytes) {
            return Err(INVALID_IMAGE);
        }
        return match fat::held(bytes, device::ARCHITECTURE).ok_or(NO_BINARY)? {
            fat::Held::Ptx(text) => of_text(&text),
            fat::Held::Cubin(cubin) => cubin::declared(&cubin).ok_or(INVALID_IMAGE),
        };
    }
    match bytes.split_last() {
        Some((0, text)) if !text.starts_with(ELF) => of_text(text),
        _ if cubin::architecture(bytes).is_some_and(device::executes) => {
            cubin::declared(bytes).ok_or(INVALID_IMAGE)
        }
        _ => Err(NO_BINARY),
    }
}

fn of_text(text: &[u8]) -> Result<ptx::Module, Code> {
    let text = std::str::from_utf8(text).map_err(|_| INVALID_PTX)?;
    ptx::Module::parse(text).ok_or(INVALID_PTX)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    place: *mut Object,
    image: *const c_void,
    count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
) -> Code {
    run(|state| {
        let context = state.current_handle()?;
        let declared = unsafe { declared(image) };
        let told = match &declared {
            Ok(declared) => (format!("null: {} kernels", declared.kernels.len()), ""),
            Err(_) => (String::new(), "null: this is no PTX that it knows"),
        };
        unsafe { jit::tell((count, options, values), (&told.0, told.1)) };
        let declared = declared?;
        let mut variables = Vec::new();
        for variable in &declared.variables {
            let address = state.allocate(context, variable.size as u64)?;
            variables.push((variable.name.clone(), address, variable.size));
        }
        let module = Module {
            context,
            kernels: declared.kernels,
            variables,
        };
        let module = state.modules.add(module);
        unsafe { put(place, module) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleUnload(module: Object) -> Code {
    run(|state| {
        let known = state.modules.remove(module).ok_or(INVALID_HANDLE)?;
        for (_, address, _) in known.variables {
            state.memory.remove(&address);
        }
        let module = module.expose_provenance();
        state.functions.retain(|function| function.module != module);
        Ok(())
    })
}

unsafe fn name<'a>(name: *const c_char) -> Result<&'a str, Code> {
    if name.is_null() {
        return Err(INVALID_VALUE);
    }
    unsafe { CStr::from_ptr(name) }
        .to_str()
        .map_err(|_| NOT_FOUND)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    place: *mut Object,
    module: Object,
    wanted: *const c_char,
) -> Code {
    run(|state| {
        let known = state.modules.get(module).ok_or(INVALID_HANDLE)?;
        let wanted = unsafe { name(wanted) }?;
        let kernel = known.kernels.iter().find(|kernel| kernel.name == wanted);
        let function = Function {
            context: known.context,
            module: module.expose_provenance(),
            kernel: kernel.ok_or(NOT_FOUND)?.clone(),
            set: BTreeMap::new(),
            cache: 0,
        };
        let function = state.functions.add(function);
        unsafe { put(place, function) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut u64,
    bytes: *mut usize,
    module: Object,
    wanted: *const c_char,
) -> Code {
    run(|state| {
        let known = state.modules.get(module).ok_or(INVALID_HANDLE)?;
        let wanted = unsafe { name(wanted) }?;
        let mut variables = known.variables.iter();
        let found = variables.find(|(name, ..)| name == wanted);
        let (_, at, size) = found.ok_or(NOT_FOUND)?;
        unsafe {
            put(address, *at)?;
            put(bytes, *size)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetParamInfo(
    function: Object,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> Code {
    run(|state| {
        let function = state.functions.get(function).ok_or(INVALID_HANDLE)?;
        let param = function.kernel.params.get(index).ok_or(INVALID_VALUE)?;
        unsafe {
            put(offset, param.offset)?;
            put(size, param.size)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(
    value: *mut c_int,
    name: c_int,
    function: Object,
) -> Code {
    run(|state| {
        let function = state.functions.get(function).ok_or(INVALID_HANDLE)?;
        let known = function
            .set
            .get(&name)
            .copied()
            .or_else(|| function_attribute(name));
        unsafe { put(value, known.ok_or(INVALID_VALUE)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncSetAttribute(function: Object, name: c_int, value: c_int) -> Code {
    run(|state| {
        let function = state.functions.get_mut(function).ok_or(INVALID_HANDLE)?;
        let allowed = device::function_setting(name).ok_or(INVALID_VALUE)?;
        if !allowed.contains(&value) {
            return Err(INVALID_VALUE);
        }
        function.set.insert(name, value);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncSetCacheConfig(function: Object, config: c_int) -> Code {
    run(|state| {
        let function = state.functions.get_mut(function).ok_or(INVALID_HANDLE)?;
        if !(0..4).contains(&config) {
            return Err(INVALID_VALUE);
        }
        function.cache = config;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: Object,
    threads: c_int,
    _shared: usize,
) -> Code {
    run(|state| {
        state.functions.get(function).ok_or(INVALID_HANDLE)?;
        match threads {
            1..=1024 => unsafe { put(blocks, 2048 / threads) },
            _ => Err(INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    function: Object,
    threads: c_int,
    shared: usize,
    _flags: c_uint,
) -> Code {
    unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: Object,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Object,
    values: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    run(|state| {
        let known = state.functions.get(function).ok_or(INVALID_HANDLE)?;
        let (kernel, context) = (known.kernel.clone(), known.context);
        let (module, cache) = (known.module, known.cache);
        // What the program asked for by an attribute.
        let asked = known.set.get(&8).map_or(0, |bytes| bytes.unsigned_abs());
        if context != state.current_handle()? || !extra.is_null() {
            return Err(INVALID_CONTEXT);
        }
        let threads = [block_x, block_y, block_z].map(u64::from);
        let blocks = [grid_x, grid_y, grid_z].map(u64::from);
        let threads = threads.iter().product::<u64>();
        let blocks = blocks.iter().fold(1u64, |all, n| all.saturating_mul(*n));
        if threads == 0
            || threads > THREADS_MAX.into()
            || blocks == 0
            || shared > SHARED_MAX.max(asked)
        {
            return Err(INVALID_VALUE);
        }
        let params = unsafe { params(&kernel, values) }?;
        state.leave(module, "null_params", &params);
        state.leave(module, "null_cache", &cache.to_le_bytes());
        let copied = state.pinned_copied.to_le_bytes();
        state.leave(module, "null_pinned", &copied);
        let copied = state.registered_copied.to_le_bytes();
        state.leave(module, "null_registered", &copied);
        let work = match kernel.name.as_str() {
            "long_one" => Work::Long,
            _ => Work::Kernel(blocks.saturating_mul(threads)),
        };
        state.work(stream, work)?;
        let trap = match kernel.name.as_str() {
            // It says what its parameter is.
            "says" => {
                let number = params.first_chunk().map_or(0, |it| u32::from_le_bytes(*it));
                state.printed += &format!("kernel {number}\n");
                SUCCESS
            }
            // Each of so many words becomes one more.
            "more" => match state.more(&params) {
                Ok(()) => SUCCESS,
                Err(_) => 700,
            },
            "trap_address" => 700,
            "trap_assert" => 710,
            "trap_failure" => 719,
            _ => SUCCESS,
        };
        let context = state.current()?;
        if context.pending == SUCCESS {
            context.pending = trap;
        }
        Ok(())
    })
}

/// The values of a kernel's parameters, each at its place.
unsafe fn params(kernel: &ptx::Kernel, values: *mut *mut c_void) -> Result<Vec<u8>, Code> {
    let len = kernel.params.last().map_or(0, |it| it.offset + it.size);
    let mut bytes = vec![0; len];
    for (n, param) in kernel.params.iter().enumerate() {
        if values.is_null() || unsafe { *values.add(n) }.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: a value has as many bytes as its parameter.
        let value =
            unsafe { std::slice::from_raw_parts((*values.add(n)).cast::<u8>(), param.size) };
        bytes[param.offset..][..param.size].copy_from_slice(value);
    }
    Ok(bytes)
}

// ---- memory ----

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(place: *mut u64, bytes: usize) -> Code {
    run(|state| {
        let context = state.current_handle()?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let address = state.allocate(context, bytes as u64)?;
        unsafe { put(place, address) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocPitch_v2(
    place: *mut u64,
    pitch: *mut usize,
    width: usize,
    height: usize,
    element: c_uint,
) -> Code {
    run(|state| {
        let context = state.current_handle()?;
        if width == 0 || height == 0 || ![4, 8, 16].contains(&element) {
            return Err(INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(512).ok_or(OUT_OF_MEMORY)?;
        let bytes = row.checked_mul(height).ok_or(OUT_OF_MEMORY)?;
        let address = state.allocate(context, bytes as u64)?;
        unsafe {
            put(place, address)?;
            put(pitch, row)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFree_v2(address: u64) -> Code {
    run(|state| {
        state.current()?;
        state.free(address)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    run(|state| {
        state.current()?;
        let left = MEMORY - state.used();
        unsafe {
            put(free, left as usize)?;
            put(total, MEMORY as usize)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(
    place: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> Code {
    run(|state| {
        state.current()?;
        if bytes == 0 || flags & !7 != 0 {
            return Err(INVALID_VALUE);
        }
        let mut block = vec![0; bytes].into_boxed_slice();
        let address = block.as_mut_ptr();
        state.pinned.insert(address.expose_provenance(), block);
        unsafe { put(place, address.cast()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFreeHost(place: *mut c_void) -> Code {
    run(|state| {
        let block = state.pinned.remove(&place.addr());
        block.map(drop).ok_or(INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostRegister_v2(
    place: *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> Code {
    run(|state| {
        state.current()?;
        if place.is_null() || bytes == 0 || flags & !0xf != 0 {
            return Err(INVALID_VALUE);
        }
        let (start, end) = (place.addr(), place.addr() + bytes);
        let mut all = state.registered.iter();
        if all.any(|(at, len)| *at < end && start < at + len) {
            return Err(HOST_MEMORY_ALREADY_REGISTERED);
        }
        state.registered.insert(start, bytes);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostUnregister(place: *mut c_void) -> Code {
    run(|state| {
        let found = state.registered.remove(&place.addr());
        found.map(drop).ok_or(HOST_MEMORY_NOT_REGISTERED)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const c_void,
    bytes: usize,
    stream: Object,
) -> Code {
    run(|state| {
        if from.is_null() {
            return Err(INVALID_VALUE);
        }
        let to = state.bytes(to, bytes)?;
        // SAFETY: the caller's; the device's memory is this driver's own.
        unsafe { std::ptr::copy_nonoverlapping(from.cast(), to.as_mut_ptr(), bytes) };
        let work = state.copy(from, bytes);
        state.work(stream, work)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: u64,
    bytes: usize,
    stream: Object,
) -> Code {
    run(|state| {
        if to.is_null() {
            return Err(INVALID_VALUE);
        }
        let from = state.bytes(from, bytes)?;
        // SAFETY: the caller's; the device's memory is this driver's own.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.cast(), bytes) };
        let work = state.copy(to, bytes);
        state.work(stream, work)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoDAsync_v2(
    to: u64,
    from: u64,
    bytes: usize,
    stream: Object,
) -> Code {
    run(|state| {
        let copy = state.bytes(from, bytes)?.to_vec();
        state.bytes(to, bytes)?.copy_from_slice(&copy);
        state.work(stream, Work::Bytes(bytes as u64))
    })
}

fn fill(to: u64, element: &[u8], count: usize, stream: Object) -> Code {
    run(|state| {
        let bytes = count.checked_mul(element.len()).ok_or(INVALID_VALUE)?;
        let to_bytes = state.bytes(to, bytes)?;
        let chunks = to_bytes.chunks_exact_mut(element.len());
        chunks.for_each(|chunk| chunk.copy_from_slice(element));
        state.work(stream, Work::Bytes(bytes as u64))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Object) -> Code {
    fill(to, &[value], count, stream)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD8_v2(to: u64, value: u8, count: usize) -> Code {
    fill(to, &[value], count, std::ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD16Async(
    to: u64,
    value: u16,
    count: usize,
    stream: Object,
) -> Code {
    fill(to, &value.to_le_bytes(), count, stream)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD32Async(
    to: u64,
    value: c_uint,
    count: usize,
    stream: Object,
) -> Code {
    fill(to, &value.to_le_bytes(), count, stream)
}

// ---- streams and events ----

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreateWithPriority(
    place: *mut Object,
    flags: c_uint,
    priority: c_int,
) -> Code {
    run(|state| {
        let context = state.current_handle()?;
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let stream = Stream {
            context,
            clock_ns: 0,
            priority: priority.clamp(-5, 0),
        };
        let stream = state.streams.add(stream);
        unsafe { put(place, stream) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetPriority(stream: Object, priority: *mut c_int) -> Code {
    run(|state| {
        let known = state.streams.get(stream).ok_or(INVALID_HANDLE)?.priority;
        unsafe { put(priority, known) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamDestroy_v2(stream: Object) -> Code {
    run(|state| {
        let gone = state.streams.remove(stream);
        gone.map(drop).ok_or(INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamWaitEvent(stream: Object, event: Object, flags: c_uint) -> Code {
    run(|state| {
        let at_ns = state.events.get(event).ok_or(INVALID_HANDLE)?.at_ns;
        let clock = state.clock(stream)?;
        *clock = (*clock).max(at_ns);
        match flags {
            0 | 1 => Ok(()),
            _ => Err(INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(place: *mut Object, flags: c_uint) -> Code {
    run(|state| {
        let context = state.current_handle()?;
        if flags > 7 {
            return Err(INVALID_VALUE);
        }
        let event = state.events.add(Event { context, at_ns: 0 });
        unsafe { put(place, event) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventDestroy_v2(event: Object) -> Code {
    run(|state| {
        let gone = state.events.remove(event);
        gone.map(drop).ok_or(INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventRecord(event: Object, stream: Object) -> Code {
    run(|state| {
        let at_ns = *state.clock(stream)?;
        state.events.get_mut(event).ok_or(INVALID_HANDLE)?.at_ns = at_ns;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventSynchronize(event: Object) -> Code {
    run(|state| {
        let context = state.events.get(event).ok_or(INVALID_HANDLE)?.context;
        state.ended(context)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventQuery(event: Object) -> Code {
    run(|state| {
        // To ask brings no text.
        let printed = std::mem::take(&mut state.printed);
        let context = state.events.get(event).ok_or(INVALID_HANDLE)?.context;
        let ended = state.ended(context);
        state.printed = printed;
        ended
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(
    milliseconds: *mut f32,
    start: Object,
    end: Object,
) -> Code {
    run(|state| {
        let at = |event| -> Result<u64, Code> {
            Ok(state.events.get(event).ok_or(INVALID_HANDLE)?.at_ns)
        };
        let (start, end) = (at(start)?, at(end)?);
        let passed = end as f64 - start as f64;
        unsafe { put(milliseconds, (passed / 1e6) as f32) }
    })
}
