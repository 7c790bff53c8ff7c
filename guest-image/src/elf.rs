//! What a local ELF file says of its machine and of the libraries that it needs.

use crate::arch::Arch;
use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{ElfFile, FileHeader};

/// Why a file is no program or library for the guest.
#[derive(Debug)]
pub enum ElfError {
    /// Not ELF, or less than its first header.
    NoElf,
    /// For a machine that the guest is not; its name.
    OtherMachine(String),
    /// Its tables cannot be read.
    Damaged(object::Error),
}

/// An ELF file for the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elf {
    /// Whose libraries it needs.
    pub arch: Arch,
    /// The names of those libraries (`DT_NEEDED`).
    pub libraries: Vec<String>,
    /// Where it looks for them (`DT_RUNPATH`), with colons.
    pub runpath: Option<String>,
    /// Where it and the libraries that it loads look for them (`DT_RPATH`).
    pub rpath: Option<String>,
    /// Floats are passed as Debian's armhf does not.
    pub soft_floats: bool,
}

/// Reads the headers and the dynamic section.
///
/// # Errors
/// [`ElfError`].
pub fn read(bytes: &[u8]) -> Result<Elf, ElfError> {
    if !bytes.starts_with(&elf::ELFMAG) {
        return Err(ElfError::NoElf);
    }
    let arch = architecture(bytes)?;
    let found = match arch {
        Arch::Arm64 => dynamic::<FileHeader64<Endianness>>(bytes, arch),
        Arch::Armhf => dynamic::<FileHeader32<Endianness>>(bytes, arch),
    };
    found.map_err(ElfError::Damaged)
}

/// Class, byte order and machine lie at the same place in every ELF file.
fn architecture(bytes: &[u8]) -> Result<Arch, ElfError> {
    let (Some(&class), Some(&order), Some(&[low, high])) = (
        bytes.get(4),
        bytes.get(5),
        bytes.get(18..20).and_then(|b| <&[u8; 2]>::try_from(b).ok()),
    ) else {
        return Err(ElfError::NoElf);
    };
    let little = order == elf::ELFDATA2LSB.0;
    let machine = if little { [low, high] } else { [high, low] };
    let machine = elf::Machine(u16::from_le_bytes(machine));
    match (elf::FileClass(class), little, machine) {
        (elf::ELFCLASS64, true, elf::EM_AARCH64) => Ok(Arch::Arm64),
        (elf::ELFCLASS32, true, elf::EM_ARM) => Ok(Arch::Armhf),
        _ => Err(ElfError::OtherMachine(machine_name(
            machine.0,
            class == elf::ELFCLASS64.0,
            little,
        ))),
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

fn dynamic<Header: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    arch: Arch,
) -> object::Result<Elf> {
    let file = ElfFile::<Header>::parse(bytes)?;
    let table = file.elf_dynamic_table()?;
    let flags = file.elf_header().e_flags(file.endian());
    let mut found = Elf {
        arch,
        libraries: Vec::new(),
        runpath: None,
        rpath: None,
        soft_floats: arch == Arch::Armhf && flags.0 & elf::EF_ARM_ABI_FLOAT_SOFT != 0,
    };
    for entry in table.iter() {
        let text = || {
            table
                .string(entry)
                .map(|text| String::from_utf8_lossy(text).into_owned())
        };
        match entry.tag {
            elf::DT_NEEDED => found.libraries.push(text()?),
            elf::DT_RUNPATH => found.runpath = Some(text()?),
            elf::DT_RPATH => found.rpath = Some(text()?),
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let error = read(&header(class, order, machine)).unwrap_err();
            let ElfError::OtherMachine(machine) = error else {
                panic!("{error:?}");
            };
            assert!(machine.contains(name), "{machine}");
        }
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        for bytes in [&b""[..], b"\x7fELF", b"text", b"\x7fELF\x02\x01"] {
            assert!(matches!(read(bytes), Err(ElfError::NoElf)), "{bytes:?}");
        }
        let mut header = header(2, 1, 183);
        header.truncate(40);
        assert!(matches!(read(&header), Err(ElfError::Damaged(_))));
    }
}
