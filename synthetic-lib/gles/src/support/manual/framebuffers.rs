//! Framebuffers, and the textures and renderbuffers that they may have.

use super::names;
use crate::generated::manual::{Framebuffers, Guest, Request};
use crate::generated::types::*;
use crate::support::{images, shadow};
use gil_guest::api::{Api, Current};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;

impl Framebuffers for Guest {
    /// The board's driver begins with what was called so far.
    unsafe fn glBindFramebuffer(entry: u64, target: GLenum, framebuffer: GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            if target != GL_READ_FRAMEBUFFER {
                shadow::of(&current).framebuffer = framebuffer;
                images::bound(entry, &current, framebuffer)?;
            }
            let request = Request::new(wire::GL_BIND_FRAMEBUFFER, Class::Post, entry);
            request.post(&wire::GlBindFramebufferArgs {
                current: current.number(),
                target,
                framebuffer,
            })
        });
    }

    unsafe fn glFramebufferTexture2D(
        entry: u64,
        target: GLenum,
        attachment: GLenum,
        textarget: GLenum,
        texture: GLuint,
        level: GLint,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let name = images::Name::Texture(texture);
            images::attached(entry, &current, (target, attachment), name)?;
            let request = Request::new(wire::GL_FRAMEBUFFER_TEXTURE2D, Class::Post, entry);
            request.post(&wire::GlFramebufferTexture2DArgs {
                current: current.number(),
                target,
                attachment,
                textarget,
                texture,
                level,
            })
        });
    }

    unsafe fn glFramebufferRenderbuffer(
        entry: u64,
        target: GLenum,
        attachment: GLenum,
        renderbuffertarget: GLenum,
        renderbuffer: GLuint,
    ) {
        Self::nothing(|| {
            let current = Self::current()?;
            let name = images::Name::Renderbuffer(renderbuffer);
            images::attached(entry, &current, (target, attachment), name)?;
            let request = Request::new(wire::GL_FRAMEBUFFER_RENDERBUFFER, Class::Post, entry);
            request.post(&wire::GlFramebufferRenderbufferArgs {
                current: current.number(),
                target,
                attachment,
                renderbuffertarget,
                renderbuffer,
            })
        });
    }

    unsafe fn glBindTexture(entry: u64, target: GLenum, texture: GLuint) {
        Self::nothing(|| {
            let current = Self::current_number()?;
            images::sampled(entry, images::Name::Texture(texture))?;
            Self::post_numbers(wire::GL_BIND_TEXTURE, entry, |to| {
                to.handle(current);
                to.number(target.into());
                to.number(texture.into());
            })
        });
    }

    unsafe fn glDeleteTextures(entry: u64, n: GLsizei, textures: *const GLuint) {
        Self::nothing(|| {
            let current = Self::current()?;
            // SAFETY: the caller's.
            let textures = unsafe { names(n, textures) }?;
            images::deleted(&textures, images::Name::Texture);
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
            images::deleted(&renderbuffers, images::Name::Renderbuffer);
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
            {
                let bound = &mut shadow::of(&current).framebuffer;
                *bound = if framebuffers.contains(bound) {
                    0
                } else {
                    *bound
                };
            }
            images::deleted(&framebuffers, images::Name::Framebuffer);
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
            images::targets(entry, images::target(target)?, &image)?;
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
            images::targets(entry, images::target(target)?, &image)?;
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
