//! Launches with attributes, and what is asked about launches, functions and streams.

use super::device::attribute;
use super::state::State;
use super::{
    COOPERATIVE_LAUNCH_TOO_LARGE, Code, INVALID_CLUSTER_SIZE, INVALID_HANDLE, INVALID_VALUE,
    Object, SHARED_MAX, SUCCESS, put, run,
};
use gil_cuda_common::attribute::{self as attributes, CLUSTER_DIMENSION, COOPERATIVE, Of};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Attribute {
    id: c_int,
    pad: c_int,
    value: [u8; 64],
}

#[repr(C)]
pub struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: Object,
    attributes: *const Attribute,
    count: c_uint,
}

/// Functions that are loaded; names that are handed out; attributes of streams.
static LOADED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
static NAMES: Mutex<BTreeMap<usize, CString>> = Mutex::new(BTreeMap::new());
static STREAMS: Mutex<BTreeMap<(usize, c_int), [u8; 64]>> = Mutex::new(BTreeMap::new());

fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The three numbers of a value.
fn numbers(value: &[u8; 64]) -> [u32; 3] {
    let (words, _) = value.as_chunks::<4>();
    [words[0], words[1], words[2]].map(u32::from_le_bytes)
}

impl Config {
    /// What a launch's clusters are; checks all of its attributes.
    unsafe fn cluster(&self) -> Result<Option<[u32; 3]>, Code> {
        let mut cluster = None;
        for attribute in unsafe { self.attributes() }? {
            if attribute.id == 0 || attributes::len(attribute.id, Of::Launch).is_err() {
                return Err(INVALID_VALUE);
            }
            let value = numbers(&attribute.value);
            if attribute.id == COOPERATIVE && value[0] == 1 {
                let threads = self.block.iter().product::<u32>().max(1);
                if self.grid.iter().product::<u32>() > 2048 / threads {
                    return Err(COOPERATIVE_LAUNCH_TOO_LARGE);
                }
            }
            if attribute.id == CLUSTER_DIMENSION {
                if value
                    .iter()
                    .zip(self.grid)
                    .any(|(n, of)| *n == 0 || of % n != 0)
                {
                    return Err(INVALID_VALUE);
                }
                if value.iter().product::<u32>() > 8 {
                    return Err(INVALID_CLUSTER_SIZE);
                }
                cluster = Some(value);
            }
        }
        Ok(cluster)
    }

    unsafe fn attributes(&self) -> Result<&[Attribute], Code> {
        match (self.count, self.attributes.is_null()) {
            (0, _) => Ok(&[]),
            (_, true) => Err(INVALID_VALUE),
            // SAFETY: the caller's: a list of so many.
            (count, false) => {
                Ok(unsafe { std::slice::from_raw_parts(self.attributes, count as usize) })
            }
        }
    }
}

