//! `gil run --out`: what the program left is copied to folders of the host, which are
//! mounted for that when the program has ended.

mod contents;
mod tree;

use crate::Error;
use crate::config::{Config, Share};
use crate::shares::Shares;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where the host's folders are mounted meanwhile.
const PLACE: &str = "/run/gil-out";
/// What is copied there, and its name until it is whole.
const WHOLE: &str = "whole";
const PART: &str = "part";

/// Copies each output of the run; what went wrong with some of them.
pub fn copy(config: &Config) -> Vec<Error> {
    let first = config.shares.len();
    let copied =
        |(number, from): (usize, &PathBuf)| copy_one(first + number, &config.cwd.join(from)).err();
    config
        .outputs
        .iter()
        .enumerate()
        .filter_map(copied)
        .collect()
}

/// The sentence for a copy that failed.
fn why_not(path: &Path, error: io::Error) -> Error {
    let path = path.into();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Error::Full(path, error),
        _ => Error::Output { path, error },
    }
}

fn copy_one(number: usize, from: &Path) -> Result<(), Error> {
    let failed = |error| why_not(from, error);
    // Behind a link, if the name is one.
    let meta = fs::metadata(from).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Error::NoOutput(from.into()),
        _ => failed(error),
    })?;
    if !meta.is_file() && !meta.is_dir() {
        return Err(Error::NoContents(from.into()));
    }
    let at = PathBuf::from(PLACE);
    let share = Share {
        at: at.clone(),
        read_only: false,
    };
    let shares = Shares::mount(number, &[share])?;
    let part = at.join(PART);
    let copied = tree::copy(from, &part, &meta);
    let copied = copied.and_then(|()| fs::rename(&part, at.join(WHOLE)));
    shares.unmount()?;
    copied.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_contents_is_refused() {
        let error = copy_one(0, Path::new("/dev/null")).unwrap_err().to_string();
        assert!(error.contains("neither a file nor a folder"), "{error}");
    }

    #[test]
    fn an_output_that_fails_is_a_sentence_with_its_cause() {
        let error = |errno| {
            let error = io::Error::from_raw_os_error(errno);
            why_not("/root/out".as_ref(), error).to_string()
        };
        let none = copy_one(0, Path::new("/nowhere/out"))
            .unwrap_err()
            .to_string();
        assert!(
            none.starts_with("--out /nowhere/out is not in the guest now"),
            "{none}"
        );
        for full in [libc::ENOSPC, libc::EDQUOT] {
            let error = error(full);
            assert!(
                error.contains("does not fit on the disk of the host"),
                "{error}"
            );
        }
        assert!(error(libc::EACCES).contains("cannot be copied"));
    }
}
