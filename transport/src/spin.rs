//! How long either end of a connection asks for what comes before it sleeps.
//!
//! To wake a sleeping thread can take longer than all else that a call costs,
//! on a virtual machine several times as long. So an end that had its last
//! message soon asks again and again for the next, for a while; one that had to
//! wait sleeps at once.
//!
//! Where others need the CPU, asking delays them, and the peer may be among them:
//! the scheduler takes the CPU from a thread that asks, for milliseconds, and wakes
//! one that sleeps at once. So an end that notices this ([`Rest`]) sleeps during its
//! next waits, more of them each time.

use std::io;
use std::time::{Duration, Instant};

/// Longest time to ask again and again: a few times what it takes to sleep and to be
/// woken, since both ends sleep and are woken in every call once one of them does. On
/// one machine most calls are answered within it.
const MOST: Duration = Duration::from_micros(150);
/// About what who slept was woken too late.
const WOKEN: Duration = Duration::from_micros(25);
/// Time added for a byte that the other end copies before it says anything,
/// in picoseconds: 3 GB/s.
const BYTE_PS: u64 = 350;
/// Most that is added. To be woken matters little beside more.
const MOST_FOR_BYTES: Duration = Duration::from_micros(400);

/// Time between two looks at the socket that says that another thread had the
/// CPU: the scheduler gives it for longer, and an interrupt or a hypervisor takes
/// less.
const INTERRUPTED: Duration = Duration::from_micros(500);
/// Waits without asking after the first interruption, and most of them. What an
/// interruption costs is divided among them.
const FIRST_REST: u32 = 128;
const LONGEST_REST: u32 = 4096;
/// Waits with asking and without an interruption after which the next one counts
/// as the first. A thread that shares its CPU is interrupted within fewer.
const CALM: u32 = 512;

/// What is known of one end's waits.
#[derive(Clone, Copy, Debug)]
pub struct Spin {
    worth: bool,
    soon: bool,
    most: Duration,
    /// Times in a row that what was asked for in vain came as soon as nobody
    /// asked any more.
    in_the_way: u32,
    rest: Rest,
}

/// Waits during which nobody asks, since the CPU is needed.
#[derive(Clone, Copy, Debug)]
struct Rest {
    left: u32,
    next: u32,
    calm: u32,
}

impl Rest {
    fn new() -> Self {
        Self {
            left: 0,
            next: FIRST_REST,
            calm: 0,
        }
    }

    fn is_over(&self) -> bool {
        self.left == 0
    }

    /// A wait is over, in which this end asked, or slept all the time.
    fn waited(&mut self, has_asked: bool, was_interrupted: bool) {
        if was_interrupted {
            self.left = self.next;
            self.next = (2 * self.next).min(LONGEST_REST);
            self.calm = 0;
        } else if has_asked {
            self.calm = (self.calm + 1).min(CALM);
            if self.calm == CALM {
                self.next = FIRST_REST;
            }
        } else {
            self.left = self.left.saturating_sub(1);
        }
    }
}

