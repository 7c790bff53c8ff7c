//! Files of a guest, read from its initramfs.

use crate::image::in_root;
use crate::tree::guest_path;
use cpio::newc::Reader;
use gil_run_support::cache::{At, CacheError};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::path::Path;

/// Links followed before a path is taken for a loop.
const LINKS_MAX: u32 = 40;
const ELF: &[u8] = b"\x7fELF";
/// Kinds of files, in their mode.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// An initramfs: archives behind each other, of which a later one counts.
#[derive(Default)]
pub struct GuestFiles {
    bytes: Vec<u8>,
    files: BTreeMap<String, Range<usize>>,
    links: BTreeMap<String, String>,
}

impl GuestFiles {
    /// Adds what is in one.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be read.
    pub fn add(&mut self, path: &Path) -> Result<(), CacheError> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let from = bytes.len();
        bytes.extend(fs::read(path).at(path)?);
        self.index(&bytes, from).at(path)?;
        self.bytes = bytes;
        Ok(())
    }

    fn index(&mut self, bytes: &[u8], from: usize) -> io::Result<()> {
        let mut cursor = Cursor::new(bytes);
        cursor.set_position(from as u64);
        loop {
            // Between archives there is padding.
            let rest = &bytes[(cursor.position() as usize).min(bytes.len())..];
            let Some(padding) = rest.iter().position(|&byte| byte != 0) else {
                return Ok(());
            };
            cursor.set_position(cursor.position() + padding as u64);
            let mut entry = Reader::new(cursor)?;
            if !entry.entry().is_trailer() {
                self.add_entry(&mut entry)?;
            }
            cursor = entry.skip()?;
        }
    }

    fn add_entry(&mut self, entry: &mut Reader<Cursor<&[u8]>>) -> io::Result<()> {
        let name = guest_path(in_root(entry.entry().name()));
        let (kind, len) = (entry.entry().mode() & KIND, entry.entry().file_size());
        self.files.remove(&name);
        self.links.remove(&name);
        match kind {
            REGULAR => {
                let start = entry.offset()? as usize;
                self.files.insert(name, start..start + len as usize);
            }
            LINK => {
                let mut target = String::new();
                entry.read_to_string(&mut target)?;
                self.links.insert(name, target);
            }
            _ => {}
        }
        Ok(())
    }

    /// The bytes of all ELF programs and libraries that `object` may mean: a
    /// path, or a file's name wherever it lies.
    pub fn elf_files(&self, object: &str) -> Vec<&[u8]> {
        let names = self.files.keys().chain(self.links.keys());
        let is_meant = |path: &str| match object.contains('/') {
            true => path == guest_path(object),
            false => path.rsplit('/').next() == Some(object),
        };
        let paths = names.filter(|path| is_meant(path) && !path.ends_with(".ko"));
        let mut found: Vec<&str> = paths.filter_map(|path| self.follow(path)).collect();
        found.sort_unstable();
        found.dedup();
        let bytes = found.into_iter().filter_map(|path| self.contents(path));
        bytes.filter(|bytes| bytes.starts_with(ELF)).collect()
    }

    /// The kernel module of that name in the guest.
    pub fn module(&self, object: &str) -> Option<&[u8]> {
        let plain = |name: &str| name.trim_end_matches(".ko").replace('-', "_");
        let is_it = |path: &&String| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name.ends_with(".ko") && plain(name) == plain(object)
        };
        self.contents(self.files.keys().find(is_it)?)
    }

    fn contents(&self, path: &str) -> Option<&[u8]> {
        self.bytes.get(self.files.get(path)?.clone())
    }

    /// The path of the file behind links at the end of a path.
    fn follow<'a>(&'a self, path: &'a str) -> Option<&'a str> {
        let mut path = path.to_owned();
        for _ in 0..LINKS_MAX {
            if let Some((path, _)) = self.files.get_key_value(&path) {
                return Some(path);
            }
            let target = self.links.get(&path)?;
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            path = match target.starts_with('/') {
                true => guest_path(target),
                false => joined(folder, target),
            };
        }
        None
    }
}

fn joined(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    guest_path(&parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Archive;
    use crate::files::Files;

    fn written(parts: &[&dyn Fn(&mut Archive)]) -> GuestFiles {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("initrd");
        let mut bytes = Vec::new();
        for part in parts {
            let path = folder.path().join("part");
            let mut archive = Archive::create(&path).unwrap();
            part(&mut archive);
            archive.finish().unwrap();
            bytes.extend(fs::read(&path).unwrap());
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        fs::write(&whole, bytes).unwrap();
        let mut guest = GuestFiles::default();
        guest.add(&whole).unwrap();
        guest
    }

    #[test]
    fn files_are_found_by_name_through_links_and_the_later_counts() {
        let first = |archive: &mut Archive| {
            archive
                .file("usr/lib/a/libx.so.1.2", 0o644, b"\x7fELFold")
                .unwrap();
            archive.link("usr/lib/a/libx.so.1", b"libx.so.1.2").unwrap();
            archive
                .link("usr/lib/b/libx.so.1", b"../a/libx.so.1")
                .unwrap();
            archive.file("usr/bin/script", 0o755, b"#!/bin/sh").unwrap();
        };
        let second = |archive: &mut Archive| {
            archive
                .file("usr/lib/a/libx.so.1.2", 0o644, b"\x7fELFnew")
                .unwrap();
            archive
                .file("usr/lib/gil/my-mod.ko", 0o644, b"\x7fELF")
                .unwrap();
        };
        let guest = written(&[&first, &second]);
        assert_eq!(guest.elf_files("libx.so.1"), [b"\x7fELFnew"]);
        assert_eq!(guest.elf_files("/lib/a/libx.so.1"), [b"\x7fELFnew"]);
        for none in ["script", "libx.so", "my-mod.ko"] {
            assert!(guest.elf_files(none).is_empty(), "{none}");
        }
        assert!(guest.module("my_mod").is_some() && guest.module("my-mod.ko").is_some());
        assert!(guest.module("libx").is_none());
    }
}
