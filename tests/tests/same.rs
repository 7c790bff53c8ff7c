//! Programs that print what their OpenCL calls answered, one test each: in the
//! guest they print what they print natively on the same board.
//!
//! Each test also keeps the list of entry points that its program called, in
//! `tests/coverage/`, from which `cargo xtask gen` makes the coverage pages of
//! the docs: an entry point counts as covered only by these. After a change,
//! `UPDATE_COVERAGE=1 cargo test -p gil-tests --test same` writes the lists.

use gil_tests::{Link, Run, Width, guest_program_of, native_program, root};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Runs `tests/guest/NAME.c` in the guest and natively, and compares.
fn same(name: &str, width: Width) {
    let source = format!("tests/guest/{name}.c");
    let native = native_stdout(&source);
    let program = guest_program_of(width, &source, Link::OpenCl);
    let program = program.display().to_string();
    let run = Run::new(["--env", "GIL_LIST_CALLS=1", &program])
        .finish()
        .ok();
    assert_eq!(run.stdout, native, "{}", run.stderr);
    assert!(!native.is_empty(), "{name} prints nothing to compare");
    covers(name, &called(&run.report));
}

fn native_stdout(source: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(native_program(source, folder.path()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{source} natively: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn called(report: &serde_json::Value) -> BTreeSet<String> {
    let names = report["called"].as_array().expect("a list in the report");
    let names = names.iter().filter_map(|name| name.as_str());
    names.map(str::to_owned).collect()
}

/// Compares what was called with what the coverage pages say of this program.
fn covers(name: &str, called: &BTreeSet<String>) {
    let path = root().join(format!("tests/coverage/{name}.txt"));
    if std::env::var_os("UPDATE_COVERAGE").is_some() {
        return write(&path, called);
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let listed: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(
        *called,
        listed,
        "{} is out of date: UPDATE_COVERAGE=1 writes it, then cargo xtask gen",
        path.display()
    );
}

fn write(path: &Path, called: &BTreeSet<String>) {
    let text: String = called.iter().map(|name| format!("{name}\n")).collect();
    std::fs::create_dir_all(path.parent().expect("a folder")).unwrap();
    std::fs::write(path, text).unwrap();
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

/// The board's addresses do not fit: programs are told.
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
