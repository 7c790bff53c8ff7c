//! The first run after a build has cargo compile gil's other parts, which takes minutes.

use gil_tests::{Link, binary, guest_program};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A `gil` in a folder of cargo's, with none of its other parts, and a cargo that takes a while and fails.
fn first_run(options: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let built = folder.path().join("target/release");
    fs::create_dir_all(&built).unwrap();
    fs::write(built.join(".cargo-lock"), "").unwrap();
    fs::copy(binary("gil"), built.join("gil")).unwrap();
    let cargo = folder.path().join("cargo");
    fs::write(&cargo, "#!/bin/sh\nsleep 12\nexit 1\n").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(built.join("gil"));
    command.env("PATH", format!("{}:{path}", folder.path().display()));
    command.env_remove("GIL_HOME").arg("run").args(options);
    command.arg(guest_program("tests/guest/cl_replayed.c", Link::OpenCl));
    let output = command.arg("a").output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_takes_minutes_is_said_without_a_terminal_too() {
    let line = "gil: compiling gil's parts for the guest and the simulator: minutes the first time";
    let said = first_run(&[]);
    assert!(said.starts_with(line), "{said}");
    let said = first_run(&["--quiet"]);
    assert!(!said.contains(line) && said.lines().count() == 1, "{said}");
}
