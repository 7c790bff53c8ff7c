//! The driver's rules as programs in the guest meet them, through raw ioctls.
//! Each program prints a line a test.

use gil_tests::{Link, Run, guest_program};

fn passes(name: &str) {
    let program = guest_program(&format!("tests/guest/driver_{name}.c"), Link::Static);
    let run = Run::new([program]).finish().ok();
    let lines = run.stdout.lines().filter(|line| !line.starts_with('#'));
    assert!(lines.clone().count() > 0, "{run:#?}");
    for line in lines {
        assert!(line.starts_with("ok "), "{run:#?}");
    }
}

#[test]
fn waits_end_at_their_deadlines() {
    passes("waits");
}

#[test]
fn a_signal_interrupts_a_wait_and_nothing_else() {
    passes("signals");
}

#[test]
fn a_session_belongs_to_one_address_space() {
    passes("fork");
}

#[test]
fn bad_arguments_are_errors() {
    passes("arguments");
}

#[test]
fn threads_may_submit_while_the_session_ends() {
    passes("threads");
}

#[test]
fn a_programs_markers_are_ignored() {
    passes("marker");
}
