//! Checks, before anything else, that a gem5 can be used.

use super::Gem5Error;
use gil_run_support::checkout;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What gem5 is asked, in its own Python.
const QUESTION: &str = "import _m5.core, m5.objects; \
     print('gil asks:', _m5.core.gem5Version, hasattr(m5.objects, 'GilBridge'))";
/// The prefix of the answer.
const ANSWER: &str = "gil asks: ";

/// Looks whether `program` is a gem5 with gil in it.
///
/// # Errors
/// [`Gem5Error`] says what it is otherwise.
pub fn program(program: &Path) -> Result<(), Gem5Error> {
    if !program.is_file() {
        return Err(Gem5Error::Missing(program.into()));
    }
    let said = ask(program)?;
    let answer = said.lines().find_map(|line| line.strip_prefix(ANSWER));
    match answer.and_then(|answer| answer.split_once(' ')) {
        Some((_, "True")) => Ok(()),
        Some((version, _)) => Err(Gem5Error::WithoutGil {
            program: program.into(),
            version: version.into(),
            extras: extras(),
        }),
        None => Err(Gem5Error::NoGem5(program.into())),
    }
}

fn ask(program: &Path) -> Result<String, Gem5Error> {
    let failed = |source| Gem5Error::Start {
        program: program.into(),
        source,
    };
    // It makes its output folder whatever it is asked.
    let folder = tempfile::tempdir().map_err(failed)?;
    let output = Command::new(program)
        .arg("--quiet")
        .arg(format!("--outdir={}", folder.path().display()))
        .args(["-c", QUESTION])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(failed)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The value that EXTRAS needs.
fn extras() -> String {
    match checkout::root() {
        Some(checkout) => checkout.join("gem5-patches").display().to_string(),
        None => "GIL/gem5-patches".into(),
    }
}

/// Where the tree that `program` was built in has its boot loader.
///
/// # Errors
/// [`Gem5Error::NoBootloader`] if it is not built.
pub fn bootloader(program: &Path) -> Result<PathBuf, Gem5Error> {
    let program = program.canonicalize().unwrap_or_else(|_| program.into());
    // TREE/build/ARM/gem5.opt
    let tree = program.ancestors().nth(3).filter(|tree| {
        let source = tree.join(FOLDER).join("boot.S");
        source.is_file()
    });
    let folder = match tree {
        Some(tree) => tree.join(FOLDER),
        None => Path::new("GEM5").join(FOLDER),
    };
    let path = folder.join("boot.arm64");
    match path.is_file() {
        true => Ok(path),
        false => Err(Gem5Error::NoBootloader(folder)),
    }
}

/// gem5's boot loader in its tree.
const FOLDER: &str = "system/arm/bootloader/arm64";
