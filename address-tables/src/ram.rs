use gil_uapi::{GuestAddress, GuestLength};

/// One range of guest RAM, and where it lies in the memory that the simulator
/// shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RamRange {
    /// Its first address.
    pub gpa: GuestAddress,
    /// Bytes.
    pub len: GuestLength,
    /// Offset of its first byte in the backing.
    pub offset: u64,
}

impl RamRange {
    /// The address behind its last byte.
    fn end(&self) -> GuestAddress {
        self.gpa.saturating_add(self.len)
    }
}

/// Contiguous bytes of the backing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset in the backing.
    pub offset: u64,
    /// Bytes, not 0.
    pub len: u64,
}

/// An address that is not RAM, or a table that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RamError {
    /// Outside every range.
    #[error("guest physical memory {gpa} (+{len:#x}) is not RAM")]
    Outside {
        /// First address that is not RAM.
        gpa: GuestAddress,
        /// Bytes wanted from there.
        len: GuestLength,
    },
    /// Address plus length leaves the address space.
    #[error("guest physical address {gpa} + {len:#x} overflows")]
    Overflow {
        /// The address.
        gpa: GuestAddress,
        /// The length.
        len: GuestLength,
    },
    /// Two ranges claim the same address.
    #[error("RAM ranges at {first} and {second} overlap: give every range once")]
    Overlap {
        /// Start of one.
        first: GuestAddress,
        /// Start of the other.
        second: GuestAddress,
    },
    /// A range without bytes.
    #[error("the RAM range at {gpa} is empty")]
    Empty {
        /// Its address.
        gpa: GuestAddress,
    },
}

/// The simulator's RAM, sorted by guest physical address.
#[derive(Clone, Debug, Default)]
pub struct RamMap {
    ranges: Vec<RamRange>,
}

impl RamMap {
    /// A table of the given ranges, in any order.
    ///
    /// # Errors
    /// [`RamError`] if ranges are empty, overflow or overlap.
    pub fn new(mut ranges: Vec<RamRange>) -> Result<Self, RamError> {
        ranges.sort_by_key(|range| range.gpa);
        for range in &ranges {
            if range.len.is_zero() {
                return Err(RamError::Empty { gpa: range.gpa });
            }
            if range.gpa.checked_add(range.len).is_none()
                || range.offset.checked_add(range.len.0).is_none()
            {
                let (gpa, len) = (range.gpa, range.len);
                return Err(RamError::Overflow { gpa, len });
            }
        }
        if let Some(pair) = ranges.windows(2).find(|p| p[0].end() > p[1].gpa) {
            let (first, second) = (pair[0].gpa, pair[1].gpa);
            return Err(RamError::Overlap { first, second });
        }
        Ok(Self { ranges })
    }

    /// The ranges, by address.
    pub fn ranges(&self) -> &[RamRange] {
        &self.ranges
    }

    /// Where `len` bytes from `gpa` lie. They may cross ranges that touch.
    ///
    /// # Errors
    /// [`RamError::Outside`] with the first address that is not RAM,
    /// [`RamError::Overflow`].
    pub fn translate(&self, gpa: GuestAddress, len: GuestLength) -> Result<Vec<Piece>, RamError> {
        let mut pieces = Vec::with_capacity(1);
        self.translate_into(gpa, len, &mut pieces)?;
        Ok(pieces)
    }

    /// Whether `len` bytes from `gpa` are all RAM.
    ///
    /// # Errors
    /// As [`RamMap::translate`].
    pub fn check(&self, gpa: GuestAddress, len: GuestLength) -> Result<(), RamError> {
        self.each(gpa, len, |_| {})
    }

    /// As [`RamMap::translate`], appending to `pieces`.
    ///
    /// # Errors
    /// As [`RamMap::translate`]; `pieces` may have grown.
    pub fn translate_into(
        &self,
        gpa: GuestAddress,
        len: GuestLength,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), RamError> {
        self.each(gpa, len, |piece| match pieces.last_mut() {
            Some(last) if last.offset + last.len == piece.offset => last.len += piece.len,
            _ => pieces.push(piece),
        })
    }

