//! `--share` and `--out`: folders of this machine in the guest, which a process of their
//! own serves, and what the program leaves there for the user.

use crate::args::{Out, RunArgs, Share};
use crate::signals::Signalled;
use gil_report::Exit;
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::file;
use gil_run_support::process::Owned;
use gil_run_support::progress::Progress;
use gil_shared_folders::{Access, Folder, confine};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// How the names of folders begin in which outputs arrive.
const ARRIVING: &str = ".gil-out-";
/// The name that the guest gives an output there when all of it is.
const WHOLE: &str = "whole";
/// Most folders of a run: their numbers are bytes.
const FOLDERS_MAX: usize = 256;

/// Why folders are not shared, or outputs not taken.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// It is no folder, or may not be read.
    #[error("--share {} cannot be shared ({source}): name a folder that you may read", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Its path cannot be passed on.
    #[error("{} is not UTF-8: --share and --out take folders whose whole paths are", .0.display())]
    NotText(PathBuf),
    /// Too many.
    #[error("a run has {FOLDERS_MAX} of --share and --out at most")]
    TooMany,
    /// An output cannot be put there.
    #[error("--out {} cannot be written ({source}): name a file or folder where you may write", path.display())]
    Out {
        /// Where.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The process that serves them does not start.
    #[error("the process that serves shared folders cannot be started: {0}")]
    Start(io::Error),
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// The folder that an option names, by its real path.
fn folder(share: &Share) -> Result<Folder, ShareError> {
    let failed = |source| ShareError::Folder {
        path: share.source.clone(),
        source,
    };
    fs::read_dir(&share.source).map_err(failed)?;
    let path = fs::canonicalize(&share.source).map_err(failed)?;
    if path.to_str().is_none() {
        return Err(ShareError::NotText(path));
    }
    let access = match share.read_only {
        true => Access::ReadOnly,
        false => Access::ReadWrite,
    };
    Ok(Folder { path, access })
}

/// An output on its way.
struct Arriving {
    /// Beside its target, so that it is there all at once.
    folder: TempDir,
    target: PathBuf,
}

impl Arriving {
    /// A new folder beside the output's place.
    fn new(out: &Out) -> Result<Self, ShareError> {
        let failed = |source| ShareError::Out {
            path: out.to.clone(),
            source,
        };
        let target = out.target().map_err(failed)?;
        let above = target.parent().unwrap_or(Path::new("/"));
        fs::metadata(above).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix(ARRIVING).tempdir_in(above);
        let folder = folder.map_err(failed)?;
        match folder.path().to_str() {
            Some(_) => Ok(Self { folder, target }),
            None => Err(ShareError::NotText(folder.path().into())),
        }
    }

    /// Puts what the guest copied where it belongs, if it did.
    fn deliver(&self) -> Result<(), ShareError> {
        let whole = self.folder.path().join(WHOLE);
        let Ok(meta) = fs::symlink_metadata(&whole) else {
            return Ok(());
        };
        let moved = put(&whole, &meta, &self.target);
        moved.map_err(|source| ShareError::Out {
            path: self.target.clone(),
            source,
        })
    }
}

/// Moves a file or link over another one, and what is in a folder into one that is
/// there. No link is followed: an earlier run's guest may have made it.
fn put(from: &Path, meta: &Metadata, to: &Path) -> io::Result<()> {
    let there = fs::symlink_metadata(to);
    let is_folder = there.as_ref().is_ok_and(Metadata::is_dir);
    match (meta.is_dir(), is_folder) {
        (true, true) => fs::read_dir(from)?.try_for_each(|entry| {
            let entry = entry?;
            put(
                &entry.path(),
                &entry.metadata()?,
                &to.join(entry.file_name()),
            )
        }),
        (true, false) if there.is_ok() => Err(io::ErrorKind::NotADirectory.into()),
        _ => fs::rename(from, to),
    }
}

/// What of this machine the guest of a run reaches.
pub struct Shared {
    folders: Vec<Folder>,
    arriving: Vec<Arriving>,
    server: Option<Owned>,
}

impl Shared {
    /// Looks at all of it, before anything is fetched or built.
    ///
    /// # Errors
    /// [`ShareError`] says what cannot be shared or written.
    pub fn prepare(args: &RunArgs, signalled: &Signalled) -> Result<Self, ShareError> {
        if args.shares.len() + args.outputs.len() > FOLDERS_MAX {
            return Err(ShareError::TooMany);
        }
        let folders = args.shares.iter().map(folder);
        let mut folders = folders.collect::<Result<Vec<_>, _>>()?;
        let mut arriving = Vec::new();
        for out in &args.outputs {
            let one = Arriving::new(out)?;
            signalled.remove_at_exit(one.folder.path().into());
            folders.push(Folder {
                path: one.folder.path().into(),
                access: Access::ReadWrite,
            });
            arriving.push(one);
        }
        Ok(Self {
            folders,
            arriving,
            server: None,
        })
    }

    /// Starts the process that serves the folders, to the simulator that connects
    /// to a socket in the run's folder `at`.
    ///
    /// # Errors
    /// [`ShareError`] if it does not start.
    pub fn serve(&mut self, at: &Path, progress: &Progress) -> Result<(), ShareError> {
        if self.folders.is_empty() {
            return Ok(());
        }
        if !confine::is_possible() {
            progress.note(
                "this kernel has no Landlock (Linux 5.19 and later): the process that serves shared folders may use every file that you may, and only its own checks hold the guest in them",
            );
        }
        let socket = at.join(file::FILES);
        let listener = UnixListener::bind(&socket).at(&socket)?;
        let mut command = Command::new(std::env::current_exe().map_err(ShareError::Start)?);
        command
            .arg(SERVE)
            .args(self.folders.iter().map(written))
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::null());
        self.server = Some(Owned::start(&mut command).map_err(ShareError::Start)?);
        Ok(())
    }

    /// Puts outputs where they belong, when the simulator has ended. What cannot be
    /// is the run's end, if the program's was a success.
    pub fn deliver(mut self, exit: &mut Exit) {
        // Nothing changes any more.
        drop(self.server.take());
        for error in self.arriving.iter().filter_map(|one| one.deliver().err()) {
            match exit.code {
                0 => *exit = Exit::bridge(error.to_string()),
                _ => eprintln!("gil: {error}"),
            }
        }
    }
}

