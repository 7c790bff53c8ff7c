//! The program that the guest is to run: found in its packages, or a local
//! file that is copied into it.

use crate::arch::Arch;
use crate::tree::Tree;
use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{ElfFile, FileHeader};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Why a program cannot be run. As `env` has it, what is not there is 127,
/// what is there and cannot be run is 126.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No such local file.
    #[error("there is no program {0}: check the path")]
    NoFile(String),
    /// No such program in the guest.
    #[error(
        "there is no program {0} in the guest: add the Debian package that has it with --pkg, or give the path of a local arm64 or armhf program"
    )]
    NotInGuest(String),
    /// It cannot be read.
    #[error("{} cannot be read ({source}): check its permissions", path.display())]
    Unreadable {
        /// The local file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A folder or device.
    #[error("{} is no file: give the path of an arm64 or armhf program", .0.display())]
    NoRegularFile(PathBuf),
    /// Its execute bits are not set.
    #[error("{0} is not executable: run `chmod +x` on it")]
    NotExecutable(String),
    /// Neither ELF nor a script.
    #[error("{} is neither an ELF program nor a script: give an arm64 or armhf program", .0.display())]
    NoProgram(PathBuf),
    /// Another machine's.
    #[error("{} is a program for {machine}, and the guest runs arm64 and armhf: compile it with scripts/guest-cc", path.display())]
    OtherMachine {
        /// The local file.
        path: PathBuf,
        /// Whose it is.
        machine: String,
    },
    /// A damaged ELF file.
    #[error("{} is a damaged ELF file ({source}): build it again", path.display())]
    Damaged {
        /// The local file.
        path: PathBuf,
        /// What is wrong.
        source: object::Error,
    },
    /// A library is nowhere.
    #[error(
        "{program} needs the library {library}, which the guest does not have: add its Debian package with --pkg {}, or the file with --file SRC:/{}/{library}",
        arch.package("PACKAGE"),
        arch.library_folder()
    )]
    NoLibrary {
        /// The program.
        program: String,
        /// Its architecture.
        arch: Arch,
        /// The library's name.
        library: String,
    },
}

impl ProgramError {
    /// The exit code, as `env` has it.
    pub fn code(&self) -> u8 {
        match self {
            Self::NoFile(_) | Self::NotInGuest(_) | Self::NoLibrary { .. } => 127,
            _ => 126,
        }
    }
}

/// A local program.
#[derive(Debug)]
pub struct Local {
    /// Its path.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whose libraries it needs.
    pub arch: Arch,
    /// Libraries it names, if it is dynamic.
    pub libraries: Vec<String>,
    /// Whether it brings its own places to look for libraries.
    pub has_search_path: bool,
}

/// Where a local program lies in the guest.
pub const LOCAL_FOLDER: &str = "opt/gil";

/// A local file as a program.
///
/// # Errors
/// [`ProgramError`] if it is no program for the guest.
pub fn local(path: &Path) -> Result<Local, ProgramError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            ProgramError::NoFile(path.display().to_string())
        }
        _ => ProgramError::Unreadable {
            path: path.into(),
            source,
        },
    };
    let meta = fs::metadata(path).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(ProgramError::NoRegularFile(path.into()));
    }
    if meta.permissions().mode() & 0o111 == 0 {
        return Err(ProgramError::NotExecutable(path.display().to_string()));
    }
    inspect(path, fs::read(path).map_err(unreadable)?)
}

