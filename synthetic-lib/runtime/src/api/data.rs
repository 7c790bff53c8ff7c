//! Arrays, lists and strings in; values out.

use super::{Api, CallResult, Described, Object};
use crate::width;
use gil_wire::call::{OutData, Property, pack};
use gil_wire::compact::Writer;
use std::ffi::{CStr, c_char, c_void};
use zerocopy::IntoBytes;

/// Most elements of an array.
const ARRAY_MAX: usize = 4096;
/// The bits of a structure's version that are its size.
const SIZE_OF_VERSION: u32 = 0xff_ffff;
/// Most entries of a list of properties.
const PROPERTIES_MAX: usize = 64;

/// Writes one value, unless `to` is null.
///
/// # Safety
/// `to` is null or points to space for one value.
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
/// `to` is null or points to space for `room` bytes.
#[inline]
pub unsafe fn write_data(data: &OutData<'_>, to: *mut c_void, room: usize) {
    if let (OutData::Inline(bytes), false) = (data, to.is_null()) {
        let len = bytes.len().min(room);
        // SAFETY: the caller's; the reply is this library's own memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), len) };
    }
}

/// How long a structure is whose first word says its version, and its size in the lower 24 bits.
///
/// # Errors
/// The API's code for a value that is none if there is no structure; `unknown` if the version is
/// none of `versions`.
///
/// # Safety
/// `ptr` is null or names a number, and as many bytes as one of `versions` says that it does.
pub unsafe fn versioned<A: Described>(
    ptr: *const c_void,
    versions: &[u32],
    unknown: i32,
) -> CallResult<usize> {
    if ptr.is_null() {
        return Err(A::VALUE);
    }
    // SAFETY: the caller's.
    let version = unsafe { ptr.cast::<u32>().read() };
    match versions.contains(&version) {
        true => Ok((version & SIZE_OF_VERSION) as usize),
        false => Err(unknown),
    }
}

/// An array of `count` values.
///
/// # Errors
/// The API's code for an array without bounds.
///
/// # Safety
/// `ptr` is null or names `count` values.
pub unsafe fn array<A: Described, T: Copy, U: From<T>>(
    ptr: *const T,
    count: usize,
) -> CallResult<Option<Vec<U>>> {
    // SAFETY: the caller's.
    let values = unsafe { slice::<A, _>(ptr, count) }?;
    Ok(values.map(|values| values.iter().map(|v| U::from(*v)).collect()))
}

/// Writes an array as [`Writer::list`] does, all values at once.
#[inline(always)]
pub fn write_floats(to: &mut Writer<'_>, values: Option<&[f32]>) {
    let Some(values) = values else {
        return to.byte(0);
    };
    to.byte(1);
    to.number(values.len() as u64);
    match cfg!(target_endian = "little") {
        // They lie as they travel.
        true => to.raw(values.as_bytes()),
        false => values.iter().for_each(|value| to.float(*value)),
    }
}

/// An array of `count` sizes.
///
/// # Errors
/// The API's code for an array without bounds.
///
/// # Safety
/// `ptr` is null or names `count` sizes.
pub unsafe fn sizes<A: Described>(ptr: *const usize, count: usize) -> CallResult<Option<Vec<u64>>> {
    // SAFETY: the caller's.
    let values = unsafe { slice::<A, _>(ptr, count) }?;
    Ok(values.map(|values| values.iter().map(|v| *v as u64).collect()))
}

/// `count` values where they are; none for null.
///
/// # Errors
/// The API's code for an array without bounds.
///
/// # Safety
/// `ptr` is null or names `count` values, which stay as they are for `'a`.
#[inline]
pub unsafe fn slice<'a, A: Described, T>(
    ptr: *const T,
    count: usize,
) -> CallResult<Option<&'a [T]>> {
    if ptr.is_null() {
        return Ok(None);
    }
    if count > ARRAY_MAX {
        return Err(A::BOUNDS);
    }
    // SAFETY: the caller's; the length is bounded.
    Ok(Some(unsafe { std::slice::from_raw_parts(ptr, count) }))
}

/// A value of a list of properties.
pub trait Word: Copy {
    /// Negative values as two's complement.
    fn word(self) -> u64;
}

