//! What CUDA's compiler registers as a program starts: fat binaries, and the kernels and
//! variables in them, which programs name by addresses of their own. A binary is a library of
//! the driver API's, made when something of it is used first.

use super::device;
use super::error::{Answer, driver};
use crate::generated::types::*;
use gil_cuda::generated::stubs::*;
use gil_cuda::generated::types as cu;
use gil_cuda_common::image::{FAT, WRAPPER};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// A fat binary of the program's.
#[derive(Debug)]
struct Binary {
    /// Where its wrapper is.
    wrapper: usize,
    /// What the program has as its handle.
    handle: Box<usize>,
    /// The library that it is; 0 before its first use.
    library: usize,
}

/// Something in a binary that the program names by an address.
#[derive(Debug)]
struct Symbol<T> {
    /// The binary's handle.
    binary: usize,
    name: CString,
    /// What it is in a context, by the context's number.
    found: BTreeMap<u64, T>,
}

/// A variable: where it is in the device's memory, and its bytes.
pub type Variable = (cu::CUdeviceptr, usize);

/// The option of a library whose code stays where it is.
const IS_PRESERVED: cu::CUlibraryOption = 1;

/// Everything that is registered.
#[derive(Debug)]
struct All {
    /// By their handles.
    binaries: BTreeMap<usize, Binary>,
    /// By the addresses of what programs call.
    functions: BTreeMap<usize, Symbol<usize>>,
    /// By the addresses of the program's variables.
    variables: BTreeMap<usize, Symbol<Variable>>,
}

static ALL: Mutex<All> = Mutex::new(All {
    binaries: BTreeMap::new(),
    functions: BTreeMap::new(),
    variables: BTreeMap::new(),
});

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often something was unregistered.
static GENERATION: AtomicU64 = AtomicU64::new(0);
/// Whether the process exits, with which the board frees all.
static EXITS: AtomicBool = AtomicBool::new(false);

extern "C" fn exits() {
    EXITS.store(true, Ordering::Relaxed);
}

/// The function that a thread used last.
#[derive(Clone, Copy, Debug)]
struct Latest {
    host: usize,
    context: u64,
    generation: u64,
    function: usize,
}

thread_local! {
    static LATEST: Cell<Latest> = const {
        Cell::new(Latest { host: 0, context: 0, generation: 0, function: 0 })
    };
}

/// Registers the fat binary of a wrapper; its handle.
pub fn register(wrapper: *const c_void) -> *mut *mut c_void {
    let wrapper = wrapper.expose_provenance();
    let handle = Box::new(wrapper);
    let place: *const usize = &raw const *handle;
    let binary = Binary {
        wrapper,
        handle,
        library: 0,
    };
    all().binaries.insert(place.expose_provenance(), binary);
    place.cast_mut().cast()
}

/// What is in a binary goes with it.
pub fn unregister(handle: *mut *mut c_void) {
    let mut all = all();
    let Some(binary) = all.binaries.remove(&handle.addr()) else {
        return;
    };
    GENERATION.fetch_add(1, Ordering::Release);
    let binary_of = binary.handle.as_ref() as *const usize;
    all.functions.retain(|_, it| it.binary != binary_of.addr());
    all.variables.retain(|_, it| it.binary != binary_of.addr());
    drop(all);
    if EXITS.load(Ordering::Relaxed) {
        return;
    }
    if binary.library != 0 {
        // SAFETY: the handle of a library. There is nobody to report an error to.
        let _ = unsafe { cuLibraryUnload(handle_at(binary.library)) };
    }
}

fn handle_at<T>(address: usize) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address)
}

/// A context is gone, and what was loaded into it.
pub fn forget(context: u64) {
    let mut all = all();
    for function in all.functions.values_mut() {
        function.found.remove(&context);
    }
    for variable in all.variables.values_mut() {
        variable.found.remove(&context);
    }
}

fn symbol<T>(binary: *mut *mut c_void, name: *const c_char) -> Option<Symbol<T>> {
    if name.is_null() {
        return None;
    }
    Some(Symbol {
        binary: binary.addr(),
        // SAFETY: the compiler's: a text.
        name: unsafe { CStr::from_ptr(name) }.into(),
        found: BTreeMap::new(),
    })
}

/// Registers a kernel of a binary.
///
/// # Safety
/// `name` is null or a text.
pub unsafe fn register_function(
    binary: *mut *mut c_void,
    host: *const c_char,
    name: *const c_char,
) {
    if let Some(function) = symbol(binary, name) {
        all().functions.insert(host.addr(), function);
    }
}

/// Registers a variable of a binary.
///
/// # Safety
/// `name` is null or a text.
pub unsafe fn register_variable(
    binary: *mut *mut c_void,
    host: *const c_char,
    name: *const c_char,
) {
    if let Some(variable) = symbol(binary, name) {
        all().variables.insert(host.addr(), variable);
    }
}

