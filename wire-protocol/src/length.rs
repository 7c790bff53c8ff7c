//! Lengths computed from a call's arguments, on both sides by the same
//! expression. An overflow gives no length.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Sub};

/// A number that an expression of `api/*.toml` yields, or none if it
/// overflowed, was negative or divided by 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(Option<u64>);

impl Length {
    /// No length.
    pub const NONE: Self = Self(None);

    /// A number of the program's; negative ones are no length.
    #[inline]
    pub fn of(value: impl TryInto<u64>) -> Self {
        Self(value.try_into().ok())
    }

    /// As a size on this machine, if it is one.
    #[inline]
    pub fn get(self) -> Option<usize> {
        self.0.and_then(|value| value.try_into().ok())
    }

    /// The number, if there is one.
    #[inline]
    pub const fn number(self) -> Option<u64> {
        self.0
    }

    /// 1 if `compare` holds of both numbers, else 0.
    #[inline]
    pub fn test(self, other: Self, compare: impl FnOnce(&u64, &u64) -> bool) -> Self {
        self.join(other, |a, b| Some(u64::from(compare(&a, &b))))
    }

    #[inline]
    fn join(self, other: Self, f: impl FnOnce(u64, u64) -> Option<u64>) -> Self {
        Self(self.0.zip(other.0).and_then(|(a, b)| f(a, b)))
    }
}

impl Add for Length {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        self.join(other, u64::checked_add)
    }
}

impl Sub for Length {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        self.join(other, u64::checked_sub)
    }
}

impl Mul for Length {
    type Output = Self;
    #[inline]
    fn mul(self, other: Self) -> Self {
        self.join(other, u64::checked_mul)
    }
}

impl Div for Length {
    type Output = Self;
    #[inline]
    fn div(self, other: Self) -> Self {
        self.join(other, u64::checked_div)
    }
}

impl BitAnd for Length {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        self.join(other, |a, b| Some(a & b))
    }
}

impl BitOr for Length {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.join(other, |a, b| Some(a | b))
    }
}

/// Whether an array holds the elements that the API's function will read. A
/// null one does: the function sees the null pointer.
pub fn covers<T>(array: &Option<Vec<T>>, needed: Length) -> bool {
    match (array, needed.get()) {
        (None, _) => true,
        (Some(array), Some(needed)) => array.len() >= needed,
        (Some(_), None) => false,
    }
}

/// An array's address, null for none.
pub fn pointer<T>(array: &Option<Vec<T>>) -> *const T {
    array
        .as_ref()
        .map_or(std::ptr::null(), |array| array.as_ptr())
}

/// An array of other integers, if every value fits.
pub fn convert<A: Copy + TryInto<B>, B>(array: &Option<Vec<A>>) -> Option<Option<Vec<B>>> {
    let Some(array) = array else {
        return Some(None);
    };
    let converted: Result<Vec<B>, _> = array.iter().map(|&value| value.try_into()).collect();
    converted.ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_is_no_length_and_stays_none() {
        let big = Length::of(u64::MAX);
        assert_eq!(big + Length::of(1u8), Length::NONE);
        assert_eq!(Length::of(1u8) - Length::of(2u8), Length::NONE);
        assert_eq!(
            big * Length::of(2u8) * Length::of(0u8),
            Length::NONE,
            "not 0"
        );
        assert_eq!(Length::of(1u8) / Length::of(0u8), Length::NONE);
        assert_eq!(Length::of(-1i32), Length::NONE);
        assert_eq!((Length::of(6u8) & Length::of(3u8)).get(), Some(2));
        assert_eq!((Length::of(6u8) | Length::of(3u8)).get(), Some(7));
        assert_eq!(
            Length::of(6u8).test(Length::of(3u8), u64::gt).get(),
            Some(1)
        );
        assert_eq!(Length::NONE.test(Length::of(3u8), u64::gt), Length::NONE);
    }

    #[test]
    fn lengths_are_computed_as_numbers_are() {
        let of = |a: u64, b: u64| (Length::of(a), Length::of(b));
        for (a, b) in [(7, 3), (12, 4), (5, 5), (1 << 40, 1 << 20)] {
            let (x, y) = of(a, b);
            let all = [x + y, x - y, x * y, x / y, x & y, x | y].map(Length::number);
            let plain = [a + b, a - b, a * b, a / b, a & b, a | b].map(Some);
            assert_eq!(all, plain, "{a} {b}");
            assert_eq!(x.get(), usize::try_from(a).ok());
        }
        let (three, four) = of(3, 4);
        assert_eq!(three.test(four, u64::gt).number(), Some(0));
    }

    #[test]
    fn arrays_cover_what_is_read_or_are_null() {
        assert!(covers(&Some(vec![1, 2]), Length::of(2u8)));
        assert!(!covers(&Some(vec![1, 2]), Length::of(3u8)));
        assert!(!covers(&Some(vec![1, 2]), Length::NONE));
        assert!(covers::<u8>(&None, Length::of(3u8)));
        assert!(covers(&Some(vec![1, 2]), Length::of(1u8)));
        assert!(pointer::<u8>(&None).is_null());
        let array = Some(vec![1, 2]);
        assert_eq!(pointer(&array), array.as_ref().unwrap().as_ptr());
        assert_eq!(convert::<u64, u8>(&None), Some(None));
        assert_eq!(convert::<u64, u8>(&Some(vec![1, 256])), None);
        assert_eq!(convert::<u64, u8>(&Some(vec![1])), Some(Some(vec![1])));
    }
}
