//! What files the guest will have: enough to find programs and libraries
//! before it boots.

use crate::arch::Arch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A file of the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A regular file, and whether it may be executed.
    File {
        /// Any of its execute bits is set.
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// As it is written in the link.
        target: String,
    },
    /// A folder, which may be empty.
    Folder,
}

/// The guest's files by path, relative to its root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

/// Debian merged these top-level folders into `/usr`; packages of older
/// releases still carry files under the old names.
pub const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

/// Links followed before a path is taken for a loop.
const LINKS_MAX: u32 = 40;
/// Where the guest looks for programs.
pub const PROGRAM_FOLDERS: [&str; 6] = [
    "usr/local/sbin",
    "usr/local/bin",
    "usr/sbin",
    "usr/bin",
    "usr/games",
    "usr/local/games",
];
impl Tree {
    /// Adds a file; a later one replaces an earlier one.
    pub fn insert(&mut self, path: &str, entry: Entry) {
        self.entries.insert(path.into(), entry);
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: Tree) {
        self.entries.extend(other.entries);
    }

    /// Whether a program of this name is found as a shell would; its path.
    pub fn program(&self, name: &str) -> Option<String> {
        PROGRAM_FOLDERS
            .iter()
            .map(|folder| format!("{folder}/{name}"))
            .find(|path| self.is_executable(path))
    }

    /// Whether the dynamic linker of `arch` finds a library of this name.
    pub fn has_library(&self, arch: Arch, name: &str) -> bool {
        [arch.library_folder(), "usr/lib"]
            .iter()
            .any(|folder| self.file(&format!("{folder}/{name}")).is_some())
    }

    /// Whether the path leads to a file that may be executed.
    pub fn is_executable(&self, path: &str) -> bool {
        matches!(self.file(path), Some(Entry::File { executable: true }))
    }

    /// The file that a path (absolute or from the root) leads to.
    pub fn file(&self, path: &str) -> Option<&Entry> {
        let found = self.entries.get(&self.resolve(path)?);
        found.filter(|entry| matches!(entry, Entry::File { .. }))
    }

    /// Whether the path, which has no links in it, is a folder's.
    pub fn is_folder(&self, path: &str) -> bool {
        match self.entries.get(path) {
            Some(entry) => *entry == Entry::Folder,
            // One that is above something need not be listed.
            None => {
                let below = format!("{path}/");
                let mut next = self.entries.range(below.clone()..);
                path.is_empty() || next.next().is_some_and(|(at, _)| at.starts_with(&below))
            }
        }
    }

    /// The first file on the way down a path, which has no links in it.
    pub fn file_on<'a>(&self, path: &'a str) -> Option<&'a str> {
        let is_file = |at: &&str| matches!(self.entries.get(*at), Some(Entry::File { .. }));
        prefixes(path).find(is_file)
    }

    /// Where a path (absolute or from the root) leads, whether something is there
    /// or not; nowhere if links lead around.
    pub fn resolve(&self, path: &str) -> Option<String> {
        let mut path = normal(path);
        for _ in 0..LINKS_MAX {
            let Some((at, target, rest)) = self.first_link(&path) else {
                return Some(path);
            };
            let folder = at.rsplit_once('/').map_or("", |(folder, _)| folder);
            path = match target.strip_prefix('/') {
                Some(absolute) => normal(&format!("{absolute}/{rest}")),
                None => normal(&format!("{folder}/{target}/{rest}")),
            };
        }
        None
    }

    /// The first prefix of `path` that is a link, with its target and what
    /// follows.
    fn first_link<'a>(&'a self, path: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
        prefixes(path).find_map(|at| match self.entries.get(at) {
            Some(Entry::Link { target }) => Some((at, target.as_str(), &path[at.len()..])),
            _ => None,
        })
    }
}

/// The folders on the way down a path, and the path.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.chain([path.len()]).map(|end| &path[..end])
}

/// The guest's name for a path of a package: relative, under `/usr` where
/// Debian merged.
pub fn guest_path(path: &str) -> String {
    let path = path.trim_start_matches("./").trim_matches('/');
    let top = path.split('/').next().unwrap_or_default();
    if MERGED.contains(&top) {
        format!("usr/{path}")
    } else {
        path.to_owned()
    }
}

/// Without `.`, `..` and empty parts, and under `/usr` where Debian merged.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if parts.first().is_some_and(|top| MERGED.contains(top)) {
        parts.insert(0, "usr");
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str], links: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for file in files {
            tree.insert(file, Entry::File { executable: true });
        }
        for (path, target) in links {
            tree.insert(
                path,
                Entry::Link {
                    target: (*target).into(),
                },
            );
        }
        tree
    }

    #[test]
    fn programs_and_libraries_are_found_through_links() {
        let tree = tree(
            &[
                "usr/bin/busybox",
                "usr/lib/aarch64-linux-gnu/libc.so.6",
                "opt/x/real",
            ],
            &[
                ("usr/bin/ls", "busybox"),
                ("usr/bin/abs", "/bin/busybox"),
                ("opt/y", "x"),
                ("usr/bin/far", "../../opt/y/real"),
                ("usr/bin/loop", "loop"),
                ("usr/bin/dangling", "nowhere"),
            ],
        );
        assert_eq!(tree.program("ls").as_deref(), Some("usr/bin/ls"));
        assert!(tree.program("abs").is_some());
        assert!(tree.program("far").is_some());
        assert!(tree.program("loop").is_none());
        assert!(tree.program("dangling").is_none());
        assert!(tree.has_library(Arch::Arm64, "libc.so.6"));
        assert!(!tree.has_library(Arch::Armhf, "libc.so.6"));
        assert!(tree.is_executable("/bin/ls"));
        assert_eq!(tree.resolve("/opt/y/new").as_deref(), Some("opt/x/new"));
        assert!(tree.is_folder("opt/x") && tree.is_folder(""));
        assert!(!tree.is_folder("opt/y") && !tree.is_folder("opt/x/real") && !tree.is_folder("op"));
        assert!(tree.file("/opt/x").is_none());
        assert!(tree.file("/lib/aarch64-linux-gnu/libc.so.6").is_some());
    }
}
