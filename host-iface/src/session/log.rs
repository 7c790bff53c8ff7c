//! The calls of a session that created objects or changed their state, which a
//! checkpoint needs to create them again on another board.
//!
//! Only the API knows what a call means; the log uses the numbers that the call's
//! description yields ([`Effect`]). A call stays in the log as long as an object that
//! it created is alive, or an object made from that one: a kernel keeps its program's
//! source in the log, although the program itself was released.

use crate::checkpoint::CALLS_MAX;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use gil_wire::Op;
use gil_wire::message::{Call, RegionDesc};
use gil_wire::state::Effect;
use std::collections::BTreeMap;

/// The log's bounds.
#[derive(Debug)]
struct Bounds {
    calls: usize,
    /// Of arguments, results and regions.
    bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            calls: 262_144,
            bytes: CALLS_MAX,
        }
    }
}

/// Fewer calls than this are not looked through.
const FEW: usize = 256;

/// A call as the board got it, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    pub(crate) seq: u64,
    pub(crate) op: Op,
    pub(crate) thread: u32,
    pub(crate) event: Option<u64>,
    pub(crate) args: Vec<u8>,
    pub(crate) regions: Vec<RegionDesc>,
    /// The bytes of the regions that go in, but for the new object's first
    /// contents.
    pub(crate) payload: Vec<Vec<u8>>,
    pub(crate) result: Option<Vec<u8>>,
}

impl Kept {
    /// A call as the board gets it, with such bytes; not answered yet.
    pub(crate) fn new(call: &Call<'_>, payload: Vec<Vec<u8>>) -> Self {
        Self {
            seq: call.seq,
            op: call.op,
            thread: call.thread,
            event: call.event,
            args: call.args.to_vec(),
            regions: call.regions.clone(),
            payload,
            result: None,
        }
    }

    /// The call as a board gets it anew.
    pub(crate) fn message(&self) -> Call<'_> {
        Call {
            seq: self.seq,
            op: self.op,
            thread: self.thread,
            answer: self.result.is_some(),
            finish: true,
            event: self.event,
            args: &self.args,
            regions: self.regions.clone(),
        }
    }

    fn len(&self) -> usize {
        let result = self.result.as_ref().map_or(0, Vec::len);
        let payload: usize = self.payload.iter().map(Vec::len).sum();
        size_of::<Self>() + self.args.len() + result + payload
    }
}

/// A call and what it did.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) call: Kept,
    pub(crate) effect: Effect,
}

/// The calls of a session, in their order.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: BTreeMap<u64, Entry>,
    next: u64,
    len: usize,
    bounds: Bounds,
    /// Bounds were exceeded: nothing is kept any more.
    is_full: bool,
    /// When to look through it again.
    most: usize,
    /// What a later call of the same kind replaces.
    slots: HashMap<(Op, Vec<u64>), u64>,
    /// By object: the last call that took it as it was then.
    taken: HashMap<u64, u64>,
    /// By object: what was called last to say something of it.
    spoken: HashMap<u64, Op>,
}

