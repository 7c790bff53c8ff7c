//! What a fat binary has for the device: code of its architecture, or else PTX.
//!
//! Behind the header are entries, each a header and its bytes. In the header are the kind (2
//! bytes), a version (2), the header's own length (4), the length of what follows (8), the
//! bytes that count of it if they are compressed (4), the architecture (4, at 28), flags (8, at
//! 40) and the length when not compressed (8, at 56). `cuobjdump` of the CUDA toolkit lists
//! kinds, architectures and which are compressed.

use std::borrow::Cow;
use std::io::Read as _;

/// The kind of an entry that is PTX text.
const PTX: u16 = 1;
/// The kind of an entry that is a cubin.
const CUBIN: u16 = 2;
/// The bytes are compressed, as Zstandard does (RFC 8878).
const ZSTANDARD: u64 = 0x8000;
/// The bytes are a block of LZ4 (lz4_Block_format.md of its repository).
const LZ4: u64 = 0x2000;
/// Longest entry.
const MOST: u64 = 1 << 30;

/// What one holds for a device.
#[derive(Debug, PartialEq, Eq)]
pub enum Held<'a> {
    /// A text, without the 0 at its end.
    Ptx(Cow<'a, [u8]>),
    /// A cubin.
    Cubin(Cow<'a, [u8]>),
}

struct Entry<'a> {
    kind: u16,
    architecture: u32,
    flags: u64,
    /// Bytes of it when not compressed.
    len: u64,
    /// Bytes that count, if they are compressed.
    compressed: usize,
    bytes: &'a [u8],
}

/// Whether there is something in it, and all of that is whole.
pub fn is_whole(fat: &[u8]) -> bool {
    entries(fat).is_some_and(|entries| !entries.is_empty())
}

/// What a driver of a device of this architecture (90 is 9.0) takes of it: the newest code that
/// it executes, or else the newest text; `None` if there is neither, or none that is whole.
pub fn held(fat: &[u8], device: u32) -> Option<Held<'_>> {
    let entries = entries(fat)?;
    let newest = |kind, is_fit: &dyn Fn(u32) -> bool| {
        let fitting = entries.iter().filter(|entry| entry.kind == kind);
        let fitting = fitting.filter(|entry| is_fit(entry.architecture));
        fitting.max_by_key(|entry| entry.architecture)
    };
    let executed = |of: u32| of / 10 == device / 10 && of <= device;
    match newest(CUBIN, &executed) {
        Some(entry) => entry.plain().map(Held::Cubin),
        None => {
            let text = newest(PTX, &|of| of <= device)?.plain()?;
            let len = text.iter().position(|byte| *byte == 0);
            let len = len.unwrap_or(text.len());
            Some(Held::Ptx(match text {
                Cow::Borrowed(text) => Cow::Borrowed(&text[..len]),
                Cow::Owned(mut text) => {
                    text.truncate(len);
                    Cow::Owned(text)
                }
            }))
        }
    }
}

fn entries(fat: &[u8]) -> Option<Vec<Entry<'_>>> {
    let header = u16::from_le_bytes(*fat.get(6..)?.first_chunk()?);
    let mut rest = fat.get(header.into()..)?;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let word = |at: usize| Some(u32::from_le_bytes(*rest.get(at..)?.first_chunk()?));
        let long = |at: usize| Some(u64::from_le_bytes(*rest.get(at..)?.first_chunk()?));
        let header = (word(4)? as usize).max(16);
        let end = header.checked_add(usize::try_from(long(8)?).ok()?)?;
        let bytes = rest.get(header..end)?;
        let is_long = header >= 64;
        entries.push(Entry {
            kind: (word(0)? & 0xffff) as u16,
            architecture: if header >= 32 { word(28)? } else { 0 },
            flags: if is_long { long(40)? } else { 0 },
            len: if is_long { long(56)? } else { 0 },
            compressed: if is_long { word(16)? as usize } else { 0 },
            bytes,
        });
        rest = &rest[end..];
    }
    Some(entries)
}

