//! The committed list of known differences: `tests/conformance/known.toml`.

use crate::Width;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Subtests that pass natively and do not in the guest, and why.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Each.
    #[serde(default)]
    difference: Vec<Difference>,
}

/// One of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// The program, without `test_`.
    pub suite: String,
    /// The subtest.
    pub test: String,
    /// Bits of the guest's pointers for which it holds; both if none is named.
    #[serde(default)]
    pub widths: Vec<u8>,
    /// Why it differs.
    pub reason: String,
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The list.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// It is no such list.
    #[error("{path}: {source}")]
    Toml {
        /// The list.
        path: PathBuf,
        /// What is wrong.
        source: toml::de::Error,
    },
    /// A difference without a reason.
    #[error("{path}: {suite}.{test} has no reason: say why it differs")]
    Reason {
        /// The list.
        path: PathBuf,
        /// The program.
        suite: String,
        /// The subtest.
        test: String,
    },
}

impl Known {
    /// Reads the list.
    ///
    /// # Errors
    /// As [`KnownError`] says.
    pub fn read(path: &Path) -> Result<Self, KnownError> {
        let text = std::fs::read_to_string(path).map_err(|source| KnownError::Io {
            path: path.into(),
            source,
        })?;
        let known: Self = toml::from_str(&text).map_err(|source| KnownError::Toml {
            path: path.into(),
            source,
        })?;
        match known.difference.iter().find(|d| d.reason.trim().is_empty()) {
            Some(Difference { suite, test, .. }) => Err(KnownError::Reason {
                path: path.into(),
                suite: suite.clone(),
                test: test.clone(),
            }),
            None => Ok(known),
        }
    }

    /// The reason why a subtest may differ.
    pub fn reason(&self, suite: &str, test: &str, width: Width) -> Option<&str> {
        let bits = match width {
            Width::Arm64 => 64,
            Width::Armhf => 32,
        };
        let of = |d: &&Difference| {
            d.suite == suite && d.test == test && (d.widths.is_empty() || d.widths.contains(&bits))
        };
        self.difference.iter().find(of).map(|d| d.reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_list_is_one() {
        Known::read(&crate::root().join("tests/conformance/known.toml")).unwrap();
    }

    #[test]
    fn widths_count() {
        let text = "[[difference]]\nsuite = 'a'\ntest = 'b'\nwidths = [32]\nreason = 'c'\n";
        let known: Known = toml::from_str(text).unwrap();
        assert_eq!(known.reason("a", "b", Width::Armhf), Some("c"));
        assert_eq!(known.reason("a", "b", Width::Arm64), None);
        assert_eq!(known.reason("a", "x", Width::Armhf), None);
    }
}
