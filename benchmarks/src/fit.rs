//! Fits the times that programs take on the board itself by those that they take in the guest.
//!
//! A program whose `operations` the board's timers say to last `device` takes `measured` on the
//! board itself, and `rest` beside its operations in the guest. On the target it should take
//!
//! ```text
//! measured = rest + scale · device + offset · operations
//! ```
//!
//! Ordinary least squares find scale and offset over the programs' relative errors: each
//! program's equation is divided by `measured`, so that long programs do not count more. Of both,
//! the scale alone, and neither, what counts is what predicts a program best that it is not
//! fitted to (leave-one-out): with few or noisy programs, more unknowns say less. More unknowns
//! than others count only if the programs' errors become smaller by more than the standard error of
//! these differences (the rule of one standard error: Hastie, Tibshirani and Friedman, *The Elements
//! of Statistical Learning*, 2nd edition, section 7.10, of pairs). Unknowns whose intervals of 95 %
//! have nothing in them do not count: a scale of 1, an offset of 0.

use crate::error::BenchError;
use linregress::fit_low_level_regression_model;
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::Statistics;

/// How sure an interval is: 95 %, half of the rest on each side.
const UPPER: f64 = 0.975;
/// Fewest programs of a fit: without any one of them, more are left than unknowns.
const POINTS_MIN: usize = 4;

/// How far the squared cosine must be from 1.
const ALIKE: f64 = 1e-9;

/// A program's times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// On the board itself: above 0.
    pub measured: f64,
    /// In the guest, beside its operations.
    pub rest: f64,
    /// Of its operations, as the board's timers say.
    pub device: f64,
    /// How many they are.
    pub operations: f64,
}

/// A number, and where it lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most likely.
    pub value: f64,
    /// Half of the interval's width.
    pub within: f64,
}

impl Estimate {
    const SURE_0: Self = Self {
        value: 0.0,
        within: 0.0,
    };
    const SURE_1: Self = Self {
        value: 1.0,
        within: 0.0,
    };
}

/// What is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Nothing: the times are taken as they are.
    Nothing,
    /// The scale.
    Scale,
    /// Scale and offset.
    Both,
}

/// What the target makes of the board's times.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// What was fitted.
    pub unknown: Unknown,
    /// Operations last so many times what the timers say.
    pub scale: Estimate,
    /// And so many nanoseconds more.
    pub offset: Estimate,
}

impl Fit {
    /// What a program takes by this fit, in nanoseconds.
    pub fn of(&self, point: &Point) -> f64 {
        let operations = self.scale.value * point.device + self.offset.value * point.operations;
        point.rest + operations.max(0.0)
    }

    /// Whether all that was fitted differs from nothing, with the confidence of the estimates:
    /// one program that is far off has any scale.
    fn is_certain(&self) -> bool {
        let differs = |it: &Estimate, from: f64| (it.value - from).abs() > it.within;
        match self.unknown {
            Unknown::Nothing => true,
            Unknown::Scale => differs(&self.scale, 1.0),
            Unknown::Both => differs(&self.scale, 1.0) && differs(&self.offset, 0.0),
        }
    }

    /// By which part of the measured time the fit is off: above 0 if it is too long.
    pub fn error(&self, point: &Point) -> f64 {
        self.of(point) / point.measured - 1.0
    }
}

/// The best fit over these programs.
///
/// # Errors
/// [`BenchError::Fit`] if they are too few, or none fits.
pub fn fit(points: &[Point]) -> Result<Fit, BenchError> {
    if points.len() < POINTS_MIN {
        let what = format!("{} programs are fewer than {POINTS_MIN}", points.len());
        return Err(BenchError::Fit { what });
    }
    if points
        .iter()
        .any(|point| !point.measured.is_finite() || point.measured <= 0.0)
    {
        let what = "a program took no time".into();
        return Err(BenchError::Fit { what });
    }
    let mut best: Option<(Vec<f64>, Fit)> = None;
    for unknown in [Unknown::Nothing, Unknown::Scale, Unknown::Both] {
        let Some((errors, fit)) = crossed(points, unknown).zip(fitted(points, unknown)) else {
            continue;
        };
        let fewer = best.as_ref().map(|(errors, _)| errors);
        if fit.is_certain() && fewer.is_none_or(|fewer| is_surely_less(&errors, fewer)) {
            best = Some((errors, fit));
        }
    }
    let none = || BenchError::Fit {
        what: "the programs' times have nothing to do with those in the guest".into(),
    };
    best.map(|(_, fit)| fit).ok_or_else(none)
}

