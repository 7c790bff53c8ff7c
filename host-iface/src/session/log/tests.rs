use super::*;
use proptest::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A step of a program that has objects of some kinds.
#[derive(Clone, Debug)]
enum Step {
    /// Makes an object of others.
    Make(Vec<usize>),
    /// Says something under a key of an object, with another.
    Say(usize, u64, usize),
    /// Says something that stays.
    Add(usize, usize),
    /// Gives an object up.
    End(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = 0usize..1000;
    let step = prop_oneof![
        prop::collection::vec(index.clone(), 0..3).prop_map(Step::Make),
        (index.clone(), 0u64..3, index.clone()).prop_map(|(a, key, b)| Step::Say(a, key, b)),
        (index.clone(), index.clone()).prop_map(|(a, b)| Step::Add(a, b)),
        index.prop_map(Step::End),
    ];
    prop::collection::vec(step, 0..120)
}

const MAKE: Op = Op(1);
const SAY: Op = Op(2);
const ADD: Op = Op(3);
const END: Op = Op(4);

/// A board on which an object is what it was made of, as that was then, and
/// what was said of it.
#[derive(Default)]
struct Board {
    /// Also those that were given up: others still hold them.
    objects: HashMap<u64, String>,
    said: HashMap<u64, BTreeMap<(u32, u64), String>>,
    there: HashSet<u64>,
}

impl Board {
    fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut board = Self::default();
        entries.into_iter().for_each(|entry| board.run(entry));
        board
    }

    /// What an object is now, in short.
    fn look(&self, object: u64) -> u64 {
        assert!(self.there.contains(&object), "{object} is not there");
        let mut hasher = DefaultHasher::new();
        (&self.objects[&object], self.said.get(&object)).hash(&mut hasher);
        hasher.finish()
    }

    fn run(&mut self, entry: &Entry) {
        let (call, effect) = (&entry.call, &entry.effect);
        let uses: Vec<u64> = effect.uses.iter().map(|&o| self.look(o)).collect();
        for &object in &effect.makes {
            self.objects.insert(object, format!("{}{uses:?}", call.seq));
            self.there.insert(object);
        }
        if let Some(object) = effect.ends {
            assert!(self.there.remove(&object));
        } else if effect.makes.is_empty() {
            let names = &effect.uses[1..];
            let (key, text) = match &effect.replaces {
                Some(key) => ((SAY.0, key[1]), format!("{}{names:?}", call.seq)),
                None => ((ADD.0, call.seq), format!("{names:?} to {}", uses[0])),
            };
            let said = self.said.entry(effect.uses[0]).or_default();
            said.insert(key, text);
        }
    }

    fn everything(&self) -> BTreeMap<u64, u64> {
        let there = self.there.iter();
        there.map(|&object| (object, self.look(object))).collect()
    }
}

fn entry(seq: u64, op: Op, effect: Effect) -> Entry {
    let call = kept(seq, op, 0);
    Entry { call, effect }
}

fn kept(seq: u64, op: Op, args: usize) -> Kept {
    Kept {
        seq,
        op,
        thread: 1,
        event: None,
        args: vec![0; args],
        regions: Vec::new(),
        payload: Vec::new(),
        result: None,
    }
}

/// The calls of a program that does these steps with objects that are there.
fn program(steps: &[Step]) -> Vec<Entry> {
    let mut there: Vec<u64> = Vec::new();
    let mut calls = Vec::new();
    for (seq, step) in (1u64..).zip(steps) {
        let pick = |index: usize| there.get(index % there.len().max(1)).copied();
        let (op, effect) = match step {
            Step::Make(of) => (
                MAKE,
                Effect {
                    makes: vec![seq],
                    uses: of.iter().filter_map(|&i| pick(i)).collect(),
                    ..Effect::default()
                },
            ),
            Step::End(at) => match pick(*at) {
                Some(object) => (
                    END,
                    Effect {
                        ends: Some(object),
                        ..Effect::default()
                    },
                ),
                None => continue,
            },
            Step::Say(at, _, with) | Step::Add(at, with) => {
                let (Some(subject), Some(with)) = (pick(*at), pick(*with)) else {
                    continue;
                };
                let key = match step {
                    Step::Say(_, key, _) => Some(vec![subject, *key]),
                    _ => None,
                };
                let op = if key.is_some() { SAY } else { ADD };
                (
                    op,
                    Effect {
                        uses: vec![subject, with],
                        replaces: key,
                        ..Effect::default()
                    },
                )
            }
        };
        there.extend(&effect.makes);
        there.retain(|object| effect.ends != Some(*object));
        calls.push(entry(seq, op, effect));
    }
    calls
}