impl Spin {
    /// On a machine with so many CPUs. With one, the peer needs that one.
    pub fn new(cpus: usize) -> Self {
        Self {
            worth: cpus > 1,
            soon: false,
            most: MOST,
            in_the_way: 0,
            rest: Rest::new(),
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

    /// A message is to come: how to ask for it. For up to 150 us, and longer by
    /// what [`expect`](Self::expect)ed bytes take; not at all, if the last wait
    /// was longer, or others need the CPU.
    pub fn first(&self) -> Asking {
        Asking::up_to((self.soon && self.rest.is_over()).then_some(self.most))
    }

    /// The peer is sending bytes, some at a time: how to ask for the next of
    /// them. It would have to wake who sleeps between them; so this end asks, as
    /// long as the next always come within 150 us.
    pub fn moving(&self) -> Asking {
        Asking::up_to((self.worth && self.rest.is_over()).then_some(MOST))
    }

    /// A wait is over that took so long, asking as [`first`](Self::first) said
    /// included.
    pub fn waited(&mut self, time: Duration, asking: &Asking) {
        let woken = if asking.has_asked {
            Duration::ZERO
        } else {
            WOKEN
        };
        if asking.has_asked {
            let was_in_the_way = asking.has_ended() && time < self.most + WOKEN;
            self.in_the_way = if was_in_the_way {
                self.in_the_way + 1
            } else {
                0
            };
        }
        // Once, the peer was slow. Again, it waited for this CPU.
        let was_interrupted = asking.was_interrupted || self.in_the_way > 1;
        self.in_the_way = self.in_the_way.min(1);
        self.rest.waited(asking.has_asked, was_interrupted);
        self.soon = self.worth && time < self.most + woken;
    }
}

/// How long to ask before sleeping; by default, not at all. And how that went.
#[derive(Debug, Default)]
pub struct Asking {
    most: Option<Duration>,
    has_asked: bool,
    was_interrupted: bool,
}

impl Asking {
    fn up_to(most: Option<Duration>) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Asks until there is something. `None`: sleep; at once, if asking was in
    /// vain before.
    pub fn ask<T>(&mut self, ask: impl FnMut() -> Option<T>) -> Option<T> {
        let found = self.ask_for(self.most?, ask);
        self.most = self.most.filter(|_| found.is_some());
        found
    }

    /// Whether it was in vain.
    fn has_ended(&self) -> bool {
        self.has_asked && self.most.is_none()
    }

    fn ask_for<T>(&mut self, most: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
        let start = Instant::now();
        let mut last = Duration::ZERO;
        self.has_asked = true;
        loop {
            let found = ask();
            let now = start.elapsed();
            self.was_interrupted |= now - last >= INTERRUPTED;
            last = now;
            if found.is_some() || now >= most {
                return found;
            }
            std::hint::spin_loop();
        }
    }
}

/// What asking a socket came to that does not wait; `None` if it would have to.
pub fn came<T>(outcome: io::Result<T>) -> Option<io::Result<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody asked, whatever the machine did meanwhile.
    fn slept() -> Asking {
        Asking::default()
    }

    /// Asking that found something, or was in vain, on a machine that is quiet.
    fn asked(is_in_vain: bool) -> Asking {
        Asking {
            most: (!is_in_vain).then_some(MOST),
            has_asked: true,
            was_interrupted: false,
        }
    }

    fn interrupted() -> Asking {
        Asking {
            was_interrupted: true,
            ..asked(false)
        }
    }

    fn asks(spin: &Spin) -> bool {
        let (first, moving) = (spin.first().most, spin.moving().most);
        assert!(first.is_none() || moving.is_some());
        first.is_some()
    }

    #[test]
    fn who_waited_long_sleeps_and_who_did_not_asks() {
        let mut spin = Spin::new(2);
        assert!(!asks(&spin));
        spin.waited(MOST / 2, &slept());
        assert!(asks(&spin));
        spin.waited(2 * MOST, &asked(true));
        assert!(!asks(&spin));
        spin.waited(MOST + WOKEN / 2, &slept());
        assert!(asks(&spin), "it was not the message that took longer");
        spin.waited(MOST + WOKEN, &asked(true));
        assert!(!asks(&spin));
    }

    /// How many waits pass, asleep, until this end asks again.
    fn rest(spin: &mut Spin) -> u32 {
        let mut waits = 0;
        while spin.moving().most.is_none() {
            assert!(!asks(spin));
            spin.waited(Duration::ZERO, &slept());
            waits += 1;
        }
        waits
    }

    #[test]
    fn who_is_interrupted_sleeps_for_more_and_more_waits() {
        let mut spin = Spin::new(2);
        let mut expected = FIRST_REST;
        for _ in 0..20 {
            spin.waited(Duration::ZERO, &interrupted());
            assert_eq!(rest(&mut spin), expected);
            expected = (2 * expected).min(LONGEST_REST);
        }
        assert_eq!(expected, LONGEST_REST);
        for _ in 0..CALM {
            assert!(asks(&spin));
            spin.waited(Duration::ZERO, &asked(false));
        }
        spin.waited(Duration::ZERO, &interrupted());
        assert_eq!(rest(&mut spin), FIRST_REST);
    }

    #[test]
    fn who_was_in_the_way_of_the_peer_sleeps() {
        let mut spin = Spin::new(2);
        spin.waited(MOST + WOKEN / 2, &asked(true));
        assert_eq!(rest(&mut spin), 0, "the peer may have been slow");
        spin.waited(MOST + WOKEN / 2, &asked(true));
        assert_eq!(rest(&mut spin), FIRST_REST);
        spin.waited(MOST + WOKEN / 2, &asked(true));
        assert_eq!(rest(&mut spin), 2 * FIRST_REST);
        spin.waited(Duration::ZERO, &asked(false));
        spin.waited(MOST + WOKEN / 2, &asked(true));
        assert_eq!(rest(&mut spin), 0);
        let mut spin = Spin::new(2);
        spin.waited(MOST + WOKEN, &asked(true));
        assert!(spin.moving().most.is_some(), "the peer had work to do");
    }

    #[test]
    fn a_long_time_between_two_looks_is_an_interruption() {
        let mut asking = Asking::up_to(Some(Duration::MAX));
        let late = asking.ask(|| {
            std::thread::sleep(INTERRUPTED);
            Some(())
        });
        assert!(late.is_some() && asking.was_interrupted);
        assert!(!Asking::up_to(None).was_interrupted);
    }

    #[test]
    fn bytes_are_given_time_within_bounds() {
        let mut spin = Spin::new(2);
        let soon = |spin: &mut Spin, bytes, us| {
            spin.expect(bytes);
            spin.waited(Duration::from_micros(us), &asked(false));
            spin.soon
        };
        assert!(soon(&mut spin, 0, 149));
        assert!(!soon(&mut spin, 0, 150));
        assert!(soon(&mut spin, 1 << 20, 500));
        assert!(!soon(&mut spin, 1 << 20, 520));
        assert!(soon(&mut spin, u64::MAX, 549));
        assert!(!soon(&mut spin, u64::MAX, 550));
    }

    #[test]
    fn asking_ends() {
        let mut spin = Spin::new(2);
        spin.waited(Duration::ZERO, &slept());
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
        spin.waited(Duration::ZERO, &slept());
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
        spin.waited(Duration::ZERO, &slept());
        assert!(spin.first().ask(|| Some(())).is_none());
    }
}
