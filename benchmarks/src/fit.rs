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
//! program's equation is divided by `measured`, so that long programs do not count more.

use crate::error::BenchError;
use linregress::fit_low_level_regression_model;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How sure an interval is: 95 %, half of the rest on each side.
const UPPER: f64 = 0.975;
/// Scale and offset.
const UNKNOWNS: usize = 2;
/// Fewest programs of a fit: one more than unknowns says how sure it is.
pub const POINTS_MIN: usize = UNKNOWNS + 1;

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

/// What the target makes of the board's times.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
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

    /// By which part of the measured time the fit is off: above 0 if it is too long.
    pub fn error(&self, point: &Point) -> f64 {
        self.of(point) / point.measured - 1.0
    }
}

/// The fit over these programs.
///
/// # Errors
/// [`BenchError::Fit`] if they are too few or too much alike.
pub fn fit(points: &[Point]) -> Result<Fit, BenchError> {
    let failed = |what: String| BenchError::Fit { what };
    if points.len() < POINTS_MIN {
        let what = format!("{} programs are fewer than {POINTS_MIN}", points.len());
        return Err(failed(what));
    }
    let rows = points.iter().flat_map(|point| {
        let Point {
            measured,
            rest,
            device,
            operations,
        } = *point;
        [measured - rest, device, operations].map(|it| it / measured)
    });
    let rows: Vec<f64> = rows.collect();
    if rows.iter().any(|number| !number.is_finite()) {
        return Err(failed("a program took no time".into()));
    }
    if are_alike(points) {
        return Err(failed(
            "each has as many operations for its time as the others".into(),
        ));
    }
    let model = fit_low_level_regression_model(&rows, points.len(), UNKNOWNS + 1);
    let model = model.map_err(|error| failed(error.to_string()))?;
    let freedom = (points.len() - UNKNOWNS) as f64;
    let student = StudentsT::new(0.0, 1.0, freedom).map_err(|error| failed(error.to_string()))?;
    let times = student.inverse_cdf(UPPER);
    let estimates: Vec<_> = model.parameters().iter().zip(model.se()).collect();
    let estimate = |(value, error): &(&f64, &f64)| Estimate {
        value: **value,
        within: **error * times,
    };
    match &estimates[..] {
        [scale, offset] if *scale.0 > 0.0 && offset.0.is_finite() => Ok(Fit {
            scale: estimate(scale),
            offset: estimate(offset),
        }),
        _ => Err(failed(
            "the programs' times have nothing to do with those in the guest".into(),
        )),
    }
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

/// For each of the programs its error by the fit over all the others (leave-one-out).
///
/// # Errors
/// As [`fit`].
pub fn crossed(points: &[Point]) -> Result<Vec<f64>, BenchError> {
    let one = |at: usize| {
        let mut others = points.to_vec();
        let left_out = others.remove(at);
        Ok(fit(&others)?.error(&left_out))
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
        assert!((found.scale.value - 1.3).abs() < 1e-9, "{found:?}");
        assert!((found.offset.value + 800.0).abs() < 1e-6, "{found:?}");
        assert!(found.scale.within < 1e-6, "{found:?}");
        let errors = crossed(&all).unwrap();
        assert!(errors.iter().all(|error| error.abs() < 1e-9), "{errors:?}");
    }

    #[test]
    fn the_interval_has_the_truth_and_an_outlier_shows() {
        let found = fit(&points([0.02, -0.01, 0.01, -0.02, 0.0])).unwrap();
        assert!((found.scale.value - 1.3).abs() < found.scale.within);
        assert!((found.offset.value + 800.0).abs() < found.offset.within);
        let errors = crossed(&points([0.0, 0.0, 0.0, 0.5, 0.0])).unwrap();
        let most = errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
        assert_eq!(most, errors[3].abs());
    }

    #[test]
    fn what_says_nothing_is_refused() {
        assert!(fit(&points([0.0; 5])[..2]).is_err());
        let alike = vec![point(1e6, 4.0, 0.0); 5];
        assert!(fit(&alike).is_err());
        let mut none = points([0.0; 5]);
        none[1].measured = 0.0;
        assert!(fit(&none).is_err());
        let mut backwards = points([0.0; 5]);
        backwards
            .iter_mut()
            .for_each(|point| point.device = -point.device);
        assert!(fit(&backwards).is_err());
    }
}
