use crate::Extents;
use std::collections::BTreeMap;

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
}

impl Outstanding {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a submission's out regions.
    pub fn insert(&mut self, seq: u64, regions: Vec<Extents>) {
        self.by_seq.insert(seq, regions);
    }

    /// A submission's out regions.
    pub fn get(&self, seq: u64) -> Option<&[Extents]> {
        self.by_seq.get(&seq).map(Vec::as_slice)
    }

    /// Forgets a submission's; returns them.
    pub fn remove(&mut self, seq: u64) -> Option<Vec<Extents>> {
        self.by_seq.remove(&seq)
    }

    /// Whether nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.by_seq.is_empty()
    }

    /// What `region` shares with outstanding output, oldest submission first.
    pub fn overlapping(&self, region: &Extents) -> Vec<Overlap> {
        let mut all = Vec::new();
        for (&seq, regions) in &self.by_seq {
            for (index, out) in regions.iter().enumerate() {
                region.overlaps(out, |at, from, len| {
                    all.push(Overlap {
                        seq,
                        region: index,
                        at,
                        from,
                        len,
                    });
                });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extent, GuestAddress, GuestLength};

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
}
