//! A driver's table: layouts computed, names checked.

use crate::TableError;
use crate::field::{Count, Counts, Element, Field, Role, Type};
use crate::raw::Raw;
use crate::start::{self, Start};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Who chooses the addresses by which jobs name memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Addresses {
    /// Jobs have none.
    None,
    /// The kernel's driver, when a buffer is made.
    Kernel,
    /// The program.
    Program,
}

/// Whether an ioctl reads its argument, writes it, or both: the letters of `_IOW` and
/// its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Access {
    /// The driver writes it.
    #[serde(rename = "r")]
    Read,
    /// The driver reads it.
    #[serde(rename = "w")]
    Write,
    /// Both.
    #[serde(rename = "wr")]
    Both,
}

/// What an ioctl is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Does {
    /// Asks.
    #[serde(rename = "query")]
    Query,
    /// Tells what has no consequence: it is answered where it is made.
    #[serde(rename = "hint")]
    Hint,
    /// Makes something.
    #[serde(rename = "create")]
    Create,
    /// Ends something.
    #[serde(rename = "free")]
    Free,
    /// Says where a buffer is.
    #[serde(rename = "map")]
    Map,
    /// Starts a job.
    #[serde(rename = "start")]
    Start,
    /// Waits for jobs.
    #[serde(rename = "wait")]
    Wait,
    /// Memory goes to the board.
    #[serde(rename = "to board")]
    ToBoard,
    /// Memory comes from the board.
    #[serde(rename = "from board")]
    FromBoard,
}

/// A structure, with its fields' offsets.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Its name in the header.
    pub name: String,
    /// Fields and where they begin, in bytes.
    pub fields: Vec<(usize, Field)>,
    /// Bytes.
    pub size: usize,
    /// What its addresses are multiples of.
    pub align: usize,
}

/// The name of a structure of the table's.
pub type Argument = String;

/// An ioctl.
#[derive(Clone, Debug)]
pub struct Ioctl {
    /// Its name in the header, behind `DRM_IOCTL_` and the driver's.
    pub name: String,
    /// Its number, from `DRM_COMMAND_BASE`.
    pub number: u32,
    /// How it uses its argument.
    pub access: Access,
    /// Its argument.
    pub argument: Argument,
    /// What it is for.
    pub does: Does,
}

/// A character device of a driver that is no DRM driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name in `/dev`.
    pub name: String,
    /// The letter of its ioctls' numbers, which begin at 0.
    pub letter: char,
}

/// A driver.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name, as `DRM_IOCTL_VERSION` gives it.
    pub driver: String,
    /// The number of its calls' API; never reused.
    pub api: u16,
    /// What it says of itself there.
    pub description: String,
    /// Its version there: major, minor, patch level.
    pub version: [u32; 3],
    /// The kernel's header.
    pub header: String,
    /// What the kernel's functions of its ioctls are called; `{}` is the ioctl's name in
    /// small letters.
    functions: String,
    /// What its names have behind `DRM_IOCTL_`.
    pub infix: String,
    /// Its character device, if it is no DRM driver.
    pub device: Option<Device>,
    /// Whether it is one for tests, which no kernel has.
    pub is_for_tests: bool,
    /// Who chooses addresses.
    pub addresses: Addresses,
    /// The processors that execute its jobs, by their numbers; none if it does not say
    /// which executes a job.
    pub processors: Vec<String>,
    /// The functions of its module that start jobs.
    pub starts: Vec<Start>,
    structs: BTreeMap<String, Struct>,
    ioctls: BTreeMap<u32, Ioctl>,
}

/// Numbers of a driver's own ioctls are below: `DRM_COMMAND_END - DRM_COMMAND_BASE`.
const NUMBERS: u32 = 0x60;
/// Most processors of a GPU: a device has as many engines for them.
const PROCESSORS_MAX: usize = 8;

/// A function that starts jobs, checked.
fn start((function, raw): (String, super::raw::Start)) -> Result<Start, TableError> {
    let fields = raw.fields.iter().map(|it| start::place(&function, it));
    Ok(Start {
        argument: raw.argument,
        within: raw
            .within
            .map(|it| start::member(&function, &it))
            .transpose()?,
        fields: fields.collect::<Result<_, _>>()?,
        function,
    })
}

