//! Tables of functions without names, which NVIDIA's own libraries ask `cuGetExportTable` for.
//! NVIDIA documents none of them; `docs/CUDA.md` says which slots are known, and from where.
//!
//! | module | what |
//! |---|---|
//! | here | the tables' form, and how they are found |
//! | `runtime` | what the runtime needs of contexts and modules |
//! | `storage` | what a library keeps with a context |
//! | `tools` | what debuggers and profilers would hook into |
//! | `validity` | the self-test of the runtime and the driver |
//! | `md2` | the digest that the self-test uses |

mod md2;
mod runtime;
pub mod storage;
mod tools;
mod validity;

use crate::generated::types::*;
use std::ffi::c_void;

/// A table's number.
type Id = [u8; 16];

/// A table: its size in bytes, if it begins with that, and functions.
#[derive(Debug)]
#[repr(transparent)]
struct Table<const N: usize>([*const c_void; N]);

// SAFETY: the addresses are functions' and a number; nothing is written.
unsafe impl<const N: usize> Sync for Table<N> {}

impl<const N: usize> Table<N> {
    /// A table that begins with its size, and has these functions in these slots.
    const fn sized(slots: &[(usize, *const c_void)]) -> Self {
        let mut table = Self::of(slots);
        table.0[0] = std::ptr::without_provenance(N * size_of::<*const c_void>());
        table
    }

    /// A table that has these functions in these slots.
    const fn of(slots: &[(usize, *const c_void)]) -> Self {
        let mut table = [not_there as *const c_void; N];
        let mut n = 0;
        while n < slots.len() {
            table[slots[n].0] = slots[n].1;
            n += 1;
        }
        Self(table)
    }

    fn address(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

/// What is in a slot of which nothing is known, or that is not offered.
extern "C" fn not_there() -> CUresult {
    CUDA_ERROR_NOT_SUPPORTED
}

/// The table of this number; none if it is not here.
pub fn find(id: &Id) -> Option<*const c_void> {
    let tables = [
        (runtime::ID, runtime::TABLE.address()),
        (storage::ID, storage::TABLE.address()),
        (tools::CALLBACKS_ID, tools::CALLBACKS.address()),
        (tools::CHECKS_ID, tools::CHECKS.address()),
        (tools::THREADS_ID, tools::THREADS.address()),
        (validity::ID, validity::TABLE.address()),
    ];
    let found = tables.iter().find(|(known, _)| known == id);
    found.map(|(_, table)| *table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_without_a_function_refuses() {
        let table = Table::<3>::sized(&[(2, tools::CALLBACKS_ID.as_ptr().cast())]);
        assert_eq!(table.0[0].addr(), 24);
        assert_eq!(table.0[1], not_there as *const c_void);
        assert_ne!(table.0[2], table.0[1]);
        assert_eq!(not_there(), CUDA_ERROR_NOT_SUPPORTED);
    }

    #[test]
    fn tables_are_found_by_their_numbers() {
        assert_eq!(find(&runtime::ID), Some(runtime::TABLE.address()));
        assert_eq!(find(&storage::ID), Some(storage::TABLE.address()));
        assert_eq!(find(&[0; 16]), None);
    }
}
