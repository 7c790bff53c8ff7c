//! A raw arm64 kernel `Image`: where it runs, and its functions, read from the
//! tables that the kernel itself carries for its back traces (KALLSYMS). No
//! debug package is needed.
//!
//! The tables are found by their structure, which `scripts/kallsyms.c` of Linux 5.10
//! to 6.18 writes. Without `CONFIG_KALLSYMS_ALL` (Debian) they contain functions only,
//! no data.
//!
//! Other files are refused in time proportional to their size.

pub mod elf;
mod kallsyms;
mod relocations;

use super::symbol::{self, SymbolError};
use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// Where the Image header says its memory's size, its magic, EFI its payload.
/// Source: Linux, `Documentation/arch/arm64/booting.rst`; `zboot-header.S`.
mod header {
    pub const SIZE: usize = 16;
    pub const MAGIC: usize = 56;
    pub const LEN: usize = 64;
    pub const IMAGE: &[u8] = b"ARM\x64";
    pub const ELF: &[u8] = b"\x7fELF";
    pub const GZIP: &[u8] = &[0x1f, 0x8b, 8];
    pub const ZBOOT: usize = 4;
    pub const ZBOOT_MAGIC: &[u8] = b"zimg";
    pub const ZBOOT_PAYLOAD: usize = 8;
    pub const ZBOOT_KIND: Range<usize> = 24..56;
    use std::ops::Range;
}

/// Largest kernel that is looked at, packed or not.
const MAX_BYTES: u64 = 512 << 20;

/// Functions without which gem5's Linux support cannot skip the kernel's
/// busy-waits and read its device tree.
pub const GEM5_NEEDS: [&str; 3] = ["unflatten_device_tree", "__udelay", "__const_udelay"];

/// The file is not an arm64 kernel, or lacks something that is needed.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] SymbolError),
    /// Larger than any kernel.
    #[error("the file has more than {} MiB, or unpacks to that: is it a kernel?", MAX_BYTES >> 20)]
    TooLarge,
    /// Compressed with something other than gzip.
    #[error(
        "the kernel is an EFI image compressed with {0}: give the raw Image that its build made (arch/arm64/boot/Image)"
    )]
    Compressed(String),
    /// A damaged gzip file.
    #[error("the gzip-compressed kernel is damaged: {0}")]
    Gzip(std::io::Error),
    /// Another format.
    #[error(
        "the file is no arm64 Linux Image, nor an ELF file of one (byte 56 of it has no \"ARM\\x64\")"
    )]
    NotAnImage,
    /// No KALLSYMS.
    #[error(
        "the kernel has no symbol table that gil can read: it needs CONFIG_KALLSYMS and CONFIG_KALLSYMS_BASE_RELATIVE (Linux 5.10 to 6.18)"
    )]
    NoSymbols,
    /// The address it was linked for is not to be found.
    #[error("the kernel's Image does not contain its link address")]
    NoBase,
    /// A function that is needed.
    #[error("the kernel has no function {name}{}", kernel_suggestion(near))]
    Unknown {
        /// Its name.
        name: String,
        /// Names that are alike.
        near: Vec<String>,
    },
    /// Functions that gem5 needs.
    #[error(
        "the kernel has no function {}, which gem5 needs of a Linux kernel", .0.join(", ")
    )]
    Gem5(Vec<&'static str>),
    /// The ELF file cannot be written.
    #[error("the ELF file cannot be written: {0}")]
    Elf(#[from] object::write::Error),
}

/// A symbol of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSymbol {
    /// Virtual address, without KASLR.
    pub address: u64,
    /// As `nm` has it: `T` and `t` are functions, upper case is global.
    pub kind: char,
    /// Its name.
    pub name: Box<str>,
}

/// Names that are alike, or where all are.
fn kernel_suggestion(near: &[String]) -> String {
    match near.is_empty() {
        true => ": `gil kernel --symbols` lists those that it has".into(),
        false => symbol::suggestion(near),
    }
}

impl KernelSymbol {
    /// Whether it is code.
    pub fn is_function(&self) -> bool {
        matches!(self.kind, 'T' | 't' | 'W' | 'w')
    }
}

/// An arm64 kernel.
#[derive(Debug)]
pub struct KernelImage {
    bytes: Vec<u8>,
    base: u64,
    memory: u64,
    symbols: Vec<KernelSymbol>,
    by_name: HashMap<Box<str>, Vec<usize>>,
}

