//! Arrays, lists and strings in; values out.

use super::{CallResult, find, width};
use crate::generated::types::*;
use gil_wire::call::{OutData, Property, pack};
use gil_wire::generated::opencl::Kind;
use std::ffi::{CStr, c_char, c_void};

/// Most elements of an array.
const ARRAY_MAX: usize = 4096;
/// Most entries of a list of properties.
const PROPERTIES_MAX: usize = 64;

/// Writes one value, unless there is no room.
///
/// # Safety
/// `to` is null or names room for one value.
#[inline]
pub unsafe fn write<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's.
        unsafe { to.write(value) };
    }
}

/// Copies what came inside the reply, as far as there is room. What came by
/// region is there already.
///
/// # Safety
/// `to` is null or names room for `room` bytes.
pub unsafe fn write_data(data: &OutData<'_>, to: *mut c_void, room: usize) {
    if let (OutData::Inline(bytes), false) = (data, to.is_null()) {
        let len = bytes.len().min(room);
        // SAFETY: the caller's; the reply is this library's own memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), len) };
    }
}

/// An array of `count` values.
///
/// # Errors
/// `CL_OUT_OF_HOST_MEMORY` for an array without bounds.
///
/// # Safety
/// `ptr` is null or names `count` values.
pub unsafe fn array<T: Copy, U: From<T>>(
    ptr: *const T,
    count: usize,
) -> CallResult<Option<Vec<U>>> {
    // SAFETY: the caller's.
    let values = unsafe { slice(ptr, count) }?;
    Ok(values.map(|values| values.iter().map(|v| U::from(*v)).collect()))
}

/// An array of `count` sizes.
///
/// # Errors
/// `CL_OUT_OF_HOST_MEMORY` for an array without bounds.
///
/// # Safety
/// `ptr` is null or names `count` sizes.
pub unsafe fn sizes(ptr: *const usize, count: usize) -> CallResult<Option<Vec<u64>>> {
    // SAFETY: the caller's.
    let values = unsafe { slice(ptr, count) }?;
    Ok(values.map(|values| values.iter().map(|v| *v as u64).collect()))
}

/// # Safety
/// `ptr` is null or names `count` values.
unsafe fn slice<'a, T>(ptr: *const T, count: usize) -> CallResult<Option<&'a [T]>> {
    if ptr.is_null() {
        return Ok(None);
    }
    if count > ARRAY_MAX {
        return Err(CL_OUT_OF_HOST_MEMORY);
    }
    // SAFETY: the caller's; the length is bounded.
    Ok(Some(unsafe { std::slice::from_raw_parts(ptr, count) }))
}

/// A value of a list of properties.
pub trait Word: Copy {
    /// Negative values as two's complement.
    fn word(self) -> u64;
}

impl Word for isize {
    fn word(self) -> u64 {
        self as i64 as u64
    }
}

impl Word for u64 {
    fn word(self) -> u64 {
        self
    }
}

/// A list of properties, of which `handles` name objects of a kind and `many`
/// have a list of values that ends with a 0.
///
/// # Errors
/// The kind's code for an object that is none, `CL_INVALID_VALUE` for a list
/// without bounds.
///
/// # Safety
/// `list` is null or names a list that ends with a 0.
pub unsafe fn properties<T: Word>(
    list: *const T,
    handles: &[(u64, Kind)],
    many: &[u64],
) -> CallResult<Option<Vec<Property>>> {
    if list.is_null() {
        return Ok(None);
    }
    let mut words = Words {
        next: list,
        left: 0,
    };
    let mut all = Vec::new();
    loop {
        words.left = PROPERTIES_MAX;
        // SAFETY: the list has not ended.
        let key = unsafe { words.take() }?;
        if key == 0 {
            return Ok(Some(all));
        }
        if all.len() == PROPERTIES_MAX {
            return Err(CL_INVALID_VALUE);
        }
        // SAFETY: a key that is not 0 has a value.
        all.push(unsafe { words.property(key, handles, many) }?);
    }
}

struct Words<T> {
    next: *const T,
    /// How many more are taken of this entry.
    left: usize,
}

impl<T: Word> Words<T> {
    /// # Safety
    /// The list has not ended.
    unsafe fn take(&mut self) -> CallResult<u64> {
        self.left = self.left.checked_sub(1).ok_or(CL_INVALID_VALUE)?;
        // SAFETY: the caller's.
        unsafe {
            let word = (*self.next).word();
            self.next = self.next.add(1);
            Ok(word)
        }
    }

    /// # Safety
    /// The list has a value next.
    unsafe fn property(
        &mut self,
        key: u64,
        handles: &[(u64, Kind)],
        many: &[u64],
    ) -> CallResult<Property> {
        // SAFETY: the caller's.
        let mut word = unsafe { self.take() }?;
        if let Some((_, kind)) = handles.iter().find(|(k, _)| *k == key) {
            // What is no address at all is no object.
            let address = width::exact(word).unwrap_or(0);
            let object: *mut c_void = std::ptr::without_provenance_mut(address);
            return Ok(Property::Handle(key, find(*kind, object)?.number()));
        }
        if !many.contains(&key) {
            return Ok(Property::Word(key, word));
        }
        let mut values = Vec::new();
        while word != 0 {
            values.push(word);
            // SAFETY: the values have not ended.
            word = unsafe { self.take() }?;
        }
        Ok(Property::Many(key, values))
    }
}

