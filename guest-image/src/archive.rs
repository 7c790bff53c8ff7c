//! Parts of the guest's initramfs: cpio archives in the format the kernel
//! unpacks. Parts are concatenated; where two have the same file, the later
//! one counts.

use crate::copied::{self, Kind, folder_mode};
use crate::files::Files;
use crate::same;
use crate::unpacked;
use cpio::newc::{Builder, ModeFileType, trailer};
use gil_run_support::cache::{At, CacheError};
use gil_run_support::folder::create_file;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of an initramfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// As the simulator loads it.
    pub archive: u64,
    /// In the guest's memory once the kernel unpacked it.
    pub unpacked: u64,
}

/// When all files of a guest were last changed, in seconds since 1970: the year
/// 2000 began. It is the same on every machine, so that runs can be repeated,
/// and one that ZIP archives can hold, whatever the time zone.
pub const DATE: u32 = 946_684_800;

/// A file takes whole pages of the guest's memory.
const PAGE: u64 = 4096;
/// What the kernel keeps of a file or folder besides, generously.
const INODE: u64 = 1024;

/// Writes one archive.
pub struct Archive {
    path: PathBuf,
    /// The folder that all of it is in, with a `/` behind it; empty: the root.
    inside: String,
    unpacked: u64,
    out: BufWriter<File>,
    folders: BTreeSet<String>,
    next_inode: u32,
}

impl Archive {
    /// Begins an archive at `path`.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn create(path: &Path) -> Result<Self, CacheError> {
        Ok(Self::of(File::create(path).at(path)?, path))
    }

    /// The same, of what other users must not read.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn create_private(path: &Path) -> Result<Self, CacheError> {
        Ok(Self::of(create_file(path).at(path)?, path))
    }

    fn of(file: File, path: &Path) -> Self {
        Self {
            path: path.into(),
            inside: String::new(),
            unpacked: 0,
            out: BufWriter::with_capacity(1 << 20, file),
            folders: BTreeSet::new(),
            next_inode: 1,
        }
    }

    /// What comes from here on is in that folder; empty: at the root.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn enter(&mut self, folder: &str) -> Result<(), CacheError> {
        self.inside.clear();
        self.folders.clear();
        if !folder.is_empty() {
            self.folder(folder, 0o755)?;
            self.folders.clear();
            self.inside = format!("{folder}/");
        }
        Ok(())
    }

    /// All of the unpacked packages in `root`, but documentation; large files that are
    /// the same once, with links to it.
    ///
    /// # Errors
    /// [`CacheError`] if something cannot be read or written.
    pub fn tree(&mut self, root: &Path) -> Result<(), CacheError> {
        let same = same::find(root)?;
        let mut written = BTreeSet::new();
        unpacked::visit(
            root,
            &mut |found| match (same.get(&found.source), &found.kind) {
                (Some(place), Kind::File(mode)) => {
                    if written.insert(place) {
                        self.copy(place, *mode, &found.source)?;
                    }
                    self.link(&found.name, format!("/{place}").as_bytes())
                }
                _ => self.add(found),
            },
        )
    }

    /// Ends the archive; how many bytes it takes unpacked.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn finish(self) -> Result<u64, CacheError> {
        let path = self.path;
        let mut out = trailer(self.out).at(&path)?;
        out.flush().at(&path)?;
        Ok(self.unpacked)
    }

    fn parents(&mut self, name: &str) -> Result<(), CacheError> {
        match name.rsplit_once('/') {
            Some((parent, _)) if !parent.is_empty() => self.folder(parent, folder_mode(parent)),
            _ => Ok(()),
        }
    }

    fn entry(&mut self, name: &str, mode: u32, kind: ModeFileType) -> Builder {
        let inode = self.next_inode;
        self.next_inode += 1;
        Builder::new(&format!("{}{name}", self.inside))
            .ino(inode)
            .mode(mode)
            .nlink(1)
            .mtime(DATE)
            .set_mode_file_type(kind)
    }

    fn write(&mut self, entry: Builder, bytes: &[u8]) -> Result<(), CacheError> {
        let len = u32::try_from(bytes.len())
            .map_err(|_| std::io::Error::from(std::io::ErrorKind::FileTooLarge))
            .at(&self.path)?;
        let mut writer = entry.write(&mut self.out, len);
        writer.write_all(bytes).at(&self.path)?;
        writer.finish().at(&self.path)?;
        self.unpacked += u64::from(len).next_multiple_of(PAGE) + INODE;
        Ok(())
    }
}

