//! The OpenCL library of this machine, loaded at run time.

use super::generated::functions::Functions;
use super::generated::types::*;
use crate::back_end::procedures;
use crate::back_end::{DriverOptions, Events, Pointer, References, WarmUps};
use gil_kernel_signatures::Target;
use gil_opencl_common::status;
use gil_wire::Op;
use gil_wire::ending::Ending;
use gil_wire::generated::opencl::Kind;
use gil_wire::identity::DeviceInfo;
use libloading::Library;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// The library's names, in the order in which they are tried.
const LIBRARIES: [&str; 2] = ["libOpenCL.so.1", "libOpenCL.so"];
/// Most platforms, and devices a platform, that are listed.
const MAX_LISTED: cl_uint = 256;

/// Why there is no OpenCL here.
#[derive(Debug, thiserror::Error)]
pub enum OpenClError {
    /// No ICD loader.
    #[error(
        "cannot load the OpenCL library libOpenCL.so.1 ({0}): install an ICD loader, such as Debian's ocl-icd-libopencl1"
    )]
    NoLibrary(libloading::Error),
    /// A library without a function that every OpenCL has.
    #[error(
        "the OpenCL library has no {0}: install a complete ICD loader, such as Debian's ocl-icd-libopencl1"
    )]
    NoFunction(&'static str),
    /// A loader without a driver.
    #[error(
        "OpenCL has no device here (clGetPlatformIDs gives {0}): install your device's driver, or Debian's pocl-opencl-icd to run on the CPU"
    )]
    NoDevice(cl_int),
}

