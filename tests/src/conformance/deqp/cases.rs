//! Which cases a program has, and which of them are run.

use crate::conformance::suite::Suite;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The groups that are run if none is named: what the API does, and not how fast, nor how
/// much the machine bears.
const GROUPS: [&str; 2] = ["info", "functional"];

/// Whether a case or group is this group or in it.
pub fn is_below(name: &str, group: &str) -> bool {
    let rest = name.strip_prefix(group);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// All cases of a program, in its order.
///
/// # Errors
/// It cannot be started, or writes no list.
pub fn all(program: &Suite, prefix: &str) -> io::Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let list = folder.path().join("cases.txt");
    let beside = program.program.parent().unwrap_or(Path::new("."));
    let status = Command::new(&program.program)
        .arg("--deqp-runmode=txt-caselist")
        .arg(format!("--deqp-caselist-export-file={}", list.display()))
        .arg("--deqp-log-filename=/dev/null")
        .arg(super::OPTIONS[0])
        .env(super::PLATFORM.0, super::PLATFORM.1)
        .current_dir(beside)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    let text = std::fs::read_to_string(&list).map_err(|error| {
        let program = program.program.display();
        io::Error::other(format!(
            "{program} wrote no list of its cases ({status}): {error}"
        ))
    })?;
    Ok(listed(&text, prefix))
}

fn listed(text: &str, prefix: &str) -> Vec<String> {
    let cases = text.lines().filter_map(|line| line.strip_prefix("TEST: "));
    let cases = cases.map(|case| case.trim().to_owned());
    cases.filter(|case| is_below(case, prefix)).collect()
}

/// The cases below the groups that the user named, or below the usual ones; of each
/// `every` cases the first.
pub fn chosen(all: Vec<String>, prefix: &str, names: &[String], every: usize) -> Vec<String> {
    let usual = GROUPS.map(|group| format!("{prefix}.{group}"));
    let groups = if names.is_empty() { &usual[..] } else { names };
    let is_chosen = |case: &String| groups.iter().any(|group| is_below(case, group));
    let chosen = all.into_iter().filter(is_chosen);
    chosen.step_by(every.max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let text = "GROUP: dEQP-GLES2\nTEST: dEQP-GLES2.info.vendor\nTEST: dEQP-GLES20.x\n";
        assert_eq!(listed(text, "dEQP-GLES2"), ["dEQP-GLES2.info.vendor"]);
    }

    #[test]
    fn groups_choose_cases() {
        let all = ["p.info.a", "p.functional.b", "p.functional.c", "p.stress.d"];
        let all = || all.map(String::from).to_vec();
        assert_eq!(chosen(all(), "p", &[], 1).len(), 3);
        assert_eq!(chosen(all(), "p", &[], 2), ["p.info.a", "p.functional.c"]);
        assert_eq!(chosen(all(), "p", &["p.stress".into()], 1), ["p.stress.d"]);
        assert!(chosen(all(), "p", &["p.func".into()], 1).is_empty());
    }
}
