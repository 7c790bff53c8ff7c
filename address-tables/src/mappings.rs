//! Where a GPU's address space has its buffers. A driver maps buffers, or parts of them,
//! at GPU addresses; jobs name memory by these. One table is one address space: of an
//! open file, or of a GPU whose driver has one for all.

use std::collections::{BTreeMap, BTreeSet};

/// An address of the GPU's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuAddress(pub u64);

/// A buffer, by a number that is unique among those of its address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buffer(pub u64);

/// A part of a buffer at a GPU address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Where the GPU has it.
    pub address: GpuAddress,
    /// The buffer.
    pub buffer: Buffer,
    /// Where the part begins in the buffer, in bytes.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

impl Mapping {
    /// The address behind it.
    fn end(&self) -> u64 {
        self.address.0 + self.len
    }

    /// What of it is in a range of addresses; `None` if nothing is.
    fn part(&self, start: u64, end: u64) -> Option<Self> {
        let (from, to) = (start.max(self.address.0), end.min(self.end()));
        (from < to).then(|| Self {
            address: GpuAddress(from),
            buffer: self.buffer,
            offset: self.offset + (from - self.address.0),
            len: to - from,
        })
    }
}

/// Why a mapping, or a search, fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// No bytes, or an end beyond all addresses or offsets.
    #[error(
        "{len} bytes at GPU address {address:#x}, offset {offset:#x} of a buffer: no such range"
    )]
    Range {
        /// The first address.
        address: u64,
        /// The offset in the buffer.
        offset: u64,
        /// Bytes.
        len: u64,
    },
    /// There is a mapping.
    #[error("GPU address {address:#x} has buffer {} already: unmap it first", .buffer.0)]
    Taken {
        /// The first address that is taken.
        address: u64,
        /// Whose it is.
        buffer: Buffer,
    },
    /// There is no mapping.
    #[error("GPU address {0:#x} has no buffer")]
    Unmapped(u64),
}

/// An address space.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    /// By address; they do not overlap.
    by_address: BTreeMap<u64, Mapping>,
    /// The addresses of each buffer's mappings.
    by_buffer: BTreeSet<(Buffer, u64)>,
}

impl Mappings {
    /// An empty address space.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it has no mapping.
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// All mappings, by address.
    pub fn iter(&self) -> impl Iterator<Item = &Mapping> {
        self.by_address.values()
    }

    /// Maps a part of a buffer.
    ///
    /// # Errors
    /// [`MappingError::Range`], [`MappingError::Taken`]; then nothing is mapped.
    pub fn map(&mut self, new: Mapping) -> Result<(), MappingError> {
        let (address, offset, len) = (new.address.0, new.offset, new.len);
        let ends = address.checked_add(len).zip(offset.checked_add(len));
        let Some((end, _)) = ends.filter(|_| len > 0) else {
            return Err(MappingError::Range {
                address,
                offset,
                len,
            });
        };
        if let Some(taken) = self.within(address, end).next() {
            return Err(MappingError::Taken {
                address: taken.address.0,
                buffer: taken.buffer,
            });
        }
        self.insert(new);
        Ok(())
    }

    /// Unmaps a range of addresses, whatever is there; parts of mappings, too. Gives what
    /// was there, by address.
    pub fn unmap(&mut self, address: GpuAddress, len: u64) -> Vec<Mapping> {
        let (start, end) = (address.0, address.0.saturating_add(len));
        let gone: Vec<_> = self.within(start, end).collect();
        for part in &gone {
            let whole = self.remove(part);
            let before = whole.part(0, part.address.0);
            let behind = whole.part(part.end(), u64::MAX);
            before
                .into_iter()
                .chain(behind)
                .for_each(|it| self.insert(it));
        }
        gone
    }

    /// A buffer is freed: none of it is mapped. Gives what was, by address.
    pub fn unmap_buffer(&mut self, buffer: Buffer) -> Vec<Mapping> {
        let gone: Vec<_> = self.mappings_of(buffer).copied().collect();
        for mapping in &gone {
            self.remove(mapping);
        }
        gone
    }

    /// A buffer's mappings, by address.
    pub fn mappings_of(&self, buffer: Buffer) -> impl Iterator<Item = &Mapping> {
        let addresses = self.by_buffer.range((buffer, 0)..=(buffer, u64::MAX));
        addresses.filter_map(|(_, address)| self.by_address.get(address))
    }

