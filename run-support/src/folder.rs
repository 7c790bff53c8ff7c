//! A run's own folder: temporary, private, with a path short enough for sockets. It
//! contains a file that is locked while the run lives, so that the next run
//! recognises what a killed run left.

use crate::cache::{At, Cache, CacheError};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Names of the files in it. Fixed names in a folder of our own need no quoting
/// in a simulator's options.
pub mod file {
    /// The kernel.
    pub const KERNEL: &str = "kernel";
    /// The kernel as an ELF file with its symbols.
    pub const KERNEL_ELF: &str = "kernel.elf";
    /// The initramfs.
    pub const INITRD: &str = "initrd";
    /// A disk with packages' files, with a number behind it.
    pub const DISK: &str = "disk";
    /// The disk with what is this run's own.
    pub const OWN: &str = "own.disk";
    /// The table of disks.
    pub const TABLE: &str = "disks.table";
    /// All disks in one file.
    pub const DISKS: &str = "disks";
    /// The device tree of a machine with a GPU's registers.
    pub const DEVICE_TREE: &str = "device-tree";
    /// The memory of the saved guest that the run continues.
    pub const SAVED_RAM: &str = "saved-ram";
    /// What else QEMU saved of it.
    pub const SAVED_STATE: &str = "saved-state";
    /// Where QEMU takes commands.
    pub const QMP: &str = "qmp";
    /// Where QEMU takes commands about pictures that the guest asks for.
    pub const PICTURES: &str = "pictures";
    /// Where it takes commands about pictures that somebody else asks for.
    pub const VIEWS: &str = "views";
    /// A picture of the guest's display, as QEMU writes it.
    pub const PICTURE: &str = "picture.ppm";
    /// The same for whoever looks at it as the program runs.
    pub const VIEW: &str = "view.ppm";
    /// The guest's files as a folder, where no kernel unpacks them.
    pub const SYSROOT: &str = "sysroot";
    /// What the program reads as standard input.
    pub const STDIN: &str = "stdin";
    /// Where the guest asks for standard input.
    pub const INPUT: &str = "input";
    /// What the guest's kernel wrote.
    pub const CONSOLE: &str = "console.log";
    /// QEMU's plugin.
    pub const PLUGIN: &str = "libgil_qemu.so";
    /// The driver, for its symbols.
    pub const MODULE: &str = "gil.ko";
    /// A program or library that is watched, with a number behind it.
    pub const WATCH: &str = "watched-";
    /// The recording.
    pub const TRACE: &str = "trace";
    /// The log of calls.
    pub const CALLS: &str = "calls";
    /// What builds took, also in earlier runs.
    pub const WORK_TIMES: &str = "work-times";
    /// The socket of the process that serves shared folders.
    pub const FILES: &str = "files";
    /// The socket that `gil run` listens on.
    pub const MONITOR: &str = "monitor";
    /// QEMU's own output.
    pub const QEMU_LOG: &str = "qemu.log";
    /// The board agent's output.
    pub const BOARD_LOG: &str = "board.log";
    /// The program's standard output, where the simulator writes it.
    pub const STDOUT: &str = "stdout";
    /// The program's standard error, where the simulator writes it.
    pub const STDERR: &str = "stderr";
    /// Lines about watched functions, where the simulator writes them.
    pub const WATCH_LINES: &str = "watch";
}

/// The prefix of its name.
const PREFIX: &str = "gil-run-";
/// Locked as long as the run lives.
const LOCK: &str = "lock";

/// One that is removed with its files.
pub struct Folder {
    dir: TempDir,
    _lock: Flock<File>,
}

impl Folder {
    /// Its path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Makes one, and removes those that killed runs left beside it.
///
/// # Errors
/// [`CacheError`] if it cannot be made.
pub fn create() -> Result<Folder, CacheError> {
    let temp = std::env::temp_dir();
    let base = if is_plain(&temp) { temp } else { "/tmp".into() };
    discard_left(&base);
    create_in(&base)
}

/// Whether a socket's address has room for it, and QEMU's options and their command lines
/// take it as it is.
fn is_plain(path: &Path) -> bool {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || "/._-+=@~".contains(c);
    let path = path.to_str().filter(|path| path.len() < 60);
    path.is_some_and(|path| path.chars().all(is_taken))
}

fn create_in(base: &Path) -> Result<Folder, CacheError> {
    let dir = tempfile::Builder::new()
        .prefix(PREFIX)
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(base)
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CacheError::NoTemporary { path: base.into() },
            _ => Err::<(), _>(error).at(base).expect_err("it is one"),
        })?;
    // Under its name it is locked from the first moment.
    let path = dir.path().join(LOCK);
    let unlocked = path.with_extension("new");
    let lock = create_file(&unlocked).and_then(lock).at(&path)?;
    fs::rename(&unlocked, &path).at(&path)?;
    Ok(Folder { dir, _lock: lock })
}

