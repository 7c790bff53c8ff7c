//! The program that the guest is to run: found in its packages, or a local
//! file that is copied into it.

use crate::arch::Arch;
use crate::elf::{self, Elf, ElfError};
use crate::known_libraries;
use crate::tree::Tree;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Why a program cannot be run. As `env` has it, what is not there is 127,
/// what is there and cannot be run is 126.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No such local file.
    #[error(
        "there is no program {0}: check the path, which a local program has on this machine (gil copies it into the guest)"
    )]
    NoFile(String),
    /// No such program in the guest.
    #[error(
        "there is no program {0} in the guest: add the Debian package that has it, as in --pkg clinfo, or give the path of a local arm64 or armhf program"
    )]
    NotInGuest(String),
    /// An empty argument in its place.
    #[error("the program's name is empty: give the path of one, or the name of one in the guest")]
    NoName,
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
    /// No guest has the memory for it.
    #[error("{} is 4 GiB or larger, and a guest takes no program of that size: give an arm64 or armhf program", .0.display())]
    Large(PathBuf),
    /// A script whose first line the kernel does not understand.
    #[error(
        "{script} has lines that end with a carriage return, as on Windows, and the guest's kernel looks for an interpreter of that name: remove them, for example with `sed -i 's/\\r$//' {script}`"
    )]
    CarriageReturn {
        /// The script.
        script: String,
    },
    /// Its execute bits are not set.
    #[error("{0} is not executable: run `chmod +x` on it")]
    NotExecutable(String),
    /// Neither ELF nor a script.
    #[error("{} is neither an ELF program nor a script: give an arm64 or armhf program, or begin a script with the line that names its interpreter, such as #!/usr/bin/env python3", .0.display())]
    NoProgram(PathBuf),
    /// Another machine's.
    #[error("{} is a program for {machine}, and the guest runs arm64 and armhf: compile it with scripts/guest-cc (installed: gil-guest-cc)", path.display())]
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
    /// Another machine's library.
    #[error("{program} needs the library {library}, and {} is one for {machine}: build it for {}", path.display(), arch.debian())]
    OtherLibrary {
        /// The program.
        program: String,
        /// Its architecture.
        arch: Arch,
        /// The library's name.
        library: String,
        /// Where the program looks for it, and it is.
        path: PathBuf,
        /// Whose it is.
        machine: String,
    },
    /// A script's interpreter is nowhere.
    #[error(
        "{script} runs by {interpreter}, which the guest does not have: add its Debian package with --pkg PACKAGE, or the file with --file SRC:{interpreter}"
    )]
    NoInterpreter {
        /// The script.
        script: String,
        /// The interpreter's path or name.
        interpreter: String,
    },
    /// A library is nowhere.
    #[error(
        "{program} needs the library {library}, which the guest does not have: add its Debian package with --pkg {}, or the file with --file SRC:/{}/{library}{}",
        arch.package(known_libraries::package(library).unwrap_or("PACKAGE")),
        arch.library_folder(),
        known_libraries::advice(library)
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
            Self::NoFile(_) | Self::NotInGuest(_) | Self::NoName | Self::NoLibrary { .. } => 127,
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
    /// What its ELF headers say; none of a script.
    pub elf: Option<Elf>,
    /// Its folder in the guest, from the root.
    pub folder: String,
}

/// Where a local program lies in the guest, or in a folder below.
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
    if meta.len() > u32::MAX.into() {
        return Err(ProgramError::Large(path.into()));
    }
    let program = inspect(path, read(path).map_err(unreadable)?)?;
    // To set the bits of a file that is no program would not help.
    if meta.permissions().mode() & 0o111 == 0 {
        return Err(ProgramError::NotExecutable(path.display().to_string()));
    }
    Ok(program)
}

/// The bytes of an ELF file or a script; of any other, however large it is, the first few.
///
/// # Errors
/// Those of reading it; one if it is a device, a pipe or a folder.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(4).read_to_end(&mut bytes)?;
    if bytes.starts_with(b"#!") || bytes == object::elf::ELFMAG {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn inspect(path: &Path, bytes: Vec<u8>) -> Result<Local, ProgramError> {
    let elf = match bytes.starts_with(b"#!") {
        true => None,
        false => Some(elf::read(&bytes).map_err(|error| refused(path, error))?),
    };
    let local = Local {
        path: path.into(),
        bytes,
        elf,
        folder: LOCAL_FOLDER.into(),
    };
    match &local.elf {
        Some(elf) if elf.soft_floats && !elf.libraries.is_empty() => {
            let machine = "32-bit ARM without hardware floats (armel)".into();
            Err(refused(path, ElfError::OtherMachine(machine)))
        }
        _ => Ok(local),
    }
}

fn refused(path: &Path, error: ElfError) -> ProgramError {
    let path = path.into();
    match error {
        ElfError::NoElf => ProgramError::NoProgram(path),
        ElfError::OtherMachine(machine) => ProgramError::OtherMachine { path, machine },
        ElfError::Damaged(source) => ProgramError::Damaged { path, source },
    }
}

impl Local {
    /// Where it lies in the guest, from the root.
    pub fn guest_path(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{}/{name}", self.folder)
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
    if name.is_empty() {
        return Err(ProgramError::NoName);
    }
    let path = Path::new(name);
    if !name.contains('/') {
        return match tree.program(name) {
            Some(path) => Ok(Program::Guest(format!("/{path}"))),
            None if path.is_file() => local(path).map(Program::Local),
            None if matches!(name, "." | "..") => Err(ProgramError::NoRegularFile(name.into())),
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

    #[test]
    fn a_large_file_is_read_only_if_it_is_a_program() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        // More than this machine has memory, and takes hours to read.
        file.as_file().set_len(1 << 43).unwrap();
        assert_eq!(read(path).unwrap(), [0; 4]);
        let error = local(path).unwrap_err();
        assert!(matches!(error, ProgramError::Large(_)), "{error}");
        assert!(read(Path::new("/dev/zero")).is_err());
        file.as_file().set_len(0).unwrap();
        fs::write(path, "#!/bin/sh\ntrue\n").unwrap();
        assert_eq!(local(path).unwrap().bytes, b"#!/bin/sh\ntrue\n");
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        for bytes in [&b""[..], b"\x7fELF", b"text", b"\x7fELF\x02\x01"] {
            let error = inspect(Path::new("p"), bytes.to_vec()).unwrap_err();
            assert!(matches!(error, ProgramError::NoProgram(_)), "{error}");
            assert_eq!(error.code(), 126);
        }
    }
}
