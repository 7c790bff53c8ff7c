//! The bytes of an observation: five `u64` (event, queued, submitted, start,
//! end), the code of a failure as an `i32`, and a byte: the state, and [`FAILED`];
//! all little-endian.

use super::{Observation, State};
use crate::ending::Ending;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const WORDS: usize = 5;
const LEN: usize = WORDS * 8 + 4 + 1;
/// Set in the last byte if the operation failed.
const FAILED: u8 = 4;

impl Serialize for Observation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words = [
            self.event,
            self.queued_ns,
            self.submitted_ns,
            self.start_ns,
            self.end_ns,
        ];
        let (failed, code) = match self.ending {
            Ending::Done => (0, 0),
            Ending::Failed(code) => (FAILED, code),
        };
        let mut bytes = [0; LEN];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes[WORDS * 8..LEN - 1].copy_from_slice(&code.to_le_bytes());
        bytes[LEN - 1] = self.state as u8 | failed;
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Observation {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Observation;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{LEN} bytes of an observation")
    }

    #[inline]
    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Observation, E> {
        let odd = || E::invalid_length(bytes.len(), &Bytes);
        let bytes: &[u8; LEN] = bytes.try_into().map_err(|_| odd())?;
        let mut words = [0; WORDS];
        for (word, from) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(from.try_into().map_err(|_| odd())?);
        }
        let [event, queued_ns, submitted_ns, start_ns, end_ns] = words;
        let code = *bytes[WORDS * 8..].first_chunk().ok_or_else(odd)?;
        let (state, is_failed) = last(bytes[LEN - 1]).ok_or_else(odd)?;
        Ok(Observation {
            event,
            state,
            ending: match is_failed {
                true => Ending::Failed(i32::from_le_bytes(code)),
                false => Ending::Done,
            },
            queued_ns,
            submitted_ns,
            start_ns,
            end_ns,
        })
    }
}

/// The state, and whether the operation failed.
#[inline]
fn last(byte: u8) -> Option<(State, bool)> {
    let state = match byte & !FAILED {
        0 => State::Queued,
        1 => State::Submitted,
        2 => State::Running,
        3 => State::Complete,
        _ => return None,
    };
    Some((state, byte & FAILED != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn observations_round_trip(words: [u64; WORDS], code: Option<i32>, state in 0..4u8) {
            let [event, queued_ns, submitted_ns, start_ns, end_ns] = words;
            let (state, _) = last(state).unwrap();
            let ending = code.map_or(Ending::Done, Ending::Failed);
            let all = Observation { event, state, ending, queued_ns, submitted_ns, start_ns, end_ns };
            let bytes = postcard::to_stdvec(&all).unwrap();
            prop_assert_eq!(postcard::from_bytes(&bytes), Ok(all));
        }

        #[test]
        fn other_bytes_are_refused(bytes: Vec<u8>) {
            let encoded = postcard::to_stdvec(bytes.as_slice()).unwrap();
            let _: Result<Observation, _> = postcard::from_bytes(&encoded);
        }
    }

    #[test]
    fn an_unknown_state_is_refused() {
        let mut bytes = [0; LEN + 1];
        bytes[0] = LEN as u8;
        assert!(postcard::from_bytes::<Observation>(&bytes).is_ok());
        bytes[LEN] = 8;
        assert!(postcard::from_bytes::<Observation>(&bytes).is_err());
        let error: serde::de::value::Error = Bytes.visit_bytes(&[0; 3]).unwrap_err();
        let wanted = "invalid length 3, expected 45 bytes of an observation";
        assert_eq!(error.to_string(), wanted);
        for byte in 0..4 {
            let (state, is_failed) = last(byte).unwrap();
            assert_eq!((state as u8, is_failed), (byte, false));
            assert_eq!(last(byte | FAILED), Some((state, true)));
        }
    }
}