/// Fails if somebody has it locked.
fn lock(file: File) -> io::Result<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

/// Removes one while tools may still write there: what comes too late to be
/// removed has a lock, so that the next run removes it. A link in its place, which
/// a guest may have put into a shared folder, is not followed.
pub fn remove(folder: &Path) {
    let mut options = File::options();
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    let Ok(open) = options.read(true).custom_flags(flags.bits()).open(folder) else {
        return;
    };
    let within = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
    let entries = fs::read_dir(&within).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    for path in paths.filter(|path| !path.ends_with(LOCK)) {
        let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
    }
    let lock = within.join(LOCK);
    let _ = fs::remove_file(&lock);
    if fs::remove_dir(folder).is_err() {
        let _ = create_file(&lock);
    }
}

/// Whether there is nothing in it, or no such folder.
///
/// # Errors
/// [`CacheError`] if it cannot be read.
pub fn is_empty(folder: &Path) -> Result<bool, CacheError> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error).at(folder),
    }
}

/// Makes a file that only this user can read, or empties it.
///
/// # Errors
/// Those of opening it.
pub fn create_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

/// Removes this user's folders whose runs are gone. What cannot be removed
/// stays.
fn discard_left(base: &Path) {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    for entry in entries {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_ours && let Some(_lock) = lock_of_the_dead(&entry.path()) {
            // Its lock last: who is ended in the middle leaves it to the next run.
            remove(&entry.path());
        }
    }
}

/// A run locks its folder within moments. One without a lock for so long is no run's.
const UNLOCKED: Duration = Duration::from_secs(60);

/// The lock of a run that is gone, if it left one.
fn lock_of_the_dead(folder: &Path) -> Option<Option<Flock<File>>> {
    let meta = fs::symlink_metadata(folder).ok()?;
    if !meta.is_dir() || meta.uid() != nix::unistd::geteuid().as_raw() {
        return None;
    }
    let mut options = File::options();
    options.read(true).custom_flags(OFlag::O_NOFOLLOW.bits());
    match options.open(folder.join(LOCK)) {
        Ok(file) => lock(file).ok().map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let age = meta.modified().ok()?.elapsed().ok()?;
            let is_made_here = meta.permissions().mode() & 0o777 == 0o700 && has_made_name(folder);
            (is_made_here && age > UNLOCKED).then_some(None)
        }
        Err(_) => None,
    }
}

