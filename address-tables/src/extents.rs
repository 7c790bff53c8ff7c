/// Contiguous guest physical memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// Its first address.
    pub gpa: u64,
    /// Bytes, not 0.
    pub len: u64,
}

impl Extent {
    /// The address behind its last byte.
    pub const fn end(self) -> u64 {
        self.gpa + self.len
    }
}

/// Extents that cannot be a region's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtentsError {
    /// An extent without bytes.
    #[error("extent {index} at {gpa:#x} is empty")]
    Empty {
        /// Its place in the list.
        index: usize,
        /// Its address.
        gpa: u64,
    },
    /// An extent leaves the address space.
    #[error("extent {index}: {gpa:#x} + {len:#x} overflows")]
    Overflow {
        /// Its place in the list.
        index: usize,
        /// Its address.
        gpa: u64,
        /// Its length.
        len: u64,
    },
    /// The extents do not add up to the region.
    #[error("the extents hold {sum} bytes, the region {len}")]
    Sum {
        /// Bytes of all extents.
        sum: u64,
        /// Bytes the region is said to have.
        len: u64,
    },
}

/// The guest physical memory of one region, in the region's own order;
/// contiguous neighbours are merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    list: Vec<Extent>,
    len: u64,
}

impl Extents {
    /// Checks a region's extents.
    ///
    /// # Errors
    /// [`ExtentsError`] names the extent, or both lengths.
    pub fn new(extents: impl IntoIterator<Item = Extent>, len: u64) -> Result<Self, ExtentsError> {
        let mut list: Vec<Extent> = Vec::new();
        let mut sum = 0u64;
        for (index, extent) in extents.into_iter().enumerate() {
            let Extent { gpa, len } = extent;
            if len == 0 {
                return Err(ExtentsError::Empty { index, gpa });
            }
            let overflow = ExtentsError::Overflow { index, gpa, len };
            gpa.checked_add(len).ok_or(overflow)?;
            sum = sum.checked_add(len).ok_or(overflow)?;
            match list.last_mut() {
                Some(last) if last.end() == gpa => last.len += len,
                _ => list.push(extent),
            }
        }
        if sum != len {
            return Err(ExtentsError::Sum { sum, len });
        }
        Ok(Self { list, len })
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The extents.
    pub fn iter(&self) -> impl Iterator<Item = Extent> + '_ {
        self.list.iter().copied()
    }

    /// Calls `found(at_self, at_other, len)` for every run of bytes that both
    /// have: offsets into this region and into the other.
    pub fn overlaps(&self, other: &Self, mut found: impl FnMut(u64, u64, u64)) {
        let mut at_self = 0;
        for mine in self.iter() {
            let mut at_other = 0;
            for theirs in other.iter() {
                let from = mine.gpa.max(theirs.gpa);
                let to = mine.end().min(theirs.end());
                if from < to {
                    found(
                        at_self + (from - mine.gpa),
                        at_other + (from - theirs.gpa),
                        to - from,
                    );
                }
                at_other += theirs.len;
            }
            at_self += mine.len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(gpa: u64, len: u64) -> Extent {
        Extent { gpa, len }
    }

    #[test]
    fn merges_and_checks() {
        let extents = Extents::new([extent(0, 4), extent(4, 4), extent(16, 1)], 9).unwrap();
        assert_eq!(
            extents.iter().collect::<Vec<_>>(),
            vec![extent(0, 8), extent(16, 1)]
        );
        assert!(matches!(
            Extents::new([extent(0, 4)], 5),
            Err(ExtentsError::Sum { sum: 4, len: 5 })
        ));
        assert!(matches!(
            Extents::new([extent(0, 1), extent(9, 0)], 1),
            Err(ExtentsError::Empty { index: 1, gpa: 9 })
        ));
        assert!(matches!(
            Extents::new([extent(u64::MAX, 1)], 1),
            Err(ExtentsError::Overflow { .. })
        ));
    }

    #[test]
    fn overlaps_are_given_in_both_regions_offsets() {
        let one = Extents::new([extent(100, 10), extent(50, 10)], 20).unwrap();
        let two = Extents::new([extent(55, 50)], 50).unwrap();
        let mut found = Vec::new();
        one.overlaps(&two, |a, b, len| found.push((a, b, len)));
        assert_eq!(found, vec![(0, 45, 5), (15, 0, 5)]);
    }
}
