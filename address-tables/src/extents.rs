use gil_uapi::{Extent, GuestAddress, GuestLength};
use std::ops::Range;

/// Most stretches of one region: of one whose pages are scattered, each holds
/// several.
const STRETCHES_MAX: usize = 16;

/// Extents that cannot be a region's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtentsError {
    /// An extent without bytes.
    #[error("extent {index} at {gpa} is empty")]
    Empty {
        /// Its place in the list.
        index: usize,
        /// Its address.
        gpa: GuestAddress,
    },
    /// An extent leaves the address space.
    #[error("extent {index}: {gpa} + {len:#x} overflows")]
    Overflow {
        /// Its place in the list.
        index: usize,
        /// Its address.
        gpa: GuestAddress,
        /// Its length.
        len: GuestLength,
    },
    /// The extents do not add up to the region.
    #[error("the extents hold {sum} bytes, the region {len}")]
    Sum {
        /// Bytes of all extents.
        sum: GuestLength,
        /// Bytes the region is said to have.
        len: GuestLength,
    },
}

/// The guest physical memory of one region, in the region's own order;
/// contiguous neighbours are merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    list: Vec<Extent>,
    len: GuestLength,
}

impl Extents {
    /// Checks a region's extents.
    ///
    /// # Errors
    /// [`ExtentsError`] names the extent, or both lengths.
    pub fn new(
        extents: impl IntoIterator<Item = Extent>,
        len: GuestLength,
    ) -> Result<Self, ExtentsError> {
        let extents = extents.into_iter();
        let mut list: Vec<Extent> = Vec::with_capacity(extents.size_hint().0);
        let mut sum = GuestLength::ZERO;
        for (index, extent) in extents.enumerate() {
            let Extent { gpa, len } = extent;
            if len.is_zero() {
                return Err(ExtentsError::Empty { index, gpa });
            }
            let overflow = ExtentsError::Overflow { index, gpa, len };
            gpa.checked_add(len).ok_or(overflow)?;
            sum = sum.checked_add(len).ok_or(overflow)?;
            push(&mut list, extent);
        }
        if sum != len {
            return Err(ExtentsError::Sum { sum, len });
        }
        Ok(Self { list, len })
    }

    /// Bytes.
    pub fn len(&self) -> GuestLength {
        self.len
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len.is_zero()
    }

    /// The extents.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Extent> + '_ {
        self.list.iter().copied()
    }

    /// The runs of `len` bytes that begin at these offsets, as a region of
    /// their own. `None` unless each begins behind the end of the one before
    /// and all lie inside.
    pub fn runs(&self, starts: impl IntoIterator<Item = u64>, len: GuestLength) -> Option<Self> {
        let mut list: Vec<Extent> = Vec::new();
        let mut at = 0;
        let mut extents = self.iter();
        let mut extent = Extent::default();
        for start in starts {
            // What is left of the run, and how much of the region is before it.
            let (mut left, mut skip) = (len.0, start.checked_sub(at)?);
            at = start.checked_add(len.0)?;
            while left > 0 {
                if skip >= extent.len.0 {
                    skip -= extent.len.0;
                    extent = extents.next()?;
                    continue;
                }
                // No further than the extent's end, which was checked.
                let now = left.min(extent.len.0 - skip);
                let from = extent.gpa.0 + skip;
                push(&mut list, of(from, now));
                extent = of(from + now, extent.len.0 - skip - now);
                (left, skip) = (left - now, 0);
            }
        }
        let len = list.iter().map(|extent| extent.len).sum();
        Some(Self { list, len })
    }

    /// Stretches of addresses, few, that hold all extents, and perhaps bytes
    /// between them. Where extents are few, a stretch is one of them.
    pub(crate) fn stretches(&self) -> Vec<Range<GuestAddress>> {
        let extents = self.iter().map(|extent| extent.gpa..end(extent));
        let mut list: Vec<_> = extents.collect();
        list.sort_unstable_by_key(|stretch| stretch.start);
        let each = list.len().div_ceil(STRETCHES_MAX).max(1);
        let join = |part: &[Range<GuestAddress>]| {
            let ends = part.iter().map(|stretch| stretch.end);
            part[0].start..ends.max().unwrap_or_default()
        };
        list.chunks(each).map(join).collect()
    }

    /// Calls `found(at_self, at_other, len)` for every run of bytes that both
    /// have: offsets into this region and into the other.
    pub fn overlaps(&self, other: &Self, mut found: impl FnMut(u64, u64, u64)) {
        let others = Sorted::of(other);
        let mut at_self = 0;
        for mine in self.iter() {
            for &(theirs, at_other, _) in others.near(mine) {
                let from = mine.gpa.max(theirs.gpa);
                let to = end(mine).min(end(theirs));
                if from < to {
                    found(
                        at_self + (from.0 - mine.gpa.0),
                        at_other + (from.0 - theirs.gpa.0),
                        to.0 - from.0,
                    );
                }
            }
            at_self += mine.len.0;
        }
    }
}

