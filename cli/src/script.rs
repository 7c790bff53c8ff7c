//! A script that is an argument of its interpreter: a file of this machine, which the
//! guest does not have unless it is copied or shared.

use crate::args::{RunArgs, Share};
use gil_guest_image::copied::Copied;
use gil_guest_image::guest::Guest;
use std::path::{Path, PathBuf};

/// The script is not where its interpreter will look for it.
#[derive(Debug, thiserror::Error)]
#[error(
    "{program} in the guest will not find {script}, which is a file of this machine: add --file {script}:{at}, or share its folder (--share) and name it there"
)]
pub struct NotInGuest {
    program: String,
    script: String,
    at: String,
}

/// Programs whose first argument, if it is no option, is a script.
const INTERPRETERS: [&str; 6] = ["sh", "bash", "dash", "perl", "ruby", "lua"];

/// The program's script, if it runs one; where the guest looks for it.
fn script(args: &RunArgs) -> Option<(&str, PathBuf)> {
    let program = Path::new(args.program()).file_name()?.to_str()?;
    let script = args.arguments().first()?;
    let interprets = program.starts_with("python") || INTERPRETERS.contains(&program);
    let of_the_kernel = script.starts_with("/dev/") || script.starts_with("/proc/");
    let is_script = interprets && !script.starts_with('-') && !of_the_kernel;
    is_script.then(|| (script.as_str(), Path::new(&args.workdir).join(script)))
}

/// Looks whether the guest will have the script that it is to run, as far as that is known
/// without its packages: none of Debian's puts anything into root's home.
///
/// # Errors
/// [`NotInGuest`] if it is a file of this machine alone.
pub fn check_early(args: &RunArgs) -> Result<(), NotInGuest> {
    let Some((script, at)) = script(args) else {
        return Ok(());
    };
    let brings = |copied: &Copied| at.starts_with(&copied.target);
    match at.starts_with("/root") && !is_shared(args, &at) && !args.files.iter().any(brings) {
        true => missing(args, script, &at),
        false => Ok(()),
    }
}

/// Looks whether the guest has the script that it is to run.
///
/// # Errors
/// [`NotInGuest`] if it is a file of this machine alone.
pub fn check(args: &RunArgs, guest: &Guest) -> Result<(), NotInGuest> {
    let Some((script, at)) = script(args) else {
        return Ok(());
    };
    let Some(text) = at.to_str() else {
        return Ok(());
    };
    let name = gil_guest_image::tree::normal(text);
    let is_there = is_shared(args, &at)
        || guest.tree.file(&name).is_some()
        || guest.tree.is_folder(&name)
        || guest.files.iter().any(|found| found.name == name);
    match is_there {
        true => Ok(()),
        false => missing(args, script, &at),
    }
}

fn is_shared(args: &RunArgs, at: &Path) -> bool {
    let is_in = |share: &Share| at.starts_with(share.in_guest().at);
    args.shares.iter().any(is_in)
}

/// An error, if this machine has the script.
fn missing(args: &RunArgs, script: &str, at: &Path) -> Result<(), NotInGuest> {
    match Path::new(script).is_file() {
        false => Ok(()),
        true => Err(NotInGuest {
            program: args.program().into(),
            script: script.into(),
            at: format!("/{}", gil_guest_image::tree::normal(&at.to_string_lossy())),
        }),
    }
}
