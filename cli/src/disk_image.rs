//! Images of read-only disks: EROFS, uncompressed, so that a guest reads a block
//! as it lies in the file (erofs-utils; Linux, Documentation/filesystems/erofs).

use crate::apt::AptError;
use crate::cache::At;
use crate::tool;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

/// What makes one.
const MAKER: &str = "mkfs.erofs";
/// What reads one, of the same package.
pub const READER: &str = "fsck.erofs";

/// Its size is a multiple of that: a kernel maps it by its largest pages.
pub const ALIGNMENT: u64 = 2 << 20;

/// The same files give the same image.
const IDENTITY: &str = "00000000-0000-4000-8000-000000000000";

/// Makes one of all in `folder`, owned by root, of no date.
///
/// # Errors
/// [`AptError`] if it cannot be made.
pub fn make(folder: &Path, image: &Path) -> Result<(), AptError> {
    let mut command = Command::new(MAKER);
    command
        .args(["--quiet", "--all-root", "-T0", "-x-1"])
        .arg(format!("-U{IDENTITY}"))
        .arg(image)
        .arg(folder);
    tool::run(&mut command, "making a disk of packages", image)?;
    let file = File::options().write(true).open(image).at(image)?;
    let len = file.metadata().at(image)?.len();
    file.set_len(len.next_multiple_of(ALIGNMENT)).at(image)?;
    Ok(())
}

/// Unpacks one into the new folder `folder`, owned by this user.
///
/// # Errors
/// [`AptError`] if it cannot be read, or something not be written.
pub fn unpack(image: &Path, folder: &Path) -> Result<(), AptError> {
    let mut command = Command::new(READER);
    command
        .args(["--no-preserve-owner", "--preserve-perms"])
        .arg(format!("--extract={}", folder.display()))
        .arg(image);
    tool::run(&mut command, "reading a disk of packages", folder)?;
    fs::metadata(folder).at(folder)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

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
        let mode = fs::metadata(at("out/usr/bin/a"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o4755);
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let work = tempfile::tempdir().unwrap();
        let image = work.path().join("image");
        fs::write(&image, vec![1; 8192]).unwrap();
        assert!(unpack(&image, &work.path().join("out")).is_err());
    }
}
