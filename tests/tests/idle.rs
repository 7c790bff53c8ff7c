//! A guest that has nothing to do costs no wall time: its kernel wakes seldom, and
//! QEMU passes over the time between.

use gil_tests::Run;

/// Simulated seconds.
const IDLE: u64 = 2000;
/// Timer interrupts in them; a stock kernel has 11,000.
const MOST: u64 = 1500;

#[test]
fn an_idle_guest_wakes_seldom() {
    let count = "grep arch_timer /proc/interrupts";
    let script = format!("{count}; sleep {IDLE}; {count}");
    let run = Run::new(["sh", "-c", &script]).finish().ok();
    let counts = run.stdout.lines().map(|line| {
        let count = line.split_whitespace().nth(1);
        count.and_then(|count| count.parse::<u64>().ok())
    });
    let counts: Vec<_> = counts.collect();
    let [Some(before), Some(after)] = counts[..] else {
        panic!("{run:#?}");
    };
    assert!(after - before <= MOST, "{before} to {after}");
}
