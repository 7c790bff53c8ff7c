//! Regions of which the host keeps a copy, as the board has them: what the guest did not
//! change since is not sent again.

use super::calls::Call;
use super::output::Slot;
use super::{Context, Refusal};
use crate::held::Held;
use crate::memory::{read_region_into, write_ranges};
use crate::submission::Region;
use foldhash::{HashMap, HashMapExt};
use gil_address_tables::{Differ, Extents};
use gil_uapi::GuestLength;
use gil_wire::api::is_of_a_driver;
use gil_wire::differences::{self, DifferencesError};
use gil_wire::envelope::Envelope;
use std::borrow::Cow;
use std::ops::Range;
use std::time::Instant;

/// Most bytes of all copies of a session, unless it has room for more. Beyond it, those of the number that was used
/// longest ago are forgotten, and what they are of is sent once more.
const COPIES_MAX: usize = 256 << 20;
/// What a copy counts beside its bytes: its place in the table, and its allocation.
const COPY_COST: usize = 128;

/// The number that the guest's library gave, and the region's place among those of its
/// direction.
type Place = (u64, usize);

/// The copies of one session.
#[derive(Debug)]
pub(super) struct Mirrors {
    numbers: HashMap<u64, Copies>,
    /// Of all.
    bytes: usize,
    /// Most of them.
    most: usize,
    /// How often copies were used.
    uses: u64,
    differ: Differ,
    /// What differed last.
    changed: Vec<Range<usize>>,
    /// What was read last, for its memory.
    read: Vec<u8>,
}

impl Default for Mirrors {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            bytes: 0,
            most: COPIES_MAX,
            uses: 0,
            differ: Differ::shared(),
            changed: Vec::new(),
            read: Vec::new(),
        }
    }
}

/// The copies of one number.
#[derive(Debug, Default)]
struct Copies {
    regions: HashMap<usize, Vec<u8>>,
    bytes: usize,
    /// Which use of all was the last of these.
    used: u64,
}

/// Regions of a submission that go to the board, and their copies when it has them.
pub(super) type Compared = Vec<(Place, Kept)>;

/// What is the copy of a region that went to the board.
#[derive(Debug)]
pub(super) enum Kept {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The copy that is there: differences have brought it up to date.
    There,
    /// None: there is no room.
    Nothing,
}

