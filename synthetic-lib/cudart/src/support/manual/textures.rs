//! Textures and surfaces.

use super::*;
use crate::generated::manual::Textures;
use crate::support::arrays::format;
use crate::support::textures::{resource, resource_of, texture, texture_of};
use std::mem::MaybeUninit;

/// What a call of the driver API writes to a place.
fn found<T>(ask: impl FnOnce(*mut T) -> cu::CUresult) -> Answer<T> {
    device::ready()?;
    let mut place = MaybeUninit::uninit();
    driver(ask(place.as_mut_ptr()))?;
    // SAFETY: the call wrote it.
    Ok(unsafe { place.assume_init() })
}

impl Textures for Guest {
    unsafe fn cudaCreateTextureObject(
        _: u64,
        pTexObject: *mut cudaTextureObject_t,
        pResDesc: *const cudaResourceDesc,
        pTexDesc: *const cudaTextureDesc,
        pResViewDesc: *const cudaResourceViewDesc,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            let object = place(pTexObject)?;
            // SAFETY: the caller's.
            let (shown, sampled) = unsafe { (pResDesc.as_ref(), pTexDesc.as_ref()) };
            let shown = resource(shown.ok_or(cudaErrorInvalidValue)?)?;
            let sampled = texture(sampled.ok_or(cudaErrorInvalidValue)?);
            // The two APIs' views have the same layout.
            // SAFETY: the caller's.
            driver(unsafe { cuTexObjectCreate(object, &shown, &sampled, pResViewDesc.cast()) })
        })
    }

    unsafe fn cudaDestroyTextureObject(_: u64, texObject: cudaTextureObject_t) -> cudaError_t {
        // Null is none.
        match texObject {
            0 => returned(|| device::ready().map(|_| ())),
            // SAFETY: it takes a number.
            object => within(|| unsafe { cuTexObjectDestroy(object) }),
        }
    }

    unsafe fn cudaGetTextureObjectResourceDesc(
        _: u64,
        pResDesc: *mut cudaResourceDesc,
        texObject: cudaTextureObject_t,
    ) -> cudaError_t {
        // SAFETY: the caller's, and of a place that has space.
        unsafe {
            put(pResDesc, || {
                let shown = found(|place| cuTexObjectGetResourceDesc(place, texObject))?;
                Ok(resource_of(&shown))
            })
        }
    }

    unsafe fn cudaGetTextureObjectTextureDesc(
        _: u64,
        pTexDesc: *mut cudaTextureDesc,
        texObject: cudaTextureObject_t,
    ) -> cudaError_t {
        // SAFETY: as above.
        unsafe {
            put(pTexDesc, || {
                let sampled = found(|place| cuTexObjectGetTextureDesc(place, texObject))?;
                Ok(texture_of(&sampled))
            })
        }
    }

    unsafe fn cudaGetTextureObjectResourceViewDesc(
        _: u64,
        pResViewDesc: *mut cudaResourceViewDesc,
        texObject: cudaTextureObject_t,
    ) -> cudaError_t {
        // SAFETY: the caller's; the two APIs' views have the same layout.
        within(|| unsafe { cuTexObjectGetResourceViewDesc(pResViewDesc.cast(), texObject) })
    }

    unsafe fn cudaCreateSurfaceObject(
        _: u64,
        pSurfObject: *mut cudaSurfaceObject_t,
        pResDesc: *const cudaResourceDesc,
    ) -> cudaError_t {
        returned(|| {
            device::ready()?;
            let object = place(pSurfObject)?;
            // SAFETY: the caller's.
            let shown = unsafe { pResDesc.as_ref() }.ok_or(cudaErrorInvalidValue)?;
            let shown = resource(shown)?;
            // SAFETY: the caller's.
            driver(unsafe { cuSurfObjectCreate(object, &shown) })
        })
    }

    unsafe fn cudaDestroySurfaceObject(_: u64, surfObject: cudaSurfaceObject_t) -> cudaError_t {
        match surfObject {
            0 => returned(|| device::ready().map(|_| ())),
            // SAFETY: it takes a number.
            object => within(|| unsafe { cuSurfObjectDestroy(object) }),
        }
    }

    unsafe fn cudaGetSurfaceObjectResourceDesc(
        _: u64,
        pResDesc: *mut cudaResourceDesc,
        surfObject: cudaSurfaceObject_t,
    ) -> cudaError_t {
        // SAFETY: as above.
        unsafe {
            put(pResDesc, || {
                let shown = found(|place| cuSurfObjectGetResourceDesc(place, surfObject))?;
                Ok(resource_of(&shown))
            })
        }
    }

    unsafe fn cudaDeviceGetTexture1DLinearMaxWidth(
        _: u64,
        maxWidthInElements: *mut usize,
        fmtDesc: *const cudaChannelFormatDesc,
        device: c_int,
    ) -> cudaError_t {
        returned(|| {
            device::initialized()?;
            // SAFETY: the caller's.
            let asked = unsafe { fmtDesc.as_ref() }.ok_or(cudaErrorInvalidValue)?;
            let (format, channels) = format(asked)?;
            // SAFETY: the caller's.
            driver(unsafe {
                cuDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, format, channels, device)
            })
        })
    }
}
