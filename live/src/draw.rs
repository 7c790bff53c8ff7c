//! The picture: times, shares and rates above, the slowest calls and the last output
//! below.

use crate::Course;
use gil_report::{Live, bytes, percent, slowest, time};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Table};

/// Cells of a bar.
const BAR: usize = 8;
/// Cells between sections.
const GAP: u16 = 2;
/// Lines of the sections above, each with its title.
const TIMES: u16 = 6;
const RATES: u16 = 7;

/// Least width of a section beside another one, in cells: less has no room for values.
const TIMES_WIDTH: u16 = 26;
const RATES_WIDTH: u16 = 18;
/// Least width of names, in cells, for which columns of values are left out.
const NAME: usize = 6;

/// Draws the run as it is.
pub fn draw(course: &Course, frame: &mut Frame<'_>) {
    let width = frame.area().width;
    let times_high = high(width, 2, TIMES_WIDTH, TIMES);
    let rates_high = high(width, 3, RATES_WIDTH, RATES);
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(times_high),
        Constraint::Length(rates_high),
        Constraint::Fill(3),
        Constraint::Fill(2),
        Constraint::Length(1),
    ]);
    let [head, above, middle, calls, output, foot] = rows.areas(frame.area());
    draw_head(course, frame, head);
    let none = Live::default();
    let live = course.last().unwrap_or(&none);
    let [left, right] = sections(above, TIMES_WIDTH, TIMES);
    table(frame, left, "time", times(live));
    table(frame, right, "shares of wall time", shares(live));
    let [left, centre, right] = sections(middle, RATES_WIDTH, RATES);
    table(frame, left, "calls", rates(course));
    table(frame, centre, "GPU busy, simulated", engines(course));
    table(frame, right, "data and queue", queue(live));
    draw_calls(live, frame, calls);
    draw_output(course, frame, output);
    let keys = " q closes this view and the run goes on, Ctrl-C ends the run";
    frame.render_widget(Line::from(keys).dim(), foot);
}

/// How many sections of a least width stand beside each other.
fn beside(width: u16, count: u16, least: u16) -> u16 {
    ((width + GAP) / (least + GAP)).clamp(1, count)
}

/// Lines of so many sections of `each` lines: what does not stand beside, stands below.
fn high(width: u16, count: u16, least: u16, each: u16) -> u16 {
    count.div_ceil(beside(width, count, least)) * each
}

/// The sections' places; those below the area are empty.
fn sections<const N: usize>(area: Rect, least: u16, each: u16) -> [Rect; N] {
    let beside = beside(area.width, N as u16, least);
    let columns = vec![Constraint::Fill(1); beside.into()];
    std::array::from_fn(|index| {
        let (line, column) = (index as u16 / beside, index as u16 % beside);
        let place = Rect {
            y: area.y.saturating_add(line * each),
            height: each,
            ..area
        };
        let columns = Layout::horizontal(&columns).spacing(GAP);
        columns.split(place.intersection(area))[usize::from(column)]
    })
}

fn draw_head(course: &Course, frame: &mut Frame<'_>, area: Rect) {
    let title = Line::from(format!(" gil run {}", course.title)).bold();
    let state = Line::from(format!("{} ", course.state()));
    let width = state.width() as u16;
    let columns = Layout::horizontal([Constraint::Fill(1), Constraint::Length(width)]);
    let [left, right] = columns.spacing(1).areas(area);
    frame.render_widget(title, left);
    frame.render_widget(state.alignment(Alignment::Right), right);
}

/// A section with this title.
fn section(title: &str) -> Block<'_> {
    Block::new()
        .borders(Borders::TOP)
        .border_style(Style::new().dim())
        .title(format!(" {title} "))
}

/// Rows of names, with values at the right.
fn table(frame: &mut Frame<'_>, area: Rect, title: &str, rows: Vec<Vec<String>>) {
    let rows = fitting(rows, area.width.into());
    let widths = widths(&rows);
    let rows = rows.into_iter().map(|row| {
        let cells = row.into_iter().enumerate();
        Row::new(cells.map(|(column, text)| cell(column, text)))
    });
    frame.render_widget(Table::new(rows, widths).block(section(title)), area);
}

/// The first column takes what the others leave.
fn widths(rows: &[Vec<String>]) -> Vec<Constraint> {
    let others = (1..columns(rows)).map(|column| Constraint::Length(widest(rows, column) as u16));
    std::iter::once(Constraint::Fill(1)).chain(others).collect()
}

/// Without the columns behind the first for which there is no room beside names, the first
/// of them first: a number without its first digits would be another one.
fn fitting(mut rows: Vec<Vec<String>>, width: usize) -> Vec<Vec<String>> {
    while columns(&rows) > 1 {
        let name = widest(&rows, 0).min(NAME);
        let others = (1..columns(&rows)).map(|column| 1 + widest(&rows, column));
        if 1 + name + others.sum::<usize>() <= width {
            break;
        }
        for row in rows.iter_mut().filter(|row| row.len() > 1) {
            row.remove(1);
        }
    }
    rows
}

