//! What of a picture the driver wrote: what is beyond the framebuffer it leaves as it is,
//! and so it shall be in the program's memory.

use super::Gles;
use crate::back_end::{Call, Objects, Refusal};
use gil_gles_common::pixels::pixel_bytes;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;
use std::ops::Range;

/// What the driver wrote of a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Written {
    /// All of it, or a buffer has it.
    #[default]
    All,
    /// Columns and rows; none if these are empty.
    Part(Range<usize>, Range<usize>),
}

impl Written {
    const NOTHING: Self = Self::Part(0..0, 0..0);
}

/// Rows one behind the other, whose memory is as long.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The memory.
    pub place: *mut u8,
    /// Its bytes.
    pub bytes: usize,
    /// Bytes of a pixel.
    pixel: usize,
    /// Pixels of a row.
    width: usize,
}

/// What no pixel that the driver writes is likely to be.
const MARK: [u8; 16] = [
    0xB6, 0x5B, 0xE1, 0x9D, 0x37, 0xC9, 0x6E, 0xD3, 0xA5, 0x1D, 0xF2, 0x4B, 0x97, 0xE8, 0x35, 0xDA,
];
/// What the memory is filled with to find what is written: a byte that is the one after a
/// read may be written, one that is each after each is not.
const FILLS: [u8; 2] = [0x55, 0xAA];

impl Room {
    /// Memory for a picture; none for one that has no pixels, or of an unknown format.
    pub fn new(args: &wire::GlReadPixelsArgs, place: *mut c_void, bytes: usize) -> Option<Self> {
        let pixel = pixel_bytes(args.format, args.r#type)?;
        let is_there = bytes > 0 && !place.is_null();
        is_there.then_some(Self {
            place: place.cast(),
            bytes,
            pixel: usize::try_from(pixel).ok()?,
            width: usize::try_from(args.width).ok()?,
        })
    }

    /// The first and the last pixel: between what is written of a rectangle's, all is.
    fn corners(self) -> [usize; 2] {
        [0, self.bytes - self.pixel]
    }

    fn mark(self) {
        for corner in self.corners() {
            // SAFETY: a pixel has no more bytes than the mark, and is within the memory.
            unsafe {
                let to = self.place.add(corner);
                std::ptr::copy_nonoverlapping(MARK.as_ptr(), to, self.pixel);
            }
        }
    }

    fn is_marked(self) -> bool {
        self.corners().into_iter().any(|corner| {
            // SAFETY: as in `mark`, which wrote it.
            let pixel = unsafe { std::slice::from_raw_parts(self.place.add(corner), self.pixel) };
            pixel == &MARK[..self.pixel]
        })
    }

    fn fill(self, byte: u8) {
        // SAFETY: it is as long.
        unsafe { self.place.write_bytes(byte, self.bytes) };
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: it was filled, and nobody writes it meanwhile.
        unsafe { std::slice::from_raw_parts(self.place, self.bytes) }
    }
}

/// The smallest rectangle that has the pixels with another byte than `fill`, and `known`.
fn around(
    known: Option<(Range<usize>, Range<usize>)>,
    bytes: &[u8],
    (width, pixel): (usize, usize),
    fill: u8,
) -> Option<(Range<usize>, Range<usize>)> {
    let differs = |byte: &u8| *byte != fill;
    let mut found = known;
    for (number, row) in bytes.chunks_exact(width * pixel).enumerate() {
        let ends = row
            .iter()
            .position(differs)
            .zip(row.iter().rposition(differs));
        if let Some((first, last)) = ends {
            let (first, last) = (first / pixel, last / pixel + 1);
            let (columns, rows) = found.unwrap_or((first..last, number..number + 1));
            let columns = columns.start.min(first)..columns.end.max(last);
            found = Some((columns, rows.start.min(number)..rows.end.max(number + 1)));
        }
    }
    found
}

impl Gles {
    /// Reads a picture into memory; what of it the driver wrote.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn read_into(
        &mut self,
        call: &mut Call,
        args: &wire::GlReadPixelsArgs,
        room: Room,
    ) -> Result<Written, Refusal> {
        room.mark();
        let place = room.place.cast();
        // SAFETY: the room is as large as the picture.
        let read = |gl: &Self| unsafe { gl.read_pixels(call, args, place) };
        let is_accepted = self.accepts(args.current, read)?;
        if !is_accepted {
            return Ok(Written::NOTHING);
        }
        if !room.is_marked() {
            return Ok(Written::All);
        }
        let mut found = None;
        for fill in FILLS {
            room.fill(fill);
            // SAFETY: as before.
            unsafe { self.read_pixels(call, args, place) };
            found = around(found, room.bytes(), (room.width, room.pixel), fill);
        }
        Ok(match found {
            Some((columns, rows)) if columns.len() * rows.len() * room.pixel == room.bytes => {
                Written::All
            }
            Some((columns, rows)) => Written::Part(columns, rows),
            None => Written::NOTHING,
        })
    }

    /// Has the driver read a picture.
    ///
    /// # Safety
    /// At `place` is room for the picture; or a buffer is bound that takes it, and `place`
    /// is an offset in that.
    pub unsafe fn read_pixels(
        &self,
        call: &mut Call,
        args: &wire::GlReadPixelsArgs,
        place: *mut c_void,
    ) {
        let Some(function) = self.functions().glReadPixels else {
            return;
        };
        let wire::GlReadPixelsArgs {
            x,
            y,
            width,
            height,
            format,
            r#type,
            ..
        } = *args;
        // SAFETY: the caller's.
        call.timed(|| unsafe { function(x, y, width, height, format, r#type, place) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_a_rectangle() {
        // Two rows of three pixels of two bytes, of which those of the last row were.
        let after = |fill: u8| {
            let (a, b) = ([fill; 8], [0x55, 0x55, 0xAA, 0xAA]);
            [&a[..], &b].concat()
        };
        let shape = (3, 2);
        let first = around(None, &after(0x55), shape, 0x55);
        assert_eq!(first, Some((2..3, 1..2)));
        let both = around(first, &after(0xAA), shape, 0xAA);
        assert_eq!(both, Some((1..3, 1..2)));
        assert_eq!(around(None, &[0x55; 12], shape, 0x55), None);
    }
}