/// Whether a folder is called as those that [`create`] makes, and not by a person.
fn has_made_name(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let made = name.and_then(|name| name.strip_prefix(PREFIX));
    made.is_some_and(|made| made.len() == 6 && made.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// Waits until the run whose folder this is has ended, however it ended.
pub fn wait_for_end(folder: &Path) {
    let lock = File::open(folder.join(LOCK));
    let ended = lock.map(|mut file| {
        // A signal may interrupt it.
        while let Err((again, Errno::EINTR)) = Flock::lock(file, FlockArg::LockShared) {
            file = again;
        }
    });
    // Without the file, the run is gone.
    drop(ended);
}

/// Copies all its files to `target`; if there is no such folder yet, to a new
/// one that only this user can read.
///
/// # Errors
/// [`CacheError`] names the file.
pub fn keep_all(folder: &Path, target: &Path) -> Result<(), CacheError> {
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(target)
        .at(target)?;
    for entry in fs::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        let is_file = fs::metadata(&path).is_ok_and(|meta| meta.is_file());
        let name = path.file_name().unwrap_or_default();
        let target = target.join(name);
        if name == file::SAVED_RAM {
            // As large as the guest's memory, and empty for the most part.
            let _ = fs::remove_file(&target);
            let original = fs::canonicalize(&path).at(&path)?;
            std::os::unix::fs::symlink(&original, &target).at(&target)?;
        } else if is_file && name != LOCK && !is_same(&path, &target) {
            fs::copy(&path, &target).at(&target)?;
        }
    }
    Ok(())
}

/// Whether both are one file, as where a run reads a file of the folder, or writes one there.
fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Copies the logs of a run that failed into the cache.
///
/// # Errors
/// [`CacheError`] names the file.
pub fn keep_logs(logs: &[PathBuf]) -> Result<(), CacheError> {
    let folder = Cache::open()?.root().join("last-failure");
    fs::create_dir_all(&folder).at(&folder)?;
    for source in logs.iter().filter(|log| log.is_file()) {
        let target = folder.join(source.file_name().unwrap_or_default());
        fs::copy(source, &target).at(&target)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_lies_where_a_run_is_kept_is_not_emptied() {
        let work = tempfile::tempdir().unwrap();
        let [run, kept] = ["run", "kept"].map(|name| work.path().join(name));
        fs::create_dir(&run).unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("trace"), "recorded").unwrap();
        std::os::unix::fs::symlink(kept.join("trace"), run.join("trace")).unwrap();
        fs::write(run.join("console"), "said").unwrap();
        keep_all(&run, &kept).unwrap();
        let read = |name: &str| fs::read_to_string(kept.join(name)).unwrap();
        assert_eq!((&*read("trace"), &*read("console")), ("recorded", "said"));
    }

    #[test]
    fn it_is_this_users_alone() {
        let base = tempfile::tempdir().unwrap();
        let folder = create_in(base.path()).unwrap();
        assert_eq!(mode(folder.path()), 0o700);
        let file = folder.path().join(file::INITRD);
        create_file(&file).unwrap();
        assert_eq!(
            (mode(&file), mode(&folder.path().join(LOCK))),
            (0o600, 0o600)
        );
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("mine")).unwrap();
        fs::write(base.path().join("mine/file"), "").unwrap();
        let link = base.path().join("link");
        std::os::unix::fs::symlink("mine", &link).unwrap();
        remove(&link);
        let left = fs::read_dir(base.path().join("mine")).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["file"]);
    }

    #[test]
    fn what_is_written_while_it_is_removed_goes_later() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("gil-run-ending");
        let (path, late) = (folder.clone(), folder.join("late"));
        fs::create_dir_all(&late).unwrap();
        let writer = std::thread::spawn(move || {
            let mut number = 0;
            while number < 10_000 && path.exists() {
                let _ = fs::write(path.join(number.to_string()), "late");
                number += 1;
            }
        });
        while fs::read_dir(&folder).unwrap().count() < 5 {}
        remove(&folder);
        writer.join().unwrap();
        assert!(!late.exists());
        discard_left(base.path());
        assert!(!folder.exists());
    }

    /// A run was ended as it made its folder, or as it removed it.
    #[test]
    fn one_that_has_had_no_lock_for_long_goes() {
        let base = tempfile::tempdir().unwrap();
        let made = |name: &str, mode, seconds| {
            let path = base.path().join(name);
            DirBuilder::new().mode(mode).create(&path).unwrap();
            fs::write(path.join("gil.ko"), "left").unwrap();
            let then = std::time::SystemTime::now() - Duration::from_secs(seconds);
            File::open(&path).unwrap().set_modified(then).unwrap();
            path
        };
        let old = made("gil-run-aB3dE6", 0o700, 300);
        let others = [
            made("gil-run-aB3dE7", 0o700, 5),
            made("gil-run-aB3dE8", 0o755, 300),
            made("gil-run-of-mine", 0o700, 300),
        ];
        discard_left(base.path());
        assert!(!old.exists());
        assert!(others.iter().all(|other| other.exists()), "{others:?}");
    }

    #[test]
    fn what_killed_runs_left_goes_and_the_rest_stays() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        for name in ["gil-run-dead", "gil-run-unknown", "mine"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join(file::INITRD), "large").unwrap();
        }
        for name in ["gil-run-dead", "mine"] {
            fs::write(at(name).join(LOCK), "").unwrap();
        }
        std::os::unix::fs::symlink(at("mine"), at("gil-run-link")).unwrap();
        let living = create_in(base.path()).unwrap();
        discard_left(base.path());
        assert!(!at("gil-run-dead").exists());
        assert!(at("gil-run-unknown").exists() && at("mine").exists());
        assert!(living.path().join(LOCK).exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }
}
