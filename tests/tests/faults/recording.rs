//! A recording, read without mercy: a byte that belongs to no whole record is
//! an error.

use gil_files::container::{HEADER_LEN, read_all};
use gil_files::recording::{self, FILE, Record};
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
    FILE.check_header(header).unwrap();
    let mut whole = Whole::default();
    for (stored, _) in read_all(&mut rest).unwrap() {
        if let Some(Record::Call(called)) = recording::record(&stored).unwrap()
            && called.done.is_some()
        {
            whole.answered.insert(called.call.seq);
        }
    }
    whole
}
