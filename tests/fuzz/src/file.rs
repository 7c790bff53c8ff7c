//! Files of records, with checksums that are right: a fuzzer does not guess
//! those.

use crate::input::Input;
use gil_files::recording::Prefix;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// A file without a name, and a path to it.
pub fn file_of(bytes: &[u8]) -> (File, PathBuf) {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
    (file, path)
}

/// A file of the input's records, each a head and a payload behind their
/// lengths; or, after an odd first byte, of the rest as it is.
pub fn records(header: &[u8], data: &[u8]) -> Vec<u8> {
    let mut input = Input(data);
    let mut out = header.to_vec();
    if input.u8() % 2 == 1 {
        out.extend(input.0);
        return out;
    }
    while !input.is_empty() {
        let (head, payload) = (input.counted(), input.counted());
        let (head_len, payload_len) = (head.len() as u32, payload.len() as u64);
        let mut checksum = crc32fast::Hasher::new();
        let (first, second) = (head_len.to_le_bytes(), payload_len.to_le_bytes());
        [&first[..], &second, head, payload]
            .iter()
            .for_each(|bytes| checksum.update(bytes));
        let crc32 = checksum.finalize();
        let prefix = Prefix {
            head_len,
            crc32,
            payload_len,
        };
        out.extend(prefix.encode());
        out.extend([head, payload].concat());
    }
    out
}
