//! Pictures. The guest sends and takes rows that lie one behind the other, whatever the
//! program's `glPixelStorei` says. The driver has the program's values only for pictures in
//! buffers.

use super::Gles;
use super::generated::types::*;
use crate::back_end::{Call, Current, Objects, Refusal};
use gil_gles_common::pixels::{Size, packed_bytes};
use gil_wire::generated::gles::{self as wire, Pixels};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::{null, without_provenance};

/// Values of `glPixelStorei`, as they are at first and where rows touch.
type Names = &'static [(GLenum, GLint, GLint)];

/// Of pictures that the driver reads.
const UNPACK: Names = &[
    (GL_UNPACK_ALIGNMENT, 4, 1),
    (GL_UNPACK_ROW_LENGTH, 0, 0),
    (GL_UNPACK_SKIP_ROWS, 0, 0),
    (GL_UNPACK_SKIP_PIXELS, 0, 0),
    (GL_UNPACK_IMAGE_HEIGHT, 0, 0),
    (GL_UNPACK_SKIP_IMAGES, 0, 0),
];
/// Of those that it writes.
const PACK: Names = &[
    (GL_PACK_ALIGNMENT, 4, 1),
    (GL_PACK_ROW_LENGTH, 0, 0),
    (GL_PACK_SKIP_ROWS, 0, 0),
    (GL_PACK_SKIP_PIXELS, 0, 0),
];

/// What the program said with `glPixelStorei`, and what the driver has of it.
#[derive(Debug, Default)]
pub struct Stored {
    /// The values that the program gave.
    values: HashMap<GLenum, GLint>,
    /// Whether rows touch for the driver, in pictures that it reads and that it writes.
    is_tight: [bool; 2],
}

impl Gles {
    /// A picture's bytes for the driver; null for what has none, or of whose format the
    /// number of bytes is not known: a driver that knows it reads nothing.
    ///
    /// # Errors
    /// [`Refusal`] if bytes are missing.
    pub fn unpack(
        &mut self,
        call: &mut Call,
        pixels: &Pixels<'_>,
        size: Size,
        (format, ty): (u32, u32),
    ) -> Result<*const c_void, Refusal> {
        let bytes = packed_bytes(size, format, ty).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or(Refusal::missing_size("pixels"))?;
        self.unpack_bytes(call, pixels, bytes)
    }

    /// So many bytes for the driver, or an offset into the buffer that is bound.
    ///
    /// # Errors
    /// [`Refusal`] if they are missing, or if the guest takes a buffer for bound that is
    /// not, or the reverse.
    pub fn unpack_bytes(
        &mut self,
        call: &mut Call,
        pixels: &Pixels<'_>,
        bytes: usize,
    ) -> Result<*const c_void, Refusal> {
        let is_bound = self.has_pixel_buffer(GL_PIXEL_UNPACK_BUFFER_BINDING);
        match pixels {
            Pixels::Offset(offset) if is_bound => {
                self.arrange(UNPACK, false)?;
                let offset = usize::try_from(*offset).map_err(|_| Refusal::wide("pixels"))?;
                Ok(without_provenance(offset))
            }
            Pixels::Data(data) if !is_bound => {
                self.arrange(UNPACK, true)?;
                match bytes {
                    0 => Ok(null()),
                    bytes => call.input(data, bytes),
                }
            }
            _ => Err(Refusal::parameter("pixels", u64::from(is_bound))),
        }
    }

    /// Whether a buffer has the pictures that the driver reads, or those that it writes.
    /// OpenGL ES 1.1 knows no such buffers.
    pub fn has_pixel_buffer(&self, name: GLenum) -> bool {
        !self.is_fixed() && self.integer(name) != 0
    }

    /// Has rows touch in pictures that the driver writes, or lie as the program said.
    ///
    /// # Errors
    /// [`Refusal::Table`] if no context is current.
    pub fn arrange_pack(&mut self, tight: bool) -> Result<(), Refusal> {
        self.arrange(PACK, tight)
    }

    fn arrange(&mut self, names: Names, tight: bool) -> Result<(), Refusal> {
        let context = self.here();
        // The first is the alignment, and all that OpenGL ES 1.1 has.
        let known = if self.is_fixed() { 1 } else { names.len() };
        let which = usize::from(names == PACK);
        let stored = &mut self.state(context)?.stored;
        if stored.is_tight[which] == tight {
            return Ok(());
        }
        stored.is_tight[which] = tight;
        let value = |&(name, first, touching): &(GLenum, GLint, GLint)| {
            let own = stored.values.get(&name).copied().unwrap_or(first);
            (name, if tight { touching } else { own })
        };
        let values: Vec<_> = names[..known].iter().map(value).collect();
        if let Some(function) = self.functions().glPixelStorei {
            for (name, value) in values {
                // SAFETY: it takes any values.
                unsafe { function(name, value) };
            }
        }
        Ok(())
    }

    /// `glPixelStorei`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn pixel_store(
        &mut self,
        call: &mut Call,
        args: &wire::GlPixelStoreiArgs,
    ) -> Result<(), Refusal> {
        self.make_current(args.current)?;
        for names in [UNPACK, PACK] {
            if names.iter().any(|(name, ..)| *name == args.pname) {
                self.arrange(names, false)?;
            }
        }
        let Some(function) = self.functions().glPixelStorei else {
            return Ok(());
        };
        // SAFETY: it takes any values, and keeps those that it finds wrong out.
        call.timed(|| unsafe { function(args.pname, args.param) });
        let now = self.integer(args.pname);
        self.state(args.current)?
            .stored
            .values
            .insert(args.pname, now);
        Ok(())
    }
}
