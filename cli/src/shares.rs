//! `--share` and `--out`: folders of this machine in the guest, which a process of their
//! own serves, and what the program leaves there for the user.

mod places;

use crate::apart;
use crate::args::{Out, RunArgs, Share};
use crate::say::{READ_WITHIN, say};
use crate::signals::Signalled;
use gil_board::confine::folder::flatten;
use gil_report::Exit;
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::file;
use gil_run_support::process::Owned;
use gil_run_support::progress::Progress;
use gil_shared_folders::{Access, Folder, confine};
use nix::fcntl::{Flock, FlockArg};
use places::PlaceError;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
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
    /// There is no such folder, but one of the name in front of a colon.
    #[error("--share {} names no folder of this machine: if {at} is a path in the guest, write it from the guest's root, as in --share {folder}:/mnt/{at}", path.display())]
    Relative {
        /// As it was written.
        path: PathBuf,
        /// In front of the last colon.
        folder: String,
        /// Behind it.
        at: String,
    },
    /// Its place in the guest.
    #[error(transparent)]
    Place(#[from] PlaceError),
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
    /// The program left files by the names of those that the run writes.
    #[error("--out {} has files by the name of {option} {}, which the run writes and keeps, so that the program's is not taken: name another file with {option}", out.display(), path.display())]
    Own {
        /// Where the output goes.
        out: PathBuf,
        /// The option that names the first of them.
        option: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The process that serves them does not start.
    #[error("the process that serves shared folders cannot be started: {0}")]
    Start(io::Error),
    /// It did not live as long as the guest.
    #[error(
        "the process that serves shared folders ended before the guest did ({0}): what the guest did with them afterwards failed, so run again"
    )]
    Ended(ExitStatus),
    /// Files.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// The folder that an option names, by its real path.
