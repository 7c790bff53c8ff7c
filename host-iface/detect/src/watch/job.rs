//! The job that a function of a GPU's driver starts, by the driver's table and the types
//! that its module has.

use super::arguments::{Argument, Convention, Value};
use super::{Guest, Spec};
use crate::btf::Btf;
use gil_drivers::{Member, Place};
use gil_uapi::VirtualAddress;

/// Elements shown of a list.
const SHOWN: u32 = 64;

/// The functions that start a driver's jobs, in its module; none if no table has them.
pub fn starts(driver: &str) -> Vec<Spec> {
    let starts = gil_drivers::table(driver).map(|table| table.starts);
    let spec = |start: gil_drivers::Start| Spec {
        object: Some(driver.into()),
        function: start.function,
        file: None,
        types: None,
        driver: None,
        bytes: 0,
    };
    starts.unwrap_or_default().into_iter().map(spec).collect()
}

/// Where a job is, and what of it is shown.
#[derive(Debug)]
pub(super) struct Job {
    argument: u8,
    /// How far behind the job's first byte the argument points.
    within: u64,
    fields: Vec<Field>,
}

/// A number, or a list of numbers.
#[derive(Debug)]
struct Field {
    name: String,
    /// Offsets of pointers, each in what the one before points to.
    pointers: Vec<u64>,
    offset: u64,
    /// Bytes of a number.
    size: usize,
    /// Numbers of a list; none if it is one alone.
    count: Option<u32>,
}

impl Job {
    /// That of a function that starts a driver's jobs; none if it is another, or the types
    /// do not have what the table names.
    pub fn of(driver: &str, function: &str, types: &Btf) -> Option<Self> {
        let table = gil_drivers::table(driver).ok()?;
        let start = table.starts.iter().find(|it| it.function == function)?;
        let offset = |it: &Member| types.offset(&it.structure, &it.path);
        let within = start.within.as_ref().map_or(Some(0), offset)?;
        let fields = start.fields.iter().map(|it| Field::of(it, types));
        Some(Self {
            argument: start.argument,
            within,
            fields: fields.collect::<Option<_>>()?,
        })
    }

    /// The numbers of its first field, as far as they can be read.
    pub fn addresses(&self, guest: &dyn Guest) -> Vec<u64> {
        let first = self.read(guest).into_iter().next();
        match first.and_then(|argument| argument.value) {
            Some(Value::Word(word)) => vec![word],
            Some(Value::Words(words)) => words.into_iter().flatten().collect(),
            _ => Vec::new(),
        }
    }

    /// The job's fields, as far as they can be read.
    pub fn read(&self, guest: &dyn Guest) -> Vec<Argument<'static>> {
        let register = guest.register(self.argument, Convention::Aarch64);
        let job = register.map(|it| VirtualAddress(it.wrapping_sub(self.within)));
        let argument = |field: &Field| Argument {
            name: field.name.clone().into(),
            kind: None,
            value: job.and_then(|job| field.read(job, guest)),
        };
        self.fields.iter().map(argument).collect()
    }
}

impl Field {
    fn of(place: &Place, types: &Btf) -> Option<Self> {
        let offset = |it: &Member| types.offset(&it.structure, &it.path);
        let Member { structure, path } = &place.field;
        let (size, count) = types.numbers(structure, path)?;
        Some(Self {
            name: path.rsplit('.').next().unwrap_or(path).into(),
            pointers: place.pointers.iter().map(offset).collect::<Option<_>>()?,
            offset: offset(&place.field)?,
            size: size as usize,
            count,
        })
    }

    fn read(&self, job: VirtualAddress, guest: &dyn Guest) -> Option<Value> {
        let mut at = job;
        for pointer in &self.pointers {
            at = VirtualAddress(guest.word(at.checked_add(*pointer)?)?);
        }
        at = at.checked_add(self.offset)?;
        let number = |index: u32| {
            let mut bytes = [0; 8];
            let place = at.checked_add(u64::from(index) * self.size as u64)?;
            let is_there = guest.read(place, bytes.get_mut(..self.size)?);
            is_there.then(|| u64::from_le_bytes(bytes))
        };
        match self.count {
            None => number(0).map(Value::Word),
            Some(count) => Some(Value::Words((0..count.min(SHOWN)).map(number).collect())),
        }
    }
}
