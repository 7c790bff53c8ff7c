//! Numbers from the board, whose pointers may be wider than the program's.

/// A number as the program's `size_t` or `intptr_t`; none if it does not fit.
pub(crate) fn exact(number: u64) -> Option<usize> {
    cut::<{ usize::BITS }>(number).map(|number| number as usize)
}

/// A limit as the program's `size_t`: the largest that there is, if it is
/// beyond.
pub(crate) fn at_most(limit: u64) -> usize {
    limit.min(usize::MAX as u64) as usize
}

/// The low bits of a number that is the same in so many, with or without a
/// sign: negative ones come as two's complement of 64 bits.
fn cut<const BITS: u32>(number: u64) -> Option<u64> {
    let shift = u64::BITS - BITS;
    let low = number << shift >> shift;
    let signed = (number << shift).cast_signed() >> shift;
    (low == number || signed.cast_unsigned() == number).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_none() {
        assert_eq!(cut::<32>(u64::from(u32::MAX)), Some(u64::from(u32::MAX)));
        assert_eq!(cut::<32>(1 << 32), None);
        assert_eq!(cut::<32>(u64::MAX), Some(u64::from(u32::MAX)));
        assert_eq!(cut::<32>((i64::from(i32::MIN) - 1).cast_unsigned()), None);
        assert_eq!(cut::<64>(u64::MAX), Some(u64::MAX));
        assert_eq!(exact(5), Some(5));
    }

    #[test]
    fn limits_are_the_largest_that_fit() {
        assert_eq!(at_most(5), 5);
        assert_eq!(at_most(u64::MAX), usize::MAX);
    }
}
