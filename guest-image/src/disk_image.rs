//! Images of read-only disks: EROFS, uncompressed, so that a guest reads a block
//! as it lies in the file (erofs-utils; Linux, Documentation/filesystems/erofs).

use crate::apt::AptError;
use crate::archive::{Archive, DATE};
use gil_run_support::cache::{self, At, CacheError};
use gil_run_support::tool::{self, ToolError};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// The program that creates one.
const MAKER: &str = "mkfs.erofs";
/// What reads one, of the same package.
pub const READER: &str = "fsck.erofs";

/// Its size is a multiple of that: a kernel maps it by its largest pages.
pub const ALIGNMENT: u64 = 2 << 20;

/// The same files give the same image.
const IDENTITY: &str = "00000000-0000-4000-8000-000000000000";

/// Makes one of all in `folder`, owned by root, of the same date.
///
/// # Errors
/// [`AptError`] if it cannot be made.
pub fn make(folder: &Path, image: &Path) -> Result<(), AptError> {
    let mut command = Command::new(MAKER);
    command
        .args(["--quiet", "--all-root", "-x-1"])
        .arg(format!("-T{DATE}"))
        .arg(format!("-U{IDENTITY}"))
        .arg(image)
        .arg(folder);
    tool::run(&mut command, "making a disk of packages", image)?;
    let file = File::options().write(true).open(image).at(image)?;
    let len = file.metadata().at(image)?.len();
    file.set_len(len.next_multiple_of(ALIGNMENT)).at(image)?;
    Ok(())
}

/// Whether it is whole: a file that a crash of this machine cut short would
/// give a guest some of its packages' files.
///
/// # Errors
/// [`CacheError::Damaged`] if not.
pub fn check(image: &Path) -> Result<(), CacheError> {
    match is_whole(image) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at(image),
        _ => Err(CacheError::Damaged { path: image.into() }),
    }
}

/// Where its superblock is, and that of it which is read here: `struct
/// erofs_super_block` of Linux, fs/erofs/erofs_fs.h.
const SUPERBLOCK: (u64, usize) = (1024, 40);
const MAGIC: u32 = 0xe0f5_e1e2;
/// Places in the superblock.
const BLOCK_BITS: usize = 12;
const BLOCKS: usize = 36;

fn is_whole(image: &Path) -> io::Result<bool> {
    let meta = fs::metadata(image)?;
    let (at, len) = SUPERBLOCK;
    if !meta.is_file() || meta.len() < at + len as u64 {
        return Ok(false);
    }
    let mut bytes = [0; SUPERBLOCK.1];
    File::open(image)?.read_exact_at(&mut bytes, at)?;
    let number = |at: usize| {
        bytes[at..at + 4]
            .iter()
            .rfold(0, |sum, &b| sum << 8 | u32::from(b))
    };
    let bits = bytes[BLOCK_BITS].min(16);
    let used = u64::from(number(BLOCKS)) << bits;
    Ok(number(0) == MAGIC && meta.len() == used.next_multiple_of(ALIGNMENT))
}

/// Unpacks one into the new folder `folder`, owned by this user.
///
/// # Errors
/// [`AptError`] if it cannot be read, or something not be written.
pub fn unpack(image: &Path, folder: &Path) -> Result<(), AptError> {
    let mut command = Command::new(READER);
    let mut extract = OsString::from("--extract=");
    extract.push(folder);
    command
        .args(["--no-preserve-owner", "--preserve-perms"])
        .arg(extract)
        .arg(image);
    let read = tool::run(&mut command, "reading a disk of packages", folder);
    read.map_err(|error| why(error, folder))?;
    fs::metadata(folder).at(folder)?;
    Ok(())
}

/// Writes its files as a part of an initramfs at `path`, unpacked beside it; how
/// many bytes of the guest's memory they take there.
///
/// # Errors
/// [`AptError`] if they cannot be unpacked or written.
pub fn write_archive(image: &Path, path: &Path) -> Result<u64, AptError> {
    let beside = path.parent().unwrap_or(path);
    let folder = tempfile::tempdir_in(beside).at(beside)?;
    let files = folder.path().join("files");
    unpack(image, &files)?;
    let mut archive = Archive::create(path)?;
    archive.tree(&files)?;
    Ok(archive.finish()?)
}

/// The reader's words are the same for a full disk as for a damaged image.
fn why(error: ToolError, folder: &Path) -> AptError {
    match cache::has_room(folder, LITTLE) {
        Err(CacheError::Small { path, .. }) => CacheError::Full { path }.into(),
        _ => error.into(),
    }
}

/// A disk with less free is full.
const LITTLE: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn what_goes_in_comes_out_and_the_same_is_the_same() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        fs::create_dir_all(at("in/usr/bin")).unwrap();
        fs::write(at("in/usr/bin/a"), vec![7; 5000]).unwrap();
        fs::write(at("in/usr/bin/empty"), "").unwrap();
        fs::set_permissions(at("in/usr/bin/a"), fs::Permissions::from_mode(0o4755)).unwrap();
        symlink("a", at("in/usr/bin/b")).unwrap();
        make(&at("in"), &at("one")).unwrap();
        make(&at("in"), &at("two")).unwrap();
        let image = fs::read(at("one")).unwrap();
        assert_eq!(image.len() as u64 % ALIGNMENT, 0);
        assert!(image == fs::read(at("two")).unwrap());
        unpack(&at("one"), &at("out")).unwrap();
        assert_eq!(fs::read(at("out/usr/bin/b")).unwrap(), [7; 5000]);
        assert!(fs::read(at("out/usr/bin/empty")).unwrap().is_empty());
        let meta = fs::metadata(at("out/usr/bin/a")).unwrap();
        assert_eq!(meta.permissions().mode() & 0o7777, 0o4755);
        assert_eq!(meta.mtime(), i64::from(DATE));
    }

    #[test]
    fn an_image_that_is_not_whole_is_refused() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        fs::create_dir(at("in")).unwrap();
        fs::write(at("in/large"), vec![7; 5 << 20]).unwrap();
        make(&at("in"), &at("image")).unwrap();
        check(&at("image")).unwrap();
        check(&at("in")).unwrap_err();
        let file = File::options().write(true).open(at("image")).unwrap();
        for len in [4 << 20, 1 << 20, 1025, 0] {
            file.set_len(len).unwrap();
            let said = check(&at("image")).unwrap_err().to_string();
            assert!(said.contains("image is damaged"), "{said}");
        }
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let work = tempfile::tempdir().unwrap();
        let image = work.path().join("image");
        fs::write(&image, vec![1; 8192]).unwrap();
        assert!(unpack(&image, &work.path().join("out")).is_err());
        assert!(check(&image).is_err());
    }
}
