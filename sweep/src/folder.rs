//! A sweep's folder:
//!
//! | in it | what |
//! |---|---|
//! | `rows/KEY.row` | a row each; whole, or not there |
//! | `output/KEY.txt` | what a point's program and `gil run` printed |
//! | `running/` | what points that run write |
//! | `lock` | locked as long as a sweep works here |
//! | `table.csv`, `table.parquet`, `plot.svg` | what is made of the rows |
//! | `array.sh`, `array.log` | a script for an engine's array of jobs, and what its tasks print |
//!
//! A row is written beside and flushed, gets its name, and the folder is flushed: whoever
//! is ended at any moment leaves all of a row or nothing of it.

use crate::SweepError;
use crate::row::{BYTES_MAX, Row};
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// The rows' folder in a sweep's.
pub const ROWS: &str = "rows";
const OUTPUT: &str = "output";
const RUNNING: &str = "running";
const LOCK: &str = "lock";
const ROW: &str = "row";
/// What is made in the folder, beside the rows.
const MADE: [&str; 8] = [
    ROWS,
    OUTPUT,
    RUNNING,
    "table.csv",
    "table.parquet",
    "plot.svg",
    "array.sh",
    "array.log",
];

/// Who may work in the folder meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// Nobody: a whole sweep.
    Nobody,
    /// Others that run single points.
    Others,
}

/// A sweep's folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

/// A folder in which points may run.
#[derive(Debug)]
pub struct Held<'a> {
    folder: &'a Folder,
    _lock: Flock<File>,
}

/// What is there of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Nothing.
    None,
    /// Its row.
    Row(Box<Row>),
    /// A file that is no row of it.
    Damaged,
}

impl Folder {
    /// The one at this path, which need not be there yet.
    pub fn at(path: &Path) -> Self {
        Self { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it, and locks it: nobody else runs points in it but those who may.
    ///
    /// # Errors
    /// [`SweepError::Locked`] if somebody does; [`SweepError::Foreign`]; [`SweepError::Write`].
    pub fn hold(&self, with: With) -> Result<Held<'_>, SweepError> {
        self.own()?;
        for name in [ROWS, OUTPUT, RUNNING] {
            let path = self.path.join(name);
            fs::create_dir_all(&path).map_err(|source| SweepError::write(&path, source))?;
        }
        let lock = self.lock(with)?;
        if with == With::Nobody {
            self.remove_left();
        }
        Ok(Held {
            folder: self,
            _lock: lock,
        })
    }

    /// Makes the folder with its lock, which says whose it is: one without it has nothing that a sweep would
    /// replace, or empty.
    fn own(&self) -> Result<(), SweepError> {
        let lock = self.path.join(LOCK);
        // A link would lead to what is no sweep's, and a pipe would have it wait.
        for name in [LOCK, ROWS, OUTPUT, RUNNING] {
            let path = self.path.join(name);
            let is_fine = |meta: fs::Metadata| match name {
                LOCK => meta.is_file(),
                _ => meta.is_dir(),
            };
            if path.symlink_metadata().is_ok_and(|meta| !is_fine(meta)) {
                return Err(SweepError::Foreign(path));
            }
        }
        let mut made = MADE.iter().map(|name| self.path.join(name));
        let there = made.find(|path| path.symlink_metadata().is_ok());
        // The lock is made first: another that begins meanwhile made what is there.
        match there.filter(|_| !lock.is_file()) {
            Some(path) => Err(SweepError::Foreign(path)),
            None => {
                let made = fs::create_dir_all(&self.path).and_then(|()| {
                    let mut options = File::options();
                    options.create(true).append(true).open(&lock)
                });
                made.map(drop)
                    .map_err(|source| SweepError::write(&lock, source))
            }
        }
    }

    fn lock(&self, with: With) -> Result<Flock<File>, SweepError> {
        let path = self.path.join(LOCK);
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|source| SweepError::write(&path, source))?;
        let how = match with {
            With::Nobody => FlockArg::LockExclusiveNonblock,
            With::Others => FlockArg::LockSharedNonblock,
        };
        Flock::lock(file, how).map_err(|(_, errno)| match errno {
            nix::errno::Errno::EWOULDBLOCK => SweepError::Locked(self.path.clone()),
            other => SweepError::write(&path, other.into()),
        })
    }

    /// Removes what killed sweeps left. Nobody else works here.
    fn remove_left(&self) {
        let left = fs::read_dir(self.path.join(RUNNING)).into_iter().flatten();
        for entry in left.flatten() {
            let path = entry.path();
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
    }

    fn row_path(&self, key: &str) -> PathBuf {
        self.path.join(ROWS).join(key).with_extension(ROW)
    }

    /// What is there of a point.
    ///
    /// # Errors
    /// [`SweepError::Read`].
    pub fn row(&self, key: &str) -> Result<Found, SweepError> {
        let path = self.row_path(key);
        let failed = |source| SweepError::read(&path, source);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::None),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        let read = file.take(BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(failed)?;
        let row = Row::parse(&bytes).filter(|row| row.key == key);
        Ok(row.map_or(Found::Damaged, |row| Found::Row(Box::new(row))))
    }

    /// What a point's program printed.
    pub fn output(&self, key: &str) -> PathBuf {
        self.path.join(OUTPUT).join(key).with_extension("txt")
    }

    /// Writes a file of the folder, whole or not at all.
    ///
    /// # Errors
    /// [`SweepError::Foreign`]; [`SweepError::Write`].
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, SweepError> {
        self.own()?;
        let path = self.path.join(name);
        let written = fs::create_dir_all(&self.path)
            .and_then(|()| beside(&self.path))
            .and_then(|file| put(file, bytes, &path));
        written.map_err(|source| SweepError::write(&path, source))?;
        Ok(path)
    }
}

impl Held<'_> {
    /// The folder.
    pub fn folder(&self) -> &Folder {
        self.folder
    }

