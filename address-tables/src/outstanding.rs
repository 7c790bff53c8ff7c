use crate::Extents;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Bytes that a region shares with outstanding output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The submission whose output it is.
    pub seq: u64,
    /// The index of the operation's output region.
    pub region: usize,
    /// Offset in the region asked about.
    pub at: u64,
    /// Offset in the outstanding region.
    pub from: u64,
    /// Bytes.
    pub len: u64,
}

/// Out regions whose bytes the guest may not see yet, by submission.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    by_seq: BTreeMap<u64, Vec<Extents>>,
    places: Places,
}

impl Outstanding {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a submission's out regions.
    pub fn insert(&mut self, seq: u64, regions: Vec<Extents>) {
        self.remove(seq);
        for (region, extents) in regions.iter().enumerate() {
            self.places.insert((seq, region), extents);
        }
        self.by_seq.insert(seq, regions);
    }

    /// A submission's out regions.
    pub fn get(&self, seq: u64) -> Option<&[Extents]> {
        self.by_seq.get(&seq).map(Vec::as_slice)
    }

    /// Forgets a submission's; returns them.
    pub fn remove(&mut self, seq: u64) -> Option<Vec<Extents>> {
        let regions = self.by_seq.remove(&seq)?;
        for (region, extents) in regions.iter().enumerate() {
            self.places.remove((seq, region), extents);
        }
        Some(regions)
    }

    /// Whether nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.by_seq.is_empty()
    }

    /// What `region` shares with outstanding output, oldest submission first.
    pub fn overlapping(&self, region: &Extents) -> Vec<Overlap> {
        let mut all = Vec::new();
        for (seq, index) in self.places.near(region) {
            region.overlaps(&self.by_seq[&seq][index], |at, from, len| {
                all.push(Overlap {
                    seq,
                    region: index,
                    at,
                    from,
                    len,
                });
            });
        }
        all
    }
}

/// A region: its submission, and which of its out regions.
type RegionOf = (u64, usize);

/// Which regions may have bytes where. A region's stretches are in the order of
/// their length's magnitude, then of their address: those of a magnitude that
/// share bytes with a range of addresses begin in it, or no more than the longest
/// of that magnitude before it.
#[derive(Clone, Debug, Default)]
struct Places(BTreeSet<Place>);

/// Magnitude, address, address behind the last byte, region.
type Place = (u32, u64, u64, RegionOf);

fn places(of: RegionOf, extents: &Extents) -> impl Iterator<Item = Place> {
    let stretches = extents.stretches().into_iter();
    stretches.map(move |stretch| {
        let (start, end) = (stretch.start.0, stretch.end.0);
        ((end - start).ilog2(), start, end, of)
    })
}

impl Places {
    fn insert(&mut self, of: RegionOf, extents: &Extents) {
        self.0.extend(places(of, extents));
    }

    fn remove(&mut self, of: RegionOf, extents: &Extents) {
        for place in places(of, extents) {
            self.0.remove(&place);
        }
    }

    /// Regions that may share bytes with this one, and all that do.
    fn near(&self, region: &Extents) -> BTreeSet<RegionOf> {
        let mut found = BTreeSet::new();
        let stretches = region.stretches();
        let mut magnitude = 0;
        while let Some(&(next, ..)) = self.from(magnitude, 0).next() {
            for stretch in &stretches {
                self.find(next, stretch.start.0..stretch.end.0, &mut found);
            }
            magnitude = next + 1;
        }
        found
    }

    /// From an address on, at this magnitude; then of greater ones.
    fn from(&self, magnitude: u32, start: u64) -> impl Iterator<Item = &Place> {
        self.0.range((magnitude, start, 0, (0, 0))..)
    }

