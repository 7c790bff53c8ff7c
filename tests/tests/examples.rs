//! The examples give in the guest what they give natively on the same device:
//! what they print, and every byte of their output.

use gil_tests::{Link, Run, guest_program, native_program};
use std::process::Command;

/// Runs an example in the guest and natively with its output on standard
/// output, and compares.
fn same(name: &str, args: &[&str]) {
    let source = format!("examples/{name}/{name}.c");
    let args = [&["--out", "-"], args].concat();
    let folder = tempfile::tempdir().unwrap();
    let native = Command::new(native_program(&source, folder.path()))
        .args(&args)
        .output()
        .unwrap();
    assert!(native.status.success(), "{name} natively: {native:?}");
    let native = String::from_utf8(native.stdout).unwrap();
    let program = guest_program(&source, Link::OpenCl).display().to_string();
    let run = Run::new([&[&program[..]], &args[..]].concat())
        .finish()
        .ok();
    assert_eq!(run.stdout, native, "{}", run.stderr);
    let last = native.lines().next_back().unwrap_or_default();
    assert!(last.starts_with(&format!("{name}: PASS, ")), "{last}");
    assert!(native.lines().any(is_output), "{name} has no output");
}

/// A line of output bytes.
fn is_output(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn vectors() {
    same("vector-add", &["4099"]);
}

#[test]
fn reduction() {
    same("reduction", &["5003"]);
}

#[test]
fn histogram() {
    same("histogram", &["50021"]);
}

#[test]
fn bodies() {
    same("n-body", &["67", "4"]);
}

#[test]
fn shared_matrices() {
    for percent in ["0", "35", "100"] {
        same("matmul-split", &[percent, "48", "3"]);
    }
}

#[test]
fn faces() {
    same("face-detection", &["267", "189"]);
}
