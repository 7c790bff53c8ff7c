//! Textures and surfaces: kernels get the driver's own numbers of them, as they get addresses.

use super::arrays::{Array, Mipmapped};
use super::generated::manual::Textures;
use super::generated::types::*;
use super::manual::call_if;
use super::session::Session;
use super::support::Board;
use crate::back_end::{self, Call, Current, Objects, Refusal};
use gil_cuda_common::array::element;
use gil_wire::call::Handle;
use gil_wire::generated::cuda as wire;
use std::collections::HashMap;

/// Most of a kind.
const MAX: usize = 1 << 20;

/// Those of a session, by the driver's numbers: their contexts.
#[derive(Debug, Default)]
pub struct Views {
    textures: HashMap<u64, Handle>,
    surfaces: HashMap<u64, Handle>,
}

impl Views {
    /// A context is gone, and what it had.
    pub fn forget(&mut self, context: Handle) {
        self.textures.retain(|_, owner| *owner != context);
        self.surfaces.retain(|_, owner| *owner != context);
    }
}

/// A number of 32 bits, of which the wire has 64.
fn short(word: u64, name: &'static str) -> Result<u32, Refusal> {
    u32::try_from(word).map_err(|_| Refusal::parameter(name, word))
}

/// `CUDA_TEXTURE_DESC`: address modes, filter, flags, anisotropy, the mipmaps' filter, bias, least
/// and most level, and the border's colour.
fn sampling(words: &[u64]) -> Result<CUDA_TEXTURE_DESC, Refusal> {
    let name = "texture";
    let words: [u64; 14] = words
        .try_into()
        .map_err(|_| Refusal::parameter(name, words.len() as u64))?;
    let mut numbers = [0; 14];
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = short(word, name)?;
    }
    let [
        x,
        y,
        z,
        filter,
        flags,
        anisotropy,
        levels,
        bias,
        least,
        most,
        border @ ..,
    ] = numbers;
    Ok(CUDA_TEXTURE_DESC {
        addressMode: [x, y, z].map(u32::cast_signed),
        filterMode: filter.cast_signed(),
        flags,
        maxAnisotropy: anisotropy,
        mipmapFilterMode: levels.cast_signed(),
        mipmapLevelBias: f32::from_bits(bias),
        minMipmapLevelClamp: f32::from_bits(least),
        maxMipmapLevelClamp: f32::from_bits(most),
        borderColor: border.map(f32::from_bits),
        reserved: [0; 12],
    })
}

/// `CUDA_RESOURCE_VIEW_DESC`, if there is one.
fn view(words: &[u64]) -> Result<Option<CUDA_RESOURCE_VIEW_DESC>, Refusal> {
    let name = "view";
    let &[format, width, height, depth, ref ranges @ ..] = words else {
        return match words {
            [] => Ok(None),
            _ => Err(Refusal::parameter(name, words.len() as u64)),
        };
    };
    let &[first_level, last_level, first_layer, last_layer] = ranges else {
        return Err(Refusal::parameter(name, words.len() as u64));
    };
    Ok(Some(CUDA_RESOURCE_VIEW_DESC {
        format: short(format, name)?.cast_signed(),
        width: back_end::size(width, name)?,
        height: back_end::size(height, name)?,
        depth: back_end::size(depth, name)?,
        firstMipmapLevel: short(first_level, name)?,
        lastMipmapLevel: short(last_level, name)?,
        firstLayer: short(first_layer, name)?,
        lastLayer: short(last_layer, name)?,
        reserved: [0; 16],
    }))
}

impl Session {
    /// `CUDA_RESOURCE_DESC`, of what the context has: `Err` of the result for what it has not.
    fn resource(
        &self,
        context: Handle,
        words: &[u64],
    ) -> Result<Result<CUDA_RESOURCE_DESC, CUresult>, Refusal> {
        let refused = Ok(Err(CUDA_ERROR_INVALID_VALUE));
        let name = "resource";
        let Some((kind, rest)) = words.split_first() else {
            return Err(Refusal::parameter(name, 0));
        };
        let kind = short(*kind, name)?.cast_signed();
        let mut res = [0; 16];
        let of_elements = |format: u64, channels: u64| {
            let (format, channels) = (short(format, name)?, short(channels, name)?);
            // In memory, the two are one behind the other.
            let both = u64::from(format) | u64::from(channels) << 32;
            Ok::<_, Refusal>((both, element(format.cast_signed(), channels)))
        };
        match (kind, rest) {
            (CU_RESOURCE_TYPE_ARRAY, &[array]) => {
                let (real, Array { context: own, .. }) = self.array(Handle(array))?;
                if own != context {
                    return refused;
                }
                res[0] = real.expose_provenance() as u64;
            }
            (CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, &[array]) => {
                let (real, Mipmapped { context: own, .. }) = self.mipmapped(Handle(array))?;
                if own != context {
                    return refused;
                }
                res[0] = real.expose_provenance() as u64;
            }
            (CU_RESOURCE_TYPE_LINEAR, &[address, format, channels, bytes]) => {
                let (elements, size) = of_elements(format, channels)?;
                if size.is_err() || !self.ranges.has(address, bytes) {
                    return refused;
                }
                res[..3].copy_from_slice(&[address, elements, bytes]);
            }
            (CU_RESOURCE_TYPE_PITCH2D, &[address, format, channels, width, height, pitch]) => {
                let (elements, size) = of_elements(format, channels)?;
                let row = size.ok().and_then(|size| size.checked_mul(width));
                let before = height.checked_sub(1).and_then(|it| it.checked_mul(pitch));
                let all = row.zip(before).and_then(|(row, it)| row.checked_add(it));
                if !all.is_some_and(|all| self.ranges.has(address, all)) {
                    return refused;
                }
                res[..5].copy_from_slice(&[address, elements, width, height, pitch]);
            }
            _ => return Err(Refusal::parameter(name, words.len() as u64)),
        }
        Ok(Ok(CUDA_RESOURCE_DESC {
            resType: kind,
            res,
            flags: 0,
        }))
    }

