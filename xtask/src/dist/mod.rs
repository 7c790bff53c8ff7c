//! `cargo xtask dist`: the agent for ARM boards, and the command `gil` with all that a
//! run needs, each as a tarball and as a Debian package, the same bytes whenever they are
//! made from the same commit.
//!
//! | module | what |
//! |---|---|
//! | [`target`] | the machines |
//! | [`build`] | cargo |
//! | [`elf`] | what the built program needs |
//! | [`notices`] | licences of what is linked in |
//! | [`contents`] | which files of the agent go where |
//! | [`simulating`] | what the command needs, and where it goes |
//! | [`debian`] | the texts of Debian packages |
//! | [`pack`] | the archives |

pub mod build;
pub mod contents;
pub mod debian;
pub mod elf;
pub mod notices;
pub mod pack;
pub mod simulating;
pub mod target;

use crate::guest::{GuestError, target_folder};
use contents::Sources;
use elf::ElfError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use target::{TARGETS, Target};

/// Why nothing was packed.
#[derive(Debug, thiserror::Error)]
pub enum DistError {
    /// A program would not run.
    #[error("{program} does not run ({error}): install it")]
    Start {
        /// The program's name.
        program: String,
        /// The operating system's error.
        error: io::Error,
    },
    /// A program said no; its output stands above.
    #[error("{0}: see above")]
    Failed(&'static str),
    /// A file.
    #[error("{}: {error}", path.display())]
    File {
        /// The file's path.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// cargo says something new.
    #[error("what cargo says of the crates is not understood: {0}")]
    Metadata(serde_json::Error),
    /// No such machine.
    #[error("there is no \"{0}\" to pack: it is gil, or the agent for arm64 or armhf")]
    Unknown(String),
    /// No such machine for the command.
    #[error("gil is packed on x86-64 and 64-bit ARM computers: use one")]
    Host,
    /// Neither set nor known.
    #[error(
        "the date of the packages is not known: set SOURCE_DATE_EPOCH to seconds since 1970, or pack in a checkout"
    )]
    NoDate,
    /// A program that does not fit.
    #[error("{}: {error}", path.display())]
    Elf {
        /// The program.
        path: PathBuf,
        /// What is wrong with the file.
        error: ElfError,
    },
    /// Rust's targets.
    #[error(transparent)]
    Target(#[from] GuestError),
}

impl DistError {
    fn file(path: &Path, error: io::Error) -> Self {
        Self::File {
            path: path.into(),
            error,
        }
    }
}

/// Builds and packs the agent for each machine of these Debian names, and the command if
/// its name is among them; without names, all of it. The packages. For all, it also checks
/// that the agent and the guest's libraries compile for Android. `profile`: cargo's, for the
/// command.
///
/// # Errors
/// [`DistError`].
pub fn run(root: &Path, names: &[String], profile: &str) -> Result<Vec<PathBuf>, DistError> {
    let date = date(root)?;
    let folder = target_folder(root).join("packages");
    fs::create_dir_all(&folder).map_err(|error| DistError::file(&folder, error))?;
    let mut made = Vec::new();
    let agents = selected(names)?;
    let is_gil = |name: &String| name == simulating::NAME;
    if names.is_empty() || names.iter().any(is_gil) {
        eprintln!("xtask: gil for this machine: building what changed, then packing it");
        made.extend(write(&folder, command(root, profile, date)?)?);
    }
    for target in agents {
        eprintln!(
            "xtask: gil-board for {}: building what changed, then packing it",
            target.debian
        );
        made.extend(write(&folder, packages(root, target, date)?)?);
    }
    if names.is_empty() {
        build::check_android(root)?;
    }
    Ok(made)
}

/// Writes packages into the folder; their paths.
fn write(folder: &Path, packages: [(String, Vec<u8>); 2]) -> Result<Vec<PathBuf>, DistError> {
    let mut made = Vec::new();
    for (name, bytes) in packages {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|error| DistError::file(&path, error))?;
        made.push(path);
    }
    Ok(made)
}

/// The command's.
fn command(root: &Path, profile: &str, date: u64) -> Result<[(String, Vec<u8>); 2], DistError> {
    let target = Target::of_this_machine().ok_or(DistError::Host)?;
    let parts = simulating::parts(root, target, profile)?;
    simulating::pack(root, &parts, date).map_err(|error| DistError::file(root, error))
}

/// The agent's machines.
fn selected(names: &[String]) -> Result<Vec<&'static Target>, DistError> {
    if names.is_empty() {
        return Ok(TARGETS.iter().collect());
    }
    let find = |name: &String| {
        let target = TARGETS.iter().find(|target| target.debian == *name);
        target.ok_or_else(|| DistError::Unknown(name.clone()))
    };
    let agents = names.iter().filter(|name| *name != simulating::NAME);
    agents.map(find).collect()
}

fn packages(root: &Path, target: &Target, date: u64) -> Result<[(String, Vec<u8>); 2], DistError> {
    let path = build::agent(root, target)?;
    let agent = fs::read(&path).map_err(|error| DistError::file(&path, error))?;
    let glibc = elf::check(target, &agent).map_err(|error| DistError::Elf { path, error })?;
    let sources = Sources {
        target,
        glibc,
        agent,
        notices: notices::third_party(root, build::PACKAGE, &[(build::PACKAGE, target.triple)])?,
    };
    let packed = contents::pack(root, &sources, date);
    packed.map_err(|error| DistError::file(root, error))
}

/// What `SOURCE_DATE_EPOCH` says, else the commit's date.
fn date(root: &Path) -> Result<u64, DistError> {
    let parse = |text: &str| text.trim().parse().map_err(|_| DistError::NoDate);
    if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
        return parse(&text);
    }
    let mut command = Command::new("git");
    command
        .args(["log", "-1", "--format=%ct"])
        .current_dir(root);
    let output = command.output().map_err(|_| DistError::NoDate)?;
    parse(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_found_by_debians_name() {
        let find = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            selected(&names).map(|found| found.iter().map(|t| t.bits).collect::<Vec<_>>())
        };
        assert_eq!(find(&[]).unwrap(), [64, 32]);
        assert_eq!(find(&["armhf"]).unwrap(), [32]);
        assert_eq!(find(&["gil", "arm64"]).unwrap(), [64]);
        assert!(find(&["armel"]).unwrap_err().to_string().contains("armel"));
    }
}
