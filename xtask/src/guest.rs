//! `cargo xtask guest`: builds what runs in the guest.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Target of the guest's kernel and most of its programs.
const TARGET: &str = "aarch64-unknown-linux-gnu";
/// Target of its 32-bit programs.
const ARMHF: &str = "armv7-unknown-linux-gnueabihf";

/// In the one warning that every build gives: `.cargo/config.toml` leaves out
/// helper functions, for which rustc has no stable option.
const KNOWN_WARNING: &str = "`-Ctarget-feature`: `outline-atomics`";

/// A crate that runs in the guest.
struct Part {
    package: &'static str,
    artifact: &'static str,
    /// Needs no library of the guest's.
    is_static: bool,
}

const INIT: Part = Part {
    package: "gil-init",
    artifact: "gil-init",
    is_static: true,
};

/// Programs load it, each its own.
const OPENCL: Part = Part {
    package: "gil-opencl",
    artifact: "libgil_opencl.so",
    is_static: false,
};

/// Why the guest's part was not built.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// A program would not run.
    #[error("{program} does not run ({error}): install it")]
    Start {
        /// Which.
        program: String,
        /// Why.
        error: std::io::Error,
    },
    /// The target cannot be added.
    #[error("rustup has no target {0} and cannot add it: check the name, and the network")]
    Target(String),
    /// Cargo failed; its output stands above.
    #[error("{0} was not built: see above")]
    Build(&'static str),
}

/// Builds every part with the profile `guest`, and the libraries of 32-bit
/// programs too `if with_armhf`; returns the files.
///
/// # Errors
/// [`GuestError`].
pub fn build(root: &Path, with_armhf: bool) -> Result<Vec<PathBuf>, GuestError> {
    ensure_target(root, TARGET)?;
    let mut files = vec![
        build_part(root, TARGET, &INIT)?,
        build_part(root, TARGET, &OPENCL)?,
    ];
    if with_armhf {
        ensure_target(root, ARMHF)?;
        files.push(build_part(root, ARMHF, &OPENCL)?);
    }
    Ok(files)
}

/// Adds Rust's target unless it is there.
///
/// # Errors
/// [`GuestError::Target`].
pub(crate) fn ensure_target(root: &Path, target: &str) -> Result<(), GuestError> {
    let mut list = Command::new("rustup");
    list.args(["target", "list", "--installed"])
        .current_dir(root)
        .stdout(Stdio::piped());
    let list = list.output().map_err(|error| start("rustup", error))?;
    let installed = String::from_utf8_lossy(&list.stdout);
    if installed.lines().any(|line| line.trim() == target) {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    let added = add
        .args(["target", "add", target])
        .current_dir(root)
        .status();
    match added.map_err(|error| start("rustup", error))?.success() {
        true => Ok(()),
        false => Err(GuestError::Target(target.into())),
    }
}

fn start(program: &str, error: std::io::Error) -> GuestError {
    GuestError::Start {
        program: program.into(),
        error,
    }
}

fn build_part(root: &Path, target: &str, part: &Part) -> Result<PathBuf, GuestError> {
    let cargo = std::env::var("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(&cargo);
    command
        .args(["build", "--quiet", "--profile", "guest"])
        .args(["--package", part.package, "--target", target])
        .current_dir(root);
    if part.is_static {
        command.env("RUSTFLAGS", "-C target-feature=+crt-static");
    }
    command.stdout(Stdio::inherit());
    let output = command.output().map_err(|error| start(&cargo, error))?;
    eprint!("{}", told(&String::from_utf8_lossy(&output.stderr)));
    match output.status.success() {
        true => Ok(target_folder(root)
            .join(target)
            .join("guest")
            .join(part.artifact)),
        false => Err(GuestError::Build(part.package)),
    }
}

/// What cargo wrote but for the known warning. An empty line ends each.
pub(crate) fn told(written: &str) -> String {
    let parts = written.split_inclusive("\n\n");
    parts.filter(|part| !part.contains(KNOWN_WARNING)).collect()
}

/// Where cargo builds.
pub(crate) fn target_folder(root: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root.join(folder),
        None => root.join("target"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_known_warning_is_told() {
        let known = format!("warning: unstable feature specified for {KNOWN_WARNING}\n  |\n\n");
        let error = "error: expected one of `;` or `}`\n --> src/lib.rs:1:1\n\n";
        assert_eq!(told(&format!("{known}{error}{known}")), error);
        assert_eq!(told("error: no network"), "error: no network");
        assert_eq!(told(&known), "");
    }
}
