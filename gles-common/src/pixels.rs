//! Pictures in the program's memory.

use gil_wire::rows::Rows;

/// Bytes of a pixel of this format and type; none for a pair that is not listed here.
/// Table 8.2 of the specification, `GL_EXT_read_format_bgra`, `GL_OES_texture_stencil8`.
pub fn pixel_bytes(format: u32, ty: u32) -> Option<u64> {
    let components = match format {
        // ALPHA, LUMINANCE, DEPTH_COMPONENT, STENCIL_INDEX, RED, RED_INTEGER
        0x1906 | 0x1909 | 0x1902 | 0x1901 | 0x1903 | 0x8D94 => 1,
        // LUMINANCE_ALPHA, RG, RG_INTEGER, DEPTH_STENCIL
        0x190A | 0x8227 | 0x8228 | 0x84F9 => 2,
        // RGB, RGB_INTEGER
        0x1907 | 0x8D98 => 3,
        // RGBA, RGBA_INTEGER, BGRA_EXT
        0x1908 | 0x8D99 | 0x80E1 => 4,
        _ => return None,
    };
    match ty {
        // One number for a whole pixel: 5_6_5; 4_4_4_4, 5_5_5_1, both _REV; 2_10_10_10_REV;
        // 10F_11F_11F_REV, 5_9_9_9_REV; 24_8; FLOAT_32_24_8_REV
        0x8363 if components == 3 => Some(2),
        0x8033 | 0x8034 | 0x8365 | 0x8366 if components == 4 => Some(2),
        0x8368 if components >= 3 => Some(4),
        0x8C3B | 0x8C3E if components == 3 => Some(4),
        // Of depth alone: GL_NV_read_depth.
        0x84FA if matches!(format, 0x84F9 | 0x1902) => Some(4),
        0x8DAD if format == 0x84F9 => Some(8),
        _ if format == 0x84F9 => None,
        0x1400 | 0x1401 => Some(components), // BYTE, UNSIGNED_BYTE
        0x1402 | 0x1403 | 0x140B | 0x8D61 => Some(2 * components), // SHORT, HALF_FLOAT
        0x1404..=0x1406 => Some(4 * components), // INT, UNSIGNED_INT, FLOAT
        _ => None,
    }
}

/// How pictures lie in memory: `glPixelStorei`. Sizes are pixels, rows and pictures, as
/// the program gave them; 0 stands for the picture's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// A row begins at a multiple of so many bytes from the first: 1, 2, 4 or 8.
    pub alignment: i32,
    /// Pixels from a row's begin to the next one's.
    pub row_length: i32,
    /// Rows from a slice's begin to the next one's.
    pub image_height: i32,
    /// Pixels before the first.
    pub skip_pixels: i32,
    /// Rows before the first.
    pub skip_rows: i32,
    /// Slices before the first.
    pub skip_images: i32,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            alignment: 4,
            row_length: 0,
            image_height: 0,
            skip_pixels: 0,
            skip_rows: 0,
            skip_images: 0,
        }
    }
}

/// Width, height and depth of a picture in pixels, as a call gave them.
pub type Size = (i32, i32, i32);

/// Bytes of a picture whose rows lie one behind the other. 0 for a picture without
/// pixels, of a size that the API refuses, or of an unknown format: the driver finds the
/// error, and reads and writes nothing. None if they overflow.
pub fn packed_bytes(size: Size, format: u32, ty: u32) -> Option<u64> {
    let Some((width, height, depth, pixel)) = pixels(size, format, ty) else {
        return Some(0);
    };
    width
        .checked_mul(pixel)?
        .checked_mul(height)?
        .checked_mul(depth)
}

/// Width, height and depth, none of them 0, and the bytes of a pixel.
fn pixels((width, height, depth): Size, format: u32, ty: u32) -> Option<(u64, u64, u64, u64)> {
    let pixel = pixel_bytes(format, ty)?;
    let size = |value: i32| u64::try_from(value).ok().filter(|value| *value > 0);
    Some((size(width)?, size(height)?, size(depth)?, pixel))
}

impl Store {
    /// Where a part of a picture of this width lies, which begins at this pixel of this row;
    /// none if that cannot be counted.
    pub fn part(self, width: i32, (left, low): (i32, i32)) -> Option<Self> {
        let row_length = match self.row_length {
            0 => width,
            own => own,
        };
        Some(Self {
            row_length,
            skip_pixels: self.skip_pixels.checked_add(left)?,
            skip_rows: self.skip_rows.checked_add(low)?,
            ..self
        })
    }

