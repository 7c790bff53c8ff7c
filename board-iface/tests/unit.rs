//! The systemd unit, as systemd itself reads it.

use std::path::Path;
use std::process::Command;

const UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/systemd/gil-board.service");
/// Where packages put the agent.
const INSTALLED: &str = "/usr/bin/gil-board";
const ANALYZE: &str = "systemd-analyze";

#[test]
fn the_unit_says_what_systemd_understands() {
    let text = std::fs::read_to_string(UNIT).unwrap();
    assert!(text.contains(INSTALLED));
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("gil-board.service");
    std::fs::write(
        &unit,
        text.replace(INSTALLED, env!("CARGO_BIN_EXE_gil-board")),
    )
    .unwrap();
    if !gil_need::program(ANALYZE) {
        return;
    }
    assert_eq!(verify(&unit), Ok(String::new()));
    let wrong = text.replace(INSTALLED, env!("CARGO_BIN_EXE_gil-board"));
    std::fs::write(&unit, wrong.replace("KillMode=mixed", "KillMode=maybe")).unwrap();
    let said = verify(&unit).unwrap_or_else(|said| said);
    assert!(said.contains("kill mode"), "{said}");
}

/// What systemd says of a unit.
fn verify(unit: &Path) -> Result<String, String> {
    let mut command = Command::new(ANALYZE);
    let output = command
        .args(["verify", "--man=no"])
        .arg(unit)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(said)
    } else {
        Err(said)
    }
}
