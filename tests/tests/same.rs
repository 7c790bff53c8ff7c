//! Programs that print what their OpenCL calls answered, one test each: in the
//! guest they print what they print natively on the same board.
//!
//! Each test also keeps the list of entry points that its program called
//! ([`gil_tests::coverage`]).
//! `UPDATE_COVERAGE=1 cargo test -p gil-tests --test same` writes the lists.

use gil_tests::coverage::{LIST_CALLS, called, covers};
use gil_tests::{Link, Run, Width, guest_program_of, native_program};
use std::process::Command;

/// Runs `tests/guest/NAME.c` in the guest and natively, and compares.
fn same(name: &str, width: Width) {
    let source = format!("tests/guest/{name}.c");
    let native = native_stdout(&source);
    let program = guest_program_of(width, &source, Link::OpenCl);
    let program = program.display().to_string();
    let [env, list] = LIST_CALLS;
    let run = Run::new([env, list, &program]).finish().ok();
    assert_eq!(run.stdout, native, "{}", run.stderr);
    assert!(!native.is_empty(), "{name} prints nothing to compare");
    covers(name, &called(&run.report));
}

fn native_stdout(source: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(native_program(source, folder.path()))
        // PoCL's programs that compile the same at once disturb each other in their cache.
        .env("POCL_CACHE_DIR", folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{source} natively: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

macro_rules! same {
    ($($name:ident)*) => { $(
        mod $name {
            #[test]
            fn arm64() {
                super::same(stringify!($name), super::Width::Arm64);
            }

            #[test]
            fn armhf() {
                super::same(stringify!($name), super::Width::Armhf);
            }
        }
    )* };
}

same! {
    cl_buffers
    cl_callbacks
    cl_commands
    cl_image_maps
    cl_images
    cl_includes
    cl_legacy
    cl_lists
    cl_objects
    cl_pipes
    cl_printf
    cl_programs
    cl_refused
}

#[test]
fn cl_svm() {
    same("cl_svm", Width::Arm64);
}

/// The board's addresses do not fit: programs get an error.
#[test]
fn narrow_programs_have_no_shared_memory() {
    let program = guest_program_of(Width::Armhf, "tests/guest/cl_svm.c", Link::OpenCl);
    let run = Run::new([program.display().to_string()]).finish().ok();
    let mut lines = run.stdout.lines();
    assert_eq!(lines.next(), Some("coarse-grained: 0"), "{}", run.stderr);
    assert_eq!(lines.next(), Some("no memory: 1"));
    let answers: Vec<&str> = lines.collect();
    assert_eq!(answers.len(), 12, "{answers:#?}");
    for answer in answers {
        assert!(answer.ends_with(" = -59"), "CL_INVALID_OPERATION: {answer}");
    }
}
