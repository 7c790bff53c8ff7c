//! Programs run where the driver does not say which of a kernel's arguments
//! are objects.

use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, guest_program};

fn run(source: &str, args: &[&str]) -> Finished {
    let board = Scripted::with(&["--no-kernel-arg-info"]);
    let program = guest_program(source, Link::OpenCl).display().to_string();
    let options = ["--board", board.address(), &program];
    Run::new([&options[..], args].concat()).finish().ok()
}

fn passes(source: &str, args: &[&str]) {
    let run = run(source, args);
    let lines: Vec<_> = run.stdout.lines().filter(|l| !l.starts_with('#')).collect();
    assert!(!lines.is_empty(), "{run:#?}");
    for line in lines {
        assert!(line.starts_with("ok "), "{run:#?}");
    }
}

#[test]
fn matrices_are_multiplied() {
    let run = run("examples/matmul/matmul.c", &["2", "64"]);
    assert!(run.stdout.contains("every product passed"), "{run:#?}");
}

#[test]
fn vectors_are_added() {
    passes("tests/guest/cl_vadd.c", &[]);
}

#[test]
fn the_rules_hold() {
    passes("tests/guest/cl_rules.c", &["portable"]);
}
