//! What `gil run --json` writes.

use crate::{Exit, Report, VERSION};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// What `--json` writes: the host interface's report, and how `gil` saw the run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Document {
    /// The program and its arguments, as they were given.
    pub argv: Vec<String>,
    /// How it ended, and whose exit code it is.
    pub exit: Exit,
    /// The run as `gil run` saw it.
    pub run: SeenRun,
    /// The host interface's; none if the simulation never ran.
    #[serde(flatten)]
    pub report: Option<Report>,
}

/// Any of these makes a file one with the host interface's report.
const PARTS: [&str; 4] = ["version", "entries", "totals", "wall"];

/// The run as `gil run` saw it; wall times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRun {
    /// Of the simulation, from the simulator's start to its end.
    pub simulation_ns: u64,
    /// From the simulator's start to the program's first call to the board.
    pub first_call_ns: Option<u64>,
    /// The file of the board's profile, as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board_profile: Option<PathBuf>,
    /// What the target has by that file and by `--target`, as `cores=8` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target: Vec<String>,
    /// What of the board's profile and the target did not count for the program's operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The folder of the simulator's own output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outdir: Option<PathBuf>,
}

/// Why a report cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Who reads it.
    #[error("the report cannot be written ({0}): check where standard output leads")]
    Unwritten(#[source] io::Error),
    /// The file.
    #[error("{} cannot be used ({source}): check that it is there and its permissions", path.display())]
    File {
        /// The file's path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Another gil's.
    #[error("{} has version {found} of the report, and this gil reads {VERSION}: use the gil that wrote it", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in it.
        found: u32,
    },
    /// Its content.
    #[error("{} is no report of gil ({}): give a file that `gil run --json` or `--calls` wrote", path.display(), shown(source))]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// Most bytes of a report.
const BYTES_MAX: u64 = 256 << 20;
/// Characters shown of what is wrong with a file.
const SHOWN: usize = 200;

/// A file's bytes, of one that can be a report.
fn read(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= BYTES_MAX {
        true => Ok(bytes),
        false => Err(ErrorKind::FileTooLarge.into()),
    }
}

/// What is wrong, which quotes the file.
fn shown(error: &serde_json::Error) -> String {
    error.to_string().chars().take(SHOWN).collect()
}

impl Document {
    /// Reads what `gil run --json` wrote.
    ///
    /// # Errors
    /// [`ReportError`] names the file.
    pub fn read(path: &Path) -> Result<Self, ReportError> {
        let file = File::open(path).map_err(|source| ReportError::File {
            path: path.into(),
            source,
        })?;
        Self::read_from(path, file)
    }

    /// Reads the same of a file that is open, and has this name.
    ///
    /// # Errors
    /// [`ReportError`] names the file.
    pub fn read_from(path: &Path, file: impl Read) -> Result<Self, ReportError> {
        let bytes = read(file).map_err(|source| ReportError::File {
            path: path.into(),
            source,
        })?;
        let content = |source| ReportError::Content {
            path: path.into(),
            source,
        };
        let mut document: Self = serde_json::from_slice(&bytes).map_err(content)?;
        // A part that is none is no part to serde; here it is a fault.
        let all: Value = serde_json::from_slice(&bytes).map_err(content)?;
        if PARTS.iter().any(|part| all.get(part).is_some()) {
            let report: Report = serde_json::from_value(all).map_err(content)?;
            if report.version != VERSION {
                return Err(ReportError::Version {
                    path: path.into(),
                    found: report.version,
                });
            }
            document.report = Some(report);
        }
        Ok(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entry;

    #[test]
    fn documents_survive_their_json() {
        let entry = Entry {
            name: "clFinish".into(),
            count: 3,
            ..Entry::default()
        };
        let ran = Report {
            version: VERSION,
            entries: vec![entry],
            ..Report::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        for report in [Some(ran), None] {
            let document = Document {
                argv: vec!["p".into()],
                exit: Exit::bridge("why"),
                run: SeenRun::default(),
                report,
            };
            let text = serde_json::to_string(&document).unwrap();
            std::fs::write(&path, &text).unwrap();
            let back = Document::read(&path).unwrap();
            assert_eq!(back.exit, document.exit);
            assert_eq!(back.report, document.report);
            assert!(text.contains("\"origin\":\"bridge\""), "{text}");
        }
    }

    #[test]
    fn a_damaged_report_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let document = Document {
            argv: vec!["p".into()],
            exit: Exit::bridge("why"),
            run: SeenRun::default(),
            report: Some(Report {
                version: VERSION,
                ..Report::default()
            }),
        };
        let good = serde_json::to_value(&document).unwrap();
        let refused = |part: &str, value: Value| {
            let mut bad = good.clone();
            bad[part] = value;
            std::fs::write(&path, bad.to_string()).unwrap();
            Document::read(&path).unwrap_err().to_string()
        };
        for part in ["entries", "totals", "wall", "version"] {
            assert!(refused(part, "rubbish".into()).contains("is no report of gil"));
        }
        assert!(refused("version", 9.into()).contains("version 9 of the report"));
    }

    #[test]
    fn what_is_no_report_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.json");
        let missing = Document::read(&path).unwrap_err();
        assert!(matches!(missing, ReportError::File { .. }), "{missing}");
        std::fs::write(&path, "{}").unwrap();
        let other = Document::read(&path).unwrap_err().to_string();
        assert!(other.contains("other.json is no report of gil"), "{other}");
    }
}
