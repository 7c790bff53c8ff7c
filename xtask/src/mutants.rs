//! What `cargo mutants` left alive, compared with the list of those that may be.
//!
//! A change of the program that no test notices is a gap in the tests, or it
//! changes nothing that anybody can see. The second kind is listed with the
//! reason; everything else fails.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

const LIST: &str = "tests/mutants.toml";

/// What is wrong with the list, or with what was run.
#[derive(Debug, thiserror::Error)]
pub enum MutantsError {
    /// A file cannot be read.
    #[error("{path} cannot be read: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The list.
    #[error("{LIST} is no list of [[equal]] with mutant, line and reason: {0}")]
    List(#[from] toml::de::Error),
    /// An entry says nothing.
    #[error("{LIST}: \"{0}\" has no reason: say why nobody can notice it")]
    Reason(String),
    /// cargo-mutants' own file.
    #[error("{path} is not what cargo-mutants writes: {error}")]
    Outcomes {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong.
        error: serde_json::Error,
    },
    /// Changes that no test noticed, or entries of the list that say what is not so.
    #[error(
        "{missed} changes went unnoticed, {stale} entries of {LIST} are stale: \
         test the first, or list them with the reason why nobody can notice; remove the second"
    )]
    Differ {
        /// Not listed.
        missed: usize,
        /// Listed, and caught or gone.
        stale: usize,
    },
}

/// A change that nobody can notice.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Equal {
    /// As cargo-mutants names it, without line and column.
    mutant: String,
    /// The line that it changes, without its indentation.
    line: String,
    /// Why no test can detect it.
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    equal: Vec<Equal>,
}

impl List {
    fn of(text: &str) -> Result<Self, MutantsError> {
        let list: Self = toml::from_str(text)?;
        let silent = |one: &&Equal| one.reason.trim().is_empty();
        match list.equal.iter().find(silent) {
            Some(one) => Err(MutantsError::Reason(one.mutant.clone())),
            None => Ok(list),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
}

#[derive(Debug, Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: Summary,
}

#[derive(Debug, Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Mutant),
}

#[derive(Debug, Deserialize)]
struct Mutant {
    name: String,
    file: String,
    span: Span,
}

#[derive(Debug, Deserialize)]
struct Span {
    start: Position,
}

#[derive(Debug, Deserialize)]
struct Position {
    line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
enum Summary {
    CaughtMutant,
    MissedMutant,
    Timeout,
    Unviable,
    Success,
    Failure,
}

/// A mutant that survives moves of its line: its name, and the line's text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    mutant: String,
    line: String,
}

/// How the mutants of one run ended.
#[derive(Debug, Default)]
pub struct Judged {
    counts: BTreeMap<Summary, usize>,
    listed: usize,
    missed: Vec<String>,
    stale: Vec<String>,
}

/// Compares what one run of `cargo mutants` wrote into `folder` with the list.
///
/// # Errors
/// [`MutantsError`] if a file is not what it should be.
pub fn judge(root: &Path, folder: &Path) -> Result<Judged, MutantsError> {
    let list = List::of(&read(&root.join(LIST))?)?;
    let path = folder.join("mutants.out/outcomes.json");
    let outcomes: Outcomes = serde_json::from_str(&read(&path)?)
        .map_err(|error| MutantsError::Outcomes { path, error })?;
    let mut lines = Lines::of(root);
    Ok(compare(
        &list.equal,
        outcomes.outcomes,
        &mut |file, line| lines.get(file, line),
    ))
}

fn read(path: &Path) -> Result<String, MutantsError> {
    std::fs::read_to_string(path).map_err(|error| MutantsError::Read {
        path: path.into(),
        error,
    })
}

/// The tree's lines.
struct Lines<'a> {
    root: &'a Path,
    files: BTreeMap<String, String>,
}

impl<'a> Lines<'a> {
    fn of(root: &'a Path) -> Self {
        let files = BTreeMap::new();
        Self { root, files }
    }

    fn get(&mut self, file: &str, line: usize) -> String {
        let text = self
            .files
            .entry(file.into())
            .or_insert_with(|| std::fs::read_to_string(self.root.join(file)).unwrap_or_default());
        let line = text.lines().nth(line.saturating_sub(1));
        line.unwrap_or_default().trim().into()
    }
}

fn compare(
    list: &[Equal],
    outcomes: Vec<Outcome>,
    line: &mut dyn FnMut(&str, usize) -> String,
) -> Judged {
    let mut judged = Judged::default();
    let mut files = BTreeSet::new();
    let mut listed: Vec<Key> = list.iter().map(Key::of).collect();
    for Outcome { scenario, summary } in outcomes {
        let Scenario::Mutant(mutant) = scenario else {
            continue;
        };
        *judged.counts.entry(summary).or_default() += 1;
        if summary == Summary::MissedMutant {
            let line = line(&mutant.file, mutant.span.start.line);
            let mutant = nameless_place(&mutant.name);
            let key = Key { mutant, line };
            match listed.iter().position(|one| *one == key) {
                Some(at) => {
                    listed.swap_remove(at);
                    judged.listed += 1;
                }
                None => judged.missed.push(key.to_string()),
            }
        }
        files.insert(mutant.file);
    }
    let of_this_run = |key: &Key| {
        files
            .iter()
            .any(|file| key.mutant.starts_with(&format!("{file}: ")))
    };
    listed.retain(of_this_run);
    judged.stale = listed.iter().map(Key::to_string).collect();
    judged
}