    /// A folder for a point that runs, gone with what is returned.
    ///
    /// # Errors
    /// [`SweepError::Write`].
    pub fn place(&self, key: &str) -> Result<TempDir, SweepError> {
        let path = self.folder.path.join(RUNNING);
        let made = tempfile::Builder::new().prefix(key).tempdir_in(&path);
        made.map_err(|source| SweepError::write(&path, source))
    }

    /// Commits a point's row: from now on it is done. One that is there is replaced.
    ///
    /// # Errors
    /// [`SweepError::Write`].
    pub fn commit(&self, row: &Row) -> Result<(), SweepError> {
        let path = self.folder.row_path(&row.key);
        let file = beside(&self.folder.path.join(RUNNING));
        let written = file.and_then(|file| put(file, row.text().as_bytes(), &path));
        written.map_err(|source| SweepError::write(&path, source))
    }
}

/// A file without its name yet, readable as this user's files are.
fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    let permissions = fs::Permissions::from_mode(0o666);
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(".new-")
        .permissions(permissions)
        .tempfile_in(folder)
}

/// Bytes as a file of this name: on the disk before they have it, and the name, too,
/// before this returns.
fn put(mut file: NamedTempFile, bytes: &[u8], path: &Path) -> io::Result<()> {
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::row;
    use crate::value::Value;

    #[test]
    fn a_row_is_there_once_it_is_committed_and_replaced_by_a_later_one() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::at(&temp.path().join("new/sweep"));
        assert_eq!(folder.row("a").unwrap(), Found::None);
        let held = folder.hold(With::Nobody).unwrap();
        for ns in [1, 2] {
            let row = row("a", &[("x", Value::Whole(1))], ns);
            held.commit(&row).unwrap();
            assert_eq!(folder.row("a").unwrap(), Found::Row(Box::new(row)));
        }
        let rows = fs::read_dir(folder.path().join(ROWS)).unwrap();
        assert_eq!(rows.count(), 1);
        assert_eq!(
            fs::read_dir(folder.path().join(RUNNING)).unwrap().count(),
            0
        );
    }

    #[test]
    fn a_file_that_is_no_row_of_the_point_is_damaged() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::at(temp.path());
        let _held = folder.hold(With::Nobody).unwrap();
        let path = folder.row_path("a");
        let other = row("b", &[], 1).text();
        for bytes in [&b""[..], b"\n", other.as_bytes(), &[0; 3 << 20]] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(folder.row("a").unwrap(), Found::Damaged);
        }
    }

    #[test]
    fn a_whole_sweep_works_alone_and_single_points_beside_each_other() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::at(temp.path());
        let left = folder.path().join(RUNNING).join("left");
        drop(folder.hold(With::Nobody).unwrap());
        fs::create_dir_all(&left).unwrap();
        let one = folder.hold(With::Others).unwrap();
        let other = folder.hold(With::Others).unwrap();
        assert!(left.exists());
        let refused = |with| folder.hold(with).unwrap_err();
        assert!(matches!(refused(With::Nobody), SweepError::Locked(_)));
        drop((one, other));
        let whole = folder.hold(With::Nobody).unwrap();
        assert!(!left.exists());
        assert!(matches!(refused(With::Nobody), SweepError::Locked(_)));
        assert!(matches!(refused(With::Others), SweepError::Locked(_)));
        drop(whole);
        folder.hold(With::Nobody).unwrap();
    }

    #[test]
    fn a_folder_with_a_file_of_somebody_elses_is_left() {
        let place = tempfile::tempdir().unwrap();
        let table = place.path().join("table.csv");
        fs::write(&table, "mine").unwrap();
        let folder = Folder::at(place.path());
        let foreign = |error| matches!(error, SweepError::Foreign(path) if path == table);
        assert!(foreign(folder.hold(With::Nobody).unwrap_err()));
        assert!(foreign(folder.write("table.csv", b"x").unwrap_err()));
        assert_eq!(fs::read(&table).unwrap(), b"mine");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        fs::create_dir(place.path().join(ROWS)).unwrap();
        assert!(matches!(
            folder.hold(With::Nobody).unwrap_err(),
            SweepError::Foreign(_)
        ));
        // Nor does a link lead out of a sweep's own.
        let other = tempfile::tempdir().unwrap();
        drop(Folder::at(other.path()).hold(With::Nobody).unwrap());
        fs::remove_dir(other.path().join(RUNNING)).unwrap();
        std::os::unix::fs::symlink(place.path(), other.path().join(RUNNING)).unwrap();
        let folder = Folder::at(other.path());
        assert!(matches!(
            folder.hold(With::Nobody).unwrap_err(),
            SweepError::Foreign(_)
        ));
    }

    #[test]
    fn a_script_is_written_before_the_first_row() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::at(place.path());
        folder.write("array.sh", b"x").unwrap();
        folder.hold(With::Others).unwrap();
        folder.write("table.csv", b"x").unwrap();
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let folder = Folder::at(Path::new("/dev/null/sweep"));
        for error in [
            folder.hold(With::Nobody).unwrap_err(),
            folder.write("table.csv", b"x").unwrap_err(),
        ] {
            assert!(error.to_string().contains("/dev/null/sweep"), "{error}");
        }
    }
}
