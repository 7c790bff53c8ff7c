//! How far simulated times are from those on the board itself, program by program.

mod plot;

pub use plot::accuracy_plot;

use crate::error::BenchError;
use crate::fit::{self, Fit, Point, Unknown};

use comfy_table::{CellAlignment, Table, presets};
use std::time::Duration;

/// One program's times: the mean of the middle half of its repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Whether the fit is over it; else it is left out.
    pub is_fitted: bool,
    /// On the board itself.
    pub native: Duration,
    /// In the guest, without a profile.
    pub before: Duration,
    /// In the guest, with what was fitted.
    pub after: Duration,
    /// Its error by the fit over all other fitted programs, if it is fitted.
    pub crossed: Option<f64>,
    /// By which part its native time behind the guest's runs is off the one before them, if both
    /// were measured: what no profile can foresee.
    pub repeated: Option<f64>,
    /// The repetitions differ so much that something else was at work: on the board itself,
    /// or in the guest.
    pub is_disturbed: bool,
}

/// Mean and greatest of errors without their signs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Their mean.
    pub mean: f64,
    /// The greatest.
    pub most: f64,
    /// How many they are.
    pub programs: usize,
}

impl Errors {
    /// Of these errors.
    pub fn of(errors: impl Iterator<Item = f64>) -> Self {
        let all: Vec<f64> = errors.map(f64::abs).collect();
        let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
        Self {
            mean,
            most: all.iter().copied().fold(0.0, f64::max),
            programs: all.len(),
        }
    }
}

impl Row {
    /// By which part of the native time the time before is off.
    pub fn error_before(&self) -> f64 {
        part(self.before, self.native)
    }

    /// The same of the time after.
    pub fn error_after(&self) -> f64 {
        part(self.after, self.native)
    }
}

/// By which part of the second the first is off; no number for a second of none.
pub fn part(time: Duration, of: Duration) -> f64 {
    match of.is_zero() {
        true => f64::NAN,
        false => time.as_secs_f64() / of.as_secs_f64() - 1.0,
    }
}

/// All programs, and what was fitted over some of them.
#[derive(Clone, Debug)]
pub struct Accuracy {
    /// The programs.
    pub rows: Vec<Row>,
    /// Over those that are fitted.
    pub fit: Fit,
}

impl Accuracy {
    /// Errors before and after, of the programs that the fit is over or of those left out.
    pub fn errors(&self, is_fitted: bool) -> [Errors; 2] {
        let own = || self.rows.iter().filter(|row| row.is_fitted == is_fitted);
        [
            Errors::of(own().map(Row::error_before)),
            Errors::of(own().map(Row::error_after)),
        ]
    }

    /// How far the left-out programs' native times behind the guest's runs are off those before
    /// them; none where they were not measured twice.
    pub fn repeated(&self) -> Option<Errors> {
        let own = self.rows.iter().filter(|row| !row.is_fitted);
        let errors = Errors::of(own.filter_map(|row| row.repeated));
        (errors.programs > 0).then_some(errors)
    }