fn inspect(path: &Path, bytes: Vec<u8>) -> Result<Local, ProgramError> {
    let mut local = Local {
        path: path.into(),
        bytes,
        arch: Arch::Arm64,
        libraries: Vec::new(),
        has_search_path: false,
    };
    if local.bytes.starts_with(b"#!") {
        return Ok(local);
    }
    if !local.bytes.starts_with(&elf::ELFMAG) {
        return Err(ProgramError::NoProgram(path.into()));
    }
    local.arch = architecture(path, &local.bytes)?;
    let data = local.bytes.as_slice();
    let needs = match local.arch {
        Arch::Arm64 => needs::<FileHeader64<Endianness>>(data),
        Arch::Armhf => needs::<FileHeader32<Endianness>>(data),
    };
    let needs = needs.map_err(|source| ProgramError::Damaged {
        path: path.into(),
        source,
    })?;
    if needs.soft_floats && !needs.libraries.is_empty() {
        return Err(ProgramError::OtherMachine {
            path: path.into(),
            machine: "32-bit ARM without hardware floats (armel)".into(),
        });
    }
    local.libraries = needs.libraries;
    local.has_search_path = needs.has_search_path;
    Ok(local)
}

/// Class, byte order and machine lie at the same place in every ELF file.
fn architecture(path: &Path, bytes: &[u8]) -> Result<Arch, ProgramError> {
    let (Some(&class), Some(&order), Some(&[low, high])) = (
        bytes.get(4),
        bytes.get(5),
        bytes.get(18..20).and_then(|b| <&[u8; 2]>::try_from(b).ok()),
    ) else {
        return Err(ProgramError::NoProgram(path.into()));
    };
    let little = order == elf::ELFDATA2LSB.0;
    let machine = if little { [low, high] } else { [high, low] };
    let machine = elf::Machine(u16::from_le_bytes(machine));
    match (elf::FileClass(class), little, machine) {
        (elf::ELFCLASS64, true, elf::EM_AARCH64) => Ok(Arch::Arm64),
        (elf::ELFCLASS32, true, elf::EM_ARM) => Ok(Arch::Armhf),
        _ => Err(ProgramError::OtherMachine {
            path: path.into(),
            machine: machine_name(machine.0, class == elf::ELFCLASS64.0, little),
        }),
    }
}

fn machine_name(machine: u16, wide: bool, little: bool) -> String {
    let name = match machine {
        m if m == elf::EM_X86_64.0 => "x86-64",
        m if m == elf::EM_386.0 => "32-bit x86",
        m if m == elf::EM_ARM.0 => "32-bit ARM",
        m if m == elf::EM_RISCV.0 => "RISC-V",
        m if m == elf::EM_AARCH64.0 => "AArch64",
        m => return format!("ELF machine {m}"),
    };
    match (elf::Machine(machine), wide, little) {
        (elf::EM_AARCH64, false, _) => format!("{name} with 32-bit pointers"),
        (elf::EM_AARCH64 | elf::EM_ARM, _, false) => format!("big-endian {name}"),
        _ => name.to_owned(),
    }
}

#[derive(Default)]
struct Needs {
    libraries: Vec<String>,
    has_search_path: bool,
    /// Floats are passed as Debian's armhf does not.
    soft_floats: bool,
}

/// Reads the header's flags and the dynamic section.
fn needs<Elf: FileHeader<Endian = Endianness>>(data: &[u8]) -> object::Result<Needs> {
    let file = ElfFile::<Elf>::parse(data)?;
    let table = file.elf_dynamic_table()?;
    let flags = file.elf_header().e_flags(file.endian());
    let mut needs = Needs {
        soft_floats: !Elf::is_type_64_sized() && flags.0 & elf::EF_ARM_ABI_FLOAT_SOFT != 0,
        ..Needs::default()
    };
    for entry in table.iter() {
        if entry.tag == elf::DT_NEEDED {
            let name = table.string(entry)?;
            needs
                .libraries
                .push(String::from_utf8_lossy(name).into_owned());
        }
        needs.has_search_path |= entry.tag == elf::DT_RUNPATH || entry.tag == elf::DT_RPATH;
    }
    Ok(needs)
}

