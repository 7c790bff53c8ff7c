//! A session's table from numbers to real objects.
//!
//! The guest numbers the objects that it creates. An object that the board creates or
//! finds gets a number with [`Handle::BOARD`] set, the same number as long as the object
//! is in the table. Reference counts are in the guest: an object is in the table from its
//! creation, or from the query that found it, until the guest's last release.
//!
//! Each number owns one reference, wherever the object came from, so an object behind a
//! number is alive. The session's other data about an object is in its entry and is
//! removed with it.

use foldhash::{HashMap, HashMapExt};
use gil_wire::call::Handle;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Objects in one session, at most.
pub const MAX_OBJECTS: usize = 1 << 20;

/// A real object's address. Only the back end's driver dereferences it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointer(NonNull<c_void>);

// SAFETY: an address alone does nothing. Who hands it to a driver, in whatever
// thread, says why the driver takes it there.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

impl Pointer {
    /// None for null.
    pub fn new(address: *mut c_void) -> Option<Self> {
        NonNull::new(address).map(Self)
    }

    /// The address.
    pub fn as_ptr(self) -> *mut c_void {
        self.0.as_ptr()
    }
}

pub use gil_wire::description::Kind;

/// An object of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<K> {
    /// Its kind.
    pub kind: K,
    /// The real one.
    pub pointer: Pointer,
    /// Whether a query found it, so that no call made this number.
    pub is_found: bool,
    /// Position in the order of creation.
    order: u64,
}

/// A number that does not stand for what a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Nothing has this number.
    #[error("no object has the number {0:#x}; it was never created, or is released")]
    Unknown(u64),
    /// Something else has it.
    #[error("object {number:#x} is a {is}, and the call needs a {wanted}")]
    Kind {
        /// The number.
        number: u64,
        /// The kind of the object behind the number.
        is: &'static str,
        /// The kind that the call needs.
        wanted: &'static str,
    },
    /// The guest numbers a new object like one that is there.
    #[error("the number {0:#x} for a new object is taken")]
    Taken(u64),
    /// The guest numbers a new object as only the board may, or with 0.
    #[error("the number {0:#x} is none that a guest may give")]
    NotTheGuests(u64),
    /// Too many.
    #[error("the session has {MAX_OBJECTS} objects, its bound: release what is no longer used")]
    Full,
}

/// An object, and what the session keeps of it.
#[derive(Debug)]
struct Entry<K, D> {
    object: Object<K>,
    data: D,
}

/// The objects of one session: of kinds `K`, with `D` for what is kept of each,
/// which begins as `D::from` its kind has it.
#[derive(Debug)]
pub struct Table<K, D> {
    entries: HashMap<Handle, Entry<K, D>>,
    numbers: HashMap<Pointer, Handle>,
    created: u64,
    found: u64,
}

impl<K, D> Default for Table<K, D> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            numbers: HashMap::new(),
            created: 0,
            found: 0,
        }
    }
}

impl<K: Kind, D: From<K>> Table<K, D> {
    /// The object with this number.
    ///
    /// # Errors
    /// [`TableError::Unknown`], also for NULL, or [`TableError::Kind`].
    pub fn get(&self, handle: Handle, wanted: K) -> Result<Pointer, TableError> {
        let number = handle.0;
        let object = self.entries.get(&handle).map(|entry| &entry.object);
        match object {
            None => Err(TableError::Unknown(number)),
            Some(object) if object.kind == wanted => Ok(object.pointer),
            Some(object) => Err(TableError::Kind {
                number,
                is: object.kind.name(),
                wanted: wanted.name(),
            }),
        }
    }

    /// What is kept of the object with this number.
    pub fn data(&self, handle: Handle) -> Option<&D> {
        self.entries.get(&handle).map(|entry| &entry.data)
    }