/// Whether a kernel is registered under this address.
pub fn is_function(host: *const c_void) -> bool {
    all().functions.contains_key(&host.addr())
}

/// Loads a binary into the thread's context.
///
/// # Errors
/// The driver's.
pub fn load(handle: *mut *mut c_void) -> Answer {
    device::ready()?;
    let mut all = all();
    let binary = all.binaries.get_mut(&handle.addr());
    binary.ok_or(cudaErrorInvalidValue)?.module()?;
    Ok(())
}

impl Binary {
    /// The library that it is.
    fn library(&mut self) -> Answer<cu::CUlibrary> {
        if self.library != 0 {
            return Ok(handle_at(self.library));
        }
        static ONCE: Once = Once::new();
        // SAFETY: it takes a plain function, which is there until the process exits.
        ONCE.call_once(|| unsafe {
            libc::atexit(exits);
        });
        let wrapper: *const c_void = handle_at(self.wrapper);
        let mut library: cu::CUlibrary = std::ptr::null_mut();
        // The program has the binary until it unregisters it.
        let mut options = [IS_PRESERVED];
        let (none, no_values) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the compiler's: a wrapper, and a fat binary behind it; an option without a value.
        unsafe {
            check(wrapper)?;
            driver(cuLibraryLoadData(
                &mut library,
                wrapper,
                none,
                no_values,
                0,
                options.as_mut_ptr(),
                no_values,
                1,
            ))?;
        }
        self.library = library.expose_provenance();
        Ok(library)
    }

    /// The module that it is in the thread's context.
    fn module(&mut self) -> Answer<cu::CUmodule> {
        let library = self.library()?;
        let mut module = std::ptr::null_mut();
        // SAFETY: there is space for a handle.
        driver(unsafe { cuLibraryGetModule(&mut module, library) })?;
        Ok(module)
    }
}

/// Checks a wrapper, and how the fat binary behind it begins: its header's bytes, and so many
/// more that it is none without any.
///
/// # Safety
/// `wrapper` is null or has as many bytes as a wrapper, and an address of a header.
unsafe fn check(wrapper: *const c_void) -> Answer {
    let invalid = cudaErrorInvalidKernelImage;
    if wrapper.is_null() {
        return Err(invalid);
    }
    // SAFETY: the caller's.
    unsafe {
        let first = wrapper.cast::<u32>().read_unaligned();
        let data = wrapper.cast::<*const u8>().add(1).read_unaligned();
        if first != WRAPPER || data.is_null() || data.cast::<u32>().read_unaligned() != FAT {
            return Err(invalid);
        }
        let header = data.add(6).cast::<u16>().read_unaligned();
        let rest = data.add(8).cast::<u64>().read_unaligned();
        match header >= 16 && rest > 0 {
            true => Ok(()),
            false => Err(invalid),
        }
    }
}

/// The kernel that a program names by this address, in the thread's context.
///
/// # Errors
/// `cudaErrorInvalidDeviceFunction` if there is none, or the driver's.
#[inline]
pub fn function(host: *const c_void) -> Answer<cu::CUfunction> {
    let context = device::ready()?;
    let generation = GENERATION.load(Ordering::Acquire);
    let latest = LATEST.try_with(Cell::get);
    if let Ok(latest) = latest
        && (latest.host, latest.context) == (host.addr(), context)
        && latest.generation == generation
        && latest.function != 0
    {
        return Ok(handle_at(latest.function));
    }
    let Some(function) = find_function(host.addr(), context)? else {
        return of_kernel(host);
    };
    let latest = Latest {
        host: host.addr(),
        context,
        generation,
        function,
    };
    let _ = LATEST.try_with(|known| known.set(latest));
    Ok(handle_at(function))
}

/// The same of a kernel's handle, which programs have in the place of an address.
#[cold]
fn of_kernel(host: *const c_void) -> Answer<cu::CUfunction> {
    let mut found = std::ptr::null_mut();
    // SAFETY: there is space for a handle.
    match unsafe { cuKernelGetFunction(&mut found, host.cast_mut().cast()) } {
        cudaErrorInvalidResourceHandle => Err(cudaErrorInvalidDeviceFunction),
        code => driver(code).map(|()| found),
    }
}

/// What kernels have changed: functions are looked for again, in each context.
pub fn kernels_changed() {
    let mut all = all();
    GENERATION.fetch_add(1, Ordering::Release);
    all.functions
        .values_mut()
        .for_each(|function| function.found.clear());
}