impl Local {
    /// The first library that neither the guest's packages nor `added` files
    /// have. A program with places of its own is not judged.
    ///
    /// # Errors
    /// [`ProgramError::NoLibrary`] names it.
    pub fn check_libraries<'a>(
        &self,
        tree: &Tree,
        added: impl Iterator<Item = &'a str>,
    ) -> Result<(), ProgramError> {
        let added: Vec<_> = added.filter_map(|path| path.rsplit('/').next()).collect();
        let is_added = |library: &str| added.contains(&library);
        let missing = self.libraries.iter().find(|library| {
            !self.has_search_path && !tree.has_library(self.arch, library) && !is_added(library)
        });
        match missing {
            Some(library) => Err(ProgramError::NoLibrary {
                program: self.path.display().to_string(),
                arch: self.arch,
                library: library.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Where it lies in the guest, from the root.
    pub fn guest_path(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{LOCAL_FOLDER}/{name}")
    }
}

/// The program as the user named it.
#[derive(Debug)]
pub enum Program {
    /// A local file, copied into the guest.
    Local(Local),
    /// A path in the guest.
    Guest(String),
}

/// Finds the program: a name among the guest's programs, a path among the local
/// files, or else in the guest.
///
/// # Errors
/// [`ProgramError`] if it is nowhere or cannot be run.
pub fn find(name: &str, tree: &Tree) -> Result<Program, ProgramError> {
    let path = Path::new(name);
    if !name.contains('/') {
        return match tree.program(name) {
            Some(path) => Ok(Program::Guest(format!("/{path}"))),
            None if path.is_file() => local(path).map(Program::Local),
            None => Err(ProgramError::NotInGuest(name.into())),
        };
    }
    if !path.exists() && name.starts_with('/') && tree.file(name).is_some() {
        return match tree.is_executable(name) {
            true => Ok(Program::Guest(name.into())),
            false => Err(ProgramError::NotExecutable(name.into())),
        };
    }
    local(path).map(Program::Local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Entry;

    fn header(class: u8, order: u8, machine: u16) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(&elf::ELFMAG);
        (bytes[4], bytes[5]) = (class, order);
        let machine = if order == 1 {
            machine.to_le_bytes()
        } else {
            machine.to_be_bytes()
        };
        bytes[18..20].copy_from_slice(&machine);
        bytes
    }

    #[test]
    fn other_machines_are_named() {
        for (class, order, machine, name) in [
            (2, 1, 62, "x86-64"),
            (1, 2, 40, "big-endian 32-bit ARM"),
            (1, 1, 183, "32-bit pointers"),
            (2, 2, 183, "big-endian AArch64"),
            (2, 1, 9999, "machine 9999"),
        ] {
            let error = inspect(Path::new("p"), header(class, order, machine)).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            assert_eq!(error.code(), 126);
        }
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        for bytes in [&b""[..], b"\x7fELF", b"text", b"\x7fELF\x02\x01"] {
            let error = inspect(Path::new("p"), bytes.to_vec()).unwrap_err();
            assert!(matches!(error, ProgramError::NoProgram(_)), "{error}");
        }
        let mut header = header(2, 1, 183);
        header.truncate(40);
        let error = inspect(Path::new("p"), header).unwrap_err();
        assert!(matches!(error, ProgramError::Damaged { .. }), "{error}");
    }

    #[test]
    fn missing_libraries_are_named_once_nobody_has_them() {
        let mut tree = Tree::default();
        tree.insert(
            "usr/lib/aarch64-linux-gnu/libc.so.6",
            Entry::File { executable: true },
        );
        let mut program = inspect(Path::new("p"), b"#!/bin/sh".to_vec()).unwrap();
        program.libraries = vec!["libc.so.6".into(), "libx.so.1".into()];
        let error = program.check_libraries(&tree, [].into_iter()).unwrap_err();
        assert!(error.to_string().contains("libx.so.1"), "{error}");
        program
            .check_libraries(&tree, ["usr/lib/libx.so.1"].into_iter())
            .unwrap();
        program.arch = Arch::Armhf;
        let error = program
            .check_libraries(&tree, [].into_iter())
            .unwrap_err()
            .to_string();
        assert!(error.contains("libc.so.6"), "{error}");
        assert!(error.contains("--pkg PACKAGE:armhf"), "{error}");
        program.has_search_path = true;
        program.check_libraries(&tree, [].into_iter()).unwrap();
    }
}
