//! What a run passed over, for its end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// What each declared skip is for.
pub(crate) type Declared = BTreeMap<String, String>;

/// A file that cannot be read, or does not say what it should.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// It cannot be read.
    #[error("{path} cannot be read: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// It is no such TOML.
    #[error("{path} is no list of skips, a line each of \"WHAT\" = \"REASON\": {error}")]
    Form {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong.
        error: Box<toml::de::Error>,
    },
    /// A skip without a reason.
    #[error("{path}: the skip for want of {what} has no reason: say why it is right")]
    Reason {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
}

fn read(path: &Path) -> Result<String, SummaryError> {
    std::fs::read_to_string(path).map_err(|error| SummaryError::Read {
        path: path.into(),
        error,
    })
}

/// What is declared, each with its reason.
pub(crate) fn declared(path: &Path) -> Result<Declared, SummaryError> {
    let text = read(path)?;
    let list: Declared = toml::from_str(&text).map_err(|error| SummaryError::Form {
        path: path.into(),
        error: error.into(),
    })?;
    if let Some((what, _)) = list.iter().find(|(_, reason)| reason.trim().is_empty()) {
        let (path, what) = (path.into(), what.clone());
        return Err(SummaryError::Reason { path, what });
    }
    Ok(list)
}

/// What a run passed over, and which declared skips never happened.
#[derive(Debug, Default)]
pub struct Summary {
    declared: Option<Declared>,
    happened: BTreeMap<String, BTreeSet<String>>,
}

impl Summary {
    /// Of the files that [`DECLARED`](crate::DECLARED) and
    /// [`HAPPENED`](crate::HAPPENED) name.
    ///
    /// # Errors
    /// [`SummaryError`] if one of them is not what it should be.
    pub fn of_this_run() -> Result<Self, SummaryError> {
        let happened = crate::file(crate::HAPPENED);
        Self::of(crate::file(crate::DECLARED).as_deref(), happened.as_deref())
    }

    /// Of these files.
    ///
    /// # Errors
    /// As [`Summary::of_this_run`].
    pub fn of(declared_in: Option<&Path>, happened: Option<&Path>) -> Result<Self, SummaryError> {
        let mut summary = Self {
            declared: declared_in.map(declared).transpose()?,
            ..Self::default()
        };
        let lines = happened.map(read).transpose()?.unwrap_or_default();
        for (what, test) in lines.lines().filter_map(|line| line.split_once('\t')) {
            let tests = summary.happened.entry(what.into()).or_default();
            tests.insert(test.into());
        }
        Ok(summary)
    }

    fn reason(&self, what: &str) -> Option<&str> {
        self.declared.as_ref()?.get(what).map(String::as_str)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, tests) in &self.happened {
            let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
            let tests = tests.join(", ");
            writeln!(f, "skipped for want of {what}: {tests}")?;
            if let Some(reason) = self.reason(what) {
                writeln!(f, "  declared: {reason}")?;
            }
        }
        let declared = self.declared.iter().flatten();
        for (what, _) in declared.filter(|(what, _)| !self.happened.contains_key(*what)) {
            writeln!(
                f,
                "declared, but nothing was skipped for want of {what}: take it from the list"
            )?;
        }
        Ok(())
    }
}
