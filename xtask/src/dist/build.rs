//! Builds the agent for another machine.

use super::DistError;
use super::target::{ANDROID, Target};
use crate::guest::{ensure_target, target_folder};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The crate, and its program.
pub const PACKAGE: &str = "gil-board";
/// The cargo profile.
const PROFILE: &str = "dist";

/// Builds the agent; the program.
///
/// # Errors
/// [`DistError`].
pub fn agent(root: &Path, target: &Target) -> Result<PathBuf, DistError> {
    ensure_target(root, target.triple)?;
    let mut command = cargo(root);
    command
        .args(["build", "--quiet", "--locked", "--profile", PROFILE])
        .args(["--package", PACKAGE, "--bin", PACKAGE])
        .args(["--target", target.triple])
        .args(["--config", &remapped(root, target)]);
    succeed(&mut command, "the agent was not built")?;
    let folder = target_folder(root).join(target.triple).join(PROFILE);
    Ok(folder.join(PACKAGE))
}

/// The program names no folder of the machine that built it: the same sources
/// make the same bytes in any.
fn remapped(root: &Path, target: &Target) -> String {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let flags = std::iter::once((root.to_path_buf(), "/gil"))
        .chain(home.map(|home| (home, "/cargo")))
        .map(|(from, to)| format!("'--remap-path-prefix={}={to}'", from.display()));
    let flags: Vec<_> = flags.collect();
    format!("target.{}.rustflags=[{}]", target.triple, flags.join(", "))
}

/// Checks that the agent compiles for Android, which needs no compiler of C.
///
/// # Errors
/// [`DistError`].
pub fn check_android(root: &Path) -> Result<(), DistError> {
    ensure_target(root, ANDROID)?;
    let mut command = cargo(root);
    command.args(["check", "--quiet", "--locked"]).args([
        "--package",
        PACKAGE,
        "--target",
        ANDROID,
    ]);
    succeed(&mut command, "the agent does not compile for Android")
}

/// What cargo prints.
///
/// # Errors
/// [`DistError`].
pub fn cargo_output(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, DistError> {
    let mut command = cargo(root);
    command.args(arguments).stderr(Stdio::inherit());
    let output = run(&mut command)?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(DistError::Failed("cargo does not say what it builds")),
    }
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or("cargo".into()));
    // What would replace the flags that are given.
    command.current_dir(root).env_remove("RUSTFLAGS");
    command.env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

fn succeed(command: &mut Command, what: &'static str) -> Result<(), DistError> {
    let output = run(command)?;
    eprint!(
        "{}",
        crate::guest::told(&String::from_utf8_lossy(&output.stderr))
    );
    match output.status.success() {
        true => Ok(()),
        false => Err(DistError::Failed(what)),
    }
}

fn run(command: &mut Command) -> Result<Output, DistError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    output.map_err(|error| DistError::Start { program, error })
}
