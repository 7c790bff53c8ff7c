//! Sum, mean, percentiles and maximum of times, in bounded memory.

use hdrhistogram::Histogram;

/// So many times are kept one by one, and their percentiles are exact. More go into a
/// histogram, whose percentiles are exact to 1 %.
const EXACT_MAX: usize = 1000;
/// Significant digits of the histogram.
const DIGITS: u8 = 2;

/// Some times.
#[derive(Clone, Debug)]
pub struct Times {
    count: u64,
    total_ns: u128,
    max_ns: u64,
    all: All,
}

#[derive(Clone, Debug)]
enum All {
    Exact(Vec<u64>),
    Histogram(Box<Histogram<u32>>),
}

impl Default for Times {
    fn default() -> Self {
        Self {
            count: 0,
            total_ns: 0,
            max_ns: 0,
            all: All::Exact(Vec::new()),
        }
    }
}

impl Times {
    /// Another one.
    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
        match &mut self.all {
            All::Exact(all) => {
                all.push(ns);
                if all.len() > EXACT_MAX {
                    self.all = histogram(all);
                }
            }
            All::Histogram(histogram) => record(histogram, ns),
        }
    }

    /// Others, too.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        match (&mut self.all, &other.all) {
            (All::Exact(all), All::Exact(more)) => {
                all.extend(more);
                if all.len() > EXACT_MAX {
                    self.all = histogram(all);
                }
            }
            (All::Exact(few), All::Histogram(_)) => {
                let few = std::mem::take(few);
                self.all = other.all.clone();
                if let All::Histogram(all) = &mut self.all {
                    few.iter().for_each(|&ns| record(all, ns));
                }
            }
            (All::Histogram(all), All::Exact(few)) => few.iter().for_each(|&ns| record(all, ns)),
            // It grows as it must.
            (All::Histogram(all), All::Histogram(more)) => drop(all.add(&**more)),
        }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn total_ns(&self) -> u64 {
        u64::try_from(self.total_ns).unwrap_or(u64::MAX)
    }

    /// Their mean; 0 of none.
    pub fn mean_ns(&self) -> u64 {
        let mean = self.total_ns.checked_div(u128::from(self.count));
        mean.map_or(0, |mean| u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// The longest; 0 of none.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Number, sum, share of all sums as it is given, mean, median, 95th percentile and longest.
    pub fn figures(&self, share: u64) -> [u64; 7] {
        [
            self.count(),
            self.total_ns(),
            share,
            self.mean_ns(),
            self.percentile_ns(50),
            self.percentile_ns(95),
            self.max_ns(),
        ]
    }

    /// The shortest that so many percent of them do not exceed; 0 of none.
    pub fn percentile_ns(&self, percent: u8) -> u64 {
        let found = match &self.all {
            All::Exact(all) => {
                let mut sorted = all.clone();
                sorted.sort_unstable();
                let rank = (sorted.len() * usize::from(percent)).div_ceil(100);
                sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
            }
            All::Histogram(histogram) => histogram.value_at_quantile(f64::from(percent) / 100.0),
        };
        // A histogram says the end of an interval.
        found.min(self.max_ns)
    }
}

fn histogram(all: &[u64]) -> All {
    match Histogram::new(DIGITS) {
        Ok(mut histogram) => {
            all.iter().for_each(|&ns| record(&mut histogram, ns));
            All::Histogram(Box::new(histogram))
        }
        // There is one of so few digits.
        Err(_) => All::Exact(Vec::new()),
    }
}

fn record(histogram: &mut Histogram<u32>, ns: u64) {
    // It grows as it must.
    let _ = histogram.record(ns);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(all: &[u64]) -> Times {
        let mut times = Times::default();
        all.iter().for_each(|&ns| times.add(ns));
        times
    }

    #[test]
    fn few_are_exact() {
        let times = of(&[4, 1, 3, 2]);
        assert_eq!(
            (times.count(), times.total_ns(), times.mean_ns()),
            (4, 10, 2)
        );
        assert_eq!([50, 95, 100].map(|p| times.percentile_ns(p)), [2, 4, 4]);
        let none = Times::default();
        assert_eq!(
            (none.mean_ns(), none.percentile_ns(50), none.max_ns()),
            (0, 0, 0)
        );
    }

    #[test]
    fn the_longest_times_overflow_nothing() {
        let mut times = of(&vec![u64::MAX; 1500]);
        times.add(0);
        assert_eq!((times.total_ns(), times.max_ns()), (u64::MAX, u64::MAX));
        assert!(times.percentile_ns(95) > u64::MAX / 100 * 99);
    }

    proptest! {
        #[test]
        fn merged_are_as_if_they_were_one(
            one in proptest::collection::vec(0..1u64 << 40, 0..1500),
            other in proptest::collection::vec(0..1u64 << 40, 0..1500),
        ) {
            let mut merged = of(&one);
            merged.merge(&of(&other));
            let all = of(&[one, other].concat());
            prop_assert_eq!(merged.figures(0), all.figures(0));
        }

        #[test]
        fn many_are_exact_to_a_percent(all in proptest::collection::vec(0..u64::MAX / 2, 1001..3000)) {
            let times = of(&all);
            let mut sorted = all.clone();
            sorted.sort_unstable();
            for percent in [50usize, 95, 100] {
                let exact = sorted[(sorted.len() * percent).div_ceil(100) - 1];
                let found = times.percentile_ns(percent as u8);
                let off = exact.abs_diff(found);
                prop_assert!(off as f64 <= exact as f64 / 100.0, "{} for {}", found, exact);
            }
        }
    }
}
