//! A machine that is busy: a loop on each CPU that this process may use.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The calling thread, to the scheduler.
const THIS_THREAD: Pid = Pid::from_raw(0);

/// Loops that run until this is dropped.
pub struct Loops {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Loops {
    /// One on each CPU, bound to it.
    ///
    /// # Errors
    /// The system's.
    pub fn start() -> io::Result<Self> {
        let mut loops = Self {
            stop: Arc::default(),
            threads: Vec::new(),
        };
        let usable = sched_getaffinity(THIS_THREAD)?;
        for cpu in (0..CpuSet::count()).filter(|&cpu| usable.is_set(cpu) == Ok(true)) {
            let stop = loops.stop.clone();
            let thread = std::thread::Builder::new().name(format!("loop {cpu}"));
            loops.threads.push(thread.spawn(move || run(cpu, &stop))?);
        }
        Ok(loops)
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It only counts.
            let _ = thread.join();
        }
    }
}

/// Keeps this CPU busy until it is stopped.
fn run(cpu: usize, stop: &AtomicBool) {
    let mut only = CpuSet::new();
    // A CPU that went away leaves the loop where the system puts it.
    let _ = only
        .set(cpu)
        .and_then(|()| sched_setaffinity(THIS_THREAD, &only));
    while !stop.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::cores;

    #[test]
    fn each_cpu_has_a_loop_of_its_own_that_ends() {
        let loops = Loops::start().unwrap();
        assert_eq!(loops.threads.len(), cores());
        let stop = loops.stop.clone();
        drop(loops);
        assert_eq!(Arc::strong_count(&stop), 1);
    }
}
