//! Sizes and places by which a driver was seen to crash instead of returning an error.
//!
//! Mesa 22.3 counts a texture's levels into arrays of its stack before it compares the
//! texture's size with a limit, and adds a part's place to its size without looking for
//! an overflow. No GPU has pictures of a million pixels a side: what is beyond that is
//! given to the driver as that, which answers with the error that the program is due.

use super::gles::generated::Functions;
use super::gles::generated::types::*;
use std::ffi::c_void;
use std::sync::OnceLock;

/// More than a picture of any GPU has a side.
const BEYOND: i32 = 1 << 20;

/// As it is, or beyond every limit.
const fn side(side: i32) -> i32 {
    if side > BEYOND { BEYOND } else { side }
}

/// The same of a place, in both directions.
const fn place(place: i32) -> i32 {
    if place < -BEYOND {
        -BEYOND
    } else {
        side(place)
    }
}

/// Puts a function in front of the driver's, whose named arguments it bounds.
macro_rules! bounded {
    ($functions:ident: $($name:ident($($argument:ident: $type:ty $(=> $bound:ident)?),*);)*) => { $({
        type Function = unsafe extern "C" fn($($type),*);
        static DRIVERS: OnceLock<Function> = OnceLock::new();

        /// # Safety
        /// As of the driver's function.
        unsafe extern "C" fn guarded($($argument: $type),*) {
            if let Some(function) = DRIVERS.get() {
                // SAFETY: the caller's; sizes that are bounded are an error in the
                // driver before it reads or writes anything.
                unsafe { function($($($bound)?($argument)),*) }
            }
        }

        if let Some(function) = $functions.$name {
            let first = DRIVERS.get_or_init(|| function);
            debug_assert!(std::ptr::fn_addr_eq(*first, function), "one driver a process");
            $functions.$name = Some(guarded);
        }
    })* };
}

/// Bounds what programs give to these functions.
pub fn guard(functions: &mut Functions) {
    bounded! { functions:
        glTexImage2D(target: GLenum, level: GLint, internal: GLint, width: GLsizei => side,
            height: GLsizei => side, border: GLint, format: GLenum, ty: GLenum, pixels: *const c_void);
        glTexImage3D(target: GLenum, level: GLint, internal: GLint, width: GLsizei => side,
            height: GLsizei => side, depth: GLsizei => side, border: GLint, format: GLenum,
            ty: GLenum, pixels: *const c_void);
        glTexStorage2D(target: GLenum, levels: GLsizei, internal: GLenum, width: GLsizei => side,
            height: GLsizei => side);
        glTexStorage3D(target: GLenum, levels: GLsizei, internal: GLenum, width: GLsizei => side,
            height: GLsizei => side, depth: GLsizei => side);
        glTexStorage2DMultisample(target: GLenum, samples: GLsizei, internal: GLenum,
            width: GLsizei => side, height: GLsizei => side, fixed: GLboolean);
        glTexStorage3DMultisample(target: GLenum, samples: GLsizei, internal: GLenum,
            width: GLsizei => side, height: GLsizei => side, depth: GLsizei => side, fixed: GLboolean);
        glCompressedTexImage2D(target: GLenum, level: GLint, internal: GLenum, width: GLsizei => side,
            height: GLsizei => side, border: GLint, len: GLsizei, data: *const c_void);
        glCompressedTexImage3D(target: GLenum, level: GLint, internal: GLenum, width: GLsizei => side,
            height: GLsizei => side, depth: GLsizei => side, border: GLint, len: GLsizei,
            data: *const c_void);
        glCopyTexImage2D(target: GLenum, level: GLint, internal: GLenum, x: GLint => place,
            y: GLint => place, width: GLsizei => side, height: GLsizei => side, border: GLint);
        glRenderbufferStorage(target: GLenum, internal: GLenum, width: GLsizei => side,
            height: GLsizei => side);
        glRenderbufferStorageMultisample(target: GLenum, samples: GLsizei, internal: GLenum,
            width: GLsizei => side, height: GLsizei => side);
        glTexSubImage2D(target: GLenum, level: GLint, x: GLint => place, y: GLint => place,
            width: GLsizei => side, height: GLsizei => side, format: GLenum, ty: GLenum,
            pixels: *const c_void);
        glTexSubImage3D(target: GLenum, level: GLint, x: GLint => place, y: GLint => place,
            z: GLint => place, width: GLsizei => side, height: GLsizei => side,
            depth: GLsizei => side, format: GLenum, ty: GLenum, pixels: *const c_void);
        glCompressedTexSubImage2D(target: GLenum, level: GLint, x: GLint => place, y: GLint => place,
            width: GLsizei => side, height: GLsizei => side, format: GLenum, len: GLsizei,
            data: *const c_void);
        glCompressedTexSubImage3D(target: GLenum, level: GLint, x: GLint => place, y: GLint => place,
            z: GLint => place, width: GLsizei => side, height: GLsizei => side,
            depth: GLsizei => side, format: GLenum, len: GLsizei, data: *const c_void);
        glCopyTexSubImage2D(target: GLenum, level: GLint, to_x: GLint => place, to_y: GLint => place,
            x: GLint => place, y: GLint => place, width: GLsizei => side, height: GLsizei => side);
        glCopyTexSubImage3D(target: GLenum, level: GLint, to_x: GLint => place, to_y: GLint => place,
            to_z: GLint => place, x: GLint => place, y: GLint => place, width: GLsizei => side,
            height: GLsizei => side);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_gpu_may_have_stays_and_the_rest_is_beyond_it() {
        assert_eq!(
            [-1, 0, 65_536, BEYOND, i32::MAX].map(side),
            [-1, 0, 65_536, BEYOND, BEYOND]
        );
        assert_eq!([i32::MIN, -3, i32::MAX].map(place), [-BEYOND, -3, BEYOND]);
    }
}
