//! Predicts simulated time from the guest's instructions: a test of all other code.
//!
//! At one nanosecond an instruction (QEMU's `-icount shift=0`, one vCPU), time
//! passes only by instructions and by idling; and while one thread uses the
//! GPU, the CPU idles only in waits for it:
//!
//! ```text
//! simulated = sum(deadline - doorbell of each wait)
//!           + instructions executed outside of those waits
//! ```
//!
//! A wait ends at its deadline, when the CPU leaves its last idling before the next
//! doorbell; where the CPU did not idle, the driver spun, and the wait is made of as
//! many instructions. A program's own sleeps are not predicted. A doorbell rings a few
//! instructions after the driver read the clock; after each wait these count twice,
//! some tens of nanoseconds.

use gil_report::Guest;
use gil_uapi::WaitKind;

/// Instruction counts at doorbells and when the CPU idled.
#[derive(Debug, Default)]
pub struct Prediction {
    guest: Guest,
    /// The doorbell before: instructions, and the wait it began.
    last: Option<(u64, Option<Wait>)>,
    idled_at: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    len_ns: u64,
}

impl Prediction {
    /// The program starts, at a doorbell.
    pub fn start(&mut self, instructions: u64) {
        *self = Self::default();
        self.last = Some((instructions, None));
    }

    /// The CPU idles, having executed so many instructions.
    pub fn idle(&mut self, instructions: u64) {
        self.idled_at = Some(instructions);
    }

    /// A doorbell rings.
    pub fn doorbell(&mut self, instructions: u64) {
        let Some((before, wait)) = self.last.take() else {
            return;
        };
        let executed = instructions.saturating_sub(before);
        self.guest.instructions += executed;
        match (wait, self.idled_at.take()) {
            (Some(wait), Some(idled_at)) => {
                self.guest.waits_ns += wait.len_ns;
                self.guest.instructions_outside_waits += instructions.saturating_sub(idled_at);
            }
            (Some(wait), None) if executed >= wait.len_ns => {
                self.guest.waits_ns += wait.len_ns;
                self.guest.instructions_outside_waits += executed - wait.len_ns;
            }
            _ => self.guest.instructions_outside_waits += executed,
        }
        self.guest.predicted_ns = self.guest.waits_ns + self.guest.instructions_outside_waits;
        self.last = Some((instructions, None));
    }

    /// The doorbell is answered.
    pub fn answered(&mut self, now_ns: u64, deadline_ns: u64, kind: WaitKind) {
        let len_ns = deadline_ns.saturating_sub(now_ns);
        if let Some((_, wait)) = &mut self.last
            && kind != WaitKind::None
            && len_ns > 0
        {
            *wait = Some(Wait { len_ns });
        }
    }

    /// What was found up to the last doorbell.
    pub fn guest(&self) -> Guest {
        self.guest.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_replace_the_instructions_within_them() {
        let mut prediction = Prediction::default();
        prediction.doorbell(5);
        prediction.start(1000);
        prediction.doorbell(1500); // 500 outside
        prediction.answered(10_000, 15_000, WaitKind::Sleep);
        prediction.idle(1600);
        prediction.idle(1700); // a tick in between: the later one counts
        prediction.doorbell(1950); // 250 outside, 5000 waited
        prediction.answered(16_000, 16_000, WaitKind::None);
        prediction.doorbell(2000); // 50 outside
        prediction.answered(17_000, 17_010, WaitKind::Occupy);
        prediction.doorbell(2100); // never idled: 10 of them waited, 90 outside
        prediction.answered(18_000, 18_500, WaitKind::Sleep);
        prediction.doorbell(2150); // another thread rings before the wait's end
        let guest = prediction.guest();
        assert_eq!(guest.instructions, 1150);
        assert_eq!(guest.instructions_outside_waits, 940);
        assert_eq!(guest.waits_ns, 5010);
        assert_eq!(guest.predicted_ns, 5950);
    }
}
