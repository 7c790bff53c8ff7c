use super::*;
use std::sync::Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thing;

impl Kind for Thing {
    fn name(self) -> &'static str {
        "thing"
    }
}

/// Remembers how many references were taken and given up.
#[derive(Debug, Default)]
struct Counts(Mutex<Vec<(usize, i32)>>);

impl Counts {
    fn count(&self, object: Pointer, by: i32) {
        let mut all = self.0.lock().unwrap();
        all.push((object.as_ptr() as usize, by));
    }

    /// References taken, less those given up.
    fn of(&self, object: usize) -> i32 {
        let all = self.0.lock().unwrap();
        let own = all.iter().filter(|(at, _)| *at == object);
        own.map(|(_, by)| by).sum()
    }
}

impl References for Counts {
    type Kind = Thing;

    fn retain(&self, _: Thing, object: Pointer) {
        self.count(object, 1);
    }

    fn release(&self, _: Thing, object: Pointer) {
        self.count(object, -1);
    }
}

/// What is kept of an object: references to others.
#[derive(Debug, Default)]
struct Data {
    _held: Vec<Reference<Counts>>,
}

impl From<Thing> for Data {
    fn from(_: Thing) -> Self {
        Self::default()
    }
}

struct Session {
    driver: &'static Counts,
    table: Table<Thing, Data>,
    refuses: bool,
    entered: Vec<(Handle, Handle)>,
}

impl Session {
    fn new() -> Self {
        Self {
            driver: Box::leak(Box::default()),
            table: Table::default(),
            refuses: false,
            entered: Vec::new(),
        }
    }
}

impl Objects for Session {
    type Kind = Thing;
    type Data = Data;
    type Driver = Counts;
    type Functions = ();

    fn driver(&self) -> &'static Counts {
        self.driver
    }

    fn functions(&self) -> &'static () {
        &()
    }

    fn table(&self) -> &Table<Thing, Data> {
        &self.table
    }

    fn table_mut(&mut self) -> &mut Table<Thing, Data> {
        &mut self.table
    }

    fn admit(&mut self, _: Thing, _: Pointer) -> Result<(), Refusal> {
        match self.refuses {
            true => Err(Refusal::NoEvent),
            false => Ok(()),
        }
    }

    fn entered(&mut self, _: Thing, number: Handle, parent: Handle) -> Result<(), Refusal> {
        self.entered.push((number, parent));
        Ok(())
    }
}

fn at(address: usize) -> *mut c_void {
    address as *mut c_void
}

#[test]
fn an_object_that_cannot_be_entered_is_given_up_once() {
    let mut session = Session::new();
    session.bind(Thing, Handle(1), at(8), Handle(9)).unwrap();
    assert_eq!(session.entered, [(Handle(1), Handle(9))]);
    assert_eq!(session.driver.of(8), 0);
    assert!(session.bind(Thing, Handle(1), at(16), Handle(9)).is_err());
    session.refuses = true;
    assert!(session.bind(Thing, Handle(2), at(24), Handle(9)).is_err());
    assert_eq!((session.driver.of(16), session.driver.of(24)), (-1, -1));
    assert_eq!(session.entered.len(), 1);
    assert!(session.bind(Thing, Handle(2), at(0), Handle(9)).is_err());
}

#[test]
fn what_a_query_finds_is_retained_and_what_a_call_made_is_not() {
    let mut session = Session::new();
    let found = session.found(Thing, at(8));
    assert_eq!(session.found(Thing, at(8)), found);
    let made = session.made(Thing, at(16));
    assert_eq!((session.driver.of(8), session.driver.of(16)), (1, 0));
    assert_eq!(session.found(Thing, at(0)), Handle::NULL);
    assert_eq!(session.made(Thing, at(0)), Handle::NULL);
    session.release(Thing, found).unwrap();
    session.release(Thing, made).unwrap();
    assert_eq!((session.driver.of(8), session.driver.of(16)), (0, -1));
    assert!(session.release(Thing, made).is_err());
}

#[test]
fn all_that_is_kept_of_an_object_goes_with_it() {
    let mut session = Session::new();
    let driver = session.driver;
    let other = Pointer::new(at(64)).unwrap();
    let held = || Data {
        _held: vec![Reference::new(driver, Thing, other); 2],
    };
    session.bind_with(Thing, Handle(1), at(8), held()).unwrap();
    session.bind_with(Thing, Handle(2), at(16), held()).unwrap();
    assert!(session.bind_with(Thing, Handle(2), at(24), held()).is_err());
    assert_eq!(driver.of(64), 4);
    session.release(Thing, Handle(1)).unwrap();
    assert_eq!((driver.of(64), driver.of(8)), (2, -1));
    session.found(Thing, at(32));
    assert_eq!(session.release_all(), 1, "the query's is not the guest's");
    assert_eq!((driver.of(64), driver.of(16), driver.of(32)), (0, -1, 0));
}

#[test]
fn property_lists_end_as_they_should_and_name_objects_where_they_may() {
    let mut session = Session::new();
    session.bind(Thing, Handle(1), at(8), Handle::NULL).unwrap();
    let list = Some(vec![
        Property::Word(5, 7),
        Property::Handle(3, Handle(1)),
        Property::Many(6, vec![1, 2]),
    ]);
    let flat = session.properties(&list, &[(3, Thing)]).unwrap();
    assert_eq!(flat.unwrap(), [5, 7, 3, 8, 6, 1, 2, 0, 0]);
    let flat = session.properties_until(77, &list, &[(3, Thing)]).unwrap();
    assert_eq!(flat.unwrap().last(), Some(&77));
    assert_eq!(session.properties(&None, &[]).unwrap(), None);
    for kinds in [
        &[][..],
        &[(3, Thing), (5, Thing)],
        &[(3, Thing), (6, Thing)],
    ] {
        assert!(session.properties(&list, kinds).is_err());
    }
    let unknown = Some(vec![Property::Handle(3, Handle(2))]);
    assert!(session.properties(&unknown, &[(3, Thing)]).is_err());
}
