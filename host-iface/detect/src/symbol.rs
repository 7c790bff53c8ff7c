//! Functions in the symbol tables of ELF files: kernel images, modules, shared
//! libraries, programs; 32 and 64 bit, either byte order.

use super::dwarf::Dwarf;
use object::read::{File, Symbol};
use object::{
    Architecture, Object, ObjectKind, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind,
};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A function in an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// Its virtual address as linked; in a relocatable file (a kernel module)
    /// its offset in its section. Without the Thumb bit.
    pub address: u64,
    /// Bytes; 0 if the file does not say.
    pub size: u64,
    /// Index of its section, if it has one.
    pub section: Option<usize>,
}

/// An ELF file, or a symbol in it, that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SymbolError {
    /// It cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// It is no ELF file, or a damaged one.
    #[error("no usable ELF file: {0}")]
    Elf(#[from] object::Error),
    /// No such function.
    #[error("the ELF file has no function {name}{}", or_suggestion(near))]
    Unknown {
        /// Its name.
        name: String,
        /// Names that are alike.
        near: Vec<String>,
    },
    /// It is not in what a program has in memory.
    #[error("the function {0} is in no loadable part of the ELF file")]
    NotLoaded(String),
    /// Several of the same name at different addresses.
    #[error("the ELF file has {count} functions {name}: the name does not say which")]
    Ambiguous {
        /// The name.
        name: String,
        /// The number of functions with this name.
        count: usize,
    },
}

/// An ELF file's symbols.
#[derive(Debug)]
pub struct Symbols<'data> {
    file: File<'data>,
}

/// The bytes of a file.
///
/// # Errors
/// [`SymbolError::File`].
pub fn read(path: &Path) -> Result<Vec<u8>, SymbolError> {
    let path = path.to_path_buf();
    std::fs::read(&path).map_err(|error| SymbolError::File { path, error })
}

/// Names shown of those that are like a wrong one.
const NEAR: usize = 3;

/// The names most like `name`, best first.
pub fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let likeness = |other: &str| strsim::jaro_winkler(name, other);
    let mut found: Vec<_> = names
        .filter(|other| other.len().abs_diff(name.len()) <= 8)
        .map(|other| (likeness(other), other))
        .filter(|(likeness, _)| *likeness > 0.9)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    found.dedup();
    found.truncate(NEAR);
    found.into_iter().map(|(_, other)| other.into()).collect()
}

/// The end of a sentence about a wrong name.
pub(super) fn suggestion(near: &[String]) -> String {
    match near.split_last() {
        None => String::new(),
        Some((last, [])) => format!(": did you mean {last}?"),
        Some((last, rest)) => format!(": did you mean {} or {last}?", rest.join(", ")),
    }
}

/// The same, where an ELF file may lack names.
fn or_suggestion(near: &[String]) -> String {
    match near.is_empty() {
        true => ": is it the right file, and not stripped?".into(),
        false => suggestion(near),
    }
}

impl<'data> Symbols<'data> {
    /// Reads an ELF file's tables.
    ///
    /// # Errors
    /// [`SymbolError::Elf`].
    pub fn parse(bytes: &'data [u8]) -> Result<Self, SymbolError> {
        let file = File::parse(bytes)?;
        Ok(Self { file })
    }

    /// The function of that name, in the full table or the dynamic one.
    ///
    /// # Errors
    /// [`SymbolError::Unknown`], [`SymbolError::Ambiguous`].
    pub fn function(&self, name: &str) -> Result<Function, SymbolError> {
        let found: BTreeSet<Function> = self
            .functions()
            .filter(|symbol| symbol.name_bytes() == Ok(name.as_bytes()))
            .map(|symbol| self.describe(&symbol))
            .collect();
        match (found.len(), found.first()) {
            (_, None) => Err(SymbolError::Unknown {
                name: name.into(),
                near: near(name, self.functions().filter_map(|one| one.name().ok())),
            }),
            (1, Some(&function)) => Ok(function),
            (count, _) => Err(SymbolError::Ambiguous {
                name: name.into(),
                count,
            }),
        }
    }

