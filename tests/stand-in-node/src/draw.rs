//! Times that are drawn: a mean with a spread, the same for the same seed on any machine.

/// Uniform numbers whose sum is nearly a normal one: of twelve, the variance is 1.
const SUMMED: u64 = 12;
/// What the sum is on average.
const MIDDLE: f64 = SUMMED as f64 / 2.0;

/// A time that differs from job to job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// In nanoseconds.
    pub mean_ns: u64,
    /// The standard deviation, in hundredths of the mean.
    pub percent: u64,
}

/// Which job of which run a time is drawn for.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'p> {
    /// The run's.
    pub seed: u64,
    /// Each processor draws for itself.
    pub processor: &'p str,
    /// The job's number there.
    pub job: u64,
}

impl Spread {
    /// The job's time: near a normal distribution, by the sum of twelve uniform numbers,
    /// which needs no function that two machines' libraries compute differently. It is
    /// within six deviations, and not below 0.
    pub fn time(&self, draw: &Draw<'_>) -> u64 {
        let sum: f64 = (0..SUMMED).map(|n| draw.uniform(n)).sum();
        let mean_ns = self.mean_ns as f64;
        let deviation_ns = mean_ns * self.percent as f64 / 100.0;
        // A float below 0 becomes 0.
        (mean_ns + (sum - MIDDLE) * deviation_ns).round() as u64
    }
}

impl Draw<'_> {
    /// The number `n` of the draw, from 0 to below 1.
    fn uniform(&self, n: u64) -> f64 {
        let name = self.processor.bytes();
        let of_processor = name.fold(self.seed, |state, byte| mixed(state ^ u64::from(byte)));
        let bits = mixed(mixed(of_processor ^ self.job) ^ n) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }
}

/// One step of SplitMix64: every bit of the result depends on every bit of the state.
fn mixed(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREAD: Spread = Spread {
        mean_ns: 1_460_000,
        percent: 10,
    };

    fn times(seed: u64, processor: &str) -> Vec<f64> {
        let draw = |job| Draw {
            seed,
            processor,
            job,
        };
        let times = (0..10_000).map(|job| SPREAD.time(&draw(job)) as f64);
        times.collect()
    }

    fn moments(times: &[f64]) -> (f64, f64) {
        let count = times.len() as f64;
        let mean = times.iter().sum::<f64>() / count;
        let squares = times.iter().map(|time| (time - mean).powi(2));
        (mean, (squares.sum::<f64>() / count).sqrt())
    }

    #[test]
    fn mean_and_deviation_are_those_that_are_wanted() {
        for processor in ["slot0", "pp", "pp3"] {
            let (mean, deviation) = moments(&times(7, processor));
            assert!((mean / 1_460_000.0 - 1.0).abs() < 0.005, "{mean}");
            assert!((deviation / 146_000.0 - 1.0).abs() < 0.03, "{deviation}");
        }
    }

    #[test]
    fn seeds_and_processors_draw_for_themselves() {
        let first = times(7, "pp0");
        assert_eq!(first, times(7, "pp0"));
        for other in [times(8, "pp0"), times(7, "pp1")] {
            let both = first.iter().zip(&other);
            let product = both.map(|(one, other)| (one - 1_460_000.0) * (other - 1_460_000.0));
            let correlation = product.sum::<f64>() / 10_000.0 / 146_000.0_f64.powi(2);
            assert!(correlation.abs() < 0.05, "{correlation}");
        }
    }

    #[test]
    fn a_spread_of_nothing_is_the_mean_and_no_time_is_below_0() {
        let draw = |job| Draw {
            seed: 1,
            processor: "gp",
            job,
        };
        let of = |percent| Spread {
            mean_ns: 1000,
            percent,
        };
        assert_eq!(of(0).time(&draw(3)), 1000);
        let least = (0..1000).map(|job| of(100).time(&draw(job))).min();
        assert_eq!(least, Some(0));
    }
}
