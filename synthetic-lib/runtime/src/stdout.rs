//! The program's own standard output, as C has it: what kernels print stands
//! there in the order of the program's own words, whatever it buffers.

use libc::FILE;
#[cfg(test)]
use std::sync::Mutex;

unsafe extern "C" {
    static stdout: *mut FILE;
}

/// Everything written, instead of standard output, in tests.
#[cfg(test)]
pub(crate) static WRITTEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Writes text where the program's `printf` does.
pub(crate) fn write(text: &[u8]) {
    #[cfg(test)]
    WRITTEN.lock().unwrap().extend_from_slice(text);
    #[cfg(not(test))]
    put(text);
}

#[cfg_attr(test, allow(dead_code, reason = "tests keep their output clean"))]
fn put(text: &[u8]) {
    // SAFETY: C's own stream, which lives as long as the process and has its
    // own lock. A program that closed it has no standard output.
    unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
}
