//! Jobs of a GPU whose registers the simulator has: own calls of the API of the kernel
//! driver that runs such a GPU ([`crate::driver`]). The host makes them itself, when the
//! guest's driver starts a job: no program or driver of the guest's calls them.
//!
//! | entry | class | arguments | regions | answer |
//! |---|---|---|---|---|
//! | [`MEMORY`] | post | [`Window`] | in: its pages' bytes, one behind the other, as [differences](crate::differences) | |
//! | [`JOB`] | enqueue | [`Job`], as postcard has it | | nothing |
//! | [`FETCH`] | enqueue | [`Window`]s | out: as for [`MEMORY`], of each window | [`Fetched`](crate::driver::Fetched) |
//! | [`FAULT`] | sync | the event of a job that failed, as postcard has a `u64` | | [`Fault`] if the board knows, as postcard has an option of it |
//!
//! An address space is what a root of page tables maps. The board has its memory by
//! windows, which the host sends before a job and fetches when the job has ended.

use crate::driver::{DriverError, FETCH_MOST};
use serde::{Deserialize, Serialize};

/// What the pages of a window hold.
pub const MEMORY: u16 = 7;
/// A job begins.
pub const JOB: u16 = 8;
/// What the board has in windows, when a job has ended.
pub const FETCH: u16 = 9;
/// Where a job that ended with a failure failed.
pub const FAULT: u16 = 10;

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Pages of a window.
pub const WINDOW_PAGES: u64 = 256;
/// Bytes of GPU addresses that a window spans; it begins at a multiple of them.
pub const WINDOW: u64 = PAGE * WINDOW_PAGES;
/// Bytes of a window's arguments.
const WINDOW_ARGS: usize = 4 + 8 + 32;

/// A window of an address space's memory: which of its pages are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Window {
    /// The address space's number.
    pub space: u32,
    /// GPU address of the window's first byte.
    pub address: u64,
    /// Pages that are mapped, a bit each; page 0 is bit 0 of byte 0.
    pub pages: [u8; 32],
}

impl Window {
    /// GPU addresses of its mapped pages, rising.
    pub fn mapped(&self) -> impl Iterator<Item = u64> + '_ {
        let is_mapped = |n: &u64| self.pages[(n / 8) as usize] >> (n % 8) & 1 != 0;
        let pages = (0..WINDOW_PAGES).filter(is_mapped);
        pages.map(|n| self.address.saturating_add(n * PAGE))
    }

    /// Bytes of its mapped pages.
    pub fn len(&self) -> usize {
        let pages: u32 = self.pages.iter().map(|byte| byte.count_ones()).sum();
        pages as usize * PAGE as usize
    }

    /// Whether no page is mapped.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As it travels, behind others.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.space.to_le_bytes());
        out.extend_from_slice(&self.address.to_le_bytes());
        out.extend_from_slice(&self.pages);
    }

    /// Reads those of a call, 1 to [`FETCH_MOST`].
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn parse(args: &[u8]) -> Result<Vec<Self>, DriverError> {
        let (windows, rest) = args.as_chunks::<WINDOW_ARGS>();
        if !rest.is_empty() {
            return Err(DriverError::Trailing(rest.len()));
        }
        if !(1..=FETCH_MOST).contains(&windows.len()) {
            return Err(DriverError::Fetch(windows.len()));
        }
        windows.iter().map(Self::read).collect()
    }

    fn read(bytes: &[u8; WINDOW_ARGS]) -> Result<Self, DriverError> {
        let [space, rest @ ..] = bytes.as_chunks::<4>().0 else {
            return Err(DriverError::Trailing(0));
        };
        let address = rest[..2].as_flattened();
        let mut pages = [0; 32];
        pages.copy_from_slice(rest[2..].as_flattened());
        let address = address.first_chunk().copied().map_or(0, u64::from_le_bytes);
        match address % WINDOW {
            0 => Ok(Self {
                space: u32::from_le_bytes(*space),
                address,
                pages,
            }),
            _ => Err(DriverError::Window(address)),
        }
    }
}

/// Where a job failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// GPU address of what was not there, or made no sense.
    pub address: u64,
    /// Whether it was to be written.
    pub writes: bool,
    /// GPU address of the job descriptor that was executed; 0: there are none.
    pub descriptor: u64,
}

/// A job, as the registers describe it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its address space.
    pub space: u32,
    /// Which of the API's processors runs it.
    pub processor: u8,
    /// What it does.
    pub work: Work,
}

/// What a job does; names and numbers are those of `gil-gpu-registers`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Mali T6xx: a chain of jobs.
    Chain {
        /// GPU address of the first job descriptor.
        head: u64,
        /// Shader cores that may run it, a bit each.
        affinity: u64,
        /// JSn_CONFIG.
        config: u32,
    },
    /// Mali-400's geometry processor: half-open ranges of GPU addresses.
    Geometry {
        /// The vertex shader's commands.
        vertex: Option<(u32, u32)>,
        /// The polygon list builder's commands.
        plbu: Option<(u32, u32)>,
        /// The builder's heap.
        heap: (u32, u32),
    },
    /// A pixel processor of Mali-400.
    Pixels {
        /// Which one.
        processor: u8,
        /// The frame's registers, from the first; the first is the polygon list's address.
        frame: Vec<u32>,
        /// Those of the write-back units.
        write_back: Vec<u32>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_round_trip(space: u32, index in 0..u64::MAX / WINDOW, pages: [u8; 32]) {
            let window = Window { space, address: index * WINDOW, pages };
            let mut bytes = Vec::new();
            window.encode(&mut bytes);
            window.encode(&mut bytes);
            prop_assert_eq!(Window::parse(&bytes), Ok(vec![window; 2]));
            prop_assert!(Window::parse(&bytes[1..]).is_err());
            prop_assert_eq!(window.mapped().count() * PAGE as usize, window.len());
        }

        #[test]
        fn any_bytes_parse_or_fail(bytes: Vec<u8>) {
            let _ = (Window::parse(&bytes), postcard::from_bytes::<Job>(&bytes));
        }
    }
}
