//! The toolchain file and `scripts/setup` agree.

use std::collections::BTreeSet;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The words between the parentheses of a shell array.
fn array(script: &str, name: &str) -> BTreeSet<String> {
    let start = format!("readonly {name}=(");
    let words = script.split(&start).nth(1).expect("the array");
    let words = words.split(')').next().unwrap_or_default();
    words.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn setup_installs_the_toolchains_targets() {
    let file: toml::Table = read("rust-toolchain.toml").parse().expect("TOML");
    let targets = file["toolchain"]["targets"].as_array().expect("a list");
    let targets = targets.iter().filter_map(|target| target.as_str());
    let targets: BTreeSet<String> = targets.map(str::to_owned).collect();
    assert_eq!(targets, array(&read("scripts/setup"), "targets"));
    assert!(targets.len() > 2, "{targets:?}");
}