impl KernelImage {
    /// Reads a kernel: an Image, one packed with gzip, or the ELF file
    /// (`vmlinux`) that a simulator loads.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn open(path: &Path) -> Result<Self, ImageError> {
        let size = std::fs::metadata(path).map(|meta| meta.len());
        if size.is_ok_and(|size| size > MAX_BYTES) {
            return Err(ImageError::TooLarge);
        }
        Self::parse(symbol::read(path)?)
    }

    /// The kernel in these bytes.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn parse(bytes: Vec<u8>) -> Result<Self, ImageError> {
        let bytes = unpack(bytes)?;
        if bytes.get(header::MAGIC..header::LEN - 4) != Some(header::IMAGE) {
            return Err(ImageError::NotAnImage);
        }
        let memory = u64_at(&bytes, header::SIZE).unwrap_or(0);
        let memory = memory.clamp(bytes.len() as u64, MAX_BYTES.max(bytes.len() as u64));
        let tables = kallsyms::find(&bytes).ok_or(ImageError::NoSymbols)?;
        let placed = tables.offsets.iter().find_map(|offsets| {
            let place = relocations::place(&bytes, offsets.base_at, memory)?;
            Some((offsets, place))
        });
        let (offsets, place) = placed.ok_or(ImageError::NoBase)?;
        let symbols = tables.symbols(&bytes, offsets, place.relative_base);
        let mut by_name = HashMap::<_, Vec<_>>::new();
        for (index, symbol) in symbols.iter().enumerate() {
            by_name.entry(symbol.name.clone()).or_default().push(index);
        }
        Ok(Self {
            bytes,
            base: place.base,
            memory,
            symbols,
            by_name,
        })
    }

    /// The Image's bytes, unpacked.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Virtual address of its first byte, `_text`, without KASLR.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Virtual addresses that it takes, data without contents included.
    pub fn addresses(&self) -> Range<u64> {
        self.base..self.base.saturating_add(self.memory)
    }

    /// All symbols, by rising address.
    pub fn symbols(&self) -> &[KernelSymbol] {
        &self.symbols
    }

    /// Entries of the functions of that name; several files of the kernel may
    /// have a static function of the same name.
    ///
    /// # Errors
    /// [`ImageError::Unknown`], with names that are alike.
    pub fn function(&self, name: &str) -> Result<Vec<u64>, ImageError> {
        let indices = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let found = indices.iter().filter_map(|&index| self.symbols.get(index));
        let mut entries: Vec<u64> = found
            .filter(|symbol| symbol.is_function())
            .map(|symbol| symbol.address)
            .collect();
        entries.dedup();
        if entries.is_empty() {
            let names = self.symbols.iter().filter(|symbol| symbol.is_function());
            let near = symbol::near(name, names.map(|symbol| &*symbol.name));
            let name = name.into();
            return Err(ImageError::Unknown { name, near });
        }
        Ok(entries)
    }

    /// The symbol that an address lies in.
    pub fn symbol_at(&self, address: u64) -> Option<&KernelSymbol> {
        let after = self.symbols.partition_point(|one| one.address <= address);
        self.symbols.get(after.checked_sub(1)?)
    }
}

fn unpack(bytes: Vec<u8>) -> Result<Vec<u8>, ImageError> {
    let at = |range: Range<usize>| bytes.get(range).unwrap_or_default();
    if at(header::ZBOOT..header::ZBOOT + 4) == header::ZBOOT_MAGIC {
        return unpack_zboot(&bytes);
    }
    if at(0..header::GZIP.len()) == header::GZIP {
        return gunzip(&bytes);
    }
    if at(0..header::ELF.len()) == header::ELF {
        return elf::flatten(&bytes);
    }
    match bytes.len() as u64 > MAX_BYTES {
        true => Err(ImageError::TooLarge),
        false => Ok(bytes),
    }
}

/// An EFI program that unpacks the Image it holds.
fn unpack_zboot(bytes: &[u8]) -> Result<Vec<u8>, ImageError> {
    let kind = bytes.get(header::ZBOOT_KIND).unwrap_or_default();
    let kind = kind.split(|&byte| byte == 0).next().unwrap_or_default();
    if kind != b"gzip" {
        let kind = String::from_utf8_lossy(kind).escape_debug().to_string();
        return Err(ImageError::Compressed(kind));
    }
    let word = |at| u32_at(bytes, at).map(|word| word as usize);
    let payload = word(header::ZBOOT_PAYLOAD).and_then(|start| {
        let end = start.checked_add(word(header::ZBOOT_PAYLOAD + 4)?)?;
        bytes.get(start..end)
    });
    gunzip(payload.ok_or(ImageError::NotAnImage)?)
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, ImageError> {
    let mut out = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(bytes).take(MAX_BYTES + 1);
    reader.read_to_end(&mut out).map_err(ImageError::Gzip)?;
    match out.len() as u64 > MAX_BYTES {
        true => Err(ImageError::TooLarge),
        false => Ok(out),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}
