//! What a target adds to what a board measured.

use crate::{Clocks, Delays, Engine, Transfer};

/// Nanoseconds and factors that a board's profile has of one API's operations. The default
/// changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Nanoseconds of the CPU for which an operation is submitted: those of one queue are
    /// submitted one after the other.
    pub submit_ns: u64,
    /// What passes before an operation starts.
    pub delays: Delays,
    /// What the first operation after a pause waits for besides.
    pub wake: Wake,
    /// Nanoseconds from the end of an operation until a thread that waits for it goes on.
    pub completion_ns: u64,
    /// Nanoseconds by which each call that nobody waits for takes less of the CPU than on the
    /// board.
    pub post_ns: u64,
    /// What an operation lasts on the target, at the board's frequencies.
    pub line: Line,
    /// At the target's frequencies.
    pub clocks: Clocks,
    /// What copies to the device and from it take, if not as long as on the board.
    pub copies: Copies,
}

/// A device and its driver that go to sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// Nanoseconds until they are awake.
    pub wake_ns: u64,
    /// Nanoseconds without an operation after which they sleep.
    pub idle_ns: u64,
}

impl Wake {
    /// What an operation waits for that is submitted then, if the last one ended then and
    /// none is under way. What never was has ended at 0.
    pub const fn at(self, submit_ns: u64, last_end_ns: u64) -> u64 {
        match submit_ns.saturating_sub(last_end_ns) > self.idle_ns {
            true => self.wake_ns,
            false => 0,
        }
    }
}

/// What copies take on the target, if not as long as on the board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// To the device.
    pub to: Option<Transfer>,
    /// From the device.
    pub from: Option<Transfer>,
}

/// What the board says of an operation, and when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Nanoseconds by the board's timers.
    pub duration_ns: u64,
    /// Bytes that it brought to the device or from it.
    pub bytes: u64,
    /// When it starts on the target.
    pub start_ns: u64,
}

impl Costs {
    /// Nothing is added.
    pub const NONE: Self = Self {
        submit_ns: 0,
        delays: Delays {
            launch_ns: 0,
            gap_ns: 0,
        },
        wake: Wake {
            wake_ns: 0,
            idle_ns: 0,
        },
        completion_ns: 0,
        post_ns: 0,
        line: Line::SAME,
        clocks: Clocks::SAME,
        copies: Copies {
            to: None,
            from: None,
        },
    };

    /// What an operation lasts on the target. What takes no time on the board takes none.
    pub fn lasts(&self, engine: Engine, measured: &Measured) -> u64 {
        match (measured.duration_ns, self.transfer(engine)) {
            (0, _) => 0,
            (_, Some(transfer)) => transfer.of(measured.bytes),
            (duration_ns, None) => {
                let duration_ns = self.line.at(duration_ns);
                match engine {
                    Engine::COPY_IN | Engine::COPY_OUT => duration_ns,
                    _ => self.clocks.at(measured.start_ns, duration_ns),
                }
            }
        }
    }

    /// What its copies take, if not as long as on the board.
    pub fn transfer(&self, engine: Engine) -> Option<&Transfer> {
        match engine {
            Engine::COPY_IN => self.copies.to.as_ref(),
            Engine::COPY_OUT => self.copies.from.as_ref(),
            _ => None,
        }
    }

    /// When a thread goes on that waits for what ends then. What never was has ended at 0.
    pub const fn seen(&self, end_ns: u64) -> u64 {
        match end_ns {
            0 => 0,
            _ => end_ns.saturating_add(self.completion_ns),
        }
    }
}

/// No number in it is what differs from itself.
impl Eq for Costs {}

impl Default for Costs {
    fn default() -> Self {
        Self::NONE
    }
}

/// A straight line from measured to simulated durations, as a regression finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    scale: f64,
    offset_ns: i64,
}

/// Its scale is never what differs from itself.
impl Eq for Line {}

impl Line {
    /// Durations stay as they are.
    pub const SAME: Self = Self {
        scale: 1.0,
        offset_ns: 0,
    };

