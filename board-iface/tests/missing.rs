//! Where skips must be declared, a machine without an OpenCL device fails the
//! tests that need one.

mod common;

use common::agent::{Agent, on_a_device};
use std::process::{Command, Output};

#[test]
#[ignore = "the other test runs it, in processes of its own"]
fn needs_a_device() {
    let Some(agent) = on_a_device(Agent::start(&[])) else {
        return;
    };
    assert!(agent.said().is_empty());
}

/// Runs it where no driver is registered.
fn without_drivers(declared: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let (skips, vendors) = (folder.path().join("skips"), folder.path().join("none"));
    std::fs::write(&skips, declared).unwrap();
    std::fs::create_dir(&vendors).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "needs_a_device", "--ignored", "--nocapture"])
        // Debian's loader takes a folder only with the slash at its end.
        .env("OCL_ICD_VENDORS", format!("{}/", vendors.display()))
        .env("GIL_BOARD_EGL", "/nonexistent")
        .env(gil_need::DECLARED, &skips)
        .env(gil_need::HAPPENED, folder.path().join("happened"))
        .output()
        .unwrap()
}

#[test]
fn without_a_device_tests_fail_unless_that_is_declared() {
    let output = without_drivers("gem5 = \"not this\"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("an OpenCL device is missing"), "{said}");

    let output = without_drivers("\"an OpenCL device\" = \"taken away\"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("as declared: taken away"), "{said}");
}
