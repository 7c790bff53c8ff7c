//! How fast a device works, beside the board's.

/// A clock's rate, and the rate at which the board measures durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    hz: u64,
    board_hz: u64,
}

impl Pace {
    /// At this rate, if the board's is the other one. A rate of 0 is none: the board's pace.
    pub fn new(hz: u64, board_hz: u64) -> Self {
        if hz == 0 || board_hz == 0 {
            return Self::default();
        }
        Self { hz, board_hz }
    }

    /// The clock's rate in hertz; none if it is not known.
    pub fn hz(self) -> Option<u64> {
        (self != Self::default()).then_some(self.hz)
    }

    /// What an operation lasts that takes `duration_ns` on the board.
    pub fn stretch(self, duration_ns: u64) -> u64 {
        let cycles = u128::from(duration_ns) * u128::from(self.board_hz);
        let stretched = (cycles + u128::from(self.hz / 2)) / u128::from(self.hz);
        u64::try_from(stretched).unwrap_or(u64::MAX)
    }
}

/// The board's.
impl Default for Pace {
    fn default() -> Self {
        Self { hz: 1, board_hz: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_many_cycles_of_either_clock() {
        assert_eq!(Pace::default().stretch(u64::MAX), u64::MAX);
        assert_eq!(Pace::new(300, 600).stretch(1_000), 2_000);
        assert_eq!(Pace::new(600, 600).stretch(1_001), 1_001);
        assert_eq!(Pace::new(3, 1).stretch(5), 2);
        assert_eq!(Pace::new(1, u64::MAX).stretch(u64::MAX), u64::MAX);
        assert_eq!(Pace::new(300, 600).hz(), Some(300));
    }

    #[test]
    fn no_rate_is_the_boards_pace() {
        for none in [Pace::new(0, 600), Pace::new(600, 0), Pace::default()] {
            assert_eq!((none.stretch(7), none.hz()), (7, None));
        }
    }
}
