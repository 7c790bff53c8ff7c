//! What is known of an address.

use super::copy::number;
use super::device;
use super::error::{Answer, driver};
use crate::generated::types::*;
use gil_cuda::generated::stubs::*;
use gil_cuda::generated::types as cu;
use std::ffi::c_void;
use std::ptr::null_mut;

/// The attributes of an address. One of which nothing is known is no error.
///
/// # Errors
/// The driver's.
pub fn attributes(place: *mut c_void) -> Answer<cudaPointerAttributes> {
    device::ready()?;
    let (mut kind, mut device) = (0i32, 0i32);
    let mut names = [
        cu::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        cu::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    ];
    let mut data = [(&raw mut kind).cast(), (&raw mut device).cast()];
    let count = names.len() as u32;
    // SAFETY: there are as many places, each with space for its attribute.
    driver(unsafe {
        let (names, data) = (names.as_mut_ptr(), data.as_mut_ptr());
        cuPointerGetAttributes(count, names, data, number(place))
    })?;
    let (r#type, on_device, on_host) = match kind {
        cu::CU_MEMORYTYPE_DEVICE => (cudaMemoryTypeDevice, place, null_mut()),
        cu::CU_MEMORYTYPE_HOST => (cudaMemoryTypeHost, null_mut(), place),
        _ => (cudaMemoryTypeUnregistered, null_mut(), place),
    };
    Ok(cudaPointerAttributes {
        r#type,
        device,
        devicePointer: on_device,
        hostPointer: on_host,
        reserved: [0; 8],
    })
}
