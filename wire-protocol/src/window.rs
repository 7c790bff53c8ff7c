//! The window: memory that host and board share when both are on one machine,
//! so that region bytes need not pass through the socket.
//!
//! Both sides offer [`CAPABILITY`] in their hello. Then the host sends an
//! offer, [`OFFER_LEN`] bytes with the window's length (`u64`, little-endian)
//! and, attached to them (`SCM_RIGHTS`), a sealed memory file of at least that
//! length. The board answers with one byte, [`MAPPED`] or [`NOT_MAPPED`]; the
//! connection goes on either way.
//!
//! A call whose frame says so ([`crate::frame::Prefix::in_window`]) has its
//! regions in the window, each where [`places`] puts it; the bytes that come
//! back are left at the same places. One call uses the window at a time, from
//! its request to its answer. What the window holds is data: every length is
//! in a message.

use crate::message::RegionDesc;

/// Bit of [`crate::hello::Hello::capabilities`]: the sender can use a window.
pub const CAPABILITY: u64 = 1;
/// Bytes of the window that a host offers; the pages nobody uses cost nothing.
pub const WINDOW_LEN: u64 = 268_435_456;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Direction;
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
