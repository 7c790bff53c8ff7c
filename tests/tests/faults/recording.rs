//! A recording, read without mercy: a byte that belongs to no whole record is
//! an error.

use gil_files::recording::{self, HEADER_LEN, PREFIX_LEN, Prefix, Record};
use std::collections::HashSet;
use std::path::Path;

/// What a recording holds.
#[derive(Debug, Default)]
pub struct Whole {
    /// Sequence numbers of the calls whose answers it has.
    pub answered: HashSet<u64>,
}

pub fn read(path: &Path) -> Whole {
    let bytes = std::fs::read(path).unwrap();
    let (header, mut rest) = bytes.split_first_chunk::<HEADER_LEN>().expect("a header");
    recording::check_header(header).unwrap();
    let mut whole = Whole::default();
    while !rest.is_empty() {
        let (prefix, behind) = rest.split_first_chunk::<PREFIX_LEN>().expect("a prefix");
        let prefix = Prefix::decode(prefix).unwrap();
        let (head, behind) = behind.split_at(prefix.head_len as usize);
        let (payload, behind) = behind.split_at(prefix.payload_len as usize);
        let mut checksum = prefix.checksum();
        checksum.update(head);
        checksum.update(payload);
        checksum.check(prefix).unwrap();
        if let Record::Call(call) = recording::head(prefix, head).unwrap()
            && call.done.is_some()
        {
            whole.answered.insert(call.seq);
        }
        rest = behind;
    }
    whole
}
