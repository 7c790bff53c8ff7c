//! The entry points, with the names that the API gives.

#![allow(non_snake_case)]

mod any_nodes;
mod arrays;
mod graphs;
mod launches;
mod libraries;
mod memory;
mod own_streams;
mod shared_memory;
mod textures;

use super::copy::{self, Part, Way};
use super::error::{self, Answer, driver, place, returned};
use super::launch::{self, Configuration};
use super::rectangles::{self, Filled, Rows};
use super::{binary, device, peers, pointers, properties};
use crate::generated::manual::{Guest, Manual};
use crate::generated::types::*;
use gil_cuda::generated::stubs::*;
use gil_cuda::generated::types as cu;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// The version of CUDA whose runtime this is.
const VERSION: c_int = 13000;
/// Bytes that elements of rows are aligned for.
const ELEMENT: c_uint = 4;

/// Writes a result to its place.
///
/// # Safety
/// `to` is null or has space for one.
unsafe fn put<T>(to: *mut T, value: impl FnOnce() -> Answer<T>) -> cudaError_t {
    returned(|| {
        let to = place(to)?;
        let value = value()?;
        // SAFETY: the caller's.
        unsafe { to.write(value) };
        Ok(())
    })
}

/// What a call of the driver API's answers, in the thread's context.
#[inline(always)]
fn within(call: impl FnOnce() -> cu::CUresult) -> cudaError_t {
    returned(|| {
        device::ready()?;
        driver(call())
    })
}

/// The same of one that needs no context.
fn outside(call: impl FnOnce() -> cu::CUresult) -> cudaError_t {
    returned(|| {
        device::initialized()?;
        driver(call())
    })
}

/// The device's address as the program has it.
pub(super) fn pointer(address: cu::CUdeviceptr) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

fn address(pointer: *const c_void) -> cu::CUdeviceptr {
    pointer.expose_provenance() as cu::CUdeviceptr
}

/// A byte, of which memory is set.
pub(super) fn byte(value: c_int) -> u8 {
    value.to_le_bytes()[0]
}

impl Manual for Guest {
    unsafe fn cudaGetDeviceCount(_: u64, count: *mut c_int) -> cudaError_t {
        returned(|| {
            let count = place(count)?;
            // SAFETY: the caller's.
            unsafe {
                count.write(0);
                device::initialized()?;
                driver(cuDeviceGetCount(count))
            }
        })
    }

