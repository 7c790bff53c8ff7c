//! Archives that are the same, byte for byte, whoever makes them: files in a
//! given order, of root, at a given time.

use ar::{Builder as Ar, Header as ArHeader};
use flate2::{Compression, GzBuilder};
use std::collections::BTreeSet;
use std::io::{self, Write};
use tar::{Builder as Tar, EntryType, Header};

/// A file to pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Relative, without `./`.
    pub path: String,
    /// Of its permissions.
    pub mode: u32,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl Packed {
    /// A file that everybody may read.
    pub fn text(path: impl Into<String>, text: impl Into<Vec<u8>>) -> Self {
        Self::new(path, 0o644, text)
    }

    /// A program.
    pub fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(path, 0o755, bytes)
    }

    fn new(path: impl Into<String>, mode: u32, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            mode,
            bytes: bytes.into(),
        }
    }
}

/// A `.tar.gz` of `files`, sorted, with the folders above them; each name
/// begins with `prefix`. `date`: seconds since 1970.
///
/// # Errors
/// A name that is too long.
pub fn tarball(prefix: &str, files: &[Packed], date: u64) -> io::Result<Vec<u8>> {
    let mut tar = Tar::new(Vec::new());
    for folder in folders(prefix, files) {
        let mut header = header(EntryType::Directory, 0o755, 0, date);
        tar.append_data(&mut header, folder, io::empty())?;
    }
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    for file in sorted {
        let size = file.bytes.len() as u64;
        let mut header = header(EntryType::Regular, file.mode, size, date);
        let path = format!("{prefix}{}", file.path);
        tar.append_data(&mut header, path, file.bytes.as_slice())?;
    }
    gzip(&tar.into_inner()?)
}

/// Those that the files lie in, each behind those it lies in.
fn folders(prefix: &str, files: &[Packed]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files {
        let path = format!("{prefix}{}", file.path);
        let ends = path.match_indices('/').map(|(end, _)| end + 1);
        found.extend(ends.map(|end| path[..end].to_owned()));
    }
    found
}

fn header(kind: EntryType, mode: u32, size: u64, date: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(date);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// `bytes`, compressed, without a name or a date of its own.
///
/// # Errors
/// None that memory does not have.
pub fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    gzip.write_all(bytes)?;
    gzip.finish()
}

/// A Debian package of these two parts.
///
/// # Errors
/// As [`tarball`].
pub fn deb(control: &[Packed], data: &[Packed], date: u64) -> io::Result<Vec<u8>> {
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", tarball("", control, date)?),
        ("data.tar.gz", tarball("", data, date)?),
    ];
    let mut ar = Ar::new(Vec::new());
    for (name, bytes) in members {
        let mut header = ArHeader::new(name.into(), bytes.len() as u64);
        header.set_mode(0o100_644);
        header.set_mtime(date);
        ar.append(&header, bytes.as_slice())?;
    }
    ar.into_inner()
}
