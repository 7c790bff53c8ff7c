//! Libraries of this machine that come into the guest with a local program: those that the
//! program, or one of them, looks for in folders of its own (`DT_RUNPATH`, `DT_RPATH`), as
//! the dynamic linker would find them here.
//!
//! Folders relative to the program (`$ORIGIN`) keep their places beside it. Others keep
//! their paths; there, what the guest has itself comes first.

use crate::arch::Arch;
use crate::copied::{Found, Kind};
use crate::elf::{self, Elf, ElfError};
use crate::program::{self, LOCAL_FOLDER, Local, ProgramError};
use crate::tree::{self, Tree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// What a local program links with.
#[derive(Debug, Default)]
pub struct Libraries {
    /// The program's folder in the guest, from the root, in which it finds
    /// what comes with it.
    pub folder: String,
    /// What comes with it, each file with its place.
    pub files: Vec<Found>,
    /// The names of libraries that the guest is to have.
    pub others: BTreeSet<String>,
    /// Files of these names in the program's folders, of other machines.
    foreign: BTreeMap<String, (PathBuf, String)>,
}

/// A folder in which libraries are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Folder {
    path: PathBuf,
    /// It has its place by the program's, in the guest too.
    is_beside: bool,
}

/// The program, or a library that comes with it.
struct Object {
    elf: Elf,
    folder: Folder,
    /// Where those that loaded it have their libraries looked for.
    inherited: Vec<Folder>,
}

/// A library that comes with the program.
struct Brought {
    path: PathBuf,
    is_beside: bool,
}

/// The libraries of a program, for a guest with these files.
pub fn find(local: &Local, tree: &Tree) -> Libraries {
    let Some(elf) = &local.elf else {
        return Libraries {
            folder: LOCAL_FOLDER.into(),
            ..Libraries::default()
        };
    };
    let path = fs::canonicalize(&local.path).unwrap_or_else(|_| local.path.clone());
    let home = path.parent().unwrap_or(Path::new("/")).to_owned();
    let mut found = Libraries::default();
    let mut brought = Vec::new();
    let mut seen = BTreeSet::new();
    let mut pending = VecDeque::from([Object {
        elf: elf.clone(),
        folder: Folder {
            path: home.clone(),
            is_beside: true,
        },
        inherited: Vec::new(),
    }]);
    while let Some(object) = pending.pop_front() {
        let folders = object.search_path();
        for name in &object.elf.libraries {
            if seen.insert(name.clone()) {
                let library = found.look_for(name, elf.arch, &folders, tree);
                pending.extend(library.map(|(path, library)| {
                    let is_beside = path.is_beside;
                    brought.push(Brought {
                        path: path.path.join(name),
                        is_beside,
                    });
                    Object {
                        elf: library,
                        folder: path,
                        inherited: object.passed_on(&folders),
                    }
                }));
            }
        }
    }
    found.give_places(&home, brought);
    found
}

impl Object {
    /// In the dynamic linker's order.
    fn search_path(&self) -> Vec<Folder> {
        match &self.elf.runpath {
            Some(own) => self.expand(own),
            None => {
                let own = self.elf.rpath.as_deref().unwrap_or_default();
                [self.expand(own), self.inherited.clone()].concat()
            }
        }
    }

    /// What a library that it loads inherits: `DT_RUNPATH` is for itself alone.
    fn passed_on(&self, folders: &[Folder]) -> Vec<Folder> {
        match self.elf.runpath {
            Some(_) => self.inherited.clone(),
            None => folders.to_vec(),
        }
    }

    /// The folders of a list with colons. One that is relative to the folder
    /// that the program is started in is left out.
    fn expand(&self, list: &str) -> Vec<Folder> {
        let each = list.split(':').filter_map(|text| {
            let text = ["$LIB", "${LIB}"]
                .iter()
                .fold(text.to_owned(), |text, lib| {
                    text.replace(
                        lib,
                        self.elf.arch.library_folder().trim_start_matches("usr/"),
                    )
                });
            let origins = ["$ORIGIN", "${ORIGIN}"];
            let below = origins.iter().find_map(|origin| text.strip_prefix(origin));
            match below {
                Some(below) => Some(Folder {
                    path: plain(&self.folder.path.join(below.trim_start_matches('/'))),
                    is_beside: self.folder.is_beside,
                }),
                None if text.starts_with('/') => Some(Folder {
                    path: plain(Path::new(&text)),
                    is_beside: false,
                }),
                None => None,
            }
        });
        each.collect()
    }
}

