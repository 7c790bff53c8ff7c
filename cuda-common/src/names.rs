//! Names in words between guest and board: of each its bytes' number, and the bytes.

/// The words of a name.
pub fn words(name: &[u8]) -> impl Iterator<Item = u64> {
    let words = name.chunks(8).map(|chunk| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    });
    std::iter::once(name.len() as u64).chain(words)
}

/// The names in words; `None` if these end too early.
pub fn read(mut words: &[u64]) -> Option<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    while let Some((len, rest)) = words.split_first() {
        let len = usize::try_from(*len).ok()?;
        let (name, rest) = rest.split_at_checked(len.div_ceil(8))?;
        let mut bytes: Vec<u8> = name.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(len);
        names.push(bytes);
        words = rest;
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_travel_in_words() {
        let all: Vec<u64> = [&b"kernel"[..], b"", b"exactly8", b"nine byte"]
            .into_iter()
            .flat_map(words)
            .collect();
        let names = read(&all).unwrap();
        assert_eq!(names, [&b"kernel"[..], b"", b"exactly8", b"nine byte"]);
        assert_eq!(read(&all[..all.len() - 1]), None);
        assert_eq!(read(&[u64::MAX]), None);
        assert_eq!(read(&[]), Some(Vec::new()));
    }
}
