//! GPU address to guest physical address, through the tables that the driver keeps in RAM.

mod directory;
mod format;
mod lpae;

use crate::memory::GuestMemory;
use serde::{Deserialize, Serialize};

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Fetches a shader's instructions.
    Execute,
}

/// An address space's tables, as its MMU latched them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Tables {
    /// Every access faults.
    #[default]
    Unmapped,
    /// GPU addresses are guest physical addresses.
    Identity,
    /// Midgard: four levels of 512 entries of 8 bytes, as `io-pgtable-arm.c` builds them
    /// for `ARM_MALI_LPAE`.
    Lpae {
        /// Guest physical address of the first level.
        root: u64,
    },
    /// Utgard: a page directory and page tables of 1024 entries of 4 bytes, as `lima_vm.c`
    /// builds them.
    Directory {
        /// Guest physical address of the page directory.
        root: u32,
    },
}

impl Tables {
    /// Translates one address. Reads at most four table entries, whatever they hold.
    ///
    /// # Errors
    ///
    /// The fault that the hardware raises.
    pub fn translate(
        self,
        address: u64,
        access: Access,
        memory: &dyn GuestMemory,
    ) -> Result<Translation, Fault> {
        match self {
            Self::Unmapped => Err(Fault::new(FaultKind::Unmapped, address, access)),
            Self::Identity => Ok(Translation::at(address, address, 4096)),
            Self::Lpae { root } => lpae::LPAE.walk(root & lpae::ADDRESS, address, access, memory),
            Self::Directory { root } => {
                let root = u64::from(root) & directory::ADDRESS;
                directory::DIRECTORY.walk(root, address, access, memory)
            }
        }
    }

    /// All that is mapped, by GPU address; neighbours that continue each other are one.
    /// Tables that were not to be read, beyond `most` or not in memory, are left out. Of
    /// [`Tables::Identity`] and [`Tables::Unmapped`] there is no list.
    pub fn mappings(self, most: usize, memory: &dyn GuestMemory) -> Mappings {
        match self {
            Self::Lpae { root } => lpae::LPAE.mappings(root & lpae::ADDRESS, most, memory),
            Self::Directory { root } => {
                let root = u64::from(root) & directory::ADDRESS;
                directory::DIRECTORY.mappings(root, most, memory)
            }
            Self::Unmapped | Self::Identity => Mappings {
                list: Vec::new(),
                complete: self == Self::Unmapped,
            },
        }
    }
}

/// What may be done to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights {
    /// Data may be read.
    pub read: bool,
    /// Data may be written.
    pub write: bool,
    /// Instructions may be fetched.
    pub execute: bool,
}

impl Rights {
    /// Whether an access is allowed.
    pub fn allow(self, access: Access) -> bool {
        match access {
            Access::Read => self.read,
            Access::Write => self.write,
            Access::Execute => self.execute,
        }
    }
}

/// GPU addresses that are mapped to neighbouring guest addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The first GPU address.
    pub address: u64,
    /// Its guest physical address.
    pub guest: u64,
    /// How many bytes.
    pub bytes: u64,
    /// What may be done to them.
    pub rights: Rights,
}

/// All mappings of an address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mappings {
    /// By GPU address.
    pub list: Vec<Mapping>,
    /// Whether every table could be read.
    pub complete: bool,
}

impl Mappings {
    fn add(&mut self, next: Mapping) {
        match self.list.last_mut() {
            Some(last)
                if last.rights == next.rights
                    && last.address + last.bytes == next.address
                    && last.guest + last.bytes == next.guest =>
            {
                last.bytes += next.bytes;
            }
            _ => self.list.push(next),
        }
    }
}

/// Where a GPU address lies in the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Guest physical address.
    pub address: u64,
    /// How many bytes from there on are in the same page or block.
    pub bytes: u64,
}

impl Translation {
    /// `address` in the page or block of `size` bytes, a power of two, that lies at `base`.
    pub(crate) fn at(base: u64, address: u64, size: u64) -> Self {
        let inside = address & (size - 1);
        Self {
            address: (base & !(size - 1)) | inside,
            bytes: size - inside,
        }
    }
}

/// Why an access failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FaultKind {
    /// The address space has no tables.
    Unmapped,
    /// No entry at this level of the tables, the first being 1.
    Translation(u8),
    /// An entry at this level forbids the access.
    Permission(u8),
    /// The table of this level is not in memory.
    TableBus(u8),
}

/// A failed access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fault {
    /// Why.
    pub kind: FaultKind,
    /// The GPU address of the access.
    pub address: u64,
    /// What the access was to do.
    pub access: Access,
}

impl Fault {
    /// A fault of `kind`.
    pub fn new(kind: FaultKind, address: u64, access: Access) -> Self {
        Self {
            kind,
            address,
            access,
        }
    }
}