/// Whether errors are smaller than others of the same programs by more than the standard error of
/// their differences.
fn is_surely_less(errors: &[f64], others: &[f64]) -> bool {
    let pairs = errors.iter().zip(others);
    let less: Vec<f64> = pairs.map(|(one, other)| other.abs() - one.abs()).collect();
    let error = (&less).std_dev() / (less.len() as f64).sqrt();
    (&less).mean() > error
}

/// The fit of these unknowns; `None` if there is none.
fn fitted(points: &[Point], unknown: Unknown) -> Option<Fit> {
    let (scale, offset) = match unknown {
        Unknown::Nothing => (Estimate::SURE_1, Estimate::SURE_0),
        Unknown::Scale => {
            let rows = rows(points, |it| vec![it.device]);
            let [scale] = estimates(&rows, points.len(), 1)?[..] else {
                return None;
            };
            (scale, Estimate::SURE_0)
        }
        Unknown::Both if are_alike(points) => return None,
        Unknown::Both => {
            let rows = rows(points, |it| vec![it.device, it.operations]);
            let [scale, offset] = estimates(&rows, points.len(), 2)?[..] else {
                return None;
            };
            (scale, offset)
        }
    };
    let is_usable = scale.value.is_finite() && scale.value > 0.0 && offset.value.is_finite();
    is_usable.then_some(Fit {
        unknown,
        scale,
        offset,
    })
}

/// The equations' numbers: the left side, then what stands at each unknown.
fn rows(points: &[Point], unknowns: impl Fn(&Point) -> Vec<f64>) -> Vec<f64> {
    let one = |point: &Point| {
        let left = point.measured - point.rest;
        let all = std::iter::once(left).chain(unknowns(point));
        let all = all.map(|number| number / point.measured);
        all.collect::<Vec<_>>()
    };
    points.iter().flat_map(one).collect()
}

fn estimates(rows: &[f64], count: usize, unknowns: usize) -> Option<Vec<Estimate>> {
    let freedom = count.checked_sub(unknowns).filter(|free| *free > 0)?;
    let student = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    let times = student.inverse_cdf(UPPER);
    if unknowns == 1 {
        let (value, error) = through_origin(rows, freedom as f64)?;
        let within = error * times;
        return Some(vec![Estimate { value, within }]);
    }
    let model = fit_low_level_regression_model(rows, count, unknowns + 1).ok()?;
    let all = model.parameters().iter().zip(model.se());
    let all = all.map(|(value, error)| Estimate {
        value: *value,
        within: error * times,
    });
    Some(all.collect())
}

/// The slope of the line through the origin, and its standard error, of rows of two numbers: the
/// library has no fit of one parameter. With `b = Σxy / Σx²` the error's square is
/// `Σ(y - bx)² / freedom / Σx²` (Draper and Smith, *Applied Regression Analysis*, 3rd edition,
/// section 1.4, without the constant).
fn through_origin(rows: &[f64], freedom: f64) -> Option<(f64, f64)> {
    let pairs = || rows.chunks_exact(2).map(|row| (row[0], row[1]));
    let squares: f64 = pairs().map(|(_, x)| x * x).sum();
    let slope = pairs().map(|(y, x)| x * y).sum::<f64>() / squares;
    let left: f64 = pairs().map(|(y, x)| (y - slope * x).powi(2)).sum();
    let error = (left / freedom / squares).sqrt();
    (slope.is_finite() && error.is_finite()).then_some((slope, error))
}

/// Whether scale and offset cannot be told apart: the squared cosine between device times and
/// numbers of operations is 1.
fn are_alike(points: &[Point]) -> bool {
    let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(of).sum::<f64>();
    let both = sum(&|it| it.device * it.operations / it.measured.powi(2));
    let device = sum(&|it| (it.device / it.measured).powi(2));
    let operations = sum(&|it| (it.operations / it.measured).powi(2));
    both * both >= device * operations * (1.0 - ALIKE)
}

