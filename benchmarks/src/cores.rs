//! How times follow the number of a GPU's cores: programs measured on a part of it.
//!
//! A [law](Law) is found by least squares over some of the numbers of cores; the times with the others
//! say how good it is.

mod law;

pub use law::Device;

use crate::accuracy::Errors;
use crate::error::BenchError;
use comfy_table::{CellAlignment, Table, presets};
use law::Law;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Above this mean error a law is doubted.
const DOUBTFUL: f64 = 0.25;

/// A program's times by the number of cores.
#[derive(Clone, Debug)]
pub struct Spread {
    /// Its name.
    pub name: String,
    /// What is spread over the cores, as a part of its time on the whole device: from 0 to 1.
    pub spread: f64,
    /// The floor, as such a part: from 0 to 1. On a GPU the greater of both is 1.
    pub floor: f64,
    /// What the cores after the first cost, as such a part, on a CPU; the three are 1 together.
    pub threads: Option<f64>,
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
    /// What has them.
    pub device: Device,
    /// The greatest number of cores.
    pub most: u32,
    /// The programs.
    pub programs: Vec<Spread>,
}

/// Parts of an operation's time, as a board's profile has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// What is spread over the cores.
    pub gpu: f64,
    /// What is not.
    pub serial: f64,
    /// What the cores after the first cost, on a CPU.
    pub threads: Option<f64>,
}

/// A program's times by name, for a number of cores.
pub type Run = (u32, Vec<(String, Duration)>);

/// A number that is there more than once.
fn twice(numbers: &[u32]) -> Option<u32> {
    let mut seen = BTreeSet::new();
    let mut all = numbers.iter().copied();
    all.find(|number| !seen.insert(*number))
}

/// The law over these runs, fitted to the numbers of cores that `fitted` has.
///
/// # Errors
/// [`BenchError::Fit`] if there are too few, or times that no such law has.
pub fn spread(mut runs: Vec<Run>, fitted: &[u32], device: Device) -> Result<Cores, BenchError> {
    let failed = |what: String| Err(BenchError::Cores { what });
    runs.sort_by_key(|(cores, _)| std::cmp::Reverse(*cores));
    let numbers: Vec<u32> = runs.iter().map(|(cores, _)| *cores).collect();
    if let Some(twice) = twice(&numbers).or_else(|| twice(fitted)) {
        return failed(format!("{twice} is named twice"));
    }
    if let Some(other) = fitted.iter().find(|cores| !numbers.contains(cores)) {
        return failed(format!("there are no times for {other} cores"));
    }
    let least = device.unknowns();
    let (Some(most), true) = (numbers.first().copied(), fitted.len() >= least) else {
        let found = fitted.len();
        return failed(format!(
            "--fit has to name {least} numbers of cores at least, and names {found}"
        ));
    };
    let mut by_name: BTreeMap<String, Vec<(u32, Duration)>> = BTreeMap::new();
    for (cores, programs) in runs {
        for (name, time) in programs {
            by_name.entry(name).or_default().push((cores, time));
        }
    }
    if by_name.is_empty() {
        return failed("no program there gave the device work".into());
    }
    let mut programs = Vec::new();
    for (name, times) in by_name {
        if times.len() != numbers.len() {
            return failed(format!("{name} was not run with each number of cores"));
        }
        programs.push(law(name, &times, most, fitted, device)?);
    }
    Ok(Cores {
        device,
        most,
        programs,
    })
}

