//! Live objects by address. A program's handle is the address of an object on
//! this library's heap. The registry checks that the address is a live object of
//! the right type before anything behind it is read.
//!
//! An object lives as long as the program holds references to it or objects
//! created from it live. Then it is removed from the registry, and the board
//! releases it.

use gil_wire::call::Handle;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Parts of the registry, each with its own lock.
const SHARDS: usize = 16;
/// One reference of a living child, in [`Object::counts`]; the program's own
/// references are below.
const CHILD: u64 = 1 << 32;
const OWN: u64 = CHILD - 1;

/// The type of an object, as its API names it (context, command queue, …).
pub type Tag = u8;

/// One object. Its address is the program's handle.
#[repr(C)]
#[derive(Debug)]
pub struct Object<T> {
    /// First word of every handle, for loaders that dispatch through it.
    dispatch: usize,
    tag: Tag,
    permanent: bool,
    number: Handle,
    counts: AtomicU64,
    parents: Parents<T>,
    /// The API's data about it.
    pub data: T,
}

impl<T> Object<T> {
    /// Its type.
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Its number on the wire.
    pub fn number(&self) -> Handle {
        self.number
    }

    /// The objects that it was created from.
    pub fn parents(&self) -> &[Arc<Self>] {
        &self.parents
    }

    /// The program's references to it.
    pub fn references(&self) -> u32 {
        (self.counts.load(Ordering::Relaxed) & OWN) as u32
    }

    /// The handle that the program knows it by.
    pub fn address(self: &Arc<Self>) -> *mut c_void {
        Arc::as_ptr(self).cast_mut().cast()
    }

    fn is_live(&self) -> bool {
        self.permanent || self.counts.load(Ordering::Acquire) != 0
    }

    /// Changes the counts unless `next` forbids it; gives the new ones.
    fn count(&self, next: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let order = Ordering::AcqRel;
        let before = self
            .counts
            .fetch_update(order, Ordering::Acquire, &next)
            .ok()?;
        next(before)
    }

    /// One more reference of the program's. False if it holds none any more.
    pub fn retain(&self) -> bool {
        let more = |counts: u64| (counts & OWN != 0 && counts & OWN != OWN).then(|| counts + 1);
        self.permanent || self.count(more).is_some()
    }

    /// Keeps it alive for a child. False if it is dead already.
    fn adopt(&self) -> bool {
        let more = |counts: u64| {
            if counts == 0 {
                None
            } else {
                counts.checked_add(CHILD)
            }
        };
        self.permanent || self.count(more).is_some()
    }

    /// One child less. True if that was the last that kept it alive.
    fn disown(&self) -> bool {
        !self.permanent && self.count(|counts| counts.checked_sub(CHILD)) == Some(0)
    }
}

/// What an object is made from. The usual one takes no memory of its own.
pub type Parents<T> = SmallVec<[Arc<Object<T>>; 1]>;

/// A new object.
#[derive(Debug)]
pub struct New<T> {
    /// First word of the handle.
    pub dispatch: *const c_void,
    /// Its type.
    pub tag: Tag,
    /// Its number on the wire.
    pub number: Handle,
    /// The objects that it is created from.
    pub parents: Parents<T>,
    /// The API's data about it.
    pub data: T,
}

/// What releasing a reference did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The program held none.
    Invalid,
    /// It lives on.
    Kept,
    /// It died, and perhaps what it was made from.
    Died,
}

type Shard<T> = RwLock<HashMap<usize, Arc<Object<T>>, BuildHasherDefault<Spread>>>;

