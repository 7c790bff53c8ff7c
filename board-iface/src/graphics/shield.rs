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

/// The library of OpenGL ES 2.0 and later.
pub const LATER: usize = 0;
/// That of OpenGL ES 1.1, which has the later functions, too, if the driver does.
pub const FIXED: usize = 1;

/// Puts a function in front of a library's, whose named arguments it bounds.
macro_rules! bounded {
    ($functions:ident: $($name:ident($($argument:ident: $type:ty $(=> $bound:ident)?),*);)*) => { $({
        type Function = unsafe extern "C" fn($($type),*);
        static DRIVERS: [OnceLock<Function>; 2] = [const { OnceLock::new() }; 2];

        /// # Safety
        /// As of the driver's function.
        unsafe extern "C" fn guarded<const LIBRARY: usize>($($argument: $type),*) {
            if let Some(function) = DRIVERS[LIBRARY].get() {
                // SAFETY: the caller's; sizes that are bounded are an error in the
                // driver before it reads or writes anything.
                unsafe { function($($($bound)?($argument)),*) }
            }
        }

        if let Some(function) = $functions.$name {
            let first = DRIVERS[LIBRARY].get_or_init(|| function);
            debug_assert!(std::ptr::fn_addr_eq(*first, function), "one driver a process");
            $functions.$name = Some(guarded::<LIBRARY>);
        }
    })* };
}

/// Bounds what programs give to these functions of a library, [`LATER`] or [`FIXED`].
pub fn guard<const LIBRARY: usize>(functions: &mut Functions) {
    bounded! { functions:
        glTexImage2D(target: GLenum, level: GLint, internal: GLint, width: GLsizei => side,
            height: GLsizei => side, border: GLint, format: GLenum, ty: GLenum, pixels: *const c_void);
        glTexImage3D(target: GLenum, level: GLint, internal: GLint, width: GLsizei => side,
            height: GLsizei => side, depth: GLsizei => side, border: GLint, format: GLenum,
            ty: GLenum, pixels: *const c_void);
        glTexImage3DOES(target: GLenum, level: GLint, internal: GLenum, width: GLsizei => side,
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
        glCopyImageSubData(from: GLuint, from_target: GLenum, from_level: GLint,
            from_x: GLint => place, from_y: GLint => place, from_z: GLint => place, to: GLuint,
            to_target: GLenum, to_level: GLint, to_x: GLint => place, to_y: GLint => place,
            to_z: GLint => place, width: GLsizei => side, height: GLsizei => side,
            depth: GLsizei => side);
        glReadPixels(x: GLint => place, y: GLint => place, width: GLsizei => side,
            height: GLsizei => side, format: GLenum, ty: GLenum, pixels: *mut c_void);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI32, Ordering};

    #[test]
    fn what_a_gpu_may_have_stays_and_the_rest_is_beyond_it() {
        assert_eq!(
            [-1, 0, 65_536, BEYOND, i32::MAX].map(side),
            [-1, 0, 65_536, BEYOND, BEYOND]
        );
        assert_eq!([i32::MIN, -3, i32::MAX].map(place), [-BEYOND, -3, BEYOND]);
    }

    static SEEN: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];

    unsafe extern "C" fn copy<const LIBRARY: usize>(
        _: GLuint,
        _: GLenum,
        _: GLint,
        x: GLint,
        _: GLint,
        _: GLint,
        _: GLuint,
        _: GLenum,
        _: GLint,
        _: GLint,
        _: GLint,
        _: GLint,
        width: GLsizei,
        _: GLsizei,
        _: GLsizei,
    ) {
        SEEN[LIBRARY].store(x + width, Ordering::Relaxed);
    }

    #[test]
    fn each_library_has_its_own_functions_behind_the_bounds() {
        let (mut later, mut fixed) = (Functions::default(), Functions::default());
        later.glCopyImageSubData = Some(copy::<LATER>);
        fixed.glCopyImageSubData = Some(copy::<FIXED>);
        guard::<LATER>(&mut later);
        guard::<FIXED>(&mut fixed);
        for (functions, x, width) in [(&later, i32::MAX, 1), (&fixed, -1, i32::MAX)] {
            let copy = functions.glCopyImageSubData.unwrap();
            // SAFETY: it takes any numbers.
            unsafe { copy(1, 0, 0, x, 0, 0, 2, 0, 0, 0, 0, 0, width, 1, 1) };
        }
        let seen = [LATER, FIXED].map(|library| SEEN[library].load(Ordering::Relaxed));
        assert_eq!(seen, [BEYOND + 1, BEYOND - 1]);
        assert!(later.glTexImage2D.is_none(), "a driver may lack functions");
    }
}
