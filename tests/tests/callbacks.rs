//! Callbacks of OpenCL programs come in simulated time. The program prints a
//! line a test.

use gil_tests::{Link, Run, Width, guest_program_of};

fn passes(width: Width) {
    let program = guest_program_of(width, "tests/guest/cl_callback_times.c", Link::OpenCl);
    let run = Run::new([program.display().to_string()]).finish().ok();
    assert_eq!(run.stdout.lines().count(), 7, "{run:#?}");
    assert_eq!(run.integer("/totals/late_callbacks"), 0);
    for line in run.stdout.lines() {
        assert!(line.starts_with("ok "), "{run:#?}");
    }
}

#[test]
fn callbacks_come_in_simulated_time() {
    passes(Width::Arm64);
}

#[test]
fn callbacks_of_narrow_programs_do_so_too() {
    passes(Width::Armhf);
}
