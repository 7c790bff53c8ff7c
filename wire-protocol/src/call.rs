//! Building blocks of the generated argument and reply types.
//!
//! A pointer argument never crosses as an address. Its data crosses as bytes:
//! small data inside the message, large data as one of the call's regions, for
//! which the driver gives guest physical addresses and which the host interface
//! copies.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// A guest object's number, the same on both sides. 0 is NULL.
///
/// The guest numbers what it creates, from 1. The board numbers what it finds
/// (platforms, devices) and what the API creates unasked, with
/// [`Handle::BOARD`] set.
///
/// On the wire its highest bit comes lowest, so that the board's numbers, too,
/// are short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

impl Serialize for Handle {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.on_wire())
    }
}

impl<'de> Deserialize<'de> for Handle {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(|rotated| Self(rotated.rotate_right(1)))
    }
}

impl Handle {
    /// The null handle.
    pub const NULL: Self = Self(0);
    /// Set in numbers that the board gave.
    pub const BOARD: u64 = 1 << 63;

    /// The number that travels for it.
    #[inline]
    pub(crate) const fn on_wire(self) -> u64 {
        self.0.rotate_left(1)
    }

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
    /// The buffer is the call's region of this index.
    Region(u32),
}

/// What the board wrote to an [`OutRoom`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutData<'a> {
    /// Nothing: NULL, or the call did not write.
    #[default]
    None,
    /// The bytes, no more than fit into the buffer.
    Inline(#[serde(borrow, serialize_with = "at_once")] &'a [u8]),
    /// They are in the region.
    Region,
}

/// As a sequence of bytes would be, but copied in one piece: the guest counts
/// its instructions.
fn at_once<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// The event that an enqueue signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewEvent {
    /// Its number.
    pub number: Handle,
    /// Whether the program holds it. If not, the board drops it when the
    /// operation has ended.
    pub kept: bool,
}

/// One entry of a terminated key-value list, key first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Property {
    /// A plain value; a negative one as two's complement.
    Word(u64, u64),
    /// An object.
    Handle(u64, Handle),
    /// A list of values that ends with a 0, which is not in it.
    Many(u64, Vec<u64>),
}

/// How the value of a size-and-data query crosses. `K` is the API's own type of
/// object kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InfoType<K> {
    /// The same bytes on both sides: scalars of a fixed width, strings, arrays
    /// and structures of such.
    Bytes,
    /// One or more values as wide as a pointer. What the guest's pointers are
    /// too narrow for is an error there.
    Sizes,
    /// The same for limits: what is beyond the guest's width is the largest
    /// value it has.
    Limits,
    /// Limits of 64 bits to what the guest asks for in its own width: cross as
    /// bytes, and are cut in the same way.
    WideLimits,
    /// One or more objects.
    Handles(K),
    /// The extension string of such an object: crosses as bytes, and the guest
    /// shows what works across the bridge.
    Extensions(K),
    /// The same as an array of structures: a version and a name.
    ExtensionVersions(K),
    /// It does not: the guest answers from what it knows.
    Local,
}

/// The value of a size-and-data query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum InfoValue<'a> {
    /// The call failed.
    #[default]
    None,
    /// For [`InfoType::Bytes`]; none if the buffer was too small.
    Bytes(#[serde(borrow)] OutData<'a>),
    /// For [`InfoType::Sizes`] and [`InfoType::Limits`]: all of them. The
    /// usual one takes no memory.
    Sizes(SmallVec<[u64; 1]>),
    /// For [`InfoType::Handles`]: all of them.
    Handles(Vec<Handle>),
}

/// What is known of an entry point without its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallInfo {
    /// Its number within its API.
    pub entry: u16,
    /// Its name in C.
    pub name: &'static str,
    /// What it means for time; `None` if it is never forwarded. Where that
    /// depends on an argument, the longer one.
    pub class: Option<crate::envelope::Class>,
}

/// An array of strings or of byte blocks, each with its own length: one block
/// that holds all of them ([`pack`], [`unpack`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed<'a> {
    /// The number of arrays.
    pub count: u32,
    /// For each: its length as a little-endian `u64`, `u64::MAX` for a null
    /// pointer; then its bytes. `InData::Null` if the array itself is null.
    #[serde(borrow)]
    pub data: InData<'a>,
}

