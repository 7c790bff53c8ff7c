//! Runs the host's tools (apt, dpkg-deb, make, cargo) and turns their failure
//! into one sentence.

use crate::process::dies_with_us;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Why a tool did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It is not installed.
    #[error("the program {tool} is missing: run `gil setup`, or install the package that has it")]
    Missing {
        /// Its name.
        tool: String,
    },
    /// It could not be started.
    #[error("{tool} could not be started: {source}")]
    Start {
        /// Its name.
        tool: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// It reported a full disk.
    #[error("the disk that holds {} is full: make room there, or point GIL_CACHE to another disk", place.display())]
    Full {
        /// The folder that it wrote to.
        place: PathBuf,
    },
    /// It failed.
    #[error("{tool} failed while {purpose}: {detail}")]
    Failed {
        /// Its name.
        tool: String,
        /// The purpose of the call.
        purpose: &'static str,
        /// The last of what it wrote to standard error.
        detail: String,
    },
}

impl ToolError {
    /// What the tool wrote, if it ran and failed.
    pub fn detail(&self) -> &str {
        match self {
            Self::Failed { detail, .. } => detail,
            _ => "",
        }
    }
}

/// Runs `command` to its end and returns what it wrote to standard output.
/// `place` is where it writes. If `gil` is killed, the tool goes with it: nobody has the
/// cache locked then.
///
/// # Errors
/// [`ToolError`] if it is missing or fails.
pub fn run(
    command: &mut Command,
    purpose: &'static str,
    place: &std::path::Path,
) -> Result<Vec<u8>, ToolError> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = dies_with_us(command).stdin(Stdio::null()).output();
    let output = output.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ToolError::Missing { tool: tool.clone() },
        _ => ToolError::Start {
            tool: tool.clone(),
            source,
        },
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    if says_disk_is_full(&stderr) {
        return Err(ToolError::Full {
            place: place.into(),
        });
    }
    Err(ToolError::Failed {
        tool,
        purpose,
        detail: last_words(&stderr, 6),
    })
}

fn says_disk_is_full(stderr: &str) -> bool {
    [
        "No space left on device",
        "enough free space",
        "File too large",
        "Disk quota exceeded",
    ]
    .iter()
    .any(|text| stderr.contains(text))
}

/// The last `count` lines that say something, and the first error of apt's before them, in
/// one line.
fn last_words(text: &str, count: usize) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<_> = lines.collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(count));
    let first = before.iter().find(|line| line.starts_with("E: "));
    first
        .into_iter()
        .chain(last)
        .copied()
        .collect::<Vec<_>>()
        .join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_missing_tool_is_named() {
        let error = run(
            &mut Command::new("gil-no-such-tool"),
            "testing",
            Path::new("/"),
        )
        .unwrap_err();
        assert!(matches!(&error, ToolError::Missing { tool } if tool == "gil-no-such-tool"));
    }

    #[test]
    fn a_full_disk_is_recognised() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'write: No space left on device' >&2; exit 2"]);
        let error = run(&mut command, "testing", Path::new("/here")).unwrap_err();
        assert!(error.to_string().contains("/here is full"), "{error}");
    }
}
