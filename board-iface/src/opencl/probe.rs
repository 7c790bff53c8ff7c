//! Probes the type of kernel arguments with `clSetKernelArg`.
//!
//! OpenCL defines how a driver answers NULL: a memory object or `__local` memory
//! accepts it, a value does not (`CL_INVALID_ARG_VALUE`), and neither reads anything.
//! So a separate kernel object reveals an argument's type without a guest's bytes
//! reaching the driver. One gap remains: some drivers accept a NULL sampler, queue or
//! image as they accept any value.

use super::driver::Driver;
use super::generated::types::*;
use crate::back_end::Pointer;
use std::ffi::CString;
use std::ptr::{null, null_mut};

/// What a driver takes for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Bytes, which it copies.
    Value,
    /// A memory object or `__local` memory.
    Memory,
    /// Some object.
    Object,
}

/// A kernel that only answers questions.
#[derive(Debug)]
pub struct Probe<'a> {
    driver: &'a Driver,
    kernel: cl_kernel,
}

impl<'a> Probe<'a> {
    /// Another kernel of this function.
    pub fn new(driver: &'a Driver, program: Pointer, name: &str) -> Option<Self> {
        let (create, name) = (driver.functions.clCreateKernel?, CString::new(name).ok()?);
        let mut result = CL_SUCCESS;
        // SAFETY: the program is alive as long as a kernel of it is.
        let kernel = unsafe { create(program.as_ptr().cast(), name.as_ptr(), &mut result) };
        let is_there = result == CL_SUCCESS && !kernel.is_null();
        is_there.then_some(Self { driver, kernel })
    }

    /// The driver's answer for this argument.
    pub fn ask(&self, index: cl_uint) -> Answer {
        let Some(set) = self.driver.functions.clSetKernelArg else {
            return Answer::Object;
        };
        let handle = size_of::<*mut u8>();
        let none: *mut u8 = null_mut();
        // SAFETY: the kernel is ours alone.
        if unsafe { set(self.kernel, index, handle, null()) } == CL_SUCCESS {
            return Answer::Memory;
        }
        // SAFETY: as above; a handle that is NULL is a NULL handle.
        match unsafe { set(self.kernel, index, handle, (&raw const none).cast()) } {
            // Bytes of this size, or of another.
            CL_SUCCESS | CL_INVALID_ARG_SIZE => Answer::Value,
            // It looked at the handle and did not like it.
            _ => Answer::Object,
        }
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        if let Some(release) = self.driver.functions.clReleaseKernel {
            // SAFETY: ours alone, and not used again.
            unsafe { release(self.kernel) };
        }
    }
}
