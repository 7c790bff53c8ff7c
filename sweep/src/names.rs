//! The columns of the table that every sweep has.

use gil_report::Report;

/// The points' numbers.
pub const POINT: &str = "point";
/// The points' keys; in braces in a sweep's file, a point's own.
pub const KEY: &str = "key";
/// Why runs ended.
pub const REASON: &str = "reason";
/// What of the board's profile and the target did not count.
pub const WARNING: &str = "warning";
/// The simulator.
pub const SIMULATOR: &str = "simulator";
/// The release of gil.
pub const GIL: &str = "gil";
/// A column of the report, and what it is there.
pub(crate) type Column = (&'static str, fn(&Report) -> u64);

/// The columns that the report of a run fills. `_ns` are nanoseconds.
pub(crate) const REPORT: [Column; 16] = [
    ("simulated_ns", |it| it.simulated.program_ns),
    ("gpu_ns", |it| it.simulated.gpu_ns),
    ("board_cpu_ns", |it| it.simulated.board_cpu_ns),
    ("target_cpu_ns", |it| it.simulated.target_cpu_ns),
    ("wait_ns", |it| it.simulated.wait_ns),
    ("calls", |it| it.totals.calls),
    ("posts", |it| it.totals.posts),
    ("doorbells", |it| it.totals.doorbells),
    ("bytes_to_board", |it| it.totals.bytes_to_board),
    ("bytes_from_board", |it| it.totals.bytes_from_board),
    ("late_deliveries", |it| it.totals.late_deliveries),
    ("wall_ns", |it| it.wall.total_ns),
    ("simulator_ns", |it| it.wall.simulator_ns),
    ("bridge_ns", |it| it.wall.bridge_ns),
    ("board_ns", |it| it.wall.board_ns),
    ("transport_ns", |it| it.wall.transport_ns),
];

/// The wall time of the whole run, from `gil run` to its end.
pub(crate) const RUN: &str = "run_ns";
/// The exit code, which is a number, too.
pub const EXIT_CODE: &str = "exit_code";
/// What is drawn if nothing is said.
pub const SIMULATED: &str = REPORT[0].0;

/// The columns of numbers, in the table's order.
pub fn numbers() -> impl Iterator<Item = &'static str> {
    let report = REPORT.iter().map(|(name, _)| *name);
    [EXIT_CODE].into_iter().chain(report).chain([RUN])
}

/// Whether there is such a column of numbers.
pub fn is_number(column: &str) -> bool {
    numbers().any(|name| name == column)
}

/// Whether the table has a column of this name, whatever its axes are.
pub fn is_column(name: &str) -> bool {
    [POINT, KEY, REASON, WARNING, SIMULATOR, GIL].contains(&name) || is_number(name)
}
