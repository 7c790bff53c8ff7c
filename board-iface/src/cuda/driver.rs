//! The driver's library: the functions that are forwarded, and those that only the back end
//! calls.

use super::generated::Functions;
use super::generated::types::*;
use crate::back_end::{Pointer, References, symbol};
use gil_wire::generated::cuda::Kind;
use gil_wire::identity::{DeviceIdentity, PciAddress};
use libloading::Library;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

/// Its soname.
pub const LIBRARY: &str = "libcuda.so.1";
/// Names another file in its place: a test's.
pub const VARIABLE: &str = "GIL_CUDA_DRIVER";

/// Why it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// There is no such library, or it does not load.
    #[error("CUDA's driver cannot be loaded ({0}): install NVIDIA's driver on this board")]
    Library(#[source] libloading::Error),
    /// A function that no board goes without.
    #[error("CUDA's driver has no {name} ({error}): install one of CUDA 12.4 or later")]
    Function {
        /// The function's name.
        name: &'static str,
        /// The dynamic loader's error.
        error: libloading::Error,
    },
    /// It finds no device, or is not of the kernel's version.
    #[error(
        "CUDA's driver does not start (error {0}): look whether nvidia-smi lists the device, and as which user"
    )]
    Start(CUresult),
}

macro_rules! own {
    ($($name:ident: fn($($argument:ty),*);)*) => {
        /// The functions that only the back end calls.
        #[derive(Clone, Copy, Debug)]
        #[allow(non_snake_case)]
        pub struct Own {
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                pub $name: unsafe extern "C" fn($($argument),*) -> CUresult,
            )*
        }

        impl Own {
            fn load(library: &Library) -> Result<Self, CudaError> {
                Ok(Self {
                    $($name: {
                        let name = stringify!($name);
                        // SAFETY: the types are those of CUDA's documentation.
                        let found = unsafe { library.get(name.as_bytes()) };
                        *found.map_err(|error| CudaError::Function { name, error })?
                    },)*
                })
            }
        }
    };
}

own! {
    cuCtxGetDevice: fn(*mut CUdevice);
    cuCtxSetCurrent: fn(CUcontext);
    cuDeviceGetAttribute: fn(*mut c_int, CUdevice_attribute, CUdevice);
    cuDevicePrimaryCtxRelease_v2: fn(CUdevice);
    cuEventCreate: fn(*mut CUevent, c_uint);
    cuEventDestroy_v2: fn(CUevent);
    cuEventRecord: fn(CUevent, CUstream);
    cuEventSynchronize: fn(CUevent);
    cuEventQuery: fn(CUevent);
    cuEventElapsedTime: fn(*mut f32, CUevent, CUevent);
    cuFuncGetName: fn(*mut *const c_char, CUfunction);
    cuFuncGetAttribute: fn(*mut c_int, CUfunction_attribute, CUfunction);
    cuFuncGetParamInfo: fn(CUfunction, usize, *mut usize, *mut usize);
    cuMemFreeHost: fn(*mut c_void);
    cuMemHostAlloc: fn(*mut *mut c_void, usize, c_uint);
    cuMemHostRegister_v2: fn(*mut c_void, usize, c_uint);
    cuMemHostUnregister: fn(*mut c_void);
    cuOccupancyMaxActiveBlocksPerMultiprocessor: fn(*mut c_int, CUfunction, c_int, usize);
    cuStreamGetPriority: fn(CUstream, *mut i32);
}

/// The driver.
#[derive(Debug)]
pub struct Driver {
    /// What is forwarded.
    pub functions: Functions,
    /// What is not.
    pub own: Own,
    _library: Library,
}

impl Driver {
    /// The file that is loaded.
    pub fn file() -> String {
        std::env::var(VARIABLE).unwrap_or_else(|_| LIBRARY.into())
    }

    /// Loads and starts the one of this file, or of this name.
    ///
    /// # Errors
    /// [`CudaError`] says what to do.
    pub fn load(file: impl AsRef<OsStr>) -> Result<Self, CudaError> {
        // SAFETY: what a driver does as it is loaded is what its API promises.
        let library = unsafe { Library::new(file.as_ref()) }.map_err(CudaError::Library)?;
        let driver = Self {
            own: Own::load(&library)?,
            // SAFETY: the library is kept beside them.
            functions: unsafe { Functions::load(|name| symbol(&library, name)) },
            _library: library,
        };
        match driver.start() {
            CUDA_SUCCESS => Ok(driver),
            error => Err(CudaError::Start(error)),
        }
    }

    fn start(&self) -> CUresult {
        let Some(init) = self.functions.cuInit else {
            return CUDA_ERROR_NOT_SUPPORTED;
        };
        // SAFETY: it has no conditions.
        unsafe { init(0) }
    }

