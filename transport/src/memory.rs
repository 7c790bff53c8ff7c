//! Memory that the system may refuse.

/// The system gives no more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory for {0} bytes: run fewer sessions on this board, or pass smaller data per call")]
pub struct OutOfMemory(pub usize);

impl OutOfMemory {
    /// Makes room for `len` bytes more.
    ///
    /// # Errors
    /// If there is none; never aborts.
    pub fn reserve(out: &mut Vec<u8>, len: usize) -> Result<(), Self> {
        out.try_reserve_exact(len).map_err(|_| Self(len))
    }
}
