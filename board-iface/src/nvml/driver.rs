//! The library: the functions that are forwarded, and what the back end asks itself.

use super::generated::Functions;
use super::generated::types::*;
use crate::back_end::{Pointer, References, symbol};
use gil_wire::generated::nvml::Kind;
use libloading::Library;
use std::ffi::{CStr, c_uint};
use std::ptr::null_mut;

/// Its soname.
pub const LIBRARY: &str = "libnvidia-ml.so.1";
/// Names another file in its place: a test's.
pub const VARIABLE: &str = "GIL_NVML_DRIVER";

/// Why it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NvmlError {
    /// There is no such library, or it does not load.
    #[error("NVML cannot be loaded ({0}): install NVIDIA's driver on this board")]
    Library(#[source] libloading::Error),
}

/// The library, started as far as it starts.
#[derive(Debug)]
pub struct Driver {
    /// What is forwarded.
    pub functions: Functions,
    /// What its start returned.
    pub started: nvmlReturn_t,
    _library: Library,
}

impl Driver {
    /// The file that is loaded.
    pub fn file() -> String {
        std::env::var(VARIABLE).unwrap_or_else(|_| LIBRARY.into())
    }

    /// Loads and starts it. That it does not start is what programs are told.
    ///
    /// # Errors
    /// [`NvmlError`] says what to do.
    pub fn load() -> Result<Self, NvmlError> {
        // SAFETY: what a driver does as it is loaded is what its API promises.
        let library = unsafe { Library::new(Self::file()) }.map_err(NvmlError::Library)?;
        // SAFETY: the library is kept beside them.
        let functions = unsafe { Functions::load(|name| symbol(&library, name)) };
        // SAFETY: it has no conditions.
        let start = functions.nvmlInit_v2.map(|start| unsafe { start() });
        Ok(Self {
            functions,
            started: start.unwrap_or(NVML_ERROR_FUNCTION_NOT_FOUND),
            _library: library,
        })
    }

    /// One of these functions alone, for tests.
    #[cfg(test)]
    pub fn of_functions(functions: Functions, started: nvmlReturn_t) -> Self {
        Self {
            functions,
            started,
            _library: libloading::os::unix::Library::this().into(),
        }
    }

    /// How many devices there are.
    pub fn device_count(&self) -> c_uint {
        let mut count = 0;
        let ask = self.functions.nvmlDeviceGetCount_v2;
        // SAFETY: there is space for a number.
        match ask.map(|ask| unsafe { ask(&mut count) }) {
            Some(NVML_SUCCESS) => count,
            _ => 0,
        }
    }

    /// The device of this index.
    pub fn device(&self, index: c_uint) -> Option<Pointer> {
        let mut device = null_mut();
        let ask = self.functions.nvmlDeviceGetHandleByIndex_v2?;
        // SAFETY: there is space for a handle.
        let result = unsafe { ask(index, &mut device) };
        Pointer::new(device.cast()).filter(|_| result == NVML_SUCCESS)
    }

    /// A device's name.
    pub fn name(&self, device: Pointer) -> Option<String> {
        let ask = self.functions.nvmlDeviceGetName?;
        text(|to, len| {
            // SAFETY: the handle is the library's; there is space for as many bytes.
            unsafe { ask(device.as_ptr().cast(), to.cast(), len) }
        })
    }

    /// The driver's version.
    pub fn version(&self) -> String {
        let ask = self.functions.nvmlSystemGetDriverVersion;
        let version = ask.and_then(|ask| {
            text(|to, len| {
                // SAFETY: there is space for as many bytes.
                unsafe { ask(to.cast(), len) }
            })
        });
        version.unwrap_or_default()
    }
}

/// A text that a function writes.
fn text(ask: impl FnOnce(*mut u8, c_uint) -> nvmlReturn_t) -> Option<String> {
    let mut bytes = [0; 96];
    let result = ask(bytes.as_mut_ptr(), bytes.len() as c_uint);
    let text = CStr::from_bytes_until_nul(&bytes).ok()?;
    (result == NVML_SUCCESS).then(|| text.to_string_lossy().into_owned())
}

/// Devices are there as long as the library.
impl References for Driver {
    type Kind = Kind;

    fn retain(&self, _: Kind, _: Pointer) {}

    fn release(&self, _: Kind, _: Pointer) {}
}
