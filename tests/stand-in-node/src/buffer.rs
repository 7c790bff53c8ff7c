//! A buffer: its memory, and the jobs that use it.

use crate::script::NEVER;
use gil_board::drivers::node::Mapped;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A page of the devices' and of the guest's.
pub const PAGE: u64 = 4096;

/// A buffer.
#[derive(Debug)]
pub struct Buffer {
    bytes: Mutex<Vec<u8>>,
    uses: Mutex<Uses>,
    /// Bytes.
    pub len: u64,
    /// Whether it grows when the GPU needs it: programs cannot map it.
    pub is_heap: bool,
    /// Whether it has shaders.
    pub is_executable: bool,
    /// Where `mmap` finds it.
    pub place: u64,
}

/// When the jobs end that use a buffer; `CLOCK_MONOTONIC`, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    any: u64,
    write: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buffer {
    /// One of zeros, of whole pages.
    pub fn new(len: u64, is_heap: bool, is_executable: bool, place: u64) -> Self {
        Self {
            bytes: Mutex::new(vec![0; len as usize]),
            uses: Mutex::default(),
            len,
            is_heap,
            is_executable,
            place,
        }
    }

    /// Copies bytes from there on, as far as they are inside.
    pub fn read(&self, at: u64, to: &mut [u8]) {
        let bytes = locked(&self.bytes);
        if let Some(from) = bytes.get(at as usize..) {
            let len = to.len().min(from.len());
            to[..len].copy_from_slice(&from[..len]);
        }
    }

    /// Writes bytes from there on, as far as they are inside.
    pub fn write(&self, at: u64, from: &[u8]) {
        let mut bytes = locked(&self.bytes);
        if let Some(to) = bytes.get_mut(at as usize..) {
            let len = from.len().min(to.len());
            to[..len].copy_from_slice(&from[..len]);
        }
    }

    /// When a job may begin, or a program go on, that reads or writes it.
    pub fn free_ns(&self, writes: bool) -> u64 {
        let uses = locked(&self.uses);
        if writes { uses.any } else { uses.write }
    }

    /// A job uses it until then.
    pub fn use_until(&self, end_ns: u64, writes: bool) {
        let mut uses = locked(&self.uses);
        uses.any = uses.any.max(end_ns);
        if writes {
            uses.write = uses.write.max(end_ns);
        }
    }

    /// Whether a job uses it that never ends.
    pub fn is_stuck(&self) -> bool {
        self.free_ns(true) == NEVER
    }
}

/// A buffer that is mapped.
pub struct Mapping(pub Arc<Buffer>);

impl Mapped for Mapping {
    fn read(&self, bytes: &mut [u8]) {
        self.0.read(0, bytes);
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.0.write(at as u64, bytes);
    }
}