fn logged(calls: &[Entry], prunes: bool) -> Log {
    let mut log = Log::default();
    for call in calls {
        log.add(call.call.clone(), call.effect.clone());
        if prunes {
            log.prune();
        }
    }
    log
}

proptest! {
    /// Whatever a program did: what the log keeps makes the same objects, and
    /// it knows how much that is.
    #[test]
    fn the_log_makes_the_same_objects(steps in steps()) {
        let calls = program(&steps);
        let all = Board::of(&calls).everything();
        for prunes in [false, true] {
            let mut log = logged(&calls, prunes);
            prop_assert_eq!(&Board::of(log.calls()).everything(), &all);
            let lens: usize = log.entries.values().map(|entry| entry.call.len()).sum();
            prop_assert_eq!(log.len, lens);
        }
    }

    /// A program that gives everything up leaves nothing.
    #[test]
    fn nothing_is_kept_of_what_is_gone(steps in steps()) {
        let mut calls = program(&steps);
        let there: Vec<u64> = Board::of(&calls).there.into_iter().collect();
        for (seq, object) in (1000u64..).zip(there) {
            let effect = Effect { ends: Some(object), ..Effect::default() };
            calls.push(entry(seq, END, effect));
        }
        let mut log = logged(&calls, false);
        prop_assert_eq!(log.calls().count(), 0);
        prop_assert_eq!(log.len, 0);
    }
}

fn made(object: u64, uses: &[u64]) -> Effect {
    Effect {
        makes: vec![object],
        uses: uses.to_vec(),
        ..Effect::default()
    }
}

#[test]
fn arguments_set_again_and_again_take_no_memory() {
    let mut log = Log::default();
    log.add(kept(0, MAKE, 0), made(1, &[]));
    // Both take the first as it is now, before any argument is set.
    log.add(kept(0, MAKE, 0), made(2, &[1]));
    let added = Effect {
        uses: vec![1],
        ..Effect::default()
    };
    log.add(kept(0, ADD, 0), added);
    for seq in 0..10_000 {
        let effect = Effect {
            uses: vec![1],
            replaces: Some(vec![1, seq % 4]),
            ..Effect::default()
        };
        log.add(kept(seq, SAY, 100), effect);
    }
    assert_eq!(log.entries.len(), 3 + 4);
    assert!(log.is_whole());
}

#[test]
fn beyond_its_bounds_it_keeps_nothing_and_says_so() {
    let mut log = Log::default();
    let big = || kept(0, MAKE, Bounds::default().bytes / 4);
    for object in 1..=3 {
        log.add(big(), made(object, &[]));
    }
    assert!(log.is_whole());
    log.add(big(), made(4, &[]));
    assert!(!log.is_whole());
    assert_eq!((log.calls().count(), log.len), (0, 0));
    log.add(kept(0, MAKE, 0), made(5, &[]));
    assert_eq!(log.calls().count(), 0);
}

#[test]
fn a_call_takes_the_bytes_that_are_kept_of_it() {
    let mut call = kept(0, MAKE, 5);
    call.result = Some(vec![0; 7]);
    call.payload = vec![vec![0; 11], vec![0; 13]];
    assert_eq!(call.len(), size_of::<Kept>() + 36);
}

/// A log that keeps no more than this.
fn bounded(calls: usize, bytes: usize) -> Log {
    Log {
        bounds: Bounds { calls, bytes },
        ..Log::default()
    }
}

#[test]
fn it_keeps_as_much_as_its_bounds_and_no_more() {
    let bytes = 10 * size_of::<Kept>();
    let is_whole = |calls: usize, more: usize| {
        let mut log = bounded(5, bytes);
        for object in 1..calls as u64 {
            log.add(kept(0, MAKE, 0), made(object, &[]));
        }
        let args = bytes - calls * size_of::<Kept>() + more;
        log.add(kept(0, MAKE, args), made(99, &[]));
        log.is_whole()
    };
    assert!(is_whole(4, 0) && is_whole(5, 0), "as many calls and bytes");
    assert!(!is_whole(6, 0), "a call more");
    assert!(!is_whole(4, 1), "a byte more");
}

#[test]
fn what_is_gone_goes_before_the_bound_is_exceeded() {
    for calls in [1, 4] {
        let mut log = bounded(calls, usize::MAX);
        for object in 1..20 {
            log.add(kept(0, MAKE, 0), made(object, &[]));
            let ends = Effect {
                ends: Some(object),
                ..Effect::default()
            };
            log.add(kept(0, END, 0), ends);
        }
        assert!(log.is_whole(), "{calls}");
    }
}