/// An invalid packed array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// A piece runs past the end.
    #[error("piece {index} of a packed array at offset {at} runs past its {total} bytes")]
    Length {
        /// The piece's index.
        index: u32,
        /// The piece's offset.
        at: usize,
        /// Bytes of the block.
        total: usize,
    },
    /// Bytes follow the last piece.
    #[error("{0} bytes follow the last piece of a packed array")]
    Trailing(usize),
}

/// Packs pieces; `None` stands for a null pointer.
pub fn pack<'a>(pieces: impl IntoIterator<Item = Option<&'a [u8]>>) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        let len = piece.map_or(u64::MAX, |bytes| bytes.len() as u64);
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(piece.unwrap_or_default());
    }
    out
}

/// The `count` pieces of a packed array.
///
/// # Errors
/// [`PackError`] if the block is not exactly those.
pub fn unpack(count: u32, data: &[u8]) -> Result<Vec<Option<&[u8]>>, PackError> {
    let mut pieces = Vec::new();
    let mut rest = data;
    for index in 0..count {
        let past_end = PackError::Length {
            index,
            at: data.len() - rest.len(),
            total: data.len(),
        };
        let (len, tail) = rest.split_first_chunk::<8>().ok_or(past_end)?;
        rest = tail;
        let len = u64::from_le_bytes(*len);
        if len == u64::MAX {
            pieces.push(None);
            continue;
        }
        let len = usize::try_from(len).map_err(|_| past_end)?;
        let (piece, tail) = rest.split_at_checked(len).ok_or(past_end)?;
        pieces.push(Some(piece));
        rest = tail;
    }
    match rest.len() {
        0 => Ok(pieces),
        trailing => Err(PackError::Trailing(trailing)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn handles_of_either_side_are_short() {
        for (handle, wanted) in [(5, 10), (Handle::BOARD | 5, 11), (0, 0)] {
            let bytes = postcard::to_stdvec(&Handle(handle)).unwrap();
            assert_eq!(bytes, [wanted]);
            assert_eq!(postcard::from_bytes(&bytes), Ok(Handle(handle)));
        }
        let largest = postcard::to_stdvec(&Handle(u64::MAX)).unwrap();
        assert_eq!(postcard::from_bytes(&largest), Ok(Handle(u64::MAX)));
    }

    #[test]
    fn handles_know_who_numbered_them() {
        let (null, guests, boards) = (Handle::NULL, Handle(5), Handle(Handle::BOARD | 5));
        assert_eq!(
            [null, guests, boards].map(Handle::is_null),
            [true, false, false]
        );
        assert_eq!(
            [null, guests, boards].map(Handle::is_boards),
            [false, false, true]
        );
    }

    #[test]
    fn bytes_at_once_are_the_same_bytes() {
        let bytes = postcard::to_stdvec(&InData::Inline(b"abc")).unwrap();
        assert_eq!(bytes, [1, 3, b'a', b'b', b'c']);
        assert_eq!(postcard::from_bytes(&bytes), Ok(InData::Inline(b"abc")));
        let bytes = postcard::to_stdvec(&OutData::Inline(b"abc")).unwrap();
        assert_eq!(bytes, [1, 3, b'a', b'b', b'c']);
        assert_eq!(postcard::from_bytes(&bytes), Ok(OutData::Inline(b"abc")));
    }

    #[test]
    fn a_packed_array_that_lies_is_refused() {
        let data = pack([Some(&b"ab"[..]), None]);
        assert_eq!(unpack(1, &data), Err(PackError::Trailing(8)));
        let past_end = PackError::Length {
            index: 2,
            at: 18,
            total: 18,
        };
        assert_eq!(unpack(3, &data), Err(past_end));
        let second_is_cut = PackError::Length {
            index: 1,
            at: 10,
            total: 17,
        };
        assert_eq!(unpack(2, &data[..17]), Err(second_is_cut));
        assert!(unpack(u32::MAX, &5u64.to_le_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn packed_arrays_round_trip(pieces: Vec<Option<Vec<u8>>>) {
            let pieces: Vec<_> = pieces.iter().map(Option::as_deref).collect();
            let data = pack(pieces.iter().copied());
            prop_assert_eq!(unpack(pieces.len() as u32, &data), Ok(pieces));
        }

        #[test]
        fn any_block_unpacks_or_fails(count in 0u32..4, data: Vec<u8>) {
            if let Ok(pieces) = unpack(count, &data) {
                prop_assert_eq!(pieces.len(), count as usize);
                prop_assert_eq!(pack(pieces), data);
            }
        }
    }
}
