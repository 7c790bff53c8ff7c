//! Large files of packages that are one file under several names, as Debian's drivers of
//! Mesa are: 42 links to one of 23 MiB. What unpacks packages makes files of their own of
//! them, and an initramfs would have them all.

use crate::copied::{self, Found, Kind};
use crate::unpacked;
use gil_run_support::cache::{self, At, CacheError};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Smaller ones cost little.
const LARGE: u64 = 1 << 20;

/// The place in the guest of the one file, for each of those that are the same.
pub type Same = HashMap<PathBuf, String>;

/// Finds them in `root`.
///
/// # Errors
/// [`CacheError`] if something cannot be read.
pub fn find(root: &Path) -> Result<Same, CacheError> {
    let mut sizes: HashMap<(u64, u32), Vec<PathBuf>> = HashMap::new();
    unpacked::visit(root, &mut |found: &Found| -> Result<(), CacheError> {
        if let Kind::File(mode) = found.kind {
            let len = fs::metadata(&found.source).at(&found.source)?.len();
            sizes
                .entry((len, mode))
                .or_default()
                .push(found.source.clone());
        }
        Ok(())
    })?;
    sizes.retain(|(len, _), paths| *len >= LARGE && paths.len() > 1);
    let mut same = Same::new();
    for ((_, mode), paths) in sizes {
        same.extend(of_one_size(mode, paths)?);
    }
    Ok(same)
}

/// Those of one size that are the same as another.
fn of_one_size(
    mode: u32,
    paths: Vec<PathBuf>,
) -> Result<impl Iterator<Item = (PathBuf, String)>, CacheError> {
    let mut contents: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for path in paths {
        let key = cache::key(&(mode, copied::read(&path)?));
        contents.entry(key).or_default().push(path);
    }
    contents.retain(|_, paths| paths.len() > 1);
    Ok(contents.into_iter().flat_map(|(key, paths)| {
        let place = format!("usr/lib/gil/same/{key}");
        paths.into_iter().map(move |path| (path, place.clone()))
    }))
}
