//! Pinned memory of the board's, for copies from and to memory that the program pinned: the
//! device reads and writes it by itself, at several times the rate of other memory, and beside
//! kernels (`CUDA C++ Programming Guide`, page-locked host memory). To pin memory takes longer
//! than most copies, so blocks are used again.

use super::driver::Driver;
use super::generated::types::*;
use gil_transport::window::Kept;
use gil_wire::call::Handle;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Fewest bytes of a block; each has a power of two of them.
const LEAST: usize = 1 << 12;
/// Most bytes of a block. A longer copy is made without one.
const MOST: usize = 1 << 28;
/// Most bytes that a session has pinned; copies beyond it are made without.
const ALL_MOST: usize = 1 << 30;
/// Of every context, from every context's point of view (`CU_MEMHOSTALLOC_PORTABLE`).
const PORTABLE: u32 = 1;

/// Pinned memory.
#[derive(Debug)]
pub struct Block {
    address: *mut c_void,
    len: usize,
}

// SAFETY: a block is one owner's, who alone uses its memory.
unsafe impl Send for Block {}

impl Block {
    /// Where it is.
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// Copies bytes to it, one piece behind the other; where each is then.
    ///
    /// # Panics
    /// If these are more than it has.
    pub fn gather<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<*const c_void> {
        let mut at = 0;
        let put = |piece: &[u8]| {
            assert!(piece.len() <= self.len - at, "a block has room for all");
            let place = self.address.wrapping_byte_add(at);
            // SAFETY: there is room for it; nothing else names the block.
            unsafe { place.copy_from_nonoverlapping(piece.as_ptr().cast(), piece.len()) };
            at += piece.len();
            place.cast_const()
        };
        pieces.map(put).collect()
    }

    /// Copies `len` bytes to it.
    ///
    /// # Safety
    /// `from` names as many bytes, and `len` is no more than the block was taken for.
    pub unsafe fn fill(&self, from: *const c_void, len: usize) {
        debug_assert!(len <= self.len);
        // SAFETY: the caller's; nothing else names the block.
        unsafe { from.copy_to_nonoverlapping(self.address, len) };
    }
}

/// What a copy under way has, beside the call's memory.
#[derive(Debug)]
pub struct Staged {
    block: Block,
    /// Where its bytes go at the copy's end.
    back: Option<(*mut c_void, usize)>,
}

// SAFETY: as for blocks; the place is in the operation's own memory.
unsafe impl Send for Staged {}

impl Staged {
    /// Of a copy to the device.
    pub fn up(block: Block) -> Self {
        Self { block, back: None }
    }

    /// Of a copy from the device, whose bytes go to a place that lives as long as the operation.
    pub fn down(block: Block, to: *mut c_void, len: usize) -> Self {
        let back = Some((to, len));
        Self { block, back }
    }

    /// The copy ended, or never began. If it was made, its bytes go where they belong.
    ///
    /// # Safety
    /// The place that was named for them is still there, and the device uses the block no more.
    pub unsafe fn end(self, is_done: bool) -> Block {
        if let Some((to, len)) = self.back.filter(|_| is_done) {
            // SAFETY: the caller's.
            unsafe { to.copy_from_nonoverlapping(self.block.address, len) };
        }
        self.block
    }
}

/// A context's blocks.
#[derive(Debug, Default)]
pub struct Blocks(Vec<Block>);

impl Blocks {
    /// One of at least so many bytes; `None` if there is to be none. The context is current.
    /// `all` are the bytes of all blocks of the session, those that are in use included.
    pub fn take(&mut self, driver: &Driver, len: usize, all: &mut usize) -> Option<Block> {
        if len > MOST {
            return None;
        }
        let len = len.max(LEAST).next_power_of_two();
        let fitting = self.0.iter().position(|block| block.len == len);
        if let Some(at) = fitting {
            return Some(self.0.swap_remove(at));
        }
        while *all + len > ALL_MOST {
            let block = self.0.pop()?;
            release(driver, block, all);
        }
        let mut address = null_mut();
        // SAFETY: there is space for an address.
        let result = unsafe { (driver.own.cuMemHostAlloc)(&mut address, len, PORTABLE) };
        if result != CUDA_SUCCESS || address.is_null() {
            return None;
        }
        *all += len;
        Some(Block { address, len })
    }

    /// Takes one back.
    pub fn give(&mut self, block: Block) {
        self.0.push(block);
    }

    /// Frees all that nothing uses. The context is current.
    pub fn clear(&mut self, driver: &Driver, all: &mut usize) {
        while let Some(block) = self.0.pop() {
            release(driver, block, all);
        }
    }
}

fn release(driver: &Driver, block: Block, all: &mut usize) {
    *all -= block.len;
    // SAFETY: nothing uses it.
    unsafe { (driver.own.cuMemFreeHost)(block.address) };
}

/// Least bytes of the window that are pinned at a time.
const WINDOW_LEAST: usize = 1 << 22;

/// The beginning of the window that host and board share, as far as it is pinned: a copy that ends
/// before its call is answered reads and writes it there.
#[derive(Debug, Default)]
pub struct Window(State);

#[derive(Debug, Default)]
enum State {
    #[default]
    NotPinned,
    /// In this context, so many bytes of this window, which stays mapped until then.
    Pinned(Handle, Kept, usize),
    /// The driver refused.
    Refused,
}

impl Window {
    /// Whether any of it is pinned.
    pub fn is_pinned(&self) -> bool {
        matches!(self.0, State::Pinned(..))
    }

    /// Whether it is pinned up to the end of that part; if not yet, pins as much. The context is
    /// current. No copy from or to the window is under way.
    pub fn pins(&mut self, driver: &Driver, context: Handle, kept: Kept) -> bool {
        match &self.0 {
            State::Refused => return false,
            State::Pinned(_, its, len) if its.start() == kept.start() && kept.end <= *len => {
                return true;
            }
            State::Pinned(..) => self.unpin(driver),
            State::NotPinned => {}
        }
        let len = kept.end.next_power_of_two().max(WINDOW_LEAST).min(kept.len);
        let register = driver.own.cuMemHostRegister_v2;
        // SAFETY: the window is mapped there, with as many bytes, until what keeps it is dropped.
        self.0 = match unsafe { register(kept.start().cast(), len, PORTABLE) } {
            CUDA_SUCCESS => State::Pinned(context, kept, len),
            _ => State::Refused,
        };
        self.is_pinned()
    }

    /// The context goes, and what it pinned.
    pub fn forget(&mut self, driver: &Driver, context: Handle) {
        if matches!(self.0, State::Pinned(by, ..) if by == context) {
            self.unpin(driver);
        }
    }

    fn unpin(&mut self, driver: &Driver) {
        if let State::Pinned(_, kept, _) = std::mem::take(&mut self.0) {
            // SAFETY: it was registered, and no copy uses it.
            unsafe { (driver.own.cuMemHostUnregister)(kept.start().cast()) };
        }
    }
}
