//! The rules of the path as OpenCL programs meet them: signals, forks, threads
//! that wait for each other, memory that cannot be pinned, handles that are
//! none. Each program prints a line a test.

use gil_tests::{Link, Run, Width, both_widths, guest_program_of};

fn passes(width: Width, options: &[&str], source: &str, args: &[&str]) {
    let program = guest_program_of(width, source, Link::OpenCl);
    let program = program.display().to_string();
    let run = Run::new([options, &[&program], args].concat())
        .finish()
        .ok();
    let lines: Vec<_> = run.stdout.lines().filter(|l| !l.starts_with('#')).collect();
    assert!(!lines.is_empty(), "{run:#?}");
    for line in lines {
        assert!(line.starts_with("ok "), "{run:#?}");
    }
    let skipped = |line: &'_ str| {
        line.strip_prefix("# skipped for want of ")
            .map(String::from)
    };
    for what in run.stdout.lines().filter_map(skipped) {
        gil_need::skip(&what, "the guest has none");
    }
}

/// Our library as the guest's `libOpenCL.so.1`. Debian's loader reads objects
/// before it knows whether they are any, so only this way are all handles ours
/// to judge.
fn directly(width: Width) -> Vec<String> {
    let copied = width.in_place_of_the_loader();
    ["--file", &copied, "--env", "LD_LIBRARY_PATH=/direct"]
        .map(String::from)
        .to_vec()
}

both_widths! {
    fn opencl_programs_keep_to_the_rules(width: Width) {
        let options = directly(width);
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        passes(width, &options, "tests/guest/cl_rules.c", &[]);
    }

    fn opencl_programs_keep_to_the_rules_behind_the_stock_loader(width: Width) {
        passes(width, &[], "tests/guest/cl_rules.c", &["portable"]);
    }

    fn vectors_are_added(width: Width) {
        passes(width, &[], "tests/guest/cl_vadd.c", &[]);
    }

    fn values_have_the_programs_width(width: Width) {
        passes(width, &[], "tests/guest/cl_width.c", &[]);
    }

    fn a_program_may_be_killed_while_the_board_works(width: Width) {
        passes(width, &[], "tests/guest/cl_killed.c", &[]);
    }
}
