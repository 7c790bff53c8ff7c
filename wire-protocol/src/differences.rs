//! What differs in memory of which both sides have a copy: ranges of bytes, in rising
//! order, each behind its place (offset, then length, little-endian words of 32 bits).
//! As many bytes as the memory has are all of it instead, and no bytes are no difference.

use std::ops::Range;

/// Bytes before those of a range.
const HEAD: usize = 8;
/// Memory that is longer has offsets that do not fit: all of it travels.
const LONGEST: usize = u32::MAX as usize;

/// Bytes that are no differences of memory of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DifferencesError {
    /// They end within a range.
    #[error("differences of {total} bytes of memory end within a range, at offset {at}")]
    Short {
        /// Where the range begins in them.
        at: usize,
        /// Bytes of the memory.
        total: usize,
    },
    /// A range that is empty, lies before its predecessor's end or past the memory's.
    #[error("a difference of {len} bytes at {offset}: it has to be from {least} on, of {total}")]
    Place {
        /// Where it begins in the memory.
        offset: usize,
        /// Its bytes.
        len: usize,
        /// Where it may begin.
        least: usize,
        /// Bytes of the memory.
        total: usize,
    },
}

/// Replaces `out` by the differences: the ranges of `now`, which rise and do not touch.
pub fn encode(now: &[u8], ranges: &[Range<usize>], out: &mut Vec<u8>) {
    out.clear();
    let bytes: usize = ranges.iter().map(|range| range.len() + HEAD).sum();
    if bytes > 0 && (bytes >= now.len() || now.len() > LONGEST) {
        out.extend_from_slice(now);
        return;
    }
    out.reserve(bytes);
    for range in ranges {
        for word in [range.start, range.len()] {
            out.extend_from_slice(&(word as u32).to_le_bytes());
        }
        out.extend_from_slice(&now[range.clone()]);
    }
}

/// The ranges of memory of `total` bytes that these differences have, with their bytes.
///
/// # Errors
/// [`DifferencesError`].
pub fn decode(bytes: &[u8], total: usize) -> Result<Vec<(usize, &[u8])>, DifferencesError> {
    if bytes.len() == total {
        return Ok(Vec::from_iter((total > 0).then_some((0, bytes))));
    }
    let mut ranges = Vec::new();
    let (mut at, mut least) = (0, 0);
    while at < bytes.len() {
        let short = DifferencesError::Short { at, total };
        let rest = &bytes[at..];
        let (offset, rest) = word(rest).ok_or(short)?;
        let (len, rest) = word(rest).ok_or(short)?;
        let end = offset.checked_add(len).filter(|end| *end <= total);
        let end = end.filter(|_| len > 0 && offset >= least);
        let end = end.ok_or(DifferencesError::Place {
            offset,
            len,
            least,
            total,
        })?;
        ranges.push((offset, rest.get(..len).ok_or(short)?));
        (at, least) = (at + HEAD + len, end);
    }
    Ok(ranges)
}

fn word(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*word) as usize, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn they_are_these_bytes() {
        let mut out = Vec::new();
        let now = [7; 40];
        encode(&now, &[2..3, 9..11], &mut out);
        assert_eq!(out, b"\x02\0\0\0\x01\0\0\0\x07\x09\0\0\0\x02\0\0\0\x07\x07");
        encode(&now, &[0..16, 17..33], &mut out);
        assert_eq!(out, now, "that is shorter");
        encode(&now, &[], &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn what_are_none_say_why() {
        let short = decode(b"\x02\0\0\0\x02\0\0\0\x07", 40).unwrap_err();
        let text = "differences of 40 bytes of memory end within a range, at offset 0";
        assert_eq!(short.to_string(), text);
        for ranges in [[(3, 1), (3, 1)], [(0, 1), (39, 2)], [(0, 1), (4, 0)]] {
            let bytes: Vec<u8> = ranges
                .iter()
                .flat_map(|&(offset, len): &(u32, u32)| {
                    let head = [offset.to_le_bytes(), len.to_le_bytes()].concat();
                    [head, vec![1; len as usize]].concat()
                })
                .collect();
            let error = decode(&bytes, 40).unwrap_err();
            assert!(matches!(error, DifferencesError::Place { .. }), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_copy_is_brought_up_to_date(
            old in prop::collection::vec(any::<u8>(), 0..300),
            cuts in prop::collection::btree_set(0..300_usize, 0..12),
        ) {
            let cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= old.len()).collect();
            let ranges: Vec<_> = cuts.chunks_exact(2).map(|cut| cut[0]..cut[1]).collect();
            let mut now = old.clone();
            for range in &ranges {
                now[range.clone()].iter_mut().for_each(|byte| *byte = !*byte);
            }
            let mut bytes = Vec::new();
            encode(&now, &ranges, &mut bytes);
            prop_assert!(bytes.len() <= now.len());
            let mut copy = old;
            for (offset, bytes) in decode(&bytes, now.len()).unwrap() {
                copy[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
            prop_assert_eq!(copy, now);
        }

        #[test]
        fn any_bytes_decode_within_the_memory_or_fail(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            total in 0..64_usize,
        ) {
            for (offset, bytes) in decode(&bytes, total).unwrap_or_default() {
                prop_assert!(offset + bytes.len() <= total);
            }
        }
    }
}
