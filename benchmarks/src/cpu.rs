//! How many times as long the target's CPU takes as the board's for what drivers and compilers
//! do: a program runs eight pieces of such work on both.
//!
//! The ratio is the geometric mean of the eight ratios of medians, so that none counts more
//! than another, and twice as fast weighs as much as twice as slow; its interval is of
//! Student's distribution over their logarithms. How well one number says it is what each
//! piece's time is off by the ratio of the others (leave-one-out).

use crate::accuracy::Errors;
use crate::c_program;
use crate::error::BenchError;
use crate::fit::Estimate;
use crate::sampling::Times;
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SOURCE: &str = "benchmarks/programs/cpu.c";
/// How sure the interval is: 95 %, half of the rest on each side.
const UPPER: f64 = 0.975;
/// What the table's columns are.
const HEAD: &str = "board, target: medians of the work's time on each CPU; ratio: the target's time over the board's;\nof the others: the geometric mean of the other works' ratios, and by how much it misses this work's";
/// So many times the least ratio, the greatest one is far from it.
const FAR: f64 = 3.0;
/// Fewest pieces of work.
const WORKS_MIN: usize = 3;

/// What to measure.
#[derive(Clone, Debug, Args)]
pub struct CpuArgs {
    /// How many times to run each piece of work.
    #[arg(long, value_name = "NUMBER", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub times: u32,
    /// Use what the program benchmarks/programs/cpu.c wrote on another board, instead of
    /// running it here.
    #[arg(long, value_name = "FILE")]
    pub native: Option<PathBuf>,
    /// Use what the program wrote on the target itself, instead of running it in the guest.
    #[arg(long, value_name = "FILE", conflicts_with = "options")]
    pub target: Option<PathBuf>,
    /// Options of `gil run` for the guest, such as --sim; may be repeated.
    #[arg(long = "run-option", value_name = "OPTION", allow_hyphen_values = true)]
    pub options: Vec<String>,
}

/// A piece of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Its name.
    pub name: String,
    /// Median on the board's CPU.
    pub board: Duration,
    /// Median on the target's.
    pub target: Duration,
    /// The ratio that the others have, which were all but this one.
    pub others: f64,
}

impl Work {
    fn ratio(&self) -> f64 {
        self.target.as_secs_f64() / self.board.as_secs_f64()
    }

