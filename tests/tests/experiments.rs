//! Scripts of `docs/experiments`: what they leave where.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const SCRIPT: &str = "docs/experiments/memory/run";
const TABLE: &str = "docs/experiments/memory/table.csv";
const RESULT: &str = "target/experiments/memory/table.csv";
const NEEDS: [&str; 6] = [
    SCRIPT,
    "docs/experiments/results",
    "docs/experiments/median.awk",
    "docs/experiments/memory/model.awk",
    "docs/experiments/cores/h100-132.txt",
    "docs/experiments/cores/h200-132.txt",
];

/// The table is computed from times that are in the tree.
#[test]
fn a_table_of_the_tree_is_replaced_only_if_that_is_asked_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for path in NEEDS {
        fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        fs::copy(root.join(path), at(path)).unwrap();
    }
    fs::write(at(TABLE), "of before\n").unwrap();
    let tracked = fs::read_to_string(root.join(TABLE)).unwrap();
    for (options, expected) in [(&[][..], "of before\n"), (&["--update"], &*tracked)] {
        let output = Command::new(at(SCRIPT)).args(options).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            format!("{RESULT}\n")
        );
        assert_eq!(fs::read_to_string(at(RESULT)).unwrap(), tracked);
        assert_eq!(fs::read_to_string(at(TABLE)).unwrap(), expected);
    }
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether it becomes so in a while.
fn becomes(mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    is_so()
}

/// With programs in place of the compiler and of gil, whose third run does not end.
#[test]
fn busy_loops_end_with_ctrl_c() {
    const BUSY: &str = "docs/experiments/busy/run";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    script(&at("scripts/guest-cc"), "#!/bin/sh\n");
    script(
        &at("bin/gil"),
        "#!/bin/sh\necho >>runs\n[ $(wc -l <runs) -lt 3 ] || exec sleep 100\n",
    );
    script(&at(BUSY), &fs::read_to_string(root.join(BUSY)).unwrap());
    let path = format!("{}:{}", at("bin").display(), std::env::var("PATH").unwrap());
    let mut busy = Command::new(at(BUSY));
    let mut busy = busy.env("PATH", path).process_group(0).spawn().unwrap();
    let group = Pid::from_raw(busy.id() as i32);
    let runs = || fs::read_to_string(at("runs")).unwrap_or_default();
    let begins = becomes(|| runs().len() == 3);
    killpg(group, Signal::SIGINT).unwrap();
    busy.wait().unwrap();
    let ends = becomes(|| killpg(group, None).is_err());
    let _ = killpg(group, Signal::SIGKILL);
    assert!(
        begins && ends,
        "it began: {begins}, no loop is left: {ends}"
    );
}