/// For each of the programs its error by the fit over all the others (leave-one-out); `None`
/// if one of these fits is not there.
pub fn crossed(points: &[Point], unknown: Unknown) -> Option<Vec<f64>> {
    let one = |at: usize| {
        let mut others = points.to_vec();
        let left_out = others.remove(at);
        Some(fitted(&others, unknown)?.error(&left_out))
    };
    (0..points.len()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(device: f64, operations: f64, error: f64) -> Point {
        let rest = 20_000.0 + operations * 500.0;
        let measured = (rest + 1.3 * device - 800.0 * operations) * (1.0 + error);
        Point {
            measured,
            rest,
            device,
            operations,
        }
    }

    fn points(errors: [f64; 5]) -> Vec<Point> {
        let sizes = [
            (1e6, 4.0),
            (5e6, 40.0),
            (2e5, 100.0),
            (3e7, 2.0),
            (4e6, 900.0),
        ];
        let all = sizes.into_iter().zip(errors);
        all.map(|((device, operations), error)| point(device, operations, error))
            .collect()
    }

    #[test]
    fn scale_and_offset_are_found() {
        let all = points([0.0; 5]);
        let found = fit(&all).unwrap();
        assert_eq!(found.unknown, Unknown::Both);
        assert!((found.scale.value - 1.3).abs() < 1e-9, "{found:?}");
        assert!((found.offset.value + 800.0).abs() < 1e-6, "{found:?}");
        assert!(found.scale.within < 1e-6, "{found:?}");
        let errors = crossed(&all, Unknown::Both).unwrap();
        assert!(errors.iter().all(|error| error.abs() < 1e-9), "{errors:?}");
    }

    #[test]
    fn the_interval_has_the_truth_and_an_outlier_shows() {
        let found = fit(&points([0.02, -0.01, 0.01, -0.02, 0.0])).unwrap();
        assert!((found.scale.value - 1.3).abs() < found.scale.within);
        assert!((found.offset.value + 800.0).abs() < found.offset.within);
        let errors = crossed(&points([0.0, 0.0, 0.0, 0.5, 0.0]), Unknown::Both).unwrap();
        let most = errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
        assert_eq!(most, errors[3].abs());
    }

    #[test]
    fn what_is_right_already_is_left_alone() {
        let mut all = points([0.0; 5]);
        for (point, error) in all.iter_mut().zip([0.03, -0.03, 0.02, -0.02, 0.01]) {
            point.measured = (point.rest + point.device) * (1.0 + error);
        }
        let found = fit(&all).unwrap();
        assert_eq!((found.scale.value, found.offset.value), (1.0, 0.0));
        assert_eq!(found.unknown, Unknown::Nothing);
    }

    #[test]
    fn a_scale_that_may_be_none_is_none() {
        let errors = [-0.1, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1, 0.3];
        let all = errors.map(|error: f64| Point {
            measured: 1e6 * (1.0 + error),
            device: 1e6,
            operations: 1.0,
            rest: 0.0,
        });
        let sum = |unknown| -> f64 {
            let errors = crossed(&all, unknown).unwrap();
            errors.iter().map(|error| error.abs()).sum()
        };
        assert!(sum(Unknown::Scale) < sum(Unknown::Nothing));
        let scale = fitted(&all, Unknown::Scale).unwrap().scale;
        assert!(scale.value + scale.within > 1.0, "{scale:?}");
        assert_eq!(fit(&all).unwrap().unknown, Unknown::Nothing);
    }

    #[test]
    fn what_helps_a_few_programs_is_left_alone() {
        // Without the scale one program is far off; with it, most are further off than without.
        let errors = [-0.30, -0.31, -0.02, 0.01, -0.02, 0.0, -0.03, -0.02];
        let all = errors.map(|error: f64| Point {
            measured: 1e6 * (1.0 + error),
            device: 1e6,
            operations: 1.0,
            rest: 0.0,
        });
        let errors = |unknown| crossed(&all, unknown).unwrap();
        let (scale, nothing) = (errors(Unknown::Scale), errors(Unknown::Nothing));
        assert!(!is_surely_less(&scale, &nothing), "{scale:?}");
        assert_eq!(fit(&all).unwrap().unknown, Unknown::Nothing);
        let halves: Vec<f64> = nothing.iter().map(|error| error / 2.0).collect();
        assert!(is_surely_less(&halves, &nothing));
        assert!(!is_surely_less(&nothing, &nothing));
    }

    #[test]
    fn a_scale_alone_is_found_too() {
        let all = [
            (1e6, 0.01),
            (2e6, -0.01),
            (3e6, 0.0),
            (1e6, 0.01),
            (5e6, -0.01),
        ];
        let all = all.map(|(device, error): (f64, f64)| Point {
            measured: 1.2 * device * (1.0 + error),
            device,
            operations: device / 1e6,
            rest: 0.0,
        });
        let found = fit(&all).unwrap();
        assert_eq!(found.unknown, Unknown::Scale, "{found:?}");
        assert!((found.scale.value - 1.2).abs() < found.scale.within);
        assert!(found.scale.within < 0.03, "{found:?}");
    }

    #[test]
    fn what_says_nothing_is_refused() {
        assert!(fit(&points([0.0; 5])[..3]).is_err());
        let alike = vec![point(1e6, 4.0, 0.0); 5];
        assert_ne!(fit(&alike).unwrap().unknown, Unknown::Both);
        assert_eq!(fitted(&alike, Unknown::Both), None);
        let mut none = points([0.0; 5]);
        none[1].measured = 0.0;
        assert!(fit(&none).is_err());
    }
}
