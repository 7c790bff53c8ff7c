//! What changed from one run to another, by entry point.

use crate::summary::{Group, Summary, Sums};
use crate::table::{finished, plain};
use gil_files::calls::Reader;
use gil_report::time;
use std::collections::BTreeMap;
use std::io::Read;

/// An entry point in both runs.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Its API.
    pub api: String,
    /// Its name.
    pub name: String,
    /// What its calls came to: calls, GPU time and time in calls of the first run, then of
    /// the second.
    pub counts: [u64; 2],
    /// GPU time.
    pub gpu_ns: [u64; 2],
    /// Time in calls.
    pub call_ns: [u64; 2],
}

impl Change {
    /// By how much its times changed, whichever way.
    fn weight(&self) -> u64 {
        let [gpu, call] = [self.gpu_ns, self.call_ns].map(|[a, b]| a.abs_diff(b));
        gpu.max(call)
    }

    fn has(&mut self, run: usize, sums: &Sums) {
        self.counts[run] = sums.calls.count();
        self.gpu_ns[run] = sums.gpu.total_ns();
        self.call_ns[run] = sums.calls.total_ns();
    }
}

/// The entry points of both runs, that with the largest change of GPU time or time in
/// calls first. Names tell them apart: numbers belong to a version of gil.
pub fn changes<A: Read, B: Read>(
    first: (&Summary, &Reader<A>),
    second: (&Summary, &Reader<B>),
) -> Vec<Change> {
    let mut all: BTreeMap<(String, String), Change> = BTreeMap::new();
    let runs = [first.0.groups(first.1), second.0.groups(second.1)];
    for (run, groups) in runs.into_iter().enumerate() {
        for Group { api, name, sums } in groups {
            let change = all.entry((api.clone(), name.clone())).or_default();
            (change.api, change.name) = (api, name);
            change.has(run, &sums);
        }
    }
    let mut all: Vec<Change> = all.into_values().collect();
    all.sort_by_key(|change| std::cmp::Reverse(change.weight()));
    all
}

/// The same for people, no more than `top`.
pub fn table(changes: &[Change], top: Option<usize>) -> String {
    let mut table = plain();
    table.set_header([
        "call",
        "calls A",
        "calls B",
        "GPU time A",
        "GPU time B",
        "B - A",
        "B / A",
        "in calls A",
        "in calls B",
        "B - A",
        "B / A",
    ]);
    let top = top.unwrap_or(changes.len()).min(changes.len());
    for change in &changes[..top] {
        table.add_row(row(change));
    }
    table.add_row(row(&sum(changes)));
    finished(table)
}

fn sum(changes: &[Change]) -> Change {
    let mut all = Change {
        name: "all".into(),
        ..Change::default()
    };
    for change in changes {
        for run in 0..2 {
            let add = |sum: &mut u64, own: u64| *sum = sum.saturating_add(own);
            add(&mut all.counts[run], change.counts[run]);
            add(&mut all.gpu_ns[run], change.gpu_ns[run]);
            add(&mut all.call_ns[run], change.call_ns[run]);
        }
    }
    all
}

fn row(change: &Change) -> Vec<String> {
    let mut row = vec![change.name.clone()];
    row.extend(change.counts.map(|count| count.to_string()));
    row.extend(compared(change.gpu_ns));
    row.extend(compared(change.call_ns));
    row
}

/// Both, their difference and their ratio.
fn compared([a, b]: [u64; 2]) -> [String; 4] {
    if (a, b) == (0, 0) {
        return ["-", "-", "-", "-"].map(str::to_owned);
    }
    let sign = match b >= a {
        true => "+",
        false => "-",
    };
    let ratio = match a {
        0 => "-".into(),
        a => format!("{:.3}", b as f64 / a as f64),
    };
    [
        time(a),
        time(b),
        format!("{sign}{}", time(a.abs_diff(b))),
        ratio,
    ]
}
