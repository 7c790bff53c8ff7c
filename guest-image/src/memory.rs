//! The guest's memory: the part that its files need, the default size, and the limit of
//! this machine.

use crate::archive::Sizes;
use gil_run_support::cache::{At, CacheError};
use std::fs;
use std::path::Path;

/// Why a guest does not get its memory.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The guest is too small for its files.
    #[error(
        "the guest's files take {files} MiB and its memory is {memory} MiB: give it at least --memory {least}M, or leave --memory out"
    )]
    Small {
        /// Mebibytes of unpacked files.
        files: u64,
        /// Mebibytes of RAM.
        memory: u64,
        /// Mebibytes that would do.
        least: u64,
    },
    /// This machine is too small for the guest.
    #[error(
        "the guest's memory is {memory} MiB and this machine has {machine} MiB, of which {available} MiB are available: {mend}"
    )]
    Machine {
        /// Mebibytes of the guest's.
        memory: u64,
        /// Mebibytes of this machine's.
        machine: u64,
        /// Mebibytes of those that nobody uses.
        available: u64,
        /// The remedy.
        mend: &'static str,
    },
    /// This machine does not say what it has.
    #[error(transparent)]
    Unknown(#[from] CacheError),
}

/// What a guest gets unless its files need more.
pub const USUAL: u64 = 1 << 30;
/// Steps in which it gets more.
const STEP: u64 = 64 << 20;
/// What the kernel takes for itself of a small guest, with the 64 MiB that it
/// sets apart for devices' buffers and counts as its own until files are there.
const KERNEL: u64 = 192 << 20;
/// The part of all memory that the kernel's table of it takes.
const TABLE: u64 = 64;

/// What the guest gets: what was asked for, if its files find room in it, else
/// what they need.
///
/// # Errors
/// [`MemoryError`] if that is too little, or more than this machine has.
pub fn choose(asked: Option<u64>, sizes: Sizes) -> Result<u64, MemoryError> {
    let least = least(sizes);
    match asked {
        Some(memory) if memory < least => Err(MemoryError::Small {
            files: sizes.unpacked.div_ceil(1 << 20),
            memory: memory >> 20,
            least: least.div_ceil(1 << 20),
        }),
        Some(memory) => Ok(memory),
        None => {
            let memory = least.next_multiple_of(STEP).max(USUAL);
            let mend = "the guest's packages and files need it, so add fewer";
            Machine::this()?.fits(memory, mend)?;
            Ok(memory)
        }
    }
}

/// The kernel gives files half of the memory that is left beside itself and the
/// archive that it unpacks them from.
fn least(sizes: Sizes) -> u64 {
    let beside_table = sizes.archive + 2 * sizes.unpacked + KERNEL;
    beside_table + beside_table / (TABLE - 1)
}

/// Bytes that a guest can have, of which `asked` were asked for.
///
/// # Errors
/// [`MemoryError`] if this machine does not say what it has.
pub fn available(asked: Option<u64>) -> Result<u64, MemoryError> {
    asked.map_or_else(|| Ok(Machine::this()?.available), Ok)
}

/// Whether this machine has as much as was asked for.
///
/// # Errors
/// [`MemoryError::Machine`] if not.
pub fn check(asked: Option<u64>) -> Result<(), MemoryError> {
    asked.map_or(Ok(()), |memory| {
        Machine::this()?.fits(memory, "give it less with --memory")
    })
}

/// What it has, in words.
///
/// # Errors
/// [`MemoryError`] if the usual guest is too large for it.
pub fn of_this_machine() -> Result<String, MemoryError> {
    let machine = Machine::this()?;
    machine.fits(USUAL, "a guest needs that much")?;
    let Machine { total, available } = machine;
    Ok(format!(
        "{} MiB, of which {} MiB are available; a guest gets {} MiB, or what its files need",
        total >> 20,
        available >> 20,
        USUAL >> 20
    ))
}

/// Bytes of memory of a machine.
struct Machine {
    total: u64,
    available: u64,
}

impl Machine {
    fn this() -> Result<Self, MemoryError> {
        let path = Path::new("/proc/meminfo");
        Ok(Self::read(&fs::read_to_string(path).at(path)?))
    }

    fn read(meminfo: &str) -> Self {
        let total = bytes(meminfo, "MemTotal").unwrap_or(u64::MAX);
        Self {
            total,
            available: bytes(meminfo, "MemAvailable").unwrap_or(total),
        }
    }

    fn fits(&self, memory: u64, mend: &'static str) -> Result<(), MemoryError> {
        if memory <= self.total {
            return Ok(());
        }
        Err(MemoryError::Machine {
            memory: memory >> 20,
            machine: self.total >> 20,
            available: self.available >> 20,
            mend,
        })
    }
}

/// `NAME:   NUMBER kB`
fn bytes(meminfo: &str, name: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn sizes(mib: u64) -> Sizes {
        Sizes {
            archive: mib * MIB,
            unpacked: mib * MIB,
        }
    }

    #[test]
    fn a_guest_gets_what_its_files_need() {
        assert_eq!(choose(None, sizes(10)).unwrap(), USUAL);
        let needed = choose(None, sizes(700)).unwrap();
        assert!(needed > 3 * 700 * MIB && needed < 3 * 800 * MIB, "{needed}");
        choose(Some(needed), sizes(700)).unwrap();
        assert_eq!(choose(Some(512 * MIB), sizes(10)).unwrap(), 512 * MIB);
    }

    #[test]
    fn too_little_is_refused_with_what_would_do() {
        // As it was seen: with these, the kernel had no room to unpack all.
        for (files, memory) in [(889, 2804), (1400, 3072), (1800, 5120)] {
            let error = choose(Some(memory * MIB), sizes(files)).unwrap_err();
            let MemoryError::Small { least, .. } = error else {
                panic!("{error}");
            };
            choose(Some(least * MIB), sizes(files)).unwrap();
        }
    }

    #[test]
    fn more_than_the_machine_has_is_refused_with_both() {
        let meminfo = "MemTotal:       24684052 kB\nMemFree: 1 kB\nMemAvailable: 1048576 kB\n";
        let machine = Machine::read(meminfo);
        machine.fits(23 << 30, "").unwrap();
        let error = machine.fits(100 << 30, "do this").unwrap_err();
        let words =
            "102400 MiB and this machine has 24105 MiB, of which 1024 MiB are available: do this";
        assert!(error.to_string().ends_with(words), "{error}");
    }
}