fn of(gpa: u64, len: u64) -> Extent {
    let (gpa, len) = (GuestAddress(gpa), GuestLength(len));
    Extent { gpa, len }
}

/// The address behind an extent's last byte, which was checked.
#[inline]
fn end(extent: Extent) -> GuestAddress {
    GuestAddress(extent.gpa.0 + extent.len.0)
}

/// Adds an extent, whose end was checked, to the last one if it goes on there.
#[inline(always)] // for every extent of every region
fn push(list: &mut Vec<Extent>, extent: Extent) {
    match list.last_mut() {
        Some(last) if end(*last) == extent.gpa => last.len.0 += extent.len.0,
        _ => list.push(extent),
    }
}

/// A region's extents by address: each with its offset in the region, and the
/// greatest end so far. Regions of many rows are compared with each other.
struct Sorted(Vec<(Extent, u64, GuestAddress)>);

impl Sorted {
    fn of(extents: &Extents) -> Self {
        let mut offset = 0;
        let with_offset = |extent: Extent| {
            offset += extent.len.0;
            (extent, offset - extent.len.0, GuestAddress::default())
        };
        let mut list: Vec<_> = extents.iter().map(with_offset).collect();
        list.sort_unstable();
        let mut furthest = GuestAddress::default();
        for (extent, _, so_far) in &mut list {
            furthest = end(*extent).max(furthest);
            *so_far = furthest;
        }
        Self(list)
    }