    /// How many devices there are.
    pub fn device_count(&self) -> CUdevice {
        let mut count = 0;
        let ask = self.functions.cuDeviceGetCount;
        // SAFETY: there is space for a number.
        let result = ask.map(|ask| unsafe { ask(&mut count) });
        if result == Some(CUDA_SUCCESS) {
            count
        } else {
            0
        }
    }

    /// The version of CUDA that it has.
    pub fn version(&self) -> String {
        let mut version = 0;
        if let Some(ask) = self.functions.cuDriverGetVersion {
            // SAFETY: there is space for a number.
            unsafe { ask(&mut version) };
        }
        format!("{}.{}", version / 1000, version % 1000 / 10)
    }

    /// A device's name.
    pub fn name(&self, device: CUdevice) -> Option<String> {
        self.text(device, self.functions.cuDeviceGetName?)
    }

    fn text(
        &self,
        device: CUdevice,
        ask: unsafe extern "C" fn(*mut std::ffi::c_char, i32, CUdevice) -> CUresult,
    ) -> Option<String> {
        let mut bytes = [0u8; 256];
        // SAFETY: there is space for as many bytes.
        let result = unsafe { ask(bytes.as_mut_ptr().cast(), bytes.len() as i32, device) };
        let text = CStr::from_bytes_until_nul(&bytes).ok()?;
        (result == CUDA_SUCCESS).then(|| text.to_string_lossy().into_owned())
    }

    /// Which physical device it is.
    pub fn identity(&self, device: CUdevice) -> Option<DeviceIdentity> {
        let name = self.name(device)?;
        let place = self.functions.cuDeviceGetPCIBusId;
        let place = place.and_then(|ask| self.text(device, ask));
        Some(DeviceIdentity {
            uuid: self.uuid(device),
            pci: place.as_deref().and_then(address),
            place: format!("CUDA: {name}, {device}"),
        })
    }

    fn uuid(&self, device: CUdevice) -> Option<[u8; 16]> {
        let mut uuid = [0u8; 16];
        let Functions {
            cuDeviceGetUuid,
            cuDeviceGetUuid_v2,
            ..
        } = self.functions;
        let ask = cuDeviceGetUuid_v2.or(cuDeviceGetUuid)?;
        // SAFETY: there is space for 16 bytes.
        let result = unsafe { ask(uuid.as_mut_ptr().cast(), device) };
        (result == CUDA_SUCCESS && uuid != [0; 16]).then_some(uuid)
    }

    /// Makes a context current in this thread.
    pub fn set_current(&self, context: *mut c_void) -> CUresult {
        // SAFETY: null, or of the session's table, so it is alive.
        unsafe { (self.own.cuCtxSetCurrent)(context.cast()) }
    }
}

/// `0000:41:00.0`.
fn address(text: &str) -> Option<PciAddress> {
    let (rest, function) = text.split_once('.')?;
    let mut parts = rest
        .split(':')
        .map(|part| u32::from_str_radix(part, 16).ok());
    Some(PciAddress {
        domain: parts.next()??,
        bus: parts.next()??,
        device: parts.next()??,
        function: u32::from_str_radix(function, 16).ok()?,
    })
}

/// The driver counts no references: an object has one, the session's. What a context has
/// goes with it.
impl References for Driver {
    type Kind = Kind;

    fn retain(&self, _: Kind, _: Pointer) {}

    fn release(&self, kind: Kind, object: Pointer) {
        let Functions {
            cuCtxDestroy_v2,
            cuStreamDestroy_v2,
            cuModuleUnload,
            cuMemPoolDestroy,
            cuLinkDestroy,
            cuArrayDestroy,
            cuMipmappedArrayDestroy,
            ..
        } = self.functions;
        let object = object.as_ptr();
        // SAFETY: the object is alive, and nothing else names it any more.
        unsafe {
            match kind {
                Kind::Context => cuCtxDestroy_v2.map(|end| end(object.cast())),
                Kind::Stream => cuStreamDestroy_v2.map(|end| end(object.cast())),
                Kind::Module => cuModuleUnload.map(|end| end(object.cast())),
                Kind::Link => cuLinkDestroy.map(|end| end(object.cast())),
                // A device's own is not destroyed by that.
                Kind::Pool => cuMemPoolDestroy.map(|end| end(object.cast())),
                Kind::Array => cuArrayDestroy.map(|end| end(object.cast())),
                Kind::MipmappedArray => cuMipmappedArrayDestroy.map(|end| end(object.cast())),
                Kind::Function
                | Kind::Event
                | Kind::Library
                | Kind::Kernel
                | Kind::Graph
                | Kind::GraphNode
                | Kind::GraphExec
                | Kind::UserObject => None,
            }
        };
    }
}

/// No stream of its own: the default stream of the current context.
pub const DEFAULT_STREAM: CUstream = null_mut();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read() {
        let read = address("0001:41:0a.1").unwrap();
        assert_eq!(
            (read.domain, read.bus, read.device, read.function),
            (1, 0x41, 10, 1)
        );
        assert!(address("0001:41").is_none() && address("x:y:z.0").is_none());
    }
}
