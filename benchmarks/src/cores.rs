//! How times follow the number of a GPU's cores: programs measured on a part of it.
//!
//! With `n` cores an operation takes `serial + spread / n`. Least squares find both over some
//! of the numbers of cores, each equation divided by its time; the times with the others say
//! how good the law is. The part of the whole device's time that is spread is the `parallel`
//! of a board's profile.

use crate::accuracy::Errors;
use crate::error::BenchError;
use comfy_table::{CellAlignment, Table, presets};
use linregress::fit_low_level_regression_model;
use std::collections::BTreeMap;
use std::time::Duration;

/// Serial and spread.
const UNKNOWNS: usize = 2;

/// A program's times by the number of cores.
#[derive(Clone, Debug)]
pub struct Spread {
    /// Its name.
    pub name: String,
    /// The part of its time on the whole device that is spread over the cores: from 0 to 1.
    pub parallel: f64,
    /// For each number of cores, in their order from the greatest.
    pub times: Vec<Timed>,
}

/// A program's time with a number of cores.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// The cores.
    pub cores: u32,
    /// By the device's timers: the median.
    pub measured: Duration,
    /// By the law.
    pub model: Duration,
    /// Whether the law was fitted to it.
    pub is_fitted: bool,
}

impl Timed {
    /// By which part of the measured time the model is off.
    pub fn error(&self) -> f64 {
        self.model.as_secs_f64() / self.measured.as_secs_f64().max(f64::MIN_POSITIVE) - 1.0
    }
}

/// All programs.
#[derive(Clone, Debug)]
pub struct Cores {
    /// The greatest number of cores.
    pub most: u32,
    /// The programs.
    pub programs: Vec<Spread>,
}

/// A program's times by name, for a number of cores.
pub type Run = (u32, Vec<(String, Duration)>);

/// The law over these runs, fitted to the numbers of cores that `fitted` has.
///
/// # Errors
/// [`BenchError::Fit`] if there are too few, or times that no such law has.
pub fn spread(mut runs: Vec<Run>, fitted: &[u32]) -> Result<Cores, BenchError> {
    let failed = |what: String| Err(BenchError::Fit { what });
    runs.sort_by_key(|(cores, _)| std::cmp::Reverse(*cores));
    runs.dedup_by_key(|(cores, _)| *cores);
    let numbers: Vec<u32> = runs.iter().map(|(cores, _)| *cores).collect();
    if let Some(other) = fitted.iter().find(|cores| !numbers.contains(cores)) {
        return failed(format!("there are no times for {other} cores"));
    }
    let (Some(most), true) = (numbers.first().copied(), fitted.len() >= UNKNOWNS) else {
        return failed("it takes two numbers of cores at least".into());
    };
    let mut by_name: BTreeMap<String, Vec<(u32, Duration)>> = BTreeMap::new();
    for (cores, programs) in runs {
        for (name, time) in programs {
            by_name.entry(name).or_default().push((cores, time));
        }
    }
    let mut programs = Vec::new();
    for (name, times) in by_name {
        if times.len() != numbers.len() {
            return failed(format!("{name} was not run with each number of cores"));
        }
        programs.push(law(name, &times, most, fitted)?);
    }
    Ok(Cores { most, programs })
}

fn law(
    name: String,
    times: &[(u32, Duration)],
    most: u32,
    fitted: &[u32],
) -> Result<Spread, BenchError> {
    let own = times.iter().filter(|(cores, _)| fitted.contains(cores));
    let rows = own.flat_map(|(cores, time)| {
        let ns = time.as_nanos() as f64;
        [1.0, 1.0 / ns, 1.0 / (ns * f64::from(*cores))]
    });
    let rows: Vec<f64> = rows.collect();
    let none = || BenchError::Fit {
        what: format!("{name} took no time, or the same with few cores as with many"),
    };
    if rows.iter().any(|number| !number.is_finite()) {
        return Err(none());
    }
    let (serial, spread) = solved(&rows).ok_or_else(none)?;
    let at = |cores: u32| serial + spread / f64::from(cores);
    let whole = at(most);
    let parallel = (spread / f64::from(most) / whole).clamp(0.0, 1.0);
    let modelled = |cores: u32| {
        let part = 1.0 - parallel + parallel * f64::from(most) / f64::from(cores);
        Duration::from_nanos((whole * part).round() as u64)
    };
    let times = times.iter().map(|(cores, measured)| Timed {
        cores: *cores,
        measured: *measured,
        model: modelled(*cores),
        is_fitted: fitted.contains(cores),
    });
    let times = times.collect();
    Ok(Spread {
        name,
        parallel,
        times,
    })
}

