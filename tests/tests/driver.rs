//! The driver's rules as programs in the guest meet them, through raw ioctls.
//! Each program prints a line a test.

use gil_tests::{Link, Run, Width, both_widths, guest_program_of, root};

fn passes(width: Width, name: &str) {
    passes_with(width, name, &[]);
}

fn passes_with(width: Width, name: &str, options: &[&str]) {
    let source = format!("tests/guest/driver_{name}.c");
    let program = guest_program_of(width, &source, Link::Static);
    let program = program.display().to_string();
    let all = options.iter().copied().chain([&*program]);
    let run = Run::new(all).finish().ok();
    let lines = run.stdout.lines().filter(|line| !line.starts_with('#'));
    assert!(lines.clone().count() > 0, "{run:#?}");
    for line in lines {
        assert!(line.starts_with("ok "), "{run:#?}");
    }
}

both_widths! {
    fn waits_end_at_their_deadlines(width: Width) {
        passes(width, "waits");
    }

    fn a_signal_interrupts_a_wait_and_nothing_else(width: Width) {
        passes(width, "signals");
    }

    fn a_session_belongs_to_one_address_space(width: Width) {
        passes(width, "fork");
    }

    fn bad_arguments_are_errors(width: Width) {
        passes(width, "arguments");
    }

    fn what_a_user_takes_is_bounded(width: Width) {
        passes(width, "limits");
    }

    fn fences_signal_at_their_deadlines(width: Width) {
        passes(width, "fence");
    }

    fn imports_of_dma_bufs_are_checked_and_leave_nothing(width: Width) {
        let work = tempfile::tempdir().unwrap();
        let screen = work.path().join("screen.png").display().to_string();
        passes_with(width, "import", &["--screen", &screen]);
    }

    fn memory_pinned_once_is_checked_and_stays_pinned_for_none(width: Width) {
        passes(width, "pin");
    }

    fn threads_may_submit_while_the_session_ends(width: Width) {
        passes(width, "threads");
    }
}

/// The programs write an envelope byte by byte: it is the one of today.
#[test]
fn the_programs_know_the_envelope() {
    let header = std::fs::read_to_string(root().join("tests/guest/driver_test.h")).unwrap();
    let (_, after) = header.split_once("nothing[] = {").unwrap();
    let (array, _) = after.split_once("};").unwrap();
    let codes = array
        .lines()
        .map(|line| line.split("/*").next().unwrap_or_default());
    let bytes: Vec<u8> = codes
        .flat_map(|code| code.split(','))
        .filter_map(|number| number.trim().parse().ok())
        .collect();
    let all = gil_wire::envelope::parse(&bytes).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].op, gil_wire::control::CONSOLE);
    assert_eq!(all[0].args, [0, 0]);
}

/// The marker is an instruction of 64-bit programs.
#[test]
fn a_programs_markers_are_ignored() {
    passes(Width::Arm64, "marker");
}
