//! Size-and-data queries.

use super::data::{write, write_data};
use super::{Api, CallResult, Described, Object};
use crate::width;
use gil_wire::call::{Handle, InfoType, InfoValue, OutData};
use std::ffi::c_void;

/// What the program gave for the answer.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The size of the program's buffer in bytes.
    pub size: usize,
    /// The program's buffer, or null.
    pub value: *mut c_void,
    /// Where the size of the value goes, or null.
    pub size_ret: *mut usize,
}

impl Room {
    /// Tells the size of the value.
    ///
    /// # Errors
    /// The API's code if there is a buffer and it is too small.
    ///
    /// # Safety
    /// `size_ret` is null or points to space for a size.
    pub unsafe fn announce<A: Described>(&self, size: usize) -> CallResult<()> {
        if !self.value.is_null() && self.size < size {
            return Err(A::VALUE);
        }
        // SAFETY: the caller's.
        unsafe { write(self.size_ret, size) };
        Ok(())
    }
}

/// Answers with these bytes.
///
/// # Errors
/// The API's code if there is a buffer and it is too small.
///
/// # Safety
/// The buffer is as large as it states.
pub unsafe fn answer<A: Described>(room: &Room, bytes: &[u8]) -> CallResult<()> {
    // SAFETY: the caller's; the buffer was compared with the length.
    unsafe {
        room.announce::<A>(bytes.len())?;
        write_data(&OutData::Inline(bytes), room.value, room.size);
    }
    Ok(())
}

/// Answers with what the board said, in the guest's own layout.
///
/// # Errors
/// The API's code if there is a buffer and it is too small, or if the board said
/// something else than was asked.
///
/// # Safety
/// The buffer is as large as it states.
pub unsafe fn answer_info<A: Api>(
    room: &Room,
    kind: InfoType<A::Kind>,
    size: u64,
    value: &InfoValue<'_>,
) -> CallResult<()> {
    // SAFETY: the caller's.
    unsafe {
        match (kind, value) {
            (InfoType::Bytes, InfoValue::Bytes(data)) => answer_bytes::<A>(room, size, data),
            (InfoType::Bytes, InfoValue::None) => answer_bytes::<A>(room, size, &OutData::None),
            (InfoType::Sizes, InfoValue::Sizes(sizes)) => {
                answer_words::<A>(room, sizes, width::exact)
            }
            (InfoType::Limits, InfoValue::Sizes(sizes)) => {
                answer_words::<A>(room, sizes, |size| Some(width::at_most(size)))
            }
            (InfoType::WideLimits, InfoValue::Bytes(OutData::Inline(bytes))) => {
                answer::<A>(room, &wide_limits(bytes))
            }
            (InfoType::Handles(kind), InfoValue::Handles(handles)) => {
                answer::<A>(room, &handle_bytes::<A>(kind, handles))
            }
            (InfoType::Extensions(kind), InfoValue::Bytes(OutData::Inline(bytes))) => {
                answer::<A>(room, &A::shown(kind, bytes))
            }
            (InfoType::ExtensionVersions(kind), InfoValue::Bytes(OutData::Inline(bytes))) => {
                answer::<A>(room, &A::shown_versions(kind, bytes))
            }
            _ => Err(A::GARBLED),
        }
    }
}

/// # Safety
/// The buffer is as large as it states.
unsafe fn answer_bytes<A: Api>(room: &Room, size: u64, data: &OutData<'_>) -> CallResult<()> {
    let size = usize::try_from(size).map_err(|_| A::GARBLED)?;
    let came = match data {
        OutData::None => size == 0,
        OutData::Inline(bytes) => bytes.len() == size,
        OutData::Region => true,
    };
    // SAFETY: the caller's.
    unsafe {
        room.announce::<A>(size)?;
        if !room.value.is_null() && !came {
            return Err(A::GARBLED);
        }
        write_data(data, room.value, room.size);
    }
    Ok(())
}

/// Answers with values of pointer width, if they fit the guest's. The usual one
/// value takes no memory.
///
/// # Safety
/// The buffer is as large as it states.
unsafe fn answer_words<A: Api>(
    room: &Room,
    sizes: &[u64],
    fit: impl Fn(u64) -> Option<usize>,
) -> CallResult<()> {
    let word = |size: &u64| fit(*size).ok_or(A::GARBLED);
    // SAFETY: the caller's.
    unsafe {
        match sizes {
            [one] => answer::<A>(room, &word(one)?.to_ne_bytes()),
            _ => {
                let words: Vec<usize> = sizes.iter().map(word).collect::<CallResult<_>>()?;
                answer::<A>(
                    room,
                    &words
                        .into_iter()
                        .flat_map(usize::to_ne_bytes)
                        .collect::<Vec<_>>(),
                )
            }
        }
    }
}

