//! A module in the kernel's memory: its name, and its functions by its own
//! symbol table, which the kernel keeps for KALLSYMS.

use super::Guest;
use super::arguments::Convention;
use crate::btf::Btf;
use gil_uapi::VirtualAddress;

/// `MODULE_NAME_LEN`, with room.
const NAME: usize = 56;
/// Symbols that a module is believed to have: the largest have some 20,000.
const SYMBOLS: u32 = 1 << 18;
/// `Elf64_Sym`.
const SYMBOL: usize = 24;
const FUNCTION: u8 = 2;

/// Offsets in the kernel's structures, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Loader {
    name: u64,
    kallsyms: u64,
    symbols: u64,
    count: u64,
    strings: u64,
}

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its name, as [`name`] makes it.
    pub name: String,
    address: VirtualAddress,
}

/// A module's name as the kernel writes it.
pub fn name(text: &str) -> String {
    let name = text.rsplit('/').next().unwrap_or(text);
    name.trim_end_matches(".ko").replace('-', "_")
}

impl Loader {
    /// By the kernel's own description of its structures.
    pub fn new(types: &Btf) -> Option<Self> {
        Some(Self {
            name: types.offset("module", "name")?,
            kallsyms: types.offset("module", "kallsyms")?,
            symbols: types.offset("mod_kallsyms", "symtab")?,
            count: types.offset("mod_kallsyms", "num_symtab")?,
            strings: types.offset("mod_kallsyms", "strtab")?,
        })
    }

    /// The module that is the first argument.
    pub fn module(&self, guest: &dyn Guest) -> Option<Module> {
        let address = VirtualAddress(guest.register(0, Convention::Aarch64)?);
        let mut bytes = [0; NAME];
        let is_there = guest.read(address.checked_add(self.name)?, &mut bytes);
        is_there.then_some(())?;
        let end = bytes.iter().position(|&byte| byte == 0)?;
        let text = std::str::from_utf8(&bytes[..end]).ok()?;
        let name = name(text);
        Some(Module { name, address })
    }

    /// Entries of the module's functions of that name.
    pub fn function(
        &self,
        guest: &dyn Guest,
        module: &Module,
        function: &str,
    ) -> Vec<VirtualAddress> {
        self.entries(guest, module, function).unwrap_or_default()
    }

    fn entries(
        &self,
        guest: &dyn Guest,
        module: &Module,
        function: &str,
    ) -> Option<Vec<VirtualAddress>> {
        let field = |base: VirtualAddress, offset: u64| guest.word(base.checked_add(offset)?);
        let table = VirtualAddress(field(module.address, self.kallsyms)?);
        let symbols = VirtualAddress(field(table, self.symbols)?);
        let strings = VirtualAddress(field(table, self.strings)?);
        let count = field(table, self.count)? as u32;
        (count <= SYMBOLS).then_some(())?;
        let mut bytes = vec![0; count as usize * SYMBOL];
        guest.read(symbols, &mut bytes).then_some(())?;
        let all = bytes.chunks_exact(SYMBOL);
        let named = all.filter_map(|symbol| {
            let (name, address) = parse(symbol)?;
            let at = strings.checked_add(name.into())?;
            is_text(guest, at, function).then_some(address)
        });
        Some(named.collect())
    }
}

/// A defined function: its name's place, and its address.
fn parse(symbol: &[u8]) -> Option<(u32, VirtualAddress)> {
    let name = u32::from_le_bytes(symbol.get(..4)?.try_into().ok()?);
    let section = u16::from_le_bytes(symbol.get(6..8)?.try_into().ok()?);
    let address = u64::from_le_bytes(symbol.get(8..16)?.try_into().ok()?);
    let is_function = symbol.get(4)? & 0xf == FUNCTION && section != 0;
    is_function.then_some((name, VirtualAddress(address)))
}

fn is_text(guest: &dyn Guest, address: VirtualAddress, text: &str) -> bool {
    let mut bytes = vec![0; text.len() + 1];
    let is_there = guest.read(address, &mut bytes);
    is_there && bytes.split_last() == Some((&0, text.as_bytes()))
}
