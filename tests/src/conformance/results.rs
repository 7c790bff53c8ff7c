//! What a conformance program said of its subtests.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// How a subtest ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// It does not apply to the device.
    Skip,
    /// Its program ended before it had a result: how.
    None(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::Fail => f.write_str("fail"),
            Self::Skip => f.write_str("skip"),
            Self::None(how) => f.write_str(how),
        }
    }
}

/// Subtests by name.
pub type Outcomes = BTreeMap<String, Outcome>;

/// The file that a program writes as it ends.
#[derive(Deserialize)]
struct Results {
    results: BTreeMap<String, String>,
}

/// The outcomes that a program's file of results names; none if it is no such
/// file, as after a crash.
pub fn parse(text: &str) -> Option<Outcomes> {
    let results: Results = serde_json::from_str(text).ok()?;
    let outcome = |word: String| match word.as_str() {
        "pass" => Outcome::Pass,
        "skip" => Outcome::Skip,
        _ => Outcome::Fail,
    };
    let results = results.results.into_iter();
    Some(results.map(|(name, word)| (name, outcome(word))).collect())
}

/// An exit code or a signal in words.
pub fn end(code: Option<i32>) -> String {
    match code {
        Some(124) => "time limit".into(),
        // As a shell has it.
        Some(code @ 129..=192) => format!("signal {}", code - 128),
        Some(code) => format!("exit code {code}"),
        None => "killed".into(),
    }
}

/// The names that a program prints when asked for a list: a tab, then a name.
pub fn listed(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.strip_prefix('\t'));
    names.map(|name| name.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read() {
        let text =
            r#"{"cmd": "x", "args": "", "results": {"a": "pass", "b": "fail", "c": "skip"}}"#;
        let outcomes = parse(text).unwrap();
        let words = outcomes
            .iter()
            .map(|(name, outcome)| format!("{name} {outcome}"));
        assert_eq!(words.collect::<Vec<_>>(), ["a pass", "b fail", "c skip"]);
        assert!(parse("Segmentation fault").is_none());
        assert!(parse("").is_none());
    }

    #[test]
    fn lists_are_read() {
        assert_eq!(listed("Initializing\n\tone\n\ttwo\nend\n"), ["one", "two"]);
    }

    #[test]
    fn ends_have_words() {
        assert_eq!(end(Some(124)), "time limit");
        assert_eq!(end(Some(139)), "signal 11");
        assert_eq!(end(Some(1)), "exit code 1");
    }
}
