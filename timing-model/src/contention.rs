//! Processors of a device that slow each other down.

/// How many times as long an operation lasts on one of a device's processors
/// ([`Engine::is_processor`](crate::Engine::is_processor)) if another of them is
/// at work when it starts: a number from 1 on.
///
/// The board measured operations that ran alone. On the simulated device several may
/// run at once, and share its memory. Only the start counts: an interval that was
/// published is not revised when an operation begins beside it. Of two that start at
/// the same moment, the first to be published runs undisturbed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contention(f64);

impl Contention {
    /// Processors do not disturb each other.
    pub const NONE: Self = Self(1.0);

    /// With this factor; `None` for one below 1, and for what is no finite number.
    pub fn new(factor: f64) -> Option<Self> {
        (factor.is_finite() && factor >= 1.0).then_some(Self(factor))
    }

    /// The factor.
    pub const fn factor(self) -> f64 {
        self.0
    }

    /// Whether it changes anything.
    pub(crate) fn counts(self) -> bool {
        self != Self::NONE
    }

    /// What an operation lasts that takes `duration_ns` alone.
    pub(crate) fn stretch(self, duration_ns: u64) -> u64 {
        // A float that is too great becomes the greatest number.
        (duration_ns as f64 * self.0).round() as u64
    }
}

/// It is never what differs from itself.
impl Eq for Contention {}

impl Default for Contention {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_a_finite_number_from_1_on() {
        for bad in [0.0, 0.999, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Contention::new(bad), None);
        }
        assert_eq!(Contention::new(1.0), Some(Contention::NONE));
        assert!(!Contention::default().counts());
    }

    #[test]
    fn durations_are_rounded_and_do_not_overflow() {
        let factor = Contention::new(2.1).unwrap();
        assert!(factor.counts());
        assert_eq!(factor.stretch(0), 0);
        assert_eq!(factor.stretch(1), 2);
        assert_eq!(factor.stretch(1_460_000), 3_066_000);
        assert_eq!(factor.stretch(u64::MAX), u64::MAX);
    }
}
