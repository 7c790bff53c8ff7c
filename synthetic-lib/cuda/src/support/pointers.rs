//! What is known of an address: memory of the device's, managed memory, or memory of the
//! program's that is pinned.

use super::memory::{self, Known, Whose};
use super::{context, place};
use crate::generated::types::*;
use gil_guest::api::CallResult;
use std::ffi::c_void;

/// Most attributes that a call may ask for.
const ASKED_MAX: usize = 1024;
/// The device of an address that is no device's.
const NO_DEVICE: CUdevice = -2;

/// An attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// Of four bytes.
    Short(u32),
    /// Of eight.
    Long(u64),
}

impl Value {
    /// # Safety
    /// There is space for it.
    unsafe fn write(self, to: *mut c_void) {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Self::Short(value) => to.cast::<u32>().write(value),
                Self::Long(value) => to.cast::<u64>().write(value),
            }
        }
    }
}

fn flag(value: bool) -> Value {
    Value::Short(value.into())
}

/// An attribute of an address.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for one that such memory does not have, `CUDA_ERROR_NOT_SUPPORTED`
/// for one that gil does not.
fn attribute(name: CUpointer_attribute, known: &Known) -> CallResult<Value> {
    let is_devices = matches!(known.whose, Whose::Device { .. });
    Ok(match name {
        CU_POINTER_ATTRIBUTE_CONTEXT if !known.is_contexts => return Err(CUDA_ERROR_INVALID_VALUE),
        CU_POINTER_ATTRIBUTE_CONTEXT => Value::Long(known.context.handle().addr() as u64),
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE => {
            let kind = match is_devices {
                true => CU_MEMORYTYPE_DEVICE,
                false => CU_MEMORYTYPE_HOST,
            };
            Value::Short(kind.cast_unsigned())
        }
        // Kernels do not reach memory of the program's that is not mapped.
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER => {
            Value::Long(known.device.ok_or(CUDA_ERROR_INVALID_VALUE)?)
        }
        CU_POINTER_ATTRIBUTE_HOST_POINTER => {
            Value::Long(known.host.ok_or(CUDA_ERROR_INVALID_VALUE)?)
        }
        CU_POINTER_ATTRIBUTE_P2P_TOKENS => return Err(CUDA_ERROR_NOT_SUPPORTED),
        CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => match known.whose {
            Whose::Device { is_waited_for, .. } => flag(is_waited_for),
            Whose::Program => return Err(CUDA_ERROR_INVALID_VALUE),
        },
        CU_POINTER_ATTRIBUTE_BUFFER_ID | CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => {
            Value::Long(known.id)
        }
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Short(known.context.device.cast_unsigned()),
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR | CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => {
            Value::Long(known.base)
        }
        CU_POINTER_ATTRIBUTE_RANGE_SIZE | CU_POINTER_ATTRIBUTE_MAPPING_SIZE => {
            Value::Long(known.len)
        }
        CU_POINTER_ATTRIBUTE_MAPPED => flag(true),
        CU_POINTER_ATTRIBUTE_IS_MANAGED => flag(matches!(
            known.whose,
            Whose::Device {
                is_managed: true,
                ..
            }
        )),
        // None goes to other processes and devices.
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
        | CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
        | CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => flag(false),
        CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => Value::Long(0),
        CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => {
            let access = match known.device.is_some() && is_current(known) {
                true => CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                false => CU_MEM_ACCESS_FLAGS_PROT_NONE,
            };
            Value::Short(access.cast_unsigned())
        }
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => match known.whose {
            Whose::Device { pool, .. } => Value::Long(pool as u64),
            Whose::Program => Value::Long(0),
        },
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    })
}

/// Whether memory is of the current context's device.
fn is_current(known: &Known) -> bool {
    context::with(|context| Ok(context.device)) == Ok(known.context.device)
}

/// What a list of attributes has for an address of which nothing is known.
fn nothing(name: CUpointer_attribute) -> CallResult<Value> {
    Ok(match name {
        CU_POINTER_ATTRIBUTE_P2P_TOKENS => return Err(CUDA_ERROR_NOT_SUPPORTED),
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Short(NO_DEVICE.cast_unsigned()),
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        | CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
        | CU_POINTER_ATTRIBUTE_IS_MANAGED
        | CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
        | CU_POINTER_ATTRIBUTE_MAPPED
        | CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
        | CU_POINTER_ATTRIBUTE_ACCESS_FLAGS
        | CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Value::Short(0),
        CU_POINTER_ATTRIBUTE_CONTEXT..=CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => {
            Value::Long(0)
        }
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    })
}

/// Writes an attribute of an address.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an address of which nothing is known, or an attribute that
/// such memory does not have.
///
/// # Safety
/// `data` is null or has space for the attribute's type.
pub unsafe fn get(data: *mut c_void, name: CUpointer_attribute, address: u64) -> CallResult<()> {
    context::initialized()?;
    let data = place(data)?;
    let known = memory::known(address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let value = attribute(name, &known)?;
    // SAFETY: the caller's.
    unsafe { value.write(data) };
    Ok(())
}

/// Writes several; those that the memory does not have, as of an address of which nothing is
/// known.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what is no attribute.
///
/// # Safety
/// Both lists are null or have as many entries; each place has space for its attribute's type.
pub unsafe fn get_all(
    count: u32,
    names: *const CUpointer_attribute,
    data: *const *mut c_void,
    address: u64,
) -> CallResult<()> {
    context::initialized()?;
    let count = count as usize;
    if names.is_null() || data.is_null() || count == 0 || count > ASKED_MAX {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let (names, data) = unsafe {
        (
            std::slice::from_raw_parts(names, count),
            std::slice::from_raw_parts(data, count),
        )
    };
    let known = memory::known(address);
    for (name, to) in names.iter().zip(data) {
        let to = place(*to)?;
        let unknown = nothing(*name)?;
        let own = known.as_ref().map(|known| attribute(*name, known));
        let value = own.and_then(Result::ok).unwrap_or(unknown);
        // SAFETY: the caller's.
        unsafe { value.write(to) };
    }
    Ok(())
}

/// Changes an attribute: whether calls that copy or set this memory are waited for, the only one
/// that programs change.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for other attributes, and for what is not the device's memory.
///
/// # Safety
/// `value` is null or a value of the attribute's type.
pub unsafe fn set(value: *const c_void, name: CUpointer_attribute, address: u64) -> CallResult<()> {
    context::initialized()?;
    if value.is_null() || name != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let is_waited_for = unsafe { value.cast::<u32>().read() } != 0;
    match memory::set_waited_for(address, is_waited_for) {
        true => Ok(()),
        false => Err(CUDA_ERROR_INVALID_VALUE),
    }
}
