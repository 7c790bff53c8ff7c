//! Output that the guest must not see before its operation's simulated end, whether
//! the board has produced it already or not.

use foldhash::HashMap;
use gil_address_tables::{Extents, Outstanding};
use gil_timing::Event;
use gil_uapi::GuestLength;
use gil_wire::differences::{self, DifferencesError};
use std::collections::BTreeSet;

/// What was made of a region: bytes, and where in it they begin. The places rise, and no two
/// overlap.
pub type Made = Vec<(usize, Vec<u8>)>;

/// How a submission's output says what it has of its regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Bytes from the beginning of a region on.
    #[default]
    Beginning,
    /// [Differences](differences): what its operation changed.
    Differences,
}

/// One submission's held output.
#[derive(Debug, Default)]
struct Output {
    form: Form,
    /// What is made of each region, once the board sent it.
    made: Vec<Made>,
    /// When the operation ends, once that is known.
    end_ns: Option<u64>,
    /// The event that it signals.
    event: Option<Event>,
}

/// A session's held outputs.
#[derive(Debug, Default)]
pub struct Held {
    outstanding: Outstanding,
    outputs: HashMap<u64, Output>,
    /// The ends that are known, and the submissions.
    ends: BTreeSet<(u64, u64)>,
    len: GuestLength,
}

/// Output whose time has come.
#[derive(Debug, PartialEq, Eq)]
pub struct Due {
    /// The submission.
    pub seq: u64,
    /// Its simulated end.
    pub end_ns: u64,
    /// Where each region lies, and what is made of it.
    pub regions: Vec<(Extents, Made)>,
}

/// Input that overlaps with output not made yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unresolved;

