//! A board's profile: what `gil calibrate` measured on it, for `gil run
//! --board-profile`. A TOML file:
//!
//! ```toml
//! version = 1
//!
//! [contention]
//! factor = 2.095         # the median of the repetitions
//! least = 2.061
//! most = 2.17
//! repetitions = 20
//! processors = 4         # that were at work at once
//! jobs = 640             # that were measured
//! device = "Mali-T628"
//! ```

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Version of the layout; raised when a key changes its meaning or goes.
pub const VERSION: u32 = 1;

/// A board's profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// [`VERSION`].
    pub version: u32,
    /// How a GPU's processors slow each other down, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
}

/// The contention of a GPU's processors, and how it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// How many times as long a job takes while all processors are at work as alone: the
    /// median of the repetitions, from 1 on.
    pub factor: f64,
    /// The least of the repetitions.
    pub least: f64,
    /// The greatest.
    pub most: f64,
    /// How many times it was measured.
    pub repetitions: u32,
    /// Processors that were at work at once.
    pub processors: u32,
    /// Jobs that were measured, of both kinds.
    pub jobs: u64,
    /// The device, as its driver calls it.
    pub device: String,
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file.
    #[error("the board's profile {} cannot be read ({source}): name a file that `gil calibrate` wrote", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Its content.
    #[error("{} is no board's profile ({what}): name a file that `gil calibrate` wrote", path.display())]
    Content {
        /// Its path.
        path: PathBuf,
        /// The problem with it.
        what: String,
    },
    /// Another gil's.
    #[error("{} has version {found} of the board's profile, and this gil reads {VERSION}: calibrate with this gil", path.display())]
    Version {
        /// Its path.
        path: PathBuf,
        /// The version in it.
        found: i64,
    },
    /// A factor that cannot be.
    #[error("{} has the contention factor {factor}: it must be a finite number from 1 on", path.display())]
    Factor {
        /// Its path.
        path: PathBuf,
        /// The factor in it.
        factor: f64,
    },
}

impl Profile {
    /// One of a board on which nothing was measured.
    pub fn empty() -> Self {
        Self {
            version: VERSION,
            contention: None,
        }
    }

    /// Reads a profile, and checks it.
    ///
    /// # Errors
    /// [`ProfileError`] names the file.
    pub fn read(path: &Path) -> Result<Self, ProfileError> {
        let text = fs::read_to_string(path).map_err(|source| ProfileError::File {
            path: path.into(),
            source,
        })?;
        let content = |error: toml::de::Error| ProfileError::Content {
            path: path.into(),
            what: error.message().replace('\n', ", "),
        };
        let table: toml::Table = text.parse().map_err(content)?;
        if let Some(found) = table.get("version").and_then(toml::Value::as_integer)
            && found != i64::from(VERSION)
        {
            let path = path.into();
            return Err(ProfileError::Version { path, found });
        }
        let profile: Self = table.try_into().map_err(content)?;
        let factor = profile.factor();
        match factor.is_none_or(|factor| factor.is_finite() && factor >= 1.0) {
            true => Ok(profile),
            false => Err(ProfileError::Factor {
                path: path.into(),
                factor: factor.unwrap_or_default(),
            }),
        }
    }

    /// The contention factor, if there is one.
    pub fn factor(&self) -> Option<f64> {
        self.contention.as_ref().map(|it| it.factor)
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let head =
            "# A board's profile, for `gil run --board-profile`. `gil calibrate` wrote it.\n";
        format!("{head}{}", toml::to_string(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Profile {
        let contention = Contention {
            factor: 2.095,
            least: 2.061,
            most: 2.17,
            repetitions: 20,
            processors: 4,
            jobs: 640,
            device: "Mali \"T628\"".into(),
        };
        Profile {
            contention: Some(contention),
            ..Profile::empty()
        }
    }

    #[test]
    fn a_profile_survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board.toml");
        for profile in [measured(), Profile::empty()] {
            fs::write(&path, profile.text()).unwrap();
            assert_eq!(Profile::read(&path).unwrap(), profile);
        }
    }

    /// What is said of the profile with this in place of that.
    fn refused(from: &str, to: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board.toml");
        let text = measured().text();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let error = Profile::read(&path).unwrap_err().to_string();
        assert!(error.contains("board.toml"), "{error}");
        assert!(!error.contains('\n'), "{error}");
        error
    }

    #[test]
    fn each_fault_of_a_profile_is_one_sentence() {
        let missing = Profile::read(Path::new("/none/board.toml")).unwrap_err();
        assert!(matches!(missing, ProfileError::File { .. }), "{missing}");
        for (from, to, part) in [
            (
                "version = 1",
                "version = 2",
                "has version 2 of the board's profile, and this gil reads 1",
            ),
            ("version = 1", "", "missing field `version`"),
            ("version = 1", "version = \"1\"", "invalid type: string"),
            ("version = 1", "version = ", "is no board's profile"),
            (
                "factor = 2.095",
                "factor = 0.99",
                "the contention factor 0.99",
            ),
            (
                "factor = 2.095",
                "factor = inf",
                "the contention factor inf",
            ),
            (
                "factor = 2.095",
                "factor = nan",
                "the contention factor NaN",
            ),
            ("factor = 2.095", "faktor = 2.095", "unknown field `faktor`"),
            ("[contention]", "[clocks]", "unknown field `clocks`"),
        ] {
            let error = refused(from, to);
            assert!(error.contains(part), "{error}");
        }
    }
}