    fn functions(&self) -> impl Iterator<Item = Symbol<'data, '_>> {
        let all = self.file.symbols().chain(self.file.dynamic_symbols());
        all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
    }

    fn describe<'file>(&self, symbol: &impl ObjectSymbol<'file>) -> Function {
        let thumb = u64::from(self.file.architecture() == Architecture::Arm);
        Function {
            address: symbol.address() & !thumb,
            size: symbol.size(),
            section: symbol.section_index().map(|index| index.0),
        }
    }

    /// Whether addresses are offsets in sections: an object or a module.
    pub fn is_relocatable(&self) -> bool {
        self.file.kind() == ObjectKind::Relocatable
    }

    /// Whether a program can only be loaded at the addresses that it was
    /// linked for.
    pub fn is_fixed(&self) -> bool {
        self.file.kind() == ObjectKind::Executable
    }

    /// What of the file is loaded in this range of addresses, by the part that
    /// holds `address`: the first address, and the bytes.
    pub fn loaded(&self, range: Range<u64>, address: u64) -> Option<(u64, &'data [u8])> {
        self.file.segments().find_map(|segment| {
            let data = segment.data().ok()?;
            let start = segment.address();
            let end = start.checked_add(data.len() as u64)?;
            (start..end).contains(&address).then_some(())?;
            let (from, to) = (range.start.max(start), range.end.min(end));
            let place = |at: u64| usize::try_from(at - start).ok();
            Some((from, data.get(place(from)?..place(to)?)?))
        })
    }

    /// What the file says for debuggers.
    pub fn debug_information(&self) -> Dwarf<'data> {
        Dwarf::parse(&self.file)
    }

    /// Where in the file the byte at that address stands.
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        self.file.segments().find_map(|segment| {
            let (offset, size) = segment.file_range();
            let within = address.checked_sub(segment.address())?;
            (within < size).then(|| offset.checked_add(within))?
        })
    }

    /// The file's architecture.
    pub fn architecture(&self) -> Architecture {
        self.file.architecture()
    }

    /// A function's bytes in the file, and which of them a loader changes.
    ///
    /// # Errors
    /// [`SymbolError::Elf`] if they lie outside of the file.
    pub fn code(&self, function: Function) -> Result<Code, SymbolError> {
        let index = object::SectionIndex(function.section.unwrap_or(0));
        let section = self.file.section_by_index(index)?;
        let start = match self.is_relocatable() {
            true => function.address,
            false => function.address.wrapping_sub(section.address()),
        };
        let data = section.data()?;
        let range = usize::try_from(start).ok().and_then(|start| {
            let end = start.checked_add(usize::try_from(function.size).ok()?)?;
            data.get(start..end)
        });
        let bytes = range.unwrap_or_default().to_vec();
        let mut relocated = vec![false; bytes.len()];
        for (at, _) in section.relocations() {
            // Every relocation of code changes one instruction, or up to
            // 8 bytes of data, which are not among instructions here.
            let first = at.wrapping_sub(start) & !3;
            let first = usize::try_from(first).unwrap_or(usize::MAX);
            if let Some(word) = relocated.get_mut(first..first.saturating_add(4)) {
                word.fill(true);
            }
        }
        Ok(Code {
            bytes,
            relocated,
            align: section.align().max(1),
        })
    }
}

/// A function's machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// As in the file.
    pub bytes: Vec<u8>,
    /// Whether a loader changes the byte.
    pub relocated: Vec<bool>,
    /// Its section's alignment.
    pub align: u64,
}

impl Code {
    /// Whether `found`, the same number of bytes from a running guest or fewer
    /// from the beginning, is this code.
    pub fn matches(&self, found: &[u8]) -> bool {
        let ours = self.bytes.iter().zip(&self.relocated);
        found.len() <= self.bytes.len()
            && ours
                .zip(found)
                .all(|((byte, relocated), found)| *relocated || byte == found)
    }

    /// Bytes that no loader changes.
    pub fn fixed(&self) -> usize {
        self.relocated
            .iter()
            .filter(|relocated| !**relocated)
            .count()
    }
}
