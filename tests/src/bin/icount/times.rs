//! What `kernels.c` writes, and how far predicted times are from measured ones.

use std::collections::BTreeMap;
use std::fmt;

/// Which of a program's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// What the device's timers say of its launches.
    Device,
    /// From its first call to its results.
    Wall,
}

impl Which {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Device, Self::Wall];
}

impl fmt::Display for Which {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Device => "device",
            Self::Wall => "wall",
        })
    }
}

/// Why times say nothing.
#[derive(Debug, thiserror::Error)]
pub enum TimesError {
    /// No program's times.
    #[error("kernels.c wrote no times: {0}")]
    None(String),
    /// The programs are not those of the other run, or their results.
    #[error("{0} was not run on both boards, or has other results there")]
    Other(String),
}

/// Programs' times, in nanoseconds: medians of their repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    medians: BTreeMap<(String, Which), f64>,
    /// Sums of the results' words.
    sums: BTreeMap<String, u32>,
}

/// A predicted time and the measured one, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Where it was measured.
    pub place: &'static str,
    /// Of which program.
    pub program: String,
    /// Which of its times.
    pub which: Which,
    /// With which clock of the board.
    pub mhz: f64,
    /// The measured time.
    pub measured: f64,
    /// What the model says.
    pub predicted: f64,
}

impl Point {
    /// By which part of the measured time the prediction is off.
    pub fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }
}

impl Times {
    /// Those that are in this text; lines of another kind are passed over.
    ///
    /// # Errors
    /// [`TimesError`] if there are none.
    pub fn read(text: &str) -> Result<Self, TimesError> {
        let mut all: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        let mut sums = BTreeMap::new();
        for (name, [wall, device], sum) in text.lines().filter_map(line) {
            sums.insert(name.to_owned(), sum);
            for (which, ns) in [(Which::Device, device), (Which::Wall, wall)] {
                all.entry((name.to_owned(), which)).or_default().push(ns);
            }
        }
        if sums.is_empty() {
            return Err(TimesError::None(text.into()));
        }
        // A program without launches has no time of the device's.
        let medians = all.into_iter().map(|(key, times)| (key, median(times)));
        let medians = medians.filter(|(_, ns)| *ns > 0.0).collect();
        Ok(Self { medians, sums })
    }

    /// So many times as long.
    pub fn scaled(&self, factor: f64) -> Self {
        let mut scaled = self.clone();
        scaled.medians.values_mut().for_each(|ns| *ns *= factor);
        scaled
    }

    /// These, measured there with this clock, beside the predicted ones.
    ///
    /// # Errors
    /// [`TimesError`] if the programs are not the same, or their results.
    pub fn compared(
        &self,
        place: &'static str,
        mhz: f64,
        predicted: &Self,
    ) -> Result<Vec<Point>, TimesError> {
        let point = |((program, which), measured): (&(String, Which), &f64)| {
            let other = || TimesError::Other(program.clone());
            if predicted.sums.get(program) != self.sums.get(program) {
                return Err(other());
            }
            let predicted = predicted.medians.get(&(program.clone(), *which));
            Ok(Point {
                place,
                program: program.clone(),
                which: *which,
                mhz,
                measured: *measured,
                predicted: *predicted.ok_or_else(other)?,
            })
        };
        self.medians.iter().map(point).collect()
    }
}

/// A program's line: its name, wall and device time, and the sum of its results.
fn line(line: &str) -> Option<(&str, [f64; 2], u32)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, wall, device, _, sum] = words[..] else {
        return None;
    };
    let ns = |text: &str| text.parse::<u64>().ok().map(|ns| ns as f64);
    Some((name, [ns(wall)?, ns(device)?], sum.parse().ok()?))
}

/// The number in the middle.
fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Errors of some points.
#[derive(Clone, Copy, Debug)]
pub struct Errors<'a> {
    /// Their mean, without signs.
    pub mean: f64,
    /// The one in the middle, without signs.
    pub median: f64,
    /// That with the greatest.
    pub worst: &'a Point,
}

impl<'a> Errors<'a> {
    /// Of these points; `None` of none.
    pub fn of(points: &[&'a Point]) -> Option<Self> {
        let all: Vec<f64> = points.iter().map(|point| point.error().abs()).collect();
        let by_error = |a: &&&Point, b: &&&Point| a.error().abs().total_cmp(&b.error().abs());
        Some(Self {
            mean: all.iter().sum::<f64>() / all.len() as f64,
            worst: points.iter().max_by(by_error)?,
            median: median(all),
        })
    }
}

/// A line for each point.
pub fn csv(points: &[Point]) -> String {
    let mut text = "where,time,program,mhz,measured_us,predicted_us,error_percent\n".to_owned();
    for point in points {
        let Point {
            place,
            program,
            which,
            mhz,
            ..
        } = point;
        let us = [point.measured, point.predicted].map(|ns| ns / 1e3);
        let error = point.error() * 100.0;
        text += &format!(
            "{place},{which},{program},{mhz},{:.1},{:.1},{error:+.2}\n",
            us[0], us[1]
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str =
        "GPU\nadd 300 100 1 7\nadd 100 120 1 7\nadd 200 110 1 7\r\ncopies 50 0 0 9\n";

    #[test]
    fn predictions_are_compared_with_medians() {
        let first = Times::read(FIRST).unwrap();
        let second = Times::read("add 500 220 1 7\ncopies 100 0 0 9\n[ 1.0] reboot: a b\n");
        let points = second.unwrap().compared("board", 500.0, &first.scaled(2.0));
        let points = points.unwrap();
        let shown: Vec<_> = points
            .iter()
            .map(|it| (&*it.program, it.which, it.measured, it.predicted))
            .collect();
        let expected = [
            ("add", Which::Device, 220.0, 220.0),
            ("add", Which::Wall, 500.0, 400.0),
            ("copies", Which::Wall, 100.0, 100.0),
        ];
        assert_eq!(shown, expected);
        let errors = Errors::of(&points.iter().collect::<Vec<_>>()).unwrap();
        assert!((errors.mean - 0.2 / 3.0).abs() < 1e-9 && errors.median == 0.0);
        assert_eq!(errors.worst.which, Which::Wall);
        assert!(csv(&points).contains("\nboard,wall,add,500,0.5,0.4,-20.00\n"));
    }

    #[test]
    fn other_programs_and_results_are_refused() {
        let first = Times::read(FIRST).unwrap();
        for text in ["sort 1 1 1 7\n", "add 1 1 1 8\n"] {
            let other = Times::read(text).unwrap();
            assert!(other.compared("board", 500.0, &first).is_err(), "{text}");
        }
        assert!(Times::read("usage: kernels\n").is_err());
    }
}
