//! The lengths of a folder's files, beside them: a crash of the machine, or a person, leaves
//! files that are cut short, and a program that takes them fails in ways that explain
//! nothing.

use super::{At, CacheError};
use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

/// The file: a line for each file of the folder, its length and its name.
const FILE: &str = ".lengths";

/// Writes it.
///
/// # Errors
/// [`CacheError::File`].
pub fn write(folder: &Path) -> Result<(), CacheError> {
    let text = lengths(folder).at(folder)?;
    let file = folder.join(FILE);
    fs::write(&file, text).at(&file)
}

/// Whether the files are as long as they were written. A folder without the list has no
/// lengths to be checked.
pub fn are_right(folder: &Path) -> bool {
    match fs::read_to_string(folder.join(FILE)) {
        Ok(written) => lengths(folder).is_ok_and(|lengths| lengths == written),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Files in folders of the folder are not looked at: they are many.
fn lengths(folder: &Path) -> io::Result<String> {
    let line = |entry: io::Result<DirEntry>| {
        let entry = entry?;
        let name = entry.file_name();
        let data = entry.metadata()?;
        let counts = data.is_file() && name != FILE;
        io::Result::Ok(counts.then(|| format!("{} {}\n", data.len(), name.display())))
    };
    let lines = fs::read_dir(folder)?.map(line);
    let mut lines: Vec<_> = lines
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;
    lines.sort_unstable();
    Ok(lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_cut_short_or_gone_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let [image, release] = ["image", "release"].map(|name| folder.path().join(name));
        fs::write(&image, "kernel").unwrap();
        fs::write(&release, "6.1").unwrap();
        fs::create_dir(folder.path().join("headers")).unwrap();
        assert!(are_right(folder.path()), "there is no list");
        write(folder.path()).unwrap();
        assert!(are_right(folder.path()));
        fs::write(folder.path().join("headers/one"), "").unwrap();
        assert!(are_right(folder.path()));
        fs::write(&image, "ker").unwrap();
        assert!(!are_right(folder.path()));
        fs::write(&image, "lenrek").unwrap();
        assert!(are_right(folder.path()));
        fs::remove_file(&release).unwrap();
        assert!(!are_right(folder.path()));
    }
}
