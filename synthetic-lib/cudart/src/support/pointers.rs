//! What is known of an address.

use super::copy::number;
use super::device;
use super::error::{Answer, driver};
use super::manual::pointer;
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
    let (mut kind, mut device, mut is_managed) = (0i32, 0i32, 0u32);
    let (mut on_device, mut on_host) = (0u64, 0u64);
    let mut names = [
        cu::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        cu::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        cu::CU_POINTER_ATTRIBUTE_IS_MANAGED,
        cu::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        cu::CU_POINTER_ATTRIBUTE_HOST_POINTER,
    ];
    let mut data = [
        (&raw mut kind).cast(),
        (&raw mut device).cast(),
        (&raw mut is_managed).cast(),
        (&raw mut on_device).cast(),
        (&raw mut on_host).cast(),
    ];
    let count = names.len() as u32;
    // SAFETY: there are as many places, each with space for its attribute.
    driver(unsafe {
        let (names, data) = (names.as_mut_ptr(), data.as_mut_ptr());
        cuPointerGetAttributes(count, names, data, number(place))
    })?;
    let (on_device, on_host) = (pointer(on_device), pointer(on_host));
    let (r#type, on_device, on_host) = match kind {
        _ if is_managed != 0 => (cudaMemoryTypeManaged, on_device, on_host),
        cu::CU_MEMORYTYPE_DEVICE => (cudaMemoryTypeDevice, on_device, null_mut()),
        cu::CU_MEMORYTYPE_HOST => (cudaMemoryTypeHost, on_device, on_host),
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
