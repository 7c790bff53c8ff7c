//! Libraries and their kernels.

use super::*;
use crate::generated::manual::Libraries;
use crate::generated::stubs::{cuFuncGetAttribute, cuFuncGetParamInfo, cuModuleGetFunctionCount};
use crate::support::library::{self, Options};
use std::ffi::CStr;

/// A text of the program's.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for null.
///
/// # Safety
/// `text` is null or a text.
unsafe fn text<'a>(text: *const c_char) -> CallResult<&'a CStr> {
    match text.is_null() {
        true => Err(CUDA_ERROR_INVALID_VALUE),
        // SAFETY: the caller's.
        false => Ok(unsafe { CStr::from_ptr(text) }),
    }
}

/// Checks what is asked for by a name, of which the address or the bytes may be left out.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`, or for a library that is none.
///
/// # Safety
/// As [`text`].
unsafe fn named(
    (address, bytes): (*mut CUdeviceptr, *mut usize),
    library: CUlibrary,
    name: *const c_char,
) -> CallResult<()> {
    if address.is_null() && bytes.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    unsafe { text(name) }?;
    library::check(library)
}

impl Libraries for Guest {
    unsafe fn cuLibraryLoadData(
        entry: u64,
        library: *mut CUlibrary,
        code: *const c_void,
        jitOptions: *mut CUjit_option,
        jitOptionsValues: *mut *mut c_void,
        numJitOptions: c_uint,
        libraryOptions: *mut CUlibraryOption,
        _: *mut *mut c_void,
        numLibraryOptions: c_uint,
    ) -> CUresult {
        let options = Options {
            compiler: (numJitOptions, jitOptions, jitOptionsValues),
            library: (numLibraryOptions, libraryOptions),
        };
        // SAFETY: the caller's.
        unsafe { put(library, || library::load(entry, code, options)) }
    }

    unsafe fn cuLibraryLoadFromFile(
        entry: u64,
        library: *mut CUlibrary,
        fileName: *const c_char,
        jitOptions: *mut CUjit_option,
        jitOptionsValues: *mut *mut c_void,
        numJitOptions: c_uint,
        libraryOptions: *mut CUlibraryOption,
        _: *mut *mut c_void,
        numLibraryOptions: c_uint,
    ) -> CUresult {
        let options = Options {
            compiler: (numJitOptions, jitOptions, jitOptionsValues),
            library: (numLibraryOptions, libraryOptions),
        };
        // SAFETY: the caller's.
        unsafe { put(library, || library::load_file(entry, fileName, options)) }
    }

    unsafe fn cuLibraryUnload(entry: u64, library: CUlibrary) -> CUresult {
        Self::returned(|| library::unload(entry, library))
    }

