//! A module's image in the program's memory, whose length only it says.

use crate::generated::types::*;
use gil_cuda_common::image::{self, Image, Memory};
use gil_guest::api::CallResult;
use std::ffi::{CStr, c_void};

/// The program's memory from an address on.
struct Program(*const u8);

impl Memory for Program {
    fn read<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let at = usize::try_from(at).ok()?;
        // SAFETY: the program's promise: an image is as long as it says.
        Some(unsafe { self.0.wrapping_add(at).cast::<[u8; N]>().read() })
    }

    fn text_len(&self, _: u64) -> Option<u64> {
        // SAFETY: the program's promise: a text ends with a 0.
        let text = unsafe { CStr::from_ptr(self.0.cast()) };
        Some(text.count_bytes() as u64)
    }
}

/// Where an image is, and how long: behind its wrapper, if it has one.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for null, `CUDA_ERROR_INVALID_IMAGE` for what is none.
///
/// # Safety
/// `image` is null or the address of an image.
pub unsafe fn find(image: *const c_void) -> CallResult<(*const c_void, usize)> {
    let mut place = image.cast::<u8>();
    // One wrapper: another inside it is no image.
    for _ in 0..2 {
        if place.is_null() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        match image::image(&Program(place)) {
            Some(Image::Bytes(len)) => {
                let len = usize::try_from(len).map_err(|_| CUDA_ERROR_INVALID_IMAGE)?;
                return Ok((place.cast(), len));
            }
            Some(Image::Wrapper(at)) => {
                // SAFETY: a wrapper has an address there.
                place = unsafe { place.add(at as usize).cast::<*const u8>().read_unaligned() };
            }
            None => break,
        }
    }
    Err(CUDA_ERROR_INVALID_IMAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_found_behind_its_wrapper() {
        let text = c".version 8.0";
        let mut wrapper = [0u64; 3];
        wrapper[0] = 0x1_4662_43b1;
        wrapper[1] = text.as_ptr().expose_provenance() as u64;
        // SAFETY: both are images.
        unsafe {
            assert_eq!(find(text.as_ptr().cast()).unwrap().1, 13);
            let (place, len) = find(wrapper.as_ptr().cast()).unwrap();
            assert_eq!((place, len), (text.as_ptr().cast(), 13));
            wrapper[1] = wrapper.as_ptr().expose_provenance() as u64;
            let twice = find(wrapper.as_ptr().cast());
            assert_eq!(twice, Err(CUDA_ERROR_INVALID_IMAGE));
            assert_eq!(find(std::ptr::null()), Err(CUDA_ERROR_INVALID_VALUE));
            assert_eq!(find(c"".as_ptr().cast()), Err(CUDA_ERROR_INVALID_IMAGE));
        }
    }
}