    /// The same, to change it.
    pub fn data_mut(&mut self, handle: Handle) -> Option<&mut D> {
        self.entries.get_mut(&handle).map(|entry| &mut entry.data)
    }

    /// The kind of the object with this number.
    pub fn kind(&self, handle: Handle) -> Option<K> {
        self.entries.get(&handle).map(|entry| entry.object.kind)
    }

    /// Whether the guest may give a new object this number. Asked before the
    /// object is made, so that a refusal leaves nothing behind.
    ///
    /// # Errors
    /// [`TableError::Taken`], [`TableError::NotTheGuests`] or
    /// [`TableError::Full`].
    pub fn vacant(&self, handle: Handle) -> Result<(), TableError> {
        if handle.is_null() || handle.is_boards() {
            return Err(TableError::NotTheGuests(handle.0));
        }
        if self.entries.contains_key(&handle) {
            return Err(TableError::Taken(handle.0));
        }
        self.room()
    }

    /// Enters an object that the guest numbered.
    ///
    /// # Errors
    /// As [`vacant`](Self::vacant).
    pub fn insert(
        &mut self,
        handle: Handle,
        kind: K,
        pointer: Pointer,
        data: D,
    ) -> Result<(), TableError> {
        self.vacant(handle)?;
        self.enter(handle, kind, pointer, false, data);
        Ok(())
    }

    /// Numbers an object that a call made.
    ///
    /// # Errors
    /// [`TableError::Full`].
    pub fn made(&mut self, kind: K, pointer: Pointer) -> Result<Handle, TableError> {
        self.by_board(kind, pointer, false)
    }

    /// The number of an object that a query found; at its first sight a new one,
    /// once `retain` has taken the reference that goes with it.
    ///
    /// # Errors
    /// [`TableError::Full`]; nothing is retained then.
    pub fn found(
        &mut self,
        kind: K,
        pointer: Pointer,
        retain: impl FnOnce(),
    ) -> Result<Handle, TableError> {
        if let Some(handle) = self.number(kind, pointer) {
            return Ok(handle);
        }
        let handle = self.by_board(kind, pointer, true)?;
        retain();
        Ok(handle)
    }

    fn by_board(
        &mut self,
        kind: K,
        pointer: Pointer,
        is_found: bool,
    ) -> Result<Handle, TableError> {
        self.room()?;
        self.found += 1;
        let handle = Handle(self.found | Handle::BOARD);
        self.enter(handle, kind, pointer, is_found, D::from(kind));
        Ok(handle)
    }

    /// The next object that the board finds gets this number.
    ///
    /// # Errors
    /// [`TableError::Taken`] if that or a later one is in use, or
    /// [`TableError::NotTheGuests`] for a number that the board does not give.
    pub fn number_from(&mut self, next: Handle) -> Result<(), TableError> {
        let before = (next.0 & !Handle::BOARD).checked_sub(1);
        match before.filter(|_| next.is_boards()) {
            Some(before) if before >= self.found => {
                self.found = before;
                Ok(())
            }
            Some(_) => Err(TableError::Taken(next.0)),
            None => Err(TableError::NotTheGuests(next.0)),
        }
    }

    /// All objects, in the order of their creation.
    pub fn all(&self) -> Vec<(Handle, Object<K>)> {
        let entries = self.entries.iter();
        let mut all: Vec<_> = entries.map(|(handle, of)| (*handle, of.object)).collect();
        all.sort_unstable_by_key(|(_, object)| object.order);
        all
    }

    /// The number of an object, if it has one.
    pub fn number(&self, kind: K, pointer: Pointer) -> Option<Handle> {
        let handle = *self.numbers.get(&pointer)?;
        (self.kind(handle)? == kind).then_some(handle)
    }