/// A function on one object.
type OnObject = unsafe extern "C" fn(*mut c_void) -> cl_int;
/// A function that asks for a value: object, name, size, value, its size.
type Ask = unsafe extern "C" fn(*mut c_void, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;

/// The functions that the session itself needs, besides those that are
/// forwarded. Handles are untyped here: they are all pointers.
#[derive(Debug)]
struct Core {
    platforms: unsafe extern "C" fn(cl_uint, *mut *mut c_void, *mut cl_uint) -> cl_int,
    devices: unsafe extern "C" fn(
        *mut c_void,
        cl_ulong,
        cl_uint,
        *mut *mut c_void,
        *mut cl_uint,
    ) -> cl_int,
    platform_info: Ask,
    device_info: Ask,
    event_info: Ask,
    profiling: Ask,
    wait: unsafe extern "C" fn(cl_uint, *const *mut c_void) -> cl_int,
    set_user_event: unsafe extern "C" fn(*mut c_void, cl_int) -> cl_int,
    flush: OnObject,
    /// OpenCL 1.1.
    on_destroyed: Option<clSetMemObjectDestructorCallback_fn>,
    retain: Counting,
    release: Counting,
}

/// One function for each kind of object that is counted.
#[derive(Debug)]
struct Counting {
    context: OnObject,
    queue: OnObject,
    mem: OnObject,
    sampler: OnObject,
    program: OnObject,
    kernel: OnObject,
    event: OnObject,
    /// OpenCL 1.2: of devices made by partition.
    device: Option<OnObject>,
}

impl Counting {
    /// The functions of these names, in the order of the fields.
    fn load(library: &Library, names: &[&'static str; 8]) -> Result<Self, OpenClError> {
        let [context, queue, mem, sampler, program, kernel, event, device] = *names;
        Ok(Self {
            context: symbol(library, context)?,
            queue: symbol(library, queue)?,
            mem: symbol(library, mem)?,
            sampler: symbol(library, sampler)?,
            program: symbol(library, program)?,
            kernel: symbol(library, kernel)?,
            event: symbol(library, event)?,
            device: symbol(library, device).ok(),
        })
    }

    fn of(&self, kind: Kind) -> Option<OnObject> {
        match kind {
            Kind::Platform => None,
            Kind::Device => self.device,
            Kind::Context => Some(self.context),
            Kind::CommandQueue => Some(self.queue),
            Kind::Mem => Some(self.mem),
            Kind::Sampler => Some(self.sampler),
            Kind::Program => Some(self.program),
            Kind::Kernel => Some(self.kernel),
            Kind::Event => Some(self.event),
        }
    }
}

const RETAIN: [&str; 8] = [
    "clRetainContext",
    "clRetainCommandQueue",
    "clRetainMemObject",
    "clRetainSampler",
    "clRetainProgram",
    "clRetainKernel",
    "clRetainEvent",
    "clRetainDevice",
];

const RELEASE: [&str; 8] = [
    "clReleaseContext",
    "clReleaseCommandQueue",
    "clReleaseMemObject",
    "clReleaseSampler",
    "clReleaseProgram",
    "clReleaseKernel",
    "clReleaseEvent",
    "clReleaseDevice",
];

/// The machine's OpenCL. Never unloaded: drivers have threads of their own.
#[derive(Debug)]
pub struct Driver {
    core: Core,
    options: DriverOptions,
    /// Platforms and devices, in the order in which they are listed; they live
    /// as long as the process.
    roots: Vec<(Kind, Pointer)>,
    /// The forwarded functions.
    pub functions: Functions,
}

fn symbol<T: Copy>(library: &Library, name: &'static str) -> Result<T, OpenClError> {
    // SAFETY: the callers give the OpenCL specification's type for the name.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found
        .map(|symbol| *symbol)
        .map_err(|_| OpenClError::NoFunction(name))
}

impl Core {
    fn load(library: &Library) -> Result<Self, OpenClError> {
        Ok(Self {
            platforms: symbol(library, "clGetPlatformIDs")?,
            devices: symbol(library, "clGetDeviceIDs")?,
            platform_info: symbol(library, "clGetPlatformInfo")?,
            device_info: symbol(library, "clGetDeviceInfo")?,
            event_info: symbol(library, "clGetEventInfo")?,
            profiling: symbol(library, "clGetEventProfilingInfo")?,
            wait: symbol(library, "clWaitForEvents")?,
            set_user_event: symbol(library, "clSetUserEventStatus")?,
            flush: symbol(library, "clFlush")?,
            on_destroyed: symbol(library, "clSetMemObjectDestructorCallback").ok(),
            retain: Counting::load(library, &RETAIN)?,
            release: Counting::load(library, &RELEASE)?,
        })
    }
}

impl Driver {
    /// Loads the ICD loader.
    ///
    /// # Errors
    /// [`OpenClError`] says what to install.
    pub fn load(options: DriverOptions) -> Result<&'static Self, OpenClError> {
        // Drivers find their devices at the first question, and not all of them
        // (PoCL 3.1) bear it from two threads at once.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failure = None;
        for name in LIBRARIES {
            // SAFETY: an ICD loader's initialisation has no preconditions.
            match unsafe { Library::new(name) } {
                Ok(library) => return Self::of(library, options),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(OpenClError::NoLibrary(failure.expect("a name was tried")))
    }

    /// In front of kernels of which devices something is enqueued.
    pub fn warm_ups(&self) -> WarmUps {
        self.options.warm_ups
    }

    fn of(library: Library, options: DriverOptions) -> Result<&'static Self, OpenClError> {
        let library = Box::leak(Box::new(library));
        let mut driver = Self {
            core: Core::load(library)?,
            roots: Vec::new(),
            options,
            // SAFETY: the library stays loaded.
            functions: unsafe { Functions::load(|name| procedures::symbol(library, name)) },
        };
        match driver.platforms() {
            Ok(found) if !found.is_empty() => {
                driver.roots = driver.list_roots(found);
                Ok(Box::leak(Box::new(driver)))
            }
            Ok(_) => Err(OpenClError::NoDevice(CL_SUCCESS)),
            Err(code) => Err(OpenClError::NoDevice(code)),
        }
    }

    /// The error that such an enqueue ends with if nobody waits for its answer.
    pub fn refuses_posted(&self, op: Op) -> Option<cl_int> {
        let refuses = self.options.refuses_posted;
        refuses
            .filter(|(refused, _)| *refused == op)
            .map(|(_, error)| error)
    }

    /// `clGetKernelArgInfo`, if it is to be asked.
    pub fn arg_info(&self) -> Option<clGetKernelArgInfo_fn> {
        let function = self.functions.clGetKernelArgInfo;
        function.filter(|_| self.options.asks_arg_info)
    }

    /// The option that has programs keep argument information, if it is to be
    /// asked for.
    pub fn arg_info_option(&self) -> Option<&'static str> {
        self.arg_info()?;
        Some(match self.options.unknown_arg_info {
            true => "-cl-unknown-arg-info",
            false => "-cl-kernel-arg-info",
        })
    }

    /// The device as a program's text needs to know it.
    pub fn target(&self, device: Pointer) -> Target {
        let ask = |name| {
            // SAFETY: the device is the driver's, and `fetch` provides a buffer of
            // the size it states.
            fetch(|size, value, len| unsafe {
                (self.core.device_info)(device.as_ptr(), name, size, value, len)
            })
        };
        let number = |name| {
            let bytes = ask(name)?;
            Some(cl_uint::from_ne_bytes(*bytes.first_chunk()?))
        };
        let version = ask(CL_DEVICE_VERSION).map(fetch_text).unwrap_or_default();
        let features = ask(CL_DEVICE_OPENCL_C_FEATURES).unwrap_or_default();
        let extensions = ask(CL_DEVICE_EXTENSIONS)
            .map(fetch_text)
            .unwrap_or_default();
        Target {
            address_bits: number(CL_DEVICE_ADDRESS_BITS).unwrap_or(usize::BITS),
            version: version_number(&version).unwrap_or(120),
            extensions: format!("{extensions} {}", feature_names(&features)),
            has_images: number(CL_DEVICE_IMAGE_SUPPORT) == Some(CL_TRUE),
        }
    }

    fn platforms(&self) -> Result<Vec<*mut c_void>, cl_int> {
        list(|room, list, count| {
            // SAFETY: `list` has `room` entries, or is null with 0.
            unsafe { (self.core.platforms)(room, list, count) }
        })
    }

    fn list_roots(&self, platforms: Vec<*mut c_void>) -> Vec<(Kind, Pointer)> {
        let devices = platforms.iter().flat_map(|of| self.platform_devices(*of));
        let devices = devices.map(|device| (Kind::Device, device));
        let devices = devices.collect::<Vec<_>>();
        let platforms = platforms.into_iter().map(|of| (Kind::Platform, of));
        let all = platforms.chain(devices);
        all.filter_map(|(kind, object)| Some((kind, Pointer::new(object)?)))
            .collect()
    }

    /// Platforms and devices, in the order in which they are listed.
    pub fn roots(&self) -> impl Iterator<Item = (Kind, Pointer)> + '_ {
        self.roots.iter().copied()
    }

    fn platform_devices(&self, platform: *mut c_void) -> Vec<*mut c_void> {
        let all = CL_DEVICE_TYPE_ALL;
        let found = list(|room, list, count| {
            // SAFETY: as above; the platform is the driver's.
            unsafe { (self.core.devices)(platform, all, room, list, count) }
        });
        found.unwrap_or_default()
    }

    /// All devices.
    pub fn devices(&self) -> Vec<DeviceInfo> {
        let mut all = Vec::new();
        for platform in self.platforms().unwrap_or_default() {
            let name = text(self.core.platform_info, platform, CL_PLATFORM_NAME);
            for device in self.platform_devices(platform) {
                all.push(DeviceInfo {
                    api: "OpenCL".into(),
                    platform: name.clone(),
                    name: text(self.core.device_info, device, CL_DEVICE_NAME),
                    version: text(self.core.device_info, device, CL_DRIVER_VERSION),
                });
            }
        }
        all
    }

    /// A platform's name, a device's, and how many of the platform's devices are
    /// listed before; `None` if the device is not listed.
    pub(super) fn place(&self, device: Pointer) -> Option<(String, String, usize)> {
        let device = device.as_ptr();
        self.platforms().ok()?.into_iter().find_map(|platform| {
            let mut devices = self.platform_devices(platform).into_iter();
            let index = devices.position(|listed| listed == device)?;
            let platform = text(self.core.platform_info, platform, CL_PLATFORM_NAME);
            let name = text(self.core.device_info, device, CL_DEVICE_NAME);
            Some((platform, name, index))
        })
    }

    /// What a device says of itself under this name; `None` if it says nothing.
    pub(super) fn device_bytes(&self, device: Pointer, name: cl_device_info) -> Option<Vec<u8>> {
        let ask = self.core.device_info;
        // SAFETY: the device is alive, and `fetch` provides a buffer of the size it states.
        fetch(|size, value, len| unsafe { ask(device.as_ptr(), name, size, value, len) })
    }

    /// An event's execution status: 0 complete, below 0 failed.
    pub fn status(&self, event: Pointer) -> cl_int {
        let name = CL_EVENT_COMMAND_EXECUTION_STATUS;
        scalar(self.core.event_info, event, name).unwrap_or(CL_SUCCESS)
    }

    /// Sets a user event; what it fails with is its own affair.
    pub fn set_user_event(&self, event: Pointer, status: cl_int) {
        // SAFETY: the callers own a reference to the event.
        unsafe { (self.core.set_user_event)(event.as_ptr(), status) };
    }

    /// Has `function` called with `user_data` when a memory object is destroyed.
    pub(super) fn on_destroyed(
        &self,
        mem: Pointer,
        function: unsafe extern "C" fn(cl_mem, *mut c_void),
        user_data: *mut c_void,
    ) -> cl_int {
        match self.core.on_destroyed {
            // SAFETY: the object is alive and is one of memory.
            Some(on_destroyed) => unsafe {
                on_destroyed(mem.as_ptr().cast(), Some(function), user_data)
            },
            None => CL_INVALID_OPERATION,
        }
    }
}

