//! How long either end of a connection asks for what comes before it sleeps.
//!
//! To wake a sleeping thread can take longer than all else that a call costs,
//! on a virtual machine several times as long. So an end that had its last
//! message soon asks again and again for the next, for a while; one that had to
//! wait sleeps at once.

use std::time::{Duration, Instant};

/// Longest time to ask again and again: about what it takes to sleep and to be
/// woken. On one machine most calls are answered within it; to another machine
/// and back takes longer, so that nobody spins there.
const MOST: Duration = Duration::from_micros(50);

/// What is known of one end's waits.
#[derive(Clone, Copy, Debug)]
pub struct Spin {
    worth: bool,
    soon: bool,
}

impl Spin {
    /// On a machine with so many CPUs. With one, the peer needs that one.
    pub fn new(cpus: usize) -> Self {
        Self {
            worth: cpus > 1,
            soon: false,
        }
    }

    /// Asks until there is something, for up to 50 us. `None`: sleep; at once,
    /// if the last wait was longer.
    pub fn ask<T>(&self, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
        if !self.soon {
            return None;
        }
        let start = Instant::now();
        loop {
            if let Some(found) = ask() {
                return Some(found);
            }
            if start.elapsed() >= MOST {
                return None;
            }
            std::hint::spin_loop();
        }
    }

    /// A wait is over that took so long, asking included.
    pub fn waited(&mut self, time: Duration) {
        self.soon = self.worth && time < MOST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waited_long_sleeps_and_who_did_not_asks() {
        let mut spin = Spin::new(2);
        let asked = |spin: Spin| spin.ask(|| Some(())).is_some();
        assert!(!asked(spin));
        spin.waited(MOST / 2);
        assert!(asked(spin));
        spin.waited(2 * MOST);
        assert!(!asked(spin));
    }

    #[test]
    fn asking_ends() {
        let mut spin = Spin::new(2);
        spin.waited(Duration::ZERO);
        let mut times = 0;
        let found = spin.ask(|| {
            times += 1;
            None::<()>
        });
        assert!(found.is_none() && times > 0);
    }

    #[test]
    fn one_cpu_is_the_peers() {
        let mut spin = Spin::new(1);
        spin.waited(Duration::ZERO);
        assert!(spin.ask(|| Some(())).is_none());
    }
}
