//! Where `--share` may show a folder in the guest: not over files that the guest needs,
//! and not over what another option put there.

use crate::args::Share;
use gil_guest_image::copied::Copied;
use std::path::{Path, PathBuf};

/// Why a folder cannot be shown at its place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The guest needs its own files there.
    #[error("--share {} would hide the guest's own files in {needed} if it were at {at}: share it at another path, as in --share {}:/mnt/{}", folder.display(), folder.display(), name(folder))]
    Needed {
        /// The folder of this machine.
        folder: PathBuf,
        /// Where it was to be.
        at: String,
        /// What would be hidden.
        needed: &'static str,
    },
    /// Two at one place.
    #[error("--share {} and --share {} are both at {at} in the guest: give one of them another path, as in --share {}:/mnt/other", first.display(), second.display(), second.display())]
    Same {
        /// One folder of this machine.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// Their place.
        at: String,
    },
    /// A folder within another one, which is mounted later.
    #[error("--share {} at {at} would be hidden by --share {} at {above}: name the one at {above} first", hidden.display(), folder.display())]
    Hidden {
        /// The folder of this machine that would be hidden.
        hidden: PathBuf,
        /// Its place.
        at: String,
        /// The folder that would hide it.
        folder: PathBuf,
        /// Its place.
        above: String,
    },
    /// A copied file within it.
    #[error("--file {copied} would be hidden by --share {} at {at}: copy it to another path, or share the folder at another one", folder.display())]
    File {
        /// What is copied.
        copied: String,
        /// The folder of this machine.
        folder: PathBuf,
        /// Its place.
        at: String,
    },
}

/// Folders that the kernel fills: nothing is shown in them either.
const OF_THE_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];
/// Folders whose files programs and gil's own init need.
const NEEDED: [&str; 9] = [
    "/root",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/arm-linux-gnueabihf",
    "/usr/lib/gil",
    "/opt/gil",
    "/etc/gil",
    "/run/gil-out",
];
/// Links of Debian's, and where they lead.
const LINKS: [(&str, &str); 4] = [
    ("/bin", "/usr/bin"),
    ("/sbin", "/usr/sbin"),
    ("/lib", "/usr/lib"),
    ("/var/run", "/run"),
];

/// The folder's name, for advice.
fn name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or("folder".as_ref());
    name.to_string_lossy().into_owned()
}

/// Looks whether all of them can be seen, mounted in this order.
///
/// # Errors
/// [`PlaceError`] says which cannot, and what to do.
pub fn check(shares: &[Share], files: &[Copied]) -> Result<(), PlaceError> {
    let places: Vec<_> = shares.iter().map(|share| share.in_guest().at).collect();
    let all = || shares.iter().zip(&places);
    for (number, (share, at)) in all().enumerate() {
        let source = || share.source.clone();
        if let Some(needed) = hides_needed(at) {
            let at = at.clone();
            return Err(PlaceError::Needed {
                folder: source(),
                at,
                needed,
            });
        }
        if let Some((other, hidden)) = all().take(number).find(|(_, one)| is_in(one, at)) {
            return Err(hides(other, hidden, share, at));
        }
        if let Some(copied) = files.iter().find(|copied| is_in(&copied.target, at)) {
            let (copied, at) = (copied.to_string(), at.clone());
            return Err(PlaceError::File {
                copied,
                folder: source(),
                at,
            });
        }
    }
    Ok(())
}

fn hides(other: &Share, hidden: &str, share: &Share, at: &str) -> PlaceError {
    let (first, second) = (other.source.clone(), share.source.clone());
    let at = at.to_owned();
    match hidden == at {
        true => PlaceError::Same { first, second, at },
        false => PlaceError::Hidden {
            hidden: first,
            at: hidden.to_owned(),
            folder: second,
            above: at,
        },
    }
}

fn hides_needed(at: &str) -> Option<&'static str> {
    let at = behind_links(at);
    let is_kernels = |folder: &&&str| at.starts_with(folder) || Path::new(folder).starts_with(&at);
    let is_needed = |folder: &&&str| Path::new(folder).starts_with(&at);
    let kernels = OF_THE_KERNEL.iter().find(is_kernels);
    kernels.or_else(|| NEEDED.iter().find(is_needed)).copied()
}

fn behind_links(at: &str) -> PathBuf {
    let at = Path::new(at);
    let behind = |(link, to): &(&str, &str)| Some(Path::new(to).join(at.strip_prefix(link).ok()?));
    LINKS.iter().find_map(behind).unwrap_or(at.into())
}

/// Whether the path is this folder, or leads into it.
fn is_in(path: &str, folder: &str) -> bool {
    behind_links(path).starts_with(behind_links(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(shares: &[&str], files: &[&str]) -> Result<(), String> {
        let shares: Vec<Share> = shares.iter().map(|text| text.parse().unwrap()).collect();
        let files: Vec<Copied> = files.iter().map(|text| text.parse().unwrap()).collect();
        check(&shares, &files).map_err(|error| error.to_string())
    }

    #[test]
    fn what_the_guest_needs_is_not_hidden() {
        for at in [
            "/proc", "/sys/fs", "/dev/shm", "/root", "/usr", "/usr/bin", "/lib", "/etc", "/opt",
            "/run", "/var/run", "/lib/gil",
        ] {
            let error = checked(&[&format!("data:{at}:ro")], &[]).unwrap_err();
            assert!(error.contains(&format!("at {at}: share it at")), "{error}");
            assert!(error.contains("--share data:/mnt/data"), "{error}");
        }
        for at in [
            "/mnt",
            "/in",
            "/root/data",
            "/home/me",
            "/tmp",
            "/usr/local",
            "/usr/share/x",
            "/devices",
            "/etc/x",
            "/opt/x",
        ] {
            assert_eq!(checked(&[&format!("data:{at}")], &[]), Ok(()), "{at}");
        }
    }

    #[test]
    fn no_folder_hides_another() {
        let error = checked(&["a:/x", "b:/x"], &[]).unwrap_err();
        assert!(error.contains("a and --share b are both at /x"), "{error}");
        let error = checked(&["a:/x/y", "b:/x"], &[]).unwrap_err();
        assert!(
            error.contains("--share a at /x/y would be hidden"),
            "{error}"
        );
        assert!(error.ends_with("name the one at /x first"), "{error}");
        assert_eq!(checked(&["a:/x", "b:/x/y", "c:/xy"], &[]), Ok(()));
    }

    #[test]
    fn no_folder_hides_a_file_that_is_copied() {
        let error = checked(&["a:/x"], &["f:/x/f"]).unwrap_err();
        assert!(
            error.starts_with("--file f:/x/f would be hidden"),
            "{error}"
        );
        assert_eq!(checked(&["a:/x"], &["f:/f"]), Ok(()));
    }
}
