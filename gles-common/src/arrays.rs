//! Vertex arrays and indices in the program's memory.

/// Bytes of a component of a vertex attribute; none for a type that arrays do not have,
/// or that is a whole element. Section 10.3.
#[inline]
pub fn component_bytes(ty: u32) -> Option<usize> {
    match ty {
        0x1400 | 0x1401 => Some(1), // GL_BYTE, GL_UNSIGNED_BYTE
        0x1402 | 0x1403 => Some(2), // GL_SHORT, GL_UNSIGNED_SHORT
        // GL_HALF_FLOAT, GL_HALF_FLOAT_OES
        0x140B | 0x8D61 => Some(2),
        // GL_INT, GL_UNSIGNED_INT, GL_FLOAT, GL_FIXED
        0x1404..=0x1406 | 0x140C => Some(4),
        _ => None,
    }
}

/// Bytes of an index; none for a type that indices do not have. Section 10.5.
pub fn index_bytes(ty: u32) -> Option<usize> {
    match ty {
        0x1401 => Some(1),
        0x1403 => Some(2),
        0x1405 => Some(4), // GL_UNSIGNED_INT
        _ => None,
    }
}

/// An attribute's array, as `glVertexAttribPointer` describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of an element.
    element: usize,
    /// Bytes from one element to the next.
    stride: usize,
}

impl Layout {
    /// Of `size` components of type `ty`, `stride` bytes apart, or without a gap if
    /// that is 0; none if the API refuses these values.
    #[inline]
    pub fn new(size: i32, ty: u32, stride: i32) -> Option<Self> {
        let components = usize::try_from(size).ok().filter(|n| (1..=4).contains(n))?;
        let element = match ty {
            // GL_INT_2_10_10_10_REV, GL_UNSIGNED_INT_2_10_10_10_REV
            0x8D9F | 0x8368 if components == 4 => 4,
            _ => components * component_bytes(ty)?,
        };
        let stride = usize::try_from(stride).ok()?;
        Some(Self {
            element,
            stride: if stride == 0 { element } else { stride },
        })
    }

    /// Bytes from the array's begin to the element `first`.
    pub fn offset(&self, first: u32) -> Option<usize> {
        self.stride.checked_mul(usize::try_from(first).ok()?)
    }

    /// Bytes from an element's begin to the end of the one `count` elements further,
    /// without the gap behind it.
    pub fn bytes(&self, count: u32) -> Option<usize> {
        match count {
            0 => Some(0),
            _ => self.offset(count - 1)?.checked_add(self.element),
        }
    }

    /// How many whole elements are in so many bytes.
    pub fn elements(&self, bytes: usize) -> u32 {
        match bytes.checked_sub(self.element) {
            None => 0,
            Some(more) => u32::try_from(more / self.stride + 1).unwrap_or(u32::MAX),
        }
    }
}

/// The smallest and the largest of the indices of type `ty` in these bytes, in the
/// order of bytes of both sides, which is little-endian; none if there are none. If a
/// primitive `restarts` at the type's largest index, that one names no vertex. Section
/// 10.3.4.
pub fn index_range(indices: &[u8], ty: u32, restarts: bool) -> Option<(u32, u32)> {
    let size = index_bytes(ty)?;
    let last = u32::MAX >> (u32::BITS as usize - 8 * size);
    let index = |bytes: &[u8]| {
        let value = bytes
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u32::from(byte));
        (value, value)
    };
    let wider = |a: (u32, u32), b: (u32, u32)| (a.0.min(b.0), a.1.max(b.1));
    let all = indices.chunks_exact(size).map(index);
    all.filter(|(index, _)| !restarts || *index != last)
        .reduce(wider)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOAT: u32 = 0x1406;

    #[test]
    fn the_last_element_has_no_gap_behind_it() {
        let layout = Layout::new(3, FLOAT, 20).unwrap();
        assert_eq!(layout.bytes(0), Some(0));
        assert_eq!(layout.bytes(1), Some(12));
        assert_eq!(layout.bytes(3), Some(52));
        assert_eq!(layout.elements(52), 3);
        assert_eq!(layout.elements(51), 2);
        assert_eq!(layout.elements(11), 0);
        assert_eq!(Layout::new(2, FLOAT, 0).unwrap().bytes(2), Some(16));
    }

    #[test]
    fn what_the_api_refuses_is_no_layout() {
        for (size, ty, stride) in [(0, FLOAT, 0), (5, FLOAT, 0), (1, 0x8368, 0), (1, FLOAT, -4)] {
            assert_eq!(Layout::new(size, ty, stride), None);
        }
    }

    #[test]
    fn the_range_of_indices_is_found_for_each_type() {
        let range = |indices: &[u8], ty| index_range(indices, ty, false);
        assert_eq!(range(&[3, 1, 2], 0x1401), Some((1, 3)));
        assert_eq!(range(&[0, 1, 5, 0], 0x1403), Some((5, 256)));
        assert_eq!(range(&[0xff; 4], 0x1405), Some((u32::MAX, u32::MAX)));
        assert_eq!(range(&[], 0x1401), None);
        assert_eq!(range(&[0], 0x1400), None);
    }

    #[test]
    fn a_restart_is_no_index() {
        let range = |indices: &[u8], ty| index_range(indices, ty, true);
        assert_eq!(range(&[3, 0xff, 2], 0x1401), Some((2, 3)));
        assert_eq!(range(&[0xff, 0xff, 5, 0], 0x1403), Some((5, 5)));
        assert_eq!(range(&[0xff, 0, 5, 0], 0x1403), Some((5, 255)));
        assert_eq!(range(&[0xff; 4], 0x1405), None);
    }
}