    /// What is at an address, and behind it in the same mapping.
    ///
    /// # Errors
    /// [`MappingError::Unmapped`].
    pub fn find(&self, address: GpuAddress) -> Result<Mapping, MappingError> {
        let before = self.by_address.range(..=address.0).next_back();
        before
            .and_then(|(_, mapping)| mapping.part(address.0, u64::MAX))
            .ok_or(MappingError::Unmapped(address.0))
    }

    /// The parts of buffers that a range of addresses has, by address.
    ///
    /// # Errors
    /// [`MappingError::Unmapped`] with the first address that has none;
    /// [`MappingError::Range`] if the range ends beyond all addresses.
    pub fn pieces(&self, address: GpuAddress, len: u64) -> Result<Vec<Mapping>, MappingError> {
        let start = address.0;
        let Some(end) = start.checked_add(len) else {
            return Err(MappingError::Range {
                address: start,
                offset: 0,
                len,
            });
        };
        let mut next = start;
        let mut pieces = Vec::new();
        for piece in self.within(start, end) {
            if piece.address.0 != next {
                break;
            }
            next = piece.end();
            pieces.push(piece);
        }
        if next == end {
            Ok(pieces)
        } else {
            Err(MappingError::Unmapped(next))
        }
    }

    /// The parts of mappings that are in a range of addresses.
    fn within(&self, start: u64, end: u64) -> impl Iterator<Item = Mapping> {
        let before = self.by_address.range(..start).next_back();
        let from = before.map_or(start, |(address, _)| *address);
        let near = self.by_address.range(from..end.max(from));
        near.filter_map(move |(_, mapping)| mapping.part(start, end))
    }

    fn insert(&mut self, mapping: Mapping) {
        self.by_buffer.insert((mapping.buffer, mapping.address.0));
        self.by_address.insert(mapping.address.0, mapping);
    }

    /// Removes the mapping that a part is of.
    fn remove(&mut self, part: &Mapping) -> Mapping {
        let at = self.by_address.range(..=part.address.0).next_back();
        let address = *at.expect("a part is of a mapping").0;
        let whole = self.by_address.remove(&address);
        let whole = whole.expect("its address was just found");
        self.by_buffer.remove(&(whole.buffer, address));
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The naive model: what each address has.
    type Model = BTreeMap<u64, (Buffer, u64)>;

    #[derive(Clone, Debug)]
    enum Step {
        Map(Mapping),
        Unmap(u64, u64),
        Free(Buffer),
    }

    fn mapping() -> impl Strategy<Value = Mapping> {
        (0..60_u64, 0..4_u64, 0..20_u64, 0..12_u64).prop_map(|(address, buffer, offset, len)| {
            Mapping {
                address: GpuAddress(address),
                buffer: Buffer(buffer),
                offset,
                len,
            }
        })
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => mapping().prop_map(Step::Map),
            2 => (0..60_u64, 0..20_u64).prop_map(|(address, len)| Step::Unmap(address, len)),
            1 => (0..4_u64).prop_map(|buffer| Step::Free(Buffer(buffer))),
        ]
    }

    fn bytes(mapping: &Mapping) -> impl Iterator<Item = (u64, (Buffer, u64))> {
        let (address, offset, buffer) = (mapping.address.0, mapping.offset, mapping.buffer);
        (0..mapping.len).map(move |n| (address + n, (buffer, offset + n)))
    }

    fn of(mappings: &[Mapping]) -> Vec<(u64, (Buffer, u64))> {
        mappings.iter().flat_map(bytes).collect()
    }

    /// Takes the addresses of the model for which `is_it` says so.
    fn taken(model: &mut Model, is_it: impl Fn(u64, Buffer) -> bool) -> Vec<(u64, (Buffer, u64))> {
        let all = std::mem::take(model).into_iter();
        let (gone, left) = all.partition(|(address, (buffer, _))| is_it(*address, *buffer));
        *model = left;
        let gone: Model = gone;
        gone.into_iter().collect()
    }

