//! OpenCL drivers as they are registered: a file each, whose line names a
//! library.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where they are usually registered.
const VENDORS: &str = "/etc/OpenCL/vendors";
/// Names another folder, or one such file.
const VARIABLE: &str = "OCL_ICD_VENDORS";
/// Names libraries instead, to Khronos' loader.
const LIBRARIES: &str = "OCL_ICD_FILENAMES";
/// Longest file that is one.
const MAX_FILE: u64 = 4096;

/// A registered driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icd {
    /// The file that registers it.
    pub file: PathBuf,
    /// Its library, as the file names it.
    pub library: String,
}

impl std::fmt::Display for Icd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.file.display(), self.library)
    }
}

/// Where drivers are registered.
pub fn vendors() -> PathBuf {
    let set = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    set.map_or_else(|| VENDORS.into(), PathBuf::from)
}

/// The drivers that are registered, as far as files say so.
pub fn registered() -> Vec<Icd> {
    match std::env::var_os(LIBRARIES) {
        Some(_) => Vec::new(),
        None => registered_in(&vendors()),
    }
}

fn registered_in(place: &Path) -> Vec<Icd> {
    let mut files: Vec<PathBuf> = match std::fs::read_dir(place) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => vec![place.into()],
    };
    files.retain(|file| file.extension() == Some(OsStr::new("icd")));
    files.sort();
    files.into_iter().filter_map(read).collect()
}

fn read(file: PathBuf) -> Option<Icd> {
    let len = std::fs::metadata(&file).ok()?.len();
    let text = std::fs::read_to_string(&file).ok()?;
    let library = text.lines().next()?.trim();
    (len <= MAX_FILE && !library.is_empty()).then(|| Icd {
        library: library.into(),
        file,
    })
}

/// A folder that registers these drivers only.
pub fn folder_of<'a>(
    icds: impl IntoIterator<Item = &'a Icd>,
) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("gil-vendors").tempdir()?;
    for (number, icd) in icds.into_iter().enumerate() {
        let file = folder.path().join(format!("{number:03}.icd"));
        std::fs::write(file, format!("{}\n", icd.library))?;
    }
    Ok(folder)
}

/// The variable that has a loader look there.
pub fn only(folder: &tempfile::TempDir) -> (OsString, OsString) {
    // Debian's loader takes a folder only with the slash at its end.
    let mut path = folder.path().as_os_str().to_owned();
    path.push("/");
    (VARIABLE.into(), path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_read_in_the_order_of_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write("b.icd", "libb.so\n").unwrap();
        write("a.icd", " /opt/liba.so.1 \nignored\n").unwrap();
        write("empty.icd", "").unwrap();
        write("readme", "libc.so\n").unwrap();
        let found = registered_in(folder.path());
        let libraries: Vec<_> = found.iter().map(|icd| icd.library.as_str()).collect();
        assert_eq!(libraries, ["/opt/liba.so.1", "libb.so"]);
        assert_eq!(registered_in(&folder.path().join("b.icd")).len(), 1);
        assert_eq!(registered_in(&folder.path().join("none")), []);
        let copy = folder_of(&found[1..]).unwrap();
        assert_eq!(registered_in(copy.path())[0].library, "libb.so");
    }
}
