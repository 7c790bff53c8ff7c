//! BTF: structure layouts and function prototypes that a kernel's Image contains
//! (`CONFIG_DEBUG_INFO_BTF`). Format: Linux, `Documentation/bpf/btf.rst`.
//!
//! It is read in place, with one table of the offsets of types. A name belongs to a
//! kind, because a structure and a function may have the same. Following types is
//! bounded, so that cycles end.

use object::read::File;
use object::{Object, ObjectSection};
use std::collections::HashMap;
use std::ops::Range;

const MAGIC: [u8; 4] = [0x9f, 0xeb, 1, 0];
const HEADER: usize = 24;
/// Types followed from one to the next, and structures entered.
const DEPTH: usize = 32;
/// Members that are looked at for one that is asked for: structures without a
/// name may lie in each other so that there is no end.
const MEMBERS: usize = 1 << 16;
/// Bytes of the longest name: as much as the kernel takes.
const NAME: usize = 512;

/// Kinds of types, as the format numbers them.
mod kind {
    pub const INT: u8 = 1;
    pub const PTR: u8 = 2;
    pub const ARRAY: u8 = 3;
    pub const STRUCT: u8 = 4;
    pub const UNION: u8 = 5;
    pub const ENUM: u8 = 6;
    pub const TYPEDEF: u8 = 8;
    pub const VOLATILE: u8 = 9;
    pub const CONST: u8 = 10;
    pub const RESTRICT: u8 = 11;
    pub const FUNC: u8 = 12;
    pub const FUNC_PROTO: u8 = 13;
    pub const FLOAT: u8 = 16;
    pub const TYPE_TAG: u8 = 18;
    pub const ENUM64: u8 = 19;
}

/// The types that the file of a module has: as kernels are built, and as guests of gil have
/// it (`guest-image/src/kernel.rs`).
pub fn in_module(elf: &[u8]) -> Option<&[u8]> {
    let file = File::parse(elf).ok()?;
    let section = |name| file.section_by_name(name)?.data().ok();
    [".gil.types", ".BTF"].into_iter().find_map(section)
}

/// Types of a kernel, or of one of its modules.
#[derive(Debug)]
pub struct Btf {
    bytes: Vec<u8>,
    /// The tables of names, of which a module's goes on from the kernel's.
    strings: Vec<Range<usize>>,
    /// Where type 1 and the following stand.
    types: Vec<usize>,
    structures: HashMap<Box<str>, u32>,
    functions: HashMap<Box<str>, u32>,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; empty if it has none.
    pub name: String,
    /// The kind of the passed value.
    pub kind: Kind,
}

/// The kind of a passed value, as calling conventions and readers distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer or enumeration.
    Integer {
        /// Bytes, 1 to 16.
        size: u32,
        /// Whether it can be negative.
        signed: bool,
    },
    /// An address.
    Pointer,
    /// The address of characters.
    Text,
    /// A structure, union or array.
    Composite {
        /// Bytes.
        size: u32,
    },
    /// A floating-point number: in another register.
    Float,
}

struct Type {
    name: u32,
    kind: u8,
    flag: bool,
    len: usize,
    /// Size, or the type that it refers to.
    word: u32,
    /// The offset of what follows it.
    rest: usize,
}

impl Btf {
    /// The types in a kernel's Image.
    pub fn find(image: &[u8]) -> Option<Self> {
        let mut starts = (0..image.len().saturating_sub(HEADER)).step_by(4);
        starts.find_map(|at| {
            let is_start = image.get(at..at + 4) == Some(&MAGIC);
            is_start.then(|| Self::parse(&image[at..])).flatten()
        })
    }

