//! What the docs' coverage pages say of a program: an entry point counts as
//! covered only if such a program calls it in the guest, and prints what it
//! prints natively on the same board.
//!
//! The test of a program keeps the list of entry points that it called, in
//! `tests/coverage/`, from which `cargo xtask gen` makes the pages. After a
//! change, `UPDATE_COVERAGE=1` and the test write its list.

use crate::root;
use std::collections::BTreeSet;
use std::path::Path;

/// Has a run list the entry points that its program called; for
/// [`called`].
pub const LIST_CALLS: [&str; 2] = ["--env", "GIL_LIST_CALLS=1"];

/// The entry points that a program called, by its run's report.
///
/// # Panics
/// If the run was without [`LIST_CALLS`].
pub fn called(report: &serde_json::Value) -> BTreeSet<String> {
    let names = report["called"].as_array().expect("a list in the report");
    let names = names.iter().filter_map(|name| name.as_str());
    names.map(str::to_owned).collect()
}

/// Compares what was called with what the coverage pages say of this program.
///
/// # Panics
/// If they differ.
pub fn covers(name: &str, called: &BTreeSet<String>) {
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
