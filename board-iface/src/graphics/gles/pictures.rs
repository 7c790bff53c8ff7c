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

/// Those among which a name is; none for a name that gil does not know.
fn names_with(name: GLenum) -> Option<Names> {
    let has = |names: &Names| names.iter().any(|(known, ..)| *known == name);
    [UNPACK, PACK].into_iter().find(has)
}

/// What the program said with `glPixelStorei`, and what the driver has of it.
#[derive(Debug, Default)]
pub struct Stored {
    /// The values that the program gave and the driver took.
    values: HashMap<GLenum, GLint>,
    /// Whether rows touch for the driver, in pictures that it reads and that it writes.
    is_tight: [bool; 2],
}

impl Stored {
    /// What the driver is told so that rows touch, or lie as the program said. It may not
    /// know a name that the program never set, which then has its first value.
    fn arranged(&self, names: Names, tight: bool) -> Vec<(GLenum, GLint)> {
        let value = |&(name, first, touching): &(GLenum, GLint, GLint)| {
            let own = self.values.get(&name).copied();
            let value = if tight {
                touching
            } else {
                own.unwrap_or(first)
            };
            (own.is_some() || first != touching).then_some((name, value))
        };
        names.iter().filter_map(value).collect()
    }
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
        let which = usize::from(names == PACK);
        let stored = &mut self.state(context)?.stored;
        if stored.is_tight[which] == tight {
            return Ok(());
        }
        stored.is_tight[which] = tight;
        let values = stored.arranged(names, tight);
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
        let Some(names) = names_with(args.pname) else {
            // Whatever it means to the driver, no picture is computed by it.
            return self.keep_error(args.current, GL_INVALID_ENUM);
        };
        self.arrange(names, false)?;
        let Some(function) = self.functions().glPixelStorei else {
            return Ok(());
        };
        let is_accepted = self.accepts(args.current, |_| {
            // SAFETY: it takes any values, and keeps those that it finds wrong out.
            call.timed(|| unsafe { function(args.pname, args.param) });
        })?;
        if is_accepted {
            let now = self.integer(args.pname);
            let stored = &mut self.state(args.current)?.stored;
            stored.values.insert(args.pname, now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_touch_whatever_the_driver_took() {
        let mut stored = Stored::default();
        assert_eq!(
            stored.arranged(UNPACK, true),
            [(GL_UNPACK_ALIGNMENT, 1)],
            "a driver may not know the others"
        );
        assert_eq!(stored.arranged(PACK, false), [(GL_PACK_ALIGNMENT, 4)]);
        for (value, (name, ..)) in (2..).zip(UNPACK) {
            stored.values.insert(*name, value);
        }
        for (name, _, touching) in UNPACK {
            assert!(stored.arranged(UNPACK, true).contains(&(*name, *touching)));
        }
        assert!(
            stored
                .arranged(UNPACK, false)
                .contains(&(GL_UNPACK_SKIP_ROWS, 4))
        );
        assert_eq!(stored.arranged(PACK, true), [(GL_PACK_ALIGNMENT, 1)]);
    }

    #[test]
    fn only_names_that_pictures_are_computed_by_are_known() {
        assert_eq!(names_with(GL_UNPACK_SKIP_IMAGES), Some(UNPACK));
        assert_eq!(names_with(GL_PACK_ROW_LENGTH), Some(PACK));
        // GL_PACK_REVERSE_ROW_ORDER_ANGLE, GL_COMPRESSED_TEXTURE_FORMATS
        assert_eq!([0x93A4, 0x86A3, 0, u32::MAX].map(names_with), [None; 4]);
    }
}
