//! Libraries, kernels by address, and functions of the driver API by name.

use super::*;
use crate::generated::manual::Libraries;

/// What is said of a name, as the driver API has it.
type Status = cudaDriverEntryPointQueryResult;

/// Options of the compiler and of the library, as the driver API has them: the same numbers.
type Lists = (*mut cudaJitOption, *mut *mut c_void, c_uint);
type OfLibrary = (*mut cudaLibraryOption, *mut *mut c_void, c_uint);

/// Flags of a search by name: of these, 0 asks for the program's own default stream.
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;
/// The flag of a device's initialization with which the device has flags of its own.
const HAS_FLAGS: c_uint = 1;

/// The driver API's function of a name, of a version of CUDA or else of the runtime's. A name that
/// is not there is no error: the status says so, and the function is null.
///
/// # Safety
/// `symbol` is null or a text; the places are null or have space.
unsafe fn entry_point(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: Option<c_uint>,
    flags: u64,
    status: *mut Status,
) -> cudaError_t {
    returned(|| {
        let function = place(function)?;
        device::initialized()?;
        let (mut found, mut newest) = (0, 0);
        // SAFETY: there is space for a number.
        driver(unsafe { cuDriverGetVersion(&mut newest) })?;
        let version = match version.map(c_int::try_from) {
            None => newest.min(VERSION),
            Some(Ok(version)) if version <= newest => version,
            Some(_) => return Err(cudaErrorInvalidValue),
        };
        // SAFETY: the caller's; there is space for a number.
        let code = unsafe { cuGetProcAddress_v2(symbol, function, version, flags, &mut found) };
        if code != cudaErrorSymbolNotFound {
            driver(code)?;
        }
        if !status.is_null() {
            // SAFETY: the caller's.
            unsafe { status.write(found) };
        }
        Ok(())
    })
}

/// Flags with which functions have the thread's own default stream, unless they ask for the other.
fn of_thread(flags: u64) -> u64 {
    match flags & LEGACY {
        0 => flags | PER_THREAD,
        _ => flags,
    }
}

impl Libraries for Guest {
    unsafe fn cudaLibraryLoadData(
        _: u64,
        library: *mut cudaLibrary_t,
        code: *const c_void,
        jitOptions: *mut cudaJitOption,
        jitOptionsValues: *mut *mut c_void,
        numJitOptions: c_uint,
        libraryOptions: *mut cudaLibraryOption,
        libraryOptionValues: *mut *mut c_void,
        numLibraryOptions: c_uint,
    ) -> cudaError_t {
        let (jit, values, jits): Lists = (jitOptions, jitOptionsValues, numJitOptions);
        let (own, own_values, owns): OfLibrary =
            (libraryOptions, libraryOptionValues, numLibraryOptions);
        let to = library.cast();
        // SAFETY: the caller's.
        within(|| unsafe { cuLibraryLoadData(to, code, jit, values, jits, own, own_values, owns) })
    }

    unsafe fn cudaLibraryLoadFromFile(
        _: u64,
        library: *mut cudaLibrary_t,
        fileName: *const c_char,
        jitOptions: *mut cudaJitOption,
        jitOptionsValues: *mut *mut c_void,
        numJitOptions: c_uint,
        libraryOptions: *mut cudaLibraryOption,
        libraryOptionValues: *mut *mut c_void,
        numLibraryOptions: c_uint,
    ) -> cudaError_t {
        let (jit, values, jits): Lists = (jitOptions, jitOptionsValues, numJitOptions);
        let (own, own_values, owns): OfLibrary =
            (libraryOptions, libraryOptionValues, numLibraryOptions);
        let to = library.cast();
        // SAFETY: the caller's.
        within(|| unsafe {
            cuLibraryLoadFromFile(to, fileName, jit, values, jits, own, own_values, owns)
        })
    }

    unsafe fn cudaLibraryUnload(_: u64, library: cudaLibrary_t) -> cudaError_t {
        // SAFETY: it takes a handle.
        outside(|| unsafe { cuLibraryUnload(library.cast()) })
    }