impl Libraries {
    /// The first of these folders that has the library here; none if the guest
    /// is to have it.
    fn look_for(
        &mut self,
        name: &str,
        arch: Arch,
        folders: &[Folder],
        tree: &Tree,
    ) -> Option<(Folder, Elf)> {
        for folder in folders.iter().filter(|_| !name.contains('/')) {
            let path = folder.path.join(name);
            if !folder.is_beside {
                if tree.has_library(arch, name) {
                    break;
                }
                if tree.file(&path.to_string_lossy()).is_some() {
                    return None;
                }
            }
            match program::read(&path).as_deref().map(elf::read) {
                Ok(Ok(elf)) if elf.arch == arch => return Some((folder.clone(), elf)),
                // The dynamic linker passes these over, too.
                Ok(Ok(elf)) => self.pass_over(name, path, elf.arch.debian().into()),
                Ok(Err(ElfError::OtherMachine(machine))) => self.pass_over(name, path, machine),
                _ => {}
            }
        }
        self.others.insert(name.into());
        None
    }

    fn pass_over(&mut self, name: &str, path: PathBuf, machine: String) {
        let first = self.foreign.entry(name.into());
        first.or_insert((path, machine));
    }

    /// Puts the program and what is beside it below one folder.
    fn give_places(&mut self, home: &Path, brought: Vec<Brought>) {
        let beside = brought.iter().filter(|library| library.is_beside);
        let folders = beside.filter_map(|library| library.path.parent());
        let top = folders.fold(home, common);
        let place = |path: &Path| {
            let below = path.strip_prefix(top).unwrap_or(path);
            tree::normal(&format!("{LOCAL_FOLDER}/{}", below.display()))
        };
        self.folder = place(home);
        self.files = brought
            .iter()
            .map(|library| Found {
                name: match library.is_beside {
                    true => place(&library.path),
                    false => tree::normal(&library.path.to_string_lossy()),
                },
                source: library.path.clone(),
                kind: Kind::File(0o755),
            })
            .collect();
    }

    /// The first library that neither the guest's packages nor `added` files
    /// have.
    ///
    /// # Errors
    /// [`ProgramError::NoLibrary`] or [`ProgramError::OtherLibrary`] names it.
    pub fn check<'a>(
        &self,
        local: &Local,
        tree: &Tree,
        added: impl Iterator<Item = &'a str>,
    ) -> Result<(), ProgramError> {
        let Some(arch) = local.elf.as_ref().map(|elf| elf.arch) else {
            return Ok(());
        };
        let added: Vec<_> = added.filter_map(|path| path.rsplit('/').next()).collect();
        let is_ours = |name: &str| gil_guest_names::files(arch.bits()).any(|file| file == name);
        let is_there =
            |name: &str| tree.has_library(arch, name) || added.contains(&name) || is_ours(name);
        let missing = self.others.iter().find(|name| {
            let file = name.rsplit('/').next().unwrap_or(name);
            let is_path = name.contains('/') && tree.file(name).is_some();
            !is_path && !is_there(file)
        });
        let Some(library) = missing.cloned() else {
            return Ok(());
        };
        let program = local.path.display().to_string();
        Err(match self.foreign.get(&library).cloned() {
            Some((path, machine)) => ProgramError::OtherLibrary {
                program,
                arch,
                library,
                path,
                machine,
            },
            None => ProgramError::NoLibrary {
                program,
                arch,
                library,
            },
        })
    }
}

/// Without `.` and `..`, by its text.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut all, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(all.pop()),
            part => all.push(part),
        }
        all
    })
}

/// The folder that both are in, or are.
fn common<'a>(one: &'a Path, other: &Path) -> &'a Path {
    let mut above = one.ancestors();
    let found = above.find(|folder| other.starts_with(folder));
    found.unwrap_or(Path::new("/"))
}

#[cfg(test)]
#[path = "brought_tests.rs"]
mod tests;
