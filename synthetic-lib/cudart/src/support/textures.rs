//! Textures and surfaces: descriptions of the runtime API as the driver API has them, and back.

use super::arrays::{described, format};
use super::error::Answer;
use crate::generated::types::*;
use gil_cuda::generated::types as cu;

/// `CU_TRSF_…`.
const AS_INTEGER: u32 = 0x01;
const NORMALIZED: u32 = 0x02;
const SRGB: u32 = 0x10;
const NO_TRILINEAR_OPTIMIZATION: u32 = 0x20;
const SEAMLESS: u32 = 0x40;

/// The two numbers of 32 bits in a word, the first in memory first.
fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

fn word([first, second]: [u32; 2]) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

/// The description of elements that begins in the second of these words, and what comes behind it.
fn elements(words: &[u64; 16]) -> (cudaChannelFormatDesc, &[u64]) {
    let [_, xy, zw, last, rest @ ..] = words;
    let ([x, y], [z, w], [f, _]) = (halves(*xy), halves(*zw), halves(*last));
    let [x, y, z, w, f] = [x, y, z, w, f].map(u32::cast_signed);
    (cudaChannelFormatDesc { x, y, z, w, f }, rest)
}

/// What a texture or a surface shows.
///
/// # Errors
/// `cudaErrorInvalidValue`, `cudaErrorInvalidChannelDescriptor`.
pub fn resource(asked: &cudaResourceDesc) -> Answer<cu::CUDA_RESOURCE_DESC> {
    let mut res = [0; 16];
    res[0] = asked.res[0];
    let (desc, rest) = elements(&asked.res);
    let of_elements = || format(&desc).map(|(format, count)| word([format.cast_unsigned(), count]));
    match asked.resType {
        cudaResourceTypeArray | cudaResourceTypeMipmappedArray => {}
        cudaResourceTypeLinear => {
            res[1] = of_elements()?;
            res[2] = rest[0];
        }
        cudaResourceTypePitch2D => {
            res[1] = of_elements()?;
            res[2..5].copy_from_slice(&rest[..3]);
        }
        _ => return Err(cudaErrorInvalidValue),
    }
    Ok(cu::CUDA_RESOURCE_DESC {
        resType: asked.resType,
        res,
        flags: asked.flags,
    })
}

/// The same back.
pub fn resource_of(found: &cu::CUDA_RESOURCE_DESC) -> cudaResourceDesc {
    let mut res = [0; 16];
    res[0] = found.res[0];
    if matches!(
        found.resType,
        cudaResourceTypeLinear | cudaResourceTypePitch2D
    ) {
        let [format, count] = halves(found.res[1]);
        let desc = described((format.cast_signed(), count));
        let numbers = [desc.x, desc.y, desc.z, desc.w, desc.f].map(i32::cast_unsigned);
        let [x, y, z, w, f] = numbers;
        res[1..4].copy_from_slice(&[word([x, y]), word([z, w]), word([f, 0])]);
        res[4..7].copy_from_slice(&found.res[2..5]);
    }
    cudaResourceDesc {
        resType: found.resType,
        res,
        flags: found.flags,
    }
}

/// How a texture is sampled.
pub fn texture(asked: &cudaTextureDesc) -> cu::CUDA_TEXTURE_DESC {
    let flags = [
        (asked.readMode == cudaReadModeElementType, AS_INTEGER),
        (asked.normalizedCoords != 0, NORMALIZED),
        (asked.sRGB != 0, SRGB),
        (
            asked.disableTrilinearOptimization != 0,
            NO_TRILINEAR_OPTIMIZATION,
        ),
        (asked.seamlessCubemap != 0, SEAMLESS),
    ];
    let flags = flags.iter().filter(|(is_set, _)| *is_set);
    cu::CUDA_TEXTURE_DESC {
        addressMode: asked.addressMode,
        filterMode: asked.filterMode,
        flags: flags.fold(0, |all, (_, flag)| all | flag),
        maxAnisotropy: asked.maxAnisotropy,
        mipmapFilterMode: asked.mipmapFilterMode,
        mipmapLevelBias: asked.mipmapLevelBias,
        minMipmapLevelClamp: asked.minMipmapLevelClamp,
        maxMipmapLevelClamp: asked.maxMipmapLevelClamp,
        borderColor: asked.borderColor,
        reserved: [0; 12],
    }
}

/// The same back.
pub fn texture_of(found: &cu::CUDA_TEXTURE_DESC) -> cudaTextureDesc {
    let has = |flag: u32| i32::from(found.flags & flag != 0);
    cudaTextureDesc {
        addressMode: found.addressMode,
        filterMode: found.filterMode,
        readMode: match has(AS_INTEGER) {
            0 => cudaReadModeNormalizedFloat,
            _ => cudaReadModeElementType,
        },
        sRGB: has(SRGB),
        borderColor: found.borderColor,
        normalizedCoords: has(NORMALIZED),
        maxAnisotropy: found.maxAnisotropy,
        mipmapFilterMode: found.mipmapFilterMode,
        mipmapLevelBias: found.mipmapLevelBias,
        minMipmapLevelClamp: found.minMipmapLevelClamp,
        maxMipmapLevelClamp: found.maxMipmapLevelClamp,
        disableTrilinearOptimization: has(NO_TRILINEAR_OPTIMIZATION),
        seamlessCubemap: has(SEAMLESS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_come_back() {
        let mut asked = cudaResourceDesc {
            resType: cudaResourceTypePitch2D,
            res: [0; 16],
            flags: 0,
        };
        asked.res[..7].copy_from_slice(&[
            0x700,
            word([8, 8]),
            word([8, 8]),
            word([1, 0]),
            60,
            10,
            256,
        ]);
        let driver = resource(&asked).unwrap();
        assert_eq!(driver.res[..5], [0x700, word([1, 4]), 60, 10, 256]);
        assert_eq!(resource_of(&driver).res, asked.res);
        asked.resType = cudaResourceTypeLinear;
        let driver = resource(&asked).unwrap();
        assert_eq!(driver.res[..4], [0x700, word([1, 4]), 60, 0]);
        asked.resType = 7;
        assert_eq!(resource(&asked).unwrap_err(), cudaErrorInvalidValue);
    }

    #[test]
    fn flags_say_how_elements_are_read() {
        let asked = cudaTextureDesc {
            addressMode: [1, 2, 3],
            filterMode: 1,
            readMode: cudaReadModeElementType,
            sRGB: 1,
            borderColor: [0.0, 0.25, 0.5, 1.0],
            normalizedCoords: 1,
            maxAnisotropy: 4,
            mipmapFilterMode: 1,
            mipmapLevelBias: 0.5,
            minMipmapLevelClamp: 1.0,
            maxMipmapLevelClamp: 2.0,
            disableTrilinearOptimization: 0,
            seamlessCubemap: 1,
        };
        let driver = texture(&asked);
        assert_eq!(driver.flags, AS_INTEGER | NORMALIZED | SRGB | SEAMLESS);
        let back = texture_of(&driver);
        assert_eq!((back.readMode, back.sRGB), (cudaReadModeElementType, 1));
        assert_eq!((back.seamlessCubemap, back.normalizedCoords), (1, 1));
        assert_eq!(back.disableTrilinearOptimization, 0);
        let plain = cudaTextureDesc {
            readMode: cudaReadModeNormalizedFloat,
            ..asked
        };
        assert_eq!(
            texture_of(&texture(&plain)).readMode,
            cudaReadModeNormalizedFloat
        );
    }
}
