//! A call's arguments and its answer, between the wire and this machine.

use super::refusal::Refusal;
use gil_wire::length::Length;
use serde::{Deserialize, Serialize};

/// Most entries of an out array.
const MAX_ROOM: u32 = 4096;

/// Reads a call's arguments.
///
/// # Errors
/// [`Refusal::Decode`], or [`Refusal::Trailing`] if bytes follow.
pub fn decode<'a, A: Deserialize<'a>>(args: &'a [u8]) -> Result<A, Refusal> {
    match postcard::take_from_bytes(args).map_err(Refusal::Decode)? {
        (decoded, []) => Ok(decoded),
        (_, rest) => Err(Refusal::Trailing(rest.len())),
    }
}

/// Writes an answer.
///
/// # Errors
/// [`Refusal::Encode`].
pub fn encode<R: Serialize>(reply: &R) -> Result<Vec<u8>, Refusal> {
    postcard::to_stdvec(reply).map_err(Refusal::Encode)
}

/// Entries of an out array that are fetched: the program's room, bounded.
pub fn room(count: u32) -> usize {
    count.min(MAX_ROOM) as usize
}

/// Numbers that say that a driver wrote none in their place.
pub trait Unwritten: Copy {
    /// Such a number. Of numbers that a program can choose, it is as good as never one.
    const MARK: Self;

    /// Whether it is that number.
    fn is_mark(self) -> bool;
}

macro_rules! unwritten {
    ($($type:ty),*) => { $(
        impl Unwritten for $type {
            // As a floating-point number, it is none.
            const MARK: Self = <$type>::from_ne_bytes(
                *0x7fb1_e75c_7fb1_e75c_u64.to_ne_bytes().first_chunk().expect("no more bytes"),
            );

            fn is_mark(self) -> bool {
                self.to_ne_bytes() == Self::MARK.to_ne_bytes()
            }
        }
    )* };
}

unwritten!(u8, i32, u32, f32, i64, u64);

/// How many numbers a driver wrote, from the first on.
pub fn filled<T: Unwritten>(values: &[T]) -> usize {
    let last = values.iter().rposition(|value| !value.is_mark());
    last.map_or(0, |last| last + 1)
}

/// Bytes of an output of which the driver wrote `count`, and behind them an `end` of so
/// many.
pub fn written(count: impl TryInto<usize>, end: u8) -> usize {
    let count = count.try_into();
    count.map_or(0, |count| count.saturating_add(end.into()))
}

/// A guest's `size_t` as this machine's.
///
/// # Errors
/// [`Refusal::Width`] if it does not fit.
pub fn size(value: u64, name: &'static str) -> Result<usize, Refusal> {
    usize::try_from(value).map_err(|_| Refusal::Width { name, value })
}

/// A length computed from a guest's values as this machine's.
///
/// # Errors
/// [`Refusal::Width`] if it does not fit, [`Refusal::Overflow`] if it is none.
pub fn bytes(length: Length, name: &'static str) -> Result<usize, Refusal> {
    let number = length.number().ok_or(Refusal::missing_size(name))?;
    size(number, name)
}

/// A guest's `intptr_t` as this machine's.
///
/// # Errors
/// [`Refusal::Width`] if it does not fit.
pub fn offset(value: i64, name: &'static str) -> Result<isize, Refusal> {
    isize::try_from(value).map_err(|_| Refusal::Width {
        name,
        value: value as u64,
    })
}

/// A guest's list of `intptr_t`, as 64 bits with their sign, as this machine's.
///
/// # Errors
/// [`Refusal::Width`] if one does not fit.
pub fn words(list: &[u64], name: &'static str) -> Result<Vec<isize>, Refusal> {
    let word = |word: &u64| offset(*word as i64, name);
    list.iter().map(word).collect()
}

/// The address of a list; null if it is empty.
pub fn list_ptr<T>(list: &[T]) -> *const T {
    if list.is_empty() {
        return std::ptr::null();
    }
    list.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first number that this machine's `size_t` does not hold; on one of
    /// 64 bits, none is.
    fn beyond() -> Option<u64> {
        u64::try_from(usize::MAX).unwrap().checked_add(1)
    }

    #[test]
    fn what_fits_is_the_same_and_what_does_not_is_refused() {
        assert_eq!(size(usize::MAX as u64, "size").unwrap(), usize::MAX);
        assert_eq!(bytes(Length::of(7u8), "size").unwrap(), 7);
        assert!(matches!(
            bytes(Length::NONE, "size"),
            Err(Refusal::Overflow("size"))
        ));
        if let Some(value) = beyond() {
            assert!(matches!(size(value, "size"), Err(Refusal::Width { .. })));
            let length = Length::of(value);
            assert!(matches!(bytes(length, "size"), Err(Refusal::Width { .. })));
        }
    }

    #[test]
    fn only_what_was_written_counts() {
        assert_eq!(filled(&[i32::MARK; 3]), 0);
        assert_eq!(filled(&[0, u32::MARK, 5, u32::MARK]), 3);
        assert_eq!(filled::<u8>(&[]), 0);
        assert!(f32::MARK.is_nan() && filled(&[1.5, f32::MARK]) == 1);
        assert_eq!(filled(&[i64::MARK, 0]), 2);
    }

    #[test]
    fn signed_words_keep_their_sign() {
        let list = [0, 5, (-1i64) as u64, isize::MIN as i64 as u64];
        assert_eq!(words(&list, "list").unwrap(), [0, 5, -1, isize::MIN]);
        if let Some(value) = beyond() {
            // 32 bits would take the first for -1, the second for 0.
            for value in [value - 1, value] {
                assert!(matches!(
                    words(&[value], "list"),
                    Err(Refusal::Width { .. })
                ));
            }
        }
    }
}
