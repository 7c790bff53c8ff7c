//! The driver's library: the functions that are forwarded, and those that only
//! the back end calls.

use super::VARIABLE;
use super::generated::Functions;
use super::generated::types::*;
use gil_board::back_end::{Pointer, References, symbol};
use gil_wire::generated::toy::Kind;
use gil_wire::identity::DeviceIdentity;
use libloading::Library;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Its soname.
const LIBRARY: &str = "libtoy.so.1";

/// Why it is not there.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The library.
    #[error("the toy API's driver cannot be loaded ({0}): name it in {VARIABLE}")]
    Library(#[source] libloading::Error),
    /// A function without which nothing can be measured.
    #[error("the toy API's driver has no {name} ({error}): use one of this release")]
    Function {
        /// The function's name.
        name: &'static str,
        /// The dynamic loader's error.
        error: libloading::Error,
    },
}

/// The driver.
#[derive(Debug)]
pub struct Driver {
    /// What is forwarded.
    pub functions: Functions,
    set_current: unsafe extern "C" fn(toyContext) -> toyResult,
    elapsed: unsafe extern "C" fn(*mut u64) -> toyResult,
    _library: Library,
}

impl Driver {
    /// The file that is loaded.
    pub fn file() -> String {
        std::env::var(VARIABLE).unwrap_or_else(|_| LIBRARY.into())
    }

    /// Loads it.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn load() -> Result<Self, DriverError> {
        // SAFETY: what a driver does as it is loaded is what its API promises.
        let library = unsafe { Library::new(Self::file()) }.map_err(DriverError::Library)?;
        let missing = |name| move |error| DriverError::Function { name, error };
        // SAFETY: the types are those of `toy.h`.
        let (set_current, elapsed) = unsafe {
            let set_current = library.get(b"toyContextSetCurrent");
            let elapsed = library.get(b"toyElapsed");
            (
                *set_current.map_err(missing("toyContextSetCurrent"))?,
                *elapsed.map_err(missing("toyElapsed"))?,
            )
        };
        Ok(Self {
            // SAFETY: the library is kept beside them.
            functions: unsafe { Functions::load(|name| symbol(&library, name)) },
            set_current,
            elapsed,
            _library: library,
        })
    }

    /// Makes a live context current in this thread.
    pub fn set_current(&self, context: Pointer) -> toyResult {
        // SAFETY: it is of the session's table, so it is alive.
        unsafe { (self.set_current)(context.as_ptr().cast()) }
    }

    /// Waits for the current context's commands; nanoseconds of the latest on
    /// the device.
    ///
    /// # Errors
    /// The API's code.
    pub fn elapsed(&self) -> Result<u64, toyResult> {
        let mut nanoseconds = 0;
        // SAFETY: there is space for one number.
        match unsafe { (self.elapsed)(&mut nanoseconds) } {
            TOY_SUCCESS => Ok(nanoseconds),
            error => Err(error),
        }
    }

    /// What a device says under this name, if there is such a device.
    fn bytes(&self, device: u32, name: toyInfo) -> Option<Vec<u8>> {
        let ask = self.functions.toyDeviceInfo?;
        let mut size = 0;
        // SAFETY: there is space for the size, and then for the value.
        unsafe {
            if ask(device, name, 0, null_mut(), &mut size) != TOY_SUCCESS {
                return None;
            }
            let mut bytes = vec![0; size];
            let value = bytes.as_mut_ptr().cast::<c_void>();
            (ask(device, name, size, value, null_mut()) == TOY_SUCCESS).then_some(bytes)
        }
    }

    /// The same of a string.
    pub fn text(&self, device: u32, name: toyInfo) -> Option<String> {
        let mut bytes = self.bytes(device, name)?;
        bytes.pop();
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Which physical device it is.
    pub fn identity(&self, device: u32) -> Option<DeviceIdentity> {
        let uuid: Option<[u8; 16]> = self.bytes(device, TOY_DEVICE_UUID)?.try_into().ok();
        Some(DeviceIdentity {
            uuid: uuid.filter(|uuid| *uuid != [0; 16]),
            pci: None,
            place: self.text(device, TOY_DEVICE_PLACE)?,
        })
    }
}

/// The driver counts no references: an object has one, the session's.
impl References for Driver {
    type Kind = Kind;

    fn retain(&self, _: Kind, _: Pointer) {}

    fn release(&self, kind: Kind, object: Pointer) {
        let Functions {
            toyContextDestroy,
            toyBufferDestroy,
            ..
        } = self.functions;
        // SAFETY: the object is alive, and nothing else names it any more.
        unsafe {
            match kind {
                Kind::Context => toyContextDestroy.map(|end| end(object.as_ptr().cast())),
                Kind::Buffer => toyBufferDestroy.map(|end| end(object.as_ptr().cast())),
            }
        };
    }
}
