//! `gil cache` lists what is there, and removes what was used longest ago.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

fn gil(cache: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gil"));
    command.arg("cache").args(args).env("GIL_CACHE", cache);
    command.env_remove("GIL_CACHE_MAX");
    let output = command.output().expect("gil starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), said)
}

#[test]
fn the_oldest_are_removed_until_the_rest_fits() {
    let cache = tempfile::tempdir().unwrap();
    for (days, name) in [
        "sets-7/bookworm/new",
        "saved-guests/older",
        "sets-5/bookworm/oldest",
    ]
    .iter()
    .enumerate()
    {
        let path = cache.path().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("file"), vec![1; 3 << 20]).unwrap();
        let time = SystemTime::now() - Duration::from_secs(days as u64 * 86_400 + 60);
        fs::File::open(&path).unwrap().set_modified(time).unwrap();
    }
    let (code, said) = gil(cache.path(), &["ls"]);
    assert_eq!(code, Some(0));
    let words: Vec<Vec<&str>> = said
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        words[1],
        ["4", "MiB", "2", "days", "ago", "sets-5/bookworm/oldest"]
    );
    assert_eq!(
        words[2],
        ["4", "MiB", "1", "day", "ago", "saved-guests/older"]
    );
    assert_eq!(words[3], ["4", "MiB", "now", "sets-7/bookworm/new"]);
    assert!(said.contains("3 folders in "), "{said}");
    assert!(said.ends_with(": 10 MiB, at most 4096 MiB\n"), "{said}");

    let (code, said) = gil(cache.path(), &["prune", "--keep", "5M"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("2 folders removed: "), "{said}");
    let (_, said) = gil(cache.path(), &["ls"]);
    assert!(
        said.contains("sets-7/bookworm/new") && said.contains("1 folder in "),
        "{said}"
    );
    assert_eq!(
        gil(cache.path(), &["prune"]).1,
        "0 folders removed: 0 MiB\n"
    );
    for wrong in ["-1", "x", "1T"] {
        assert_eq!(
            gil(cache.path(), &["prune", "--keep", wrong]).0,
            Some(2),
            "{wrong}"
        );
    }
}