    unsafe fn cuLibraryGetKernel(
        entry: u64,
        pKernel: *mut CUkernel,
        library: CUlibrary,
        name: *const c_char,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pKernel, || library::kernel(entry, library, text(name)?)) }
    }

    unsafe fn cuLibraryGetKernelCount(entry: u64, count: *mut c_uint, lib: CUlibrary) -> CUresult {
        Self::returned(|| {
            let count = place(count)?;
            library::check(lib)?;
            context::on(entry, None, || {
                let module = library::module_of(entry, lib)?;
                // SAFETY: the caller's.
                Self::check(unsafe { cuModuleGetFunctionCount(count, module) })
            })
        })
    }

    unsafe fn cuLibraryEnumerateKernels(
        entry: u64,
        kernels: *mut CUkernel,
        numKernels: c_uint,
        lib: CUlibrary,
    ) -> CUresult {
        Self::returned(|| {
            let to = place(kernels)?;
            library::check(lib)?;
            let names = context::on(entry, None, || {
                module::names(entry, library::module_of(entry, lib)?, numKernels)
            })?;
            for (n, name) in names.iter().enumerate() {
                let kernel = library::kernel(entry, lib, name)?;
                // SAFETY: the caller's: there are no more than it has space for.
                unsafe { to.add(n).write(kernel) };
            }
            Ok(())
        })
    }

    unsafe fn cuLibraryGetModule(entry: u64, pMod: *mut CUmodule, library: CUlibrary) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pMod, || library::module_of(entry, library)) }
    }

    unsafe fn cuLibraryGetGlobal(
        entry: u64,
        dptr: *mut CUdeviceptr,
        bytes: *mut usize,
        library: CUlibrary,
        name: *const c_char,
    ) -> CUresult {
        let found = || {
            // SAFETY: the caller's.
            unsafe {
                named((dptr, bytes), library, name)?;
                module::variable(entry, library::module_of(entry, library)?, name)
            }
        };
        // SAFETY: the caller's.
        unsafe { put_both((dptr, bytes), found) }
    }

    unsafe fn cuLibraryGetManaged(
        _: u64,
        dptr: *mut CUdeviceptr,
        bytes: *mut usize,
        library: CUlibrary,
        name: *const c_char,
    ) -> CUresult {
        Self::returned(|| {
            // SAFETY: the caller's.
            unsafe { named((dptr, bytes), library, name) }?;
            // The guest has no managed memory.
            Err(CUDA_ERROR_NOT_FOUND)
        })
    }

    unsafe fn cuLibraryGetUnifiedFunction(
        _: u64,
        fptr: *mut *mut c_void,
        library: CUlibrary,
        symbol: *const c_char,
    ) -> CUresult {
        Self::returned(|| {
            place(fptr)?;
            // SAFETY: the caller's.
            unsafe { text(symbol) }?;
            library::check(library)?;
            // No device of the guest's has them, as its attribute says.
            Err(CUDA_ERROR_NOT_FOUND)
        })
    }

    unsafe fn cuKernelGetFunction(
        entry: u64,
        pFunc: *mut CUfunction,
        kernel: CUkernel,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pFunc, || library::find_kernel(kernel)?.function(entry)) }
    }

    unsafe fn cuKernelGetLibrary(_: u64, pLib: *mut CUlibrary, kernel: CUkernel) -> CUresult {
        let of = || {
            let kernel = library::find_kernel(kernel)?;
            Ok(std::ptr::with_exposed_provenance_mut(kernel.handle))
        };
        // SAFETY: the caller's.
        unsafe { put(pLib, of) }
    }

    unsafe fn cuKernelGetAttribute(
        entry: u64,
        pi: *mut c_int,
        attrib: CUfunction_attribute,
        kernel: CUkernel,
        dev: CUdevice,
    ) -> CUresult {
        Self::returned(|| {
            let pi = place(pi)?;
            library::find_kernel(kernel)?.on(entry, Some(dev), |function| {
                // SAFETY: the caller's.
                Self::check(unsafe { cuFuncGetAttribute(pi, attrib, function) })
            })
        })
    }

    unsafe fn cuKernelSetAttribute(
        entry: u64,
        attrib: CUfunction_attribute,
        val: c_int,
        kernel: CUkernel,
        dev: CUdevice,
    ) -> CUresult {
        Self::returned(|| {
            let kernel = library::find_kernel(kernel)?;
            kernel.set_attribute(entry, (attrib, val), dev)
        })
    }

    unsafe fn cuKernelSetCacheConfig(
        entry: u64,
        kernel: CUkernel,
        config: CUfunc_cache,
        dev: CUdevice,
    ) -> CUresult {
        Self::returned(|| library::find_kernel(kernel)?.set_cache(entry, config, dev))
    }

    unsafe fn cuKernelGetName(_: u64, name: *mut *const c_char, hfunc: CUkernel) -> CUresult {
        // SAFETY: the caller's; the name is there as long as the library.
        unsafe { put(name, || Ok(library::find_kernel(hfunc)?.name.as_ptr())) }
    }

    unsafe fn cuKernelGetParamInfo(
        entry: u64,
        kernel: CUkernel,
        paramIndex: usize,
        paramOffset: *mut usize,
        paramSize: *mut usize,
    ) -> CUresult {
        Self::returned(|| {
            library::find_kernel(kernel)?.on(entry, None, |function| {
                // SAFETY: the caller's.
                let code =
                    unsafe { cuFuncGetParamInfo(function, paramIndex, paramOffset, paramSize) };
                Self::check(code)
            })
        })
    }
}
