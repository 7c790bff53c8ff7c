//! What takes long because of others is said.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn who_waits_for_the_cache_says_so() {
    let cache = tempfile::tempdir().unwrap();
    let other = File::create(cache.path().join("lock")).unwrap();
    other.lock().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gil"));
    command.arg("kernel").env("GIL_CACHE", cache.path());
    command.stderr(Stdio::piped());
    let mut gil = command.spawn().unwrap();
    let mut line = String::new();
    let said = gil.stderr.take().unwrap();
    BufReader::new(said).read_line(&mut line).unwrap();
    gil.kill().unwrap();
    gil.wait().unwrap();
    assert!(line.contains("waiting for another gil"), "{line}");
}