impl Driver {
    /// Whether an operation has neither started nor failed.
    pub fn is_waiting(&self, event: Pointer) -> bool {
        self.status(event) > CL_RUNNING
    }
}

impl Events for Driver {
    const QUEUE: Kind = Kind::CommandQueue;
    const EVENT: Kind = Kind::Event;

    fn flush(&self, queue: Pointer) {
        // SAFETY: the callers own a reference to the queue.
        unsafe { (self.core.flush)(queue.as_ptr()) };
    }

    fn wait(&self, event: Pointer) {
        let list = [event.as_ptr()];
        // SAFETY: the callers own a reference to the event. The result only
        // repeats the event's own status.
        unsafe { (self.core.wait)(1, list.as_ptr()) };
    }

    fn has_ended(&self, event: Pointer) -> bool {
        self.status(event) <= CL_COMPLETE
    }

    fn ending(&self, event: Pointer) -> Ending {
        status::ending(self.status(event))
    }

    /// From a complete event's start to its end.
    fn duration_ns(&self, event: Pointer) -> Option<u64> {
        let ask = |name| scalar::<cl_ulong>(self.core.profiling, event, name);
        let start = ask(CL_PROFILING_COMMAND_START)?;
        ask(CL_PROFILING_COMMAND_END)?.checked_sub(start)
    }