fn columns(rows: &[Vec<String>]) -> usize {
    rows.iter().map(Vec::len).max().unwrap_or(0)
}

/// Characters of the longest text in a column.
fn widest(rows: &[Vec<String>], column: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(column));
    cells.map(|text| text.chars().count()).max().unwrap_or(0)
}

fn cell(column: usize, text: String) -> Cell<'static> {
    let line = match column {
        0 => Line::from(Span::raw(format!(" {text}"))),
        _ => Line::from(text).alignment(Alignment::Right),
    };
    Cell::new(line)
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Times and their ratio, under the names that the report's table has.
fn times(live: &Live) -> Vec<Vec<String>> {
    let (simulated, wall) = (&live.report.simulated, &live.report.wall);
    let (on, cpu_ns) = match simulated.has_other_cpu() {
        true => ("  on the target's CPU", simulated.target_cpu_ns),
        false => ("  on the board's CPU", simulated.board_cpu_ns),
    };
    vec![
        row(["simulated time", &time(simulated.program_ns)]),
        row(["  on the GPU", &time(simulated.gpu_ns)]),
        row([on, &time(cpu_ns)]),
        row(["wall time", &time(wall.total_ns)]),
        row(["slowdown", &slowdown(live)]),
    ]
}

/// Wall time for simulated time: both until the last doorbell.
fn slowdown(live: &Live) -> String {
    match live.report.simulated.program_ns {
        0 => "-".into(),
        passed => format!("{:.1} times", live.doorbell_ns as f64 / passed as f64),
    }
}

/// Who took the wall time.
fn shares(live: &Live) -> Vec<Vec<String>> {
    let wall = &live.report.wall;
    let parts = [
        ("simulator", wall.simulator_ns),
        ("bridge", wall.bridge_ns),
        ("board", wall.board_ns),
        ("transport", wall.transport_ns),
    ];
    let part = |(name, ns): (&str, u64)| {
        let share = ns as f64 / wall.total_ns.max(1) as f64;
        row([name, &bar(share), &percent(ns, wall.total_ns), &time(ns)])
    };
    parts.into_iter().map(part).collect()
}

fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    "█".repeat(full) + &"░".repeat(BAR - full)
}

fn rates(course: &Course) -> Vec<Vec<String>> {
    let calls = course.calls();
    let mut rows = vec![row(["", "a second", "  in all"])];
    for (title, rate, all) in &calls {
        rows.push(row([title, &format!("{rate:.0}"), &all.to_string()]));
    }
    if calls.len() > 1 {
        let rate: f64 = calls.iter().map(|(_, rate, _)| rate).sum();
        let all: u64 = calls.iter().map(|(_, _, all)| all).sum();
        rows.push(row(["all", &format!("{rate:.0}"), &all.to_string()]));
    }
    rows
}

fn engines(course: &Course) -> Vec<Vec<String>> {
    let mut engines = course.engines();
    engines.sort_by(|a, b| b.share.total_cmp(&a.share));
    let engine = |it: &crate::course::Share| {
        let share = format!("{:.1} %", it.share * 100.0);
        row([&it.name, &bar(it.share), &share])
    };
    engines.iter().map(engine).collect()
}

fn queue(live: &Live) -> Vec<Vec<String>> {
    let (totals, queue) = (&live.report.totals, &live.queue);
    vec![
        row(["to board", &bytes(totals.bytes_to_board)]),
        row(["from board", &bytes(totals.bytes_from_board)]),
        row(["queued", &queue.operations.to_string()]),
        row(["  at board", &queue.at_board.to_string()]),
        row(["known ahead", &time(queue.ahead_ns)]),
        row(["frames", &live.frames.to_string()]),
    ]
}

/// Entry points in the order of the report's table.
fn draw_calls(live: &Live, frame: &mut Frame<'_>, area: Rect) {
    let none_or = |ns| match ns {
        0 => "-".into(),
        ns => time(ns),
    };
    let head = row(["", "count", "  GPU time", "  board's CPU", "   wall time"]);
    let entries = slowest(&live.report.entries).into_iter().map(|entry| {
        vec![
            entry.name.clone(),
            entry.count.to_string(),
            none_or(entry.gpu_ns),
            none_or(entry.board_cpu_ns),
            none_or(entry.wall_ns),
        ]
    });
    let room = usize::from(area.height.saturating_sub(2));
    let rows = std::iter::once(head).chain(entries.take(room)).collect();
    table(frame, area, "slowest calls", rows);
}

