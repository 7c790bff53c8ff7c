//! Several records at a time, each on a thread: how bulk data is sealed and
//! opened faster than one core can, where there are cores to spare.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most threads that work at one connection's records, the caller's included.
/// More gain nothing: one thread alone moves what they make through the socket.
const MOST: usize = 4;

/// Threads that help who seals or opens records.
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

impl Crew {
    /// This process's, made when it is first asked for. `None` on a machine
    /// with fewer than four CPUs, where simulator and board need them.
    pub fn of_this_machine() -> Option<&'static Self> {
        static CREW: OnceLock<Option<Crew>> = OnceLock::new();
        let make = || {
            let cpus = std::thread::available_parallelism().map_or(1, usize::from);
            Self::new((cpus / 2).min(MOST).checked_sub(1)?)
        };
        CREW.get_or_init(make).as_ref()
    }

    /// So many helpers; `None` without one.
    pub(super) fn new(helpers: usize) -> Option<Self> {
        if helpers == 0 {
            return None;
        }
        let pool = ThreadPoolBuilder::new().num_threads(helpers);
        let pool = pool.thread_name(|n| format!("records {n}")).build().ok()?;
        Some(Self { pool })
    }

    /// Does each of the jobs, the first ones on the caller's thread. Whether all
    /// of them say that they succeeded.
    pub(super) fn all<J: Send>(
        &self,
        jobs: &mut [J],
        work: impl Fn(&mut J) -> bool + Sync,
    ) -> bool {
        let share = jobs.len().div_ceil(self.pool.current_num_threads() + 1);
        let failed = AtomicBool::new(false);
        let some = |jobs: &mut [J]| {
            if !jobs.iter_mut().all(&work) {
                failed.store(true, Ordering::Relaxed);
            }
        };
        let some = &some;
        self.pool.in_place_scope(|scope| {
            let mut shares = jobs.chunks_mut(share.max(1));
            let own = shares.next();
            for jobs in shares {
                scope.spawn(move |_| some(jobs));
            }
            own.into_iter().for_each(some);
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
}
