//! What a call took on the CPU. In a process of its own: threads that another test starts
//! would be the call's.

use gil_board::back_end::cpu_time::{look, measure};
use nix::time::{ClockId, clock_gettime};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const LASTS: Duration = Duration::from_millis(40);

fn executed() -> Duration {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    now.unwrap().into()
}

/// Executes for so long.
fn work(lasts: Duration) {
    let began = executed();
    while executed() - began < lasts {}
}

fn is_about(found: Duration, expected: Duration) {
    let range = expected.mul_f64(0.9)..expected.mul_f64(1.3);
    assert!(range.contains(&found), "{found:?} and not {expected:?}");
}

#[test]
fn work_counts_that_a_call_does_or_starts_and_no_other() {
    let stop = Arc::new(AtomicBool::new(false));
    let busy = |stop: Arc<AtomicBool>| move || while !stop.load(Ordering::Relaxed) {};
    let others: Vec<_> = (0..4).map(|_| thread::spawn(busy(stop.clone()))).collect();
    look();
    let ((), slept) = measure(|| {
        work(LASTS);
        thread::sleep(LASTS);
    });
    is_about(slept, LASTS);
    let ((), started) = measure(|| {
        let threads = [(); 2].map(|()| thread::spawn(|| work(LASTS)));
        threads.into_iter().for_each(|it| it.join().unwrap());
    });
    is_about(started, 2 * LASTS);
    let ((), called) = measure(|| {
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        Command::new("sh").args(["-c", script]).status().unwrap();
    });
    assert!(called > Duration::from_millis(5), "{called:?}");
    let ((), short) = measure(|| ());
    assert!(short < Duration::from_millis(1), "{short:?}");
    stop.store(true, Ordering::Relaxed);
    others.into_iter().for_each(|it| it.join().unwrap());
}