    /// By which part of its time the others are off.
    fn error(&self) -> f64 {
        self.others / self.ratio() - 1.0
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuRatio {
    /// The target's time over the board's.
    pub ratio: Estimate,
    /// The pieces of work, by name.
    pub works: Vec<Work>,
}

/// Medians by the work's name.
type Medians = BTreeMap<String, Duration>;

/// Measures; `say` hears of the progress. Programs lie in `folder`.
///
/// # Errors
/// [`BenchError`] says what cannot be measured.
pub fn cpu(args: &CpuArgs, folder: &Path, say: &dyn Fn(&str)) -> Result<CpuRatio, BenchError> {
    // Files come first: a program takes its time.
    let from = |path: &PathBuf| medians(&c_program::written(path)?, path);
    let board = args.native.as_ref().map(from).transpose()?;
    let target = args.target.as_ref().map(from).transpose()?;
    let (board, target) = match (board, target) {
        (Some(board), Some(target)) => (board, target),
        (board, target) => {
            say("compiling the program");
            let built = c_program::build(SOURCE, folder, &[], &[])?;
            let times = args.times.to_string();
            let board = match board {
                Some(medians) => medians,
                None => {
                    say("working on this machine");
                    let text = c_program::said(Command::new(&built.native).arg(&times))?;
                    medians(&text, &built.native)?
                }
            };
            let target = match target {
                Some(medians) => medians,
                None => {
                    say("working in the guest");
                    let mut command = c_program::in_guest(&folder.join("report.json"))?;
                    command.args(&args.options).arg(&built.guest).arg(&times);
                    medians(&c_program::said(&mut command)?, &built.guest)?
                }
            };
            (board, target)
        }
    };
    compare(&board, &target)
}

/// What the program wrote.
fn medians(text: &str, path: &Path) -> Result<Medians, BenchError> {
    let wrong = |what: String| BenchError::File {
        path: path.into(),
        what: format!("it is not what {SOURCE} writes ({what}): give that program's output"),
    };
    let mut all: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        let found = line.split_once(' ');
        let time = found.and_then(|(name, ns)| Some((name, ns.parse::<u64>().ok()?)));
        let Some((name, ns)) = time.filter(|(_, ns)| *ns > 0) else {
            let number = at + 1;
            return Err(wrong(format!(
                "line {number} is {line:.80?}, and no name with nanoseconds"
            )));
        };
        let times = all.entry(name.into()).or_default();
        times.push(Duration::from_nanos(ns));
    }
    if all.len() < WORKS_MIN {
        let count = all.len();
        return Err(wrong(format!(
            "it has {count} pieces of work, and not {WORKS_MIN} or more"
        )));
    }
    let each = all.into_iter();
    Ok(each
        .map(|(name, times)| (name, Times::new(times).median()))
        .collect())
}

fn compare(board: &Medians, target: &Medians) -> Result<CpuRatio, BenchError> {
    if board.keys().ne(target.keys()) {
        let names = |of: &Medians| of.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(BenchError::Cpu {
            what: format!(
                "cpu.c did {} on the board and {} on the target, which must be the same: use the same cpu.c on both",
                names(board),
                names(target)
            ),
        });
    }
    let pairs = board.iter().zip(target.values());
    let logs: Vec<f64> = pairs
        .clone()
        .map(|((_, board), target)| (target.as_secs_f64() / board.as_secs_f64()).ln())
        .collect();
    let works = pairs.zip(&logs).map(|(((name, board), target), log)| {
        let others = (logs.iter().sum::<f64>() - log) / (logs.len() - 1) as f64;
        Work {
            name: name.clone(),
            board: *board,
            target: *target,
            others: others.exp(),
        }
    });
    Ok(CpuRatio {
        ratio: geometric(&logs)?,
        works: works.collect(),
    })
}

/// The mean of ratios with these logarithms.
fn geometric(logs: &[f64]) -> Result<Estimate, BenchError> {
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let student = StudentsT::new(0.0, 1.0, count - 1.0).map_err(|error| BenchError::Cpu {
        what: error.to_string(),
    })?;
    let value = mean.exp();
    Ok(Estimate {
        value,
        within: value * ((error * student.inverse_cdf(UPPER)).exp() - 1.0),
    })
}

impl CpuRatio {
    /// What the others say of each piece of work.
    pub fn errors(&self) -> Errors {
        Errors::of(self.works.iter().map(Work::error))
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["work", "board", "target", "ratio", "of the others"]);
        for work in &self.works {
            let us = |time: Duration| format!("{:.1} us", time.as_secs_f64() * 1e6);
            table.add_row([
                work.name.clone(),
                us(work.board),
                us(work.target),
                format!("{:.2}", work.ratio()),
                format!("{:.2} ({:+.1} %)", work.others, work.error() * 100.0),
            ]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let errors = self.errors();
        format!(
            "{HEAD}\n\n{}\n\nthe target's CPU takes {:.2} times as long as the board's (no more than {:.2}, with 95 % confidence); of the others: mean error {:.0} %, worst {:.0} %\n{}",
            table.trim_fmt(),
            self.ratio.value,
            self.ratio.value + self.ratio.within,
            errors.mean * 100.0,
            errors.most * 100.0,
            self.spread(),
        )
    }

    /// What it means that the ratios are far apart, if they are.
    fn spread(&self) -> String {
        let ratios = self.works.iter().map(Work::ratio);
        let least = ratios.clone().fold(f64::INFINITY, f64::min);
        let most = ratios.fold(0.0, f64::max);
        if most <= least * FAR {
            return String::new();
        }
        format!(
            "the ratios are from {least:.1} to {most:.1}, so that no one number is right for all work: a call may take {:.1} times as long on the target as it lasts in a run with this ratio, or 1/{:.1} of that; compare runs with a ratio of {least:.1} and of {most:.1} where that matters\n",
            most / self.ratio.value,
            self.ratio.value / least,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Medians, BenchError> {
        medians(text, Path::new("cpu.txt"))
    }

    #[test]
    fn the_ratio_is_the_geometric_mean_of_medians() {
        let board = of("copy 90\ncopy 100\ncopy 500\nhash 10\nsort 40\n").unwrap();
        let target = of("copy 200\nhash 80\nsort 160\n").unwrap();
        let found = compare(&board, &target).unwrap();
        assert!((found.ratio.value - 4.0).abs() < 1e-9, "{found:?}");
        // Logarithms are off by ln 2, 0 and ln 2: the standard error is 0.4, times 4.303.
        assert!((found.ratio.within / 4.0 - 4.595).abs() < 0.01, "{found:?}");
        let others: Vec<f64> = found.works.iter().map(|work| work.others).collect();
        let expected = [32f64.sqrt(), 8f64.sqrt(), 4.0];
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
        assert!(others.iter().zip(&expected).all(near), "{others:?}");
        let errors = found.errors();
        assert!((errors.most - 1.828).abs() < 0.01, "{errors:?}");
        let table = found.table();
        assert!(table.starts_with("board, target: medians"), "{table}");
        assert!(table.contains("4.00 times as long"), "{table}");
        let spread = "the ratios are from 2.0 to 8.0, so that no one number is right for all work: a call may take 2.0 times as long on the target as it lasts in a run with this ratio, or 1/2.0 of that";
        assert!(table.contains(spread), "{table}");
    }

    #[test]
    fn ratios_near_each_other_are_said_without_a_warning() {
        let board = of("copy 100\nhash 10\nsort 40\n").unwrap();
        let target = of("copy 200\nhash 40\nsort 120\n").unwrap();
        let table = compare(&board, &target).unwrap().table();
        assert!(!table.contains("ratios are from"), "{table}");
    }

    #[test]
    fn what_the_program_did_not_write_is_refused() {
        for text in [
            "",
            "copy",
            "copy x",
            "copy -1",
            "copy 0",
            "copy 1 2",
            "a 1\nb 1\n",
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains("cpu.txt"), "{error}");
        }
        let (one, other) = (of("a 1\nb 1\nc 1\n"), of("a 1\nb 1\nd 1\n"));
        assert!(compare(&one.unwrap(), &other.unwrap()).is_err());
    }
}
