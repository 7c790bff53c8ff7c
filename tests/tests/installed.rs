//! An unpacked tarball runs programs on a machine with neither cargo nor a checkout.

use gil_tests::{Link, Width, guest_program_of, target};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// What nobody has who installs a package.
const BUILDERS: [&str; 3] = ["cargo", "rustc", "rustup"];

/// An unpacked tarball.
struct Installed {
    folder: TempDir,
    root: PathBuf,
}

impl Installed {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(tarball()).arg("-C").arg(folder.path());
        assert!(tar.status().expect("tar").success());
        let unpacked = fs::read_dir(folder.path()).expect("its files");
        let root = unpacked.flatten().next().expect("one folder").path();
        let this = Self { folder, root };
        this.shadow();
        this
    }

    /// Programs that build, each of which only notes that it was called.
    fn shadow(&self) {
        let folder = self.folder.path().join("shadow");
        fs::create_dir(&folder).expect("a folder");
        for name in BUILDERS {
            let path = folder.join(name);
            let script = format!(
                "#!/bin/sh\necho {name} >>{}\nexit 1\n",
                self.called().display()
            );
            fs::write(&path, script).expect("a script");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        }
    }

    fn called(&self) -> PathBuf {
        self.folder.path().join("called")
    }

    /// `gil` with these arguments, which must succeed.
    fn gil(&self, args: &[&str]) -> Output {
        let shadow = self.folder.path().join("shadow");
        let path = std::env::var("PATH").expect("a PATH");
        let mut command = Command::new(self.root.join("bin/gil"));
        command
            .args(args)
            .current_dir(&self.root)
            .env_remove("GIL_HOME")
            .env("PATH", format!("{}:{path}", shadow.display()));
        let output = command.output().expect("gil starts");
        assert!(output.status.success(), "{args:?}: {output:#?}");
        let called = fs::read_to_string(self.called());
        assert!(called.is_err(), "{args:?} called {called:?}");
        output
    }

    fn prints(&self, args: &[&str]) -> String {
        String::from_utf8_lossy(&self.gil(args).stdout).into_owned()
    }
}

/// The package that `scripts/test` makes of what it built.
fn tarball() -> PathBuf {
    let folder = target().join("packages");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let is_gils = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("gil-") && !name.starts_with("gil-board") && name.ends_with(".tar.gz")
    };
    let found = entries.map(|entry| entry.path()).find(is_gils);
    found.expect("run cargo xtask dist --profile release gil")
}

#[test]
fn a_tarball_runs_packages_and_programs() {
    let installed = Installed::new();
    let clinfo = installed.prints(&[
        "run", "--quiet", "--pkg", "clinfo", "--", "clinfo", "--list",
    ]);
    assert!(clinfo.contains("Platform #0"), "{clinfo}");
    let matmul = ["run", "--quiet", "lib/gil/examples/matmul", "3", "64"];
    let said = installed.prints(&matmul);
    assert!(said.contains("every product passed"), "{said}");
    let vadd = guest_program_of(Width::Armhf, "tests/guest/cl_vadd.c", Link::OpenCl);
    installed.gil(&["run", "--quiet", &vadd.display().to_string()]);
}

#[test]
fn doctor_names_the_tarballs_own_files() {
    let installed = Installed::new();
    let said = installed.prints(&["doctor"]);
    let plugin = installed.root.join("lib/gil/libgil_qemu.so");
    assert!(said.contains(&plugin.display().to_string()), "{said}");
    assert!(!said.contains("cargo"), "{said}");
}

#[test]
fn a_tarball_calibrates() {
    let installed = Installed::new();
    let said = installed.prints(&["calibrate", "cpu", "--times", "3", "--out", "board.toml"]);
    assert!(said.contains("ratio"), "{said}");
    let profile = fs::read_to_string(installed.root.join("board.toml")).expect("a profile");
    assert!(profile.contains("[cpu]"), "{profile}");
    // Its program includes a header.
    let said = installed.prints(&["calibrate", "calls", "--api", "gles", "--times", "3"]);
    assert!(said.contains("64 draws and a finish"), "{said}");
}

#[test]
fn what_shells_and_man_read_is_there() {
    let installed = Installed::new();
    let is_there = |path: &str| Path::is_file(&installed.root.join(path));
    for path in [
        "bin/gil-guest-cc",
        "bin/gil-guest-nvcc",
        "share/bash-completion/completions/gil",
        "share/doc/gil/INSTALL.md",
        "share/doc/gil/LICENSE-GPL-2",
        "share/gil/examples/matmul/matmul.c",
        "share/man/man1/gil-run.1.gz",
    ] {
        assert!(is_there(path), "{path}");
    }
}