    fn find(&self, magnitude: u32, range: Range<u64>, found: &mut BTreeSet<RegionOf>) {
        let longest = u64::MAX >> (u64::BITS - 1 - magnitude);
        let from = self.from(magnitude, range.start.saturating_sub(longest));
        let before_end = |place: &&Place| place.0 == magnitude && place.1 < range.end;
        let near = from.take_while(before_end);
        found.extend(
            near.filter(|place| place.2 > range.start)
                .map(|place| place.3),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extent, GuestAddress, GuestLength};
    use proptest::prelude::*;

    #[test]
    fn finds_what_overlaps_until_it_is_removed() {
        let region = |gpa, len| {
            let (gpa, len) = (GuestAddress(gpa), GuestLength(len));
            Extents::new([Extent { gpa, len }], len).unwrap()
        };
        let mut outstanding = Outstanding::new();
        assert!(outstanding.is_empty());
        let regions = vec![region(0, 10), region(100, 10)];
        outstanding.insert(7, regions.clone());
        assert!(!outstanding.is_empty());
        assert_eq!(outstanding.get(7), Some(&regions[..]));
        assert_eq!(outstanding.get(6), None);
        let overlap = Overlap {
            seq: 7,
            region: 1,
            at: 0,
            from: 5,
            len: 5,
        };
        assert_eq!(outstanding.overlapping(&region(105, 20)), vec![overlap]);
        assert_eq!(outstanding.overlapping(&region(10, 90)), vec![]);
        assert!(outstanding.remove(7).is_some());
        assert!(outstanding.is_empty());
        assert_eq!(outstanding.overlapping(&region(105, 20)), vec![]);
    }

    fn any_region() -> impl Strategy<Value = Extents> {
        // Some with more extents than they have stretches, some long, some at
        // the end of all addresses.
        let len = prop_oneof![1u64..6, 1u64..6, 1u64..200];
        let list = prop::collection::vec((0u64..300, len), 0..40);
        (list, prop::bool::ANY).prop_map(|(list, is_last)| {
            let base = if is_last { u64::MAX - 500 } else { 0 };
            let extent = |(gpa, len): &(u64, u64)| Extent {
                gpa: GuestAddress(base + gpa),
                len: GuestLength(*len),
            };
            let len = list.iter().map(|(_, len)| len).sum();
            Extents::new(list.iter().map(extent), GuestLength(len)).unwrap()
        })
    }

    proptest! {
        #[test]
        fn overlaps_are_those_with_every_region(
            regions in prop::collection::vec((0u64..8, any_region()), 0..16),
            removed in prop::collection::vec(0u64..8, 0..4),
            asked in any_region(),
        ) {
            let mut outstanding = Outstanding::new();
            let mut plain = BTreeMap::new();
            for (seq, region) in regions {
                let two = vec![region.clone(), region];
                plain.insert(seq, two.clone());
                outstanding.insert(seq, two);
            }
            for seq in removed {
                prop_assert_eq!(outstanding.remove(seq), plain.remove(&seq));
            }
            let mut expected = Vec::new();
            for (&seq, regions) in &plain {
                for (region, out) in regions.iter().enumerate() {
                    asked.overlaps(out, |at, from, len| {
                        expected.push(Overlap { seq, region, at, from, len });
                    });
                }
            }
            prop_assert_eq!(outstanding.overlapping(&asked), expected);
            plain.keys().for_each(|seq| drop(outstanding.remove(*seq)));
            prop_assert!(outstanding.places.0.is_empty());
        }
    }

    #[test]
    fn of_many_regions_few_are_near() {
        let mut outstanding = Outstanding::new();
        let region = |gpa, len| {
            let (gpa, len) = (GuestAddress(gpa), GuestLength(len));
            Extents::new([Extent { gpa, len }], len).unwrap()
        };
        for seq in 0..10_000 {
            outstanding.insert(seq, vec![region(seq * 100, 64)]);
        }
        outstanding.insert(10_000, vec![region(0, 1 << 30)]);
        let near = outstanding.places.near(&region(5_020, 64));
        assert_eq!(near, BTreeSet::from([(50, 0), (10_000, 0)]));
    }
}
