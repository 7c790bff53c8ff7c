//! `gil setup` says what is missing and how it would be installed, and runs that only if
//! it may.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A machine whose `PATH` has all that a run calls but `make`, and an `apt-get` that
/// notes what it is asked and installs that.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        fs::create_dir(this.path("bin")).unwrap();
        this.program(
            "qemu-system-aarch64",
            "echo 'QEMU emulator version 10.0.2'; echo '-plugin x'",
        );
        for tool in ["aarch64-linux-gnu-gcc", "fsck.erofs", "xz"] {
            this.program(tool, "");
        }
        let (log, make) = (this.path("log"), this.path("bin/make"));
        let (log, make) = (log.display(), make.display());
        this.program(
            "apt-get",
            &format!(
                "echo \"$@\" >>{log}\n\
                 if [ \"$1\" = install ] && [ ! -e {log}.broken ]; then ln -s /bin/true {make}; fi"
            ),
        );
        // Root does without it.
        this.program("sudo", "exec \"$@\"");
        for tool in ["env", "ln"] {
            symlink(format!("/bin/{tool}"), this.path("bin").join(tool)).unwrap();
        }
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `gil setup` there; how it ended, and what it printed.
    fn setup(&self, options: &[&str]) -> (Output, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gil"));
        command.args(["setup", "--no-device"]).args(options);
        command.stdin(std::process::Stdio::null());
        let output = command.env("PATH", self.path("bin")).output().unwrap();
        let said = text(&output.stdout);
        (output, said)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn without_a_terminal_it_says_all_and_installs_nothing() {
    let machine = Machine::new();
    let (output, said) = machine.setup(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--yes"), "{output:?}");
    assert!(said.contains("make, for the guest's driver"), "{said}");
    let install = "apt-get install --yes --no-install-recommends make\n";
    assert!(said.contains(install), "{said}");
    assert!(!said.contains("erofs") && !said.contains("qemu"), "{said}");
    assert!(!machine.path("log").exists());
}

#[test]
fn with_yes_it_installs_and_looks_again() {
    let machine = Machine::new();
    let (output, said) = machine.setup(&["--yes"]);
    assert!(output.status.success(), "{output:?}");
    assert!(
        said.ends_with("all is installed; `gil doctor` shows it\n"),
        "{said}"
    );
    let asked = fs::read_to_string(machine.path("log")).unwrap();
    assert_eq!(
        asked,
        "update\ninstall --yes --no-install-recommends make\n"
    );
    assert_eq!(machine.setup(&[]).1, "nothing is missing\n");
}

#[test]
fn what_is_missing_after_it_is_said() {
    let machine = Machine::new();
    fs::write(machine.path("log.broken"), "").unwrap();
    let (output, _) = machine.setup(&["--yes"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("still missing: make"), "{said}");
}

#[test]
fn a_command_that_fails_is_the_last() {
    let machine = Machine::new();
    machine.program("apt-get", "exit 100");
    let (output, _) = machine.setup(&["--yes"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("apt-get update` failed"), "{said}");
}

#[test]
fn without_apt_it_says_what_is_missing() {
    let machine = Machine::new();
    fs::remove_file(machine.path("bin/apt-get")).unwrap();
    let (output, said) = machine.setup(&["--yes"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("make, for the guest's driver"), "{said}");
    let said = text(&output.stderr);
    assert!(said.contains("no apt-get here"), "{said}");
}
