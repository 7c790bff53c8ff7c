//! Images as the storage of textures, which keep it.

use crate::generated::manual::{Guest, ImageStorage, Request};
use crate::generated::types::*;
use crate::support::images;
use gil_guest::api::{Api, Current};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;

impl ImageStorage for Guest {
    unsafe fn glEGLImageTargetTexStorageEXT(
        entry: u64,
        target: GLenum,
        image: GLeglImageOES,
        attrib_list: *const GLint,
    ) {
        /// `GL_NONE`.
        const END: GLint = 0;
        Self::nothing(|| {
            let current = Self::current()?;
            let image = images::find(image)?;
            // SAFETY: a list of the caller's.
            if !attrib_list.is_null() && unsafe { attrib_list.read() } != END {
                return Err(Self::INVALID_VALUE);
            }
            // By other targets, it is none of a buffer.
            if matches!(target, GL_TEXTURE_2D | GL_TEXTURE_EXTERNAL_OES) {
                images::targets(entry, &current, target, &image)?;
            }
            let op = wire::GL_EGL_IMAGE_TARGET_TEX_STORAGE_EXT;
            let request = Request::new(op, Class::Post, entry);
            request.post(&wire::GlEGLImageTargetTexStorageEXTArgs {
                current: current.number(),
                target,
                image: image.number(),
            })
        });
    }
}
