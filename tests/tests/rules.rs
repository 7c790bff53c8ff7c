//! The rules of the path as OpenCL programs meet them: signals, forks, threads
//! that wait for each other, memory that cannot be pinned, handles that are
//! none. Each program prints a line a test.

use gil_tests::{Link, Run, guest_program, target};

fn passes(options: &[&str], source: &str, args: &[&str]) {
    let program = guest_program(source, Link::OpenCl).display().to_string();
    let run = Run::new([options, &[&program], args].concat())
        .finish()
        .ok();
    let lines: Vec<_> = run.stdout.lines().filter(|l| !l.starts_with('#')).collect();
    assert!(!lines.is_empty(), "{run:#?}");
    for line in lines {
        assert!(line.starts_with("ok "), "{run:#?}");
    }
}

/// Our library as the guest's `libOpenCL.so.1`. Debian's loader reads objects
/// before it knows whether they are any, so only this way are all handles ours
/// to judge.
fn directly() -> Vec<String> {
    let library = target().join("aarch64-unknown-linux-gnu/guest/libgil_opencl.so");
    let copied = format!("{}:/direct/libOpenCL.so.1", library.display());
    ["--file", &copied, "--env", "LD_LIBRARY_PATH=/direct"]
        .map(String::from)
        .to_vec()
}

#[test]
fn opencl_programs_keep_to_the_rules() {
    let options = directly();
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    passes(&options, "tests/guest/cl_rules.c", &[]);
}

#[test]
fn opencl_programs_keep_to_the_rules_behind_the_stock_loader() {
    passes(&[], "tests/guest/cl_rules.c", &["portable"]);
}

#[test]
fn vectors_are_added() {
    passes(&[], "tests/guest/cl_vadd.c", &[]);
}

#[test]
fn a_program_may_be_killed_while_the_board_works() {
    passes(&[], "tests/guest/cl_killed.c", &[]);
}