impl Held {
    /// Holds a submission's out regions; their bytes come later, and end with
    /// the operation that signals `event`.
    pub fn insert(&mut self, seq: u64, event: Option<Event>, form: Form, regions: Vec<Extents>) {
        let len = regions.iter().map(Extents::len).sum();
        self.len = self.len.saturating_add(len);
        self.outstanding.insert(seq, regions);
        let output = Output {
            event,
            form,
            ..Output::default()
        };
        self.outputs.insert(seq, output);
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Guest bytes held in all: what the board may make, not what it made.
    pub fn guest_bytes(&self) -> GuestLength {
        self.len
    }

    /// Bytes of each region that a submission has held; none if it has none.
    pub fn lens(&self, seq: u64) -> Vec<u64> {
        let regions = self.outstanding.get(seq).unwrap_or_default();
        regions.iter().map(|region| region.len().0).collect()
    }

    /// The board sent what is made of a submission's region.
    ///
    /// # Errors
    /// [`DifferencesError`]: nothing is made of it.
    pub fn fill(
        &mut self,
        seq: u64,
        region: usize,
        bytes: Vec<u8>,
    ) -> Result<(), DifferencesError> {
        let all = self.outstanding.get(seq).unwrap_or_default();
        let room = all.get(region).map_or(0, |it| it.len().to_usize());
        let Some(output) = self.outputs.get_mut(&seq) else {
            return Ok(());
        };
        let made = match output.form {
            Form::Beginning => vec![(0, bytes)],
            Form::Differences => differences::decode(&bytes, room)?
                .into_iter()
                .map(|(at, bytes)| (at, bytes.to_vec()))
                .collect(),
        };
        let len = output.made.len().max(region + 1);
        output.made.resize(len, Vec::new());
        output.made[region] = made;
        Ok(())
    }

    /// Forgets a submission.
    pub fn forget(&mut self, seq: u64) {
        self.remove(seq);
    }

    /// A submission's end became known.
    pub fn resolve(&mut self, seq: u64, end_ns: u64) {
        if let Some(output) = self.outputs.get_mut(&seq) {
            let before = output.end_ns.replace(end_ns);
            if let Some(before) = before {
                self.ends.remove(&(before, seq));
            }
            self.ends.insert((end_ns, seq));
        }
    }

    /// Whether any output is deliverable by `at_ns`.
    pub fn is_due_by(&self, at_ns: u64) -> bool {
        self.end_from(0).is_some_and(|end_ns| end_ns <= at_ns)
    }

    /// The first end that is known and is not before `at_ns`.
    pub fn end_from(&self, at_ns: u64) -> Option<u64> {
        let mut ends = self.ends.range((at_ns, 0)..);
        ends.next().map(|(end_ns, _)| *end_ns)
    }

    /// Operations without an end whose output shares bytes with `region`.
    pub fn open_over(&self, region: &Extents) -> Vec<Event> {
        if self.outputs.is_empty() {
            return Vec::new();
        }
        let overlaps = self.outstanding.overlapping(region).into_iter();
        let outputs = overlaps.filter_map(|overlap| self.outputs.get(&overlap.seq));
        let open = outputs.filter(|output| output.end_ns.is_none());
        open.filter_map(|output| output.event).collect()
    }

    /// Takes the output that ends by `at_ns`, in the order of ends, then of numbers.
    pub fn take_due(&mut self, at_ns: u64) -> Vec<Due> {
        let mut due = Vec::new();
        while let Some(&(end_ns, seq)) = self.ends.first()
            && end_ns <= at_ns
        {
            due.push(self.remove(seq));
        }
        due
    }

    /// Takes the output that is ready by `at_ns` and shares bytes with one of
    /// `regions`.
    pub fn take_overlapping(&mut self, at_ns: u64, regions: &[&Extents]) -> Vec<Due> {
        let shared = regions.iter().flat_map(|r| self.outstanding.overlapping(r));
        let ended = shared.filter_map(|overlap| Some((self.end(overlap.seq)?, overlap.seq)));
        let due: BTreeSet<_> = ended.filter(|(end_ns, _)| *end_ns <= at_ns).collect();
        due.into_iter().map(|(_, seq)| self.remove(seq)).collect()
    }

    /// When a submission ends, if that is known.
    fn end(&self, seq: u64) -> Option<u64> {
        self.outputs.get(&seq)?.end_ns
    }

    fn remove(&mut self, seq: u64) -> Due {
        let output = self.outputs.remove(&seq).unwrap_or_default();
        let end_ns = output.end_ns.unwrap_or_default();
        self.ends.remove(&(end_ns, seq));
        let extents = self.outstanding.remove(seq).unwrap_or_default();
        let len = extents.iter().map(Extents::len).sum();
        self.len = self.len.saturating_sub(len);
        let regions = extents.into_iter().zip(output.made).collect();
        Due {
            seq,
            end_ns,
            regions,
        }
    }

    /// Forgets what will never be made, of operations for which `is_gone`; returns
    /// the submissions.
    pub fn abandon(&mut self, is_gone: impl Fn(Option<Event>) -> bool) -> Vec<u64> {
        let open = self.outputs.iter();
        let open = open.filter(|(_, o)| o.end_ns.is_none() && is_gone(o.event));
        let mut seqs: Vec<u64> = open.map(|(&seq, _)| seq).collect();
        seqs.sort_unstable();
        for &seq in &seqs {
            self.remove(seq);
        }
        seqs
    }

    /// Whether held output shares bytes with `region`.
    ///
    /// # Errors
    /// [`Unresolved`] if any of that output has no end yet.
    pub fn overlaps(&self, region: &Extents) -> Result<bool, Unresolved> {
        if self.outputs.is_empty() {
            return Ok(false);
        }
        let overlaps = self.outstanding.overlapping(region);
        let open = |seq| self.outputs.get(&seq).is_none_or(|o| o.end_ns.is_none());
        match overlaps.iter().any(|overlap| open(overlap.seq)) {
            true => Err(Unresolved),
            false => Ok(!overlaps.is_empty()),
        }
    }

    /// Puts held bytes over those just read from `region`, in the order in
    /// which they will be delivered.
    pub fn overlay(&self, region: &Extents, bytes: &mut [u8]) {
        let mut overlaps = self.outstanding.overlapping(region);
        overlaps.sort_by_key(|overlap| (self.end(overlap.seq), overlap.seq));
        for overlap in overlaps {
            let output = self.outputs.get(&overlap.seq);
            let made = output.and_then(|output| output.made.get(overlap.region));
            let shared = overlap.from as usize..(overlap.from + overlap.len) as usize;
            for (at, made) in made.into_iter().flatten() {
                let from = shared.start.max(*at);
                let end = shared.end.min(at + made.len());
                if let Some(made) = made.get(from - at..end.saturating_sub(*at)) {
                    let place = overlap.at as usize + from - shared.start;
                    bytes[place..place + made.len()].copy_from_slice(made);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_uapi::{Extent, GuestAddress};

    fn region(gpa: u64, len: u64) -> Extents {
        let (gpa, len) = (GuestAddress(gpa), GuestLength(len));
        Extents::new([Extent { gpa, len }], len).unwrap()
    }

    /// Submission, address, length, bytes, end.
    type One = (u64, u64, u64, &'static [u8], Option<u64>);

    fn held(list: &[One]) -> Held {
        let mut held = Held::default();
        for &(seq, gpa, len, bytes, end_ns) in list {
            let regions = vec![region(gpa, len)];
            held.insert(seq, Some(seq + 100), Form::Beginning, regions);
            held.fill(seq, 0, bytes.to_vec()).unwrap();
            if let Some(end_ns) = end_ns {
                held.resolve(seq, end_ns);
            }
        }
        held
    }

    #[test]
    fn due_in_order_of_end_then_number() {
        let mut held = held(&[
            (1, 0, 4, b"late", Some(30)),
            (2, 8, 4, b"two!", Some(20)),
            (3, 16, 4, b"thre", Some(20)),
            (4, 24, 4, b"", None),
        ]);
        assert!(!held.is_due_by(19));
        assert!(held.is_due_by(20));
        let order = |due: Vec<Due>| due.iter().map(|d| (d.end_ns, d.seq)).collect::<Vec<_>>();
        assert_eq!(order(held.take_due(29)), [(20, 2), (20, 3)]);
        assert_eq!(order(held.take_due(u64::MAX)), [(30, 1)]);
        assert_eq!(held.guest_bytes(), GuestLength(4));
        assert!(held.abandon(|event| event == Some(103)).is_empty());
        assert_eq!(held.abandon(|event| event == Some(104)), [4]);
        assert_eq!(held.guest_bytes(), GuestLength::ZERO);
    }

    #[test]
    fn overlay_is_what_the_guest_will_see() {
        let held = held(&[
            (1, 0, 6, b"111111", Some(50)),
            (2, 4, 4, b"2222", Some(40)),
            (3, 100, 4, b"", None),
        ]);
        let mut bytes = *b"..........";
        assert_eq!(held.overlaps(&region(0, 10)), Ok(true));
        held.overlay(&region(0, 10), &mut bytes);
        assert_eq!(&bytes, b"11111122..");
        assert_eq!(held.overlaps(&region(8, 8)), Ok(false));
        assert_eq!(held.overlaps(&region(99, 2)), Err(Unresolved));
        assert_eq!(held.open_over(&region(0, 101)), [103]);
        let ends = [0, 40, 41, 51].map(|at_ns| held.end_from(at_ns));
        assert_eq!(ends, [Some(40), Some(40), Some(50), None]);
    }

    #[test]
    fn a_short_output_leaves_the_rest_alone() {
        let held = held(&[(1, 0, 8, b"abc", Some(1))]);
        let mut bytes = *b"........";
        held.overlay(&region(0, 8), &mut bytes);
        assert_eq!(&bytes, b"abc.....");
        let mut tail = *b"..";
        held.overlay(&region(6, 2), &mut tail);
        assert_eq!(&tail, b"..");
    }

    /// As many bytes at each of two places of eight.
    fn differences() -> Vec<u8> {
        let mut now = [b'.'; 40];
        now[4..8].copy_from_slice(b"abcd");
        now[12..16].copy_from_slice(b"efgh");
        let mut bytes = Vec::new();
        differences::encode(&now, &[4..8, 12..16], &mut bytes);
        bytes
    }

    #[test]
    fn differences_leave_what_is_between_them_alone() {
        let mut held = Held::default();
        held.insert(1, Some(101), Form::Differences, vec![region(0, 40)]);
        held.fill(1, 0, differences()).unwrap();
        held.resolve(1, 10);
        let mut bytes = [b'-'; 40];
        held.overlay(&region(0, 40), &mut bytes);
        assert_eq!(&bytes[..20], b"----abcd----efgh----");
        // A region that begins within one of them, and ends within the other.
        let mut bytes = [b'-'; 8];
        held.overlay(&region(6, 8), &mut bytes);
        assert_eq!(&bytes, b"cd----ef");
        let mut bytes = [b'-'; 4];
        held.overlay(&region(8, 4), &mut bytes);
        assert_eq!(&bytes, b"----");
        let due = held.take_due(10);
        let made = vec![(4, b"abcd".to_vec()), (12, b"efgh".to_vec())];
        assert_eq!(due[0].regions, [(region(0, 40), made)]);
    }

    #[test]
    fn differences_beyond_a_region_are_none() {
        let mut held = Held::default();
        held.insert(1, Some(101), Form::Differences, vec![region(0, 14)]);
        assert!(held.fill(1, 0, differences()).is_err());
        held.resolve(1, 10);
        let mut bytes = [b'-'; 14];
        held.overlay(&region(0, 14), &mut bytes);
        assert_eq!(bytes, [b'-'; 14]);
        assert!(held.take_due(10)[0].regions.is_empty());
    }
}
