//! The Khronos conformance tests of OpenGL ES and EGL (dEQP), natively and in the guest,
//! with the same driver, compared case by case.
//!
//! | module | what |
//! |---|---|
//! | here | the programs, and a run of many cases in several processes |
//! | [`cases`] | which cases a program has, and which of them are run |
//! | [`output`] | what a program printed of its cases |
//! | [`native`] | a process on this machine |
//! | [`guest`] | a process in the guest |

pub mod cases;
pub mod guest;
pub mod native;
pub mod output;

use super::Options;
use super::results::{Outcome, Outcomes};
use super::suite::{self, Suite, SuiteError};
use output::Printed;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The programs, and what their cases' names begin with.
const PROGRAMS: [(&str, &str); 4] = [
    ("deqp-gles2", "dEQP-GLES2"),
    ("deqp-gles3", "dEQP-GLES3"),
    ("deqp-gles31", "dEQP-GLES31"),
    ("deqp-egl", "dEQP-EGL"),
];

/// Options of each process: a surface that needs no window, and a short log.
const OPTIONS: [&str; 6] = [
    "--deqp-surface-type=pbuffer",
    "--deqp-gl-config-name=rgba8888d24s8ms0",
    "--deqp-log-images=disable",
    "--deqp-log-shader-sources=disable",
    "--deqp-log-flush=disable",
    "--deqp-log-filename=/dev/null",
];

/// The variable that has this machine's EGL need no window system; the guest's has it
/// too, so that both see the same.
const PLATFORM: (&str, &str) = ("EGL_PLATFORM", "surfaceless");

/// The options with the surface's size.
fn words(options: &Options) -> Vec<String> {
    let size = options.surface;
    let size = ["width", "height"].map(|side| format!("--deqp-surface-{side}={size}"));
    OPTIONS.map(String::from).into_iter().chain(size).collect()
}

/// A program for this machine, and the same for the guest.
#[derive(Clone, Debug)]
pub struct Pair {
    /// What the names of its cases begin with.
    pub prefix: &'static str,
    /// This machine's.
    pub native: Suite,
    /// The guest's.
    pub guest: Suite,
}

/// The programs that both folders have; of those, the ones that the names are of.
///
/// # Errors
/// [`SuiteError`], if a folder cannot be read.
pub fn pairs(native: &Path, guest: &Path, names: &[String]) -> Result<Vec<Pair>, SuiteError> {
    let mut ours = suite::find_named(native, program)?;
    let mut theirs = suite::find_named(guest, program)?;
    let both = PROGRAMS.into_iter().filter_map(|(file, prefix)| {
        Some(Pair {
            prefix,
            native: ours.remove(file)?,
            guest: theirs.remove(file)?,
        })
    });
    let is_named = |pair: &Pair| {
        names.is_empty() || names.iter().any(|name| cases::is_below(name, pair.prefix))
    };
    Ok(both.filter(is_named).collect())
}

fn program(file: &str) -> Option<&str> {
    let is_one = PROGRAMS.iter().any(|(program, _)| *program == file);
    is_one.then_some(file)
}

/// Whether a name is of these tests.
pub fn is_case(name: &str) -> bool {
    PROGRAMS
        .iter()
        .any(|(_, prefix)| cases::is_below(name, prefix))
}

/// Adds what a process printed to the program's log.
fn log(
    suite: &Suite,
    place: &str,
    stdout: &[u8],
    stderr: &[u8],
    options: &Options,
) -> io::Result<()> {
    let path = options.logs.join(format!("{}.{place}.log", suite.name));
    let mut log = File::options().create(true).append(true).open(path)?;
    log.write_all(stdout)?;
    log.write_all(stderr)
}

/// Runs cases in as few processes as it takes: the next one goes on behind a case in
/// which the one before ended. `process` runs those it is given.
///
/// # Errors
/// Those of `process`.
pub fn run(
    cases: &[String],
    mut process: impl FnMut(&[String]) -> io::Result<Printed>,
) -> io::Result<Outcomes> {
    let mut outcomes = Outcomes::new();
    let mut left: VecDeque<String> = cases.iter().cloned().collect();
    while !left.is_empty() {
        let asked = Vec::from(left.clone());
        let printed = process(&asked)?;
        let begun = printed.begun.as_deref();
        let at = asked.iter().position(|case| Some(case.as_str()) == begun);
        left.retain(|case| !printed.outcomes.contains_key(case));
        let has_results = !printed.outcomes.is_empty();
        outcomes.extend(printed.outcomes);
        if left.is_empty() {
            break;
        }
        // A limit that many cases reached together is nobody's fault, and some cases end
        // the process behind them.
        if has_results && (printed.is_late || at.is_none()) {
            continue;
        }
        let Some(at) = at else {
            // It fails before its first case, and would with any other.
            let all = left
                .drain(..)
                .map(|case| (case, Outcome::None(printed.how.clone())));
            outcomes.extend(all);
            break;
        };
        let culprit = asked[at].clone();
        left.retain(|case| *case != culprit);
        outcomes.insert(culprit, Outcome::None(printed.how));
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(asked: &[String], crashes: &str) -> Printed {
        let mut printed = Printed::default();
        for case in asked {
            if case == crashes {
                printed.begun = Some(case.clone());
                printed.how = "signal 11".into();
                break;
            }
            printed.outcomes.insert(case.clone(), Outcome::Pass);
        }
        printed
    }

    #[test]
    fn cases_behind_a_crash_are_run() {
        let cases = ["a", "b", "c"].map(String::from);
        let outcomes = run(&cases, |asked| Ok(process(asked, "b"))).unwrap();
        let words = outcomes.values().map(ToString::to_string);
        assert_eq!(words.collect::<Vec<_>>(), ["pass", "signal 11", "pass"]);
    }

    #[test]
    fn only_a_case_that_is_late_alone_is_late() {
        let cases = ["a", "b", "c"].map(String::from);
        let late = |asked: &[String]| {
            let mut printed = process(asked, "b");
            (printed.is_late, printed.how) = (true, "time limit".into());
            printed
        };
        let mut lengths = Vec::new();
        let outcomes = run(&cases, |asked| {
            lengths.push(asked.len());
            Ok(late(asked))
        });
        assert_eq!(lengths, [3, 2, 1]);
        assert_eq!(outcomes.unwrap()["b"], Outcome::None("time limit".into()));
    }

    #[test]
    fn a_program_that_begins_no_case_runs_once() {
        let cases = ["a", "b"].map(String::from);
        let mut runs = 0;
        let outcomes = run(&cases, |_| {
            runs += 1;
            Ok(Printed::default())
        });
        assert_eq!((outcomes.unwrap().len(), runs), (2, 1));
    }
}