/// The command of the process that serves folders, which is not for users.
const SERVE: &str = "serve-folders";

/// The folders, if this is that process.
pub fn to_serve() -> Option<Vec<Folder>> {
    let mut words = std::env::args_os().skip(1);
    let is_it = words.next().is_some_and(|word| word == SERVE);
    is_it.then(|| words.filter_map(|text| read(&text)).collect())
}

/// A folder as that process gets it.
fn written(folder: &Folder) -> OsString {
    let mut text = OsString::from(match folder.access {
        Access::ReadOnly => "ro:",
        Access::ReadWrite => "rw:",
    });
    text.push(&folder.path);
    text
}

fn read(text: &OsStr) -> Option<Folder> {
    let (access, path) = text.as_bytes().split_at_checked(3)?;
    let access = match access {
        b"ro:" => Access::ReadOnly,
        b"rw:" => Access::ReadWrite,
        _ => return None,
    };
    let path = OsString::from_vec(path.to_vec()).into();
    Some(Folder { path, access })
}

/// What that process does: serves these folders to who connects to its standard
/// input.
///
/// # Errors
/// One sentence.
pub fn serve(folders: &[Folder]) -> Result<(), gil_shared_folders::ServeError> {
    let listener = UnixListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    gil_shared_folders::serve(&listener, folders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folders_contents_join_what_is_there_and_no_link_is_followed() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        for folder in ["new/both", "new/away", "old/both", "outside"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("new/both/a"), "new").unwrap();
        fs::write(at("old/both/a"), "old").unwrap();
        fs::write(at("old/both/b"), "old").unwrap();
        let join = || put(&at("new"), &fs::metadata(at("new")).unwrap(), &at("old"));
        join().unwrap();
        assert_eq!(fs::read(at("old/both/a")).unwrap(), b"new");
        assert_eq!(fs::read(at("old/both/b")).unwrap(), b"old");
        fs::create_dir_all(at("new/away")).unwrap();
        fs::write(at("new/away/x"), "x").unwrap();
        fs::remove_dir(at("old/away")).unwrap();
        symlink(at("outside"), at("old/away")).unwrap();
        assert!(join().is_err());
        assert_eq!(fs::read_dir(at("outside")).unwrap().count(), 0);
    }
}