impl<'a> Entry<'a> {
    /// Its bytes, not compressed.
    fn plain(&self) -> Option<Cow<'a, [u8]>> {
        if self.flags & (LZ4 | ZSTANDARD) == 0 {
            return Some(Cow::Borrowed(self.bytes));
        }
        let len = usize::try_from(self.len)
            .ok()
            .filter(|_| self.len <= MOST)?;
        if self.flags & LZ4 != 0 {
            // The block may be followed by zeroes.
            let bytes = self.bytes.get(..self.compressed)?;
            let plain = lz4_flex::block::decompress(bytes, len).ok()?;
            return (plain.len() == len).then_some(Cow::Owned(plain));
        }
        let decoder = ruzstd::decoding::StreamingDecoder::new(self.bytes).ok()?;
        let mut plain = Vec::new();
        decoder.take(self.len).read_to_end(&mut plain).ok()?;
        (plain.len() == len).then_some(Cow::Owned(plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u16, architecture: u32, flags: u64, len: u64, bytes: &[u8]) -> Vec<u8> {
        let mut entry = vec![0; 64];
        entry[..2].copy_from_slice(&kind.to_le_bytes());
        entry[4..8].copy_from_slice(&64u32.to_le_bytes());
        entry[8..16].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        entry[16..20].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        entry[28..32].copy_from_slice(&architecture.to_le_bytes());
        entry[40..48].copy_from_slice(&flags.to_le_bytes());
        entry[56..64].copy_from_slice(&len.to_le_bytes());
        entry.extend(bytes);
        entry
    }

    fn fat(entries: &[Vec<u8>]) -> Vec<u8> {
        let entries = entries.concat();
        let mut fat = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
        fat.extend((entries.len() as u64).to_le_bytes());
        fat.extend(entries);
        fat
    }

    #[test]
    fn code_of_the_architecture_goes_before_a_text() {
        let text = entry(PTX, 75, 0, 0, b".version 8.0\0\0");
        let both = fat(&[entry(CUBIN, 80, 0, 0, b"80"), text.clone()]);
        assert_eq!(held(&both, 90), Some(Held::Ptx(b".version 8.0".into())));
        assert_eq!(held(&both, 86), Some(Held::Cubin(b"80".into())));
        assert_eq!(held(&both, 70), None);
        let both = fat(&[entry(CUBIN, 80, 0, 0, b"80"), entry(CUBIN, 86, 0, 0, b"86")]);
        assert_eq!(held(&both, 89), Some(Held::Cubin(b"86".into())));
        assert_eq!(held(&both[..both.len() - 1], 89), None);
        assert_eq!(held(&fat(&[]), 90), None);
        assert_eq!(held(b"", 90), None);
    }

    #[test]
    fn what_is_compressed_is_as_long_as_it_says() {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let small = ruzstd::encoding::compress_to_vec(&[7; 1000][..], level);
        let one = |flags, len| fat(&[entry(CUBIN, 90, flags, len, &small)]);
        let whole = one(ZSTANDARD, 1000);
        assert_eq!(held(&whole, 90), Some(Held::Cubin(vec![7; 1000].into())));
        assert_eq!(held(&one(ZSTANDARD, 1001), 90), None);
        assert_eq!(held(&one(ZSTANDARD, u64::MAX), 90), None);
        let small = lz4_flex::block::compress(&[7; 1000]);
        let one = |len| fat(&[entry(CUBIN, 90, LZ4, len, &small)]);
        assert_eq!(
            held(&one(1000), 90),
            Some(Held::Cubin(vec![7; 1000].into()))
        );
        assert_eq!(held(&one(999), 90), None);
        assert_eq!(held(&one(1001), 90), None);
        let broken = fat(&[entry(CUBIN, 90, ZSTANDARD, 9, b"no frame")]);
        assert_eq!(held(&broken, 90), None);
    }
}
