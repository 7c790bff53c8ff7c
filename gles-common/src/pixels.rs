//! Pictures in the program's memory.

/// Bytes of a pixel of this format and type; none for a pair that is not listed here.
/// Table 8.2 of the specification, and `GL_EXT_read_format_bgra`.
pub fn pixel_bytes(format: u32, ty: u32) -> Option<u64> {
    let components = match format {
        0x1906 | 0x1909 | 0x1902 | 0x1903 => 1, // ALPHA, LUMINANCE, DEPTH_COMPONENT, RED
        0x190A | 0x8227 => 2,                   // LUMINANCE_ALPHA, RG
        0x1907 => 3,                            // RGB
        0x1908 | 0x80E1 => 4,                   // RGBA, BGRA_EXT
        _ => return None,
    };
    match ty {
        0x1400 | 0x1401 => Some(components), // BYTE, UNSIGNED_BYTE
        0x1402 | 0x1403 | 0x140B | 0x8D61 => Some(2 * components), // SHORT, HALF_FLOAT
        0x1404..=0x1406 => Some(4 * components), // INT, UNSIGNED_INT, FLOAT
        // One number for a whole pixel.
        0x8363 if components == 3 => Some(2),
        0x8033 | 0x8034 if components == 4 => Some(2),
        _ => None,
    }
}

/// How pictures lie in memory: `glPixelStorei`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// A row begins at a multiple of so many bytes from the first: 1, 2, 4 or 8.
    pub alignment: i32,
}

impl Default for Store {
    fn default() -> Self {
        Self { alignment: 4 }
    }
}

impl Store {
    /// Bytes from the first pixel's begin to the last one's end. 0 for a picture
    /// without pixels, of a size that the API refuses, or of an unknown format: the
    /// driver finds the error, and reads and writes nothing. None if they overflow.
    /// Section 8.4.4.1.
    pub fn bytes(&self, width: i32, height: i32, format: u32, ty: u32) -> Option<u64> {
        let (Some(pixel), Ok(width), Ok(height), Ok(alignment)) = (
            pixel_bytes(format, ty),
            u64::try_from(width),
            u64::try_from(height),
            u64::try_from(self.alignment),
        ) else {
            return Some(0);
        };
        if width == 0 || height == 0 {
            return Some(0);
        }
        let row = width.checked_mul(pixel)?;
        let pitch = row.checked_next_multiple_of(alignment.max(1))?;
        pitch.checked_mul(height - 1)?.checked_add(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RGB: u32 = 0x1907;
    const RGBA: u32 = 0x1908;
    const BYTES: u32 = 0x1401;

    #[test]
    fn rows_are_aligned_but_the_last() {
        let store = Store::default();
        assert_eq!(store.bytes(5, 3, RGB, BYTES), Some(16 * 2 + 15));
        assert_eq!(Store { alignment: 1 }.bytes(5, 3, RGB, BYTES), Some(45));
        assert_eq!(store.bytes(5, 3, RGB, 0x8363), Some(12 * 2 + 10));
        assert_eq!(store.bytes(2, 2, RGBA, 0x8033), Some(8));
    }

    #[test]
    fn what_the_driver_refuses_has_no_bytes() {
        let store = Store::default();
        assert_eq!(store.bytes(-1, 3, RGB, BYTES), Some(0));
        assert_eq!(store.bytes(0, 3, RGB, BYTES), Some(0));
        assert_eq!(store.bytes(5, 3, 0, BYTES), Some(0));
        assert_eq!(store.bytes(5, 3, RGBA, 0x8363), Some(0));
        assert_eq!(store.bytes(i32::MAX, i32::MAX, RGBA, 0x1406), None);
    }
}
