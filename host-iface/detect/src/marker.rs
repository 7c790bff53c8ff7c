//! The marker: a no-op instruction at the doorbell. It counts only at kernel
//! addresses, since any program can execute it.

use gil_uapi::{MARKER_A64, VirtualAddress};

/// Whether `address` belongs to an AArch64 kernel: the upper half of the
/// address space, whatever the size of virtual addresses.
pub const fn is_kernel_address(address: VirtualAddress) -> bool {
    address.0 >> 55 == 0x1ff
}

/// Whether the instruction `bytes` at `address` is a doorbell.
pub fn is_doorbell(address: VirtualAddress, bytes: &[u8]) -> bool {
    is_kernel_address(address) && bytes == MARKER_A64.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_only_in_the_kernel() {
        let marker = MARKER_A64.to_le_bytes();
        let is_doorbell = |address, bytes: &[u8]| is_doorbell(VirtualAddress(address), bytes);
        assert!(is_doorbell(0xffff_8000_0010_0000, &marker));
        assert!(is_doorbell(0xffff_ffff_f000_0000, &marker));
        assert!(!is_doorbell(0x0000_aaaa_0010_0000, &marker));
        assert!(!is_doorbell(0x00ff_8000_0010_0000, &marker));
        assert!(!is_doorbell(
            0xffff_8000_0010_0000,
            &[0x1f, 0x20, 0x03, 0xd5]
        ));
        assert!(!is_doorbell(0xffff_8000_0010_0000, &marker[..2]));
    }
}
