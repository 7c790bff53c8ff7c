//! Attributes of launches and streams: `CUlaunchAttribute` of CUDA's driver API. A value is
//! a union of 64 bytes, of which each attribute has the first few.

/// Bytes of a value in the driver's structures.
pub const VALUE_LEN: usize = 64;
/// Most attributes of a launch.
pub const MAX: usize = 64;

/// What an attribute may belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A launch.
    Launch,
    /// A stream.
    Stream,
}

/// Why there is no such attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// CUDA has it, and gil does not: its value has handles or addresses.
    NotOffered,
    /// CUDA does not have it there.
    Invalid,
}

/// Bytes of a value at most: three numbers.
const LEN_MAX: usize = 12;

/// An attribute that is plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    id: i32,
    value: [u8; LEN_MAX],
}

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`.
pub const COOPERATIVE: i32 = 2;
/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
pub const CLUSTER_DIMENSION: i32 = 4;
/// `CU_LAUNCH_ATTRIBUTE_PRIORITY`.
pub const PRIORITY: i32 = 8;
/// `CU_LAUNCH_ATTRIBUTE_IGNORE`.
const IGNORE: i32 = 0;

/// The bytes of an attribute's value.
///
/// # Errors
/// [`Unknown`].
pub fn len(id: i32, of: Of) -> Result<usize, Unknown> {
    Ok(match (id, of) {
        // Synchronization policy.
        (3, Of::Stream) => 4,
        // Cooperative, scheduling policy of clusters, programmatic serialization, how much
        // of the cache is shared memory.
        (COOPERATIVE | 5 | 6 | 14, Of::Launch) => 4,
        // Dimensions of clusters.
        (CLUSTER_DIMENSION | 11, Of::Launch) => 12,
        // Priority, domain of memory synchronization, use of NVLink.
        (PRIORITY | 10 | 16, _) => 4,
        // The map of these domains: a byte each.
        (9, _) => 2,
        // A window of memory.
        (1, _) => return Err(Unknown::NotOffered),
        // Events, and a node that kernels update.
        (7 | 12 | 13, Of::Launch) => return Err(Unknown::NotOffered),
        _ => return Err(Unknown::Invalid),
    })
}

impl Attribute {
    /// From the driver's structure; `None` for one that is to be ignored.
    ///
    /// # Errors
    /// [`Unknown`].
    pub fn read(id: i32, value: &[u8; VALUE_LEN], of: Of) -> Result<Option<Self>, Unknown> {
        if id == IGNORE && of == Of::Launch {
            return Ok(None);
        }
        let len = len(id, of)?;
        let mut own = [0; LEN_MAX];
        own[..len].copy_from_slice(&value[..len]);
        Ok(Some(Self { id, value: own }))
    }

    /// One whose value is a number.
    pub fn number(id: i32, number: u32) -> Self {
        let mut value = [0; LEN_MAX];
        value[..4].copy_from_slice(&number.to_ne_bytes());
        Self { id, value }
    }

    /// Its number.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Its value in the driver's structure.
    pub fn value(&self) -> [u8; VALUE_LEN] {
        let mut value = [0; VALUE_LEN];
        value[..LEN_MAX].copy_from_slice(&self.value);
        value
    }

    /// As words between guest and board.
    pub fn words(&self) -> [u64; 3] {
        let (first, rest) = self.value.split_at(8);
        let mut words = [u64::from(self.id.cast_unsigned()), 0, 0];
        for (word, bytes) in words[1..].iter_mut().zip([first, rest]) {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(all);
        }
        words
    }

    /// From these words; `None` if they are none's.
    pub fn from_words(&[id, first, rest]: &[u64; 3], of: Of) -> Option<Self> {
        let id = u32::try_from(id).ok()?.cast_signed();
        let len = len(id, of).ok()?;
        let mut all = [0; 16];
        all[..8].copy_from_slice(&first.to_le_bytes());
        all[8..].copy_from_slice(&rest.to_le_bytes());
        let mut value = [0; LEN_MAX];
        value[..len].copy_from_slice(&all[..len]);
        all[len..]
            .iter()
            .all(|byte| *byte == 0)
            .then_some(Self { id, value })
    }
}

/// Several, from their words; `None` if any is none, or there are too many.
pub fn from_words(words: &[u64], of: Of) -> Option<Vec<Attribute>> {
    let (all, rest) = words.as_chunks::<3>();
    if !rest.is_empty() || all.len() > MAX {
        return None;
    }
    all.iter()
        .map(|words| Attribute::from_words(words, of))
        .collect()
}

/// The words of several.
pub fn words(all: &[Attribute]) -> Vec<u64> {
    all.iter().flat_map(Attribute::words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_travel_as_numbers() {
        let mut value = [0xff; VALUE_LEN];
        value[..12].copy_from_slice(&[2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0]);
        let read = Attribute::read(CLUSTER_DIMENSION, &value, Of::Launch);
        let cluster = read.unwrap().unwrap();
        let priority = Attribute::number(PRIORITY, 7);
        let sent = words(&[cluster, priority]);
        let got = from_words(&sent, Of::Launch).unwrap();
        assert_eq!(got, [cluster, priority]);
        assert_eq!(
            &got[0].value()[..16],
            [2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(got[1].id(), PRIORITY);
    }

    #[test]
    fn only_numbers_cross() {
        let value = [1; VALUE_LEN];
        let read = |id, of| Attribute::read(id, &value, of);
        assert_eq!(read(0, Of::Launch), Ok(None));
        assert_eq!(read(0, Of::Stream), Err(Unknown::Invalid));
        for addresses in [1, 7, 12, 13] {
            assert_eq!(read(addresses, Of::Launch), Err(Unknown::NotOffered));
        }
        assert_eq!(read(3, Of::Launch), Err(Unknown::Invalid));
        assert_eq!(read(-1, Of::Launch), Err(Unknown::Invalid));
        let none = |words: &[u64]| from_words(words, Of::Launch).is_none();
        assert!(none(&[2, 1]) && none(&[1, 0, 0]) && none(&[1 << 32 | 2, 1, 0]));
        // More bytes than the attribute has.
        assert!(none(&[2, 1 << 32, 0]) && none(&[9, 1 << 16, 0]) && none(&[4, 0, 1 << 32]));
        assert!(none(&[2, 1, 0].repeat(MAX + 1)) && !none(&[2, 1, 0].repeat(MAX)));
    }
}