fn folder(share: &Share) -> Result<Folder, ShareError> {
    let failed = |source| {
        relative(&share.source).unwrap_or_else(|| ShareError::Folder {
            path: share.source.clone(),
            source,
        })
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

/// The likely mistake in a path that is not there.
fn relative(path: &Path) -> Option<ShareError> {
    let (folder, at) = path.to_str()?.rsplit_once(':')?;
    let is_it = !path.exists() && Path::new(folder).is_dir();
    is_it.then(|| ShareError::Relative {
        path: path.into(),
        folder: folder.into(),
        at: at.into(),
    })
}

/// A folder, whatever its path leads to later: a guest that shares the folder above
/// may move it and leave a link in its place.
struct Held(File);

impl Held {
    fn open(path: &Path) -> io::Result<Self> {
        let flags = libc::O_PATH | libc::O_DIRECTORY;
        let file = File::options().read(true).custom_flags(flags).open(path);
        Ok(Self(file?))
    }

    /// The path of a name in it.
    fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        Path::new(&format!("/proc/self/fd/{}", self.0.as_raw_fd())).join(name)
    }
}

/// An output on its way.
struct Arriving {
    /// Beside its target, so that it is there all at once.
    folder: TempDir,
    target: PathBuf,
    /// The folder, and the one above both.
    from: Held,
    above: Held,
    /// Of the folder: those without one are of runs that were killed.
    _lock: Flock<File>,
}

impl Arriving {
    /// A new folder beside the output's place.
    fn new(out: &Out) -> Result<Self, ShareError> {
        let failed = |source| ShareError::Out {
            path: out.to.clone(),
            source,
        };
        let target = out.target().map_err(failed)?;
        let path = target.parent().unwrap_or(Path::new("/"));
        let above = Held::open(path).map_err(failed)?;
        discard_left(&above);
        let folder = tempfile::Builder::new().prefix(ARRIVING).tempdir_in(path);
        let folder = folder.map_err(failed)?;
        let from = Held::open(folder.path()).map_err(failed)?;
        let lock = lock(folder.path()).map_err(failed)?;
        match folder.path().to_str() {
            Some(_) => Ok(Self {
                folder,
                target,
                from,
                above,
                _lock: lock,
            }),
            None => Err(ShareError::NotText(folder.path().into())),
        }
    }

    /// Puts what the guest copied where it belongs, if it did, but in place of none of the
    /// run's `own` files.
    fn deliver(&self, own: &[(&'static str, PathBuf)]) -> Result<(), ShareError> {
        let whole = self.from.at(WHOLE);
        let Ok(meta) = fs::symlink_metadata(&whole) else {
            return Ok(());
        };
        let name = self.target.file_name().unwrap_or_default();
        let mut moving = Moving { own, kept: None };
        let moved = moving.put(&whole, &meta, &self.above.at(name));
        moved.map_err(|source| ShareError::Out {
            path: self.target.clone(),
            source,
        })?;
        moving.kept.map_or(Ok(()), |(option, path)| {
            Err(ShareError::Own {
                out: self.target.clone(),
                option,
                path: path.into(),
            })
        })
    }
}

/// Locks a folder; fails if a run has it. A link is not followed.
fn lock(folder: &Path) -> io::Result<Flock<File>> {
    let mut options = File::options();
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let open = options.read(true).custom_flags(flags).open(folder)?;
    Flock::lock(open, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

/// How old a folder without a lock is that no run is about to lock.
const FORSAKEN: Duration = Duration::from_secs(60);

/// Removes what killed runs of this user left beside an output's place.
fn discard_left(above: &Held) {
    let entries = fs::read_dir(above.at(".")).into_iter().flatten().flatten();
    for entry in entries {
        let is_outputs = entry
            .file_name()
            .as_bytes()
            .starts_with(ARRIVING.as_bytes());
        let Some(Ok(lock)) = is_outputs.then(|| lock(&entry.path())) else {
            continue;
        };
        let is_old = lock.metadata().is_ok_and(|data| {
            let age = data.modified().ok().and_then(|at| at.elapsed().ok());
            data.uid() == nix::unistd::geteuid().as_raw() && age.is_some_and(|it| it > FORSAKEN)
        });
        if is_old {
            let within = format!("/proc/self/fd/{}/.", lock.as_raw_fd());
            let _ = flatten(Path::new(&within));
            let _ = fs::remove_dir(entry.path());
        }
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        // However deep a guest makes it, and wherever it is: an error says that it
        // is gone.
        let _ = flatten(&self.from.at("."));
    }
}

/// An output on its way into a folder where the run has files of its own.
struct Moving<'o> {
    own: &'o [(&'static str, PathBuf)],
    /// The first of them whose name the guest used, too.
    kept: Option<(&'static str, &'o Path)>,
}

impl Moving<'_> {
    /// Moves a file or link over another one, and what is in a folder into one that is
    /// there. No link is followed: an earlier run's guest may have made it.
    fn put(&mut self, from: &Path, meta: &Metadata, to: &Path) -> io::Result<()> {
        let there = fs::symlink_metadata(to);
        let is_folder = there.as_ref().is_ok_and(Metadata::is_dir);
        match (meta.is_dir(), is_folder) {
            (true, true) => fs::read_dir(from)?.try_for_each(|entry| {
                let entry = entry?;
                let (path, to) = (entry.path(), to.join(entry.file_name()));
                self.put(&path, &entry.metadata()?, &to)
            }),
            (true, false) if there.is_ok() => Err(io::ErrorKind::NotADirectory.into()),
            (true, false) => move_folder(from, meta, to),
            (false, _) => self.put_file(from, to),
        }
    }

    fn put_file(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let own = self.own.iter();
        match apart::find(to, own.map(|(option, path)| (*option, &**path))) {
            Some(kept) => self.kept = self.kept.or(Some(kept)),
            None => fs::rename(from, to)?,
        }
        Ok(())
    }
}

/// A folder that nobody may write does not move, unless this user is root.
fn move_folder(from: &Path, meta: &Metadata, to: &Path) -> io::Result<()> {
    let writable = Permissions::from_mode(meta.permissions().mode() | 0o700);
    fs::set_permissions(from, writable)?;
    fs::rename(from, to)?;
    fs::set_permissions(to, meta.permissions())
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
        places::check(&args.shares, &args.files)?;
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

    /// Puts outputs where they belong, when the simulator has ended, in place of none of the
    /// run's `own` files. What cannot be is the run's end, if the program's was a success.
    pub fn deliver(mut self, own: &[(&'static str, PathBuf)], exit: &mut Exit) {
        if let Some(status) = self.server.as_mut().and_then(Owned::ended)
            && !status.success()
        {
            fail(ShareError::Ended(status), exit);
        }
        // Nothing changes any more.
        drop(self.server.take());
        let arriving = self.arriving.iter();
        for error in arriving.filter_map(|one| one.deliver(own).err()) {
            fail(error, exit);
        }
    }
}

/// It is the run's end, if the program's was a success; else it is only said.
fn fail(error: ShareError, exit: &mut Exit) {
    match exit.code {
        0 => *exit = Exit::bridge(error.to_string()),
        _ => say(format!("gil: {error}\n").as_bytes(), Some(READ_WITHIN)),
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
    use nix::dir::Dir;
    use nix::fcntl::OFlag;
    use nix::sys::stat::{Mode, mkdirat};
    use std::os::unix::fs::symlink;
    use std::time::SystemTime;

    #[test]
    fn what_a_killed_run_left_is_removed_by_the_next() {
        let work = tempfile::tempdir().unwrap();
        let made = |name: &str, age: u64| {
            let folder = work.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(WHOLE), "result").unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            File::open(&folder).unwrap().set_modified(then).unwrap();
            folder
        };
        let left = made(".gil-out-left", 61);
        let kept = [
            made(".gil-out-new", 0),
            made("else", 61),
            made(".gil-out-used", 61),
        ];
        let _used = lock(&kept[2]).unwrap();
        let text = format!("/root/result:{}", work.path().display());
        let arriving = Arriving::new(&text.parse().unwrap()).unwrap();
        assert!(!left.exists());
        assert!(kept.iter().all(|folder| folder.join(WHOLE).exists()));
        assert!(arriving.folder.path().exists());
    }

    #[test]
    fn an_output_arrives_in_its_folder_wherever_a_guest_moves_it() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        for folder in ["there", "outside"] {
            fs::create_dir(at(folder)).unwrap();
        }
        let text = format!("/root/result:{}", at("there").display());
        let arriving = Arriving::new(&text.parse().unwrap()).unwrap();
        let own = arriving.folder.path().to_owned();
        fs::write(own.join(WHOLE), "result").unwrap();
        fs::write(at("outside").join(WHOLE), "mine").unwrap();
        fs::rename(&own, at("there/away")).unwrap();
        symlink(at("outside"), &own).unwrap();
        fs::rename(at("there"), at("moved")).unwrap();
        symlink(at("outside"), at("there")).unwrap();
        arriving.deliver(&[]).unwrap();
        assert_eq!(fs::read(at("moved/result")).unwrap(), b"result");
        assert_eq!(fs::read(at("outside").join(WHOLE)).unwrap(), b"mine");
        assert_eq!(fs::read_dir(at("outside")).unwrap().count(), 1);
    }

    #[test]
    fn what_does_not_arrive_goes_however_deep_it_is() {
        let work = tempfile::tempdir().unwrap();
        let text = format!("/root/result:{}", work.path().display());
        let arriving = Arriving::new(&text.parse().unwrap()).unwrap();
        let mut folder = Dir::open(arriving.folder.path(), OFlag::O_RDONLY, Mode::empty()).unwrap();
        mkdirat(&folder, "gil-0", Mode::S_IRWXU).unwrap();
        mkdirat(&folder, "gil-0/inner", Mode::S_IRWXU).unwrap();
        // Deeper than files can be open.
        for _ in 0..30_000 {
            mkdirat(&folder, "d", Mode::S_IRWXU).unwrap();
            folder = Dir::openat(&folder, "d", OFlag::O_RDONLY, Mode::empty()).unwrap();
        }
        drop(folder);
        drop(arriving);
        assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_output_takes_the_place_of_a_file_that_the_run_writes() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        fs::create_dir_all(at("there/result")).unwrap();
        let text = format!("/root/result:{}", at("there").display());
        let arriving = Arriving::new(&text.parse().unwrap()).unwrap();
        let whole = arriving.folder.path().join(WHOLE);
        fs::create_dir(&whole).unwrap();
        for name in ["a", "json", "other", "trace"] {
            fs::write(whole.join(name), "guest").unwrap();
            fs::write(at("there/result").join(name), "old").unwrap();
        }
        fs::remove_file(at("there/result/json")).unwrap();
        let own = [("--record", "trace"), ("--json", "json")];
        let own = own.map(|(option, name)| (option, at("there/result").join(name)));
        let error = arriving.deliver(&own).unwrap_err().to_string();
        let said = |option: &str| error.contains(&format!("by the name of {option} "));
        assert!(said("--record") || said("--json"), "{error}");
        let there = |name: &str| fs::read_to_string(at("there/result").join(name)).ok();
        let there = ["a", "json", "other", "trace"].map(there);
        let there = there.each_ref().map(Option::as_deref);
        assert_eq!(there, [Some("guest"), None, Some("guest"), Some("old")]);
    }

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
        let join = || {
            let (own, kept) = (&[][..], None);
            let meta = fs::metadata(at("new")).unwrap();
            Moving { own, kept }.put(&at("new"), &meta, &at("old"))
        };
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
