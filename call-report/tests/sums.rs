//! Sums of rows are those of the tables and of the CSV.

mod support;

use gil_call_report::summary::{By, GROUPS_MAX, Summary};
use gil_call_report::table::table;
use gil_call_report::{difference, tabular};
use gil_files::calls::Row;
use proptest::prelude::*;
use support::{any_rows, enqueue, log, pass};

const ALL: [By; 4] = [By::Entry, By::Thread, By::Process, By::Queue];

fn records(bytes: &[u8]) -> (Vec<String>, Vec<csv::StringRecord>) {
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    (header, reader.records().map(Result::unwrap).collect())
}

/// The sum of a column.
fn sum(csv: &[u8], column: &str) -> u64 {
    let (header, records) = records(csv);
    let at = header.iter().position(|name| name == column).unwrap();
    let cells = records.iter().map(|record| record[at].parse::<u64>());
    cells.map(|cell| cell.unwrap_or(0)).sum()
}

fn summary_csv(rows: &[Row], by: By) -> Vec<u8> {
    let bytes = log(rows);
    let mut summary = Summary::new(by);
    let log = pass(&bytes, &mut [&mut summary]);
    let mut out = Vec::new();
    tabular::summary(&summary, log.names(), &mut out).unwrap();
    out
}

fn rows_csv(rows: &[Row]) -> Vec<u8> {
    let bytes = log(rows);
    let mut out = Vec::new();
    let mut all = tabular::Rows::new(&mut out).unwrap();
    pass(&bytes, &mut [&mut all]);
    all.finish().unwrap();
    out
}

/// The percentages of a column of a table for people, in tenths.
fn percentages(table: &str) -> Vec<u64> {
    let words: Vec<&str> = table.split_whitespace().collect();
    let percents = words.windows(2).filter(|pair| pair[1] == "%");
    let tenths = percents.map(|pair| pair[0].replace('.', "").parse().unwrap());
    tenths.collect()
}

#[test]
fn a_table_is_sorted_has_units_and_adds_up() {
    let mut rows = vec![enqueue(0, 0, 2_000), enqueue(10, 2_000, 2_000_000)];
    rows[1].op = gil_wire::Op::new(1, 2);
    rows[1].bytes_to_board = 4096;
    let bytes = log(&rows);
    let mut summary = Summary::new(By::Entry);
    let log = pass(&bytes, &mut [&mut summary]);
    let text = table(&summary, log.names(), None);
    let expected = "\
call                operations  GPU time    share    mean      p50       p95       max
clGetPlatformInfo            1  1.998 ms   99.9 %  1.998 ms  1.998 ms  1.998 ms  1.998 ms
";
    let squeezed = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ")
    };
    let lines: Vec<String> = text.lines().map(squeezed).collect();
    let expected: Vec<String> = expected.lines().map(squeezed).collect();
    assert_eq!(lines[..2], expected[..]);
    assert!(
        lines[2].contains("clGetPlatformIDs 1 2.000 us 0.1 %"),
        "{text}"
    );
    assert!(lines[3].starts_with("all 2 2.000 ms 100.0 %"), "{text}");
    assert!(text.contains("4.096 kB"), "{text}");
    let one = table(&summary, log.names(), Some(1));
    assert!(one.contains("(1 more)"), "{one}");
    let all: u64 = percentages(&one).iter().sum();
    assert_eq!(all, 4 * 1000, "both columns, and their sums: {one}");
}

#[test]
fn threads_without_end_are_one_group_in_the_end() {
    let mut summary = Summary::new(By::Thread);
    for thread in 0..GROUPS_MAX as u32 + 10 {
        summary.add(&Row {
            thread,
            ..enqueue(0, 0, 1)
        });
    }
    let bytes = log(&[]);
    let log = pass(&bytes, &mut []);
    let groups = summary.groups(log.names());
    assert_eq!(groups.len(), GROUPS_MAX + 1);
    let others = groups.iter().find(|group| group.name == "(others)");
    assert_eq!(others.unwrap().sums.calls.count(), 10);
}

#[test]
fn the_largest_change_comes_first() {
    let slow = [enqueue(0, 0, 5_000), enqueue(5, 5_000, 6_000)];
    let mut fast = [
        enqueue(0, 0, 2_000),
        enqueue(5, 5_000, 6_000),
        enqueue(9, 9, 10),
    ];
    let other = gil_wire::Op::new(1, 2);
    (fast[1].op, fast[2].op) = (other, other);
    let (a, b) = (log(&slow), log(&fast));
    let mut sums = [Summary::new(By::Entry), Summary::new(By::Entry)];
    let [first, second] = &mut sums;
    let (a, b) = (pass(&a, &mut [first]), pass(&b, &mut [second]));
    let changes = difference::changes((&sums[0], a.names()), (&sums[1], b.names()));
    let counts: Vec<_> = changes
        .iter()
        .map(|it| (it.name.as_str(), it.counts))
        .collect();
    assert_eq!(
        counts,
        [("clGetPlatformIDs", [2, 1]), ("clGetPlatformInfo", [0, 2])]
    );
    assert_eq!(changes[0].gpu_ns, [6_000, 2_000]);
    let text = difference::table(&changes, None);
    assert!(
        text.contains("-4.000 us") && text.contains("0.333"),
        "{text}"
    );
}

proptest! {
    #[test]
    fn sums_of_rows_are_the_tables(rows in any_rows()) {
        let all = rows_csv(&rows);
        let own = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(&all, "bytes_to_board"), own(|row| row.bytes_to_board));
        prop_assert_eq!(sum(&all, "board_ns"), own(|row| row.board_ns));
        for by in ALL {
            let csv = summary_csv(&rows, by);
            let in_group = |row: &&Row| by != By::Queue || row.queue.is_some();
            let own = |of: fn(&Row) -> u64| rows.iter().filter(in_group).map(of).sum::<u64>();
            let gpu_ns = own(|row| match row.operation {
                Some(it) if it.engine != 0 => row.gpu_ns().unwrap_or(0),
                _ => 0,
            });
            let call_ns = own(|row| if row.is_call() { row.lasted_ns() } else { 0 });
            prop_assert_eq!(sum(&csv, "gpu_total_ns"), gpu_ns);
            prop_assert_eq!(sum(&csv, "call_total_ns"), call_ns);
            prop_assert_eq!(sum(&csv, "call_count"), own(|row| row.is_call().into()));
            prop_assert_eq!(sum(&csv, "board_cpu_ns"), own(|row| row.board_cpu_ns));
            prop_assert_eq!(sum(&csv, "bytes_from_board"), own(|row| row.bytes_from_board));
            for (total, share) in [(gpu_ns, "gpu_share_permille"), (call_ns, "call_share_permille")] {
                prop_assert_eq!(sum(&csv, share), if total > 0 { 1000 } else { 0 });
            }
        }
    }

    #[test]
    fn percentages_add_up(rows in any_rows(), top in proptest::option::of(0..5usize)) {
        let bytes = log(&rows);
        for by in ALL {
            let mut summary = Summary::new(by);
            let log = pass(&bytes, &mut [&mut summary]);
            let text = table(&summary, log.names(), top);
            for part in text.split("\n\n") {
                // The lines, and their sum.
                let all: u64 = percentages(part).iter().sum();
                prop_assert!(all == 0 || all == 2 * 1000, "{}", part);
            }
        }
    }
}
