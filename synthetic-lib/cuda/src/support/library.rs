//! Libraries: code that belongs to no context. It becomes a module in each context in which
//! something of it is used first, and its kernels functions there. The board knows of the
//! modules alone.

use super::context::{self, Context};
use super::jit::{self, Places};
use super::{Details, create, image, launch, module};
use crate::generated::manual::{Guest, Object};
use crate::generated::stubs::{cuFuncSetAttribute, cuFuncSetCacheConfig};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, new_number};
use gil_wire::generated::cuda::{self as wire, Kind};
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A library.
#[derive(Debug)]
pub struct Library {
    image: Image,
    /// The compiler's, as pairs of words.
    options: Vec<u64>,
    /// The modules that it became, by their contexts' numbers; `None` once it is unloaded.
    modules: Mutex<Option<BTreeMap<u64, usize>>>,
    /// The handles of its kernels that the program asked for.
    kernels: Mutex<HashMap<CString, usize>>,
}

/// A library's code.
#[derive(Debug)]
enum Image {
    Own(Box<[u8]>),
    /// The program's, which keeps it until the library is unloaded: an address, and how many bytes.
    Programs(usize, usize),
}

impl Image {
    fn place(&self) -> (*const c_void, usize) {
        match self {
            Self::Own(bytes) => (bytes.as_ptr().cast(), bytes.len()),
            Self::Programs(address, len) => (handle_at::<c_void>(*address).cast_const(), *len),
        }
    }
}

/// A kernel of a library.
#[derive(Debug)]
pub struct Kernel {
    library: Arc<Library>,
    /// The program's handle of its library.
    pub handle: usize,
    /// Its name.
    pub name: CString,
    settings: Mutex<Settings>,
}

/// What a program set of a kernel, and the functions that have it.
#[derive(Debug, Default)]
struct Settings {
    attributes: BTreeMap<(CUdevice, CUfunction_attribute), c_int>,
    caches: BTreeMap<CUdevice, CUfunc_cache>,
    /// By their contexts' numbers.
    functions: BTreeMap<u64, usize>,
}

fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

fn handle_at<T>(address: usize) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address)
}

/// Options of a library, and of the compiler.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Those of the compiler: how many, which, their values.
    pub compiler: (u32, *mut CUjit_option, *mut *mut c_void),
    /// Those of the library: how many, and which.
    pub library: (u32, *mut CUlibraryOption),
}

/// A table of the host's functions and data, which is not offered.
const TABLE: CUlibraryOption = 0;
/// The program keeps the image until the library is unloaded.
const IS_PRESERVED: CUlibraryOption = 1;
/// Most options of a library: there are no others.
const OPTIONS_MAX: u32 = 2;

impl Options {
    /// Whether the program keeps the image.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`, or `CUDA_ERROR_NOT_SUPPORTED` for a table.
    ///
    /// # Safety
    /// The lists have as many entries as they say.
    unsafe fn is_preserved(self) -> CallResult<bool> {
        let (count, options) = self.library;
        if count > 0 && options.is_null() || count > OPTIONS_MAX {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let mut is_preserved = false;
        for n in 0..count as usize {
            // SAFETY: the caller's.
            match unsafe { *options.add(n) } {
                IS_PRESERVED => is_preserved = true,
                TABLE => return Err(CUDA_ERROR_NOT_SUPPORTED),
                _ => return Err(CUDA_ERROR_INVALID_VALUE),
            }
        }
        Ok(is_preserved)
    }

    /// The compiler's.
    ///
    /// # Safety
    /// As [`is_preserved`](Self::is_preserved); a text has as many bytes as it says.
    unsafe fn of_compiler(self) -> CallResult<jit::Options> {
        let (count, names, values) = self.compiler;
        // SAFETY: the caller's.
        unsafe { jit::read(count, names, values) }
    }
}

/// Loads a library from the program's memory.
///
/// # Errors
/// The API's code. What is wrong with the code comes out here if a context is current and the
/// program does not keep the image, and otherwise where something of it is used first.
///
/// # Safety
/// As `cuLibraryLoadData` in CUDA's documentation.
pub unsafe fn load(entry: u64, code: *const c_void, options: Options) -> CallResult<CUlibrary> {
    context::initialized()?;
    // SAFETY: the caller's; the image is as long as it says.
    unsafe {
        let is_preserved = options.is_preserved()?;
        let compiler = options.of_compiler()?;
        let (place, len) = image::find(code)?;
        if is_preserved {
            return make(
                Image::Programs(place.expose_provenance(), len),
                compiler.sent,
            );
        }
        let bytes = std::slice::from_raw_parts(place.cast::<u8>(), len);
        make_now(entry, bytes.into(), compiler)
    }
}

/// The same from a file of the guest's.
///
/// # Errors
/// As [`load`].
///
/// # Safety
/// As `cuLibraryLoadFromFile` in CUDA's documentation.
pub unsafe fn load_file(
    entry: u64,
    name: *const c_char,
    options: Options,
) -> CallResult<CUlibrary> {
    context::initialized()?;
    // SAFETY: the caller's.
    let (is_preserved, compiler) = unsafe { (options.is_preserved()?, options.of_compiler()?) };
    if is_preserved || name.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let name = unsafe { CStr::from_ptr(name) };
    let bytes = module::file(OsStr::from_bytes(name.to_bytes()))?;
    // SAFETY: the caller's.
    unsafe { make_now(entry, bytes.into(), compiler) }
}

fn make(image: Image, options: Vec<u64>) -> CallResult<CUlibrary> {
    let library = Library {
        image,
        options,
        modules: Mutex::new(Some(BTreeMap::new())),
        kernels: Mutex::default(),
    };
    let details = Details::Library(Arc::new(library));
    create(Kind::Library, new_number(), details)
}

/// Makes one which is loaded at once if a context is current, and tells what the compiler tells.
///
/// # Safety
/// The options' places are the program's.
unsafe fn make_now(entry: u64, image: Box<[u8]>, options: jit::Options) -> CallResult<CUlibrary> {
    let library = make(Image::Own(image), options.sent)?;
    let load = |context: &Arc<Context>| {
        // SAFETY: the caller's.
        unsafe { find(library)?.load(entry, context, &options.places) }
    };
    match context::with(load) {
        Ok(_) | Err(CUDA_ERROR_INVALID_CONTEXT | CUDA_ERROR_CONTEXT_IS_DESTROYED) => Ok(library),
        Err(code) => {
            Object::release(Kind::Library, library, entry)?;
            Err(code)
        }
    }
}

impl Library {
    /// The module that it is in a context, which is current.
    fn module(&self, entry: u64, context: &Arc<Context>) -> CallResult<CUmodule> {
        // SAFETY: there are no places.
        unsafe { self.load(entry, context, &Places::default()) }
    }

