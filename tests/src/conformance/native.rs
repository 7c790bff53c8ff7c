//! A conformance program's run on this machine.

use super::results::{self, Outcome, Outcomes};
use super::suite::Suite;
use super::{Options, RESULTS_VARIABLE};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Names of a program's subtests.
///
/// # Errors
/// It cannot be started.
pub fn subtests(suite: &Suite) -> io::Result<Vec<String>> {
    let mut command = Command::new(&suite.program);
    let output = command.arg("--list").stdin(Stdio::null()).output()?;
    Ok(results::listed(&String::from_utf8_lossy(&output.stdout)))
}

/// Runs all subtests; those that a crash or the time limit left without a
/// result run again, each alone.
///
/// # Errors
/// Programs that cannot be started, files that cannot be written.
pub fn run(suite: &Suite, subtests: &[String], options: &Options) -> io::Result<Outcomes> {
    let folder = tempfile::tempdir()?;
    let log = options.logs.join(format!("{}.native.log", suite.name));
    let mut log = File::create(log)?;
    let mut outcomes = once(suite, &[], options, folder.path(), &mut log)?.unwrap_or_default();
    for name in subtests {
        if !outcomes.contains_key(name) {
            let ended = once(suite, &[name], options, folder.path(), &mut log)?;
            outcomes.insert(name.clone(), alone(name, ended));
        }
    }
    Ok(outcomes)
}

fn alone(name: &str, ended: Result<Outcomes, String>) -> Outcome {
    match ended {
        Ok(mut outcomes) => outcomes
            .remove(name)
            .unwrap_or_else(|| Outcome::None("no result".into())),
        Err(how) => Outcome::None(how),
    }
}

/// One run: outcomes, or how the program ended instead.
fn once(
    suite: &Suite,
    names: &[&str],
    options: &Options,
    folder: &Path,
    log: &mut File,
) -> io::Result<Result<Outcomes, String>> {
    let results = folder.join("results.json");
    let _ = fs::remove_file(&results);
    let status = Command::new("timeout")
        .arg(options.timeout.as_secs().to_string())
        .arg(&suite.program)
        .args(names)
        .current_dir(suite.program.parent().unwrap_or(Path::new(".")))
        .env(RESULTS_VARIABLE, &results)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .status()?;
    let text = fs::read_to_string(&results).unwrap_or_default();
    Ok(results::parse(&text).ok_or_else(|| results::end(code(status))))
}

/// As a shell has it: 128 and the signal.
pub fn code(status: std::process::ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| Some(128 + status.signal()?))
}
