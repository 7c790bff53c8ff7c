//! The rates that a governor in the guest may set the target's GPU to, and how long
//! operations last then.

use gil_uapi::clock;
use std::collections::BTreeMap;

/// All of them, with the one that the clock has. The default: it is not the guest's to set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    hz: u64,
    /// For each rate how many times as long as on the board an API's operations last.
    all: BTreeMap<u64, Vec<(u16, f64)>>,
}

/// No number in it is what differs from itself.
impl Eq for Rates {}

impl Rates {
    /// The clock begins at this rate.
    pub fn begin(&mut self, hz: u64) {
        self.hz = hz;
    }

    /// It can have this rate, at which operations of an API last so many times as long.
    /// `None` if the rate is 0, there are too many, or the factor is no finite number above 0.
    pub fn add(&mut self, hz: u64, api: u16, factor: f64) -> Option<()> {
        let is_usable = hz > 0 && factor.is_finite() && factor > 0.0;
        let has_room = self.all.len() < clock::RATES_MAX || self.all.contains_key(&hz);
        (is_usable && has_room).then(|| self.all.entry(hz).or_default().push((api, factor)))
    }

    /// Whether there are any.
    pub fn are_there(&self) -> bool {
        !self.all.is_empty()
    }

    /// Sets the rate; each API's factor from now on, or `None` if it is none of these.
    pub fn set(&mut self, hz: u64) -> Option<Vec<(u16, f64)>> {
        let factors = self.all.get(&hz)?.clone();
        self.hz = hz;
        Some(factors)
    }

    /// All of it, as the driver gets it.
    pub fn answer(&self) -> Vec<u64> {
        let mut answer: Vec<u64> = self.all.keys().copied().collect();
        answer.resize(clock::RATE, 0);
        answer.push(self.hz);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rates_that_there_are_can_be_set() {
        let mut rates = Rates::default();
        assert!(!rates.are_there());
        rates.begin(500);
        rates.add(600, 1, 1.0).unwrap();
        rates.add(300, 1, 2.0).unwrap();
        rates.add(300, 2, 1.5).unwrap();
        assert_eq!(rates.set(500), None);
        assert_eq!(rates.answer()[..3], [300, 600, 0]);
        assert_eq!(rates.answer()[clock::RATE], 500);
        assert_eq!(rates.set(300), Some(vec![(1, 2.0), (2, 1.5)]));
        assert_eq!(rates.answer()[clock::RATE], 300);
    }

    #[test]
    fn rates_are_bounded_and_factors_above_0() {
        let mut rates = Rates::default();
        for (hz, factor) in [(0, 1.0), (1, 0.0), (1, f64::NAN)] {
            assert_eq!(rates.add(hz, 1, factor), None);
        }
        let taken = (1..100).take_while(|hz| rates.add(*hz, 1, 1.0).is_some());
        assert_eq!(taken.count(), clock::RATES_MAX);
        assert_eq!(rates.answer().len(), 16);
    }
}