    /// The same, where the program is told what the compiler tells.
    ///
    /// # Safety
    /// The places are the program's.
    unsafe fn load(
        &self,
        entry: u64,
        context: &Arc<Context>,
        places: &Places,
    ) -> CallResult<CUmodule> {
        context.healthy()?;
        let mut modules = locked(&self.modules);
        let modules = modules.as_mut().ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        if let Some(known) = modules.get(&context.id) {
            return Ok(handle_at(*known));
        }
        let call = (entry, wire::CU_MODULE_LOAD_DATA_EX);
        let (image, options) = (self.image.place(), (self.options.clone(), places));
        // SAFETY: it is a whole image, and the places are the caller's.
        let module = unsafe { module::load_image(call, context, image, options, true) }?;
        modules.insert(context.id, module.expose_provenance());
        Ok(module)
    }
}

fn find(library: CUlibrary) -> CallResult<Arc<Library>> {
    context::initialized()?;
    let object = Object::find(Kind::Library, library)?;
    match object.details() {
        Details::Library(library) => Ok(library.clone()),
        _ => Err(CUDA_ERROR_INVALID_HANDLE),
    }
}

/// Checks that there is such a library.
///
/// # Errors
/// The API's code.
pub fn check(library: CUlibrary) -> CallResult<()> {
    find(library).map(|_| ())
}

/// Unloads a library, its kernels and modules, once all that may use it has ended.
///
/// # Errors
/// The API's code.
pub fn unload(entry: u64, handle: CUlibrary) -> CallResult<()> {
    context::permitted()?;
    let library = find(handle)?;
    Object::release(Kind::Library, handle, entry)?;
    // From here on it becomes no module any more.
    let modules = locked(&library.modules).take();
    for (_, kernel) in locked(&library.kernels).drain() {
        let kernel: CUkernel = handle_at(kernel);
        // Only this releases it.
        let _ = Object::release(Kind::Kernel, kernel, entry);
    }
    launch::changed();
    for module in modules.into_iter().flatten().map(|(_, module)| module) {
        // What its context ended with is no error of the library's.
        let _ = module::unload(entry, handle_at(module));
    }
    Ok(())
}

/// A context is gone with its modules and functions.
pub fn forget(context: &Context) {
    for object in Object::all(Kind::Library) {
        if let Details::Library(library) = object.details()
            && let Some(modules) = &mut *locked(&library.modules)
        {
            modules.remove(&context.id);
        }
    }
    for object in Object::all(Kind::Kernel) {
        if let Details::Kernel(kernel) = object.details() {
            locked(&kernel.settings).functions.remove(&context.id);
        }
    }
}

/// The module that a library is in the current context.
///
/// # Errors
/// The API's code.
pub fn module_of(entry: u64, library: CUlibrary) -> CallResult<CUmodule> {
    let library = find(library)?;
    context::with(|context| library.module(entry, context))
}

/// The kernel of this name. Asked for again, it is the same. Whether there is one, a module says:
/// if no context is current, in a primary context.
///
/// # Errors
/// The API's code.
pub fn kernel(entry: u64, handle: CUlibrary, name: &CStr) -> CallResult<CUkernel> {
    let library = find(handle)?;
    let mut kernels = locked(&library.kernels);
    if let Some(known) = kernels.get(name) {
        return Ok(handle_at(*known));
    }
    context::on(entry, None, || {
        let module = context::with(|context| library.module(entry, context))?;
        // SAFETY: a text.
        unsafe { module::function(entry, module, name.as_ptr()) }
    })?;
    let kernel = Arc::new(Kernel {
        library: library.clone(),
        handle: handle.expose_provenance(),
        name: name.into(),
        settings: Mutex::default(),
    });
    let made: CUkernel = create(Kind::Kernel, new_number(), Details::Kernel(kernel))?;
    kernels.insert(name.into(), made.expose_provenance());
    Ok(made)
}

/// What is known of a kernel.
///
/// # Errors
/// The API's code.
pub fn find_kernel(kernel: CUkernel) -> CallResult<Arc<Kernel>> {
    context::initialized()?;
    let object = Object::find(Kind::Kernel, kernel)?;
    match object.details() {
        Details::Kernel(kernel) => Ok(kernel.clone()),
        _ => Err(CUDA_ERROR_INVALID_HANDLE),
    }
}

impl Kernel {
    /// The function that it is in the current context, with what is set of it.
    ///
    /// # Errors
    /// The API's code.
    pub fn function(&self, entry: u64) -> CallResult<CUfunction> {
        context::with(|context| {
            let module = self.library.module(entry, context)?;
            let mut settings = locked(&self.settings);
            if let Some(known) = settings.functions.get(&context.id) {
                return Ok(handle_at(*known));
            }
            // SAFETY: a text.
            let function = unsafe { module::function(entry, module, self.name.as_ptr()) }?;
            settings.apply(context.device, function)?;
            let address = function.expose_provenance();
            settings.functions.insert(context.id, address);
            Ok(function)
        })
    }

