//! Framebuffers, and the textures and renderbuffers that they may have.

use super::names;
use crate::generated::manual::{Framebuffers, Guest, Request};
use crate::generated::types::*;
use crate::support::images;
use crate::support::reach::Name;
use gil_guest::api::{Api, Current};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;

impl Framebuffers for Guest {
    unsafe fn glDeleteTextures(entry: u64, n: GLsizei, textures: *const GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            // SAFETY: the caller's.
            let textures = unsafe { names(n, textures) }?;
            images::deleted(&current, textures.iter().copied().map(Name::Texture));
            let request = Request::new(wire::GL_DELETE_TEXTURES, Class::Post, entry);
            request.post(&wire::GlDeleteTexturesArgs {
                current: current.number(),
                n,
                textures: Some(textures),
            })
        });
    }

    unsafe fn glDeleteRenderbuffers(entry: u64, n: GLsizei, renderbuffers: *const GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            // SAFETY: the caller's.
            let renderbuffers = unsafe { names(n, renderbuffers) }?;
            images::deleted(
                &current,
                renderbuffers.iter().copied().map(Name::Renderbuffer),
            );
            let request = Request::new(wire::GL_DELETE_RENDERBUFFERS, Class::Post, entry);
            request.post(&wire::GlDeleteRenderbuffersArgs {
                current: current.number(),
                n,
                renderbuffers: Some(renderbuffers),
            })
        });
    }

    unsafe fn glDeleteFramebuffers(entry: u64, n: GLsizei, framebuffers: *const GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            // SAFETY: the caller's.
            let framebuffers = unsafe { names(n, framebuffers) }?;
            images::deleted_framebuffers(&current, &framebuffers);
            let request = Request::new(wire::GL_DELETE_FRAMEBUFFERS, Class::Post, entry);
            request.post(&wire::GlDeleteFramebuffersArgs {
                current: current.number(),
                n,
                framebuffers: Some(framebuffers),
            })
        });
    }

    unsafe fn glEGLImageTargetTexture2DOES(entry: u64, target: GLenum, image: GLeglImageOES) {
        Self::nothing(|| {
            let current = Self::current()?;
            let image = images::find(image)?;
            images::targets(entry, &current, target, &image)?;
            let op = wire::GL_EGL_IMAGE_TARGET_TEXTURE2DOES;
            let request = Request::new(op, Class::Post, entry);
            request.post(&wire::GlEGLImageTargetTexture2DOESArgs {
                current: current.number(),
                target,
                image: image.number(),
            })
        });
    }

    unsafe fn glEGLImageTargetRenderbufferStorageOES(
        entry: u64,
        target: GLenum,
        image: GLeglImageOES,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let image = images::find(image)?;
            images::targets(entry, &current, target, &image)?;
            let op = wire::GL_EGL_IMAGE_TARGET_RENDERBUFFER_STORAGE_OES;
            let request = Request::new(op, Class::Post, entry);
            request.post(&wire::GlEGLImageTargetRenderbufferStorageOESArgs {
                current: current.number(),
                target,
                image: image.number(),
            })
        });
    }
}
