//! Native and guest outcomes side by side.

use super::known::Known;
use super::results::{Outcome, Outcomes};
use crate::Width;
use std::fmt::Write;

/// A subtest, as it ended in both places.
#[derive(Clone, Debug)]
pub struct Row {
    /// The program, without `test_`.
    pub suite: String,
    /// The subtest.
    pub test: String,
    /// On this machine.
    pub native: Outcome,
    /// In the guest.
    pub guest: Outcome,
    /// Why they may differ.
    pub reason: Option<String>,
    /// Whether the reason is of this subtest alone.
    pub is_named: bool,
}

/// What a row means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same in both places.
    Same,
    /// What passes natively does not in the guest, for a known reason.
    Known,
    /// What passes natively does not in the guest.
    Worse,
    /// What did not pass natively ended otherwise in the guest.
    Other,
}

impl Row {
    /// What it means.
    pub fn verdict(&self) -> Verdict {
        if self.native == self.guest {
            Verdict::Same
        } else if self.native != Outcome::Pass {
            Verdict::Other
        } else if self.reason.is_some() {
            Verdict::Known
        } else {
            Verdict::Worse
        }
    }

    /// Whether the list names a difference that there is none of.
    pub fn is_stale(&self) -> bool {
        self.is_named && self.native == Outcome::Pass && self.guest == Outcome::Pass
    }
}

/// The rows of one program.
pub fn rows(
    suite: &str,
    width: Width,
    native: &Outcomes,
    guest: &Outcomes,
    known: &Known,
) -> Vec<Row> {
    let missing = || Outcome::None("not run".into());
    let names: std::collections::BTreeSet<&String> = native.keys().chain(guest.keys()).collect();
    let row = |test: &String| {
        let difference = known.of(suite, test, width);
        Row {
            suite: suite.into(),
            test: test.clone(),
            native: native.get(test).cloned().unwrap_or_else(missing),
            guest: guest.get(test).cloned().unwrap_or_else(missing),
            reason: difference.map(|it| it.reason.clone()),
            is_named: difference.is_some_and(|it| !it.is_of_many()),
        }
    };
    names.into_iter().map(row).collect()
}

/// The table as Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from("| test | native | guest | reason |\n|---|---|---|---|\n");
    for row in rows {
        let Row {
            suite,
            test,
            native,
            guest,
            reason,
            ..
        } = row;
        let reason = match (row.verdict(), reason) {
            (Verdict::Worse, _) => "**unexplained**",
            (Verdict::Known, Some(reason)) => reason,
            _ => "",
        };
        let _ = writeln!(text, "| {suite}.{test} | {native} | {guest} | {reason} |");
    }
    text
}

/// How many rows have each verdict: same, known, worse, other.
pub fn counts(rows: &[Row]) -> [usize; 4] {
    use Verdict::{Known, Other, Same, Worse};
    [Same, Known, Worse, Other].map(|v| rows.iter().filter(|row| row.verdict() == v).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(native: Outcome, guest: Outcome, reason: Option<&str>) -> Row {
        let is_named = reason.is_some();
        let reason = reason.map(str::to_owned);
        let (suite, test) = ("api".into(), "x".into());
        Row {
            suite,
            test,
            native,
            guest,
            reason,
            is_named,
        }
    }

    #[test]
    fn only_what_passes_natively_can_be_worse() {
        use Outcome::{Fail, Pass, Skip};
        assert_eq!(row(Pass, Fail, None).verdict(), Verdict::Worse);
        assert_eq!(row(Pass, Skip, None).verdict(), Verdict::Worse);
        assert_eq!(row(Pass, Fail, Some("why")).verdict(), Verdict::Known);
        assert_eq!(row(Fail, Pass, None).verdict(), Verdict::Other);
        assert_eq!(row(Fail, Fail, Some("why")).verdict(), Verdict::Same);
        assert!(row(Pass, Pass, Some("why")).is_stale());
        let crash = Outcome::None("signal 11".into());
        assert_eq!(row(Pass, crash.clone(), None).verdict(), Verdict::Worse);
        assert_eq!(row(crash.clone(), crash, None).verdict(), Verdict::Same);
    }

    #[test]
    fn tables_say_what_is_unexplained() {
        let rows = [row(Outcome::Pass, Outcome::Fail, None)];
        assert!(markdown(&rows).contains("| api.x | pass | fail | **unexplained** |"));
        assert_eq!(counts(&rows), [0, 0, 1, 0]);
    }
}