fn law(
    name: String,
    times: &[(u32, Duration)],
    most: u32,
    fitted: &[u32],
    device: Device,
) -> Result<Spread, BenchError> {
    let own = times.iter().filter(|(cores, _)| fitted.contains(cores));
    let own: Vec<(f64, f64)> = own
        .map(|(cores, time)| (f64::from(*cores), time.as_nanos() as f64))
        .collect();
    let is_measured = times.iter().all(|(_, time)| !time.is_zero());
    let law = is_measured.then(|| Law::over(&own, device)).flatten();
    let Some(law) = law else {
        return Err(BenchError::Cores {
            what: format!("{name} took no time, or times that no law has"),
        });
    };
    let whole = law.at(f64::from(most));
    let timed = times.iter().map(|(cores, measured)| Timed {
        cores: *cores,
        measured: *measured,
        model: Duration::from_nanos(law.at(f64::from(*cores)).round() as u64),
        is_fitted: fitted.contains(cores),
    });
    Ok(Spread {
        name,
        spread: (law.spread / f64::from(most) / whole).min(1.0),
        floor: law.floor / whole,
        threads: law
            .thread
            .map(|thread| thread * (f64::from(most) - 1.0) / whole),
        times: timed.collect(),
    })
}

impl Cores {
    /// Errors of the law where it was fitted, or where not.
    pub fn errors(&self, is_fitted: bool) -> Errors {
        let times = self.programs.iter().flat_map(|program| &program.times);
        let own = times.filter(|timed| timed.is_fitted == is_fitted);
        Errors::of(own.map(Timed::error))
    }

    /// Why the law should not be used: it is far off where it was not fitted.
    pub fn doubt(&self) -> Option<String> {
        let errors = self.errors(false);
        let other = match self.device {
            Device::Gpu => "if the device is a CPU, give --device cpu",
            Device::Cpu => "measure in several processes, with more numbers of cores",
        };
        (errors.mean > DOUBTFUL).then(|| {
            format!(
                "the law is {:.0} % off in the mean where it was not fitted: {other}, or do not use it for this device",
                errors.mean * 100.0
            )
        })
    }

    /// The medians of the programs' parts; those of a CPU in proportion, 1 together.
    pub fn shares(&self) -> Shares {
        let median = |of: &dyn Fn(&Spread) -> f64| {
            let mut all: Vec<f64> = self.programs.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied().unwrap_or_default()
        };
        let (gpu, serial) = (median(&|it| it.spread), median(&|it| it.floor));
        match self.device {
            Device::Gpu => Shares {
                gpu,
                serial,
                threads: None,
            },
            Device::Cpu => {
                let threads = median(&|it| it.threads.unwrap_or_default());
                let all = (gpu + serial + threads).max(f64::MIN_POSITIVE);
                Shares {
                    gpu: gpu / all,
                    serial: serial / all,
                    threads: Some(threads / all),
                }
            }
        }
    }

    /// As a table for people.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        let numbers = self.programs.first().into_iter().flat_map(|it| &it.times);
        let numbers: Vec<Timed> = numbers.copied().collect();
        let head = numbers.iter().map(|timed| match timed.is_fitted {
            true => format!("{}, fitted", counted(timed.cores)),
            false => counted(timed.cores),
        });
        let threads = (self.device == Device::Cpu).then(|| "threads".into());
        let first = ["program".into(), "spread".into(), "floor".into()];
        table.set_header(first.into_iter().chain(threads).chain(head));
        for program in &self.programs {
            let cells = program.times.iter().map(|timed| {
                let ms = timed.measured.as_secs_f64() * 1e3;
                format!("{ms:.3} ms {:+.1} %", timed.error() * 100.0)
            });
            let first = [
                program.name.clone(),
                format!("{:.3}", program.spread),
                format!("{:.3}", program.floor),
            ];
            let threads = program.threads.map(|threads| format!("{threads:.3}"));
            table.add_row(first.into_iter().chain(threads).chain(cells));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let errors = self.errors(false);
        if errors.programs == 0 {
            return format!("{}\nno times are left out of the fit\n", table.trim_fmt());
        }
        format!(
            "{}\n{} times left out of the fit: mean error of the model {:.1} %, worst {:.1} %\n",
            table.trim_fmt(),
            errors.programs,
            errors.mean * 100.0,
            errors.most * 100.0
        )
    }
}