    /// Does something with the function that it is on a device.
    ///
    /// # Errors
    /// The API's code.
    pub fn on<R>(
        &self,
        entry: u64,
        device: Option<CUdevice>,
        work: impl FnOnce(CUfunction) -> CallResult<R>,
    ) -> CallResult<R> {
        context::on(entry, device, || work(self.function(entry)?))
    }

    /// Changes an attribute on a device.
    ///
    /// # Errors
    /// The API's code.
    pub fn set_attribute(
        &self,
        entry: u64,
        (attribute, value): (CUfunction_attribute, c_int),
        device: CUdevice,
    ) -> CallResult<()> {
        self.on(entry, Some(device), |function| {
            // SAFETY: it takes a handle and numbers.
            Guest::check(unsafe { cuFuncSetAttribute(function, attribute, value) })?;
            let mut settings = locked(&self.settings);
            settings.attributes.insert((device, attribute), value);
            settings.keep_only(function);
            Ok(())
        })
    }

    /// Changes what the cache is for on a device.
    ///
    /// # Errors
    /// The API's code.
    pub fn set_cache(&self, entry: u64, cache: CUfunc_cache, device: CUdevice) -> CallResult<()> {
        self.on(entry, Some(device), |function| {
            // SAFETY: it takes a handle and a number.
            Guest::check(unsafe { cuFuncSetCacheConfig(function, cache) })?;
            let mut settings = locked(&self.settings);
            settings.caches.insert(device, cache);
            settings.keep_only(function);
            Ok(())
        })
    }
}

impl Settings {
    /// Sets all of it for a function.
    fn apply(&self, device: CUdevice, function: CUfunction) -> CallResult<()> {
        for ((of, attribute), value) in &self.attributes {
            if *of == device {
                // SAFETY: it takes a handle and numbers.
                Guest::check(unsafe { cuFuncSetAttribute(function, *attribute, *value) })?;
            }
        }
        match self.caches.get(&device) {
            // SAFETY: it takes a handle and a number.
            Some(cache) => Guest::check(unsafe { cuFuncSetCacheConfig(function, *cache) }),
            None => Ok(()),
        }
    }

    /// The functions of other contexts get what is set where they are used next.
    fn keep_only(&mut self, function: CUfunction) {
        self.functions.retain(|_, known| *known == function.addr());
        launch::changed();
    }
}

/// The function that a kernel's handle stands for, which the program has in a function's place.
///
/// # Errors
/// The API's code.
pub fn function_for(handle: *mut c_void) -> CallResult<Object> {
    let kernel = find_kernel(handle.cast())?;
    Object::find(Kind::Function, kernel.function(gil_guest::entry())?)
}
