//! Which platforms a guest's loaders find: the board's, and those of its packages only where that was asked for. They would compute in the
//! simulated guest, under the same names as the board's.

use gil_guest_names::{EGL, LIBRARIES, Vendors, vendors};
use gil_run_support::cache::{At, CacheError};
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
    /// Computing's from the board alone, drawing's from packages, which draw by the kernel's
    /// driver of a GPU.
    Driver,
}

/// gil's libraries as apt sees them: a package that is installed already and is
/// what others mean by a vendor's library, of whatever architecture they are.
const INSTALLED: &str = "Package: gil-guest-libraries
Status: install ok installed
Maintainer: gil
Version: 1
Multi-Arch: foreign
Description: gil's guest libraries
";

impl Platforms {
    /// What the option does that adds those of packages.
    pub fn option_help() -> String {
        let with_loaders = LIBRARIES.iter().filter(|library| {
            library
                .loader
                .is_some_and(|loader| loader.vendors.is_some())
        });
        let titles: Vec<_> = with_loaders.map(|library| library.title).collect();
        format!(
            "Show programs the {} platforms of Debian packages too, such as PoCL, which compute in the simulated guest; usually there are the board's only",
            titles.join(" and ")
        )
    }

    /// As that option has it.
    pub fn with_packages(asked: bool) -> Self {
        if asked { Self::Packages } else { Self::Board }
    }

    /// Whether what a loader finds by this list is the board's alone.
    fn is_boards(self, vendors: &Vendors) -> bool {
        match self {
            Self::Board => true,
            Self::Packages => false,
            Self::Driver => EGL.loader.and_then(|loader| loader.vendors) != Some(*vendors),
        }
    }

    /// What is installed before any package, for apt on a machine of this
    /// architecture.
    pub fn installed(self, arch: &str) -> String {
        let boards = vendors().filter(|vendors| self.is_boards(vendors));
        let provided: Vec<_> = boards.map(|vendors| vendors.package).collect();
        if provided.is_empty() {
            return String::new();
        }
        let provided = provided.join(", ");
        format!("{INSTALLED}Provides: {provided}\nArchitecture: {arch}\n")
    }

    /// Removes from unpacked packages what would show their platforms.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be removed.
    pub fn settle(self, root: &Path) -> Result<(), CacheError> {
        for vendors in vendors().filter(|vendors| self.is_boards(vendors)) {
            let vendors = root.join(vendors.folder);
            match fs::remove_dir_all(&vendors) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).at(&vendors);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_of_packages_are_seen_only_where_they_were_asked_for() {
        let root = tempfile::tempdir().unwrap();
        let loader = gil_guest_names::OPENCL.loader.unwrap();
        let vendors = root.path().join(loader.vendors.unwrap().folder);
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

    #[test]
    fn a_kernel_driver_draws_with_the_packages_and_computes_with_nothing() {
        let root = tempfile::tempdir().unwrap();
        let there = |library: gil_guest_names::Library| {
            let vendors = library.loader.unwrap().vendors.unwrap();
            let folder = root.path().join(vendors.folder);
            fs::create_dir_all(&folder).unwrap();
            Platforms::Driver.settle(root.path()).unwrap();
            folder.exists()
        };
        assert!(there(EGL));
        assert!(!there(gil_guest_names::OPENCL));
        let installed = Platforms::Driver.installed("arm64");
        assert!(installed.contains("opencl-icd") && !installed.contains("libegl-vendor"));
    }
}
