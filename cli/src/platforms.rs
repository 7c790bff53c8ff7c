//! Which OpenCL platforms a guest has: the board's, and those of its packages
//! only where that was asked for. They would compute in the simulated guest,
//! under the same names as the board's.

use crate::cache::{At, CacheError};
use std::fs;
use std::io;
use std::path::Path;

/// Where platforms come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Platforms {
    /// From the board alone: packages that need a platform have gil's.
    Board,
    /// From packages too, as on a Debian machine.
    Packages,
}

/// Where packages put the files by which the loader finds their platforms.
const VENDORS: &str = "etc/OpenCL/vendors";

/// gil's library as apt sees it: a package that is installed already and is
/// what others mean by `opencl-icd`, of whatever architecture they are.
const INSTALLED: &str = "Package: gil-opencl
Status: install ok installed
Maintainer: gil
Version: 1
Multi-Arch: foreign
Provides: opencl-icd
Description: gil's OpenCL library
";

impl Platforms {
    /// As an option that adds those of packages has it.
    pub fn with_packages(asked: bool) -> Self {
        if asked { Self::Packages } else { Self::Board }
    }

    /// What is installed before any package, for apt on a machine of this
    /// architecture.
    pub fn installed(self, arch: &str) -> String {
        match self {
            Self::Board => format!("{INSTALLED}Architecture: {arch}\n"),
            Self::Packages => String::new(),
        }
    }

    /// Removes from unpacked packages what would show their platforms.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be removed.
    pub fn settle(self, root: &Path) -> Result<(), CacheError> {
        let vendors = root.join(VENDORS);
        if self == Self::Packages {
            return Ok(());
        }
        match fs::remove_dir_all(&vendors) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at(&vendors),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_of_packages_are_seen_only_where_they_were_asked_for() {
        let root = tempfile::tempdir().unwrap();
        let vendors = root.path().join(VENDORS);
        let there = |platforms: Platforms| {
            platforms.settle(root.path()).unwrap();
            vendors.join("pocl.icd").exists()
        };
        fs::create_dir_all(&vendors).unwrap();
        fs::write(vendors.join("pocl.icd"), "libpocl.so.2\n").unwrap();
        assert!(there(Platforms::Packages));
        assert!(!there(Platforms::Board));
        assert!(!there(Platforms::Board), "where there are none");
    }
}