impl Table {
    /// Parses and checks a table.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let raw: Raw = toml::from_str(text).map_err(|why| TableError::Syntax(why.to_string()))?;
        let device = match (raw.device, raw.letter) {
            (Some(name), Some(letter)) if letter.is_ascii() => Some(Device { name, letter }),
            (None, None) => None,
            _ => return Err(TableError::Device),
        };
        let mut table = Self {
            device,
            is_for_tests: raw.tests,
            infix: raw.infix.unwrap_or_else(|| raw.driver.to_uppercase()),
            driver: raw.driver,
            api: raw.api,
            description: raw.description,
            version: raw.version,
            header: raw.header,
            functions: raw.functions,
            addresses: raw.addresses,
            processors: raw.processors,
            starts: raw
                .starts
                .into_iter()
                .map(start)
                .collect::<Result<_, _>>()?,
            structs: BTreeMap::new(),
            ioctls: BTreeMap::new(),
        };
        if table.processors.len() > PROCESSORS_MAX {
            return Err(TableError::Processors(table.processors.len()));
        }
        for name in raw.structs.keys() {
            table.lay_out(name, &raw.structs, 0)?;
        }
        for (name, raw) in raw.ioctls {
            table.add(Ioctl {
                name,
                number: raw.number,
                access: raw.access,
                argument: raw.argument,
                does: raw.does,
            })?;
        }
        table.structs.values().try_for_each(|it| table.check(it))?;
        Ok(table)
    }

    /// Lays out a structure, and before it those that it has.
    fn lay_out(
        &mut self,
        name: &str,
        all: &BTreeMap<String, Vec<String>>,
        depth: usize,
    ) -> Result<(), TableError> {
        if self.structs.contains_key(name) {
            return Ok(());
        }
        let missing = || TableError::Name {
            place: "a field".into(),
            name: name.into(),
        };
        // One that has itself is as good as missing.
        let texts = all.get(name).filter(|_| depth <= all.len());
        let mut laid = Struct {
            name: name.into(),
            fields: Vec::new(),
            size: 0,
            align: 1,
        };
        for text in texts.ok_or_else(missing)? {
            let field = Field::parse(name, text)?;
            if let Type::Struct(inner) = &field.ty {
                self.lay_out(inner, all, depth + 1)?;
            }
            let (size, align) = self.size_of(&field.ty);
            let offset = laid.size.next_multiple_of(align);
            (laid.size, laid.align) = (offset + size, laid.align.max(align));
            laid.fields.push((offset, field));
        }
        laid.size = laid.size.next_multiple_of(laid.align);
        self.structs.insert(name.into(), laid);
        Ok(())
    }

    /// The bytes of a type, and what its addresses are multiples of.
    pub fn size_of(&self, ty: &Type) -> (usize, usize) {
        match ty {
            Type::Numbers(scalar, count) => (scalar.size() * count, scalar.size()),
            Type::Struct(name) => self
                .structs
                .get(name)
                .map_or((0, 1), |inner| (inner.size, inner.align)),
        }
    }

    fn add(&mut self, ioctl: Ioctl) -> Result<(), TableError> {
        if !self.structs.contains_key(&ioctl.argument) {
            return Err(TableError::Name {
                place: ioctl.name,
                name: ioctl.argument,
            });
        }
        let (number, name) = (ioctl.number, ioctl.name.clone());
        if number >= NUMBERS || self.ioctls.insert(number, ioctl).is_some() {
            return Err(TableError::Number {
                ioctl: name,
                number,
            });
        }
        Ok(())
    }

    /// Every name in a structure's roles is there.
    fn check(&self, checked: &Struct) -> Result<(), TableError> {
        let has_field = |name: &String| checked.fields.iter().any(|(_, it)| it.name == *name);
        let has_struct = |name: &String| self.structs.contains_key(name);
        for (_, field) in &checked.fields {
            let missing = match &field.role {
                Role::Count(Counts::Of(name, _)) => Some(name).filter(|it| !has_field(it)),
                Role::Fence(fence) => Some(&fence.flags).filter(|it| !has_field(it)),
                Role::Pointer(pointer) => {
                    let count = match &pointer.count {
                        Count::Field(name) => Some(name).filter(|it| !has_field(it)),
                        Count::Fixed(_) => None,
                    };
                    let element = match &pointer.element {
                        Element::Struct(name) => Some(name).filter(|it| !has_struct(it)),
                        _ => None,
                    };
                    count.or(element)
                }
                _ => None,
            };
            if let Some(name) = missing {
                return Err(TableError::Name {
                    place: format!("{}.{}", checked.name, field.name),
                    name: name.clone(),
                });
            }
        }
        Ok(())
    }

    /// Whether the driver sets modes: whether a transfer from the board reads a part of a
    /// picture, by which its node fetches the frames that it shows.
    pub fn has_outputs(&self) -> bool {
        let reads = |it: &&Ioctl| it.does == Does::FromBoard;
        self.ioctls()
            .filter(reads)
            .any(|it| self.has_role(&it.argument, &Role::Width))
    }

    fn has_role(&self, name: &str, role: &Role) -> bool {
        let fields = self.structs.get(name).map(|it| it.fields.iter());
        fields.into_iter().flatten().any(|(_, field)| {
            let inner = match &field.ty {
                Type::Struct(inner) => self.has_role(inner, role),
                Type::Numbers(..) => false,
            };
            inner || field.role == *role
        })
    }

    /// The ioctls, by number.
    pub fn ioctls(&self) -> impl Iterator<Item = &Ioctl> {
        self.ioctls.values()
    }

    /// The kernel's function that executes an ioctl, with the arguments of
    /// `drm_ioctl_t` (Linux, `include/drm/drm_ioctl.h`): the device, a copy of the
    /// argument, the open file.
    pub fn function(&self, ioctl: &Ioctl) -> String {
        self.functions.replace("{}", &ioctl.name.to_lowercase())
    }

    /// An ioctl's name in the header.
    pub fn request(&self, ioctl: &Ioctl) -> String {
        let prefix = match self.device {
            Some(_) => "",
            None => "DRM_IOCTL_",
        };
        format!("{prefix}{}_{}", self.infix, ioctl.name)
    }

    /// An ioctl's name for people: what the header has, without `DRM_IOCTL_`.
    pub fn shown(&self, ioctl: &Ioctl) -> String {
        format!("{}_{}", self.infix, ioctl.name)
    }

    /// The ioctl of a number, from `DRM_COMMAND_BASE`.
    pub fn ioctl(&self, number: u32) -> Option<&Ioctl> {
        self.ioctls.get(&number)
    }

    /// The structures, by name.
    pub fn structs(&self) -> impl Iterator<Item = &Struct> {
        self.structs.values()
    }

    /// The structure of a name.
    pub fn structure(&self, name: &str) -> Option<&Struct> {
        self.structs.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refused;
    use std::collections::BTreeSet;

    const LITTLE: &str = r#"
        driver = "sample"
        api = 99
        description = "a sample"
        version = [1, 0, 0]
        header = "sample.h"
        functions = "sample_{}"
        addresses = "none"
        [structs]
        pair = ["u32 one", "u32 two"]
        all = ["u32 first", "u64 wide: pair[first]", "pair inner", "u32 last"]
        [ioctls]
        DO = { number = 1, access = "w", argument = "all", does = "start" }
    "#;

    #[test]
    fn structures_are_laid_out_as_c_has_them() {
        let table = Table::parse(LITTLE).unwrap();
        let all = table.structure("all").unwrap();
        let offsets: Vec<_> = all.fields.iter().map(|(offset, _)| *offset).collect();
        assert_eq!((offsets, all.size), (vec![0, 8, 16, 24], 32));
        assert_eq!(table.infix, "SAMPLE");
        assert!(table.processors.is_empty());
    }

    #[test]
    fn a_gpu_has_processors_by_their_numbers() {
        let with = |names: &str| {
            let line = format!("addresses = \"none\"\nprocessors = [{names}]");
            Table::parse(&LITTLE.replace("addresses = \"none\"", &line))
        };
        let table = with(r#""geometry", "pixel""#).unwrap();
        assert_eq!(table.processors, ["geometry", "pixel"]);
        let many = with(&r#""one", "#.repeat(9)).unwrap_err();
        assert_eq!(many, TableError::Processors(9));
    }

    #[test]
    fn roles_say_what_the_driver_refuses() {
        let role = |text: &str| {
            let text = LITTLE.replace("u32 last", &format!("u32 last: {text}"));
            let all = Table::parse(&text)?.structure("all").unwrap().clone();
            Ok(all.fields[3].1.role.clone())
        };
        let sizes = vec![vec![24], vec![272, 312]];
        for (text, wanted) in [
            ("count", Role::Count(Counts::Any)),
            ("count not 0", Role::Count(Counts::NotZero)),
            (
                "count 24, 272 or 312 by first",
                Role::Count(Counts::Of("first".into(), sizes)),
            ),
            ("context", Role::Context(Refused::NoEntry)),
            ("context else EINVAL", Role::Context(Refused::Invalid)),
            ("out sync else ENODEV", Role::SyncOut(Refused::NoDevice)),
            ("writes 0x2", Role::Writes(2)),
            (
                "flags 0x3 heap 0x2 with 0x1",
                Role::Heap {
                    known: 3,
                    heap: 2,
                    with: 1,
                },
            ),
        ] {
            assert_eq!(role(text), Ok(wanted), "{text}");
        }
        for wrong in ["context else EIO", "count 1", "count 1 by none", "writes"] {
            let error: Result<_, TableError> = role(wrong);
            assert!(error.is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_driver_that_is_no_drm_driver_has_a_device() {
        let sample = crate::table(crate::FOR_TESTS).unwrap();
        let device = sample.device.as_ref().unwrap();
        assert_eq!((&*device.name, device.letter), ("sample_gpu0", 'T'));
        assert!(sample.is_for_tests && crate::names().all(|name| name != sample.driver));
        assert_eq!(sample.request(sample.ioctl(1).unwrap()), "SAMPLE_GPU_ALLOC");
        let half = LITTLE.replace("addresses", "device = \"a\"\naddresses");
        assert_eq!(Table::parse(&half).unwrap_err(), TableError::Device);
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said() {
        for (from, to, sentence) in [
            ("pair inner", "pear inner", "a field names pear"),
            ("pair[first]", "pair[count]", "all.wide names count"),
            ("pair[first]", "pear[first]", "all.wide names pear"),
            ("u32 last", "u31 last", "a field names u31"),
            ("u32 last", "u32 last: lost", "no such role"),
            ("u32 last", "u32", "it has no name"),
            ("number = 1", "number = 96", "0x60"),
            (
                r#"argument = "all""#,
                r#"argument = "none""#,
                "DO names none",
            ),
            (r#"access = "w""#, r#"access = "x""#, "does not parse"),
            ("pair inner", "all inner", "a field names all"),
        ] {
            let error = Table::parse(&LITTLE.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(sentence), "{error}");
        }
        let unknown = crate::table("voodoo").unwrap_err().to_string();
        assert!(unknown.contains("lima, panfrost, virtio_gpu"), "{unknown}");
    }

    #[test]
    fn a_driver_whose_transfers_have_a_size_sets_modes() {
        let with: Vec<_> = crate::names()
            .filter(|name| crate::table(name).unwrap().has_outputs())
            .collect();
        assert_eq!(with, ["virtio_gpu"]);
    }

    #[test]
    fn every_driver_has_its_table_and_its_api() {
        let mut apis = BTreeSet::new();
        for name in crate::names().chain([crate::FOR_TESTS]) {
            let table = crate::table(name).unwrap();
            assert_eq!(table.driver, name);
            assert!(
                apis.insert(table.api),
                "{name}: another has API {}",
                table.api
            );
            assert!(table.ioctls().any(|it| it.does == Does::Start), "{name}");
        }
    }
}