impl Word for i32 {
    fn word(self) -> u64 {
        i64::from(self).cast_unsigned()
    }
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

/// A list of properties that ends with a 0, of which `handles` name objects of a
/// kind and `many` have a list of values that ends with a 0.
///
/// # Errors
/// The kind's code for an object that is none, the API's for a list without
/// bounds.
///
/// # Safety
/// `list` is null or names a list that ends with a 0.
pub unsafe fn properties<A: Api, T: Word>(
    list: *const T,
    handles: &[(u64, A::Kind)],
    many: &[u64],
) -> CallResult<Option<Vec<Property>>> {
    // SAFETY: the caller's.
    unsafe { list_until::<A, T>(0, list, handles, many) }
}

/// As [`properties`], for a list that ends with another value.
///
/// # Errors
/// As [`properties`].
///
/// # Safety
/// `list` is null or names a list that ends with `end`.
pub unsafe fn properties_until<A: Api, T: Word>(
    end: T,
    list: *const T,
    handles: &[(u64, A::Kind)],
    many: &[u64],
) -> CallResult<Option<Vec<Property>>> {
    // SAFETY: the caller's.
    unsafe { list_until::<A, T>(end.word(), list, handles, many) }
}

/// # Safety
/// `list` is null or names a list that ends with `end`.
unsafe fn list_until<A: Api, T: Word>(
    end: u64,
    list: *const T,
    handles: &[(u64, A::Kind)],
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
        let key = unsafe { words.take::<A>() }?;
        if key == end {
            return Ok(Some(all));
        }
        if !A::is_key(key) {
            // The driver refuses it before it looks for its value, or for the list's end.
            all.push(Property::Word(key, 0));
            return Ok(Some(all));
        }
        if all.len() == PROPERTIES_MAX {
            return Err(A::VALUE);
        }
        // SAFETY: a key that is not the end has a value.
        all.push(unsafe { words.property::<A>(key, handles, many) }?);
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
    unsafe fn take<A: Api>(&mut self) -> CallResult<u64> {
        self.left = self.left.checked_sub(1).ok_or(A::VALUE)?;
        // SAFETY: the caller's.
        unsafe {
            let word = (*self.next).word();
            self.next = self.next.add(1);
            Ok(word)
        }
    }

    /// # Safety
    /// The list has a value next.
    unsafe fn property<A: Api>(
        &mut self,
        key: u64,
        handles: &[(u64, A::Kind)],
        many: &[u64],
    ) -> CallResult<Property> {
        // SAFETY: the caller's.
        let mut word = unsafe { self.take::<A>() }?;
        if let Some((_, kind)) = handles.iter().find(|(k, _)| *k == key) {
            // What is no address at all is no object.
            let address = width::exact(word).unwrap_or(0);
            let object: *mut c_void = std::ptr::without_provenance_mut(address);
            return Ok(Property::Handle(
                key,
                Object::<A>::find(*kind, object)?.number(),
            ));
        }
        if !many.contains(&key) {
            return Ok(Property::Word(key, word));
        }
        let mut values = Vec::new();
        while word != 0 {
            values.push(word);
            // SAFETY: the values have not ended.
            word = unsafe { self.take::<A>() }?;
        }
        Ok(Property::Many(key, values))
    }
}

/// A string's length, as a program gives it.
pub trait StringLength: Copy {
    /// None if the string ends with a NUL.
    fn length(self) -> Option<usize>;
}

impl StringLength for usize {
    fn length(self) -> Option<usize> {
        (self != 0).then_some(self)
    }
}

impl StringLength for i32 {
    fn length(self) -> Option<usize> {
        usize::try_from(self).ok()
    }
}

/// An array of strings, packed. Without lengths, or where its length says so, a
/// string ends with a NUL.
///
/// # Errors
/// The API's code for an array without bounds.
///
/// # Safety
/// `strings` is null or names `count` strings, each null or as long as
/// `lengths`, if not null, says.
pub unsafe fn pack_strings<A: Described, L: StringLength>(
    count: u32,
    strings: *const *const c_char,
    lengths: *const L,
) -> CallResult<Option<Vec<u8>>> {
    // SAFETY: the caller's.
    let (strings, lengths) = unsafe {
        (
            slice::<A, _>(strings, count as usize)?,
            slice::<A, _>(lengths, count as usize)?,
        )
    };
    let Some(strings) = strings else {
        return Ok(None);
    };
    let piece = |(n, string): (usize, &*const c_char)| {
        let len = lengths.and_then(|lengths| lengths[n].length());
        // SAFETY: the caller's.
        unsafe { string_bytes(*string, len) }
    };
    Ok(Some(pack(strings.iter().enumerate().map(piece))))
}

/// # Safety
/// `string` is null or names `len` bytes, or, for none, a string with a NUL.
unsafe fn string_bytes<'a>(string: *const c_char, len: Option<usize>) -> Option<&'a [u8]> {
    if string.is_null() {
        return None;
    }
    // SAFETY: the caller's.
    Some(unsafe {
        match len {
            None => CStr::from_ptr(string).to_bytes(),
            Some(len) => std::slice::from_raw_parts(string.cast(), len),
        }
    })
}

/// An array of blocks of bytes, packed.
///
/// # Errors
/// The API's code for an array without bounds, and for blocks without lengths.
///
/// # Safety
/// `blobs` is null or names `count` blocks, each null or as long as `lengths`
/// says.
pub unsafe fn pack_blobs<A: Described>(
    count: u32,
    blobs: *const *const u8,
    lengths: *const usize,
) -> CallResult<Option<Vec<u8>>> {
    // SAFETY: the caller's.
    let (blobs, lengths) = unsafe {
        (
            slice::<A, _>(blobs, count as usize)?,
            slice::<A, _>(lengths, count as usize)?,
        )
    };
    let Some(blobs) = blobs else {
        return Ok(None);
    };
    let lengths = lengths.ok_or(A::VALUE)?;
    // SAFETY: the caller's.
    Ok(Some(unsafe { pack_each(blobs, lengths) }))
}

/// Pieces of these sizes, packed, and how many they are.
///
/// # Errors
/// The API's code for an array without bounds.
///
/// # Safety
/// `pieces` is null or names as many pieces as there are sizes, each null or as
/// long as its size says.
pub unsafe fn pack_pieces<A: Described>(
    sizes: &[usize],
    pieces: *const *const u8,
) -> CallResult<(u32, Option<Vec<u8>>)> {
    // SAFETY: the caller's.
    let pieces = unsafe { slice::<A, _>(pieces, sizes.len()) }?;
    // SAFETY: the caller's.
    let packed = pieces.map(|pieces| unsafe { pack_each(pieces, sizes) });
    Ok((sizes.len() as u32, packed))
}

/// # Safety
/// Each block is null or as long as its length says.
unsafe fn pack_each(blocks: &[*const u8], lengths: &[usize]) -> Vec<u8> {
    let piece = |(block, len): (&*const u8, &usize)| {
        // SAFETY: the caller's.
        (!block.is_null()).then(|| unsafe { std::slice::from_raw_parts(*block, *len) })
    };
    pack(blocks.iter().zip(lengths).map(piece))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double::{Plain, PlainKind};
    use std::ptr;

    #[test]
    fn floats_are_written_as_any_list_is() {
        for len in [0usize, 1, 3, 4, 9, 16] {
            let values: Vec<f32> = (0..len).map(|n| n as f32 / 3.0).collect();
            let mut out = [0; 80];
            for values in [None, Some(&values[..])] {
                let mut writer = Writer::new(&mut out, 0);
                write_floats(&mut writer, values);
                let end = writer.end().unwrap();
                let wanted = postcard::to_stdvec(&values.map(<[f32]>::to_vec)).unwrap();
                assert_eq!(out[..end], wanted);
            }
        }
    }

    #[test]
    fn a_version_says_how_long_its_structure_is() {
        const KNOWN: &[u32] = &[0x0100_0008, 0x0200_000c];
        let of = |word: u32| {
            let place = [word, 0, 0];
            // SAFETY: there are as many bytes as any of the versions says.
            unsafe { versioned::<Plain>(place.as_ptr().cast(), KNOWN, 25) }
        };
        assert_eq!((of(KNOWN[0]), of(KNOWN[1])), (Ok(8), Ok(12)));
        assert_eq!((of(0x0100_000c), of(0)), (Err(25), Err(25)));
        // SAFETY: null is allowed.
        let none = unsafe { versioned::<Plain>(ptr::null(), KNOWN, 25) };
        assert_eq!(none, Err(Plain::VALUE));
    }

    #[test]
    fn lists_of_properties_end_and_are_bounded() {
        let list: [isize; 8] = [0x1087, 3, 1, 0, 0x1086, -2, 0, 99];
        // SAFETY: the list ends with a 0.
        let all = unsafe { properties::<Plain, _>(list.as_ptr(), &[], &[0x1087]) };
        let many = Property::Many(0x1087, vec![3, 1]);
        let word = Property::Word(0x1086, -2i64 as u64);
        assert_eq!(all, Ok(Some(vec![many, word])));
        // SAFETY: null is allowed; the other list is longer than the bound.
        unsafe {
            assert_eq!(properties::<Plain, u64>(ptr::null(), &[], &[]), Ok(None));
            let endless = [1u64; 200];
            let refused = Err(Plain::VALUE);
            assert_eq!(properties::<Plain, _>(endless.as_ptr(), &[], &[]), refused);
            assert_eq!(properties::<Plain, _>(endless.as_ptr(), &[], &[1]), refused);
        }
    }

    #[test]
    fn an_object_in_a_list_is_checked() {
        let list: [isize; 3] = [0x1084, 0x5555, 0];
        // SAFETY: the list ends with a 0.
        let all =
            unsafe { properties::<Plain, _>(list.as_ptr(), &[(0x1084, PlainKind::Device)], &[]) };
        assert_eq!(all, Err(Plain::invalid(PlainKind::Device)));
    }

    #[test]
    fn strings_are_packed_with_their_lengths() {
        let strings = [c"abc".as_ptr(), c"defgh".as_ptr(), ptr::null()];
        let lengths = [0usize, 2, 0];
        let wanted = pack([Some(&b"abc"[..]), Some(b"de"), None]);
        // SAFETY: arrays of three.
        unsafe {
            let packed = pack_strings::<Plain, usize>(3, strings.as_ptr(), lengths.as_ptr());
            assert_eq!(packed, Ok(Some(wanted)));
            let no_lengths = pack([Some(&b"abc"[..]), Some(b"defgh")]);
            let packed = pack_strings::<Plain, usize>(2, strings.as_ptr(), ptr::null());
            assert_eq!(packed, Ok(Some(no_lengths)));
            assert_eq!(
                pack_strings::<Plain, usize>(2, ptr::null(), ptr::null()),
                Ok(None)
            );
            let many = pack_strings::<Plain, usize>(5000, strings.as_ptr(), ptr::null());
            assert_eq!(many, Err(Plain::BOUNDS));
        }
    }

    #[test]
    fn lengths_of_32_bits_say_that_a_string_ends_by_being_negative() {
        let strings = [c"abc".as_ptr(), c"defgh".as_ptr(), c"ij".as_ptr()];
        let lengths = [-1i32, 0, 1];
        // SAFETY: arrays of three.
        let packed = unsafe { pack_strings::<Plain, i32>(3, strings.as_ptr(), lengths.as_ptr()) };
        let wanted = pack([Some(&b"abc"[..]), Some(b""), Some(b"i")]);
        assert_eq!(packed, Ok(Some(wanted)));
    }

    #[test]
    fn a_list_may_end_with_another_value() {
        let list = [5i32, -1, 0, 7, 9, 8];
        // SAFETY: the list ends with a 9.
        let all = unsafe { properties_until::<Plain, _>(9, list.as_ptr(), &[], &[]) };
        let words = [Property::Word(5, u64::MAX), Property::Word(0, 7)];
        assert_eq!(all, Ok(Some(words.to_vec())));
    }

    #[test]
    fn pieces_are_as_long_as_their_sizes() {
        let pieces = [b"abc".as_ptr(), ptr::null(), b"de".as_ptr()];
        // SAFETY: arrays of three, and no longer than they say.
        let packed = unsafe { pack_pieces::<Plain>(&[2, 8, 2], pieces.as_ptr()) };
        let wanted = pack([Some(&b"ab"[..]), None, Some(b"de")]);
        assert_eq!(packed, Ok((3, Some(wanted))));
    }
}
