//! Times of a figure and its baseline, taken alternately, so that other load affects
//! both.

use std::time::Duration;

/// Times, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Sorts them.
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    /// These too.
    pub fn add(&mut self, others: Self) {
        self.0.extend(others.0);
        self.0.sort();
    }

    /// The time that `part` of all, from 0 to 1, do not exceed; 0 of none.
    pub fn percentile(&self, part: f64) -> Duration {
        let rank = (self.0.len() as f64 * part).ceil() as usize;
        let at = rank.max(1) - 1;
        let last = self.0.len().saturating_sub(1);
        self.0.get(at.min(last)).copied().unwrap_or_default()
    }

    /// The mean of the middle half (the interquartile mean): where times are of two kinds, as those
    /// of processes on a shared machine, the median is of one or the other, and this lies
    /// between. 0 of none.
    pub fn middle(&self) -> Duration {
        let quarter = self.0.len() / 4;
        let half = &self.0[quarter..self.0.len() - quarter];
        let count = u32::try_from(half.len()).unwrap_or(u32::MAX).max(1);
        half.iter().sum::<Duration>() / count
    }

    /// The one in the middle.
    pub fn median(&self) -> Duration {
        self.percentile(0.5)
    }
}

/// Takes `count` times of each, in turn, after one of each that does not count.
///
/// # Errors
/// What one of them returns.
pub fn in_turn<E>(
    count: usize,
    mut figure: impl FnMut() -> Result<Duration, E>,
    mut baseline: impl FnMut() -> Result<Duration, E>,
) -> Result<(Times, Times), E> {
    let (mut figures, mut baselines) = (Vec::new(), Vec::new());
    figure()?;
    baseline()?;
    for _ in 0..count {
        figures.push(figure()?);
        baselines.push(baseline()?);
    }
    Ok((Times::new(figures), Times::new(baselines)))
}

/// Microseconds.
pub fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Gigabytes a second; no number if they took no time that was measured.
pub fn gb_per_s(bytes: u64, time: Duration) -> f64 {
    match time.as_nanos() {
        0 => f64::NAN,
        time => bytes as f64 / time as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_taken() {
        let times = Times::new((1..=100).rev().map(Duration::from_micros).collect());
        assert_eq!(times.median(), Duration::from_micros(50));
        assert_eq!(times.percentile(0.99), Duration::from_micros(99));
        assert_eq!(times.percentile(1.0), Duration::from_micros(100));
        assert_eq!(Times::new(Vec::new()).median(), Duration::ZERO);
    }

    #[test]
    fn the_middle_half_has_a_mean() {
        let middle = |times: &[u64]| {
            let times = times.iter().copied().map(Duration::from_nanos);
            Times::new(times.collect()).middle().as_nanos()
        };
        assert_eq!(middle(&[]), 0);
        assert_eq!(middle(&[7]), 7);
        assert_eq!(middle(&[4, 2, 3]), 3);
        assert_eq!(middle(&[1, 10, 20, 900_000]), 15);
        assert_eq!(middle(&[40, 40, 40, 40, 50, 50, 50, 50]), 45);
    }

    #[test]
    fn no_time_is_no_speed() {
        assert_eq!(gb_per_s(4000, Duration::from_micros(2)), 2.0);
        assert!(gb_per_s(4000, Duration::ZERO).is_nan());
    }

    #[test]
    fn both_are_taken_in_turn() {
        let order = std::cell::RefCell::new(String::new());
        let take = |name: char| {
            order.borrow_mut().push(name);
            Ok::<_, ()>(Duration::ZERO)
        };
        in_turn(2, || take('f'), || take('b')).unwrap();
        assert_eq!(*order.borrow(), "fbfbfb");
    }
}
