//! The contents of files that may be larger than any disk: a file of 1 TiB that is one hole
//! is copied as one.

use nix::errno::Errno;
use nix::unistd::{Whence, lseek};
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

/// Copies a file's contents; holes stay holes.
///
/// # Errors
/// The system's.
pub fn copy(source: &mut File, target: &mut File, meta: &Metadata) -> io::Result<()> {
    let is_sparse = meta.blocks() * 512 < meta.len();
    if !(is_sparse && copy_parts(source, target, meta.len())?) {
        io::copy(source, target)?;
    }
    Ok(())
}

/// Copies what is not a hole. False, and nothing is copied, if the file system does not
/// say where holes are.
fn copy_parts(source: &mut File, target: &mut File, len: u64) -> io::Result<bool> {
    let mut at = 0;
    while at < len {
        let (from, to) = match next_part(source, at) {
            Ok(Some(part)) => part,
            Ok(None) => break,
            Err(_) if at == 0 => return Ok(false),
            Err(errno) => return Err(errno.into()),
        };
        source.seek(SeekFrom::Start(from))?;
        target.seek(SeekFrom::Start(from))?;
        let copied = io::copy(&mut source.by_ref().take(to - from), target)?;
        if copied < to - from {
            // Shorter than it said, as files of the kernel's are.
            return Ok(true);
        }
        at = to;
    }
    target.set_len(len)?;
    Ok(true)
}

/// The next part of a file, from `at` on, that is no hole.
fn next_part(file: &File, at: u64) -> nix::Result<Option<(u64, u64)>> {
    let from = match lseek(file, at.cast_signed(), Whence::SeekData) {
        Err(Errno::ENXIO) => return Ok(None),
        found => found?,
    };
    let to = lseek(file, from, Whence::SeekHole)?;
    Ok(Some((from.cast_unsigned(), to.cast_unsigned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    fn copy_to(from: &Path, to: &Path) {
        let mut source = File::open(from).unwrap();
        let meta = source.metadata().unwrap();
        copy(&mut source, &mut File::create_new(to).unwrap(), &meta).unwrap();
    }

    #[test]
    fn holes_stay_holes() {
        let work = tempfile::tempdir().unwrap();
        let (from, to) = (work.path().join("from"), work.path().join("to"));
        let file = File::create(&from).unwrap();
        let len = 1 << 40;
        for parts in [&[][..], &[(0, 5000), (1 << 39, 10), (len - 3, 3)]] {
            for &(at, count) in parts {
                file.write_all_at(&vec![7; count], at).unwrap();
            }
            file.set_len(len).unwrap();
            copy_to(&from, &to);
            let meta = fs::metadata(&to).unwrap();
            assert_eq!(meta.len(), len);
            assert!(meta.blocks() < 1000, "{} blocks", meta.blocks());
            let copied = File::open(&to).unwrap();
            for &(at, count) in parts {
                let mut bytes = vec![0; count];
                copied.read_exact_at(&mut bytes, at).unwrap();
                assert_eq!(bytes, vec![7; count], "at {at}");
            }
            fs::remove_file(&to).unwrap();
        }
    }

    #[test]
    fn files_of_the_kernels_end_where_their_contents_do() {
        let work = tempfile::tempdir().unwrap();
        let (from, to) = (Path::new("/sys/kernel/mm/ksm/run"), work.path().join("to"));
        let Ok(text) = fs::read(from) else {
            return gil_need::skip("a file of the kernel's", from.display());
        };
        copy_to(from, &to);
        assert_eq!(fs::read(&to).unwrap(), text);
    }
}
