//! An array of strings or byte blocks in the form that C functions take: an array
//! of pointers and an array of lengths.

use crate::call::{PackError, unpack};
use crate::length::Length;

/// A packed array, unpacked and owned.
#[derive(Debug, Default)]
pub struct Pieces {
    is_null: bool,
    // What the pointers point to.
    _owned: Vec<Option<Box<[u8]>>>,
    pointers: Vec<*const u8>,
    lengths: Vec<usize>,
    int_lengths: Vec<i32>,
}

impl Pieces {
    /// Copies the pieces of a [`Packed`](crate::call::Packed) array, a NUL
    /// behind each: some APIs read up to a NUL where a length is 0.
    ///
    /// # Errors
    /// [`PackError`].
    pub fn new(count: u32, data: Option<&[u8]>) -> Result<Self, PackError> {
        let Some(data) = data else {
            return Ok(Self {
                is_null: true,
                ..Self::default()
            });
        };
        let pieces = unpack(count, data)?;
        let lengths: Vec<usize> = pieces.iter().map(|p| p.map_or(0, <[u8]>::len)).collect();
        let int = |len: &usize| i32::try_from(*len).unwrap_or(i32::MAX);
        let owned: Vec<_> = pieces.iter().map(|p| p.map(with_nul)).collect();
        let pointer = |p: &Option<Box<[u8]>>| p.as_ref().map_or(std::ptr::null(), |p| p.as_ptr());
        Ok(Self {
            is_null: false,
            pointers: owned.iter().map(pointer).collect(),
            _owned: owned,
            int_lengths: lengths.iter().map(int).collect(),
            lengths,
        })
    }

    /// The array of pointers, valid while `self` lives; null for a null array.
    pub fn pointers(&self) -> *const *const u8 {
        match self.is_null {
            true => std::ptr::null(),
            false => self.pointers.as_ptr(),
        }
    }

    /// The array of lengths, valid while `self` lives; null for a null array.
    pub fn lengths(&self) -> *const usize {
        match self.is_null {
            true => std::ptr::null(),
            false => self.lengths.as_ptr(),
        }
    }

    /// The lengths for functions that take them as `int`. Frames are bounded
    /// far below what an `int` holds.
    pub fn int_lengths(&self) -> *const i32 {
        match self.is_null {
            true => std::ptr::null(),
            false => self.int_lengths.as_ptr(),
        }
    }

    /// Whether there are as many as the function will read. A null array has.
    pub fn covers(&self, needed: Length) -> bool {
        let enough = |needed: usize| needed <= self.pointers.len();
        self.is_null || needed.get().is_some_and(enough)
    }
}

fn with_nul(piece: &[u8]) -> Box<[u8]> {
    piece.iter().copied().chain([0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::pack;

    #[test]
    fn pieces_are_owned_and_end_with_a_nul() {
        let data = pack([Some(&b"ab"[..]), None, Some(&b""[..])]);
        let pieces = Pieces::new(3, Some(&data)).unwrap();
        assert_eq!(pieces.lengths, [2, 0, 0]);
        assert_eq!(pieces.int_lengths, [2, 0, 0]);
        assert_eq!(pieces._owned[0].as_deref(), Some(&b"ab\0"[..]));
        assert_eq!(
            pieces.pointers[0],
            pieces._owned[0].as_ref().unwrap().as_ptr()
        );
        assert!(pieces.pointers[1].is_null() && !pieces.pointers[2].is_null());
        assert!(pieces.covers(Length::of(3u8)) && !pieces.covers(Length::of(4u8)));
        assert!(pieces.covers(Length::of(2u8)) && !pieces.covers(Length::NONE));
        assert_eq!(pieces.pointers(), pieces.pointers.as_ptr());
        assert_eq!(pieces.lengths(), pieces.lengths.as_ptr());
        assert_eq!(pieces.int_lengths(), pieces.int_lengths.as_ptr());
        let null = Pieces::new(5, None).unwrap();
        assert!(null.pointers().is_null() && null.lengths().is_null());
        assert!(null.int_lengths().is_null());
        assert!(null.covers(Length::of(5u8)));
        assert!(Pieces::new(5, Some(&data)).is_err());
    }
}