    /// Takes an object out, with what is kept of it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn remove(&mut self, handle: Handle, kind: K) -> Result<(Pointer, D), TableError> {
        let pointer = self.get(handle, kind)?;
        let entry = self.entries.remove(&handle);
        let entry = entry.ok_or(TableError::Unknown(handle.0))?;
        // A driver may use an address again: only this number's entry goes.
        if self.numbers.get(&pointer) == Some(&handle) {
            self.numbers.remove(&pointer);
        }
        Ok((pointer, entry.data))
    }

    /// Takes all out, the youngest first: an object's parent is older than the
    /// object.
    pub fn drain(&mut self) -> Vec<(Handle, Object<K>, D)> {
        self.numbers.clear();
        let entries = self.entries.drain();
        let mut all: Vec<_> = entries
            .map(|(handle, of)| (handle, of.object, of.data))
            .collect();
        all.sort_unstable_by_key(|(_, object, _)| std::cmp::Reverse(object.order));
        all
    }

    fn room(&self) -> Result<(), TableError> {
        if self.entries.len() >= MAX_OBJECTS {
            return Err(TableError::Full);
        }
        Ok(())
    }

    fn enter(&mut self, handle: Handle, kind: K, pointer: Pointer, is_found: bool, data: D) {
        self.created += 1;
        let object = Object {
            kind,
            pointer,
            is_found,
            order: self.created,
        };
        self.entries.insert(handle, Entry { object, data });
        self.numbers.insert(pointer, handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::rc::Rc;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Thing {
        Queue,
        Event,
    }

    impl Kind for Thing {
        fn name(self) -> &'static str {
            match self {
                Self::Queue => "queue",
                Self::Event => "event",
            }
        }
    }

    /// Counts what is kept of objects that are there.
    #[derive(Debug, Default)]
    struct Data(Option<Rc<()>>);

    impl From<Thing> for Data {
        fn from(_: Thing) -> Self {
            Self::default()
        }
    }

    type Table = super::Table<Thing, Data>;

    fn at(address: usize) -> Pointer {
        Pointer::new(address as *mut c_void).unwrap()
    }

    #[test]
    fn a_number_stands_for_one_kind() {
        let mut table = Table::default();
        table
            .insert(Handle(1), Thing::Queue, at(16), Data::default())
            .unwrap();
        assert_eq!(table.get(Handle(1), Thing::Queue), Ok(at(16)));
        let error = table.get(Handle(1), Thing::Event).unwrap_err();
        assert_eq!(
            error.to_string(),
            "object 0x1 is a queue, and the call needs a event"
        );
        assert_eq!(
            table.get(Handle::NULL, Thing::Event),
            Err(TableError::Unknown(0))
        );
    }

    #[test]
    fn guests_cannot_take_numbers() {
        let mut table = Table::default();
        let boards = table.found(Thing::Queue, at(8), || ()).unwrap();
        assert!(boards.is_boards());
        for number in [Handle::NULL, boards, Handle(Handle::BOARD | 77)] {
            let error = table.insert(number, Thing::Queue, at(16), Data::default());
            assert_eq!(error, Err(TableError::NotTheGuests(number.0)));
        }
        table
            .insert(Handle(5), Thing::Queue, at(24), Data::default())
            .unwrap();
        let error = table.insert(Handle(5), Thing::Event, at(32), Data::default());
        assert_eq!(error, Err(TableError::Taken(5)));
    }

    #[test]
    fn one_reference_goes_with_each_number() {
        let mut table = Table::default();
        let retained = std::cell::Cell::new(0);
        let retain = || retained.set(retained.get() + 1);
        let found = table.found(Thing::Queue, at(8), retain).unwrap();
        assert_eq!(table.found(Thing::Queue, at(8), retain), Ok(found));
        assert_eq!(retained.get(), 1);
        // What a call made came with its reference, also at an address that is
        // known.
        let made = table.made(Thing::Event, at(16)).unwrap();
        assert_ne!(table.made(Thing::Event, at(16)), Ok(made));
        table
            .insert(Handle(5), Thing::Queue, at(24), Data::default())
            .unwrap();
        assert_eq!(
            table.found(Thing::Queue, at(24), retain),
            Ok(Handle(5)),
            "the guest's own number"
        );
        assert_eq!(retained.get(), 1);
        table.remove(found, Thing::Queue).unwrap();
        assert_ne!(table.found(Thing::Queue, at(8), retain), Ok(found));
        assert_eq!(retained.get(), 2);
    }

    #[test]
    fn numbers_go_on_where_they_are_said_to() {
        let mut table = Table::default();
        table.found(Thing::Queue, at(8), || ()).unwrap();
        table.number_from(Handle(Handle::BOARD | 7)).unwrap();
        let seventh = table.made(Thing::Event, at(16)).unwrap();
        assert_eq!(seventh, Handle(Handle::BOARD | 7));
        let taken = Handle(Handle::BOARD | 7);
        assert_eq!(table.number_from(taken), Err(TableError::Taken(taken.0)));
        for number in [Handle(9), Handle::NULL, Handle(Handle::BOARD)] {
            let error = Err(TableError::NotTheGuests(number.0));
            assert_eq!(table.number_from(number), error);
        }
        let order: Vec<_> = table.all().iter().map(|(_, o)| o.kind).collect();
        assert_eq!(order, [Thing::Queue, Thing::Event]);
    }

    #[test]
    fn an_address_used_again_gets_its_new_number() {
        let mut table = Table::default();
        table
            .insert(Handle(1), Thing::Event, at(8), Data::default())
            .unwrap();
        table
            .insert(Handle(2), Thing::Event, at(8), Data::default())
            .unwrap();
        table.remove(Handle(1), Thing::Event).unwrap();
        assert_eq!(table.number(Thing::Event, at(8)), Some(Handle(2)));
        table.remove(Handle(2), Thing::Event).unwrap();
        assert_eq!(table.number(Thing::Event, at(8)), None);
    }

    #[test]
    fn what_is_kept_of_an_object_goes_with_it() {
        let mut table = Table::default();
        let kept = Rc::new(());
        let data = || Data(Some(kept.clone()));
        table
            .insert(Handle(1), Thing::Event, at(8), data())
            .unwrap();
        table
            .insert(Handle(2), Thing::Queue, at(16), data())
            .unwrap();
        let taken = table.insert(Handle(2), Thing::Queue, at(24), data());
        assert_eq!(taken, Err(TableError::Taken(2)));
        assert_eq!(Rc::strong_count(&kept), 3);
        let made = table.made(Thing::Event, at(32)).unwrap();
        assert!(table.data(made).unwrap().0.is_none());
        *table.data_mut(made).unwrap() = data();
        assert!(table.data(Handle(1)).is_some() && table.data(Handle(9)).is_none());
        let error = table.remove(Handle(1), Thing::Queue).unwrap_err();
        assert_eq!(
            error.to_string(),
            "object 0x1 is a event, and the call needs a queue"
        );
        drop(table.remove(Handle(1), Thing::Event).unwrap());
        assert!(table.data(Handle(1)).is_none());
        assert_eq!(Rc::strong_count(&kept), 3);
        drop(table.drain());
        assert_eq!(Rc::strong_count(&kept), 1);
    }

    proptest! {
        #[test]
        fn drain_gives_each_object_once_youngest_first(numbers: Vec<u8>) {
            let mut table = Table::default();
            let mut inserted = Vec::new();
            for number in numbers {
                let handle = Handle(number.into());
                let pointer = at(8 * (1 + usize::from(number)));
                if table.insert(handle, Thing::Event, pointer, Data::default()).is_ok() {
                    inserted.push(handle);
                }
            }
            inserted.reverse();
            let drained: Vec<_> = table.drain().into_iter().map(|(h, ..)| h).collect();
            prop_assert_eq!(drained, inserted);
            prop_assert!(table.drain().is_empty());
        }
    }
}