    /// Those that may share bytes with `extent`, and all between them.
    fn near(&self, extent: Extent) -> &[(Extent, u64, GuestAddress)] {
        let behind = end(extent);
        let to = self.0.partition_point(|(e, ..)| e.gpa < behind);
        let from = self.0.partition_point(|(.., end)| *end <= extent.gpa);
        self.0.get(from..to).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extent(gpa: u64, len: u64) -> Extent {
        let (gpa, len) = (GuestAddress(gpa), GuestLength(len));
        Extent { gpa, len }
    }

    fn extents(list: impl IntoIterator<Item = Extent>, len: u64) -> Result<Extents, ExtentsError> {
        Extents::new(list, GuestLength(len))
    }

    #[test]
    fn merges_and_checks() {
        let merged = extents([extent(0, 4), extent(4, 4), extent(16, 1)], 9).unwrap();
        assert_eq!(
            merged.iter().collect::<Vec<_>>(),
            vec![extent(0, 8), extent(16, 1)]
        );
        assert!(!merged.is_empty());
        assert!(extents([], 0).unwrap().is_empty());
        assert!(matches!(
            extents([extent(0, 4)], 5),
            Err(ExtentsError::Sum {
                sum: GuestLength(4),
                len: GuestLength(5)
            })
        ));
        assert!(matches!(
            extents([extent(0, 1), extent(9, 0)], 1),
            Err(ExtentsError::Empty {
                index: 1,
                gpa: GuestAddress(9)
            })
        ));
        assert!(matches!(
            extents([extent(u64::MAX, 1)], 1),
            Err(ExtentsError::Overflow { .. })
        ));
    }

    #[test]
    fn overlaps_are_given_in_both_regions_offsets() {
        let one = extents([extent(100, 10), extent(50, 10)], 20).unwrap();
        let two = extents([extent(55, 50)], 50).unwrap();
        let mut found = Vec::new();
        one.overlaps(&two, |a, b, len| found.push((a, b, len)));
        assert_eq!(found, vec![(0, 45, 5), (15, 0, 5)]);
    }

    #[test]
    fn runs_lie_where_their_bytes_do() {
        let whole = extents([extent(100, 10), extent(50, 10)], 20).unwrap();
        let list = |starts: &[u64], len| -> Option<Vec<Extent>> {
            let runs = whole.runs(starts.iter().copied(), GuestLength(len))?;
            assert_eq!(runs.len().0, starts.len() as u64 * len);
            Some(runs.iter().collect())
        };
        assert_eq!(list(&[1, 5], 3), Some(vec![extent(101, 3), extent(105, 3)]));
        let across = vec![extent(108, 2), extent(50, 4)];
        assert_eq!(list(&[8, 10, 12], 2), Some(across));
        assert_eq!(list(&[8], 6), list(&[8, 10, 12], 2));
        assert_eq!(list(&[0], 20), Some(whole.iter().collect()));
        assert_eq!(list(&[17, 18], 2), None, "they overlap");
        assert_eq!(list(&[19], 2), None, "it ends outside");
        assert_eq!(list(&[u64::MAX], 2), None);
    }

    /// The address of each byte of a region.
    fn bytes(extents: &Extents) -> Vec<u64> {
        extents.iter().flat_map(|e| e.gpa.0..end(e).0).collect()
    }

    fn any_extents() -> impl Strategy<Value = Extents> {
        let list = prop::collection::vec((0u64..40, 1u64..6), 0..8);
        list.prop_map(|list| {
            let len = list.iter().map(|(_, len)| len).sum();
            extents(list.iter().map(|&(gpa, len)| extent(gpa, len)), len).unwrap()
        })
    }

    /// Byte by byte, as the words of [`Extents::runs`] say.
    fn plain_runs(whole: &[u64], starts: &[u64], len: u64) -> Option<Vec<u64>> {
        let apart = starts.windows(2).all(|two| two[0] + len <= two[1]);
        let run = |&start: &u64| whole.get(start as usize..(start + len) as usize);
        let runs: Option<Vec<_>> = starts.iter().map(run).collect();
        apart.then_some(runs?.concat())
    }

    proptest! {
        #[test]
        fn overlaps_are_those_of_every_byte(one in any_extents(), two in any_extents()) {
            let mut found = Vec::new();
            one.overlaps(&two, |a, b, len| {
                assert!(len > 0);
                found.extend((0..len).map(|n| (a + n, b + n)));
            });
            found.sort_unstable();
            let (mine, theirs) = (bytes(&one), bytes(&two));
            let mut wanted = Vec::new();
            for (a, x) in mine.iter().enumerate() {
                let same = theirs.iter().enumerate().filter(|(_, y)| x == *y);
                wanted.extend(same.map(|(b, _)| (a as u64, b as u64)));
            }
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn runs_are_those_of_every_byte(
            whole in any_extents(),
            steps in prop::collection::vec(0u64..9, 0..6),
            len in 1u64..6,
        ) {
            // Most begin behind the one before; some overlap it.
            let mut at = 0u64;
            let mut starts = Vec::new();
            for step in steps {
                at = (at + step).saturating_sub(1);
                starts.push(at);
                at += len;
            }
            let runs = whole.runs(starts.iter().copied(), GuestLength(len));
            let expected = plain_runs(&bytes(&whole), &starts, len);
            prop_assert_eq!(runs.as_ref().map(|runs| runs.len().0), expected.as_ref().map(|b| b.len() as u64));
            if let Some(runs) = &runs {
                let again = Extents::new(runs.iter(), runs.len()).unwrap();
                prop_assert_eq!(runs, &again, "neighbours are merged");
            }
            prop_assert_eq!(runs.as_ref().map(bytes), expected);
        }

        #[test]
        fn any_runs_lie_inside_or_nowhere(starts: Vec<u64>, len: u64) {
            let whole = extents([extent(100, 10), extent(50, 10)], 20).unwrap();
            if let Some(runs) = whole.runs(starts, GuestLength(len)) {
                prop_assert!(runs.len().0 <= 20);
            }
        }
    }
}
