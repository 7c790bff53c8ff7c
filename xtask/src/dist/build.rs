//! Builds what is packed: the agent for other machines, the command for this one.

use super::DistError;
use super::target::{ANDROID, Target};
use crate::guest::{ensure_target, remapped, target_folder};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The crate, and its program.
pub const PACKAGE: &str = "gil-board";
/// The crate of the guest's libraries.
const LIBRARIES: &str = "gil-guest-library";
/// The cargo profile of what is packed.
pub const PROFILE: &str = "dist";

/// Builds the agent; the program.
///
/// # Errors
/// [`DistError`].
pub fn agent(root: &Path, target: &Target) -> Result<PathBuf, DistError> {
    let mut command = for_target(root, target)?;
    command.args(["--package", PACKAGE, "--bin", PACKAGE]);
    succeed(&mut command, "the agent was not built")?;
    Ok(built(root, target).join(PACKAGE))
}

/// Builds the command and QEMU's plugin with this profile; the folder that they
/// are in.
///
/// # Errors
/// [`DistError`].
pub fn command(root: &Path, target: &Target, profile: &str) -> Result<PathBuf, DistError> {
    let packages = ["--package", "gil-cli", "--package", "gil-qemu-plugin"];
    let what = "the command was not built";
    if profile != PROFILE {
        let mut command = cargo(root);
        command.args(["build", "--quiet", "--locked", "--profile", profile]);
        succeed(command.args(packages), what)?;
        return Ok(target_folder(root).join(profile));
    }
    let mut command = for_target(root, target)?;
    // It knows no checkout: see the command's `assets.rs`.
    command.env("GIL_PACKAGED", "1").args(packages);
    succeed(&mut command, what)?;
    Ok(built(root, target))
}

/// cargo, to build for `target`.
fn for_target(root: &Path, target: &Target) -> Result<Command, DistError> {
    ensure_target(root, target.triple)?;
    let mut command = cargo(root);
    command
        .args(["build", "--quiet", "--locked", "--profile", PROFILE])
        .args(["--target", target.triple])
        .args(["--config", &remapped_for(root, target)]);
    Ok(command)
}

fn built(root: &Path, target: &Target) -> PathBuf {
    target_folder(root).join(target.triple).join(PROFILE)
}

fn remapped_for(root: &Path, target: &Target) -> String {
    let flags: Vec<_> = remapped(root).map(|flag| format!("'{flag}'")).collect();
    format!("target.{}.rustflags=[{}]", target.triple, flags.join(", "))
}

/// Checks that the agent and the guest's libraries compile for Android, which needs no
/// compiler of C.
///
/// # Errors
/// [`DistError`].
pub fn check_android(root: &Path) -> Result<(), DistError> {
    ensure_target(root, ANDROID)?;
    let mut command = cargo(root);
    command.args(["check", "--quiet", "--locked"]).args([
        "--package",
        PACKAGE,
        "--package",
        LIBRARIES,
        "--target",
        ANDROID,
    ]);
    let what = "the agent or the guest's libraries do not compile for Android";
    succeed(&mut command, what)
}

/// Runs a program to its end and returns what it prints.
///
/// # Errors
/// [`DistError`] if it does not run, or fails at `what`.
pub fn output(command: &mut Command, what: &'static str) -> Result<Vec<u8>, DistError> {
    let output = run(command.stderr(Stdio::inherit()))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(DistError::Failed(what)),
    }
}

/// What cargo prints.
///
/// # Errors
/// [`DistError`].
pub fn cargo_output(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, DistError> {
    output(
        cargo(root).args(arguments),
        "cargo does not say what it builds",
    )
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