    /// `scale` times the duration and `offset_ns`; `None` unless the scale is a finite number
    /// above 0.
    pub fn new(scale: f64, offset_ns: i64) -> Option<Self> {
        let is_usable = scale.is_finite() && scale > 0.0;
        is_usable.then_some(Self { scale, offset_ns })
    }

    /// The factor.
    pub const fn scale(self) -> f64 {
        self.scale
    }

    /// Nanoseconds that are added.
    pub const fn offset_ns(self) -> i64 {
        self.offset_ns
    }

    /// What lasts so long on the board lasts this long; what takes no time, none.
    pub fn at(self, duration_ns: u64) -> u64 {
        match duration_ns {
            0 => 0,
            _ if self == Self::SAME => duration_ns,
            _ => scaled(duration_ns, self.scale).saturating_add_signed(self.offset_ns),
        }
    }
}

/// How many times as long the target's CPU takes for what the board's CPU does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuRatio(f64);

impl CpuRatio {
    /// The same CPU.
    pub const SAME: Self = Self(1.0);

    /// `None` unless it is a finite number above 0.
    pub fn new(ratio: f64) -> Option<Self> {
        (ratio.is_finite() && ratio > 0.0).then_some(Self(ratio))
    }

    /// What takes so long on the board's CPU.
    pub fn at(self, cpu_ns: u64) -> u64 {
        match self {
            Self::SAME => cpu_ns,
            Self(ratio) => scaled(cpu_ns, ratio),
        }
    }
}

/// It is never what differs from itself.
impl Eq for CpuRatio {}

impl Default for CpuRatio {
    fn default() -> Self {
        Self::SAME
    }
}

pub(crate) fn scaled(ns: u64, by: f64) -> u64 {
    // A float that is too great becomes the greatest number.
    (ns as f64 * by).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_follow_the_line() {
        let line = Line::new(1.5, -20).unwrap();
        assert_eq!([0, 1, 100].map(|ns| line.at(ns)), [0, 0, 130]);
        assert_eq!(Line::new(2.0, 7).unwrap().at(u64::MAX), u64::MAX);
        assert_eq!(Line::SAME.at(u64::MAX - 1), u64::MAX - 1);
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Line::new(scale, 0), None);
            assert_eq!(CpuRatio::new(scale), None);
        }
    }

    #[test]
    fn a_slower_cpu_takes_longer() {
        assert_eq!(CpuRatio::new(2.5).unwrap().at(1001), 2503);
        assert_eq!(CpuRatio::SAME.at(u64::MAX - 1), u64::MAX - 1);
    }

    #[test]
    fn kernels_follow_clocks_and_copies_their_bandwidth() {
        let mut clocks = Clocks::SAME;
        clocks.change(50, 3.0).unwrap();
        let costs = Costs {
            line: Line::new(2.0, 1).unwrap(),
            clocks,
            copies: Copies {
                to: Transfer::new(7, 1e9),
                from: None,
            },
            ..Costs::NONE
        };
        let lasts = |engine, duration_ns, start_ns| {
            let bytes = 100;
            costs.lasts(
                engine,
                &Measured {
                    duration_ns,
                    bytes,
                    start_ns,
                },
            )
        };
        let engines = [Engine(1), Engine::COPY_IN, Engine::COPY_OUT];
        assert_eq!(engines.map(|engine| lasts(engine, 10, 49)), [21, 107, 21]);
        assert_eq!(engines.map(|engine| lasts(engine, 10, 50)), [63, 107, 21]);
        assert_eq!(engines.map(|engine| lasts(engine, 0, 50)), [0, 0, 0]);
    }

    #[test]
    fn a_pause_lets_the_device_sleep() {
        let wake = Wake {
            wake_ns: 30,
            idle_ns: 100,
        };
        assert_eq!([150, 200, 201].map(|at| wake.at(at, 100)), [0, 0, 30]);
        assert_eq!(wake.at(90, 100), 0, "it is not idle yet");
        assert_eq!(Wake::default().at(u64::MAX, 0), 0);
    }

    #[test]
    fn who_waits_sees_the_end_later() {
        let costs = Costs {
            completion_ns: 9,
            ..Costs::NONE
        };
        assert_eq!([0, 5, u64::MAX].map(|ns| costs.seen(ns)), [0, 14, u64::MAX]);
    }
}
