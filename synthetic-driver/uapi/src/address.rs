//! Addresses and lengths of guest memory, as types of their own: none is taken
//! for the other, or for a place in this process. No sum of them wraps, since
//! what a guest says may be anything; numbers become one, and one a number, only
//! where they cross a border.

use std::fmt;
use std::iter::Sum;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A guest physical address.
#[repr(transparent)]
#[derive(
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
pub struct GuestAddress(pub u64);

/// A virtual address of the guest's kernel, or of one of its processes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualAddress(pub u64);

/// Bytes of guest memory.
#[repr(transparent)]
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
pub struct GuestLength(pub u64);

impl GuestAddress {
    /// The address so many bytes further on; `None` outside of the address space.
    #[inline]
    pub const fn checked_add(self, len: GuestLength) -> Option<Self> {
        match self.0.checked_add(len.0) {
            Some(address) => Some(Self(address)),
            None => None,
        }
    }

    /// The address so many bytes further on; at most the last one.
    #[inline]
    pub const fn saturating_add(self, len: GuestLength) -> Self {
        Self(self.0.saturating_add(len.0))
    }

    /// Bytes from `start` to here; 0 if `start` is further on.
    #[inline]
    pub const fn since(self, start: Self) -> GuestLength {
        GuestLength(self.0.saturating_sub(start.0))
    }
}

impl VirtualAddress {
    /// The address so many bytes further on; `None` outside of the address space.
    #[inline]
    pub const fn checked_add(self, bytes: u64) -> Option<Self> {
        match self.0.checked_add(bytes) {
            Some(address) => Some(Self(address)),
            None => None,
        }
    }
}

impl GuestLength {
    /// No byte.
    pub const ZERO: Self = Self(0);

    /// Bytes of a buffer.
    #[inline]
    pub const fn of(buffer: &[u8]) -> Self {
        Self(buffer.len() as u64)
    }

    /// Whether it is no byte.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum; `None` if there is no such length.
    #[inline]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(len) => Some(Self(len)),
            None => None,
        }
    }

    /// The sum; at most the greatest length.
    #[inline]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left without so many bytes; 0 if that is more.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// As a buffer's length; the greatest where there is no such buffer.
    #[inline]
    pub fn to_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl From<u32> for GuestLength {
    fn from(len: u32) -> Self {
        Self(len.into())
    }
}

impl Sum for GuestLength {
    /// At most the greatest length.
    fn sum<I: Iterator<Item = Self>>(lens: I) -> Self {
        lens.fold(Self::ZERO, Self::saturating_add)
    }
}

impl fmt::Display for GuestAddress {
    /// As everyone writes addresses: in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for GuestAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GuestAddress({self})")
    }
}

impl fmt::Display for VirtualAddress {
    /// In hexadecimal, too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for VirtualAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VirtualAddress({self})")
    }
}

impl fmt::Display for GuestLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::LowerHex for GuestLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: GuestAddress = GuestAddress(u64::MAX);
    const MOST: GuestLength = GuestLength(u64::MAX);
    const ONE: GuestLength = GuestLength(1);

    #[test]
    fn no_sum_wraps() {
        let address = GuestAddress(0x4000);
        assert_eq!(address.checked_add(ONE), Some(GuestAddress(0x4001)));
        assert_eq!(LAST.checked_add(ONE), None);
        assert_eq!(LAST.saturating_add(ONE), LAST);
        assert_eq!(address.saturating_add(ONE).since(address), ONE);
        assert_eq!(address.since(LAST), GuestLength::ZERO);
        let virtual_address = VirtualAddress(u64::MAX - 1);
        assert_eq!(
            virtual_address.checked_add(1),
            Some(VirtualAddress(u64::MAX))
        );
        assert_eq!(virtual_address.checked_add(2), None);
        assert_eq!(MOST.checked_add(ONE), None);
        assert_eq!(ONE.checked_add(ONE), Some(GuestLength(2)));
        assert_eq!([MOST, ONE].into_iter().sum::<GuestLength>(), MOST);
        assert_eq!(ONE.saturating_sub(MOST), GuestLength::ZERO);
        assert!(GuestLength::of(&[]).is_zero() && !ONE.is_zero());
    }

    #[test]
    fn addresses_print_in_hexadecimal() {
        let (address, len) = (GuestAddress(0x4000_0000), GuestLength(16));
        assert_eq!(
            format!("{address} {address:?} {len} {len:#x}"),
            "0x40000000 GuestAddress(0x40000000) 16 0x10"
        );
        let address = VirtualAddress(0xffff_8000_0000_0000);
        assert_eq!(
            format!("{address} {address:?}"),
            "0xffff800000000000 VirtualAddress(0xffff800000000000)"
        );
    }
}
