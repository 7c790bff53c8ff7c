//! Scripts of `docs/experiments`: what they leave where.

use std::fs;
use std::path::Path;
use std::process::Command;

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