    /// The types at the beginning of these bytes.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut this = Self {
            bytes: Vec::new(),
            strings: Vec::new(),
            types: Vec::new(),
            structures: HashMap::new(),
            functions: HashMap::new(),
        };
        this.add(bytes)?;
        let names = this.strings.first()?;
        (this.bytes.get(names.start) == Some(&0)).then_some(this)
    }

    /// The types of a module of this kernel, whose numbers go on from the kernel's.
    /// Structures and functions are found by name if they are the module's own.
    pub fn with_module(&self, bytes: &[u8]) -> Option<Self> {
        let mut this = Self {
            bytes: self.bytes.clone(),
            strings: self.strings.clone(),
            types: self.types.clone(),
            structures: HashMap::new(),
            functions: HashMap::new(),
        };
        this.add(bytes)?;
        Some(this)
    }

    /// Adds the types and names at the beginning of these bytes.
    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        let field = |at| word(bytes, at).map(|word| word as usize);
        let is_btf = bytes.get(..4) == Some(&MAGIC) && field(4) == Some(HEADER);
        is_btf.then_some(())?;
        let section = |at| {
            let start = HEADER.checked_add(field(at)?)?;
            let end = start.checked_add(field(at + 4)?)?;
            bytes.get(start..end).map(|_| start..end)
        };
        let (types, strings) = (section(8)?, section(16)?);
        let before = self.bytes.len();
        let here = |it: Range<usize>| it.start + before..it.end + before;
        let end = types.end.max(strings.end);
        self.bytes.extend_from_slice(&bytes[..end]);
        self.strings.push(here(strings));
        self.index(here(types))
    }

    fn index(&mut self, section: Range<usize>) -> Option<()> {
        let mut at = section.start;
        while at < section.end {
            let one = self.read(at)?;
            let id = self.types.len() as u32 + 1;
            self.types.push(at);
            let table = match one.kind {
                kind::STRUCT => Some(&mut self.structures),
                kind::FUNC => Some(&mut self.functions),
                _ => None,
            };
            if let Some(table) = table {
                let name: Box<str> = text(&self.bytes, &self.strings, one.name).into();
                table.entry(name).or_insert(id);
            }
            at = one.rest.checked_add(following(&one)?)?;
        }
        (at == section.end).then_some(())
    }

    fn read(&self, at: usize) -> Option<Type> {
        let info = word(&self.bytes, at + 4)?;
        Some(Type {
            name: word(&self.bytes, at)?,
            kind: (info >> 24) as u8 & 0x1f,
            flag: info >> 31 != 0,
            len: (info & 0xffff) as usize,
            word: word(&self.bytes, at + 8)?,
            rest: at + 12,
        })
    }

    fn get(&self, id: u32) -> Option<Type> {
        let index = (id as usize).checked_sub(1)?;
        self.read(*self.types.get(index)?)
    }

    /// A type without its qualifiers and other names.
    fn plain(&self, mut id: u32) -> Option<(u32, Type)> {
        for _ in 0..DEPTH {
            let one = self.get(id)?;
            match one.kind {
                kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                    id = one.word
                }
                _ => return Some((id, one)),
            }
        }
        None
    }

    /// Offset in bytes of a member such as `f_path.dentry`, whose parts may be
    /// members of unnamed structures and unions.
    pub fn offset(&self, structure: &str, path: &str) -> Option<u64> {
        let mut id = *self.structures.get(structure)?;
        let mut bits = 0_u64;
        for name in path.split('.') {
            let (offset, member) = self.member(id, name, DEPTH, &mut { MEMBERS })?;
            bits = bits.checked_add(offset)?;
            id = member;
        }
        bits.is_multiple_of(8).then_some(bits / 8)
    }

    /// Offset in bits, and type, of a member.
    fn member(&self, id: u32, name: &str, depth: usize, left: &mut usize) -> Option<(u64, u32)> {
        let depth = depth.checked_sub(1)?;
        let (_, one) = self.plain(id)?;
        matches!(one.kind, kind::STRUCT | kind::UNION).then_some(())?;
        (0..one.len).find_map(|index| {
            *left = left.checked_sub(1)?;
            let at = one.rest + 12 * index;
            let field = |back| word(&self.bytes, at + back);
            // With the flag, the upper byte is the size of a bit field.
            let mask = if one.flag { 0xff_ffff } else { u32::MAX };
            let offset = u64::from(field(8)? & mask);
            match text(&self.bytes, &self.strings, field(0)?) {
                "" => {
                    let (inner, kind) = self.member(field(4)?, name, depth, left)?;
                    Some((offset + inner, kind))
                }
                found if found == name => Some((offset, field(4)?)),
                _ => None,
            }
        })
    }

    /// A member that is a number, or a list of them: a number's bytes, 8 at most, and how
    /// many a list has.
    pub fn numbers(&self, structure: &str, path: &str) -> Option<(u32, Option<u32>)> {
        let mut id = *self.structures.get(structure)?;
        for name in path.split('.') {
            (_, id) = self.member(id, name, DEPTH, &mut { MEMBERS })?;
        }
        let (_, mut one) = self.plain(id)?;
        let mut count = None;
        if one.kind == kind::ARRAY {
            count = Some(word(&self.bytes, one.rest + 8)?);
            (_, one) = self.plain(word(&self.bytes, one.rest)?)?;
        }
        let is_number = matches!(one.kind, kind::INT | kind::ENUM | kind::PTR | kind::ENUM64);
        let size = if one.kind == kind::PTR { 8 } else { one.word };
        (is_number && (1..=8).contains(&size)).then_some((size, count))
    }

    /// The parameters of a function of the kernel.
    pub fn parameters(&self, function: &str) -> Option<Vec<Parameter>> {
        let one = self.get(*self.functions.get(function)?)?;
        let proto = self.get(one.word)?;
        (proto.kind == kind::FUNC_PROTO).then_some(())?;
        let field = |at| word(&self.bytes, at);
        let all = (0..proto.len).map(|index| {
            let at = proto.rest + 8 * index;
            Some((field(at)?, field(at + 4)?))
        });
        // A last one of type 0 stands for "…".
        let named = all.take_while(|one| !matches!(one, Some((_, 0))));
        let parameter = |one: Option<(u32, u32)>| {
            let (name, kind) = one?;
            Some(Parameter {
                name: text(&self.bytes, &self.strings, name).into(),
                kind: self.kind(kind)?,
            })
        };
        named.map(parameter).collect()
    }

    fn kind(&self, id: u32) -> Option<Kind> {
        let (_, one) = self.plain(id)?;
        let size = one.word;
        Some(match one.kind {
            kind::INT => Kind::Integer {
                size,
                signed: word(&self.bytes, one.rest)? >> 24 & 1 != 0,
            },
            kind::ENUM | kind::ENUM64 => Kind::Integer {
                size,
                signed: one.flag,
            },
            kind::PTR if self.is_character(one.word) => Kind::Text,
            kind::PTR => Kind::Pointer,
            kind::FLOAT => Kind::Float,
            kind::STRUCT | kind::UNION => Kind::Composite { size },
            // Arrays are passed by address.
            kind::ARRAY => Kind::Pointer,
            _ => return None,
        })
    }

    /// Whether it is a constant `char`: what a `const char *` points to.
    fn is_character(&self, id: u32) -> bool {
        let is_const = self.get(id).is_some_and(|one| one.kind == kind::CONST);
        let plain = self.plain(id);
        is_const
            && plain.is_some_and(|(_, one)| {
                one.kind == kind::INT && text(&self.bytes, &self.strings, one.name) == "char"
            })
    }
}

/// Bytes that follow a type's first twelve.
fn following(one: &Type) -> Option<usize> {
    Some(match one.kind {
        1 | 14 | 17 => 4,
        2 | 7..=12 | 16 | 18 => 0,
        3 => 12,
        4 | 5 | 15 | 19 => 12 * one.len,
        6 | 13 => 8 * one.len,
        _ => return None,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

fn text<'a>(bytes: &'a [u8], strings: &[Range<usize>], at: u32) -> &'a str {
    let mut at = at as usize;
    let in_it = |table: &&Range<usize>| {
        let is_here = at < table.len();
        at -= if is_here { 0 } else { table.len() };
        is_here
    };
    let table = strings.iter().find(in_it).cloned().unwrap_or_default();
    let table = bytes.get(table).unwrap_or_default();
    let text = table.get(at..).unwrap_or_default();
    let text = &text[..text.len().min(NAME)];
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(0);
    std::str::from_utf8(&text[..end]).unwrap_or_default()
}
