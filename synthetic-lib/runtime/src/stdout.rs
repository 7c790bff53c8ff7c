//! The program's standard output, through C's `stdout`: text that kernels print
//! keeps its order with the program's own output, however that is buffered.

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
