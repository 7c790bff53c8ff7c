//! Named helpers of the expressions in `api/*.toml` that are the same on both
//! sides.

use crate::length::Length;

/// Bytes of host memory from its start that a rectangular copy reaches: as
/// OpenCL computes it from an origin (bytes, rows, slices), a region (bytes,
/// rows, slices) and pitches in bytes, of which 0 means "tightly packed".
/// 0 if an array is missing or the region is empty, which OpenCL refuses.
pub fn rect_bytes(
    origin: Option<&[u64]>,
    region: Option<&[u64]>,
    row_pitch: u64,
    slice_pitch: u64,
) -> Length {
    let (Some(&[x, y, z]), Some(&[width, height, depth])) = (origin, region) else {
        return Length::of(0u8);
    };
    if width == 0 || height == 0 || depth == 0 {
        return Length::of(0u8);
    }
    let given = |pitch: u64, packed: Length| match pitch {
        0 => packed,
        pitch => Length::of(pitch),
    };
    let row = given(row_pitch, Length::of(width));
    let slice = given(slice_pitch, Length::of(height) * row);
    let last = |origin: u64, count: u64| Length::of(origin) + Length::of(count - 1);
    last(z, depth) * slice + last(y, height) * row + Length::of(x) + Length::of(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_ends_after_its_last_byte() {
        let bytes = |origin: [u64; 3], region: [u64; 3], row, slice| {
            rect_bytes(Some(&origin), Some(&region), row, slice).get()
        };
        assert_eq!(bytes([0; 3], [4, 3, 2], 0, 0), Some(24));
        assert_eq!(bytes([0; 3], [4, 3, 1], 10, 0), Some(24));
        assert_eq!(bytes([1, 2, 3], [4, 3, 2], 10, 100), Some(445));
        assert_eq!(bytes([0; 3], [4, 0, 2], 0, 0), Some(0));
        assert_eq!(bytes([0; 3], [u64::MAX; 3], 0, 0), None);
        assert_eq!(rect_bytes(None, Some(&[1; 3]), 0, 0).get(), Some(0));
    }
}
