//! `--share` and `--out`, as the user writes them.

use gil_guest_image::image;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where folders are in the guest, unless said otherwise.
const PLACE: &str = "/mnt";

/// A folder for the guest: `DIR[:GUEST][:ro]`; `:rw` at its end says what holds anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The path on this machine.
    pub source: PathBuf,
    /// The path in the guest, if one was given.
    at: Option<String>,
    /// Whether nothing can be changed in it.
    pub read_only: bool,
}

/// A file or folder of the guest, and where it is to be: `GUEST:HOST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Out {
    /// In the guest, from the program's working folder.
    from: String,
    /// The path on this machine.
    pub to: PathBuf,
}

/// A text that names no folder or output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// Of `--share`.
    #[error(
        "write DIR or DIR:GUEST, with an absolute path as GUEST, and :ro (or :rw, the default) after it"
    )]
    Share,
    /// The guest's root.
    #[error("the guest's own files are at /: name a folder below it, as in {0}:/mnt/{name}", name = Path::new(.0).file_name().unwrap_or_default().display())]
    Root(String),
    /// A path in the guest with `..`.
    #[error("the path in the guest contains \"..\": write /{0} without it")]
    Above(String),
    /// Of `--out`.
    #[error("write GUEST:HOST: a path in the guest, a colon, and a path here")]
    Out,
}

impl FromStr for Share {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let (text, read_only) = match (text.strip_suffix(":ro"), text.strip_suffix(":rw")) {
            (Some(text), _) => (text, true),
            (None, Some(text)) => (text, false),
            (None, None) => (text, false),
        };
        let (source, at) = match text.rsplit_once(":/") {
            Some((source, at)) => (source, Some(guest_folder(source, at)?)),
            None => (text, None),
        };
        match source.is_empty() {
            true => Err(FormError::Share),
            false => Ok(Self {
                source: source.into(),
                at,
                read_only,
            }),
        }
    }
}

/// The folder of the guest with this path below its root, at which nothing is shared.
fn guest_folder(source: &str, path: &str) -> Result<String, FormError> {
    let parts = path.split('/').filter(|part| !["", "."].contains(part));
    let parts: Vec<_> = parts.collect();
    if source.is_empty() {
        return Err(FormError::Share);
    }
    if parts.contains(&"..") {
        return Err(FormError::Above(path.into()));
    }
    match parts.is_empty() {
        true => Err(FormError::Root(source.into())),
        false => Ok(format!("/{}", parts.join("/"))),
    }
}

impl FromStr for Out {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        match text.split_once(':') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok(Self {
                from: from.into(),
                to: to.into(),
            }),
            _ => Err(FormError::Out),
        }
    }
}

impl Share {
    /// As the guest's init gets it.
    pub fn in_guest(&self) -> image::Share {
        let name = || {
            let path = fs::canonicalize(&self.source).unwrap_or_default();
            let name = path.file_name().unwrap_or(OsStr::new("share"));
            format!("{PLACE}/{}", name.to_string_lossy())
        };
        image::Share {
            at: self.at.clone().unwrap_or_else(name),
            read_only: self.read_only,
        }
    }
}

impl Out {
    /// As the guest's init gets it.
    pub fn in_guest(&self) -> String {
        self.from.clone()
    }

    /// The file or folder that it becomes: in a folder that is there, one of its
    /// name.
    ///
    /// # Errors
    /// The system's, and those of what a file cannot replace.
    pub fn target(&self) -> io::Result<PathBuf> {
        let to = std::path::absolute(&self.to)?;
        let Ok(meta) = fs::metadata(&to) else {
            return Ok(to);
        };
        let to = fs::canonicalize(to)?;
        if meta.is_dir() {
            let name = Path::new(&self.from).file_name();
            return Ok(to.join(name.ok_or(io::ErrorKind::InvalidInput)?));
        }
        match meta.is_file() {
            true => Ok(to),
            // A device would be replaced.
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_has_its_own_name_in_the_guest_unless_it_is_given_one() {
        let share = |source: &str, at: Option<&str>, read_only| {
            Ok(Share {
                source: source.into(),
                at: at.map(str::to_owned),
                read_only,
            })
        };
        for (text, expected) in [
            ("data", share("data", None, false)),
            ("data:ro", share("data", None, true)),
            ("a:b:rw", share("a:b", None, false)),
            ("./data:/in//put/", share("./data", Some("/in/put"), false)),
            ("/a:/b:/c:ro", share("/a:/b", Some("/c"), true)),
            ("", Err(FormError::Share)),
            (":ro", Err(FormError::Share)),
            (":/x", Err(FormError::Share)),
            ("a:/", Err(FormError::Root("a".into()))),
            ("a:/.//:ro", Err(FormError::Root("a".into()))),
            ("a:/b/../c", Err(FormError::Above("b/../c".into()))),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        let work = tempfile::tempdir().unwrap();
        fs::create_dir(work.path().join("data")).unwrap();
        symlink("data", work.path().join("link")).unwrap();
        let at = |name: &str| {
            let text = work.path().join(name).display().to_string();
            text.parse::<Share>().unwrap().in_guest().at
        };
        assert_eq!([at("data"), at("link"), at("data/.")], ["/mnt/data"; 3]);
    }

    #[test]
    fn an_output_has_both_its_places() {
        let out = |from: &str, to: &str| {
            Ok(Out {
                from: from.into(),
                to: to.into(),
            })
        };
        assert_eq!("a:b:c".parse(), out("a", "b:c"));
        for wrong in ["", "a", ":a", "a:"] {
            assert_eq!(wrong.parse::<Out>(), Err(FormError::Out), "{wrong}");
        }
    }

    #[test]
    fn an_output_goes_into_a_folder_that_is_there() {
        let work = tempfile::tempdir().unwrap();
        let at = fs::canonicalize(work.path()).unwrap();
        fs::write(at.join("file"), "").unwrap();
        let target = |to: &Path| {
            let (from, to) = ("/root/result".into(), to.into());
            Out { from, to }.target()
        };
        assert_eq!(target(&at).unwrap(), at.join("result"));
        assert_eq!(target(&at.join("new")).unwrap(), at.join("new"));
        assert_eq!(target(&at.join("file")).unwrap(), at.join("file"));
        assert!(target(Path::new("/dev/null")).is_err());
    }
}