/// A kernel that is registered under this address; `None` if there is none.
#[inline(never)]
fn find_function(host: usize, context: u64) -> Answer<Option<usize>> {
    let All {
        binaries,
        functions,
        ..
    } = &mut *all();
    let Some(function) = functions.get_mut(&host) else {
        return Ok(None);
    };
    if let Some(known) = function.found.get(&context) {
        return Ok(Some(*known));
    }
    let missing = cudaErrorInvalidDeviceFunction;
    let binary = binaries.get_mut(&function.binary).ok_or(missing)?;
    let kernel = kernel_in(binary, &function.name)?;
    let mut found: cu::CUfunction = std::ptr::null_mut();
    // SAFETY: there is space for a handle.
    driver(unsafe { cuKernelGetFunction(&mut found, kernel) })?;
    let found = found.expose_provenance();
    function.found.insert(context, found);
    Ok(Some(found))
}

/// A binary's kernel of a name.
fn kernel_in(binary: &mut Binary, name: &CStr) -> Answer<cu::CUkernel> {
    let library = binary.library()?;
    let mut kernel = std::ptr::null_mut();
    // SAFETY: there is space for a handle; the name is a text.
    match unsafe { cuLibraryGetKernel(&mut kernel, library, name.as_ptr()) } {
        cudaErrorSymbolNotFound => Err(cudaErrorInvalidDeviceFunction),
        code => driver(code).map(|()| kernel),
    }
}

/// The kernel, of no context, that a program names by this address.
///
/// # Errors
/// `cudaErrorInvalidDeviceFunction` if there is none, or the driver's.
pub fn kernel(host: *const c_void) -> Answer<cu::CUkernel> {
    device::ready()?;
    let All {
        binaries,
        functions,
        ..
    } = &mut *all();
    let missing = cudaErrorInvalidDeviceFunction;
    let function = functions.get(&host.addr()).ok_or(missing)?;
    let binary = binaries.get_mut(&function.binary).ok_or(missing)?;
    kernel_in(binary, &function.name)
}

/// The variable that a program names by this address, in the thread's context.
///
/// # Errors
/// `cudaErrorInvalidSymbol` if there is none, or the driver's.
pub fn variable(host: *const c_void) -> Answer<Variable> {
    let context = device::ready()?;
    let All {
        binaries,
        variables,
        ..
    } = &mut *all();
    let missing = cudaErrorInvalidSymbol;
    let variable = variables.get_mut(&host.addr()).ok_or(missing)?;
    if let Some(known) = variable.found.get(&context) {
        return Ok(*known);
    }
    let binary = binaries.get_mut(&variable.binary).ok_or(missing)?;
    let module = binary.module()?;
    let (mut address, mut bytes) = (0, 0);
    let name = variable.name.as_ptr();
    // SAFETY: there is space for both; the name is a text.
    match unsafe { cuModuleGetGlobal_v2(&mut address, &mut bytes, module, name) } {
        cudaErrorSymbolNotFound => return Err(missing),
        code => driver(code)?,
    }
    variable.found.insert(context, (address, bytes));
    Ok((address, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(first: u32, data: &[u64; 3]) -> Answer {
        let wrapper = [
            u64::from(first) | 1 << 32,
            data.as_ptr().expose_provenance() as u64,
            0,
        ];
        // SAFETY: a wrapper with the address of a header.
        unsafe { check(wrapper.as_ptr().cast()) }
    }

    #[test]
    fn a_wrapper_has_a_fat_binary() {
        let header = |word: u32, header: u64| u64::from(word) | 1 << 32 | header << 48;
        let whole = [header(FAT, 16), 8, 0];
        assert_eq!(checked(WRAPPER, &whole), Ok(()));
        let invalid = Err(cudaErrorInvalidKernelImage);
        assert_eq!(checked(WRAPPER + 1, &whole), invalid);
        assert_eq!(checked(WRAPPER, &[header(FAT + 1, 16), 8, 0]), invalid);
        assert_eq!(checked(WRAPPER, &[header(FAT, 8), 8, 0]), invalid);
        assert_eq!(checked(WRAPPER, &[header(FAT, 16), 0, 0]), invalid);
        // SAFETY: null.
        assert_eq!(unsafe { check(std::ptr::null()) }, invalid);
    }

    #[test]
    fn what_is_in_a_binary_goes_with_it() {
        let (one, other) = (register(std::ptr::null()), register(std::ptr::null()));
        assert_ne!(one, other);
        let host = |place: &'static u8| std::ptr::from_ref(place);
        let (a, b) = (host(&1), host(&2));
        // SAFETY: a text, or null.
        unsafe {
            register_function(one, a.cast(), c"a".as_ptr());
            register_function(other, b.cast(), c"b".as_ptr());
            register_function(other, c"c".as_ptr(), std::ptr::null());
        }
        assert!(is_function(a.cast()) && is_function(b.cast()));
        assert!(!is_function(c"c".as_ptr().cast()));
        unregister(one);
        unregister(one);
        assert!(!is_function(a.cast()) && is_function(b.cast()));
        unregister(other);
        assert!(!is_function(b.cast()));
    }
}
