//! Whether the checkout is as it was when cargo last built gil's files: to look at
//! its files takes milliseconds, to ask cargo and rustup more than the rest of a
//! run's start.

use gil_run_support::cache;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What marks a folder that tools filled, such as cargo's (the specification of
/// cache directory tags).
const FILLED: &str = "CACHEDIR.TAG";
/// Variables that have cargo build otherwise.
const VARIABLES: [&str; 5] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "CARGO_HOME",
];

/// A note of what the checkout was like, in cargo's folder.
pub struct Note {
    path: PathBuf,
    sources: String,
}

impl Note {
    /// Looks at the checkout; `name` says what is built of it, and cargo's folder
    /// for that profile, which the note goes to, is `folder`.
    ///
    /// # Errors
    /// Those of reading its folders: then cargo has to be asked.
    pub fn of(checkout: &Path, folder: &Path, name: &str) -> io::Result<Self> {
        let mut seen = Vec::new();
        let filled = folder.parent().unwrap_or(folder);
        look(checkout, filled, &mut seen)?;
        seen.sort();
        let variables = VARIABLES.map(std::env::var_os);
        Ok(Self {
            path: folder.join(name),
            sources: cache::key(&(seen, variables)),
        })
    }

    /// Whether cargo made these files of the checkout as it is.
    pub fn holds(&self, built: &[PathBuf]) -> bool {
        let noted = fs::read_to_string(&self.path);
        noted.is_ok_and(|noted| Some(noted) == self.text(built))
    }

    /// Notes that it did.
    pub fn keep(&self, built: &[PathBuf]) {
        if let Some(text) = self.text(built) {
            // Without it, cargo is asked again.
            let _ = fs::write(&self.path, text);
        }
    }

    fn text(&self, built: &[PathBuf]) -> Option<String> {
        let seen: io::Result<Vec<_>> = built.iter().map(|path| Seen::of(path)).collect();
        let built = cache::key(&seen.ok()?);
        Some(format!("{} {built}\n", self.sources))
    }
}

/// What tells whether a file was changed.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Seen {
    path: OsString,
    len: u64,
    changed: (i64, i64),
    written: (i64, i64),
}

impl Seen {
    fn of(path: &Path) -> io::Result<Self> {
        let meta = fs::metadata(path)?;
        Ok(Self {
            path: path.into(),
            len: meta.len(),
            changed: (meta.ctime(), meta.ctime_nsec()),
            written: (meta.mtime(), meta.mtime_nsec()),
        })
    }
}

/// All files in `folder`, but for those that tools made.
fn look(folder: &Path, filled: &Path, seen: &mut Vec<Seen>) -> io::Result<()> {
    if folder == filled || folder.join(FILLED).exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        match entry.file_type()? {
            kind if kind.is_dir() && !is_hidden => look(&entry.path(), filled, seen)?,
            // cargo's own settings are in a hidden folder.
            kind if kind.is_dir() && entry.file_name() == ".cargo" => {
                look(&entry.path(), filled, seen)?
            }
            kind if kind.is_file() => seen.push(Seen::of(&entry.path())?),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_of_sources_and_of_what_was_built() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        for folder in ["src/a", "target/debug", "filled", ".git", ".cargo"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("filled").join(FILLED), "").unwrap();
        fs::write(at("src/a/lib.rs"), "1").unwrap();
        let built = vec![at("target/debug/out")];
        let note = || Note::of(work.path(), &at("target/debug"), "note").unwrap();
        note().keep(&built);
        assert!(!note().holds(&built), "nothing was built");
        fs::write(&built[0], "x").unwrap();
        assert!(!note().holds(&built));
        note().keep(&built);
        assert!(note().holds(&built));
        fs::write(at(".git/index"), "").unwrap();
        fs::write(at("target/debug/other"), "").unwrap();
        fs::write(at("filled/other"), "").unwrap();
        assert!(note().holds(&built));
        for (path, text) in [
            ("src/a/lib.rs", "22"),
            ("src/a/new.rs", ""),
            (".cargo/config.toml", ""),
            ("target/debug/out", "yy"),
        ] {
            fs::write(at(path), text).unwrap();
            assert!(!note().holds(&built), "{path}");
            note().keep(&built);
            assert!(note().holds(&built), "{path}");
        }
        fs::remove_file(at("src/a/new.rs")).unwrap();
        assert!(!note().holds(&built));
    }
}
