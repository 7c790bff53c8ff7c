//! Power and clock of a GPU whose registers are gil's, as the kernel's own panfrost and lima
//! use them.

use gil_tests::stand_in::{Board, jobs};
use gil_tests::{Finished, Link, guest_program};
use serde_json::Value;
use std::collections::BTreeMap;

const GPUS: [&str; 2] = ["mali-t628", "mali-400"];
const TIMES: &str = "slot1=20000;slot0=90000;gp=20000;pp=90000";

/// A program keeps its buffers while the GPU is powered down and up again.
#[test]
fn values_are_written_before_and_after_a_suspension() {
    let board = Board::new(TIMES, 30_000);
    let program = guest_program("tests/guest/panfrost_power.c", Link::Static);
    let program = program.display().to_string();
    let run = board.run_as(["--gpu", "mali-t628"], &[], &[&program]).ok();
    assert_eq!(run.stdout.matches("ok ").count(), 2, "{run:#?}");
    assert!(!run.stdout.contains("not ok"), "{run:#?}");
}

/// Mesa draws on when the kernel has suspended the GPU, by either driver.
#[test]
fn mesa_draws_on_after_a_suspension() {
    for gpu in GPUS {
        let board = Board::new(TIMES, 30_000);
        let program = guest_program("tests/guest/gles_power.c", Link::Gles);
        let file = format!("{}:/root/draw", program.display());
        let script = "/root/draw && dmesg | grep -E 'panfrost|lima|gpu ' \
                      | grep -ciE 'timeout|fault|hang|not idle' || true";
        let options = ["--file", &file];
        let run = board.run_as(["--gpu", gpu], &options, &["sh", "-c", script]);
        let run = run.ok();
        let lines: Vec<_> = run.stdout.lines().collect();
        assert_eq!(
            lines,
            ["5 frames, 4 times suspended, error 0", "0"],
            "{run:#?}"
        );
        let processors = [["slot1", "slot0"], ["gp", "pp"]].concat();
        let all: Vec<_> = processors.iter().map(|it| jobs(&board.log(), it)).collect();
        assert_eq!(
            all.iter().filter(|count| **count >= 5).count(),
            2,
            "{all:?}"
        );
    }
}

/// The kernel's file of the GPU's clock.
const CLOCK: &str = "/sys/class/devfreq/*";

/// A program whose jobs must end when it is told, behind commands for the shell.
fn jobs_take(before: &str, times: &str, us: &str) -> Finished {
    let board = Board::new(times, 30_000);
    let program = guest_program("tests/guest/panfrost_jobs.c", Link::Static);
    let file = format!("{}:/root/jobs", program.display());
    let script = format!("cd {CLOCK} && {before} && /root/jobs {us} && cat cur_freq");
    let options = ["--file", &file];
    let run = board.run_as(["--gpu", "mali-t628"], &options, &["sh", "-c", &script]);
    let run = run.ok();
    assert!(!run.stdout.contains("not ok"), "{run:#?}");
    run
}

/// A processor's jobs by the rate at which they began: hertz, how many, and their time.
fn rates_of(processor: &Value) -> Vec<[u64; 3]> {
    let rates = processor["rates"].as_array().unwrap().iter();
    let numbers = ["hz", "jobs", "execution_ns"];
    rates
        .map(|it| numbers.map(|name| it[name].as_u64().unwrap()))
        .collect()
}

fn processors(run: &Finished) -> &Vec<Value> {
    run.report
        .pointer("/jobs/processors")
        .unwrap()
        .as_array()
        .unwrap()
}

/// Jobs of all processors by the rate at which they began.
fn rates(run: &Finished) -> Vec<(u64, u64)> {
    let mut all = BTreeMap::new();
    for [hz, jobs, _] in processors(run).iter().flat_map(rates_of) {
        *all.entry(hz).or_default() += jobs;
    }
    all.into_iter().collect()
}

/// Each job of [`TIMES`] took as many cycles as at the board's rate.
fn all_are_scaled(run: &Finished, board_hz: u64) {
    for processor in processors(run) {
        let is_pixels = !["vertex and tiler", "geometry"]
            .iter()
            .any(|it| processor["name"] == **it);
        let cycles = if is_pixels { 90_000 } else { 20_000 } * board_hz;
        for [hz, jobs, ns] in rates_of(processor) {
            assert_eq!(ns, jobs * ((cycles + hz / 2) / hz), "{processor:#?}");
        }
    }
}

/// The board's rate is the highest; each other one makes jobs last longer by its share.
#[test]
fn jobs_last_as_many_cycles_at_each_rate_that_is_set() {
    for (before, us, hz) in [
        ("true", "3000", 600_000_000),
        (
            "echo 480000000 > min_freq && echo 480000000 > max_freq",
            "3750",
            480_000_000,
        ),
        (
            "echo userspace > governor && echo 0 > min_freq && echo 480000000 > userspace/set_freq",
            "3750",
            480_000_000,
        ),
        (
            "echo 350000000 > min_freq && echo 350000000 > max_freq",
            "5143",
            350_000_000,
        ),
    ] {
        let run = jobs_take(before, "slot0=3000000;slot1=3000000", us);
        let last = run.stdout.lines().last().unwrap();
        assert_eq!(last, hz.to_string(), "{before}: {run:#?}");
        let [(only, _)] = rates(&run)[..] else {
            panic!("{run:#?}");
        };
        assert_eq!(only, hz);
    }
}

/// The kernel's governor, which asks for less when the GPU has little to do; the same in
/// each run.
#[test]
fn the_drivers_governor_is_seen() {
    for (gpu, board_hz) in GPUS.into_iter().zip([600_000_000, 440_000_000]) {
        let program = guest_program("examples/gles-quads/gles-quads.c", Link::Gles);
        let file = format!("{}:/root/draw", program.display());
        let script = format!("cd {CLOCK} && echo 0 > min_freq && /root/draw 100");
        let run = || {
            let board = Board::new(TIMES, 30_000);
            let options = ["--file", &file];
            let run = board.run_as(["--gpu", gpu], &options, &["sh", "-c", &script]);
            run.ok()
        };
        let (first, second) = (run(), run());
        let seen = rates(&first);
        assert!(seen.len() > 1, "{seen:?}");
        assert_eq!(seen, rates(&second));
        all_are_scaled(&first, board_hz);
        let time = |run: &Finished| run.integer("/simulated/gpu_ns");
        assert_eq!(time(&first), time(&second));
    }
}