/// `file:LINE:COLUMN: what` without the numbers.
fn nameless_place(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(_), Some(_), Some(what)) => format!("{file}:{what}"),
        _ => name.into(),
    }
}

impl Key {
    fn of(equal: &Equal) -> Self {
        Self {
            mutant: equal.mutant.clone(),
            line: equal.line.clone(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n      {}", self.mutant, self.line)
    }
}

impl Judged {
    /// Whether nothing is left to do.
    ///
    /// # Errors
    /// [`MutantsError::Differ`] with the counts.
    pub fn ok(&self) -> Result<(), MutantsError> {
        let (missed, stale) = (self.missed.len(), self.stale.len());
        if missed + stale > 0 {
            return Err(MutantsError::Differ { missed, stale });
        }
        Ok(())
    }

    fn count(&self, summary: Summary) -> usize {
        self.counts.get(&summary).copied().unwrap_or(0)
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tried: usize = self.counts.values().sum();
        writeln!(
            f,
            "{tried} changes: {} caught, {} never ended, {} do not compile, {} missed, {} of them listed",
            self.count(Summary::CaughtMutant),
            self.count(Summary::Timeout),
            self.count(Summary::Unviable),
            self.count(Summary::MissedMutant),
            self.listed
        )?;
        for missed in &self.missed {
            writeln!(f, "  missed: {missed}")?;
        }
        for stale in &self.stale {
            writeln!(f, "  listed, but caught or gone: {stale}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cargo-mutants writes of one mutant.
    fn outcome(name: &str, line: usize, summary: &str) -> String {
        format!(
            r#"{{"scenario": {{"Mutant": {{"name": "{name}", "package": "p", "file": "a/b.rs",
                "span": {{"start": {{"line": {line}, "column": 3}}, "end": {{"line": 9, "column": 1}}}},
                "replacement": "", "genre": "FnValue"}}}}, "summary": "{summary}", "log_path": "x"}}"#
        )
    }

    fn judged(list: &str, outcomes: &[String]) -> Judged {
        let list = List::of(list).unwrap();
        let baseline = r#"{"scenario": "Baseline", "summary": "Success"}"#.to_owned();
        let all = [&[baseline], outcomes].concat().join(",");
        let outcomes: Outcomes =
            serde_json::from_str(&format!(r#"{{"outcomes": [{all}], "missed": 1}}"#)).unwrap();
        compare(&list.equal, outcomes.outcomes, &mut |file, line| {
            assert_eq!(file, "a/b.rs");
            format!("line {line}")
        })
    }

    const LISTED: &str = "[[equal]]\nmutant = \"a/b.rs: replace < with <= in f\"\n\
                          line = \"line 7\"\nreason = \"the same\"\n";
    const NONE: &str = "equal = []";
    const MISSED: &str = "a/b.rs:7:3: replace < with <= in f";

    #[test]
    fn what_was_caught_is_counted() {
        let ends = ["CaughtMutant", "Timeout", "Unviable"];
        let judged = judged(NONE, &ends.map(|end| outcome("a/b.rs:1:3: x in f", 1, end)));
        judged.ok().unwrap();
        let text =
            "3 changes: 1 caught, 1 never ended, 1 do not compile, 0 missed, 0 of them listed\n";
        assert_eq!(judged.to_string(), text);
    }

    #[test]
    fn what_was_missed_is_listed_or_fails() {
        let missed = [outcome(MISSED, 7, "MissedMutant")];
        judged(LISTED, &missed).ok().unwrap();
        let judged = judged(NONE, &missed);
        assert!(matches!(
            judged.ok(),
            Err(MutantsError::Differ {
                missed: 1,
                stale: 0
            })
        ));
        assert!(
            judged
                .to_string()
                .contains("missed: a/b.rs: replace < with <= in f")
        );
    }

    #[test]
    fn an_entry_stands_for_one_change_of_one_line() {
        let twice = [7, 7].map(|line| outcome(MISSED, line, "MissedMutant"));
        assert_eq!(judged(LISTED, &twice).missed.len(), 1);
        let elsewhere = [outcome(
            "a/b.rs:8:3: replace < with <= in f",
            8,
            "MissedMutant",
        )];
        let judged = judged(LISTED, &elsewhere);
        assert_eq!((judged.missed.len(), judged.stale.len()), (1, 1));
    }

    #[test]
    fn an_entry_that_is_caught_is_stale_and_one_of_another_run_is_not() {
        let caught = [outcome(MISSED, 7, "CaughtMutant")];
        assert_eq!(judged(LISTED, &caught).stale.len(), 1);
        judged(&LISTED.replace("a/b.rs", "a/c.rs"), &caught)
            .ok()
            .unwrap();
    }

    #[test]
    fn a_list_has_reasons() {
        let without = LISTED.replace("reason", "because");
        assert!(matches!(List::of(&without), Err(MutantsError::List(_))));
        let silent = LISTED.replace("the same", " ");
        assert!(matches!(List::of(&silent), Err(MutantsError::Reason(_))));
    }
}
