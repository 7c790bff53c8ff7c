use super::*;
use proptest::prelude::*;
use std::ptr;

const PARENT: Tag = 1;
const LEAF: Tag = 2;

fn new(tag: Tag, number: u64, parents: &[&Arc<Object<()>>]) -> New<()> {
    New {
        dispatch: ptr::without_provenance(0x1234),
        tag,
        number: Handle(number),
        parents: parents.iter().map(|parent| Arc::clone(parent)).collect(),
        data: (),
    }
}

/// What a release did, and the numbers of what died.
fn release(registry: &Registry<()>, object: &Arc<Object<()>>) -> (Released, Vec<u64>) {
    let mut dead = Vec::new();
    let bury = |object: &Arc<Object<()>>| dead.push(object.number().0);
    let released = registry.release(object.tag(), object.address(), bury);
    (released, dead)
}

const KEPT: (Released, Vec<u64>) = (Released::Kept, Vec::new());
const INVALID: (Released, Vec<u64>) = (Released::Invalid, Vec::new());

#[test]
fn a_handles_first_word_is_the_dispatch_table() {
    let registry = Registry::new();
    let object = registry.insert(new(PARENT, 1, &[])).unwrap();
    // SAFETY: the object is alive, and its first field is this word.
    let word = unsafe { *object.address().cast::<usize>() };
    assert_eq!(word, 0x1234);
}

#[test]
fn what_is_not_a_live_handle_of_that_type_is_not_found() {
    let registry = Registry::new();
    let object = registry.insert(new(PARENT, 1, &[])).unwrap();
    let handle = object.address();
    assert!(registry.get(PARENT, handle).is_some());
    assert!(registry.get(LEAF, handle).is_none());
    for odd in [
        ptr::null(),
        ptr::without_provenance(8),
        handle.wrapping_byte_add(1),
    ] {
        assert!(registry.get(PARENT, odd).is_none());
    }
    assert_eq!(release(&registry, &object), (Released::Died, vec![1]));
    assert!(registry.get(PARENT, handle).is_none());
    assert_eq!(release(&registry, &object), INVALID);
    assert!(!object.retain());
}

#[test]
fn a_parent_outlives_its_children() {
    let registry = Registry::new();
    let parent = registry.insert(new(PARENT, 1, &[])).unwrap();
    let child = registry.insert(new(LEAF, 2, &[&parent])).unwrap();
    assert_eq!(release(&registry, &parent), KEPT);
    assert!(registry.get(PARENT, parent.address()).is_some());
    assert_eq!(release(&registry, &parent), INVALID);
    assert_eq!(release(&registry, &child), (Released::Died, vec![2, 1]));
    assert!(registry.insert(new(LEAF, 3, &[&parent])).is_none());
}

#[test]
fn the_boards_numbers_have_one_object_each_for_ever() {
    let registry = Registry::new();
    let number = Handle(Handle::BOARD | 1);
    let first = registry.intern(number, || new(PARENT, 0, &[]));
    let again = registry.intern(number, || new(PARENT, 0, &[]));
    assert_eq!(first.address(), again.address());
    assert_eq!(first.number(), number);
    let numbered = |tag| registry.numbered(tag, number).map(|o| o.address());
    assert_eq!(numbered(PARENT), Some(first.address()));
    assert_eq!(numbered(LEAF), None);
    let own = registry.insert(new(LEAF, 5, &[])).unwrap();
    let found = registry.numbered(LEAF, Handle(5)).unwrap();
    assert_eq!(found.address(), own.address());
    assert_eq!(release(&registry, &first), KEPT);
    assert!(registry.get(PARENT, first.address()).is_some());
}

#[test]
fn threads_release_each_reference_once() {
    let registry = Registry::new();
    let object = registry.insert(new(PARENT, 1, &[])).unwrap();
    (0..999).for_each(|_| assert!(object.retain()));
    let work = || {
        let died = |_| release(&registry, &object).0 == Released::Died;
        (0..250).filter(|n| died(*n)).count()
    };
    let deaths: usize = std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        all.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(deaths, 1);
    assert_eq!(release(&registry, &object), INVALID);
}

#[derive(Clone, Debug)]
enum Step {
    Make(Option<prop::sample::Index>),
    Retain(prop::sample::Index),
    Release(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        proptest::option::of(any::<prop::sample::Index>()).prop_map(Step::Make),
        any::<prop::sample::Index>().prop_map(Step::Retain),
        any::<prop::sample::Index>().prop_map(Step::Release),
    ]
}

/// The same rules over plain numbers.
#[derive(Default)]
struct Model(Vec<(u32, Option<usize>)>);

impl Model {
    fn lives(&self, n: usize) -> bool {
        let child =
            |(c, (_, parent)): (usize, &(u32, Option<usize>))| *parent == Some(n) && self.lives(c);
        self.0[n].0 > 0 || self.0.iter().enumerate().any(child)
    }
}

proptest! {
    #[test]
    fn lives_as_the_model_says(steps in prop::collection::vec(step(), 1..60)) {
        let registry = Registry::new();
        let mut model = Model::default();
        let mut all: Vec<Arc<Object<()>>> = Vec::new();
        for step in steps {
            match step {
                Step::Make(parent) => {
                    let parent = parent.filter(|_| !all.is_empty()).map(|i| i.index(all.len()));
                    let parents: Vec<_> = parent.map(|p| &all[p]).into_iter().collect();
                    let made = registry.insert(new(LEAF, all.len() as u64, &parents));
                    prop_assert_eq!(made.is_some(), parent.is_none_or(|p| model.lives(p)));
                    if let Some(object) = made {
                        all.push(object);
                        model.0.push((1, parent));
                    }
                }
                Step::Retain(i) if !all.is_empty() => {
                    let n = i.index(all.len());
                    prop_assert_eq!(all[n].retain(), model.0[n].0 > 0);
                    model.0[n].0 += u32::from(model.0[n].0 > 0);
                }
                Step::Release(i) if !all.is_empty() => {
                    let n = i.index(all.len());
                    let released = release(&registry, &all[n]) != INVALID;
                    prop_assert_eq!(released, model.0[n].0 > 0);
                    model.0[n].0 -= u32::from(released);
                }
                _ => {}
            }
            for (n, object) in all.iter().enumerate() {
                prop_assert_eq!(registry.get(LEAF, object.address()).is_some(), model.lives(n));
            }
        }
    }
}
