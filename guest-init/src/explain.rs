//! Why an existing program could not be executed. The kernel's error alone is ambiguous:
//! a missing dynamic linker is "no such file", too.

use crate::Error;
use nix::errno::Errno;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};
use std::io::Read;
use std::path::Path;

/// Bytes read of the program: its headers and the interpreter's name come first.
const HEAD: u64 = 64 << 10;

/// Why `path`, which exists, could not be executed.
pub fn why_not(path: &Path, errno: Errno) -> Error {
    let head = head_of(path).unwrap_or_default();
    match (errno, interpreter(&head)) {
        (Errno::ENOENT | Errno::ENOTDIR, Some(interpreter)) => Error::Interpreter {
            path: path.into(),
            interpreter,
        },
        (Errno::ENOEXEC, _) => Error::Format {
            path: path.into(),
            found: format_of(&head),
        },
        (Errno::E2BIG, _) => Error::TooLong { path: path.into() },
        (errno, _) => Error::NotExecutable {
            path: path.into(),
            errno,
        },
    }
}

fn head_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    std::fs::File::open(path)?
        .take(HEAD)
        .read_to_end(&mut head)?;
    Ok(head)
}

/// The program that the kernel needs to execute this one.
fn interpreter(head: &[u8]) -> Option<String> {
    let name = match FileKind::parse(head) {
        Ok(FileKind::Elf32) => elf_interpreter::<FileHeader32<Endianness>>(head)?,
        Ok(FileKind::Elf64) => elf_interpreter::<FileHeader64<Endianness>>(head)?,
        _ => script_interpreter(head)?,
    };
    Some(String::from_utf8_lossy(name).into_owned())
}

fn elf_interpreter<Elf: FileHeader<Endian = Endianness>>(head: &[u8]) -> Option<&[u8]> {
    let header = Elf::parse(head).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, head).ok()?;
    segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, head).ok().flatten())
}

/// `#! /path argument`: the path.
fn script_interpreter(head: &[u8]) -> Option<&[u8]> {
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    line.split(|b| b" \t".contains(b))
        .find(|word| !word.is_empty())
}

fn format_of(head: &[u8]) -> String {
    let machine = match FileKind::parse(head) {
        Ok(FileKind::Elf32) => machine::<FileHeader32<Endianness>>(head),
        Ok(FileKind::Elf64) => machine::<FileHeader64<Endianness>>(head),
        _ => return "neither an ELF file nor a script that begins with #!".into(),
    };
    match machine {
        Some(elf::EM_AARCH64) => "a damaged arm64 ELF file".into(),
        Some(elf::EM_X86_64) => "an x86-64 ELF file; build it for arm64".into(),
        Some(elf::EM_ARM) => {
            "a 32-bit ARM ELF file, and this kernel or processor has no such mode".into()
        }
        Some(other) => format!("an ELF file for machine {}; build it for arm64", other.0),
        None => "a damaged ELF file".into(),
    }
}

fn machine<Elf: FileHeader<Endian = Endianness>>(head: &[u8]) -> Option<elf::Machine> {
    let header = Elf::parse(head).ok()?;
    Some(header.e_machine(header.endian().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
        file
    }

    #[test]
    fn a_script_names_its_interpreter() {
        let script = file(b"#! /bin/none -x\necho\n");
        let why = why_not(script.path(), Errno::ENOENT);
        assert!(
            matches!(&why, Error::Interpreter { interpreter, .. } if interpreter == "/bin/none")
        );
        assert_eq!(why.code(), 126);
    }

    #[test]
    fn an_elf_file_names_its_interpreter() {
        let test_program = head_of(&std::env::current_exe().unwrap()).unwrap();
        let name = interpreter(&test_program).unwrap();
        assert!(name.contains("/ld-linux"), "{name}");
    }

    #[test]
    fn other_formats_are_named() {
        let mut elf = head_of(&std::env::current_exe().unwrap()).unwrap();
        elf[18..20].copy_from_slice(&elf::EM_X86_64.0.to_le_bytes());
        assert!(format_of(&elf).contains("x86-64"));
        elf[18..20].copy_from_slice(&4242u16.to_le_bytes());
        assert!(format_of(&elf).contains("4242"));
        assert!(format_of(b"hello").contains("neither"));
        let text = file(b"hello");
        let why = why_not(text.path(), Errno::ENOEXEC);
        assert!(matches!(why, Error::Format { .. }));
    }

    #[test]
    fn an_environment_that_is_too_large_is_not_the_files_fault() {
        let why = why_not(file(b"#!/bin/sh\n").path(), Errno::E2BIG);
        assert!(why.to_string().contains("larger than"), "{why}");
        assert_eq!(why.code(), 126);
    }

    #[test]
    fn truncated_files_are_only_damaged() {
        let elf = head_of(&std::env::current_exe().unwrap()).unwrap();
        for len in (0..200).chain([1000, 4000]) {
            let _ = interpreter(&elf[..len]);
            let _ = format_of(&elf[..len]);
        }
    }
}
