//! A benchmark's result: one line, as JSON or in a table.

use crate::machine::Machine;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A requirement on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Must {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
}

impl Must {
    /// Whether `value` does; what cannot be had does not.
    pub fn is_held_by(self, value: f64) -> bool {
        value.is_finite()
            && match self {
                Self::AtMost(most) => value <= most,
                Self::AtLeast(least) => value >= least,
            }
    }
}

impl fmt::Display for Must {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "<= {most}"),
            Self::AtLeast(least) => write!(f, ">= {least}"),
        }
    }
}

impl From<Must> for String {
    fn from(must: Must) -> Self {
        must.to_string()
    }
}

/// A requirement that does not read.
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is no requirement: write \"<= NUMBER\" or \">= NUMBER\"")]
pub struct MustError(String);

impl FromStr for Must {
    type Err = MustError;

    fn from_str(text: &str) -> Result<Self, MustError> {
        let wrong = || MustError(text.into());
        let (sign, number) = text.split_once(' ').ok_or_else(wrong)?;
        let number = number.parse().map_err(|_| wrong())?;
        match sign {
            "<=" => Ok(Self::AtMost(number)),
            ">=" => Ok(Self::AtLeast(number)),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for Must {
    type Error = MustError;

    fn try_from(text: String) -> Result<Self, MustError> {
        text.parse()
    }
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The benchmark's name.
    pub bench: String,
    /// The benchmark's case.
    pub case: String,
    /// Bytes, where the case has a size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Calls in one submission, where they are batched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Threads, where the case has a number of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Unit of `figure` and `baseline`.
    pub unit: String,
    /// What was measured; not a number, in JSON null, if it cannot be had, such
    /// as where more has to be subtracted than was measured.
    #[serde(deserialize_with = "or_not_a_number")]
    pub figure: f64,
    /// What the baseline is, in words.
    pub against: String,
    /// The baseline, measured in turn with the figure; likewise.
    #[serde(deserialize_with = "or_not_a_number")]
    pub baseline: f64,
    /// What is required is of this: the figure divided by the baseline, or less
    /// the baseline (`judged` says which); likewise, such as where the figure is
    /// below the baseline by more than noise.
    #[serde(deserialize_with = "or_not_a_number")]
    pub value: f64,
    /// How `value` follows from figure and baseline.
    pub judged: Judged,
    /// The requirement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must: Option<Must>,
    /// Whether it is held; none if that cannot be said
    /// ([`Line::is_below_noise`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// More numbers, by name; the name ends in their unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub detail: BTreeMap<String, f64>,
    /// The machine of the measurement.
    pub machine: Machine,
    /// When, as `YYYY-MM-DD`.
    pub date: String,
}

impl Line {
    /// Whether the figure is so far below its baseline that the two were not
    /// measured on the same machine in the same state: noise exceeds their
    /// difference, which then says nothing.
    pub fn is_below_noise(&self) -> bool {
        self.judged == Judged::Difference
            && self.figure.is_finite()
            && self.baseline.is_finite()
            && self.value.is_nan()
    }
}

/// What of figure and baseline is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// The figure divided by the baseline.
    Ratio,
    /// The figure less the baseline.
    Difference,
    /// The figure.
    Itself,
}

/// A line without its machine and date.
#[derive(Clone, Debug)]
pub struct Measured(Line);

impl Measured {
    /// A case's figure and its baseline.
    pub fn new(bench: &str, case: impl Into<String>, unit: &str, figure: f64) -> Self {
        Self(Line {
            bench: bench.into(),
            case: case.into(),
            bytes: None,
            batch: None,
            threads: None,
            unit: unit.into(),
            figure,
            against: String::new(),
            baseline: 0.0,
            value: figure,
            judged: Judged::Difference,
            must: None,
            held: None,
            detail: BTreeMap::new(),
            machine: Machine::default(),
            date: String::new(),
        })
    }

    /// Judged by its ratio to a baseline.
    pub fn over(mut self, against: &str, baseline: f64) -> Self {
        self.0.against = against.into();
        self.0.baseline = baseline;
        self.0.value = self.0.figure / baseline;
        self.0.judged = Judged::Ratio;
        self
    }

    /// Judged by what it is above a baseline.
    pub fn above(mut self, against: &str, baseline: f64) -> Self {
        self.0.against = against.into();
        self.0.baseline = baseline;
        self.0.value = difference(self.0.figure, baseline);
        self.0.judged = Judged::Difference;
        self
    }

    /// Judged by itself, beside a baseline.
    pub fn beside(mut self, against: &str, baseline: f64) -> Self {
        self.0.against = against.into();
        self.0.baseline = baseline;
        self.0.judged = Judged::Itself;
        self
    }

    /// Has to reach this. A difference below noise is not judged.
    pub fn must(mut self, must: Must) -> Self {
        self.0.must = Some(must);
        self.0.held = match self.0.is_below_noise() {
            true => None,
            false => Some(must.is_held_by(self.0.value)),
        };
        self
    }

    /// Has to reach this, if it is judged.
    pub fn must_if(self, is_judged: bool, must: Must) -> Self {
        match is_judged {
            true => self.must(must),
            false => self,
        }
    }

    /// Its size.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.0.bytes = Some(bytes);
        self
    }

    /// Its number of calls in one submission.
    pub fn batch(mut self, batch: u64) -> Self {
        self.0.batch = Some(batch);
        self
    }

    /// Its number of threads.
    pub fn threads(mut self, threads: usize) -> Self {
        self.0.threads = Some(threads as u64);
        self
    }

    /// One more number.
    pub fn detail(mut self, name: &str, value: f64) -> Self {
        self.0.detail.insert(name.into(), rounded(value));
        self
    }

    /// The line.
    pub fn at(self, machine: &Machine, date: &str) -> Line {
        let line = self.0;
        Line {
            figure: rounded(line.figure),
            baseline: rounded(line.baseline),
            value: rounded(line.value),
            machine: machine.clone(),
            date: date.into(),
            ..line
        }
    }
}

/// How far a figure may be below its baseline, as a part of it. What is measured
/// does all that its baseline does, and more: the difference may be below zero by
/// the noise of both, and no further.
const NOISE: f64 = 0.1;

/// What is above the baseline; not a number if a figure that is so far below
/// shows that the two were not measured on the same machine in the same state.
fn difference(figure: f64, baseline: f64) -> f64 {
    match figure < baseline * (1.0 - NOISE) {
        true => f64::NAN,
        false => figure - baseline,
    }
}

/// A number, or NaN for JSON's `null`.
fn or_not_a_number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// To four digits: more is noise.
fn rounded(value: f64) -> f64 {
    match value == 0.0 || !value.is_finite() {
        true => value,
        false => format!("{value:.3e}").parse().unwrap_or(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_judged_and_read_back() {
        let line = Measured::new("diff", "unchanged", "GB/s", 9.0).over("memcmp", 10.0);
        let line = line.must(Must::AtLeast(0.9)).threads(2);
        let line = line.at(&Machine::default(), "2026-01-01");
        assert_eq!((line.value, line.held), (0.9, Some(true)));
        let json = serde_json::to_string(&line).unwrap();
        assert!(json.contains(r#""must":">= 0.9","held":true"#), "{json}");
        assert_eq!(serde_json::from_str::<Line>(&json).unwrap(), line);
        assert!("=> 3".parse::<Must>().is_err());
    }

    #[test]
    fn what_is_above_the_baseline_is_judged() {
        let line = Measured::new("call", "median", "us", 14.0).above("ping-pong", 5.5);
        let line = line
            .must(Must::AtMost(8.0))
            .at(&Machine::default(), "2026-01-01");
        assert_eq!((line.value, line.held), (8.5, Some(false)));
    }

    #[test]
    fn a_difference_below_zero_by_more_than_noise_is_not_judged() {
        let judged = |figure| {
            let line = Measured::new("call", "median", "us", figure).above("ping-pong", 100.0);
            let line = line.must(Must::AtMost(8.0));
            line.at(&Machine::default(), "2026-01-01")
        };
        let noise = judged(95.0);
        assert_eq!((noise.value, noise.held), (-5.0, Some(true)));
        let none = judged(2.6);
        assert_eq!((none.figure, none.held), (2.6, None));
        assert!(none.is_below_noise());
        let json = serde_json::to_string(&none).unwrap();
        assert!(json.contains(r#""value":null"#), "{json}");
    }

    #[test]
    fn what_cannot_be_had_is_not_held_and_read_back() {
        for value in [f64::NAN, f64::INFINITY] {
            let line = Measured::new("region", "1 MiB", "GB/s", value).over("memcpy", 10.0);
            let line = line.must(Must::AtLeast(0.8));
            let line = line.at(&Machine::default(), "2026-01-01");
            assert_eq!(line.held, Some(false));
            let json = serde_json::to_string(&line).unwrap();
            assert!(json.contains(r#""figure":null"#), "{json}");
            assert!(serde_json::from_str::<Line>(&json).unwrap().figure.is_nan());
        }
        assert!(!Must::AtMost(1.0).is_held_by(f64::NEG_INFINITY));
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(rounded(1.23456), 1.235);
        assert_eq!(rounded(123456.0), 123500.0);
        assert_eq!(rounded(0.0), 0.0);
    }
}
