//! The report as a table.

use crate::share::{self, shares};
use crate::{Document, Entry, Frames, Jobs, Process, Rate, Report, SeenRun, Served};
use comfy_table::{CellAlignment, Table, presets};

impl Document {
    /// The calls, then where simulated and wall time went; nothing if the
    /// simulation never ran.
    pub fn table(&self) -> String {
        let report = self.report.as_ref();
        report.map_or_else(String::new, |report| table(report, &self.run))
    }
}

fn table(report: &Report, run: &SeenRun) -> String {
    let mut text = String::from("\n");
    if !report.entries.is_empty() {
        text += &calls(&report.entries);
        text.push('\n');
    }
    for frames in &report.frames {
        text += &drawn(frames, report.frames.len() > 1);
        text.push('\n');
    }
    if let Some(jobs) = &report.jobs {
        text += &processors(jobs);
        text.push('\n');
    }
    if !report.mirrored.is_empty() {
        text += &mirrored(report);
        text.push('\n');
    }
    text += &times(report, run);
    if report.processes.len() > 1 {
        text.push('\n');
        text += &processes(&report.processes);
    }
    if !report.boards.is_empty() {
        text.push('\n');
        text += &boards(&report.boards);
    }
    text
}

fn processes(processes: &[Process]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["process", "calls", "GPU time", "board's CPU"]);
    for process in processes {
        let calls = process.calls.iter();
        let calls = calls.map(|(api, count)| format!("{count} {api}"));
        table.add_row([
            process.process.to_string(),
            calls.collect::<Vec<_>>().join(", "),
            time(process.gpu_ns),
            time(process.board_cpu_ns),
        ]);
    }
    right_align(&mut table);
    table.trim_fmt() + "\n"
}

fn mirrored(report: &Report) -> String {
    let it = &report.mirrored;
    let took_ns = it.compare_ns.saturating_add(it.board_compare_ns);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut row = |name: &str, value: String, share: String| {
        table.add_row([name.to_owned(), value, share]);
    };
    let none = String::new;
    // Files of the device that are never closed have not said how many.
    let ioctls = match it.ioctls {
        0 => "-".to_owned(),
        some => some.to_string(),
    };
    row("ioctls of the driver", ioctls, none());
    let trips = percent(it.round_trips, it.ioctls);
    row("  waited for the board", it.round_trips.to_string(), trips);
    row("buffers compared", bytes(it.compared_bytes), none());
    row("  sent to the board", bytes(it.bytes_to_board), none());
    row("  brought from it", bytes(it.bytes_from_board), none());
    let share = percent(took_ns, report.wall.total_ns);
    row("  wall time for it", time(took_ns), share);
    right_align(&mut table);
    table.trim_fmt() + "\n"
}

fn boards(boards: &[Served]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "board for",
        "calls",
        "GPU time",
        "board's CPU",
        "wall time",
        "address",
    ]);
    for board in boards {
        table.add_row([
            board.apis.clone(),
            board.calls.to_string(),
            time(board.gpu_ns),
            time(board.board_cpu_ns),
            time(board.board_ns),
            board.address.clone().unwrap_or("-".into()),
        ]);
    }
    right_align(&mut table);
    table.trim_fmt() + "\n"
}

fn calls(entries: &[Entry]) -> String {
    let sum = |of: fn(&Entry) -> u64| entries.iter().map(of).fold(0, u64::saturating_add);
    let (all, all_cpu) = (sum(|entry| entry.gpu_ns), sum(|entry| entry.board_cpu_ns));
    let count = sum(|entry| entry.count);
    let entries = slowest(entries);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["call", "count", "GPU time", "share", "board's CPU"]);
    let parts: Vec<u64> = entries.iter().map(|entry| entry.gpu_ns).collect();
    let shares = shares(&parts).unwrap_or_default();
    for (at, entry) in entries.iter().enumerate() {
        let (gpu, share) = match entry.gpu_ns {
            0 => ("-".into(), "-".into()),
            some => (time(some), share::percent(shares[at])),
        };
        let cpu = match entry.board_cpu_ns {
            0 => "-".into(),
            some => time(some),
        };
        table.add_row([entry.name.clone(), entry.count.to_string(), gpu, share, cpu]);
    }
    table.add_row([
        "all".into(),
        count.to_string(),
        time(all),
        percent(all, all),
        time(all_cpu),
    ]);
    right_align(&mut table);
    table.trim_fmt() + "\n"
}

