//! Which conformance programs a folder holds.

use crate::Width;
use object::{Object, read::File};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// What the programs' names begin with.
const PREFIX: &str = "test_";

/// A program of the conformance tests: several subtests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its file name without `test_`.
    pub name: String,
    /// The program.
    pub program: PathBuf,
}

/// Why programs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A folder cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file's path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A name that neither folder, or only one, has.
    #[error(
        "there is no program {PREFIX}{name} below {folder}: build it there, or leave out {name}"
    )]
    Missing {
        /// Without the prefix.
        name: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// No program in both.
    #[error(
        "no program {PREFIX}… or deqp-… lies below both {native} and {guest}: build Khronos' OpenCL-CTS or the modules of VK-GL-CTS twice, for this machine and with a cross compiler for the guest, and name the folders of both builds"
    )]
    None {
        /// This machine's.
        native: PathBuf,
        /// The guest's.
        guest: PathBuf,
    },
    /// The guest's program is none of the guest's.
    #[error(
        "{path} is no program for 64-bit or 32-bit ARM: build the guest's folder with a cross compiler"
    )]
    Machine {
        /// The program.
        path: PathBuf,
    },
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, SuiteError> {
    result.map_err(|source| SuiteError::Io {
        path: path.into(),
        source,
    })
}

/// The programs below a folder, by name.
///
/// # Errors
/// A folder that cannot be read.
pub fn find(folder: &Path) -> Result<BTreeMap<String, Suite>, SuiteError> {
    find_named(folder, |file| file.strip_prefix(PREFIX))
}

/// The programs below a folder whose files `name` gives a name.
///
/// # Errors
/// A folder that cannot be read.
pub fn find_named(
    folder: &Path,
    name: impl Fn(&str) -> Option<&str>,
) -> Result<BTreeMap<String, Suite>, SuiteError> {
    let mut found = BTreeMap::new();
    // One that is not there has no programs, which another sentence says.
    let mut folders = Vec::from_iter(folder.is_dir().then(|| folder.to_owned()));
    while let Some(folder) = folders.pop() {
        for entry in at(&folder, std::fs::read_dir(&folder))? {
            let entry = at(&folder, entry)?;
            let path = entry.path();
            if at(&path, entry.file_type())?.is_dir() {
                folders.push(path);
            } else if let Some(suite) = suite(path, &name) {
                found.insert(suite.name.clone(), suite);
            }
        }
    }
    Ok(found)
}

fn suite(program: PathBuf, name: impl Fn(&str) -> Option<&str>) -> Option<Suite> {
    let name = name(program.file_name()?.to_str()?)?;
    let name = name.to_owned();
    is_elf(&program).then_some(Suite { name, program })
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut f| io::Read::read_exact(&mut f, &mut magic));
    read.is_ok() && magic == *b"\x7fELF" && path.extension().is_none()
}

/// Pairs of this machine's and the guest's program: those named, or all that
/// both folders hold.
///
/// # Errors
/// A name that one of them lacks; nothing in common.
pub fn pairs(
    native: &Path,
    guest: &Path,
    names: &[String],
) -> Result<Vec<(Suite, Suite)>, SuiteError> {
    let (ours, theirs) = (find(native)?, find(guest)?);
    if names.is_empty() {
        let both = ours.into_iter().filter_map(|(name, suite)| {
            let other = theirs.get(&name)?.clone();
            Some((suite, other))
        });
        let both: Vec<_> = both.collect();
        return if both.is_empty() {
            Err(SuiteError::None {
                native: native.into(),
                guest: guest.into(),
            })
        } else {
            Ok(both)
        };
    }
    let take = |found: &BTreeMap<String, Suite>, name: &String, folder: &Path| {
        let missing = || SuiteError::Missing {
            name: name.clone(),
            folder: folder.into(),
        };
        found.get(name).cloned().ok_or_else(missing)
    };
    let pair = |name| Ok((take(&ours, name, native)?, take(&theirs, name, guest)?));
    names.iter().map(pair).collect()
}

/// Width of the pointers of a program for the guest.
///
/// # Errors
/// A program for another machine.
pub fn width(suite: &Suite) -> Result<Width, SuiteError> {
    let path = &suite.program;
    let bytes = at(path, std::fs::read(path))?;
    let machine = File::parse(&*bytes).map(|file| file.architecture());
    match machine {
        Ok(object::Architecture::Aarch64) => Ok(Width::Arm64),
        Ok(object::Architecture::Arm) => Ok(Width::Armhf),
        _ => Err(SuiteError::Machine { path: path.clone() }),
    }
}
