//! Finds where the guest's kernel loaded a module, by one function's own
//! bytes: no symbol of the kernel and no help from the guest is needed.
//!
//! The function must be unlike any other (`gil_doorbell` has constants for
//! that) and must not be traced or patched at run time.

use super::marker::is_kernel_address;
use super::symbol::{self, Code, SymbolError, Symbols};
use gil_uapi::VirtualAddress;
use std::path::Path;
use std::sync::Mutex;

/// Fewest bytes by which a function can be recognised.
const MIN_FIXED: usize = 32;

/// A function of a kernel module that will be loaded somewhere.
#[derive(Debug)]
pub struct ModuleCode {
    code: Code,
    /// Offset of the function in its section.
    offset: u64,
    /// The addresses at which it was found.
    entries: Mutex<Vec<VirtualAddress>>,
}

/// A module that cannot be looked for.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// Its ELF file.
    #[error(transparent)]
    Symbol(#[from] SymbolError),
    /// The file is no module.
    #[error(
        "the file is a linked program or library, not a kernel module: give the guest's gil.ko"
    )]
    NotAModule,
    /// Too few bytes.
    #[error(
        "the function {name} has only {fixed} bytes by which to recognise it, {MIN_FIXED} are needed"
    )]
    TooShort {
        /// The function.
        name: String,
        /// Its bytes that no loader changes.
        fixed: usize,
    },
}

impl ModuleCode {
    /// The function `name` of the module file `path`.
    ///
    /// # Errors
    /// [`ModuleError`].
    pub fn open(path: &Path, name: &str) -> Result<Self, ModuleError> {
        Self::parse(&symbol::read(path)?, name)
    }

    /// The function `name` of a module file's bytes.
    ///
    /// # Errors
    /// [`ModuleError`].
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, ModuleError> {
        let symbols = Symbols::parse(bytes)?;
        let function = symbols.function(name)?;
        if !symbols.is_relocatable() {
            return Err(ModuleError::NotAModule);
        }
        let code = symbols.code(function)?;
        let fixed = code.fixed();
        if fixed < MIN_FIXED {
            let name = name.into();
            return Err(ModuleError::TooShort { name, fixed });
        }
        Ok(Self {
            code,
            offset: function.address,
            entries: Mutex::default(),
        })
    }

    /// Whether the guest's code at `address`, of which `beginning` is known,
    /// may be the function's.
    pub fn may_begin(&self, address: VirtualAddress, beginning: &[u8]) -> bool {
        let len = beginning.len().min(self.code.bytes.len());
        self.may_be_at(address) && self.code.matches(&beginning[..len])
    }

    /// Whether the guest's code at `address` is the function's entry.
    /// `beginning` is what is known of it, `read` reads guest code.
    pub fn is_entry(
        &self,
        address: VirtualAddress,
        beginning: &[u8],
        read: impl FnOnce(VirtualAddress, &mut [u8]) -> bool,
    ) -> bool {
        if !self.may_begin(address, beginning) {
            return false;
        }
        let mut entries = self.entries.lock().unwrap_or_else(|e| e.into_inner());
        let known = entries.contains(&address);
        let is_entry = known || self.is_whole(address, beginning, read);
        if is_entry && !known {
            tracing::info!("the module's section lies at {}", self.section(address));
            entries.push(address);
        }
        is_entry
    }

    fn is_whole(
        &self,
        address: VirtualAddress,
        beginning: &[u8],
        read: impl FnOnce(VirtualAddress, &mut [u8]) -> bool,
    ) -> bool {
        let beginning = &beginning[..beginning.len().min(self.code.bytes.len())];
        let mut rest = vec![0; self.code.bytes.len() - beginning.len()];
        let from = address.checked_add(beginning.len() as u64);
        let known = rest.is_empty() || from.is_some_and(|from| read(from, &mut rest));
        known && self.code.matches(&[beginning, &rest].concat())
    }

    /// A kernel address, at the place in a page that the section's alignment
    /// allows.
    fn may_be_at(&self, address: VirtualAddress) -> bool {
        let page = self.code.align.min(4096);
        is_kernel_address(address) && self.section(address).0.is_multiple_of(page)
    }

    /// Where the section lies whose function begins at `entry`.
    fn section(&self, entry: VirtualAddress) -> VirtualAddress {
        VirtualAddress(entry.0.wrapping_sub(self.offset))
    }

    /// Where the function's section was found, at every load of the module.
    pub fn load_addresses(&self) -> Vec<VirtualAddress> {
        let entries = self.entries.lock().unwrap_or_else(|e| e.into_inner());
        entries.iter().map(|&entry| self.section(entry)).collect()
    }
}