/// Every live object of one API.
#[derive(Debug)]
pub struct Registry<T> {
    shards: [Shard<T>; SHARDS],
    found: RwLock<HashMap<u64, Arc<Object<T>>, BuildHasherDefault<Spread>>>,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Registry<T> {
    /// An empty one.
    pub const fn new() -> Self {
        Self {
            shards: [const { RwLock::new(HashMap::with_hasher(BuildHasherDefault::new())) };
                SHARDS],
            found: RwLock::new(HashMap::with_hasher(BuildHasherDefault::new())),
        }
    }

    /// A new object, with one reference that is the program's. `None` if a
    /// parent died meanwhile.
    #[inline(always)]
    pub fn insert(&self, new: New<T>) -> Option<Arc<Object<T>>> {
        for (n, parent) in new.parents.iter().enumerate() {
            if !parent.adopt() {
                self.abandon(&new.parents[..n]);
                return None;
            }
        }
        Some(self.enter(new, false))
    }

    /// Undoes the adoption by what is not made after all. The program holds
    /// these: none dies here but by its own releases meanwhile.
    #[cold]
    fn abandon(&self, parents: &[Arc<Object<T>>]) {
        for parent in parents.iter().filter(|parent| parent.disown()) {
            self.take_out(parent);
        }
    }

    /// The object for a number that the board gave, made at first sight. It
    /// lives for ever; references are not counted.
    pub fn intern(&self, number: Handle, new: impl FnOnce() -> New<T>) -> Arc<Object<T>> {
        if let Some(object) = read(&self.found).get(&number.0) {
            return object.clone();
        }
        let mut found = write(&self.found);
        let make = || self.enter(New { number, ..new() }, true);
        found.entry(number.0).or_insert_with(make).clone()
    }

    #[inline(always)]
    fn enter(&self, new: New<T>, permanent: bool) -> Arc<Object<T>> {
        let object = Arc::new(Object {
            dispatch: new.dispatch as usize,
            tag: new.tag,
            permanent,
            number: new.number,
            counts: AtomicU64::new(1),
            parents: new.parents,
            data: new.data,
        });
        let at = object.address() as usize;
        write(self.shard(at)).insert(at, object.clone());
        object
    }

    /// The live object of type `tag` at `handle`. Nothing behind an unknown
    /// address is read.
    pub fn get(&self, tag: Tag, handle: *const c_void) -> Option<Arc<Object<T>>> {
        let at = handle as usize;
        let shard = read(self.shard(at));
        let object = shard.get(&at)?;
        (object.tag == tag && object.is_live()).then(|| object.clone())
    }

    /// The live object at `handle`, whatever its type.
    pub fn get_any(&self, handle: *const c_void) -> Option<Arc<Object<T>>> {
        let at = handle as usize;
        let shard = read(self.shard(at));
        shard.get(&at).filter(|object| object.is_live()).cloned()
    }

    /// The live object of type `tag` with that number. Looks at every object
    /// unless the board found it: for queries, not for every call.
    pub fn numbered(&self, tag: Tag, number: Handle) -> Option<Arc<Object<T>>> {
        if let Some(object) = read(&self.found).get(&number.0) {
            return (object.tag == tag).then(|| object.clone());
        }
        let is_it = |o: &&Arc<Object<T>>| o.number == number && o.tag == tag && o.is_live();
        let in_shard = |shard: &Shard<T>| read(shard).values().find(is_it).cloned();
        self.shards.iter().find_map(in_shard)
    }

    /// Gives back one of the program's references to the object of type `tag` at
    /// `handle`. `died` is given what died of that, each before what it was made
    /// from; no lock is held meanwhile.
    pub fn release(
        &self,
        tag: Tag,
        handle: *const c_void,
        died: impl FnMut(&Arc<Object<T>>),
    ) -> Released {
        let at = handle as usize;
        let mut shard = write(self.shard(at));
        let Entry::Occupied(found) = shard.entry(at) else {
            return Released::Invalid;
        };
        let object = found.get();
        if object.tag != tag {
            return Released::Invalid;
        }
        if object.permanent {
            return Released::Kept;
        }
        match object.count(|counts| (counts & OWN != 0).then(|| counts - 1)) {
            None => Released::Invalid,
            Some(0) => {
                let dead = found.remove();
                drop(shard);
                self.bury(dead, died);
                Released::Died
            }
            Some(_) => Released::Kept,
        }
    }

    /// Keeps a live object alive as one made from it would. False if it is
    /// dead.
    pub fn hold(&self, object: &Object<T>) -> bool {
        object.adopt()
    }

    /// Ends a [`hold`](Self::hold); `died` as in [`release`](Self::release).
    pub fn let_go(&self, object: &Arc<Object<T>>, died: impl FnMut(&Arc<Object<T>>)) {
        if !object.disown() {
            return;
        }
        if let Some(dead) = self.take_out(object) {
            self.bury(dead, died);
        }
    }

    /// Every live object for which `is_it`.
    pub fn all(&self, is_it: impl Fn(&Object<T>) -> bool) -> Vec<Arc<Object<T>>> {
        let mut found = Vec::new();
        for shard in &self.shards {
            let shard = read(shard);
            let live = shard.values().filter(|o| o.is_live() && is_it(o));
            found.extend(live.cloned());
        }
        found
    }

    /// Takes out what dies with a dead object. Most often that is nothing else.
    #[inline]
    fn bury(&self, dead: Arc<Object<T>>, mut died: impl FnMut(&Arc<Object<T>>)) {
        let mut others = Vec::new();
        self.disown_parents(&dead, &mut others);
        died(&dead);
        drop(dead);
        while let Some(object) = others.pop() {
            self.disown_parents(&object, &mut others);
            died(&object);
        }
    }

    /// Takes out those of its parents that it alone kept alive.
    #[inline]
    fn disown_parents(&self, object: &Object<T>, dead: &mut Vec<Arc<Object<T>>>) {
        for parent in object.parents.iter().filter(|parent| parent.disown()) {
            dead.extend(self.take_out(parent));
        }
    }

    #[inline(never)]
    fn take_out(&self, object: &Arc<Object<T>>) -> Option<Arc<Object<T>>> {
        let at = object.address() as usize;
        write(self.shard(at)).remove(&at)
    }

    fn shard(&self, at: usize) -> &Shard<T> {
        // Heap blocks are 16 bytes apart at least.
        &self.shards[(at >> 5) % SHARDS]
    }
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Spreads addresses over hash buckets with one multiplication; keys are this
/// library's own, so nobody can choose them to collide.
#[derive(Clone, Copy, Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64((*b).into()));
    }

    fn write_u64(&mut self, key: u64) {
        let mixed = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn write_usize(&mut self, key: usize) {
        self.write_u64(key as u64);
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
