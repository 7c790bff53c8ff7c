//! What the program advises of managed memory, and where it had it moved last: nothing but
//! answers depends on that here.

use crate::generated::types::*;
use std::collections::BTreeSet;
use std::ops::Range;

/// A place as CUDA names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// What kind of place; 0 is none.
    pub kind: CUmemLocationType,
    /// Its number among these.
    pub id: i32,
}

/// The CPU's number, as that of a device.
pub const CPU: CUdevice = -1;
/// No device's.
pub const NOWHERE: CUdevice = -2;

impl Location {
    /// That of a device, or of the CPU.
    pub fn of_device(device: CUdevice) -> Self {
        match device {
            CPU => Self {
                kind: CU_MEM_LOCATION_TYPE_HOST,
                id: 0,
            },
            id => Self {
                kind: CU_MEM_LOCATION_TYPE_DEVICE,
                id,
            },
        }
    }

    /// The device; -1 for the CPU, -2 for none.
    pub fn device(self) -> CUdevice {
        match self.kind {
            CU_MEM_LOCATION_TYPE_DEVICE => self.id,
            CU_MEM_LOCATION_TYPE_INVALID => NOWHERE,
            _ => CPU,
        }
    }
}

/// What is known of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// They are read more often than written.
    pub is_read_mostly: bool,
    /// Where they should be.
    pub preferred: Location,
    /// The devices that use them.
    pub accessed_by: BTreeSet<CUdevice>,
    /// Where they were moved last.
    pub prefetched: Location,
}

/// Of an allocation: ranges by their ends, in rising order, which cover all of it.
#[derive(Debug)]
pub struct Advised(Vec<(usize, Advice)>);

impl Advised {
    /// Of so many bytes, of which nothing is advised.
    pub fn new(len: usize) -> Self {
        Self(vec![(len, Advice::default())])
    }

    /// Changes what is advised of some.
    pub fn change(&mut self, range: Range<usize>, change: impl Fn(&mut Advice)) {
        self.cut(range.start);
        self.cut(range.end);
        let mut start = 0;
        for (end, advice) in &mut self.0 {
            if range.start <= start && *end <= range.end {
                change(advice);
            }
            start = *end;
        }
        self.0.dedup_by(|later, earlier| {
            let is_same = later.1 == earlier.1;
            if is_same {
                earlier.0 = later.0;
            }
            is_same
        });
    }

    /// One range ends there.
    fn cut(&mut self, at: usize) {
        let index = self.0.partition_point(|(end, _)| *end < at);
        if let Some((end, advice)) = self.0.get(index)
            && *end != at
            && at > 0
        {
            let advice = advice.clone();
            self.0.insert(index, (at, advice));
        }
    }

    /// What is advised of some, each as often as it may be.
    pub fn of(&self, range: Range<usize>) -> impl Iterator<Item = &Advice> {
        let first = self.0.partition_point(|(end, _)| *end <= range.start);
        let mut start = self.0[..first].last().map_or(0, |(end, _)| *end);
        self.0[first..].iter().map_while(move |(end, advice)| {
            let is_in = start < range.end;
            start = *end;
            is_in.then_some(advice)
        })
    }
}

/// What all have in common, if they do.
pub fn common<'a, T: PartialEq>(
    mut all: impl Iterator<Item = &'a Advice>,
    get: impl Fn(&Advice) -> T,
) -> Option<T> {
    let first = get(all.next()?);
    all.all(|advice| get(advice) == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_byte_has_what_was_last_said_of_it(
            said in prop::collection::vec((0usize..50, 1usize..50, any::<bool>()), 0..20),
        ) {
            let mut advised = Advised::new(50);
            let mut bytes = [false; 50];
            for (from, len, value) in said {
                let range = from..(from + len).min(50);
                advised.change(range.clone(), |advice| advice.is_read_mostly = value);
                bytes[range].fill(value);
            }
            for from in 0..50 {
                for end in from + 1..=50 {
                    let known = common(advised.of(from..end), |advice| advice.is_read_mostly);
                    let first = bytes[from];
                    let is_same = bytes[from..end].iter().all(|byte| *byte == first);
                    prop_assert_eq!(known, is_same.then_some(first));
                }
            }
        }
    }

    #[test]
    fn places_are_named_as_devices_and_back() {
        for device in [CPU, 0, 3] {
            assert_eq!(Location::of_device(device).device(), device);
        }
        assert_eq!(Location::default().device(), NOWHERE);
    }
}
