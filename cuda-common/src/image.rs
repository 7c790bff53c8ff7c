//! Images of modules: how many bytes one has, which only the image itself says.
//!
//! A program gives the address of an image and no length. The guest's library finds it to
//! send as many bytes; the board finds it again, within the bytes that came, before a driver
//! reads them.

/// Longest image.
pub const MAX: u64 = 1 << 30;
/// The first word of a fat binary's wrapper, as compilers place it in programs.
pub const WRAPPER: u32 = 0x4662_43b1;
/// The first word of a fat binary.
pub const FAT: u32 = 0xba55_ed50;
/// The first word of an ELF file.
const ELF: u32 = u32::from_le_bytes([0x7f, b'E', b'L', b'F']);
/// An ELF section without bytes in the file.
const NOBITS: u32 = 8;

/// What an address of an image leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// So many bytes.
    Bytes(u64),
    /// A wrapper, which has the address of the fat binary at this offset.
    Wrapper(u64),
}

/// Memory that an image is read from.
pub trait Memory {
    /// The bytes at an offset; `None` if they are not the image's.
    fn read<const N: usize>(&self, at: u64) -> Option<[u8; N]>;

    /// How many bytes stand before the first 0, of at most `most`.
    fn text_len(&self, most: u64) -> Option<u64>;
}

impl Memory for &[u8] {
    fn read<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        self.get(usize::try_from(at).ok()?..)?
            .first_chunk()
            .copied()
    }

    fn text_len(&self, most: u64) -> Option<u64> {
        let len = self.iter().position(|byte| *byte == 0)? as u64;
        (len <= most).then_some(len)
    }
}

/// What is at the beginning of an image; `None` for what is none.
pub fn image(memory: &impl Memory) -> Option<Image> {
    let first = memory.read::<1>(0)?;
    if first == [0] {
        return None;
    }
    // A text may end within four bytes.
    let is_text = (0..4).any(|at| memory.read::<1>(at).is_none_or(|byte| byte == [0]));
    let word = if is_text { 0 } else { u32_at(memory, 0)? };
    let len = match word {
        WRAPPER => return Some(Image::Wrapper(8)),
        FAT => fat_len(memory)?,
        ELF => elf_len(memory)?,
        _ => memory.text_len(MAX)?.checked_add(1)?,
    };
    (len <= MAX).then_some(Image::Bytes(len))
}

/// Whether these bytes are a whole image, of which a driver reads no more.
pub fn is_whole(bytes: &[u8]) -> bool {
    matches!(image(&bytes), Some(Image::Bytes(len)) if len <= bytes.len() as u64)
}

/// Whether kernels of an image may print: what prints is `vprintf`, by which name texts and
/// ELF files have it; what is in a fat binary may be compressed.
pub fn may_print(bytes: &[u8]) -> bool {
    const NAME: &[u8] = b"vprintf";
    let is_fat = u32_at(&bytes, 0) == Some(FAT);
    is_fat || bytes.windows(NAME.len()).any(|window| window == NAME)
}

fn u16_at(memory: &impl Memory, at: u64) -> Option<u64> {
    memory
        .read(at)
        .map(|bytes| u16::from_le_bytes(bytes).into())
}

fn u32_at(memory: &impl Memory, at: u64) -> Option<u32> {
    memory.read(at).map(u32::from_le_bytes)
}

fn u64_at(memory: &impl Memory, at: u64) -> Option<u64> {
    memory.read(at).map(u64::from_le_bytes)
}

/// A header of 16 bytes: the word, a version, the header's length, the length of what
/// follows.
fn fat_len(memory: &impl Memory) -> Option<u64> {
    let header = u16_at(memory, 6)?;
    u64_at(memory, 8)?.checked_add(header)
}

/// To the end of the tables and of every section, whichever is last.
fn elf_len(memory: &impl Memory) -> Option<u64> {
    let is_wide = memory.read::<1>(4)? == [2] && memory.read::<1>(5)? == [1];
    if !is_wide {
        return None;
    }
    let table = |at, entries, size| {
        let len = u16_at(memory, entries)?.checked_mul(u16_at(memory, size)?)?;
        u64_at(memory, at)?.checked_add(len)
    };
    let mut end = table(0x20, 0x38, 0x36)?
        .max(table(0x28, 0x3c, 0x3a)?)
        .max(64);
    let (sections, entry) = (u16_at(memory, 0x3c)?, u16_at(memory, 0x3a)?);
    if end > MAX || sections > 0 && entry < 64 {
        return None;
    }
    let first = u64_at(memory, 0x28)?;
    for section in 0..sections {
        let at = first.checked_add(section * entry)?;
        if u32_at(memory, at.checked_add(4)?)? == NOBITS {
            continue;
        }
        let (from, len) = (u64_at(memory, at + 0x18)?, u64_at(memory, at + 0x20)?);
        end = end.max(from.checked_add(len)?);
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn elf(sections: &[(u32, u64, u64)]) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 64 * sections.len()];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        bytes[0x28..0x30].copy_from_slice(&64u64.to_le_bytes());
        bytes[0x3a..0x3c].copy_from_slice(&64u16.to_le_bytes());
        bytes[0x3c..0x3e].copy_from_slice(&(sections.len() as u16).to_le_bytes());
        for (n, (kind, from, len)) in sections.iter().enumerate() {
            let at = 64 + 64 * n;
            bytes[at + 4..at + 8].copy_from_slice(&kind.to_le_bytes());
            bytes[at + 0x18..at + 0x20].copy_from_slice(&from.to_le_bytes());
            bytes[at + 0x20..at + 0x28].copy_from_slice(&len.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn each_kind_says_how_long_it_is() {
        assert_eq!(image(&&b".version 8.0\0x"[..]), Some(Image::Bytes(13)));
        assert_eq!(image(&&b"a\0"[..]), Some(Image::Bytes(2)));
        assert_eq!(image(&&b"\0"[..]), None);
        let mut fat = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
        fat.extend(100u64.to_le_bytes());
        assert_eq!(image(&&fat[..]), Some(Image::Bytes(116)));
        assert!(!is_whole(&fat));
        fat.resize(116, 0);
        assert!(is_whole(&fat));
        let wrapper = [0xb1, 0x43, 0x62, 0x46, 1, 0, 0, 0];
        assert_eq!(image(&&wrapper[..]), Some(Image::Wrapper(8)));
        assert!(!is_whole(&wrapper));
    }

    #[test]
    fn an_elf_file_ends_behind_its_last_section() {
        let file = elf(&[(1, 300, 50), (NOBITS, 10, 1 << 40)]);
        assert_eq!(image(&&file[..]), Some(Image::Bytes(350)));
        assert_eq!(image(&&elf(&[])[..]), Some(Image::Bytes(64)));
        assert_eq!(image(&&elf(&[(1, u64::MAX, 2)])[..]), None);
        assert_eq!(image(&&file[..60]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_length_or_none(kind in 0usize..4, rest: Vec<u8>) {
            let begins: [&[u8]; 4] = [b"", &[0x7f, b'E', b'L', b'F', 2, 1], &[0x50, 0xed, 0x55, 0xba], b".v"];
            let bytes = [begins[kind], &rest].concat();
            if is_whole(&bytes) {
                prop_assert!(matches!(image(&&bytes[..]), Some(Image::Bytes(_))));
            }
        }
    }
}
