//! Where gil's libraries lie in a guest: the shared one and, for each API, the
//! library that programs or a loader open.

use crate::assets::Assets;
use crate::tree::Tree;
use gil_guest_names::{GBM, GBM_DRIVERS, GBM_FOLDER, LIBRARIES, Library, SHARED, Vendors};
use std::path::PathBuf;

/// gil's libraries in a guest that has these packages.
pub struct GuestLibraries<'a> {
    /// gil's own files.
    pub assets: &'a Assets,
    /// All of the guest's packages.
    pub tree: &'a Tree,
    /// Whether programs draw by a driver of the guest's kernel: gil's libraries that draw
    /// are not there then.
    pub has_driver: bool,
}

impl GuestLibraries<'_> {
    /// Each file's path in the guest, and what is copied there.
    pub fn files(&self) -> impl Iterator<Item = (String, PathBuf)> {
        self.assets.library_folders().flat_map(|(arch, folder)| {
            let is_its = move |library: &&Library| library.is_for(arch.bits());
            let files = self.libraries().filter(is_its).map(|library| library.file);
            std::iter::once(SHARED).chain(files).map(move |name| {
                let place = format!("{}/{name}", arch.library_folder());
                (place, folder.join(name))
            })
        })
    }

    /// What loaders find: each file's path in the guest, and its text.
    pub fn entries(&self) -> impl Iterator<Item = (String, &'static str)> {
        let vendors = self
            .libraries()
            .filter_map(|library| library.loader?.vendors);
        vendors.map(|vendors: Vendors| (vendors.entry_path(), vendors.entry_text))
    }

    fn libraries(&self) -> impl Iterator<Item = &'static Library> {
        let is_there = |library: &&Library| !(self.has_driver && library.draws());
        LIBRARIES.iter().filter(is_there)
    }

    /// Links: each path in the guest, and what it leads to from there.
    pub fn links(&self) -> impl Iterator<Item = (String, String)> {
        let loaders = self.loaders();
        let displays = self.libraries().any(|library| *library == GBM);
        let displays = displays.then(|| self.displays());
        loaders
            .map(|(path, name)| (path, name.into()))
            .chain(displays.into_iter().flatten())
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
            self.libraries().filter_map(move |library| {
                let name = library.loader?.file;
                let is_there = self.tree.has_library(arch, name);
                (!is_there).then(|| (format!("{}/{name}", arch.library_folder()), library.file))
            })
        })
    }
}
