//! A conformance program's run in the guest.
//!
//! A script runs there: the whole program first, in a guest of its own, then
//! what has no result, each subtest alone. What a program wrote comes back as
//! text between two lines.

use super::results::{self, Outcome, Outcomes};
use super::suite::Suite;
use super::{Options, RESULTS_VARIABLE};
use crate::{Run, Width};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The program's folder in the guest.
const FOLDER: &str = "/conformance";
/// A line before the result of a run: this, the names it was given, its exit code.
const MARK: &str = "gil-conformance:";

/// Runs all subtests; those that a crash or the time limit left without a
/// result run again, each alone.
///
/// # Errors
/// Files that cannot be written.
pub fn run(
    suite: &Suite,
    width: Width,
    subtests: &[String],
    options: &Options,
) -> io::Result<Outcomes> {
    let staged = stage(suite)?;
    let run = |names: &[String], log: &str| boot(staged.path(), suite, width, names, options, log);
    let mut ended = run(&[String::new()], "guest")?;
    let mut outcomes = match ended.remove("") {
        Some(Ok(outcomes)) => outcomes,
        _ => Outcomes::new(),
    };
    let missing = subtests.iter().filter(|name| !outcomes.contains_key(*name));
    let missing: Vec<String> = missing.cloned().collect();
    if missing.is_empty() {
        return Ok(outcomes);
    }
    let mut ended = run(&missing, "guest-alone")?;
    for name in missing {
        let outcome = alone(&name, ended.remove(&name));
        outcomes.insert(name, outcome);
    }
    Ok(outcomes)
}

fn alone(name: &str, ended: Option<Result<Outcomes, String>>) -> Outcome {
    match ended {
        Some(Ok(mut outcomes)) => outcomes
            .remove(name)
            .unwrap_or_else(|| Outcome::None("no result".into())),
        Some(Err(how)) => Outcome::None(how),
        None => Outcome::None("not reached".into()),
    }
}

/// A folder with the program and the files beside it that it reads; not what
/// its build left there.
fn stage(suite: &Suite) -> io::Result<tempfile::TempDir> {
    let staged = tempfile::tempdir()?;
    let folder = suite.program.parent().unwrap_or(Path::new("."));
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_built = |prefix| name.to_string_lossy().starts_with(prefix);
        let other = entry.path() != suite.program && is_built("test_");
        if !other
            && !["CMake", "cmake_", "CTest", "Makefile"]
                .into_iter()
                .any(is_built)
        {
            copy(&entry.path(), &staged.path().join(name))?;
        }
    }
    Ok(staged)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// What became of each of the names; "" stands for all subtests.
type Ends = BTreeMap<String, Result<Outcomes, String>>;

fn boot(
    staged: &Path,
    suite: &Suite,
    width: Width,
    names: &[String],
    options: &Options,
    log: &str,
) -> io::Result<Ends> {
    let program = suite.program.file_name().unwrap_or_default();
    let each = options.timeout.as_secs();
    // The words of a subtest's name are letters, digits and underscores.
    let script = format!(
        "cd {FOLDER}; for t in {}; do [ $t = all ] && t=; rm -f /r.json; \
         {RESULTS_VARIABLE}=/r.json timeout {each} ./{} $t </dev/null 2>&1; \
         echo; echo \"{MARK} begin $? $t\"; cat /r.json; echo; echo \"{MARK} end\"; done",
        names
            .iter()
            .map(|name| if name.is_empty() { "all" } else { name })
            .collect::<Vec<_>>()
            .join(" "),
        program.to_string_lossy(),
    );
    let file = format!("{}:{FOLDER}", staged.display());
    let [loader, cpp] = ["ocl-icd-libopencl1", "libstdc++6"].map(|name| width.package(name));
    let mut words = vec!["--pkg", &loader, "--pkg", &cpp, "--file", &file];
    let settings = settings();
    words.extend(settings.iter().flat_map(|setting| ["--env", setting]));
    words.extend(options.run.iter().map(String::as_str));
    words.extend(["--", "sh", "-c", &script]);
    let run = Run::new(words).finish();
    let name = format!("{}.{log}.log", suite.name);
    fs::write(
        options.logs.join(name),
        format!("{}{}", run.stdout, run.stderr),
    )?;
    Ok(ends(&run.stdout))
}

/// The variables by which the user sets what the programs do, such as
/// `CL_WIMPY_MODE`: natively they are inherited.
fn settings() -> Vec<String> {
    let ours = std::env::vars().filter(|(name, _)| name.starts_with("CL_"));
    ours.map(|(name, value)| format!("{name}={value}"))
        .collect()
}

/// Reads what the script printed.
fn ends(stdout: &str) -> Ends {
    let mut ends = Ends::new();
    let mut lines = stdout.lines();
    while let Some(line) = lines.next() {
        let Some(begin) = line
            .strip_prefix(MARK)
            .and_then(|l| l.strip_prefix(" begin "))
        else {
            continue;
        };
        let (code, name) = begin.split_once(' ').unwrap_or((begin, ""));
        let text: Vec<&str> = lines
            .by_ref()
            .take_while(|l| !l.starts_with(MARK))
            .collect();
        let parsed = results::parse(&text.join("\n"));
        let how = || results::end(code.parse().ok());
        ends.insert(name.to_owned(), parsed.ok_or_else(how));
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_prints_is_read() {
        let stdout = "words\n\ngil-conformance: begin 0 \n{\"results\": {\"a\": \"pass\"}}\n\n\
                      gil-conformance: end\nmore\n\ngil-conformance: begin 139 b\n\n\
                      gil-conformance: end\n";
        let ends = ends(stdout);
        assert_eq!(ends[""].as_ref().unwrap()["a"], Outcome::Pass);
        assert_eq!(ends["b"], Err("signal 11".into()));
    }
}