fn counted(cores: u32) -> String {
    match cores {
        1 => "1 core".into(),
        some => format!("{some} cores"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cores: u32) -> Run {
        let of =
            |floor: u64, spread: u64| Duration::from_nanos(floor.max(spread / u64::from(cores)));
        let times = vec![
            ("even".into(), of(0, 8_000_000)),
            ("some".into(), of(2_000_000, 16_000_000)),
            ("alone".into(), of(500_000, 0)),
        ];
        (cores, times)
    }

    #[test]
    fn the_law_is_found_and_the_rest_is_predicted() {
        for fitted in [&[16, 4][..], &[16, 8, 1]] {
            let runs = [1, 2, 4, 8, 16].map(run).to_vec();
            let cores = spread(runs, fitted, Device::Gpu).unwrap();
            let found: Vec<_> = cores.programs.iter().collect();
            // Nothing says how much faster than with 16 cores the even program could be.
            for (found, (spread, floor)) in found.iter().zip([(0.0, 1.0), (1.0, 1.0), (0.5, 1.0)]) {
                assert!((found.spread - spread).abs() < 1e-6, "{found:?}");
                assert!((found.floor - floor).abs() < 1e-6, "{found:?}");
            }
            assert!(cores.errors(false).most < 1e-6, "{cores:?}");
            assert_eq!(cores.errors(false).programs, 3 * (5 - fitted.len()));
            let shares = Shares {
                gpu: 0.5,
                serial: 1.0,
                threads: None,
            };
            assert_eq!(cores.shares(), shares);
        }
    }

    #[test]
    fn parts_of_a_cpu_are_the_whole_time() {
        let times = |cores: u32| {
            let (spread, thread) = (16_000_000 / cores, 100_000 * (cores - 1));
            let ns = u64::from(1_000_000 + spread + thread);
            (cores, vec![("all".into(), Duration::from_nanos(ns))])
        };
        let runs = [1, 2, 4, 8, 16].map(times).to_vec();
        let cores = spread(runs.clone(), &[16, 4, 1], Device::Cpu).unwrap();
        assert!(cores.errors(false).most < 1e-6, "{cores:?}");
        let shares = cores.shares();
        let of = |part: f64, ns: f64| (part - ns / 3_500_000.0).abs() < 1e-6;
        assert!(
            of(shares.gpu, 1e6) && of(shares.serial, 1e6) && of(shares.threads.unwrap(), 1.5e6),
            "{shares:?}"
        );
        assert!(cores.table().contains("threads"));
        assert_eq!(cores.doubt(), None);
        assert!(spread(runs, &[16, 1], Device::Cpu).is_err());
    }

    #[test]
    fn a_law_that_is_far_off_is_doubted() {
        let ns = [(16, 10_000), (8, 100_000), (1, 10_000)];
        let runs = ns.map(|(cores, ns)| (cores, vec![("all".into(), Duration::from_nanos(ns))]));
        let doubt = of_gpu(runs.to_vec(), &[16, 1]).unwrap().doubt();
        let doubt = doubt.unwrap_or_default();
        assert!(
            doubt.starts_with("the law is 90 % off") && doubt.contains("--device cpu"),
            "{doubt}"
        );
    }

    fn of_gpu(runs: Vec<Run>, fitted: &[u32]) -> Result<Cores, BenchError> {
        spread(runs, fitted, Device::Gpu)
    }

    #[test]
    fn what_has_no_law_is_refused() {
        assert!(of_gpu(vec![run(1)], &[1]).is_err());
        assert!(of_gpu(vec![run(1), run(2), run(2)], &[1, 2]).is_err());
        assert!(of_gpu(vec![run(1), run(2)], &[1, 1]).is_err());
        assert!(of_gpu(vec![run(1), run(2)], &[1, 4]).is_err());
        let mut other = run(2);
        other.1.pop();
        assert!(of_gpu(vec![run(1), other], &[1, 2]).is_err());
        let mut none = run(2);
        none.1[0].1 = Duration::ZERO;
        assert!(of_gpu(vec![run(1), none], &[1, 2]).is_err());
    }
}