    fn abandon(&self, event: Pointer) {
        self.set_user_event(event, -1);
    }
}

impl References for Driver {
    type Kind = Kind;

    fn retain(&self, kind: Kind, object: Pointer) {
        if let Some(function) = self.core.retain.of(kind) {
            // SAFETY: the object is alive and of this kind: the session's table
            // has it, or the call that made it just returned.
            unsafe { function(object.as_ptr()) };
        }
    }

    fn release(&self, kind: Kind, object: Pointer) {
        if let Some(function) = self.core.release.of(kind) {
            // SAFETY: the callers own a reference of this kind, and give it up.
            unsafe { function(object.as_ptr()) };
        }
    }
}

/// Asks for a list's length, then for the list.
fn list(
    ask: impl Fn(cl_uint, *mut *mut c_void, *mut cl_uint) -> cl_int,
) -> Result<Vec<*mut c_void>, cl_int> {
    let mut count = 0;
    check(ask(0, std::ptr::null_mut(), &mut count))?;
    let room = count.min(MAX_LISTED);
    let mut all = vec![std::ptr::null_mut(); room as usize];
    check(ask(room, all.as_mut_ptr(), std::ptr::null_mut()))?;
    all.retain(|object| !object.is_null());
    Ok(all)
}

fn check(result: cl_int) -> Result<(), cl_int> {
    match result {
        CL_SUCCESS => Ok(()),
        code => Err(code),
    }
}