impl Log {
    /// Whether everything is here that a checkpoint needs.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_full
    }

    /// The calls, in their order, without those that nothing needs.
    pub(crate) fn calls(&mut self) -> impl Iterator<Item = &Entry> {
        self.prune();
        self.entries.values()
    }

    /// A call did something.
    pub(crate) fn add(&mut self, call: Kept, effect: Effect) {
        if self.is_full {
            return;
        }
        let id = self.next;
        self.next += 1;
        self.replace(&call, &effect, id);
        self.take(&call, &effect, id);
        self.len += call.len();
        self.entries.insert(id, Entry { call, effect });
        self.keep_bounds();
    }

    /// New objects are made of others as they are now, and so may be what other
    /// entry points say of one: a build takes the constants set before.
    fn take(&mut self, call: &Kept, effect: &Effect, id: u64) {
        if !effect.makes.is_empty() {
            self.taken
                .extend(effect.uses.iter().map(|&object| (object, id)));
        } else if let Some(&subject) = effect.uses.first() {
            let before = self.spoken.insert(subject, call.op);
            if before.is_some_and(|before| before != call.op) {
                self.taken.insert(subject, id);
            }
        }
    }

    /// Drops what the call says anew, unless the object was taken in between.
    fn replace(&mut self, call: &Kept, effect: &Effect, id: u64) {
        let Some(key) = &effect.replaces else {
            return;
        };
        let Some(before) = self.slots.insert((call.op, key.clone()), id) else {
            return;
        };
        let subject = effect.uses.first();
        let taken = subject.and_then(|subject| self.taken.get(subject));
        if taken.is_none_or(|&taken| taken <= before) {
            self.remove(before);
        }
    }

    fn remove(&mut self, id: u64) {
        if let Some(entry) = self.entries.remove(&id) {
            self.len -= entry.call.len();
        }
    }

    fn keep_bounds(&mut self) {
        let is_over =
            |log: &Self| log.len > log.bounds.bytes || log.entries.len() > log.bounds.calls;
        if self.entries.len() > self.most.max(FEW) || is_over(self) {
            self.prune();
            self.most = 2 * self.entries.len();
        }
        if is_over(self) {
            *self = Self {
                is_full: true,
                ..Self::default()
            };
        }
    }

    /// Drops what nothing needs that is there.
    fn prune(&mut self) {
        let (calls, objects) = Needed::of(&self.entries).found();
        let all: Vec<u64> = self.entries.keys().copied().collect();
        for id in all.into_iter().filter(|id| !calls.contains(id)) {
            self.remove(id);
        }
        let entries = &self.entries;
        self.slots.retain(|_, id| entries.contains_key(id));
        // What took an object last may be gone, and who did before not.
        self.taken.retain(|object, _| objects.contains(object));
        self.spoken.retain(|object, _| objects.contains(object));
    }
}

/// What is needed, found from the objects that are there.
struct Needed<'a> {
    entries: &'a BTreeMap<u64, Entry>,
    /// By object: the call that made it, and those that said something of it.
    made: HashMap<u64, u64>,
    said: HashMap<u64, Vec<u64>>,
    calls: HashSet<u64>,
    objects: HashSet<u64>,
    /// Objects to look at.
    open: Vec<u64>,
}

impl<'a> Needed<'a> {
    fn of(entries: &'a BTreeMap<u64, Entry>) -> Self {
        let mut needed = Self {
            entries,
            made: HashMap::new(),
            said: HashMap::new(),
            calls: HashSet::new(),
            objects: HashSet::new(),
            open: Vec::new(),
        };
        let gone = needed.sort();
        let all = needed.made.keys().chain(needed.said.keys());
        let there: Vec<u64> = all.filter(|o| !gone.contains(o)).copied().collect();
        there.into_iter().for_each(|object| needed.need(object));
        while let Some(object) = needed.open.pop() {
            needed.look_at(object);
        }
        needed.keep_ends();
        needed
    }

    /// The calls and the objects.
    fn found(self) -> (HashSet<u64>, HashSet<u64>) {
        (self.calls, self.objects)
    }

    /// Sorts the calls by object; returns the objects that were given up.
    fn sort(&mut self) -> HashSet<u64> {
        let mut gone = HashSet::new();
        for (&id, entry) in self.entries {
            let effect = &entry.effect;
            for &object in &effect.makes {
                self.made.insert(object, id);
                gone.remove(&object);
            }
            if let Some(object) = effect.ends {
                gone.insert(object);
            } else if let (true, Some(&subject)) = (effect.makes.is_empty(), effect.uses.first()) {
                self.said.entry(subject).or_default().push(id);
            }
        }
        gone
    }

    fn need(&mut self, object: u64) {
        if self.objects.insert(object) {
            self.open.push(object);
        }
    }

    fn look_at(&mut self, object: u64) {
        let made = self.made.get(&object).copied();
        let said = self.said.remove(&object).unwrap_or_default();
        for id in said.into_iter().chain(made) {
            if self.calls.insert(id) {
                let uses = &self.entries[&id].effect.uses;
                uses.iter().for_each(|&object| self.need(object));
            }
        }
    }

    /// What is made again and was given up is given up again.
    fn keep_ends(&mut self) {
        for (&id, entry) in self.entries {
            let made = entry.effect.ends.and_then(|object| self.made.get(&object));
            if made.is_some_and(|made| self.calls.contains(made)) {
                self.calls.insert(id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
