//! What a built program says of itself.

use super::target::{BASELINE, Glibc, Target};
use object::elf::{FileHeader32, FileHeader64, Machine};
use object::read::elf::FileHeader;
use object::{Endianness, FileKind};

/// Why a program cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// For something else.
    #[error("the program is built for {found}, not for {expected}: build it again")]
    Machine {
        /// The value in the file.
        found: String,
        /// The expected value.
        expected: &'static str,
    },
    /// Not an ELF file, or a damaged one.
    #[error("the program cannot be read ({0}): build it again")]
    Damaged(#[from] object::Error),
    /// Newer than the systems it is for.
    #[error(
        "the program needs glibc {found}, and has to run with {BASELINE} (Debian 12): build it with the cross compiler of an older Debian"
    )]
    TooNew {
        /// The version that it needs.
        found: Glibc,
    },
}

/// Checks that `program` is for `target` and needs no newer C library than
/// [`BASELINE`]; which it needs.
///
/// # Errors
/// [`ElfError`].
pub fn check(target: &Target, program: &[u8]) -> Result<Glibc, ElfError> {
    let (bits, (machine, needs)) = match FileKind::parse(program)? {
        FileKind::Elf32 => (32, read::<FileHeader32<Endianness>>(program)?),
        FileKind::Elf64 => (64, read::<FileHeader64<Endianness>>(program)?),
        other => return Err(wrong(target, format!("{other:?}"))),
    };
    if (bits, machine) != (target.bits, target.machine) {
        return Err(wrong(target, format!("{machine:?}, {bits} bits")));
    }
    match needs {
        needs if needs > BASELINE => Err(ElfError::TooNew { found: needs }),
        needs => Ok(needs),
    }
}

fn wrong(target: &Target, found: String) -> ElfError {
    let expected = target.triple;
    ElfError::Machine { found, expected }
}

/// The machine, and the newest version of glibc's symbols that is needed.
fn read<Elf: FileHeader<Endian = Endianness>>(program: &[u8]) -> object::Result<(Machine, Glibc)> {
    let header = Elf::parse(program)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, program)?;
    let mut newest = Glibc(0, 0);
    if let Some((mut libraries, strings)) = sections.gnu_verneed(endian, program)? {
        let strings = sections.strings(endian, program, strings)?;
        while let Some((_, mut versions)) = libraries.next()? {
            while let Some(version) = versions.next()? {
                let name = String::from_utf8_lossy(version.name(endian, strings)?);
                newest = newest.max(Glibc::of_symbol(&name).unwrap_or(newest));
            }
        }
    }
    Ok((header.e_machine(endian), newest))
}
