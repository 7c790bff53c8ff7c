//! Tests that are passed over because this machine lacks something.
//!
//! A test that finds nothing to run on calls [`skip`] and returns. On a
//! developer's machine that prints a line. Where skips are declared
//! ([`DECLARED`], as `.ci/run` sets it), one that is not declared fails its test:
//! a machine that lost its OpenCL device, its compiler or its kernel is noticed,
//! instead of passing everything. [`Summary`] is what a run ends with.

mod summary;

pub use summary::{Summary, SummaryError};

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Environment: the file of declared skips, TOML: what is missing, and why that
/// is right. Where it is set, no other skip is let pass.
pub const DECLARED: &str = "GIL_SKIPS";
/// Environment: the file to which each skip is added as a line.
pub const HAPPENED: &str = "GIL_SKIPPED";

/// Says that this test needs something that is missing here; the test returns
/// behind it.
///
/// # Panics
/// If skips are declared, and this one is not: with a sentence that says what to
/// install or to declare.
pub fn skip(what: &str, why: impl Display) {
    let why = why.to_string();
    let why = why.trim_end();
    note(what);
    let Some(path) = file(DECLARED) else {
        return eprintln!("skipped for want of {what}: {why}");
    };
    let declared = summary::declared(&path).unwrap_or_else(|error| panic!("{error}"));
    let Some(reason) = declared.get(what) else {
        panic!(
            "{what} is missing, which this test needs: {why}\n\
             Install it (scripts/setup), or declare the skip in {}: \"{what}\" = \"REASON\"",
            path.display()
        );
    };
    eprintln!("skipped for want of {what}, as declared: {reason}");
}

/// Whether a program is installed; [`skip`] if it is not.
pub fn program(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version");
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let found = quiet.status();
    if let Err(error) = &found {
        skip(name, format_args!("{name} does not run ({error})"));
    }
    found.is_ok()
}

fn file(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty())?;
    Some(path.into())
}

/// Adds a line to the file of what happened, at once: tests run side by side.
fn note(what: &str) {
    let Some(path) = file(HAPPENED) else { return };
    let line = format!("{what}\t{}\n", test());
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{HAPPENED}={}: {error}", path.display()));
}

/// The test's name behind its binary's.
fn test() -> String {
    let binary = std::env::current_exe().unwrap_or_default();
    let stem = binary.file_stem().unwrap_or_default().to_string_lossy();
    let binary = stem.rsplit_once('-').map_or(&*stem, |(name, _)| name);
    let thread = std::thread::current();
    format!("{binary}::{}", thread.name().unwrap_or("?"))
}