unsafe fn config<'a>(config: *const Config) -> Result<&'a Config, Code> {
    unsafe { config.as_ref() }.ok_or(INVALID_VALUE)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    place: *const Config,
    function: Object,
    values: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    let checked = run(|state| {
        let config = unsafe { config(place) }?;
        unsafe { config.cluster() }?;
        let module = state.functions.get(function).ok_or(INVALID_HANDLE)?.module;
        let mut left = Vec::new();
        for attribute in unsafe { config.attributes() }? {
            left.extend(attribute.id.to_le_bytes());
            left.extend(&attribute.value[..12]);
        }
        state.leave(module, "null_attributes", &left);
        Ok(())
    });
    if checked != SUCCESS {
        return checked;
    }
    unsafe {
        let Config {
            grid,
            block,
            shared,
            stream,
            ..
        } = &*place;
        super::cuLaunchKernel(
            function, grid[0], grid[1], grid[2], block[0], block[1], block[2], *shared, *stream,
            values, extra,
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetName(place: *mut *const c_char, function: Object) -> Code {
    run(|state| {
        let known = state.functions.get(function).ok_or(INVALID_HANDLE)?;
        let name = CString::new(known.kernel.name.clone()).map_err(|_| INVALID_VALUE)?;
        let mut names = locked(&NAMES);
        let name = names.entry(function.addr()).or_insert(name);
        unsafe { put(place, name.as_ptr()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncIsLoaded(place: *mut c_int, function: Object) -> Code {
    run(|state| {
        state.functions.get(function).ok_or(INVALID_HANDLE)?;
        let is_loaded = locked(&LOADED).contains(&function.addr());
        unsafe { put(place, c_int::from(is_loaded)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncLoad(function: Object) -> Code {
    run(|state| {
        state.functions.get(function).ok_or(INVALID_HANDLE)?;
        locked(&LOADED).insert(function.addr());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunctionCount(count: *mut c_uint, module: Object) -> Code {
    run(|state| {
        let module = state.modules.get(module).ok_or(INVALID_HANDLE)?;
        unsafe { put(count, module.kernels.len() as c_uint) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleEnumerateFunctions(
    functions: *mut Object,
    most: c_uint,
    module: Object,
) -> Code {
    run(|state| {
        let known = state.modules.get(module).ok_or(INVALID_HANDLE)?;
        let (context, kernels) = (known.context, known.kernels.clone());
        for (n, kernel) in kernels.into_iter().take(most as usize).enumerate() {
            let function = state.functions.add(super::Function {
                context,
                module: module.expose_provenance(),
                kernel,
                set: BTreeMap::new(),
                cache: 0,
            });
            unsafe { put(functions.add(n), function) }?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    function: Object,
    blocks: c_int,
    threads: c_int,
) -> Code {
    run(|state| {
        state.functions.get(function).ok_or(INVALID_HANDLE)?;
        match blocks > 0 && (1..=1024).contains(&threads) {
            true => unsafe { put(bytes, SHARED_MAX as usize / blocks as usize) },
            false => Err(INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialClusterSize(
    size: *mut c_int,
    function: Object,
    place: *const Config,
) -> Code {
    run(|state| {
        state.functions.get(function).ok_or(INVALID_HANDLE)?;
        let config = unsafe { config(place) }?;
        unsafe { config.cluster() }?;
        // Larger blocks leave less of the device.
        let most = 8 / (config.block[0] / 256).max(1);
        unsafe { put(size, most as c_int) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveClusters(
    clusters: *mut c_int,
    function: Object,
    place: *const Config,
) -> Code {
    run(|state| {
        state.functions.get(function).ok_or(INVALID_HANDLE)?;
        let config = unsafe { config(place) }?;
        let cluster = unsafe { config.cluster() }?.ok_or(INVALID_VALUE)?;
        let threads = config.block.iter().product::<u32>().max(1);
        let blocks = 2048 / threads * attribute(16).unwrap_or(1) as u32;
        let most = blocks / cluster.iter().product::<u32>();
        unsafe { put(clusters, most as c_int) }
    })
}

/// A stream's key, if there is such a stream.
fn key(state: &mut State, stream: Object) -> Result<usize, Code> {
    state.clock(stream)?;
    Ok(stream.addr())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamSetAttribute(
    stream: Object,
    id: c_int,
    value: *const [u8; 64],
) -> Code {
    run(|state| {
        let key = key(state, stream)?;
        if attributes::len(id, Of::Stream).is_err() || value.is_null() {
            return Err(INVALID_VALUE);
        }
        locked(&STREAMS).insert((key, id), unsafe { *value });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetAttribute(
    stream: Object,
    id: c_int,
    value: *mut [u8; 64],
) -> Code {
    run(|state| {
        let key = key(state, stream)?;
        if attributes::len(id, Of::Stream).is_err() {
            return Err(INVALID_VALUE);
        }
        let known = locked(&STREAMS).get(&(key, id)).copied();
        unsafe { put(value, known.unwrap_or([0; 64])) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCopyAttributes(to: Object, from: Object) -> Code {
    run(|state| {
        let (to, from) = (key(state, to)?, key(state, from)?);
        let mut streams = locked(&STREAMS);
        let of_from = |((stream, id), value): (&(usize, c_int), &[u8; 64])| {
            (*stream == from).then_some(((to, *id), *value))
        };
        let copies: Vec<_> = streams.iter().filter_map(of_from).collect();
        streams.extend(copies);
        Ok(())
    })
}
