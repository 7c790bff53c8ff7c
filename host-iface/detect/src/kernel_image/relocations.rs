//! A kernel's link address.
//!
//! A relocatable kernel (`CONFIG_RELOCATABLE`, which KASLR needs) has its pointers in
//! relocation entries, and zeros in their places. The entry for the word with the base
//! of KALLSYMS contains both the word's address and its value. A kernel with packed
//! relocations (RELR) or none has the value in place.

use super::u64_at;
use crate::marker::is_kernel_address;
use gil_uapi::VirtualAddress;
use std::collections::BTreeSet;

/// `R_AARCH64_RELATIVE`, as the second word of an `Elf64_Rela`.
const RELATIVE: u64 = 1027;
/// A kernel's alignment at least.
const ALIGN: u64 = 64 << 10;
/// What the kernel is aligned to in virtual memory since Linux 5.10:
/// `MIN_KIMG_ALIGN`.
const IMAGE_ALIGN: u64 = 2 << 20;
/// Candidates that are weighed.
const MOST: usize = 1024;

/// A kernel's addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Virtual address of the Image's first byte.
    pub base: u64,
    /// The base of KALLSYMS' offsets.
    pub relative_base: u64,
}

/// Where the kernel lies, of which the word at `at` is KALLSYMS' base.
pub fn place(bytes: &[u8], at: usize, memory: u64) -> Option<Place> {
    match u64_at(bytes, at)? {
        0 => relocated(bytes, at as u64, memory),
        relative_base if is_kernel_address(VirtualAddress(relative_base)) => Some(Place {
            base: relative_base & !(IMAGE_ALIGN - 1),
            relative_base,
        }),
        _ => None,
    }
}

fn relocated(bytes: &[u8], at: u64, memory: u64) -> Option<Place> {
    let fits = |&(place, value): &(u64, u64)| {
        let base = place.wrapping_sub(at);
        is_kernel_address(VirtualAddress(base))
            && base.is_multiple_of(ALIGN)
            && value.wrapping_sub(base) < memory.min(IMAGE_ALIGN)
    };
    let candidates: BTreeSet<Place> = entries(bytes)
        .filter(fits)
        .take(MOST)
        .map(|(place, relative_base)| Place {
            base: place.wrapping_sub(at),
            relative_base,
        })
        .collect();
    let weigh = |place: &&Place| match candidates.len() {
        1 => 0,
        // So few that each may be compared with every entry.
        2..=16 => votes(bytes, place.base, memory),
        _ => 0,
    };
    let best = candidates.iter().max_by_key(weigh)?;
    (candidates.len() <= 16).then_some(*best)
}

/// Entries that are all in the kernel, if it lies at `base`.
fn votes(bytes: &[u8], base: u64, memory: u64) -> usize {
    let len = bytes.len() as u64;
    let is_inside = |&(place, value): &(u64, u64)| {
        place.wrapping_sub(base) < len && value.wrapping_sub(base) < memory
    };
    entries(bytes).filter(is_inside).count()
}

/// Everything that looks like an entry: place and value.
fn entries(bytes: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    (0..bytes.len().saturating_sub(23))
        .step_by(8)
        .filter(|at| u64_at(bytes, at + 8) == Some(RELATIVE))
        .filter_map(|at| Some((u64_at(bytes, at)?, u64_at(bytes, at + 16)?)))
}
