//! Frames of the examples on a GPU whose registers gil has, against an independent
//! simulation of what the script says of their jobs; and when the driver's interrupts come.
//! All times are simulated.

use gil_tests::accuracy::gpus::GPUS;
use gil_tests::accuracy::{EXAMPLES, Measured, Setting, measure};

/// How late an interrupt may be.
const INTERRUPT_NS: f64 = 20_000.0;

const SETTING: Setting = Setting {
    frames: 20,
    percent: 10,
    seed: 1,
    factor: 2.1,
};

fn is_near(name: &str, measured: &Measured) {
    assert!(
        measured.with_contention.most < 0.01,
        "{name}: {measured:#?}"
    );
    let spreads = measured.spread - measured.reference_spread;
    assert!(spreads.abs() < 0.001, "{name}: {measured:#?}");
    let late_ns = measured.interrupts.most_ns();
    assert!(late_ns <= INTERRUPT_NS, "{name}: {late_ns} ns");
}

/// A job lasts as the script says; the report's processors agree with it; the driver has
/// each interrupt soon.
#[test]
fn frames_last_as_a_simulation_of_the_script_says() {
    let [t628, mali_400] = GPUS;
    for program in [EXAMPLES[0], EXAMPLES[3]] {
        let measured = measure(&t628, program, SETTING);
        is_near(program.0, &measured);
        let measured = measure(&mali_400, program, SETTING);
        is_near(program.0, &measured);
        // Pixel processors work beside each other.
        assert!(measured.without.mean > 0.3, "{measured:#?}");
    }
}
