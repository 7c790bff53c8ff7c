//! A function of a program or shared library, recognised by its page.

use crate::btf::Parameter;
use crate::symbol::{Function, SymbolError, Symbols};
use gil_uapi::VirtualAddress;
use object::Architecture;
use std::ops::RangeInclusive;

/// The smallest page: what a file is mapped by.
const PAGE: u64 = 4096;

/// A function's page, as the file has it. Code is mapped from the file and not
/// changed, since AArch64 and AArch32 programs keep what a loader changes in
/// their data.
#[derive(Debug)]
pub struct ProcessCode {
    /// Its virtual address as linked.
    pub entry: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// It cannot be loaded elsewhere.
    pub is_fixed: bool,
    /// Its code is AArch32.
    pub is_32bit: bool,
    /// Its parameters, where the file has debug information.
    pub parameters: Option<Vec<Parameter>>,
    /// Bytes of the page, from `skip` on.
    page: Vec<u8>,
    skip: u64,
}

impl ProcessCode {
    /// The function of that name in an ELF file.
    ///
    /// # Errors
    /// [`SymbolError`] if there is none, or if it is no code.
    pub fn parse(bytes: &[u8], function: &str) -> Result<Self, SymbolError> {
        let symbols = Symbols::parse(bytes)?;
        let Function { address, .. } = symbols.function(function)?;
        let start = address & !(PAGE - 1);
        let code = symbols.loaded(start..start.saturating_add(PAGE), address);
        let place = code.zip(symbols.file_offset(address));
        let ((from, page), offset) =
            place.ok_or_else(|| SymbolError::NotLoaded(function.into()))?;
        Ok(Self {
            entry: address,
            offset,
            is_fixed: symbols.is_fixed(),
            is_32bit: symbols.architecture() == Architecture::Arm,
            parameters: symbols.debug_information().parameters(address),
            page: page.to_vec(),
            skip: from - start,
        })
    }

    /// Where the function's entry is among the code at these addresses.
    pub fn find(
        &self,
        code: &RangeInclusive<VirtualAddress>,
        read: impl Fn(VirtualAddress, &mut [u8]) -> bool,
    ) -> Option<VirtualAddress> {
        let page = |address: &VirtualAddress| address.0 & !(PAGE - 1);
        let mut pages = vec![page(code.start()), page(code.end())];
        pages.dedup();
        let entries = pages.into_iter();
        let entries = entries.map(|page| VirtualAddress(page | (self.entry % PAGE)));
        entries
            .filter(|entry| code.contains(entry))
            .filter(|&entry| !self.is_fixed || entry.0 == self.entry)
            .find(|&entry| self.is_entry(entry, &read))
    }

    /// Whether the code at `address` is the function's entry.
    pub fn is_entry(
        &self,
        address: VirtualAddress,
        read: impl Fn(VirtualAddress, &mut [u8]) -> bool,
    ) -> bool {
        let page = address.0 & !(PAGE - 1);
        let mut found = vec![0; self.page.len()];
        read(VirtualAddress(page + self.skip), &mut found) && found == self.page
    }
}
