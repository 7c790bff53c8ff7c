//! Reads the picture that a surface shows, for the guest's display: whatever the program
//! has bound, and without a trace in its context.

use super::Gles;
use super::generated::types::*;
use crate::back_end::{Objects, Refusal};
use crate::graphics::present::{read_bytes, resize_to};
use gil_gles_common::windows::Order;
use std::ffi::CStr;

/// How a context reads pictures.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// The context's version of OpenGL ES.
    major: u32,
    has_bgra: bool,
    /// Framebuffer objects: OpenGL ES 1.1 has them by an extension.
    has_framebuffers: bool,
}

/// What a context of the program's had bound.
struct Bound {
    pack_buffer: GLint,
    framebuffer: GLint,
    /// Of the surface.
    read_buffer: GLint,
}

impl Default for Bound {
    fn default() -> Self {
        Self {
            pack_buffer: 0,
            framebuffer: 0,
            read_buffer: BACK,
        }
    }
}

impl Gles {
    /// Reads the surface that is current for reading into `picture`, four bytes a pixel,
    /// the lowest row first; in which order, `wanted` if the driver has that.
    ///
    /// # Errors
    /// [`Refusal`] if nothing is current here.
    pub fn read_back(
        &mut self,
        (width, height): (i32, i32),
        wanted: Order,
        picture: &mut Vec<u8>,
    ) -> Result<Order, Refusal> {
        let reader = self.reader()?;
        self.arrange_pack(true)?;
        let side = |side| usize::try_from(side).unwrap_or(0);
        resize_to(picture, read_bytes(side(width), side(height)))?;
        let bound = self.unbind(reader);
        let (format, order) = match wanted {
            Order::Bgra if reader.has_bgra => (GL_BGRA_EXT, Order::Bgra),
            _ => (GL_RGBA, Order::Rgba),
        };
        if let Some(function) = self.functions().glReadPixels {
            let place = picture.as_mut_ptr().cast();
            // SAFETY: rows touch, and there is room for all of them.
            unsafe { function(0, 0, width, height, format, GL_UNSIGNED_BYTE, place) };
        }
        self.rebind(reader, &bound);
        Ok(order)
    }

    fn reader(&mut self) -> Result<Reader, Refusal> {
        let here = self.here();
        if let Some(reader) = self.state(here)?.reader {
            return Ok(reader);
        }
        let extensions = self.text(GL_EXTENSIONS);
        let major = major(&self.text(GL_VERSION));
        let has = |extension: &str| extensions.split(' ').any(|name| name == extension);
        let reader = Reader {
            major,
            has_bgra: has("GL_EXT_read_format_bgra"),
            has_framebuffers: major > 1 || has("GL_OES_framebuffer_object"),
        };
        self.state(here)?.reader = Some(reader);
        Ok(reader)
    }

    /// A text of the context that is current here.
    fn text(&self, name: GLenum) -> String {
        let Some(function) = self.functions().glGetString else {
            return String::new();
        };
        // SAFETY: a text that it gives stays as long as the context is current.
        unsafe {
            let text = function(name);
            match text.is_null() {
                true => String::new(),
                false => CStr::from_ptr(text.cast()).to_string_lossy().into_owned(),
            }
        }
    }

    /// Has reads come from the surface, into memory; what was bound.
    fn unbind(&self, reader: Reader) -> Bound {
        let mut bound = Bound::default();
        match reader.major {
            ..=1 if !reader.has_framebuffers => {}
            ..=2 => {
                bound.framebuffer = self.integer(GL_FRAMEBUFFER_BINDING);
                self.bind(reader, &bound, &Bound::default());
            }
            _ => {
                bound.pack_buffer = self.integer(GL_PIXEL_PACK_BUFFER_BINDING);
                bound.framebuffer = self.integer(GL_READ_FRAMEBUFFER_BINDING);
                self.bind(reader, &bound, &Bound::default());
                // Now the surface's.
                bound.read_buffer = self.integer(GL_READ_BUFFER);
                self.choose(reader, bound.read_buffer, BACK);
            }
        }
        bound
    }

    /// Binds again what was.
    fn rebind(&self, reader: Reader, bound: &Bound) {
        self.choose(reader, BACK, bound.read_buffer);
        self.bind(reader, &Bound::default(), bound);
    }

    /// Binds what differs.
    fn bind(&self, reader: Reader, from: &Bound, to: &Bound) {
        let target = match reader.major {
            ..=2 => GL_FRAMEBUFFER,
            _ => GL_READ_FRAMEBUFFER,
        };
        if from.framebuffer != to.framebuffer
            && let Some(function) = self.functions().glBindFramebuffer
        {
            // SAFETY: the object is the program's and alive, or none.
            unsafe { function(target, to.framebuffer.cast_unsigned()) };
        }
        if from.pack_buffer != to.pack_buffer
            && let Some(function) = self.functions().glBindBuffer
        {
            // SAFETY: the same.
            unsafe { function(GL_PIXEL_PACK_BUFFER, to.pack_buffer.cast_unsigned()) };
        }
    }

    /// Chooses which of the surface's buffers is read.
    fn choose(&self, reader: Reader, from: GLint, to: GLint) {
        if reader.major > 2
            && from != to
            && let Some(function) = self.functions().glReadBuffer
        {
            // SAFETY: it takes any value.
            unsafe { function(to.cast_unsigned()) };
        }
    }
}

const BACK: GLint = GL_BACK.cast_signed();

/// The number before the point in `OpenGL ES 3.2 …` and `OpenGL ES-CM 1.1 …`.
fn major(version: &str) -> u32 {
    let digits = version.find(|c: char| c.is_ascii_digit());
    let digit = digits.and_then(|at| version[at..].chars().next()?.to_digit(10));
    digit.unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn a_version_is_the_first_number() {
        assert_eq!(major("OpenGL ES 3.2 Mesa 22.3.6"), 3);
        assert_eq!(major("OpenGL ES-CM 1.1"), 1);
        assert_eq!(major(""), 2);
    }
}