/// An array of strings, packed. A length of 0, or no lengths, means that a
/// string ends with a NUL.
///
/// # Errors
/// `CL_OUT_OF_HOST_MEMORY` for an array without bounds.
///
/// # Safety
/// `strings` is null or names `count` strings, each null or as long as
/// `lengths`, if not null, says.
pub unsafe fn pack_strings(
    count: cl_uint,
    strings: *const *const c_char,
    lengths: *const usize,
) -> CallResult<Option<Vec<u8>>> {
    // SAFETY: the caller's.
    let (strings, lengths) = unsafe {
        (
            slice(strings, count as usize)?,
            slice(lengths, count as usize)?,
        )
    };
    let Some(strings) = strings else {
        return Ok(None);
    };
    let piece = |(n, string): (usize, &*const c_char)| {
        let len = lengths.map_or(0, |lengths| lengths[n]);
        // SAFETY: the caller's.
        unsafe { string_bytes(*string, len) }
    };
    Ok(Some(pack(strings.iter().enumerate().map(piece))))
}

/// # Safety
/// `string` is null or names `len` bytes, or, for 0, a string with a NUL.
unsafe fn string_bytes<'a>(string: *const c_char, len: usize) -> Option<&'a [u8]> {
    if string.is_null() {
        return None;
    }
    // SAFETY: the caller's.
    Some(unsafe {
        match len {
            0 => CStr::from_ptr(string).to_bytes(),
            len => std::slice::from_raw_parts(string.cast(), len),
        }
    })
}

/// An array of blocks of bytes, packed.
///
/// # Errors
/// `CL_OUT_OF_HOST_MEMORY` for an array without bounds, `CL_INVALID_VALUE` for
/// blocks without lengths.
///
/// # Safety
/// `blobs` is null or names `count` blocks, each null or as long as `lengths`
/// says.
pub unsafe fn pack_blobs(
    count: cl_uint,
    blobs: *const *const u8,
    lengths: *const usize,
) -> CallResult<Option<Vec<u8>>> {
    // SAFETY: the caller's.
    let (blobs, lengths) = unsafe {
        (
            slice(blobs, count as usize)?,
            slice(lengths, count as usize)?,
        )
    };
    let Some(blobs) = blobs else {
        return Ok(None);
    };
    let lengths = lengths.ok_or(CL_INVALID_VALUE)?;
    let piece = |(blob, len): (&*const u8, &usize)| {
        // SAFETY: the caller's.
        (!blob.is_null()).then(|| unsafe { std::slice::from_raw_parts(*blob, *len) })
    };
    Ok(Some(pack(blobs.iter().zip(lengths).map(piece))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn lists_of_properties_end_and_are_bounded() {
        let list: [isize; 8] = [0x1087, 3, 1, 0, 0x1086, -2, 0, 99];
        // SAFETY: the list ends with a 0.
        let all = unsafe { properties(list.as_ptr(), &[], &[0x1087]) };
        let many = Property::Many(0x1087, vec![3, 1]);
        let word = Property::Word(0x1086, -2i64 as u64);
        assert_eq!(all, Ok(Some(vec![many, word])));
        // SAFETY: null is allowed; the other list is longer than the bound.
        unsafe {
            assert_eq!(properties::<u64>(ptr::null(), &[], &[]), Ok(None));
            let endless = [1u64; 200];
            let refused = Err(CL_INVALID_VALUE);
            assert_eq!(properties(endless.as_ptr(), &[], &[]), refused);
            assert_eq!(properties(endless.as_ptr(), &[], &[1]), refused);
        }
    }

    #[test]
    fn an_object_in_a_list_is_checked() {
        let list: [isize; 3] = [0x1084, 0x5555, 0];
        // SAFETY: the list ends with a 0.
        let all = unsafe { properties(list.as_ptr(), &[(0x1084, Kind::Platform)], &[]) };
        assert_eq!(all, Err(CL_INVALID_PLATFORM));
    }

    #[test]
    fn strings_are_packed_with_their_lengths() {
        let strings = [c"abc".as_ptr(), c"defgh".as_ptr(), ptr::null()];
        let lengths = [0usize, 2, 0];
        let wanted = pack([Some(&b"abc"[..]), Some(b"de"), None]);
        // SAFETY: arrays of three.
        unsafe {
            let packed = pack_strings(3, strings.as_ptr(), lengths.as_ptr());
            assert_eq!(packed, Ok(Some(wanted)));
            let no_lengths = pack([Some(&b"abc"[..]), Some(b"defgh")]);
            let packed = pack_strings(2, strings.as_ptr(), ptr::null());
            assert_eq!(packed, Ok(Some(no_lengths)));
            assert_eq!(pack_strings(2, ptr::null(), ptr::null()), Ok(None));
            let many = pack_strings(5000, strings.as_ptr(), ptr::null());
            assert_eq!(many, Err(CL_OUT_OF_HOST_MEMORY));
        }
    }
}