/// Serial and spread: exactly from two rows, by least squares from more.
fn solved(rows: &[f64]) -> Option<(f64, f64)> {
    let width = UNKNOWNS + 1;
    let count = rows.len() / width;
    let found = match count {
        UNKNOWNS => {
            let [one, s1, p1, _, s2, p2] = rows else {
                return None;
            };
            let determinant = s1 * p2 - s2 * p1;
            let spread = one * (s1 - s2) / determinant;
            ((one - p1 * spread) / s1, spread)
        }
        _ => {
            let model = fit_low_level_regression_model(rows, count, width).ok()?;
            match model.parameters() {
                [serial, spread] => (*serial, *spread),
                _ => return None,
            }
        }
    };
    (found.0.is_finite() && found.1.is_finite() && found.0 + found.1 > 0.0).then_some(found)
}

impl Cores {
    /// Errors of the law where it was fitted, or where not.
    pub fn errors(&self, is_fitted: bool) -> Errors {
        let times = self.programs.iter().flat_map(|program| &program.times);
        let own = times.filter(|timed| timed.is_fitted == is_fitted);
        Errors::of(own.map(Timed::error))
    }

    /// The median of the programs' parallel parts.
    pub fn parallel(&self) -> f64 {
        let mut all: Vec<f64> = self.programs.iter().map(|it| it.parallel).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or_default()
    }

    /// As a table for people.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        let numbers = self.programs.first().into_iter().flat_map(|it| &it.times);
        let numbers: Vec<Timed> = numbers.copied().collect();
        let head = numbers.iter().map(|timed| match timed.is_fitted {
            true => format!("{} cores, fitted", timed.cores),
            false => format!("{} cores", timed.cores),
        });
        let first = ["program".into(), "parallel".into()];
        table.set_header(first.into_iter().chain(head));
        for program in &self.programs {
            let cells = program.times.iter().map(|timed| {
                let ms = timed.measured.as_secs_f64() * 1e3;
                format!("{ms:.3} ms {:+.1} %", timed.error() * 100.0)
            });
            let first = [program.name.clone(), format!("{:.3}", program.parallel)];
            table.add_row(first.into_iter().chain(cells));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let errors = self.errors(false);
        format!(
            "{}\n{} times left out of the fit: mean error of the model {:.1} %, worst {:.1} %\n",
            table.trim_fmt(),
            errors.programs,
            errors.mean * 100.0,
            errors.most * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cores: u32) -> Run {
        let of =
            |serial: u64, spread: u64| Duration::from_nanos(serial + spread / u64::from(cores));
        let times = vec![
            ("even".into(), of(0, 8_000_000)),
            ("half".into(), of(1_000_000, 16_000_000)),
            ("alone".into(), of(500_000, 0)),
        ];
        (cores, times)
    }

    #[test]
    fn the_parallel_part_is_found_and_the_rest_is_predicted() {
        for fitted in [&[16, 4][..], &[16, 8, 1]] {
            let runs = [1, 2, 4, 8, 16].map(run).to_vec();
            let cores = spread(runs, fitted).unwrap();
            let parallel: Vec<_> = cores.programs.iter().map(|it| it.parallel).collect();
            for (found, truth) in parallel.iter().zip([0.0, 1.0, 0.5]) {
                assert!((found - truth).abs() < 1e-6, "{parallel:?}");
            }
            assert!(cores.errors(false).most < 1e-6, "{cores:?}");
            assert_eq!(cores.errors(false).programs, 3 * (5 - fitted.len()));
            assert!((cores.parallel() - 0.5).abs() < 1e-6);
        }
    }

    #[test]
    fn what_has_no_law_is_refused() {
        assert!(spread(vec![run(1)], &[1]).is_err());
        assert!(spread(vec![run(1), run(2)], &[1, 4]).is_err());
        let mut other = run(2);
        other.1.pop();
        assert!(spread(vec![run(1), other], &[1, 2]).is_err());
        let mut none = run(2);
        none.1[0].1 = Duration::ZERO;
        assert!(spread(vec![run(1), none], &[1, 2]).is_err());
    }
}