fn draw_output(course: &Course, frame: &mut Frame<'_>, area: Rect) {
    let room = usize::from(area.height.saturating_sub(1));
    let lines = course.lines.last(room).into_iter();
    let lines: Vec<_> = lines.map(|line| Line::from(format!(" {line}"))).collect();
    let output = Paragraph::new(lines).block(section("the program's output"));
    frame.render_widget(output, area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_report::{Busy, Entry, Queue, Report};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::Duration;

    fn entry(api: u16, name: &str, count: u64, times: [u64; 3]) -> Entry {
        let [gpu_ns, board_cpu_ns, wall_ns] = times;
        Entry {
            name: name.into(),
            api,
            count,
            gpu_ns,
            board_cpu_ns,
            wall_ns,
            ..Entry::default()
        }
    }

    fn entries(kernels: u64) -> Vec<Entry> {
        vec![
            entry(1, "clFinish", 3, [0, 0, 5_000_000]),
            entry(1, "clBuildProgram", 1, [0, 410_000_000, 430_000_000]),
            entry(
                1,
                "clEnqueueNDRangeKernel",
                kernels,
                [3_000_000, 0, 9_000_000],
            ),
            entry(2, "eglInitialize", 1, [0, 20_000, 80_000]),
        ]
    }

    fn report(kernels: u64) -> Report {
        let mut report = Report {
            entries: entries(kernels),
            ..Report::default()
        };
        report.simulated.program_ns = 12_345_678;
        report.simulated.gpu_ns = 3_000_000;
        report.simulated.board_cpu_ns = 410_020_000;
        report.wall.total_ns = 2_000_000_000;
        report.wall.simulator_ns = 1_500_000_000;
        report.wall.bridge_ns = 20_000_000;
        report.wall.board_ns = 440_000_000;
        report.wall.transport_ns = 40_000_000;
        report.totals.bytes_to_board = 4_096_000;
        report.totals.bytes_from_board = 64;
        report
    }

    fn course() -> Course {
        let mut course = Course::new("./prog --size 10".into());
        let engine = |name: &str, busy_ns| Busy {
            name: name.into(),
            busy_ns,
            ..Busy::default()
        };
        let mut before = Live {
            report: report(200),
            engines: vec![engine("compute", 0)],
            ..Live::default()
        };
        before.report.simulated.program_ns = 10_000_000;
        let now = Live {
            report: report(300),
            doorbell_ns: 1_900_000_000,
            engines: vec![engine("copy in", 10_000), engine("compute", 1_800_000)],
            queue: Queue {
                sessions: 1,
                operations: 12,
                at_board: 4,
                kept_bytes: 0,
                ahead_ns: 250_000,
            },
            ..Live::default()
        };
        course.pass(Duration::from_millis(1500));
        course.say(before);
        course.pass(Duration::from_millis(2000));
        course.say(now);
        course.lines.write(b"step 1\n\x1b[1mstep 2\x1b[0m\nstep 3");
        course
    }

    fn drawn(course: &Course, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(course, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let cells = buffer.content.chunks(width.into());
        let line = |cells: &[ratatui::buffer::Cell]| {
            let text: String = cells.iter().map(|cell| cell.symbol()).collect();
            text.trim_end().to_owned() + "\n"
        };
        cells.map(line).collect()
    }

    #[test]
    fn a_picture_is_as_it_was() {
        let golden = include_str!("../tests/golden/running.txt");
        let drawn = drawn(&course(), 80, 30);
        assert_eq!(drawn, golden, "{drawn}");
    }

    #[test]
    fn the_last_picture_has_the_reports_figures() {
        let mut course = course();
        course.end(report(301));
        let golden = include_str!("../tests/golden/ended.txt");
        let drawn = drawn(&course, 120, 24);
        assert_eq!(drawn, golden, "{drawn}");
    }

    /// No number stands without its first digits.
    #[test]
    fn a_narrow_window_has_whole_numbers() {
        for (width, height, expected) in [
            (
                60,
                20,
                &["12.346 ms", "75.0 %", "22.0 %", "4.096 MB", "300"][..],
            ),
            (40, 30, &["12.346 ms", "75.0 %", "4.096 MB", "76.7 %"]),
            (26, 40, &["12.346 ms", "75.0 %", "4.096 MB", "76.7 %"]),
        ] {
            let drawn = drawn(&course(), width, height);
            for text in expected {
                assert!(drawn.contains(&format!(" {text}")), "{text}: {drawn}");
            }
        }
        for width in 1..100 {
            let drawn = drawn(&course(), width, 60);
            for part in ["096 MB", "346 ms", "5.0 %", "00 s"] {
                let places = drawn.match_indices(part).map(|(at, _)| at);
                let before: Vec<_> = places.map(|at| drawn[..at].chars().next_back()).collect();
                assert!(before.iter().all(|c| *c != Some(' ')), "{part}: {drawn}");
            }
        }
    }

    #[test]
    fn a_window_of_any_size_is_drawn_in() {
        for (width, height) in [(1, 1), (20, 5), (80, 12), (300, 100), (3, 200)] {
            drawn(&course(), width, height);
            drawn(&Course::default(), width, height);
        }
    }
}
