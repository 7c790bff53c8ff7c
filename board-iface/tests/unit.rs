//! The systemd unit, as systemd itself reads it.

use std::path::Path;
use std::process::Command;

const UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/systemd/gil-board.service");
/// Where packages put the agent.
const INSTALLED: &str = "/usr/bin/gil-board";

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
    let Some(said) = verify(&unit) else {
        eprintln!("skipped: there is no systemd-analyze");
        return;
    };
    assert_eq!(said, Ok(String::new()));
    let wrong = text.replace(INSTALLED, env!("CARGO_BIN_EXE_gil-board"));
    std::fs::write(&unit, wrong.replace("KillMode=mixed", "KillMode=maybe")).unwrap();
    let said = verify(&unit).unwrap().unwrap_or_else(|said| said);
    assert!(said.contains("kill mode"), "{said}");
}

/// What systemd says of a unit, if it is there to ask.
fn verify(unit: &Path) -> Option<Result<String, String>> {
    let mut command = Command::new("systemd-analyze");
    let output = command
        .args(["verify", "--man=no"])
        .arg(unit)
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(match output.status.success() {
        true => Ok(said),
        false => Err(said),
    })
}
