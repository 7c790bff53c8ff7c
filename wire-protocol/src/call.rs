//! Building blocks of the generated argument and reply types.
//!
//! A pointer argument never crosses as an address. What it points to crosses
//! as bytes: small data inside the message, large data as one of the call's
//! regions, which the driver names by guest physical address and the host
//! interface moves.

use serde::{Deserialize, Serialize, Serializer};

/// A guest object's number, the same on both sides. 0 is NULL.
///
/// The guest numbers what it creates, from 1. The board numbers what it finds
/// (platforms, devices) and what the API creates unasked, with
/// [`Handle::BOARD`] set.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Handle(pub u64);

impl Handle {
    /// The null handle.
    pub const NULL: Self = Self(0);
    /// Set in numbers that the board gave.
    pub const BOARD: u64 = 1 << 63;

    /// Whether it is null.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Whether the board numbered it.
    pub const fn is_boards(self) -> bool {
        self.0 & Self::BOARD != 0
    }
}

/// Data up to this many bytes goes inside the message, above it by region.
pub const INLINE_MAX: usize = 1024;

/// What a pointer to input points to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum InData<'a> {
    /// The pointer is NULL.
    #[default]
    Null,
    /// The bytes.
    Inline(#[serde(borrow, serialize_with = "at_once")] &'a [u8]),
    /// The bytes are the call's region of this index.
    Region(u32),
}

/// Room for what a pointer to output points to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutRoom {
    /// The pointer is NULL.
    #[default]
    Null,
    /// The reply carries up to this many bytes.
    Inline(u32),
    /// The room is the call's region of this index.
    Region(u32),
}

/// What the board wrote to an [`OutRoom`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutData<'a> {
    /// Nothing: NULL, or the call did not write.
    #[default]
    None,
    /// The bytes, no more than the room.
    Inline(#[serde(borrow, serialize_with = "at_once")] &'a [u8]),
    /// They are in the region.
    Region,
}

/// As a sequence of bytes would be, but copied in one piece: the guest counts
/// its instructions.
fn at_once<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_at_once_are_the_same_bytes() {
        let bytes = postcard::to_stdvec(&InData::Inline(b"abc")).unwrap();
        assert_eq!(bytes, [1, 3, b'a', b'b', b'c']);
        assert_eq!(postcard::from_bytes(&bytes), Ok(InData::Inline(b"abc")));
        let bytes = postcard::to_stdvec(&OutData::Inline(b"abc")).unwrap();
        assert_eq!(bytes, [1, 3, b'a', b'b', b'c']);
        assert_eq!(postcard::from_bytes(&bytes), Ok(OutData::Inline(b"abc")));
    }
}