    /// Makes a texture; the driver's number of it.
    pub(super) fn make_texture(
        &mut self,
        call: &mut Call,
        context: Handle,
        [resource, texture, seen]: [&[u64]; 3],
    ) -> Result<(CUresult, u64), Refusal> {
        self.make_current(context)?;
        let texture = sampling(texture)?;
        let seen = view(seen)?;
        let resource = match self.resource(context, resource)? {
            Ok(resource) => resource,
            Err(error) => return Ok((error, 0)),
        };
        if self.views.textures.len() >= MAX {
            return Ok((CUDA_ERROR_OUT_OF_MEMORY, 0));
        }
        let seen = seen.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let mut object = 0;
        let make = self.functions().cuTexObjectCreate;
        // SAFETY: there is space for a number, and what is described is the session's.
        let result = call_if(call, make, |make| unsafe {
            make(&mut object, &resource, &texture, seen)
        });
        if result == CUDA_SUCCESS {
            self.views.textures.insert(object, context);
        }
        Ok((result, object))
    }

    /// Makes a surface; the driver's number of it.
    pub(super) fn make_surface(
        &mut self,
        call: &mut Call,
        context: Handle,
        resource: &[u64],
    ) -> Result<(CUresult, u64), Refusal> {
        self.make_current(context)?;
        let resource = match self.resource(context, resource)? {
            Ok(resource) => resource,
            Err(error) => return Ok((error, 0)),
        };
        if self.views.surfaces.len() >= MAX {
            return Ok((CUDA_ERROR_OUT_OF_MEMORY, 0));
        }
        let mut object = 0;
        let make = self.functions().cuSurfObjectCreate;
        // SAFETY: there is space for a number, and what is described is the session's.
        let result = call_if(call, make, |make| unsafe { make(&mut object, &resource) });
        if result == CUDA_SUCCESS {
            self.views.surfaces.insert(object, context);
        }
        Ok((result, object))
    }

    /// Destroys a texture of the session's.
    pub(super) fn destroy_texture(
        &mut self,
        call: &mut Call,
        object: u64,
    ) -> Result<CUresult, Refusal> {
        let Some(context) = self.views.textures.remove(&object) else {
            return Ok(CUDA_ERROR_INVALID_VALUE);
        };
        self.make_current(context)?;
        let end = self.functions().cuTexObjectDestroy;
        // SAFETY: it is the session's, and nothing names it any more.
        Ok(call_if(call, end, |end| unsafe { end(object) }))
    }

    /// Destroys a surface of the session's.
    pub(super) fn destroy_surface(
        &mut self,
        call: &mut Call,
        object: u64,
    ) -> Result<CUresult, Refusal> {
        let Some(context) = self.views.surfaces.remove(&object) else {
            return Ok(CUDA_ERROR_INVALID_VALUE);
        };
        self.make_current(context)?;
        let end = self.functions().cuSurfObjectDestroy;
        // SAFETY: it is the session's, and nothing names it any more.
        Ok(call_if(call, end, |end| unsafe { end(object) }))
    }
}

impl Textures for Board {
    fn cu_tex_object_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuTexObjectCreateArgs,
    ) -> Result<wire::CuTexObjectCreateReply, Refusal> {
        let words = [&*args.resource, &*args.texture, &*args.view];
        let (result, object) = session.make_texture(call, args.current, words)?;
        Ok(wire::CuTexObjectCreateReply { result, object })
    }

    fn cu_tex_object_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuTexObjectDestroyArgs,
    ) -> Result<wire::CuTexObjectDestroyReply, Refusal> {
        let result = session.destroy_texture(call, args.object)?;
        Ok(wire::CuTexObjectDestroyReply { result })
    }

    fn cu_surf_object_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuSurfObjectCreateArgs,
    ) -> Result<wire::CuSurfObjectCreateReply, Refusal> {
        let (result, object) = session.make_surface(call, args.current, &args.resource)?;
        Ok(wire::CuSurfObjectCreateReply { result, object })
    }

    fn cu_surf_object_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuSurfObjectDestroyArgs,
    ) -> Result<wire::CuSurfObjectDestroyReply, Refusal> {
        let result = session.destroy_surface(call, args.object)?;
        Ok(wire::CuSurfObjectDestroyReply { result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_texture_has_fourteen_numbers() {
        let mut words = [0u64; 14];
        words[0] = 1;
        words[4] = 2;
        words[7] = 0.5f32.to_bits().into();
        words[13] = 1f32.to_bits().into();
        let read = sampling(&words).unwrap();
        assert_eq!((read.addressMode, read.flags), ([1, 0, 0], 2));
        assert_eq!((read.mipmapLevelBias, read.borderColor[3]), (0.5, 1.0));
        words[2] = 1 << 32;
        assert!(sampling(&words).is_err());
        assert!(sampling(&words[1..]).is_err());
    }

    #[test]
    fn a_view_has_eight_numbers_or_none() {
        assert!(view(&[]).unwrap().is_none());
        let read = view(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap().unwrap();
        assert_eq!((read.format, read.width, read.lastLayer), (1, 2, 8));
        assert!(view(&[1]).is_err() && view(&[1; 9]).is_err());
    }
}