    /// Calls `found` for each piece, in order.
    fn each(
        &self,
        mut gpa: GuestAddress,
        mut len: GuestLength,
        mut found: impl FnMut(Piece),
    ) -> Result<(), RamError> {
        gpa.checked_add(len)
            .ok_or(RamError::Overflow { gpa, len })?;
        while !len.is_zero() {
            let place = self.find(gpa);
            let (range, within) = place.ok_or(RamError::Outside { gpa, len })?;
            let piece = Piece {
                offset: range.offset + within,
                len: len.0.min(range.len.0 - within),
            };
            // No further than the end, which was checked.
            gpa = GuestAddress(gpa.0 + piece.len);
            len = GuestLength(len.0 - piece.len);
            found(piece);
        }
        Ok(())
    }

    /// The range that an address is in, and how far within.
    #[inline]
    fn find(&self, gpa: GuestAddress) -> Option<(&RamRange, u64)> {
        let after = self.ranges.partition_point(|range| range.gpa <= gpa);
        let range = self.ranges.get(after.checked_sub(1)?)?;
        let within = gpa.0 - range.gpa.0;
        (within < range.len.0).then_some((range, within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(gpa: u64, len: u64, offset: u64) -> RamRange {
        RamRange {
            gpa: GuestAddress(gpa),
            len: GuestLength(len),
            offset,
        }
    }

    fn translate(gpa: u64, len: u64) -> Result<Vec<Piece>, RamError> {
        map().translate(GuestAddress(gpa), GuestLength(len))
    }

    fn map() -> RamMap {
        RamMap::new(vec![
            at(0x8000, 0x1000, 0x2000),
            at(0x4000, 0x2000, 0),
            at(0x6000, 0x800, 0x5000),
            // Behind the first in the backing, too.
            at(0x9000, 0x800, 0x3000),
        ])
        .unwrap()
    }

    #[test]
    fn crosses_ranges_that_touch_and_merges() {
        assert_eq!(
            translate(0x4000, 0x10).unwrap(),
            vec![Piece {
                offset: 0,
                len: 0x10
            }]
        );
        assert_eq!(
            translate(0x5ff0, 0x20).unwrap(),
            vec![
                Piece {
                    offset: 0x1ff0,
                    len: 0x10
                },
                Piece {
                    offset: 0x5000,
                    len: 0x10
                }
            ]
        );
        assert_eq!(
            translate(0x8ff0, 0x20).unwrap(),
            vec![Piece {
                offset: 0x2ff0,
                len: 0x20
            }]
        );
        assert_eq!(
            translate(0x67ff, 2),
            Err(RamError::Outside {
                gpa: GuestAddress(0x6800),
                len: GuestLength(1)
            })
        );
        assert!(matches!(
            translate(u64::MAX, 2),
            Err(RamError::Overflow { .. })
        ));
        assert!(matches!(translate(0, 1), Err(RamError::Outside { .. })));
    }

    #[test]
    fn refuses_bad_tables() {
        let range = |gpa, len| at(gpa, len, 0);
        assert!(matches!(
            RamMap::new(vec![range(0, 10), range(9, 10)]),
            Err(RamError::Overlap {
                first: GuestAddress(0),
                second: GuestAddress(9)
            })
        ));
        assert!(matches!(
            RamMap::new(vec![range(5, 0)]),
            Err(RamError::Empty {
                gpa: GuestAddress(5)
            })
        ));
        assert!(matches!(
            RamMap::new(vec![range(u64::MAX, 2)]),
            Err(RamError::Overflow { .. })
        ));
    }

    proptest! {
        /// Byte by byte, translation agrees with a linear search.
        #[test]
        fn agrees_with_a_linear_search(gpa in 0x3f00u64..0x9900, len in 0u64..0x300) {
            let map = map();
            let byte = |at: u64| map.ranges().iter()
                .find(|r| (r.gpa.0..r.gpa.0 + r.len.0).contains(&at))
                .map(|r| r.offset + at - r.gpa.0);
            let expected: Option<Vec<u64>> = (gpa..gpa + len).map(byte).collect();
            let (gpa, len) = (GuestAddress(gpa), GuestLength(len));
            let got = map.translate(gpa, len).ok().map(|pieces| {
                pieces.iter().flat_map(|p| p.offset..p.offset + p.len).collect::<Vec<_>>()
            });
            let pieces = map.translate(gpa, len).unwrap_or_default();
            let touch = |two: &[Piece]| two[0].offset + two[0].len == two[1].offset;
            prop_assert!(!pieces.windows(2).any(touch), "neighbours are merged: {:?}", pieces);
            prop_assert_eq!(map.check(gpa, len).err(), map.translate(gpa, len).err());
            prop_assert_eq!(got, expected);
        }
    }
}
