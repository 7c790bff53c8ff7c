//! Numbers in bytes, little-endian.

/// The number of 32 bits there; 0 beyond the end.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk());
    u32::from_le_bytes(four.copied().unwrap_or_default())
}

/// The number of 64 bits there; 0 beyond the end.
pub fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

/// Sets the number of 32 bits there, if it is inside.
pub fn put(bytes: &mut [u8], at: usize, number: u32) {
    if let Some(four) = bytes.get_mut(at..at + 4) {
        four.copy_from_slice(&number.to_le_bytes());
    }
}

/// Sets the number of 64 bits there, if it is inside.
pub fn put_long(bytes: &mut [u8], at: usize, number: u64) {
    if let Some(eight) = bytes.get_mut(at..at + 8) {
        eight.copy_from_slice(&number.to_le_bytes());
    }
}