/// Most calls of a frame that are shown.
const FRAME_CALLS: usize = 5;

fn drawn(frames: &Frames, is_one_of_many: bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut row = |name: &str, value: String| {
        table.add_row([name.to_owned(), value]);
    };
    let whose = match is_one_of_many {
        true => format!("frames of thread {}", frames.thread),
        false => "frames".into(),
    };
    let times = &frames.time;
    row(&whose, frames.count.to_string());
    row("  mean time", time(times.mean_ns));
    row("  half within", time(times.p50_ns));
    row("  95 % within", time(times.p95_ns));
    row("  longest", time(times.max_ns));
    for (name, sum) in [
        ("  calls a frame", frames.calls),
        ("  requests a frame", frames.forwards),
        (
            "  bytes sent a frame, with arguments",
            frames.bytes_to_board,
        ),
        (
            "  bytes brought a frame, with results",
            frames.bytes_from_board,
        ),
    ] {
        row(name, format!("{:.1}", frames.each(sum)));
    }
    for call in frames.slowest.iter().take(FRAME_CALLS) {
        let sum = call.cpu_ns.saturating_add(call.gpu_ns);
        let name = format!("  in {}", call.name);
        row(&name, time(frames.each(sum) as u64));
    }
    right_align(&mut table);
    table.trim_fmt() + "\n"
}

fn processors(jobs: &Jobs) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let has_clock = jobs.processors.iter().any(|it| !it.rates.is_empty());
    let mut header = vec![
        "processor",
        "jobs",
        "execution",
        "utilisation",
        "a job's execution",
        "waiting",
        "response",
    ];
    header.extend(has_clock.then_some("clock"));
    table.set_header(header);
    for processor in &jobs.processors {
        let each = |sum_ns| time(processor.each_ns(sum_ns));
        let mut row = vec![
            jobs.title(processor),
            processor.jobs.to_string(),
            time(processor.execution_ns),
            percent(processor.execution_ns, jobs.span_ns()),
            each(processor.execution_ns),
            each(processor.waiting_ns),
            each(processor.response_ns),
        ];
        row.extend(has_clock.then(|| clock(&processor.rates)));
        table.add_row(row);
    }
    right_align(&mut table);
    table.trim_fmt() + "\n"
}

/// The rates of a processor's clock, from the lowest to the highest.
fn clock(rates: &[Rate]) -> String {
    let mhz = |rate: &Rate| rate.hz / 1_000_000;
    match rates {
        [] => String::new(),
        [only] => format!("{} MHz", mhz(only)),
        [first, .., last] => format!("{} to {} MHz", mhz(first), mhz(last)),
    }
}

fn times(report: &Report, run: &SeenRun) -> String {
    let (simulated, wall) = (&report.simulated, &report.wall);
    let parts = [
        ("  simulator", wall.simulator_ns),
        ("  bridge", wall.bridge_ns),
        ("  board", wall.board_ns),
        ("  transport", wall.transport_ns),
    ];
    let sum = parts
        .iter()
        .map(|(_, part)| *part)
        .fold(0, u64::saturating_add);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut row = |name: &str, value: u64, of: Option<u64>| {
        let share = of.map_or(String::new(), |all| percent(value, all));
        table.add_row([name.to_owned(), time(value), share]);
    };
    row("simulated time", simulated.program_ns, None);
    row("  on the GPU", simulated.gpu_ns, None);
    row("  on the board's CPU", simulated.board_cpu_ns, None);
    if simulated.has_other_cpu() {
        row("  that on the target's CPU", simulated.target_cpu_ns, None);
    }
    if let Some(guest) = &report.guest {
        let all = Some(simulated.program_ns);
        row("  predicted from instructions", guest.predicted_ns, all);
    }
    row("wall time", wall.total_ns, None);
    for (name, part) in parts {
        row(name, part, Some(wall.total_ns));
    }
    row("  sum", sum, Some(wall.total_ns));
    if let Some(first_call) = run.first_call_ns {
        row("start to first call", first_call, None);
    }
    row("start to end", run.simulation_ns, None);
    right_align(&mut table);
    let late = match report.totals.late_deliveries {
        0 => String::new(),
        late => format!("{late} outputs arrived late: when the guest had passed their end\n"),
    };
    table.trim_fmt() + "\n" + &late
}

