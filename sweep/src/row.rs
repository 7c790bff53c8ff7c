//! What is kept of a point that ran: a line of JSON, and one with its checksum.

use crate::grid::{Axes, Point};
use crate::names;
use crate::value::Value;
use gil_report::{Document, Exit, Report};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Version of the layout; raised when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

/// Most bytes of a row's file.
pub const BYTES_MAX: u64 = 1 << 20;

/// Characters kept of why a run ended, and of its warning.
const TEXT_MAX: usize = 1000;

/// In front of the checksum.
const CHECKSUM: &str = "crc32 ";

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// [`VERSION`].
    pub version: u32,
    /// The point's key.
    pub key: String,
    /// The axes' values.
    #[serde(deserialize_with = "axes")]
    pub axes: Axes,
    /// The exit code of `gil run`.
    pub exit_code: u8,
    /// Why the run ended, unless the program simply exited.
    #[serde(default)]
    pub reason: Option<String>,
    /// What of the board's profile and the target did not count for the run's operations.
    #[serde(default)]
    pub warning: Option<String>,
    /// The release of gil.
    #[serde(default)]
    pub gil: Option<String>,
    /// The simulator.
    #[serde(default)]
    pub simulator: Option<String>,
    /// Numbers, by their columns.
    pub numbers: BTreeMap<String, u64>,
}

fn shorten(text: &str) -> String {
    text.chars().take(TEXT_MAX).collect()
}

/// JSON has no order of names.
fn axes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Axes, D::Error> {
    let map = BTreeMap::<String, Value>::deserialize(deserializer)?;
    Ok(Axes(map.into_iter().collect()))
}

impl Row {
    /// Of a point whose run ended so.
    pub fn new(point: &Point, exit: &Exit, report: Option<&Report>, took: Duration) -> Self {
        let mut numbers = BTreeMap::new();
        if let Some(report) = report {
            numbers.extend(names::REPORT.map(|(name, of)| (name.to_owned(), of(report))));
        }
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        numbers.insert(names::RUN.into(), took);
        Self {
            version: VERSION,
            key: point.key.clone(),
            axes: point.axes.clone(),
            exit_code: exit.code,
            reason: exit.reason.as_deref().map(shorten),
            warning: None,
            gil: report.map(|report| report.gil.clone()),
            simulator: report.map(|report| report.simulator.clone()),
            numbers,
        }
    }

    /// The same of what `gil run --json` wrote.
    pub fn of(point: &Point, document: &Document, took: Duration) -> Self {
        let warning = document.run.warning.as_deref().map(shorten);
        let row = Self::new(point, &document.exit, document.report.as_ref(), took);
        Self { warning, ..row }
    }

    /// Whether the run failed.
    pub fn has_failed(&self) -> bool {
        self.exit_code != 0
    }

    /// The number in a column, if the row has one.
    pub fn number(&self, column: &str) -> Option<u64> {
        match column {
            names::EXIT_CODE => Some(self.exit_code.into()),
            _ => self.numbers.get(column).copied(),
        }
    }

    /// Its file's text.
    pub fn text(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        let sum = crc32fast::hash(json.as_bytes());
        format!("{json}\n{CHECKSUM}{sum:08x}\n")
    }

    /// Reads a file's bytes; nothing if they are not all that were written.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let (json, sum) = text.split_once('\n')?;
        let sum = sum.strip_prefix(CHECKSUM)?;
        if sum != format!("{:08x}", crc32fast::hash(json.as_bytes())) {
            return None;
        }
        let row: Self = serde_json::from_str(json).ok()?;
        (row.version == VERSION).then_some(row)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A row of a point with these axes.
    pub fn row(key: &str, axes: &[(&str, Value)], simulated_ns: u64) -> Row {
        let axes = axes.iter();
        let point = Point {
            number: 1,
            key: key.into(),
            axes: Axes(
                axes.map(|(name, value)| ((*name).into(), value.clone()))
                    .collect(),
            ),
            options: Vec::new(),
            program: vec!["p".into()],
            profile: None,
        };
        let mut report = Report::default();
        report.simulated.program_ns = simulated_ns;
        let exit = Exit::program(Some(0), None);
        Row::new(&point, &exit, Some(&report), Duration::from_secs(1))
    }

    fn one() -> Row {
        let axes = [("size", Value::Whole(3)), ("x", Value::Text("ü\n".into()))];
        row("00ff", &axes, u64::MAX)
    }

    #[test]
    fn a_row_survives_its_file() {
        let row = one();
        let text = row.text();
        assert_eq!(text.lines().count(), 2);
        assert_eq!(Row::parse(text.as_bytes()), Some(row));
    }

    #[test]
    fn a_row_cut_anywhere_or_with_a_flipped_bit_is_none() {
        let text = one().text().into_bytes();
        for end in 0..text.len() {
            assert_eq!(Row::parse(&text[..end]), None, "{end}");
        }
        for at in 0..text.len() * 8 {
            let mut bytes = text.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            assert_eq!(Row::parse(&bytes), None, "bit {at}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..400) {
            prop_assert_eq!(Row::parse(&bytes), None);
            let mut text = one().text().into_bytes();
            text.truncate(cut);
            text.extend(&bytes);
            let _ = Row::parse(&text);
        }
    }
}
