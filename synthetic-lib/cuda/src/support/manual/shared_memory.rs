//! Managed and mapped memory, and what is advised of it.

use super::own_streams::own;
use super::*;
use crate::generated::manual::Shared;
use crate::support::shared::advice::{self, Advice, Location, NOWHERE};
use crate::support::shared::{self, Bytes};

/// How memory is attached (`CUmemAttach_flags`): all streams use it, only the CPU, or one stream.
const GLOBAL: c_uint = 1;
const HOST: c_uint = 2;
const SINGLE: c_uint = 4;

/// A place that there is.
fn checked(location: Location) -> CallResult<Location> {
    match location.kind {
        CU_MEM_LOCATION_TYPE_DEVICE => {
            let mut devices = 0;
            // SAFETY: there is space for a number.
            Guest::check(unsafe { crate::generated::stubs::cuDeviceGetCount(&mut devices) })?;
            match (0..devices).contains(&location.id) {
                true => Ok(location),
                false => Err(CUDA_ERROR_INVALID_DEVICE),
            }
        }
        CU_MEM_LOCATION_TYPE_HOST
        | CU_MEM_LOCATION_TYPE_HOST_NUMA
        | CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Ok(location),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// Managed memory is moved to a place, in a stream's order.
fn prefetched(
    (entry, stream): (u64, CUstream),
    (address, count): (u64, usize),
    to: Location,
) -> CallResult<()> {
    let to = checked(to)?;
    context::with(|context| streams::with_lane(context, stream, |_| Ok(())))?;
    shared::with_advice(address, count, |advised, range| {
        advised.change(range, |advice| advice.prefetched = to);
    })?;
    match to.kind {
        CU_MEM_LOCATION_TYPE_DEVICE => {
            shared::prefetch((entry, stream), Bytes::read(address, count))
        }
        // The program has it already.
        _ => Ok(()),
    }
}

fn advised(
    (address, count): (u64, usize),
    advice: CUmem_advise,
    place: Location,
) -> CallResult<()> {
    context::initialized()?;
    let needs_place = matches!(
        advice,
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION
            | CU_MEM_ADVISE_SET_ACCESSED_BY
            | CU_MEM_ADVISE_UNSET_ACCESSED_BY
    );
    let place = match needs_place {
        true => checked(place)?,
        false => place,
    };
    let change = |known: &mut Advice| match advice {
        CU_MEM_ADVISE_SET_READ_MOSTLY => known.is_read_mostly = true,
        CU_MEM_ADVISE_UNSET_READ_MOSTLY => known.is_read_mostly = false,
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION => known.preferred = place,
        CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => known.preferred = Location::default(),
        CU_MEM_ADVISE_SET_ACCESSED_BY => {
            known.accessed_by.insert(place.device());
        }
        _ => {
            known.accessed_by.remove(&place.device());
        }
    };
    let all = CU_MEM_ADVISE_SET_READ_MOSTLY..=CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if !all.contains(&advice) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    shared::with_advice(address, count, |advised, range| {
        advised.change(range, change);
    })
}

/// The numbers that an attribute of a range has, of as many as are asked for.
fn of_range(
    attribute: CUmem_range_attribute,
    room: usize,
    (address, count): (u64, usize),
) -> CallResult<Vec<i32>> {
    let (len, rest) = (room / 4, room % 4);
    let is_list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    if rest != 0 || len == 0 || !is_list && len != 1 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let location = |get: fn(&Advice) -> Location, of: fn(Location) -> i32| {
        shared::with_advice(address, count, |advised, range| {
            let common = advice::common(advised.of(range), get);
            vec![of(common.unwrap_or_default())]
        })
    };
    let preferred = |advice: &Advice| advice.preferred;
    let prefetched = |advice: &Advice| advice.prefetched;
    match attribute {
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY => {
            shared::with_advice(address, count, |advised, range| {
                vec![advised.of(range).all(|it| it.is_read_mostly).into()]
            })
        }
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION => location(preferred, Location::device),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION => location(prefetched, Location::device),
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE => location(preferred, |it| it.kind),
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID => location(preferred, |it| it.id),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE => location(prefetched, |it| it.kind),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID => location(prefetched, |it| it.id),
        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => {
            shared::with_advice(address, count, |advised, range| {
                let mut sets = advised.of(range).map(|it| it.accessed_by.clone());
                let first = sets.next().unwrap_or_default();
                let common = sets.fold(first, |all, its| &all & &its);
                let mut list: Vec<i32> = common.into_iter().take(len).collect();
                list.resize(len, NOWHERE);
                list
            })
        }
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

/// Writes an attribute of a range.
///
/// # Safety
/// `data` is null or has space for as many bytes.
unsafe fn write(
    (data, room): (*mut c_void, usize),
    attribute: CUmem_range_attribute,
    range: (u64, usize),
) -> CallResult<()> {
    let data = place(data)?;
    let values = of_range(attribute, room, range)?;
    // SAFETY: the caller's; there are as many numbers as fit.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), data.cast(), values.len()) };
    Ok(())
}

/// Most attributes that a call may ask for.
const ASKED_MAX: usize = 1024;

impl Shared for Guest {
    unsafe fn cuMemAllocManaged(
        entry: u64,
        dptr: *mut CUdeviceptr,
        bytesize: usize,
        flags: c_uint,
    ) -> CUresult {
        let allocate = || match flags {
            GLOBAL | HOST => memory::allocate_managed(entry, bytesize),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        };
        // SAFETY: the caller's.
        unsafe { put(dptr, allocate) }
    }

    unsafe fn cuMemHostGetDevicePointer_v2(
        entry: u64,
        pdptr: *mut CUdeviceptr,
        p: *mut c_void,
        Flags: c_uint,
    ) -> CUresult {
        let find = || match Flags {
            0 => memory::device_address(entry, p),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        };
        // SAFETY: the caller's.
        unsafe { put(pdptr, find) }
    }

    unsafe fn cuMemPrefetchAsync(
        entry: u64,
        devPtr: CUdeviceptr,
        count: usize,
        dstDevice: CUdevice,
        hStream: CUstream,
    ) -> CUresult {
        let to = Location::of_device(dstDevice);
        Self::returned(|| prefetched((entry, hStream), (devPtr, count), to))
    }

    unsafe fn cuMemPrefetchAsync_v2(
        entry: u64,
        devPtr: CUdeviceptr,
        count: usize,
        location: CUmemLocation,
        flags: c_uint,
        hStream: CUstream,
    ) -> CUresult {
        let to = Location {
            kind: location.r#type,
            id: location.id,
        };
        Self::returned(|| match flags {
            0 => prefetched((entry, hStream), (devPtr, count), to),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        })
    }

    unsafe fn cuMemAdvise(
        _: u64,
        devPtr: CUdeviceptr,
        count: usize,
        advice: CUmem_advise,
        device: CUdevice,
    ) -> CUresult {
        Self::returned(|| advised((devPtr, count), advice, Location::of_device(device)))
    }

    unsafe fn cuMemAdvise_v2(
        _: u64,
        devPtr: CUdeviceptr,
        count: usize,
        advice: CUmem_advise,
        location: CUmemLocation,
    ) -> CUresult {
        let place = Location {
            kind: location.r#type,
            id: location.id,
        };
        Self::returned(|| advised((devPtr, count), advice, place))
    }

    unsafe fn cuMemRangeGetAttribute(
        _: u64,
        data: *mut c_void,
        dataSize: usize,
        attribute: CUmem_range_attribute,
        devPtr: CUdeviceptr,
        count: usize,
    ) -> CUresult {
        Self::returned(|| {
            context::initialized()?;
            // SAFETY: the caller's.
            unsafe { write((data, dataSize), attribute, (devPtr, count)) }
        })
    }

    unsafe fn cuMemRangeGetAttributes(
        _: u64,
        data: *mut *mut c_void,
        dataSizes: *mut usize,
        attributes: *mut CUmem_range_attribute,
        numAttributes: usize,
        devPtr: CUdeviceptr,
        count: usize,
    ) -> CUresult {
        Self::returned(|| {
            context::initialized()?;
            let is_missing = data.is_null() || dataSizes.is_null() || attributes.is_null();
            if is_missing || numAttributes == 0 || numAttributes > ASKED_MAX {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
            (0..numAttributes).try_for_each(|n| {
                // SAFETY: the caller's: each list has as many entries.
                unsafe {
                    let to = (*data.add(n), *dataSizes.add(n));
                    write(to, *attributes.add(n), (devPtr, count))
                }
            })
        })
    }

    unsafe fn cuStreamAttachMemAsync(
        _: u64,
        hStream: CUstream,
        dptr: CUdeviceptr,
        length: usize,
        flags: c_uint,
    ) -> CUresult {
        Self::returned(|| {
            context::with(|context| streams::with_lane(context, hStream, |_| Ok(())))?;
            let known = memory::known(dptr).filter(|_| memory::is_managed(dptr));
            let known = known.ok_or(CUDA_ERROR_INVALID_VALUE)?;
            let is_whole = known.base == dptr && (length == 0 || length as u64 == known.len);
            let is_alone = flags == SINGLE && !hStream.is_null();
            match is_whole && (matches!(flags, GLOBAL | HOST) || is_alone) {
                true => Ok(()),
                false => Err(CUDA_ERROR_INVALID_VALUE),
            }
        })
    }

    unsafe fn cuMemPrefetchAsync_ptsz(
        entry: u64,
        devPtr: CUdeviceptr,
        count: usize,
        dstDevice: CUdevice,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemPrefetchAsync(entry, devPtr, count, dstDevice, own(hStream)) }
    }

    unsafe fn cuMemPrefetchAsync_v2_ptsz(
        entry: u64,
        devPtr: CUdeviceptr,
        count: usize,
        location: CUmemLocation,
        flags: c_uint,
        hStream: CUstream,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuMemPrefetchAsync_v2(entry, devPtr, count, location, flags, own(hStream)) }
    }

    unsafe fn cuStreamAttachMemAsync_ptsz(
        entry: u64,
        hStream: CUstream,
        dptr: CUdeviceptr,
        length: usize,
        flags: c_uint,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { Self::cuStreamAttachMemAsync(entry, own(hStream), dptr, length, flags) }
    }
}