fn right_align(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// Entry points from those that took most time on devices, and then on the board's CPU.
pub fn slowest(entries: &[Entry]) -> Vec<&Entry> {
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.gpu_ns, entry.board_cpu_ns, entry.count)));
    entries
}

/// A time: up to six digits and a unit.
pub fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    format!("{value:.3} {unit}")
}

/// A number of bytes, the same way.
pub fn bytes(count: u64) -> String {
    let (value, unit) = match count {
        0..1_000 => return format!("{count} B"),
        1_000..1_000_000 => (count as f64 / 1e3, "kB"),
        1_000_000..1_000_000_000 => (count as f64 / 1e6, "MB"),
        _ => (count as f64 / 1e9, "GB"),
    };
    format!("{value:.3} {unit}")
}

/// A share of all, in percent.
pub fn percent(part: u64, all: u64) -> String {
    match all {
        0 => "-".into(),
        all => format!("{:.1} %", part as f64 * 100.0 / all as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mirrored;

    fn report() -> Report {
        let entry = |name: &str, count, gpu_ns| Entry {
            name: name.into(),
            count,
            gpu_ns,
            ..Entry::default()
        };
        let mut report = Report {
            entries: vec![
                entry("clFinish", 3, 0),
                Entry {
                    board_cpu_ns: 10_200_000_000,
                    ..entry("clBuildProgram", 1, 0)
                },
                entry("clEnqueueNDRangeKernel", 300, 3_000_000),
            ],
            ..Report::default()
        };
        report.simulated.board_cpu_ns = 10_200_000_000;
        report.wall.total_ns = 2_000_000_000;
        report.wall.simulator_ns = 1_500_000_000;
        report.wall.bridge_ns = 20_000_000;
        report.wall.board_ns = 440_000_000;
        report.wall.transport_ns = 20_000_000;
        report
    }

    #[test]
    fn the_table_has_counts_times_and_shares() {
        let text = table(&report(), &SeenRun::default());
        let line = |name: &str| {
            let found = text
                .lines()
                .find(|line| line.trim_start().starts_with(name));
            let words: Vec<_> = found.unwrap_or_default().split_whitespace().collect();
            words.join(" ")
        };
        assert_eq!(
            line("clEnqueueNDRangeKernel"),
            "clEnqueueNDRangeKernel 300 3.000 ms 100.0 % -"
        );
        assert_eq!(line("clBuildProgram"), "clBuildProgram 1 - - 10.200 s");
        assert_eq!(line("clFinish"), "clFinish 3 - - -");
        assert_eq!(line("all"), "all 304 3.000 ms 100.0 % 10.200 s");
        assert_eq!(line("on the board's CPU"), "on the board's CPU 10.200 s");
        assert_eq!(line("bridge"), "bridge 20.000 ms 1.0 %");
        assert_eq!(line("transport"), "transport 20.000 ms 1.0 %");
        assert_eq!(line("sum"), "sum 1.980 s 99.0 %");
        assert_eq!(line("predicted"), "");
    }

    #[test]
    fn another_cpus_time_is_beside_the_boards() {
        let on_the_target = |ns| {
            let mut report = report();
            report.simulated.target_cpu_ns = ns;
            let text = table(&report, &SeenRun::default());
            let line = text.lines().find(|line| line.contains("target's CPU"));
            line.map(|line| line.trim().to_owned())
        };
        assert_eq!(on_the_target(0), None, "a report of an earlier release");
        assert_eq!(on_the_target(10_200_000_000), None);
        let line = on_the_target(25_500_000_000).unwrap();
        assert!(line.ends_with("25.500 s"), "{line}");
    }

    #[test]
    fn frames_stand_between_calls_and_times() {
        let mut report = report();
        assert!(!table(&report, &SeenRun::default()).contains("frame"));
        let swap = crate::FrameCall {
            name: "eglSwapBuffers".into(),
            calls: 4,
            cpu_ns: 40_000,
            gpu_ns: 8_000_000,
            longest_ns: 2_500_000,
        };
        report.frames = vec![Frames {
            count: 4,
            time: crate::FrameTime {
                mean_ns: 2_500_000,
                ..crate::FrameTime::default()
            },
            calls: 42,
            slowest: vec![swap],
            ..Frames::default()
        }];
        let text = table(&report, &SeenRun::default());
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<_> = text.lines().map(words).collect();
        for wanted in [
            "frames 4",
            "mean time 2.500 ms",
            "calls a frame 10.5",
            "in eglSwapBuffers 2.010 ms",
        ] {
            assert!(lines.iter().any(|line| line == wanted), "{text}");
        }
    }

    #[test]
    fn a_drivers_calls_and_buffers_have_a_section() {
        let mut report = Report::default();
        assert!(!table(&report, &SeenRun::default()).contains("driver"));
        report.wall.total_ns = 1_000_000_000;
        report.mirrored = Mirrored {
            ioctls: 200,
            round_trips: 10,
            compared_bytes: 4_096_000,
            bytes_to_board: 64,
            bytes_from_board: 2_000_000_000,
            compare_ns: 30_000_000,
            board_compare_ns: 20_000_000,
        };
        let text = table(&report, &SeenRun::default());
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let begin = lines
            .iter()
            .position(|line| line.contains("driver"))
            .unwrap();
        let expected = [
            " ioctls of the driver          200",
            "   waited for the board         10  5.0 %",
            " buffers compared         4.096 MB",
            "   sent to the board          64 B",
            "   brought from it        2.000 GB",
            "   wall time for it      50.000 ms  5.0 %",
        ];
        assert_eq!(lines[begin..begin + 6], expected);
        report.mirrored.ioctls = 0;
        let text = table(&report, &SeenRun::default());
        let line = |name| text.lines().find(|line| line.contains(name)).unwrap();
        let words = |name| line(name).split_whitespace().collect::<Vec<_>>();
        assert_eq!(words("ioctls"), ["ioctls", "of", "the", "driver", "-"]);
        assert_eq!(
            words("waited"),
            ["waited", "for", "the", "board", "10", "-"]
        );
    }

    #[test]
    fn processors_have_a_section_if_a_driver_started_jobs() {
        let mut report = report();
        assert!(!table(&report, &SeenRun::default()).contains("processor"));
        let pixel = crate::Processor {
            driver: "lima".into(),
            name: "pixel".into(),
            jobs: 4,
            execution_ns: 8_000_000,
            waiting_ns: 2_000_000,
            response_ns: 10_000_000,
            ..crate::Processor::default()
        };
        let other = crate::Processor {
            device: 1,
            ..pixel.clone()
        };
        report.jobs = Some(Jobs {
            begin_ns: 1_000_000,
            end_ns: 11_000_000,
            processors: vec![pixel],
            ..Jobs::default()
        });
        let text = table(&report, &SeenRun::default());
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<_> = text.lines().map(words).collect();
        let wanted = "lima, pixel 4 8.000 ms 80.0 % 2.000 ms 500.000 us 2.500 ms";
        assert!(lines.iter().any(|line| line == wanted), "{text}");
        report.jobs.as_mut().unwrap().processors.push(other);
        let text = table(&report, &SeenRun::default());
        assert!(text.contains("lima, pixel of device 1"), "{text}");
        assert!(!text.contains("clock"), "{text}");
    }

    #[test]
    fn processors_have_the_rates_of_a_clock_that_the_guest_sets() {
        let rate = |mhz: u64| Rate {
            hz: mhz * 1_000_000,
            ..Rate::default()
        };
        let processor = |rates| crate::Processor {
            rates,
            ..crate::Processor::default()
        };
        let mut report = report();
        let some = [
            vec![],
            vec![rate(440)],
            vec![rate(160), rate(267), rate(350)],
        ];
        report.jobs = Some(Jobs {
            processors: some.map(processor).into(),
            ..Jobs::default()
        });
        let text = table(&report, &SeenRun::default());
        let lines: Vec<_> = text.lines().map(str::trim_end).collect();
        for end in ["response     clock", "440 MHz", "160 to 350 MHz"] {
            let is_it = |line: &&str| {
                let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                words(line).ends_with(&words(end))
            };
            assert!(lines.iter().any(is_it), "{text}");
        }
    }

    #[test]
    fn what_counting_predicted_stands_beside_what_was_simulated() {
        let mut report = report();
        report.simulated.program_ns = 1_000_000;
        report.guest = Some(crate::Guest {
            predicted_ns: 998_000,
            ..crate::Guest::default()
        });
        let text = table(&report, &SeenRun::default());
        let mut lines = text.lines().filter(|line| line.contains("predicted"));
        let words = lines.next().map(|line| line.split_whitespace());
        let words: Vec<_> = words.into_iter().flatten().collect();
        let wanted = "predicted from instructions 998.000 us 99.8 %";
        assert_eq!(words.join(" "), wanted);
    }
}
