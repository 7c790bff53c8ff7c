//! Threads that encrypt, decrypt or copy pieces of bulk data in parallel, on machines
//! with spare cores.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Most threads that work at one connection's data, the caller's included.
/// More gain little: one thread alone moves sealed bytes through the socket, and
/// a few fill the way to memory.
const MOST: usize = 4;

/// Threads that help who has bulk data.
pub struct Crew {
    pool: ThreadPool,
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Crew")
            .field(&self.pool.current_num_threads())
            .finish()
    }
}

/// How many threads help on a machine with so many CPUs.
fn helpers(cpus: usize) -> usize {
    (cpus / 2).min(MOST).saturating_sub(1)
}

impl Crew {
    /// This process's, made when it is first asked for. `None` on a machine
    /// with fewer than four CPUs, where simulator and board need them.
    pub fn of_this_machine() -> Option<&'static Self> {
        static CREW: OnceLock<Option<Crew>> = OnceLock::new();
        let make = || {
            let cpus = std::thread::available_parallelism().map_or(1, usize::from);
            Self::new(helpers(cpus))
        };
        CREW.get_or_init(make).as_ref()
    }

    /// So many helpers; `None` without one.
    pub fn new(helpers: usize) -> Option<Self> {
        if helpers == 0 {
            return None;
        }
        let pool = ThreadPoolBuilder::new().num_threads(helpers);
        let pool = pool.thread_name(|n| format!("gil crew {n}"));
        let pool = pool.build().ok()?;
        Some(Self { pool })
    }

    /// Does each of the jobs, the first one on the caller's thread; who is done
    /// takes the next, so that a helper that sleeps long keeps nobody waiting for
    /// its share. Whether all of them say that they succeeded; after one that
    /// does not, some may not be done.
    pub fn all<J: Send>(&self, jobs: &mut [J], work: impl Fn(&mut J) -> bool + Sync) -> bool {
        let others = jobs.len().saturating_sub(1);
        let failed = AtomicBool::new(false);
        let left = Mutex::new(jobs.iter_mut());
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let some = |first: Option<&mut J>| {
            let mut job = first;
            while let Some(one) = job.filter(|_| !failed.load(Ordering::Relaxed)) {
                if !work(one) {
                    failed.store(true, Ordering::Relaxed);
                }
                job = next();
            }
        };
        let some = &some;
        self.pool.in_place_scope(|scope| {
            let first = next();
            for _ in 0..others.min(self.pool.current_num_threads()) {
                scope.spawn(|_| some(next()));
            }
            some(first);
        });
        !failed.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_and_a_failure_is_told() {
        let crew = Crew::new(2).unwrap();
        for count in 0..9 {
            let mut jobs = vec![0; count];
            assert!(crew.all(&mut jobs, |job| {
                *job += 1;
                true
            }));
            assert!(jobs.iter().all(|&times| times == 1));
        }
        assert!(!crew.all(&mut [1, 2, 3, 4, 5], |&mut job| job != 5));
        assert!(Crew::new(0).is_none());
    }

    #[test]
    fn half_of_the_cpus_work_and_no_more_than_four() {
        let cpus = [1, 2, 3, 4, 6, 8, 64];
        assert_eq!(cpus.map(helpers), [0, 0, 0, 1, 2, 3, 3]);
    }
}