impl Files for Archive {
    fn folder(&mut self, name: &str, mode: u32) -> Result<(), CacheError> {
        if name.is_empty() || self.folders.contains(name) {
            return Ok(());
        }
        self.parents(name)?;
        self.folders.insert(name.into());
        let entry = self.entry(name, mode, ModeFileType::Directory);
        self.write(entry, &[])
    }

    fn file(&mut self, name: &str, mode: u32, bytes: &[u8]) -> Result<(), CacheError> {
        self.parents(name)?;
        let entry = self.entry(name, mode, ModeFileType::Regular);
        self.write(entry, bytes)
    }

    fn copy(&mut self, name: &str, mode: u32, source: &Path) -> Result<(), CacheError> {
        self.file(name, mode, &copied::read(source)?)
    }

    fn link(&mut self, name: &str, target: &[u8]) -> Result<(), CacheError> {
        self.parents(name)?;
        let entry = self.entry(name, 0o777, ModeFileType::Symlink);
        self.write(entry, target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::Reader;
    use std::fs;

    fn entries(path: &Path) -> Vec<(String, u32, Vec<u8>)> {
        let mut file = File::open(path).unwrap();
        let mut found = Vec::new();
        loop {
            let reader = Reader::new(file).unwrap();
            if reader.entry().is_trailer() {
                return found;
            }
            assert_eq!(reader.entry().mtime(), DATE);
            let (name, mode) = (reader.entry().name().to_owned(), reader.entry().mode());
            let mut bytes = Vec::new();
            file = reader.to_writer(&mut bytes).unwrap();
            found.push((name, mode, bytes));
        }
    }

    #[test]
    fn packages_land_where_debian_merged_them() {
        let work = tempfile::tempdir().unwrap();
        let root = work.path().join("root");
        fs::create_dir_all(root.join("lib/arch")).unwrap();
        fs::create_dir_all(root.join("usr/share/doc/x")).unwrap();
        fs::write(root.join("usr/share/doc/x/copyright"), "long").unwrap();
        fs::write(root.join("lib/arch/libx.so.1.2"), "elf").unwrap();
        std::os::unix::fs::symlink("libx.so.1.2", root.join("lib/arch/libx.so.1")).unwrap();

        let path = work.path().join("a.cpio");
        let mut archive = Archive::create(&path).unwrap();
        archive.tree(&root).unwrap();
        archive.finish().unwrap();

        let found = entries(&path);
        let names: Vec<_> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "usr",
                "usr/share",
                "usr/lib",
                "usr/lib/arch",
                "usr/lib/arch/libx.so.1",
                "usr/lib/arch/libx.so.1.2"
            ]
        );
        assert_eq!(found[4].1 & 0o170000, 0o120000);
        assert_eq!(found[4].2, b"libx.so.1.2");
        assert_eq!(found[5].2, b"elf");
    }

    /// A file put over one of the names later replaces the link, and not the others.
    #[test]
    fn what_packages_have_under_several_names_is_there_once() {
        let work = tempfile::tempdir().unwrap();
        let root = work.path().join("root");
        fs::create_dir(&root).unwrap();
        let driver = vec![7; 1 << 20];
        for name in ["lima.so", "panfrost.so"] {
            fs::write(root.join(name), &driver).unwrap();
        }
        fs::write(root.join("other.so"), vec![8; 1 << 20]).unwrap();
        for name in ["small", "smaller"] {
            fs::write(root.join(name), "same").unwrap();
        }
        let path = work.path().join("a.cpio");
        let mut archive = Archive::create(&path).unwrap();
        archive.tree(&root).unwrap();
        archive.finish().unwrap();

        let found = entries(&path);
        let of = |name: &str| found.iter().find(|(found, ..)| found == name).unwrap();
        let place = String::from_utf8(of("lima.so").2.clone()).unwrap();
        assert_eq!(of("panfrost.so").2, place.as_bytes());
        assert_eq!(of(place.trim_start_matches('/')).2, driver);
        assert_eq!(of("other.so").2, [8; 1 << 20]);
        assert_eq!(
            (&of("small").2[..], &of("smaller").2[..]),
            (&b"same"[..], &b"same"[..])
        );
        assert_eq!(
            found.iter().filter(|(.., bytes)| *bytes == driver).count(),
            1
        );
    }

    #[test]
    fn folders_come_once_and_before_their_files() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("a.cpio");
        let mut archive = Archive::create(&path).unwrap();
        archive.file("etc/gil/run.json", 0o644, b"{}").unwrap();
        archive.file("etc/gil/other", 0o644, b"").unwrap();
        assert_eq!(archive.finish().unwrap(), PAGE + 4 * INODE);
        let names: Vec<_> = entries(&path).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(
            names,
            ["etc", "etc/gil", "etc/gil/run.json", "etc/gil/other"]
        );
    }
}