    /// As a table for people, with what the fit is.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header([
            "program",
            "natively",
            "before",
            "error",
            "after",
            "error",
            "left one out",
            "",
        ]);
        for row in &self.rows {
            let mark = match (row.is_fitted, row.is_disturbed) {
                (true, false) => "fitted",
                (true, true) => "fitted, disturbed",
                (false, false) => "",
                (false, true) => "disturbed",
            };
            table.add_row([
                row.name.clone(),
                time(row.native),
                time(row.before),
                percent(row.error_before()),
                time(row.after),
                percent(row.error_after()),
                row.crossed.map(percent).unwrap_or_default(),
                mark.into(),
            ]);
        }
        for column in table.column_iter_mut().skip(1).take(6) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let mut text = format!("{}\n", table.trim_fmt());
        for (is_fitted, which) in [(true, "fitted"), (false, "left out")] {
            let [before, after] = self.errors(is_fitted);
            text += &format!(
                "{} programs {which}: mean error {:.1} % before and {:.1} % after, worst {:.1} % and {:.1} %\n",
                before.programs,
                before.mean * 100.0,
                after.mean * 100.0,
                before.most * 100.0,
                after.most * 100.0,
            );
        }
        if let Some(repeated) = self.repeated() {
            text += &format!(
                "natively, the times of those left out differ behind the guest's runs from those before them by up to {:.1} %, by {:.1} % in the mean: no profile foresees that\n",
                repeated.most * 100.0,
                repeated.mean * 100.0,
            );
        }
        let [before, after] = self.errors(false);
        if after.mean > before.mean {
            text += "with the profile the programs left out are further off than without it: calibrate again on a quiet machine, or leave this API's [calls] and [copies] out\n";
        }
        let disturbed = self.rows.iter().filter(|row| row.is_disturbed).count();
        if disturbed > 0 {
            text += &format!(
                "{disturbed} programs were disturbed, whose times differ by over a tenth from one repetition to the next: leave this machine to the measurement\n"
            );
        }
        let Fit {
            unknown,
            scale,
            offset,
        } = &self.fit;
        text += match unknown {
            Unknown::Nothing => {
                return text
                    + "no scale and no offset surely predict a program better from the others than none do, so neither is used\n";
            }
            Unknown::Scale => "no offset surely predicts a program better from the others: ",
            Unknown::Both => "",
        };
        text += &format!(
            "least squares, with 95 % confidence: scale {:.4} ± {:.4}, offset {:.0} ± {:.0} ns an operation\n",
            scale.value, scale.within, offset.value, offset.within
        );
        text
    }
}

/// Fits over the points of the programs that are fitted, and adds to these rows how each
/// would be without itself.
///
/// # Errors
/// [`BenchError::Fit`].
pub fn fitted(rows: &mut [Row], points: &[Point]) -> Result<Fit, BenchError> {
    let own = rows.iter().zip(points).filter(|(row, _)| row.is_fitted);
    let own: Vec<Point> = own.map(|(_, point)| *point).collect();
    let fit = fit::fit(&own)?;
    let crossed = fit::crossed(&own, fit.unknown).unwrap_or_default();
    let rows = rows.iter_mut().filter(|row| row.is_fitted);
    for (row, error) in rows.zip(crossed) {
        row.crossed = Some(error);
    }
    Ok(fit)
}

fn percent(part: f64) -> String {
    format!("{:+.1} %", part * 100.0)
}

fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.3} s"),
        seconds if seconds >= 1e-3 => format!("{:.3} ms", seconds * 1e3),
        seconds => format!("{:.1} us", seconds * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Estimate;

    fn row(name: &str, is_fitted: bool, after: u64) -> Row {
        Row {
            name: name.into(),
            is_fitted,
            native: Duration::from_micros(1000),
            before: Duration::from_micros(400),
            after: Duration::from_micros(after),
            crossed: is_fitted.then_some(0.02),
            repeated: Some(if name == "b" { -0.09 } else { 0.01 }),
            is_disturbed: after == 1100,
        }
    }

    #[test]
    fn errors_are_of_those_fitted_and_of_those_left_out() {
        let estimate = Estimate {
            value: 1.0,
            within: 0.25,
        };
        let accuracy = Accuracy {
            rows: vec![
                row("a", true, 1010),
                row("b", false, 1100),
                row("c", false, 980),
            ],
            fit: Fit {
                unknown: Unknown::Both,
                scale: estimate,
                offset: estimate,
            },
        };
        let [before, after] = accuracy.errors(false);
        assert!((before.mean - 0.6).abs() < 1e-9 && before.programs == 2);
        assert!((after.mean - 0.06).abs() < 1e-9 && (after.most - 0.1).abs() < 1e-9);
        let text = accuracy.table();
        assert!(
            text.contains("2 programs left out: mean error 60.0 % before and 6.0 % after, worst 60.0 % and 10.0 %"),
            "{text}"
        );
        assert!(
            text.contains("from those before them by up to 9.0 %, by 5.0 % in the mean"),
            "{text}"
        );
        assert!(
            text.lines().any(|line| line.ends_with("disturbed")),
            "{text}"
        );
        assert!(
            text.contains("+10.0 %") && text.contains("-2.0 %"),
            "{text}"
        );
    }

    #[test]
    fn no_programs_have_no_error() {
        assert_eq!(Errors::of([].into_iter()), Errors::default());
    }
}
