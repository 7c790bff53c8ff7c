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
    /// The subtest; with a `*` all whose names begin and end as what is around it.
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

impl Difference {
    fn names(&self, test: &str) -> bool {
        match self.test.split_once('*') {
            Some((begin, end)) => {
                let rest = test.strip_prefix(begin);
                rest.is_some_and(|rest| rest.ends_with(end))
            }
            None => self.test == test,
        }
    }

    /// Whether it is of all subtests whose names are alike.
    pub fn is_of_many(&self) -> bool {
        self.test.contains('*')
    }
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

    /// The difference that a subtest may have; one that names it alone before one that
    /// names many.
    pub fn of(&self, suite: &str, test: &str, width: Width) -> Option<&Difference> {
        let bits = match width {
            Width::Arm64 => 64,
            Width::Armhf => 32,
        };
        let of = |d: &&Difference| {
            d.suite == suite && d.names(test) && (d.widths.is_empty() || d.widths.contains(&bits))
        };
        let mut found = self.difference.iter().filter(of);
        let first = found.next()?;
        Some(match first.is_of_many() {
            true => found.find(|d| !d.is_of_many()).unwrap_or(first),
            false => first,
        })
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
        assert_eq!(known.of("a", "b", Width::Armhf).unwrap().reason, "c");
        assert!(known.of("a", "b", Width::Arm64).is_none());
        assert!(known.of("a", "x", Width::Armhf).is_none());
    }

    #[test]
    fn one_line_names_many() {
        let text = "[[difference]]\nsuite = 'a'\ntest = 'b.*'\nreason = 'all'\n\
                    [[difference]]\nsuite = 'a'\ntest = 'b.c'\nreason = 'one'\n";
        let known: Known = toml::from_str(text).unwrap();
        let reason = |test| Some(known.of("a", test, Width::Arm64)?.reason.as_str());
        assert_eq!(reason("b.d"), Some("all"));
        assert_eq!(reason("b.c"), Some("one"));
        assert_eq!(reason("b"), None);
        let text = "[[difference]]\nsuite = 'a'\ntest = 'b.*_c'\nreason = 'all'\n";
        let known: Known = toml::from_str(text).unwrap();
        assert!(known.of("a", "b.1_c", Width::Arm64).is_some());
        assert!(known.of("a", "b.1_d", Width::Arm64).is_none());
    }
}