fn wide_limits(bytes: &[u8]) -> Vec<u8> {
    let (limits, _) = bytes.as_chunks::<8>();
    let cut = |limit: &[u8; 8]| width::at_most(u64::from_ne_bytes(*limit)) as u64;
    limits
        .iter()
        .flat_map(|limit| cut(limit).to_ne_bytes())
        .collect()
}

fn handle_bytes<A: Api>(kind: A::Kind, handles: &[Handle]) -> Vec<u8> {
    let bytes =
        |handle: &Handle| (Object::<A>::found::<c_void>(kind, *handle) as usize).to_ne_bytes();
    handles.iter().flat_map(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double::{Plain, PlainKind};

    /// Runs a query with a buffer of `room` bytes and returns its result, the
    /// size reported to it, and the buffer's contents.
    fn ask(
        room: Option<usize>,
        kind: InfoType<PlainKind>,
        size: u64,
        value: &InfoValue<'_>,
    ) -> (CallResult<()>, usize, Vec<u8>) {
        let mut memory = vec![0xee; room.unwrap_or(0)];
        let mut told = 999;
        let place = room.map_or(std::ptr::null_mut(), |_| memory.as_mut_ptr().cast());
        let room = Room {
            size: memory.len(),
            value: place,
            size_ret: &mut told,
        };
        // SAFETY: the buffer is that of `memory`.
        let result = unsafe { answer_info::<Plain>(&room, kind, size, value) };
        (result, told, memory)
    }

    #[test]
    fn size_and_data_follow_the_rules() {
        let value = InfoValue::Bytes(OutData::Inline(b"four"));
        let bytes = InfoType::Bytes;
        assert_eq!(ask(None, bytes, 4, &InfoValue::None), (Ok(()), 4, vec![]));
        assert_eq!(
            ask(Some(4), bytes, 4, &value),
            (Ok(()), 4, b"four".to_vec())
        );
        let larger = (Ok(()), 4, b"four\xee\xee".to_vec());
        assert_eq!(ask(Some(6), bytes, 4, &value), larger);
        let small = (Err(Plain::VALUE), 999, vec![0xee; 3]);
        assert_eq!(ask(Some(3), bytes, 4, &InfoValue::None), small);
    }

    #[test]
    fn sizes_have_the_guests_width() {
        let value = InfoValue::Sizes([1, 2, 3].as_slice().into());
        let (result, told, memory) = ask(Some(64), InfoType::Sizes, 0, &value);
        assert_eq!((result, told), (Ok(()), 3 * size_of::<usize>()));
        let second = &memory[size_of::<usize>()..2 * size_of::<usize>()];
        assert_eq!(second, 2usize.to_ne_bytes());
    }

    #[test]
    fn limits_cross_like_sizes() {
        let value = InfoValue::Sizes([7].into());
        let (result, told, memory) = ask(Some(64), InfoType::Limits, 0, &value);
        assert_eq!((result, told), (Ok(()), size_of::<usize>()));
        assert_eq!(memory[..size_of::<usize>()], 7usize.to_ne_bytes());
        let bytes = 9u64.to_ne_bytes();
        let value = InfoValue::Bytes(OutData::Inline(&bytes));
        let (result, told, memory) = ask(Some(8), InfoType::WideLimits, 8, &value);
        assert_eq!((result, told, memory), (Ok(()), 8, bytes.to_vec()));
    }

    #[test]
    fn objects_that_the_board_found_have_one_handle_each() {
        let number = Handle(Handle::BOARD | 77);
        let value = InfoValue::Handles(vec![number, number]);
        let kind = InfoType::Handles(PlainKind::Device);
        let (result, told, memory) = ask(Some(64), kind, 0, &value);
        assert_eq!((result, told), (Ok(()), 2 * size_of::<usize>()));
        let (first, rest) = memory.split_at(size_of::<usize>());
        assert_eq!(first, &rest[..size_of::<usize>()]);
        let address = usize::from_ne_bytes(first.try_into().unwrap());
        let device: *mut c_void = std::ptr::without_provenance_mut(address);
        let found = Object::<Plain>::find(PlainKind::Device, device).unwrap();
        assert_eq!(found.number(), number);
        assert!(Object::<Plain>::find(PlainKind::Buffer, device).is_err());
    }

    #[test]
    fn what_was_not_asked_is_an_error() {
        let value = InfoValue::Sizes([1].into());
        let odd = (Err(Plain::GARBLED), 999, vec![0xee; 8]);
        assert_eq!(ask(Some(8), InfoType::Bytes, 8, &value), odd);
        let short = InfoValue::Bytes(OutData::Inline(b"four"));
        assert!(ask(Some(8), InfoType::Bytes, 8, &short).0.is_err());
    }
}