    unsafe fn cudaGetDevice(_: u64, device: *mut c_int) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { put(device, device::current) }
    }

    unsafe fn cudaSetDevice(_: u64, device: c_int) -> cudaError_t {
        returned(|| device::choose(device))
    }

    unsafe fn cudaGetDeviceProperties(
        _: u64,
        prop: *mut cudaDeviceProp,
        device: c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { put(prop, || properties::of_device(device)) }
    }

    unsafe fn cudaDeviceGetAttribute(
        _: u64,
        value: *mut c_int,
        attr: cudaDeviceAttr,
        device: c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        outside(|| unsafe { cuDeviceGetAttribute(value, attr, device) })
    }

    unsafe fn cudaDeviceSynchronize(_: u64) -> cudaError_t {
        // SAFETY: it takes nothing.
        within(|| unsafe { cuCtxSynchronize() })
    }

    unsafe fn cudaDeviceReset(_: u64) -> cudaError_t {
        returned(device::reset)
    }

    unsafe fn cudaDeviceGetStreamPriorityRange(
        _: u64,
        leastPriority: *mut c_int,
        greatestPriority: *mut c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuCtxGetStreamPriorityRange(leastPriority, greatestPriority) })
    }

    unsafe fn cudaDriverGetVersion(_: u64, driverVersion: *mut c_int) -> cudaError_t {
        // SAFETY: the caller's.
        returned(|| driver(unsafe { cuDriverGetVersion(driverVersion) }))
    }

    unsafe fn cudaRuntimeGetVersion(_: u64, runtimeVersion: *mut c_int) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { put(runtimeVersion, || Ok(VERSION)) }
    }

    unsafe fn cudaGetLastError(_: u64) -> cudaError_t {
        error::take_last()
    }

    unsafe fn cudaPeekAtLastError(_: u64) -> cudaError_t {
        error::last()
    }

    unsafe fn cudaGetErrorName(_: u64, error: cudaError_t) -> *const c_char {
        error::name(error).as_ptr()
    }

    unsafe fn cudaGetErrorString(_: u64, error: cudaError_t) -> *const c_char {
        error::text(error).as_ptr()
    }

    unsafe fn cudaDeviceCanAccessPeer(
        _: u64,
        canAccessPeer: *mut c_int,
        device: c_int,
        peerDevice: c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        outside(|| unsafe { cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice) })
    }

    unsafe fn cudaDeviceEnablePeerAccess(_: u64, peerDevice: c_int, flags: c_uint) -> cudaError_t {
        returned(|| peers::enable(peerDevice, flags))
    }

    unsafe fn cudaDeviceDisablePeerAccess(_: u64, peerDevice: c_int) -> cudaError_t {
        returned(|| peers::disable(peerDevice))
    }

    unsafe fn cudaDeviceGetP2PAttribute(
        _: u64,
        value: *mut c_int,
        attr: cudaDeviceP2PAttr,
        srcDevice: c_int,
        dstDevice: c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        outside(|| unsafe { cuDeviceGetP2PAttribute(value, attr, srcDevice, dstDevice) })
    }

    unsafe fn cudaDeviceSetLimit(_: u64, limit: cudaLimit, value: usize) -> cudaError_t {
        // SAFETY: it takes numbers.
        within(|| unsafe { cuCtxSetLimit(limit, value) })
    }

    unsafe fn cudaDeviceGetLimit(_: u64, pValue: *mut usize, limit: cudaLimit) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuCtxGetLimit(pValue, limit) })
    }

    unsafe fn cudaDeviceSetCacheConfig(_: u64, cacheConfig: cudaFuncCache) -> cudaError_t {
        // SAFETY: it takes a number.
        within(|| unsafe { cuCtxSetCacheConfig(cacheConfig) })
    }

    unsafe fn cudaDeviceGetCacheConfig(_: u64, pCacheConfig: *mut cudaFuncCache) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuCtxGetCacheConfig(pCacheConfig) })
    }

    unsafe fn cudaSetDeviceFlags(_: u64, flags: c_uint) -> cudaError_t {
        returned(|| device::set_flags(flags))
    }

    unsafe fn cudaGetDeviceFlags(_: u64, flags: *mut c_uint) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { put(flags, device::flags) }
    }

    unsafe fn cudaDeviceGetPCIBusId(
        _: u64,
        pciBusId: *mut c_char,
        len: c_int,
        device: c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        outside(|| unsafe { cuDeviceGetPCIBusId(pciBusId, len, device) })
    }

    unsafe fn cudaDeviceGetByPCIBusId(
        _: u64,
        device: *mut c_int,
        pciBusId: *const c_char,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        outside(|| unsafe { cuDeviceGetByPCIBusId(device, pciBusId) })
    }

    unsafe fn cudaChooseDevice(
        _: u64,
        device: *mut c_int,
        prop: *const cudaDeviceProp,
    ) -> cudaError_t {
        let choose = || {
            // SAFETY: the caller's.
            let asked = unsafe { prop.as_ref() }.ok_or(cudaErrorInvalidValue)?;
            peers::choose(asked)
        };
        // SAFETY: the caller's.
        unsafe { put(device, choose) }
    }

    unsafe fn cudaStreamCreate(_: u64, pStream: *mut cudaStream_t) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamCreate(pStream.cast(), 0) })
    }

    unsafe fn cudaStreamCreateWithFlags(
        _: u64,
        pStream: *mut cudaStream_t,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamCreate(pStream.cast(), flags) })
    }

    unsafe fn cudaStreamCreateWithPriority(
        _: u64,
        pStream: *mut cudaStream_t,
        flags: c_uint,
        priority: c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamCreateWithPriority(pStream.cast(), flags, priority) })
    }

    unsafe fn cudaStreamDestroy(_: u64, stream: cudaStream_t) -> cudaError_t {
        // SAFETY: it takes a handle.
        within(|| unsafe { cuStreamDestroy_v2(stream.cast()) })
    }

    unsafe fn cudaStreamSynchronize(_: u64, stream: cudaStream_t) -> cudaError_t {
        // SAFETY: it takes a handle.
        within(|| unsafe { cuStreamSynchronize(stream.cast()) })
    }

    unsafe fn cudaStreamQuery(_: u64, stream: cudaStream_t) -> cudaError_t {
        // SAFETY: it takes a handle.
        within(|| unsafe { cuStreamQuery(stream.cast()) })
    }

    unsafe fn cudaStreamWaitEvent(
        _: u64,
        stream: cudaStream_t,
        event: cudaEvent_t,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: it takes handles.
        within(|| unsafe { cuStreamWaitEvent(stream.cast(), event.cast(), flags) })
    }

    unsafe fn cudaStreamGetFlags(_: u64, hStream: cudaStream_t, flags: *mut c_uint) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamGetFlags(hStream.cast(), flags) })
    }

    unsafe fn cudaStreamGetPriority(
        _: u64,
        hStream: cudaStream_t,
        priority: *mut c_int,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuStreamGetPriority(hStream.cast(), priority) })
    }

    unsafe fn cudaEventCreate(_: u64, event: *mut cudaEvent_t) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuEventCreate(event.cast(), 0) })
    }

    unsafe fn cudaEventCreateWithFlags(
        _: u64,
        event: *mut cudaEvent_t,
        flags: c_uint,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuEventCreate(event.cast(), flags) })
    }

    unsafe fn cudaEventDestroy(_: u64, event: cudaEvent_t) -> cudaError_t {
        // SAFETY: it takes a handle.
        within(|| unsafe { cuEventDestroy_v2(event.cast()) })
    }

    unsafe fn cudaEventRecord(_: u64, event: cudaEvent_t, stream: cudaStream_t) -> cudaError_t {
        // SAFETY: it takes handles.
        within(|| unsafe { cuEventRecord(event.cast(), stream.cast()) })
    }

    unsafe fn cudaEventQuery(_: u64, event: cudaEvent_t) -> cudaError_t {
        // SAFETY: it takes a handle.
        within(|| unsafe { cuEventQuery(event.cast()) })
    }

    unsafe fn cudaEventSynchronize(_: u64, event: cudaEvent_t) -> cudaError_t {
        // SAFETY: it takes a handle.
        within(|| unsafe { cuEventSynchronize(event.cast()) })
    }

    unsafe fn cudaEventElapsedTime(
        _: u64,
        ms: *mut f32,
        start: cudaEvent_t,
        end: cudaEvent_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuEventElapsedTime_v2(ms, start.cast(), end.cast()) })
    }

    #[inline]
    unsafe fn cudaLaunchKernel(
        _: u64,
        func: *const c_void,
        gridDim: dim3,
        blockDim: dim3,
        args: *mut *mut c_void,
        sharedMem: usize,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let configuration = Configuration {
            grid: gridDim,
            block: blockDim,
            shared: sharedMem,
            stream,
        };
        // SAFETY: the caller's.
        returned(|| unsafe { launch::launch(func, &configuration, args) })
    }

    unsafe fn cudaFuncGetAttributes(
        _: u64,
        attr: *mut cudaFuncAttributes,
        func: *const c_void,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { put(attr, || properties::of_function(func)) }
    }

    unsafe fn cudaFuncSetAttribute(
        _: u64,
        func: *const c_void,
        attr: cudaFuncAttribute,
        value: c_int,
    ) -> cudaError_t {
        returned(|| {
            let function = binary::function(func)?;
            // SAFETY: it takes a handle and numbers.
            driver(unsafe { cuFuncSetAttribute(function, attr, value) })
        })
    }

    unsafe fn cudaFuncSetCacheConfig(
        _: u64,
        func: *const c_void,
        cacheConfig: cudaFuncCache,
    ) -> cudaError_t {
        returned(|| {
            let function = binary::function(func)?;
            // SAFETY: it takes a handle and a number.
            driver(unsafe { cuFuncSetCacheConfig(function, cacheConfig) })
        })
    }

    unsafe fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        entry: u64,
        numBlocks: *mut c_int,
        func: *const c_void,
        blockSize: c_int,
        dynamicSMemSize: usize,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            Self::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                entry,
                numBlocks,
                func,
                blockSize,
                dynamicSMemSize,
                0,
            )
        }
    }

    unsafe fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        _: u64,
        numBlocks: *mut c_int,
        func: *const c_void,
        blockSize: c_int,
        dynamicSMemSize: usize,
        flags: c_uint,
    ) -> cudaError_t {
        returned(|| {
            let function = binary::function(func)?;
            // SAFETY: the caller's.
            driver(unsafe {
                cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                    numBlocks,
                    function,
                    blockSize,
                    dynamicSMemSize,
                    flags,
                )
            })
        })
    }

    unsafe fn __cudaRegisterFatBinary(_: u64, fatCubin: *mut c_void) -> *mut *mut c_void {
        binary::register(fatCubin)
    }

    unsafe fn __cudaRegisterFatBinaryEnd(_: u64, _: *mut *mut c_void) {}

    unsafe fn __cudaUnregisterFatBinary(_: u64, fatCubinHandle: *mut *mut c_void) {
        binary::unregister(fatCubinHandle);
    }

    unsafe fn __cudaRegisterFunction(
        _: u64,
        fatCubinHandle: *mut *mut c_void,
        hostFun: *const c_char,
        _: *mut c_char,
        deviceName: *const c_char,
        _: c_int,
        _: *mut uint3,
        _: *mut uint3,
        _: *mut dim3,
        _: *mut dim3,
        _: *mut c_int,
    ) {
        // SAFETY: the compiler's.
        unsafe { binary::register_function(fatCubinHandle, hostFun, deviceName) };
    }

    unsafe fn __cudaRegisterVar(
        _: u64,
        fatCubinHandle: *mut *mut c_void,
        hostVar: *mut c_char,
        _: *mut c_char,
        deviceName: *const c_char,
        _: c_int,
        _: usize,
        _: c_int,
        _: c_int,
    ) {
        // SAFETY: the compiler's.
        unsafe { binary::register_variable(fatCubinHandle, hostVar, deviceName) };
    }

    unsafe fn __cudaInitModule(_: u64, fatCubinHandle: *mut *mut c_void) -> c_char {
        let code = returned(|| binary::load(fatCubinHandle));
        c_char::from(code == cudaSuccess)
    }

    unsafe fn __cudaPushCallConfiguration(
        _: u64,
        gridDim: dim3,
        blockDim: dim3,
        sharedMem: usize,
        stream: cudaStream_t,
    ) -> c_uint {
        let is_pushed = launch::push(Configuration {
            grid: gridDim,
            block: blockDim,
            shared: sharedMem,
            stream,
        });
        c_uint::from(!is_pushed)
    }

    unsafe fn __cudaPopCallConfiguration(
        _: u64,
        gridDim: *mut dim3,
        blockDim: *mut dim3,
        sharedMem: *mut usize,
        stream: *mut c_void,
    ) -> cudaError_t {
        returned(|| {
            let configuration = launch::pop()?;
            // SAFETY: the compiler's.
            unsafe {
                place(gridDim)?.write(configuration.grid);
                place(blockDim)?.write(configuration.block);
                place(sharedMem)?.write(configuration.shared);
                place(stream.cast::<cudaStream_t>())?.write(configuration.stream);
            }
            Ok(())
        })
    }

    unsafe fn __cudaGetKernel(
        _: u64,
        kernel: *mut cudaKernel_t,
        func: *const c_void,
    ) -> cudaError_t {
        // A kernel's handle is the address by which the program names it.
        let known = || match binary::is_function(func) {
            true => Ok(func.cast_mut().cast()),
            false => Err(cudaErrorInvalidDeviceFunction),
        };
        // SAFETY: the caller's.
        unsafe { put(kernel, known) }
    }

    unsafe fn __cudaLaunchKernel(
        entry: u64,
        kernel: cudaKernel_t,
        gridDim: dim3,
        blockDim: dim3,
        args: *mut *mut c_void,
        sharedMem: usize,
        stream: cudaStream_t,
    ) -> cudaError_t {
        let func = kernel.cast::<c_void>();
        // SAFETY: the caller's.
        unsafe { Self::cudaLaunchKernel(entry, func, gridDim, blockDim, args, sharedMem, stream) }
    }
}

/// A copy of rows, from and to memory with a pitch each.
fn rows(
    (to, to_pitch): (*mut c_void, usize),
    (from, from_pitch): (*const c_void, usize),
    (width, height): (usize, usize),
    kind: cudaMemcpyKind,
) -> (Way, Rows) {
    let rows = Rows {
        width,
        to_pitch,
        from_pitch,
        height,
    };
    (Way { to, from, kind }, rows)
}