    /// Where a picture's rows lie: bytes before the first, and the rows, which may overlap.
    /// No rows where [`packed_bytes`] are 0; none if they overflow. Section 8.4.4.1.
    pub fn rows(&self, size: Size, format: u32, ty: u32) -> Option<(u64, Rows)> {
        let Some((width, height, depth, pixel)) = pixels(size, format, ty) else {
            return Some((0, Rows::default()));
        };
        let own = |value: i32, else_: u64| match u64::try_from(value) {
            Ok(0) | Err(_) => else_,
            Ok(value) => value,
        };
        let alignment = own(self.alignment, 1);
        let row = width.checked_mul(pixel)?;
        let line = own(self.row_length, width).checked_mul(pixel)?;
        let row_pitch = line.checked_next_multiple_of(alignment)?;
        let slice_pitch = own(self.image_height, height).checked_mul(row_pitch)?;
        let skipped = [
            (self.skip_pixels, pixel),
            (self.skip_rows, row_pitch),
            (self.skip_images, slice_pitch),
        ];
        let mut before = 0u64;
        for (count, bytes) in skipped {
            before = before.checked_add(own(count, 0).checked_mul(bytes)?)?;
        }
        let rows = Rows {
            row,
            rows: height,
            row_pitch,
            slices: depth,
            slice_pitch,
        };
        Some((before, rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RGB: u32 = 0x1907;
    const RGBA: u32 = 0x1908;
    const BYTES: u32 = 0x1401;

    fn span(store: Store, size: Size, format: u32, ty: u32) -> (u64, Option<u64>) {
        let (before, rows) = store.rows(size, format, ty).unwrap();
        (before, rows.span().number())
    }

    #[test]
    fn rows_are_aligned_but_the_last() {
        let store = Store::default();
        let tight = Store {
            alignment: 1,
            ..store
        };
        assert_eq!(span(store, (5, 3, 1), RGB, BYTES), (0, Some(16 * 2 + 15)));
        assert_eq!(span(tight, (5, 3, 1), RGB, BYTES), (0, Some(45)));
        assert_eq!(span(store, (5, 3, 1), RGB, 0x8363), (0, Some(12 * 2 + 10)));
        assert_eq!(packed_bytes((5, 3, 2), RGB, BYTES), Some(90));
    }

    #[test]
    fn rows_may_overlap() {
        let store = Store::default();
        let narrow = Store {
            row_length: 5,
            ..store
        };
        let overlap = |store: Store, size| store.rows(size, RGBA, BYTES).unwrap().1.overlap();
        assert!(overlap(narrow, (20, 2, 1)));
        assert!(!overlap(narrow, (20, 1, 1)));
        assert!(!overlap(narrow, (5, 2, 1)));
        assert_eq!(span(narrow, (20, 3, 1), RGBA, BYTES), (0, Some(120)));
        let low = Store {
            image_height: 3,
            ..store
        };
        assert!(overlap(low, (4, 4, 2)));
        assert!(!overlap(low, (4, 4, 1)));
    }

    #[test]
    fn a_picture_may_be_a_part_of_another() {
        let store = Store {
            row_length: 10,
            image_height: 8,
            skip_pixels: 2,
            skip_rows: 3,
            skip_images: 1,
            ..Store::default()
        };
        let before = 2 * 4 + 3 * 40 + 8 * 40;
        let bytes = 8 * 40 + 40 + 3 * 4;
        assert_eq!(span(store, (3, 2, 2), RGBA, BYTES), (before, Some(bytes)));
    }

    #[test]
    fn a_part_lies_where_the_whole_has_it() {
        let store = Store {
            skip_rows: 1,
            ..Store::default()
        };
        let part = store.part(5, (2, 3)).unwrap();
        let (before, rows) = part.rows((1, 2, 1), RGB, BYTES).unwrap();
        assert_eq!((before, rows.row_pitch), (4 * 16 + 2 * 3, 16));
        let narrow = Store {
            row_length: 4,
            ..store
        };
        assert_eq!(narrow.part(5, (0, 0)).unwrap().row_length, 4);
        assert_eq!(store.part(5, (0, i32::MAX)), None);
    }

    #[test]
    fn what_the_driver_refuses_has_no_bytes() {
        for (size, format, ty) in [
            ((-1, 3, 1), RGB, BYTES),
            ((0, 3, 1), RGB, BYTES),
            ((5, 3, 1), 0, BYTES),
            ((5, 3, 1), RGBA, 0x8363),
        ] {
            assert_eq!(packed_bytes(size, format, ty), Some(0));
            assert_eq!(span(Store::default(), size, format, ty), (0, Some(0)));
        }
        let huge = (i32::MAX, i32::MAX, i32::MAX);
        assert_eq!(packed_bytes(huge, RGBA, 0x1406), None);
        assert_eq!(Store::default().rows(huge, RGBA, 0x1406), None);
    }
}
