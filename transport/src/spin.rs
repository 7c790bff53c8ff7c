//! How long either end of a connection asks for what comes before it sleeps.
//!
//! To wake a sleeping thread can take longer than all else that a call costs,
//! on a virtual machine several times as long. So an end that had its last
//! message soon asks again and again for the next, for a while; one that had to
//! wait sleeps at once.

use std::io;
use std::time::{Duration, Instant};

/// Longest time to ask again and again: about what it takes to sleep and to be
/// woken. On one machine most calls are answered within it; to another machine
/// and back takes longer, so that nobody spins there.
const MOST: Duration = Duration::from_micros(50);
/// About what who slept was woken too late.
const WOKEN: Duration = Duration::from_micros(25);
/// Time added for a byte that the other end copies before it says anything,
/// in picoseconds: 3 GB/s.
const BYTE_PS: u64 = 350;
/// Most that is added. To be woken matters little beside more.
const MOST_FOR_BYTES: Duration = Duration::from_micros(400);

/// What is known of one end's waits.
#[derive(Clone, Copy, Debug)]
pub struct Spin {
    worth: bool,
    soon: bool,
    most: Duration,
}

impl Spin {
    /// On a machine with so many CPUs. With one, the peer needs that one.
    pub fn new(cpus: usize) -> Self {
        Self {
            worth: cpus > 1,
            soon: false,
            most: MOST,
        }
    }

    /// On this machine.
    pub fn of_this_machine() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Before the peer's next message, it probably moves so many bytes of regions.
    pub fn expect(&mut self, bytes: u64) {
        let for_bytes = Duration::from_nanos(bytes.saturating_mul(BYTE_PS) / 1000);
        self.most = MOST + for_bytes.min(MOST_FOR_BYTES);
    }

    /// A message is to come: how to ask for it. For up to 50 us, and longer by
    /// what [`expect`](Self::expect)ed bytes take; not at all, if the last wait
    /// was longer.
    pub fn first(&self) -> Asking {
        Asking(self.soon.then_some(self.most))
    }

    /// The peer is sending bytes, some at a time: how to ask for the next of
    /// them. It would have to wake who sleeps between them; so this end asks, as
    /// long as the next always come within 50 us.
    pub fn moving(&self) -> Asking {
        Asking(self.worth.then_some(MOST))
    }

    /// A wait is over that took so long, asking included.
    pub fn waited(&mut self, time: Duration) {
        let woken = if self.soon { Duration::ZERO } else { WOKEN };
        self.soon = self.worth && time < self.most + woken;
    }
}

/// How long to ask before sleeping; by default, not at all.
#[derive(Debug, Default)]
pub struct Asking(Option<Duration>);

impl Asking {
    /// Asks until there is something. `None`: sleep; at once, if asking was in
    /// vain before.
    pub fn ask<T>(&mut self, ask: impl FnMut() -> Option<T>) -> Option<T> {
        let found = self.0.and_then(|most| ask_for(most, ask));
        self.0 = self.0.filter(|_| found.is_some());
        found
    }
}

/// What asking a socket came to that does not wait; `None` if it would have to.
pub fn came<T>(outcome: io::Result<T>) -> Option<io::Result<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        other => Some(other),
    }
}

fn ask_for<T>(most: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = ask() {
            return Some(found);
        }
        if start.elapsed() >= most {
            return None;
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waited_long_sleeps_and_who_did_not_asks() {
        let mut spin = Spin::new(2);
        let asked = |spin: Spin| spin.first().ask(|| Some(())).is_some();
        assert!(!asked(spin));
        spin.waited(MOST / 2);
        assert!(asked(spin));
        spin.waited(2 * MOST);
        assert!(!asked(spin));
        spin.waited(MOST + WOKEN / 2);
        assert!(asked(spin), "it was not the message that took longer");
        spin.waited(MOST + WOKEN / 2);
        assert!(!asked(spin));
    }

    #[test]
    fn bytes_are_given_time_within_bounds() {
        let mut spin = Spin::new(2);
        let soon = |spin: &mut Spin, bytes, us| {
            spin.expect(bytes);
            spin.waited(Duration::from_micros(us));
            spin.soon
        };
        assert!(soon(&mut spin, 0, 49));
        assert!(!soon(&mut spin, 0, 50));
        assert!(soon(&mut spin, 1 << 20, 400));
        assert!(!soon(&mut spin, 1 << 20, 420));
        assert!(soon(&mut spin, u64::MAX, 449));
        assert!(!soon(&mut spin, u64::MAX, 450));
    }

    #[test]
    fn asking_ends() {
        let mut spin = Spin::new(2);
        spin.waited(Duration::ZERO);
        let mut times = 0;
        let found = spin.first().ask(|| {
            times += 1;
            None::<()>
        });
        assert!(found.is_none() && times > 0);
    }

    #[test]
    fn asking_goes_on_for_a_while() {
        let mut spin = Spin::new(2);
        spin.waited(Duration::ZERO);
        spin.expect(u64::MAX);
        let mut times = 0;
        for _ in 0..10 {
            let nothing: Option<()> = spin.first().ask(|| {
                times += 1;
                None
            });
            assert_eq!(nothing, None);
        }
        assert!(times > 10, "once each");
    }

    #[test]
    fn bytes_that_stop_coming_are_slept_for() {
        let mut moving = Spin::new(2).moving();
        assert_eq!(moving.ask(|| Some(1)), Some(1));
        assert_eq!(moving.ask(|| None::<u8>), None);
        assert_eq!(moving.ask(|| Some(1)), None);
        assert_eq!(Spin::new(1).moving().ask(|| Some(1)), None);
    }

    #[test]
    fn one_cpu_is_the_peers() {
        let mut spin = Spin::new(1);
        spin.waited(Duration::ZERO);
        assert!(spin.first().ask(|| Some(())).is_none());
    }
}
