//! Data that must live as long as the driver has a memory object.

use super::driver::Driver;
use super::generated::types::{CL_SUCCESS, cl_int, cl_mem};
use crate::back_end::Pointer;
use std::any::Any;
use std::ffi::c_void;

/// Data that a memory object keeps alive.
type Kept = Box<dyn Any + Send>;

/// What drivers call when they have destroyed a memory object.
///
/// # Safety
/// `kept` is of [`Driver::keep`], and this is called once.
unsafe extern "C" fn destroyed(_: cl_mem, kept: *mut c_void) {
    // SAFETY: the caller's: `Box::into_raw` gave the pointer.
    drop(unsafe { Box::from_raw(kept.cast::<Kept>()) });
}

impl Driver {
    /// Keeps something for as long as the driver has a memory object, whoever
    /// has references to it: other objects, kernels, commands.
    ///
    /// # Errors
    /// The driver's code; nothing is kept then.
    pub fn keep(&self, mem: Pointer, kept: impl Any + Send) -> Result<(), cl_int> {
        let kept: *mut Kept = Box::into_raw(Box::new(Box::new(kept)));
        match self.on_destroyed(mem, destroyed, kept.cast()) {
            CL_SUCCESS => Ok(()),
            code => {
                // SAFETY: the box made above, which the driver did not take.
                drop(unsafe { Box::from_raw(kept) });
                Err(code)
            }
        }
    }
}
