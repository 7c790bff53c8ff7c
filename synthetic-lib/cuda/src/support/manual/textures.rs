//! Textures and surfaces.

use super::*;
use crate::generated::manual::Textures;
use crate::support::textures::{self, What};

impl Textures for Guest {
    unsafe fn cuTexObjectCreate(
        entry: u64,
        pTexObject: *mut CUtexObject,
        pResDesc: *const CUDA_RESOURCE_DESC,
        pTexDesc: *const CUDA_TEXTURE_DESC,
        pResViewDesc: *const CUDA_RESOURCE_VIEW_DESC,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe {
            put(pTexObject, || {
                textures::make_texture(entry, pResDesc, pTexDesc, pResViewDesc)
            })
        }
    }

    unsafe fn cuTexObjectDestroy(entry: u64, texObject: CUtexObject) -> CUresult {
        Self::returned(|| textures::destroy(entry, What::Texture, texObject))
    }

    unsafe fn cuTexObjectGetResourceDesc(
        _: u64,
        pResDesc: *mut CUDA_RESOURCE_DESC,
        texObject: CUtexObject,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pResDesc, || textures::resource(What::Texture, texObject)) }
    }

    unsafe fn cuTexObjectGetTextureDesc(
        _: u64,
        pTexDesc: *mut CUDA_TEXTURE_DESC,
        texObject: CUtexObject,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pTexDesc, || textures::texture(texObject)) }
    }

    unsafe fn cuTexObjectGetResourceViewDesc(
        _: u64,
        pResViewDesc: *mut CUDA_RESOURCE_VIEW_DESC,
        texObject: CUtexObject,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pResViewDesc, || textures::view(texObject)) }
    }

    unsafe fn cuSurfObjectCreate(
        entry: u64,
        pSurfObject: *mut CUsurfObject,
        pResDesc: *const CUDA_RESOURCE_DESC,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pSurfObject, || textures::make_surface(entry, pResDesc)) }
    }

    unsafe fn cuSurfObjectDestroy(entry: u64, surfObject: CUsurfObject) -> CUresult {
        Self::returned(|| textures::destroy(entry, What::Surface, surfObject))
    }

    unsafe fn cuSurfObjectGetResourceDesc(
        _: u64,
        pResDesc: *mut CUDA_RESOURCE_DESC,
        surfObject: CUsurfObject,
    ) -> CUresult {
        // SAFETY: the caller's.
        unsafe { put(pResDesc, || textures::resource(What::Surface, surfObject)) }
    }
}
