//! What travels on the channel of the program's standard input: the guest's init asks,
//! and `gil run` answers.

use serde::{Deserialize, Serialize};

/// Most bytes of input in one answer.
pub const INPUT_MAX: usize = 16 << 10;
/// Most bytes of an answer.
pub const ANSWER_MAX: usize = INPUT_MAX + 32;

/// What the program may read next?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Bytes that the guest takes now, at most [`INPUT_MAX`].
    pub most: u32,
    /// Wall time for which to wait for the first of them, in milliseconds. The
    /// whole guest stands still meanwhile.
    pub patience_ms: u32,
}

/// The size of a terminal's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// In lines.
    pub rows: u16,
    /// In characters.
    pub columns: u16,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given<'a> {
    /// The size of the user's terminal, if it is another than in the answers
    /// before.
    pub size: Option<Size>,
    /// Nothing will come after these bytes.
    pub ended: bool,
    /// The bytes.
    #[serde(borrow)]
    pub bytes: &'a [u8],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_answer_is_as_long_as_is_said() {
        let given = Given {
            size: Some(Size {
                rows: u16::MAX,
                columns: u16::MAX,
            }),
            ended: true,
            bytes: &[7; INPUT_MAX],
        };
        let encoded = postcard::to_stdvec(&given).unwrap();
        assert!(encoded.len() <= ANSWER_MAX, "{}", encoded.len());
        assert_eq!(postcard::from_bytes::<Given>(&encoded), Ok(given));
    }
}
