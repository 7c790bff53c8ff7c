//! Summaries for people.

use crate::summary::{By, Group, Summary, Sums};
use crate::times::Times;
use comfy_table::{CellAlignment, Table, presets};
use gil_files::calls::Reader;
use gil_report::share::{percent, shares};
use gil_report::{bytes, time};
use gil_wire::words::Words;
use std::io::Read;

/// The groups of a summary that most time went to, by the GPU's time and by that of calls;
/// no more than `top` of each, the others in one line. Nothing if there are none.
pub fn table<R: Read>(summary: &Summary, names: &Reader<R>, top: Option<usize>) -> String {
    let groups = summary.groups(names);
    let gpu = ranked(groups.iter(), |sums| &sums.gpu, top);
    let calls = ranked(groups.iter(), |sums| &sums.calls, top);
    let mut text = String::new();
    if !gpu.is_empty() {
        text += &gpu_times(summary.by(), &gpu, summary.all());
        text.push('\n');
    }
    if !calls.is_empty() {
        text += &call_times(summary.by(), &calls, summary.all());
    }
    text
}

/// One line.
struct Line<'a> {
    name: String,
    /// None: several groups, of which there are no percentiles.
    sums: Option<&'a Sums>,
    count: u64,
    total_ns: u64,
    max_ns: u64,
    board_cpu_ns: u64,
    bytes: (u64, u64),
}

/// Those with times of one kind by their sums.
fn ranked<'a>(
    groups: impl Iterator<Item = &'a Group>,
    of: fn(&Sums) -> &Times,
    top: Option<usize>,
) -> Vec<Line<'a>> {
    let line = |group: &'a Group| {
        let (sums, times) = (&group.sums, of(&group.sums));
        Line {
            // A program may have any bytes in its names; a row is a line.
            name: Words::from(group.name.as_str()).to_string(),
            sums: Some(sums),
            count: times.count(),
            total_ns: times.total_ns(),
            max_ns: times.max_ns(),
            board_cpu_ns: sums.board_cpu_ns,
            bytes: (sums.bytes_to_board, sums.bytes_from_board),
        }
    };
    let mut lines: Vec<_> = groups.map(line).filter(|line| line.count > 0).collect();
    lines.sort_by_key(|line| std::cmp::Reverse((line.total_ns, line.count)));
    let top = top.unwrap_or(lines.len()).min(lines.len());
    let rest = lines.split_off(top);
    lines.extend(together(&rest));
    lines
}

/// What is not shown line by line.
fn together<'a>(rest: &[Line<'_>]) -> Option<Line<'a>> {
    if rest.is_empty() {
        return None;
    }
    let sum = |of: fn(&Line<'_>) -> u64| rest.iter().map(of).fold(0, u64::saturating_add);
    Some(Line {
        name: format!("({} more)", rest.len()),
        sums: None,
        count: sum(|line| line.count),
        total_ns: sum(|line| line.total_ns),
        max_ns: rest.iter().map(|line| line.max_ns).max().unwrap_or(0),
        board_cpu_ns: sum(|line| line.board_cpu_ns),
        bytes: (sum(|line| line.bytes.0), sum(|line| line.bytes.1)),
    })
}

fn gpu_times(by: By, lines: &[Line<'_>], all: &Sums) -> String {
    let mut table = plain();
    table.set_header([
        by.name(),
        "operations",
        "GPU time",
        "share",
        "mean",
        "p50",
        "p95",
        "max",
    ]);
    for (line, share) in lines.iter().zip(column(lines)) {
        table.add_row(times(line, |sums| &sums.gpu, share));
    }
    table.add_row(times(
        &sum_of(all, &all.gpu),
        |sums| &sums.gpu,
        whole(lines),
    ));
    finished(table)
}

fn call_times(by: By, lines: &[Line<'_>], all: &Sums) -> String {
    let mut table = plain();
    table.set_header([
        by.name(),
        "calls",
        "time in calls",
        "share",
        "mean",
        "p50",
        "p95",
        "max",
        "board's CPU",
        "to board",
        "from board",
    ]);
    let row = |line: &Line<'_>, share: String| {
        let mut row = times(line, |sums| &sums.calls, share);
        row.push(some(line.board_cpu_ns, time));
        row.push(some(line.bytes.0, bytes));
        row.push(some(line.bytes.1, bytes));
        row
    };
    for (line, share) in lines.iter().zip(column(lines)) {
        table.add_row(row(line, share));
    }
    table.add_row(row(&sum_of(all, &all.calls), whole(lines)));
    finished(table)
}

fn sum_of<'a>(all: &'a Sums, times: &Times) -> Line<'a> {
    Line {
        name: "all".into(),
        sums: Some(all),
        count: times.count(),
        total_ns: times.total_ns(),
        max_ns: times.max_ns(),
        board_cpu_ns: all.board_cpu_ns,
        bytes: (all.bytes_to_board, all.bytes_from_board),
    }
}

fn times(line: &Line<'_>, of: fn(&Sums) -> &Times, share: String) -> Vec<String> {
    let percentile = |percent| {
        let sums = line.sums.map(of);
        sums.map_or("-".into(), |times| time(times.percentile_ns(percent)))
    };
    let mean = line.total_ns.checked_div(line.count).unwrap_or(0);
    vec![
        line.name.clone(),
        line.count.to_string(),
        time(line.total_ns),
        share,
        time(mean),
        percentile(50),
        percentile(95),
        time(line.max_ns),
    ]
}

/// The lines' shares, which add up.
fn column(lines: &[Line<'_>]) -> Vec<String> {
    let totals: Vec<u64> = lines.iter().map(|line| line.total_ns).collect();
    match shares(&totals) {
        Some(shares) => shares.into_iter().map(percent).collect(),
        None => vec!["-".into(); lines.len()],
    }
}

fn whole(lines: &[Line<'_>]) -> String {
    match lines.iter().any(|line| line.total_ns > 0) {
        true => percent(1000),
        false => "-".into(),
    }
}

fn some(value: u64, shown: fn(u64) -> String) -> String {
    match value {
        0 => "-".into(),
        some => shown(some),
    }
}

/// A table without lines.
pub(crate) fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// Its text, numbers to the right.
pub(crate) fn finished(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt() + "\n"
}