    unsafe fn cudaLibraryGetKernel(
        _: u64,
        pKernel: *mut cudaKernel_t,
        library: cudaLibrary_t,
        name: *const c_char,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuLibraryGetKernel(pKernel.cast(), library.cast(), name) })
    }

    unsafe fn cudaLibraryGetGlobal(
        _: u64,
        dptr: *mut *mut c_void,
        bytes: *mut usize,
        library: cudaLibrary_t,
        name: *const c_char,
    ) -> cudaError_t {
        // SAFETY: the caller's; an address of the device's is as long as one of the program's.
        within(|| unsafe { cuLibraryGetGlobal(dptr.cast(), bytes, library.cast(), name) })
    }

    unsafe fn cudaLibraryGetManaged(
        _: u64,
        dptr: *mut *mut c_void,
        bytes: *mut usize,
        library: cudaLibrary_t,
        name: *const c_char,
    ) -> cudaError_t {
        // SAFETY: as above.
        within(|| unsafe { cuLibraryGetManaged(dptr.cast(), bytes, library.cast(), name) })
    }

    unsafe fn cudaLibraryGetUnifiedFunction(
        _: u64,
        fptr: *mut *mut c_void,
        library: cudaLibrary_t,
        symbol: *const c_char,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuLibraryGetUnifiedFunction(fptr, library.cast(), symbol) })
    }

    unsafe fn cudaKernelSetAttributeForDevice(
        _: u64,
        kernel: cudaKernel_t,
        attr: cudaFuncAttribute,
        value: c_int,
        device: c_int,
    ) -> cudaError_t {
        outside(|| {
            // SAFETY: it takes a handle and numbers.
            let result = unsafe { cuKernelSetAttribute(attr, value, kernel.cast(), device) };
            binary::kernels_changed();
            result
        })
    }

    unsafe fn cudaLibraryGetKernelCount(
        _: u64,
        count: *mut c_uint,
        lib: cudaLibrary_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuLibraryGetKernelCount(count, lib.cast()) })
    }

    unsafe fn cudaLibraryEnumerateKernels(
        _: u64,
        kernels: *mut cudaKernel_t,
        numKernels: c_uint,
        lib: cudaLibrary_t,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        within(|| unsafe { cuLibraryEnumerateKernels(kernels.cast(), numKernels, lib.cast()) })
    }

    unsafe fn cudaGetFuncBySymbol(
        _: u64,
        functionPtr: *mut cudaFunction_t,
        symbolPtr: *const c_void,
    ) -> cudaError_t {
        let found = || binary::function(symbolPtr).map(|function| function.cast());
        // SAFETY: the caller's.
        unsafe { put(functionPtr, found) }
    }

    unsafe fn cudaGetKernel(
        _: u64,
        kernelPtr: *mut cudaKernel_t,
        entryFuncAddr: *const c_void,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { put(kernelPtr, || Ok(binary::kernel(entryFuncAddr)?.cast())) }
    }

    unsafe fn cudaGetDriverEntryPoint(
        _: u64,
        symbol: *const c_char,
        funcPtr: *mut *mut c_void,
        flags: u64,
        driverStatus: *mut Status,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { entry_point(symbol, funcPtr, None, flags, driverStatus) }
    }

    unsafe fn cudaGetDriverEntryPointByVersion(
        _: u64,
        symbol: *const c_char,
        funcPtr: *mut *mut c_void,
        cudaVersion: c_uint,
        flags: u64,
        driverStatus: *mut Status,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { entry_point(symbol, funcPtr, Some(cudaVersion), flags, driverStatus) }
    }

    unsafe fn cudaGetDriverEntryPoint_ptsz(
        _: u64,
        symbol: *const c_char,
        funcPtr: *mut *mut c_void,
        flags: u64,
        driverStatus: *mut Status,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe { entry_point(symbol, funcPtr, None, of_thread(flags), driverStatus) }
    }

    unsafe fn cudaGetDriverEntryPointByVersion_ptsz(
        _: u64,
        symbol: *const c_char,
        funcPtr: *mut *mut c_void,
        cudaVersion: c_uint,
        flags: u64,
        driverStatus: *mut Status,
    ) -> cudaError_t {
        // SAFETY: the caller's.
        unsafe {
            entry_point(
                symbol,
                funcPtr,
                Some(cudaVersion),
                of_thread(flags),
                driverStatus,
            )
        }
    }

    unsafe fn cudaInitDevice(
        _: u64,
        device: c_int,
        deviceFlags: c_uint,
        flags: c_uint,
    ) -> cudaError_t {
        returned(|| {
            device::check(device)?;
            match flags {
                0 => {}
                // SAFETY: it takes numbers.
                HAS_FLAGS => driver(unsafe { cuDevicePrimaryCtxSetFlags_v2(device, deviceFlags) })?,
                _ => return Err(cudaErrorInvalidValue),
            }
            device::primary(device).map(|_| ())
        })
    }

    unsafe fn cudaSetValidDevices(_: u64, device_arr: *mut c_int, len: c_int) -> cudaError_t {
        returned(|| {
            let len = usize::try_from(len).map_err(|_| cudaErrorInvalidValue)?;
            let mut count = 0;
            device::initialized()?;
            // SAFETY: there is space for a number.
            driver(unsafe { cuDeviceGetCount(&mut count) })?;
            if len > usize::try_from(count).unwrap_or(0) || len > 0 && device_arr.is_null() {
                return Err(cudaErrorInvalidValue);
            }
            // SAFETY: the caller's: there are as many.
            let devices: Vec<_> = (0..len).map(|n| unsafe { *device_arr.add(n) }).collect();
            device::prefer(devices)
        })
    }
}
