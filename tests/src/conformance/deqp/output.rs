//! What a program prints of its cases: a line that names a case, and one with how it
//! ended.

use crate::conformance::results::{Outcome, Outcomes};

/// What a process printed, and how it ended.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    /// The cases that ended.
    pub outcomes: Outcomes,
    /// The case that had begun as the process ended.
    pub begun: Option<String>,
    /// How the process ended, in words.
    pub how: String,
    /// Whether that was the time limit.
    pub is_late: bool,
}

impl Printed {
    /// Reads what a process printed before it ended with this exit code, as a shell has
    /// it.
    pub fn read(text: &str, code: Option<i32>) -> Self {
        let mut printed = Self {
            how: crate::conformance::results::end(code),
            is_late: code == Some(LATE),
            ..Self::default()
        };
        for line in text.lines() {
            if let Some(name) = begun(line) {
                printed.begun = Some(name.to_owned());
            } else if let Some(outcome) = ended(line)
                && let Some(name) = printed.begun.take()
            {
                printed.outcomes.insert(name, outcome);
            }
        }
        printed
    }
}

/// What `timeout` and `gil run --timeout` end with.
const LATE: i32 = 124;

fn begun(line: &str) -> Option<&str> {
    line.strip_prefix("Test case '")?.strip_suffix("'..")
}

/// Warnings are about quality; a program of the suite's counts them as passed.
fn ended(line: &str) -> Option<Outcome> {
    let word = line.strip_prefix("  ")?.split(" (").next()?;
    match word {
        "Pass" | "QualityWarning" | "CompatibilityWarning" | "Waiver" => Some(Outcome::Pass),
        "NotSupported" => Some(Outcome::Skip),
        "Fail" | "Pending" | "ResourceError" | "InternalError" | "Crash" | "Timeout" => {
            Some(Outcome::Fail)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read() {
        let text = "dEQP Core starting..\n\nTest case 'a.b'..\n  Pass (Pass)\n\n\
                    Test case 'a.c'..\n  NotSupported (no such thing)\n\n\
                    Test case 'a.d'..\n  Fail (Got 1 (2))\n\nTest case 'a.e'..\n";
        let printed = Printed::read(text, Some(139));
        let all = printed.outcomes.iter();
        let all: Vec<String> = all.map(|(name, how)| format!("{name} {how}")).collect();
        assert_eq!(all, ["a.b pass", "a.c skip", "a.d fail"]);
        assert_eq!(printed.begun.as_deref(), Some("a.e"));
        assert_eq!(
            (printed.how.as_str(), printed.is_late),
            ("signal 11", false)
        );
        assert!(Printed::read("", Some(124)).is_late);
    }

    #[test]
    fn totals_are_no_cases() {
        let text = "\nDONE!\n\nTest run totals:\n  Passed:        1/1 (100.0%)\n";
        assert!(Printed::read(text, Some(0)).outcomes.is_empty());
    }
}
