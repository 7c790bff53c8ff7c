//! Figures as a table.

use crate::line::{Judged, Line, Must};
use comfy_table::{CellAlignment, Table, presets};

const HEAD: [&str; 7] = [
    "bench", "case", "figure", "against", "baseline", "judged", "must",
];
/// A figure of which less was measured than has to be subtracted.
const NONE: &str = "cannot be had";
/// Columns of numbers.
const NUMBERS: [usize; 3] = [2, 4, 5];

/// For a terminal.
pub fn plain(lines: &[Line]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(HEAD);
    for line in lines {
        table.add_row(cells(line));
    }
    for number in NUMBERS {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// For a page, without the benchmark's name.
pub fn markdown(lines: &[&Line]) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = HEAD[1..].iter().map(|&name| name.to_owned()).collect();
    let mut text = row(head) + "|---|---|---|---|---|---|\n";
    for line in lines {
        text += &row(cells(line)[1..].to_vec());
    }
    text
}

fn cells(line: &Line) -> Vec<String> {
    let number = |value: f64| match value.is_finite() {
        true => format!("{value} {}", line.unit),
        false => NONE.into(),
    };
    let case = match line.threads {
        Some(1) => format!("{}, 1 thread", line.case),
        Some(threads) => format!("{}, {threads} threads", line.case),
        None => line.case.clone(),
    };
    let has_baseline = !line.against.is_empty();
    let baseline = if has_baseline {
        number(line.baseline)
    } else {
        String::new()
    };
    let judged = match line.judged {
        _ if line.is_below_noise() => "below noise".into(),
        _ if !line.value.is_finite() => NONE.into(),
        Judged::Ratio => format!("{:.1} %", line.value * 100.0),
        Judged::Difference | Judged::Itself => number(line.value),
    };
    vec![
        line.bench.clone(),
        case,
        number(line.figure),
        line.against.clone(),
        baseline,
        judged,
        verdict(line),
    ]
}

fn verdict(line: &Line) -> String {
    let Some(must) = line.must else {
        return String::new();
    };
    let verdict = match line.held {
        Some(true) => "held",
        Some(false) => "**not held**",
        None => "not judged",
    };
    format!("{}: {verdict}", required(must, line))
}

/// What is required, in the words of the column beside it.
fn required(must: Must, line: &Line) -> String {
    let number = |number: f64| match line.judged {
        Judged::Ratio => format!("{} %", (number * 1000.0).round() / 10.0),
        Judged::Difference | Judged::Itself => format!("{number} {}", line.unit),
    };
    match must {
        Must::AtMost(most) => format!("≤ {}", number(most)),
        Must::AtLeast(least) => format!("≥ {}", number(least)),
    }
}

/// A size as people write it.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Measured;

    #[test]
    fn rows_say_what_is_held() {
        let line = Measured::new("diff", "4 KiB", "GB/s", 5.0).over("memcmp", 10.0);
        let line = line.must(Must::AtLeast(0.9)).threads(2);
        let line = line.at(&Default::default(), "2026-01-01");
        let text = markdown(&[&line]);
        assert!(text.ends_with(
            "| 4 KiB, 2 threads | 5 GB/s | memcmp | 10 GB/s | 50.0 % | ≥ 90 %: **not held** |\n"
        ));
    }

    #[test]
    fn what_cannot_be_had_is_said_so() {
        let line = Measured::new("region", "1 MiB", "GB/s", f64::NAN).over("memcpy", 10.0);
        let line = line.must(Must::AtLeast(0.8));
        let text = markdown(&[&line.at(&Default::default(), "2026-01-01")]);
        let row =
            "| 1 MiB | cannot be had | memcpy | 10 GB/s | cannot be had | ≥ 80 %: **not held** |\n";
        assert!(text.ends_with(row), "{text}");
    }

    #[test]
    fn a_difference_below_noise_is_said_so() {
        let line = Measured::new("call", "median", "us", 10.0).above("ping-pong", 20.0);
        let line = line.must(Must::AtMost(8.0));
        let text = markdown(&[&line.at(&Default::default(), "2026-01-01")]);
        let row = "| median | 10 us | ping-pong | 20 us | below noise | ≤ 8 us: not judged |\n";
        assert!(text.ends_with(row), "{text}");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(64), "64 B");
        assert_eq!(size(4096), "4 KiB");
        assert_eq!(size(256 << 20), "256 MiB");
        assert_eq!(size(1 << 30), "1 GiB");
    }
}
