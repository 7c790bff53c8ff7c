//! A session's own folder, the only one that it can write, and its environment.
//! Drivers store compiled kernels there; in a shared folder, one session could write
//! what another executes.

use super::Confinement;
use crate::back_end::BackEnd;
use nix::fcntl::{Flock, FlockArg};
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Where programs, and drivers without a word of their own, keep files.
const OWN: [&str; 3] = ["HOME", "TMPDIR", "XDG_CACHE_HOME"];
/// What else a session gets of the agent's environment: what every program, and
/// the system's libraries, read. Others may be secrets.
const NAMES: [&str; 4] = ["PATH", "LANG", "LANGUAGE", "TZ"];
/// The same, by how their names begin; back ends name what drivers read
/// ([`Needs::variables`](crate::back_end::Needs::variables)).
const PREFIXES: [&str; 10] = [
    "LC_", "LD_", "GIL_", "RUST_", "MALLOC_", "GLIBC_", "ASAN_", "TSAN_", "LSAN_", "UBSAN_",
];

/// How the names of agents' folders begin.
const AGENT: &str = "gil-board-";
/// How long an agent has a folder before it locks it, at most.
const STARTS_WITHIN: Duration = Duration::from_secs(10);

/// An agent's folder of its sessions' folders. It goes with the agent; one that
/// an agent left behind that was killed goes when another starts.
#[derive(Debug)]
pub struct Folders {
    root: Folder,
    /// Says that there is an agent.
    _lock: Flock<File>,
}

impl Folders {
    /// An empty one.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Self> {
        Self::within(&std::env::temp_dir())
    }

    fn within(place: &Path) -> io::Result<Self> {
        remove_abandoned(place)?;
        let root = Folder::new(place, AGENT)?;
        let lock = lock(root.path())?.ok_or(io::ErrorKind::ResourceBusy)?;
        Ok(Self { root, _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.root.path()
    }
}

fn lock(folder: &Path) -> io::Result<Option<Flock<File>>> {
    match Flock::lock(File::open(folder)?, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(error.into()),
    }
}

fn remove_abandoned(place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(place)?.flatten() {
        let is_one = entry.file_name().to_string_lossy().starts_with(AGENT);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let folder = entry.path();
        // Another user's cannot be opened or emptied.
        if is_one
            && is_folder
            && is_old(&folder)
            && let Ok(Some(_lock)) = lock(&folder)
        {
            tracing::debug!("{} is removed: its agent was killed", folder.display());
            let removed = flatten(&folder).and_then(|()| fs::remove_dir(&folder));
            removed.unwrap_or_else(|error| tracing::debug!("{}: {error}", folder.display()));
        }
    }
    Ok(())
}

/// An agent that starts has not locked its folder at once.
fn is_old(folder: &Path) -> bool {
    let made = fs::metadata(folder).and_then(|of| of.modified());
    made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > STARTS_WITHIN))
}

/// Removed when it is dropped, with what the session left there.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// A new one that only its owner may enter.
    ///
    /// # Errors
    /// The system's.
    pub fn new(within: &Path, prefix: &str) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(within)?;
        Ok(Self(folder))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Has a program work there, and leaves in its environment what the drivers
    /// of these back ends read.
    pub fn furnish(
        &self,
        command: &mut Command,
        confinement: &Confinement,
        back_ends: &[&dyn BackEnd],
    ) {
        let needs = || back_ends.iter().map(|back_end| back_end.needs());
        let is_read = |name: &OsString| {
            let name = name.to_string_lossy();
            is_for_all(&name) || needs().any(|needs| starts_so(&name, needs.variables))
        };
        let caches = needs().flat_map(|needs| needs.caches);
        let shared = confinement.shared_cache.as_deref();
        let cache = shared.unwrap_or(self.path());
        command
            .current_dir(self.path())
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| is_read(name)))
            .envs(OWN.map(|name| (name, self.path())))
            .envs(caches.map(|name| (name, cache)));
    }
}

fn is_for_all(name: &str) -> bool {
    NAMES.contains(&name) || starts_so(name, &PREFIXES)
}

fn starts_so(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it is gone, so is what was in it.
        let emptied = flatten(self.path());
        if let Err(error) = emptied
            && error.kind() != io::ErrorKind::NotFound
        {
            let folder = self.path().display();
            tracing::warn!("{folder}, which was a session's, cannot be emptied: {error}");
        }
    }
}

/// Removes what is in a folder. However deep it is, two levels are open at a
/// time: what is in a folder of it moves up before the folder goes.
///
/// # Errors
/// The system's.
pub fn flatten(root: &Path) -> io::Result<()> {
    let mut next = 0_u64;
    let mut folders = emptied(root)?;
    while let Some(folder) = folders.pop() {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        for inner in emptied(&folder)? {
            let up = loop {
                let up = root.join(format!("gil-{next}"));
                next += 1;
                // The name may be one of theirs.
                if fs::symlink_metadata(&up).is_err() {
                    break up;
                }
            };
            // What moves changes its entry for the folder above.
            fs::set_permissions(&inner, Permissions::from_mode(0o700))?;
            fs::rename(inner, &up)?;
            folders.push(up);
        }
        fs::remove_dir(folder)?;
    }
    Ok(())
}

/// The folders in a folder, without files.
fn emptied(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => folders.push(entry.path()),
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_folder_goes_however_deep_it_is_and_whatever_may_be_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path(), "gil-").unwrap();
        let root = folder.path().to_owned();
        // Deeper than a path can say, and than files may be open.
        let mut inner = root.join("a");
        fs::create_dir(&inner).unwrap();
        for _ in 0..3000 {
            let above = root.join("b");
            fs::create_dir(&above).unwrap();
            fs::write(above.join("file"), "").unwrap();
            fs::rename(&inner, above.join("a")).unwrap();
            inner = root.join("a");
            fs::rename(&above, &inner).unwrap();
        }
        std::os::unix::fs::symlink("/", root.join("link")).unwrap();
        fs::create_dir(root.join("closed")).unwrap();
        fs::set_permissions(root.join("closed"), Permissions::from_mode(0o000)).unwrap();
        drop(folder);
        assert!(!root.exists());
    }

    #[test]
    fn what_a_killed_agent_left_goes_when_another_starts() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str, age| {
            let folder = place.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("file"), "").unwrap();
            let file = File::open(&folder).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
            folder
        };
        let old = Duration::from_secs(60);
        let left = make("gil-board-left", old);
        let new = make("gil-board-new", Duration::ZERO);
        let other = make("other", old);
        let living = make("gil-board-living", old);
        let lock = lock(&living).unwrap().unwrap();
        let folders = Folders::within(place.path()).unwrap();
        assert!(!left.exists());
        assert!(new.exists() && other.exists() && living.exists());
        drop((folders, lock));
        let names = fs::read_dir(place.path()).unwrap().count();
        assert_eq!(names, 3);
    }

    #[test]
    fn secrets_of_the_environment_stay_behind() {
        for name in ["PATH", "LC_ALL"] {
            assert!(is_for_all(name), "{name}");
        }
        let others = ["AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "PATHS", "HOME"];
        for name in others.iter().chain(&["POCL_DEVICES", "CUDA_CACHE_PATH"]) {
            assert!(!is_for_all(name), "{name}");
        }
        for back_end in crate::BACK_ENDS {
            let needs = back_end.needs();
            let reads = |name: &str| starts_so(name, needs.variables);
            assert!(!others.into_iter().any(reads));
            assert!(needs.caches.iter().copied().all(reads));
        }
    }
}
