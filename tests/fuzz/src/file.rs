//! Files of records, with checksums that are right: a fuzzer does not guess
//! those.

use crate::input::Input;
use gil_files::container::Prefix;
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

/// A file of the input's records, each a kind, how it is stored, a head and a
/// payload, the last two behind their lengths; or, after an odd first byte, of
/// the rest as it is.
pub fn records(header: &[u8], data: &[u8]) -> Vec<u8> {
    let mut input = Input(data);
    let mut out = header.to_vec();
    if input.u8() % 2 == 1 {
        out.extend(input.0);
        return out;
    }
    while !input.is_empty() {
        out.extend(record(&mut input));
    }
    out
}

/// One of them. How it is stored: what the prefix says of compression and flags,
/// two bits each, then what it claims too much, and [`COMPRESS`].
fn record(input: &mut Input<'_>) -> Vec<u8> {
    let (kind, stored) = (u16::from(input.u8()), input.u8());
    let (head, payload) = (input.counted(), input.counted());
    let mut prefix = Prefix {
        head_len: head.len() as u32,
        stored_len: payload.len() as u64,
        payload_len: payload.len() as u64,
        kind,
        compression: stored & 3,
        flags: stored >> 2 & 3,
        ..Prefix::default()
    };
    if stored & COMPRESS == 0 {
        prefix.payload_len += u64::from(stored >> 4 & 7);
        let prefix = prefix.sealed([head, payload]);
        return [&prefix.encode()[..], head, payload].concat();
    }
    let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
    frame.write_all(payload).expect("memory");
    let packed = frame.finish().expect("memory");
    prefix.stored_len = packed.len() as u64;
    let prefix = prefix.sealed([head, &packed]);
    [&prefix.encode()[..], head, &packed].concat()
}

/// Bit of a record whose payload is compressed here.
pub const COMPRESS: u8 = 0x80;
