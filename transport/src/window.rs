//! The window: memory that host and board share when both are on one machine,
//! so that region bytes need not pass through the socket.
//!
//! Both sides offer [`CAPABILITY`] in their hello. Then the host sends an
//! offer, [`OFFER_LEN`] bytes with the window's length (`u64`, little-endian)
//! and, attached to them (`SCM_RIGHTS`), a sealed memory file of at least that
//! length. The board answers with one byte, [`MAPPED`] or [`NOT_MAPPED`]; the
//! connection goes on either way.
//!
//! A call whose frame has the flag ([`gil_wire::frame::Prefix::in_window`]) has its
//! regions in the window, at the offsets of [`places`]; output is returned at the same
//! offsets. One call uses the window at a time, from its request to its answer. The
//! window contains data only: every length is in a message.

mod copies;
mod made;
mod taken;

pub use made::Made;
pub use taken::{Kept, Offer, Part, Taken, WindowError};

use gil_wire::message::RegionDesc;
use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::io;

/// Bit of [`gil_wire::hello::Hello::capabilities`]: the sender can use a window.
pub const CAPABILITY: u64 = 1;
/// Bytes of the window that a host offers; the pages nobody uses cost nothing.
pub const WINDOW_LEN: u64 = 268_435_456;
/// Bytes at its beginning whose pages the host never gives back, from one call to the next: a
/// board may have a driver pin them.
pub const KEPT_LEN: u64 = 67_108_864;
/// Every region begins at a multiple of this: a page, as drivers like it.
pub const ALIGN: u64 = 4096;
/// Bytes of an offer.
pub const OFFER_LEN: usize = 8;
/// The board's answer to an offer: it uses the window.
pub const MAPPED: u8 = 1;
/// The board's answer to an offer: region bytes go through the socket.
pub const NOT_MAPPED: u8 = 0;

/// Where each region of a call begins in a window of `window` bytes; `None` if
/// they do not fit.
pub fn places(regions: &[RegionDesc], window: u64) -> Option<Vec<u64>> {
    let mut next = 0u64;
    let place = |region: &RegionDesc| {
        let place = next;
        let end = place.checked_add(region.len)?;
        next = end.checked_next_multiple_of(ALIGN)?;
        (end <= window).then_some(place)
    };
    regions.iter().map(place).collect()
}

/// The window's bytes, which the peer changes at any time: no Rust reference to
/// them is ever made.
#[derive(Debug)]
struct Bytes(MmapRaw);

impl Bytes {
    fn map(file: &File, len: u64) -> io::Result<Self> {
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        MmapOptions::new().len(len).map_raw(file).map(Self)
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Where `len` bytes from `at` on are; `None` if the window does not have
    /// all of them.
    fn address(&self, at: u64, len: usize) -> Option<*mut u8> {
        let end = at.checked_add(len as u64)?;
        let is_inside = end <= self.len();
        is_inside.then(|| self.0.as_mut_ptr().wrapping_add(at as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::message::Direction;
    use proptest::prelude::*;

    fn regions(lens: &[u64]) -> Vec<RegionDesc> {
        let region = |&len: &u64| RegionDesc {
            len,
            dir: Direction::In,
        };
        lens.iter().map(region).collect()
    }

    #[test]
    fn regions_lie_behind_each_other_or_not_at_all() {
        assert_eq!(
            places(&regions(&[1, 0, 4096, 5]), 8197),
            Some(vec![0, 4096, 4096, 8192])
        );
        assert_eq!(places(&regions(&[1, 0, 4096, 5]), 8196), None);
        assert_eq!(places(&regions(&[u64::MAX]), u64::MAX), None);
        assert_eq!(places(&[], 0), Some(vec![]));
    }

    proptest! {
        #[test]
        fn places_are_there_wherever_they_fit(
            lens in prop::collection::vec(0u64..9000, 0..6), window in 0u64..40_000,
        ) {
            let pages = |len: u64| len.div_ceil(ALIGN) * ALIGN;
            let before = |n: usize| lens[..n].iter().map(|len| pages(*len)).sum::<u64>();
            let plain: Vec<u64> = (0..lens.len()).map(before).collect();
            let fits = plain.iter().zip(&lens).all(|(place, len)| place + len <= window);
            prop_assert_eq!(places(&regions(&lens), window), fits.then_some(plain));
        }

        #[test]
        fn places_are_within_the_window_and_apart(lens: Vec<u64>, window: u64) {
            if let Some(places) = places(&regions(&lens), window) {
                let mut end = 0;
                for (place, len) in places.iter().zip(&lens) {
                    prop_assert!(*place >= end && place % ALIGN == 0);
                    end = place + len;
                }
                prop_assert!(end <= window);
            }
        }
    }
}
