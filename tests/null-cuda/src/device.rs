//! What the device says of itself.

use std::ffi::c_int;
use std::ops::RangeInclusive;

/// Most shared memory of a block whose function asks for it.
pub const SHARED_OPTIN: u32 = 227 << 10;
/// Its architecture: 9.0.
pub const ARCHITECTURE: u32 = 90;

/// Whether it executes code of an architecture: that of its own generation, if no newer.
pub fn executes(architecture: u32) -> bool {
    architecture / 10 == ARCHITECTURE / 10 && architecture <= ARCHITECTURE
}

/// Multiprocessors: one, if a test does not ask for more.
fn processors() -> c_int {
    let asked = std::env::var("GIL_CUDA_NULL_PROCESSORS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// A device's attribute, by its number.
pub fn attribute(name: c_int) -> Option<c_int> {
    Some(match name {
        // Threads of a block, and in each dimension.
        1..=3 => 1024,
        4 => 64,
        // Blocks.
        5 => i32::MAX,
        6 | 7 => 65535,
        // Shared memory of a block, constant memory, threads of a warp, registers.
        8 => 48 << 10,
        9 => 64 << 10,
        10 => 32,
        12 => 65536,
        // kHz.
        13 => 1_000_000,
        15 => 1,
        16 => processors(),
        // Memory that is mapped and managed; addresses and memory apart.
        19 | 83 | 102 => 1,
        // One that the guest's library answers, for a test: here it is there.
        89 => 1,
        // Threads of a multiprocessor, its blocks and registers, its shared memory and what of it a
        // block may ask for; the cache; cooperative launches, clusters.
        39 => 2048,
        106 => 32,
        82 => 65536,
        81 => 228 << 10,
        97 => SHARED_OPTIN as c_int,
        38 => 50 << 20,
        95 | 120 => 1,
        75 => (ARCHITECTURE / 10) as c_int,
        76 => (ARCHITECTURE % 10) as c_int,
        // Pools of memory; and, which the guest's library answers, handles for other processes.
        115 => 1,
        119 => 1,
        0..=200 => 0,
        _ => return None,
    })
}

/// A function's, as long as it is not set.
pub fn function_attribute(name: c_int) -> Option<c_int> {
    Some(match name {
        0 => 1024,
        4 => 32,
        5 | 6 => ARCHITECTURE as c_int,
        1..=15 => 0,
        _ => return None,
    })
}

/// What an attribute of a function may be set to (`CUfunction_attribute` of the CUDA Driver API
/// reference): the most dynamic shared memory, how much of the cache is shared memory, the
/// clusters' three sizes, whether they may be of a size that not every device has, and how they
/// are placed.
pub fn function_setting(name: c_int) -> Option<RangeInclusive<c_int>> {
    Some(match name {
        8 => 0..=SHARED_OPTIN as c_int,
        9 => -1..=100,
        11..=13 => 0..=16,
        14 => 0..=1,
        15 => 0..=2,
        _ => return None,
    })
}