    fn apply(step: &Step, table: &mut Mappings, model: &mut Model) {
        match step {
            Step::Map(new) => {
                let taken = bytes(new).find(|(address, _)| model.contains_key(address));
                match (table.map(*new), taken) {
                    (Ok(()), None) => model.extend(bytes(new)),
                    (Err(MappingError::Range { .. }), _) => assert_eq!(new.len, 0),
                    (Err(MappingError::Taken { address, buffer }), Some((first, _))) => {
                        assert_eq!((address, buffer), (first, model[&first].0));
                    }
                    other => panic!("{new:?}: {other:?}"),
                }
            }
            Step::Unmap(address, len) => {
                let is_it = |at: u64, _| (*address..address + len).contains(&at);
                let gone = table.unmap(GpuAddress(*address), *len);
                assert_eq!(of(&gone), taken(model, is_it));
            }
            Step::Free(buffer) => {
                let gone = table.unmap_buffer(*buffer);
                assert_eq!(of(&gone), taken(model, |_, of| of == *buffer));
            }
        }
    }

    /// The table says of every address, range and buffer what the model says.
    fn agree(table: &Mappings, model: &Model) {
        for at in 0..90 {
            let found = table.find(GpuAddress(at));
            let found = found.map(|it| (it.buffer, it.offset)).ok();
            assert_eq!(found, model.get(&at).copied());
            for len in [0, 1, 5, 17] {
                let gap = (at..at + len).find(|at| !model.contains_key(at));
                let wanted: Vec<_> = (at..at + len)
                    .map_while(|at| Some((at, *model.get(&at)?)))
                    .collect();
                match (table.pieces(GpuAddress(at), len), gap) {
                    (Ok(pieces), None) => assert_eq!(of(&pieces), wanted),
                    (Err(error), Some(gap)) => assert_eq!(error, MappingError::Unmapped(gap)),
                    other => panic!("{at} {len}: {other:?}"),
                }
            }
        }
        for buffer in (0..4).map(Buffer) {
            let mappings: Vec<_> = table.mappings_of(buffer).copied().collect();
            let wanted = model.iter().filter(|(_, (of, _))| *of == buffer);
            assert_eq!(
                of(&mappings),
                wanted.map(|(at, of)| (*at, *of)).collect::<Vec<_>>()
            );
        }
        assert_eq!(table.is_empty(), model.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_table_and_a_naive_model_agree(steps in prop::collection::vec(step(), 0..40)) {
            let (mut table, mut model) = (Mappings::new(), Model::new());
            for step in &steps {
                apply(step, &mut table, &mut model);
                agree(&table, &model);
            }
        }
    }

    #[test]
    fn ends_beyond_all_addresses_are_refused() {
        let mut table = Mappings::new();
        let new = |address, offset, len| Mapping {
            address: GpuAddress(address),
            buffer: Buffer(1),
            offset,
            len,
        };
        for (address, offset, len) in [(u64::MAX, 0, 2), (0, u64::MAX, 2), (5, 5, 0)] {
            let refused = table.map(new(address, offset, len));
            assert!(
                matches!(refused, Err(MappingError::Range { .. })),
                "{refused:?}"
            );
        }
        table.map(new(u64::MAX - 1, 0, 1)).unwrap();
        assert_eq!(table.unmap(GpuAddress(8), u64::MAX).len(), 1);
        assert!(table.pieces(GpuAddress(u64::MAX), 1).is_err());
    }

    #[test]
    fn a_range_across_buffers_is_in_pieces() {
        let mut table = Mappings::new();
        let map = |address, buffer| Mapping {
            address: GpuAddress(address),
            buffer: Buffer(buffer),
            offset: 0,
            len: 0x1000,
        };
        table.map(map(0x1000, 1)).unwrap();
        table.map(map(0x2000, 2)).unwrap();
        let pieces = table.pieces(GpuAddress(0x1800), 0x1000).unwrap();
        let places = pieces.iter().map(|it| (it.buffer.0, it.offset, it.len));
        assert_eq!(
            places.collect::<Vec<_>>(),
            [(1, 0x800, 0x800), (2, 0, 0x800)]
        );
        let taken = table.map(map(0x2800, 3)).unwrap_err();
        let sentence = "GPU address 0x2800 has buffer 2 already: unmap it first";
        assert_eq!(taken.to_string(), sentence);
    }
}
