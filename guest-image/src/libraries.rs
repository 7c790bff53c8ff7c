//! Where gil's libraries lie in a guest: the shared one and, for each API, the
//! library that programs or a loader open.

use crate::assets::Assets;
use crate::tree::Tree;
use gil_guest_names::{GBM, GBM_DRIVERS, GBM_FOLDER, LIBRARIES};
use std::path::PathBuf;

/// gil's libraries in a guest that has these packages.
pub struct GuestLibraries<'a> {
    /// gil's own files.
    pub assets: &'a Assets,
    /// All of the guest's packages.
    pub tree: &'a Tree,
}

impl GuestLibraries<'_> {
    /// Each file's path in the guest, and what is copied there.
    pub fn files(&self) -> impl Iterator<Item = (String, PathBuf)> {
        self.assets.library_folders().flat_map(|(arch, folder)| {
            gil_guest_names::files().map(move |name| {
                let place = format!("{}/{name}", arch.library_folder());
                (place, folder.join(name))
            })
        })
    }

    /// Links: each path in the guest, and what it leads to from there.
    pub fn links(&self) -> impl Iterator<Item = (String, String)> {
        let loaders = self.loaders();
        loaders
            .map(|(path, name)| (path, name.into()))
            .chain(self.displays())
    }

    /// libgbm's back end, by the names of the display drivers for which it is.
    fn displays(&self) -> impl Iterator<Item = (String, String)> {
        self.assets.library_folders().flat_map(|(arch, _)| {
            GBM_DRIVERS.iter().map(move |driver| {
                let folder = arch.library_folder();
                let path = format!("{folder}/{GBM_FOLDER}/{driver}_gbm.so");
                (path, format!("../{}", GBM.file))
            })
        })
    }

    /// In the places of loaders that no package brings: each path in the guest, and the
    /// name beside it.
    fn loaders(&self) -> impl Iterator<Item = (String, &'static str)> {
        self.assets.library_folders().flat_map(move |(arch, _)| {
            LIBRARIES.iter().filter_map(move |library| {
                let name = library.loader?.file;
                let is_there = self.tree.has_library(arch, name);
                (!is_there).then(|| (format!("{}/{name}", arch.library_folder()), library.file))
            })
        })
    }
}
