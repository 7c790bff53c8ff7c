//! What can be wrong with a sweep: each is one sentence.

use crate::grid::POINTS_MAX;
use std::io;
use std::path::{Path, PathBuf};

/// Why a sweep is not run, or shown.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A file that is read.
    #[error("{} cannot be read ({source}): check that it is there and its permissions", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file or folder that is written.
    #[error("{} cannot be written ({source}): name a folder with --out, on a disk with room, where you may write", path.display())]
    Write {
        /// Its path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The sweep's file.
    #[error("{} is no sweep ({what})", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What is wrong in it.
        what: String,
    },
    /// Another gil's.
    #[error("{} has version {found} of the sweep's file, and this gil reads {}", path.display(), crate::file::VERSION)]
    Version {
        /// Its path.
        path: PathBuf,
        /// The version in it.
        found: i64,
    },
    /// A grid without bounds.
    #[error("{} has {points} points, and a sweep has {POINTS_MAX} at most: leave out values, or make several sweeps", path.display())]
    Many {
        /// The sweep's file.
        path: PathBuf,
        /// How many, as far as they can be counted.
        points: String,
    },
    /// A key of a profile, or the profile below it.
    #[error("the profile of {point} cannot be made ({what})")]
    Profile {
        /// The point, by its axes.
        point: String,
        /// What is wrong.
        what: String,
    },
    /// What `gil run` refuses.
    #[error("`gil run` refuses {point}: {what}")]
    Refused {
        /// The point, by its axes.
        point: String,
        /// What it says.
        what: String,
    },
    /// A point that there is not.
    #[error("there is no point {number}: this sweep has the points 1 to {last}")]
    NoPoint {
        /// What was asked for.
        number: usize,
        /// The last point.
        last: usize,
    },
    /// Someone else works in the folder.
    #[error("another `gil sweep` works in {}: wait for its end, or name another folder with --out", .0.display())]
    Locked(PathBuf),
    /// The folder has something of somebody else's.
    #[error("{} is there, and no sweep made it: name a new folder with --out, or move it away", .0.display())]
    Foreign(PathBuf),
    /// The child.
    #[error("`gil run` cannot be started ({0})")]
    Start(#[source] io::Error),
    /// The table as Parquet.
    #[error("the table cannot be made into Parquet ({0})")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The picture.
    #[error("the plot cannot be drawn ({0})")]
    Plot(String),
}

impl SweepError {
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        let path = path.into();
        Self::Read { path, source }
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        let path = path.into();
        Self::Write { path, source }
    }
}
