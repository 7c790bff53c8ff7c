//! Reads guest memory at virtual addresses.
//!
//! The crate's own `qemu_plugin_read_memory_vaddr` hands QEMU a byte array of
//! two fields on the stack, where GLib's has more and changes them: it is bound
//! here with an array that GLib made.

use gil_uapi::VirtualAddress;
use qemu_plugin::sys::{GByteArray, qemu_plugin_read_memory_vaddr};

unsafe extern "C" {
    // GLib, which QEMU itself is linked with.
    fn g_byte_array_new() -> *mut GByteArray;
    fn g_byte_array_free(array: *mut GByteArray, free_segment: i32) -> *mut u8;
}

/// Fills `out` from the current vCPU's memory at `address`; whether it could.
/// Only in QEMU's callbacks.
pub fn read(address: VirtualAddress, out: &mut [u8]) -> bool {
    // SAFETY: QEMU resizes the array to what it reads; its bytes are copied
    // before it is freed, and no more than it has.
    unsafe {
        let array = g_byte_array_new();
        let done = qemu_plugin_read_memory_vaddr(address.0, array, out.len())
            && (*array).len as usize == out.len();
        if done {
            std::ptr::copy_nonoverlapping((*array).data, out.as_mut_ptr(), out.len());
        }
        g_byte_array_free(array, 1);
        done
    }
}