/// Reads the input that has copies. A region that equals its copy has no bytes afterwards.
pub(super) fn compare(
    mirrors: &mut Mirrors,
    held: &Held,
    context: &mut Context<'_>,
    envelopes: &[Envelope<'_>],
    regions: &mut Cow<'_, [Region]>,
) -> Result<Compared, Refusal> {
    let mut sent = Compared::new();
    let mut left = mirrors.most;
    let mut first = 0usize;
    for envelope in envelopes {
        let end = first.saturating_add(envelope.regions as usize);
        if let Some(number) = envelope.mirror {
            let differs = is_of_a_driver(envelope.op);
            let own = regions.to_mut().get_mut(first..end).unwrap_or_default();
            let inputs = own.iter_mut().filter(|region| region.dir.is_in());
            for (index, region) in inputs.enumerate() {
                let place = (number, index);
                let len = region.extents.len().to_usize();
                let Some(rest) = left.checked_sub(cost(len)) else {
                    sent.push((place, Kept::Nothing));
                    continue;
                };
                if differs {
                    mirrors.differences(held, context, (place, region))?;
                    sent.push((place, Kept::There));
                } else if let Some(bytes) = mirrors.news(held, context, (place, region))? {
                    left = rest;
                    sent.push((place, Kept::Bytes(bytes)));
                }
            }
        }
        first = end;
    }
    Ok(sent)
}

/// A region's bytes, as they would be sent now.
fn read(
    held: &Held,
    context: &Context<'_>,
    extents: &Extents,
    bytes: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let overlaps = held.overlaps(extents);
    let overlaps = overlaps.map_err(|_| Refusal::Unresolved)?;
    let read = read_region_into(context.memory, extents, bytes);
    read.map_err(|error| Refusal::Bad(error.to_string()))?;
    if overlaps {
        held.overlay(extents, bytes);
    }
    Ok(())
}

impl Mirrors {
    /// The bytes of a region that go to the board; none if it has them.
    fn news(
        &mut self,
        held: &Held,
        context: &Context<'_>,
        (place, region): (Place, &mut Region),
    ) -> Result<Option<Vec<u8>>, Refusal> {
        let mut bytes = std::mem::take(&mut self.read);
        read(held, context, &region.extents, &mut bytes)?;
        if self.get(place) == Some(&bytes) && !region.dir.is_out() {
            region.extents = Extents::default();
            self.read = bytes;
            return Ok(None);
        }
        Ok(Some(bytes))
    }

    /// Replaces a region's bytes by what differs from its copy, and brings that up to date.
    fn differences(
        &mut self,
        held: &Held,
        context: &mut Context<'_>,
        (place, region): (Place, &mut Region),
    ) -> Result<(), Refusal> {
        let began = Instant::now();
        let mut bytes = std::mem::take(&mut self.read);
        read(held, context, &region.extents, &mut bytes)?;
        let mut out = Vec::new();
        let copy = match self.take(place).filter(|copy| copy.len() == bytes.len()) {
            Some(mut copy) => {
                self.differ.update(&mut copy, &bytes, &mut self.changed);
                differences::encode(&bytes, &self.changed, &mut out);
                self.read = bytes;
                copy
            }
            // The board may have anything there.
            None => {
                out.clone_from(&bytes);
                bytes
            }
        };
        region.instead = Some(out);
        context.stats.compared(copy.len(), began.elapsed());
        self.insert(place, copy);
        Ok(())
    }

    /// The board's differences of a call's output, in the guest's RAM and in its copies.
    ///
    /// # Errors
    /// [`DifferencesError`]: nothing of that region is written.
    pub(super) fn apply(
        &mut self,
        context: &mut Context<'_>,
        main: &Call<'_>,
        slots: &[Slot],
    ) -> Result<(), DifferencesError> {
        let began = Instant::now();
        let numbers = main.fetched();
        for (slot, extents) in slots
            .iter()
            .filter_map(|slot| Some((slot, slot.extents(main)?)))
        {
            let ranges = differences::decode(&slot.bytes, extents.len().to_usize())?;
            if let Err(error) = write_ranges(context.memory, extents, &ranges) {
                context
                    .events
                    .warn(format!("output was not delivered: {error}"));
            }
            // What a program may write travels as the first region of its number.
            let number = numbers.get(slot.index()).copied().unwrap_or_default();
            if let Some(copy) = self.get_mut((number, 0), extents.len().to_usize()) {
                for (offset, bytes) in ranges {
                    copy[offset..offset + bytes.len()].copy_from_slice(bytes);
                }
            }
        }
        context.stats.compared(0, began.elapsed());
        Ok(())
    }

    /// The copy of a region of so many bytes.
    fn get_mut(&mut self, (number, index): Place, len: usize) -> Option<&mut Vec<u8>> {
        let copies = self.numbers.get_mut(&number)?;
        let copy = copies.regions.get_mut(&index);
        copy.filter(|copy| copy.len() == len)
    }

    /// Takes a copy out.
    fn take(&mut self, (number, index): Place) -> Option<Vec<u8>> {
        let copies = self.numbers.get_mut(&number)?;
        let taken = copies.regions.remove(&index)?;
        copies.bytes -= cost(taken.len());
        self.bytes -= cost(taken.len());
        if copies.regions.is_empty() {
            self.numbers.remove(&number);
        }
        Some(taken)
    }

    /// A call that names a number and no regions of it says that nothing more comes of it.
    pub(super) fn retire(&mut self, envelopes: &[Envelope<'_>]) {
        for envelope in envelopes.iter().filter(|envelope| envelope.regions == 0) {
            if let Some(number) = envelope.mirror {
                self.forget_number(number);
            }
        }
    }

    fn get(&self, (number, index): Place) -> Option<&Vec<u8>> {
        self.numbers.get(&number)?.regions.get(&index)
    }

    /// The board has the input that was compared, or perhaps not.
    pub(super) fn sent(&mut self, compared: Compared, is_sent: bool) {
        for (place, kept) in compared {
            match kept {
                Kept::There if is_sent => {}
                Kept::There | Kept::Nothing => self.forget(place),
                Kept::Bytes(bytes) => {
                    self.forget(place);
                    if is_sent {
                        self.insert(place, bytes);
                    }
                }
            }
        }
    }

    /// A call's output is on its way to the guest.
    pub(super) fn received(&mut self, context: &Context<'_>, main: &Call<'_>, slots: &[Slot]) {
        let Some(number) = main.envelope.mirror else {
            return;
        };
        for slot in slots {
            let place = (number, slot.index());
            self.forget(place);
            if cost(slot.room(main)) <= self.most {
                self.insert(place, slot.contents(context, main));
            }
        }
    }

    /// All of a GPU's address spaces have copies: it visits them in turn, so that those used
    /// longest ago are wanted next.
    pub(super) fn hold(&mut self, memory: GuestLength) {
        let room = memory.to_usize().saturating_mul(2);
        self.most = self.most.max(room);
    }

    fn forget(&mut self, place: Place) {
        self.take(place);
    }

    fn forget_number(&mut self, number: u64) {
        if let Some(copies) = self.numbers.remove(&number) {
            self.bytes -= copies.bytes;
        }
    }

    fn insert(&mut self, (number, index): Place, bytes: Vec<u8>) {
        let cost = cost(bytes.len());
        if cost > self.most {
            return;
        }
        while self.bytes.saturating_add(cost) > self.most {
            self.forget_oldest();
        }
        self.bytes += cost;
        self.uses += 1;
        let copies = self.numbers.entry(number).or_default();
        copies.bytes += cost;
        copies.used = self.uses;
        copies.regions.insert(index, bytes);
    }

    fn forget_oldest(&mut self) {
        let oldest = self.numbers.iter().min_by_key(|(_, copies)| copies.used);
        match oldest.map(|(number, _)| *number) {
            Some(number) => self.forget_number(number),
            None => self.bytes = 0,
        }
    }
}

/// What a copy of so many bytes counts.
fn cost(len: usize) -> usize {
    len.saturating_add(COPY_COST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::Op;
    use gil_wire::envelope::Class;

    fn held(mirrors: &Mirrors) -> (usize, usize) {
        let copies = mirrors.numbers.values().map(|it| it.regions.len());
        (mirrors.bytes, copies.sum())
    }

    #[test]
    fn copies_are_bounded() {
        let mut mirrors = Mirrors::default();
        mirrors.insert((1, 0), vec![1; 8]);
        mirrors.insert((1, 1), vec![2; 8]);
        mirrors.sent(vec![((1, 0), Kept::Bytes(vec![3; 4]))], true);
        assert_eq!(held(&mirrors), (12 + 2 * COPY_COST, 2));
        mirrors.sent(vec![((1, 1), Kept::Bytes(vec![4; 4]))], false);
        assert_eq!(held(&mirrors), (4 + COPY_COST, 1));
        mirrors.insert((2, 0), vec![0; COPIES_MAX - COPY_COST]);
        assert_eq!(held(&mirrors), (COPIES_MAX, 1));
        mirrors.insert((3, 0), Vec::new());
        assert_eq!(held(&mirrors), (COPY_COST, 1));
        mirrors.insert((4, 0), vec![0; COPIES_MAX]);
        assert_eq!(held(&mirrors), (COPY_COST, 1), "it has no room at all");
    }

    #[test]
    fn what_was_used_longest_ago_is_forgotten_first() {
        let mut mirrors = Mirrors::default();
        let third = || vec![0; COPIES_MAX / 3 - COPY_COST];
        for number in [1, 2, 3] {
            mirrors.insert((number, 0), third());
        }
        mirrors.sent(vec![((1, 0), Kept::Bytes(third()))], true);
        mirrors.insert((4, 0), third());
        let has = |number| mirrors.get((number, 0)).is_some();
        assert_eq!([1, 2, 3, 4].map(has), [true, false, true, true]);
    }

    #[test]
    fn one_that_holds_a_gpus_memory_forgets_none_of_it() {
        let mut mirrors = Mirrors::default();
        mirrors.hold(GuestLength(COPIES_MAX as u64));
        for number in [1, 2, 3] {
            mirrors.insert((number, 0), vec![0; COPIES_MAX / 2]);
        }
        let has = |number| mirrors.get((number, 0)).is_some();
        assert_eq!([1, 2, 3].map(has), [true; 3]);
    }

    #[test]
    fn a_number_that_is_retired_has_no_copies() {
        let mut mirrors = Mirrors::default();
        mirrors.insert((1, 0), vec![1; 8]);
        mirrors.insert((1, 7), vec![1; 8]);
        mirrors.insert((2, 0), vec![2; 8]);
        let named = |regions, mirror| Envelope {
            regions,
            mirror,
            ..Envelope::new(Op::new(2, 1), Class::Post, 0)
        };
        mirrors.retire(&[named(1, Some(2)), named(0, None), named(0, Some(1))]);
        assert_eq!(held(&mirrors), (8 + COPY_COST, 1));
        mirrors.retire(&[named(0, Some(2)), named(0, Some(2))]);
        assert_eq!(held(&mirrors), (0, 0));
    }
}