/// Most bytes of a value that is fetched.
const MAX_FETCHED: usize = 64 << 20;

/// A value whose size is asked for first; none if the driver has none.
pub fn fetch(ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> Option<Vec<u8>> {
    let mut len = 0;
    check(ask(0, std::ptr::null_mut(), &mut len)).ok()?;
    let mut bytes = vec![0; Some(len).filter(|len| *len <= MAX_FETCHED)?];
    if len > 0 {
        check(ask(len, bytes.as_mut_ptr().cast(), std::ptr::null_mut())).ok()?;
    }
    Some(bytes)
}

/// The first handle in a fetched value.
pub fn fetch_handle(bytes: &[u8]) -> Option<Pointer> {
    let word = usize::from_ne_bytes(*bytes.first_chunk()?);
    Pointer::new(word as *mut c_void)
}

/// The text in a fetched value.
pub fn fetch_text(bytes: Vec<u8>) -> String {
    let end = bytes.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

/// `OpenCL 3.0 …` as 300.
fn version_number(text: &str) -> Option<u32> {
    let number = text.strip_prefix("OpenCL ")?.split(' ').next()?;
    let (major, minor) = number.split_once('.')?;
    Some(major.parse::<u32>().ok()? * 100 + minor.parse::<u32>().ok()? * 10)
}

/// The names in a list of `cl_name_version`.
fn feature_names(bytes: &[u8]) -> String {
    let (entries, _) = bytes.as_chunks::<68>();
    let names = entries.iter().map(|entry| fetch_text(entry[4..].to_vec()));
    names.collect::<Vec<_>>().join(" ")
}

/// A string of an object; empty if it cannot be had.
fn text(ask: Ask, object: *mut c_void, name: cl_uint) -> String {
    let mut bytes = [0u8; 1024];
    let mut len = 0;
    // SAFETY: the object is the driver's, and the buffer has the stated size.
    let result = unsafe {
        ask(
            object,
            name,
            bytes.len(),
            bytes.as_mut_ptr().cast(),
            &mut len,
        )
    };
    let bytes = if result == CL_SUCCESS {
        &bytes[..]
    } else {
        &[]
    };
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..end]).trim().into()
}

/// A number of an event.
fn scalar<T: Default>(ask: Ask, event: Pointer, name: cl_uint) -> Option<T> {
    let mut value = T::default();
    let room = (&raw mut value).cast();
    // SAFETY: the callers own a reference to the event, and `T` is the type
    // that the specification gives for the name.
    let result = unsafe {
        ask(
            event.as_ptr(),
            name,
            size_of::<T>(),
            room,
            std::ptr::null_mut(),
        )
    };
    (result == CL_SUCCESS).then_some(value)
}
