//! The laws by which an operation's time follows the number of a device's cores.

use nalgebra::{DMatrix, DVector};

/// By which part of them equal times differ from one measurement to the next.
const NOISE: f64 = 0.03;
/// Less than the least part of a time that is computed rather than nothing.
const NOTHING: f64 = 1e-12;

/// What kind of device has the cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Device {
    /// A GPU: `max(floor, spread / n)`, as in the roofline model (Williams, Waterman and Patterson, 2009). The
    /// floor is what more cores do not make shorter, since memory is busy, or there are too few work-groups.
    #[default]
    Gpu,
    /// A CPU: `floor + spread / n + threads · (n - 1)`. Its driver wakes a thread for each core and waits for it,
    /// kernel by kernel, so that each further core costs time, and all of it is one after the other.
    Cpu,
}

impl Device {
    /// What a law of it leaves open, so that it takes as many numbers of cores.
    pub const fn unknowns(self) -> usize {
        match self {
            Self::Gpu => 2,
            Self::Cpu => 3,
        }
    }
}

/// A law, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// What more cores do not make shorter.
    pub floor: f64,
    /// What is spread over the cores: of one core.
    pub spread: f64,
    /// What each core after the first costs; `None` on a GPU.
    pub thread: Option<f64>,
}

impl Law {
    /// The one that comes closest to these times, each a number of cores and nanoseconds above 0: by least squares,
    /// each equation divided by its time.
    pub fn over(times: &[(f64, f64)], device: Device) -> Option<Self> {
        match device {
            Device::Gpu => Self::of_gpu(times),
            Device::Cpu => Self::of_cpu(times),
        }
    }

    /// For each number of times that may be on the floor, the law's branches of least squares;
    /// of these laws the best, or one with more on the floor whose errors are measurement's.
    fn of_gpu(times: &[(f64, f64)]) -> Option<Self> {
        let laws = (0..=times.len()).map(|on_floor| {
            let (floor, spread) = times.split_at(on_floor);
            Self {
                floor: scaled(floor.iter().map(|(_, ns)| 1.0 / ns)),
                spread: scaled(spread.iter().map(|(cores, ns)| 1.0 / (cores * ns))),
                thread: None,
            }
        });
        let all: Vec<(f64, Self)> = laws.map(|law| (law.squares(times), law)).collect();
        let least = all
            .iter()
            .map(|(squares, _)| *squares)
            .fold(f64::INFINITY, f64::min);
        let enough = least.max(times.len() as f64 * NOISE * NOISE);
        let mut fine = all.into_iter().filter(|(squares, _)| *squares <= enough);
        fine.next_back().map(|(_, law)| law)
    }

    /// No part of it is below 0: of the laws by some of the parts, the best that has none such.
    fn of_cpu(times: &[(f64, f64)]) -> Option<Self> {
        const PARTS: usize = 3;
        let part = |of: usize, cores: f64| match of {
            0 => 1.0,
            1 => 1.0 / cores,
            _ => cores - 1.0,
        };
        let laws = (1..1 << PARTS).filter_map(|chosen: usize| {
            let some: Vec<usize> = (0..PARTS).filter(|of| chosen >> of & 1 == 1).collect();
            let at = |row: usize, column: usize| {
                let (cores, ns) = times[row];
                part(some[column], cores) / ns
            };
            let mut equations = DMatrix::from_fn(times.len(), some.len(), at);
            // Whatever the times' unit and the number of cores, a column's length is 1: what is nothing is relative.
            let lengths: Vec<f64> = equations.column_iter().map(|it| it.norm()).collect();
            for (mut column, length) in equations.column_iter_mut().zip(&lengths) {
                column /= length.max(f64::MIN_POSITIVE);
            }
            let ones = DVector::from_element(times.len(), 1.0);
            let solved = equations.svd(true, true).solve(&ones, NOTHING).ok()?;
            let mut found = [0.0; PARTS];
            for ((of, value), length) in some.iter().zip(solved.iter()).zip(&lengths) {
                found[*of] = value / length.max(f64::MIN_POSITIVE);
            }
            let [floor, spread, thread] = found;
            let is_law = found.iter().all(|value| value.is_finite() && *value >= 0.0);
            is_law.then_some(Self {
                floor,
                spread,
                thread: Some(thread),
            })
        });
        laws.min_by(|one, other| one.squares(times).total_cmp(&other.squares(times)))
    }

    /// The time with so many cores.
    pub fn at(&self, cores: f64) -> f64 {
        match self.thread {
            None => self.floor.max(self.spread / cores),
            Some(thread) => self.floor + self.spread / cores + thread * (cores - 1.0),
        }
    }

    fn squares(&self, times: &[(f64, f64)]) -> f64 {
        let error = |(cores, ns): &(f64, f64)| (self.at(*cores) / ns - 1.0).powi(2);
        times.iter().map(error).sum()
    }
}

/// The factor by which these numbers come closest to 1; 0 of none.
fn scaled(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let squares: f64 = numbers.clone().map(|it| it * it).sum();
    match squares > 0.0 {
        true => numbers.sum::<f64>() / squares,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_of_a_cpu_is_found_whichever_parts_it_has() {
        let cases = [
            (7e4, 8e6, 2e5),
            (0.0, 8e6, 2e5),
            (7e4, 0.0, 0.0),
            (3e4, 0.0, 1e5),
        ];
        for (floor, spread, thread) in cases {
            let law = Law {
                floor,
                spread,
                thread: Some(thread),
            };
            let times = [16.0, 4.0, 1.0].map(|cores| (cores, law.at(cores)));
            let found = Law::over(&times, Device::Cpu).unwrap();
            for cores in [8.0, 2.0, 32.0] {
                let error = found.at(cores) / law.at(cores) - 1.0;
                assert!(error.abs() < 1e-6, "{found:?} instead of {law:?}");
            }
        }
    }

    #[test]
    fn a_law_of_a_cpu_has_no_unit_and_no_number_of_cores() {
        for (unit, most) in [(1.0, 64.0), (1e11, 64.0), (1e9, 1e5), (1e18, 1e6)] {
            let law = Law {
                floor: 0.2 * unit,
                spread: 0.5 * unit * most,
                thread: Some(0.3 * unit / (most - 1.0)),
            };
            let times = [most, 16.0, 1.0].map(|cores| (cores, law.at(cores)));
            let found = Law::over(&times, Device::Cpu).unwrap();
            for cores in [4.0, most / 2.0] {
                let error = found.at(cores) / law.at(cores) - 1.0;
                assert!(error.abs() < 1e-6, "{found:?} instead of {law:?}");
            }
        }
    }

    #[test]
    fn no_part_of_a_law_of_a_cpu_is_below_nothing() {
        // Faster than in step with the cores.
        let times = [(16.0, 1e5), (4.0, 1e6), (1.0, 9e6)];
        let found = Law::over(&times, Device::Cpu).unwrap();
        assert!(
            found.floor >= 0.0 && found.spread > 0.0 && found.thread >= Some(0.0),
            "{found:?}"
        );
    }
}
