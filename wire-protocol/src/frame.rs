//! A frame: `header_len: u32`, `payload_len: u64` (both little-endian), the
//! header (one postcard message), the payload (raw region bytes, in the order
//! the header lists them). Every length is checked against a bound before use.
//!
//! The highest bit of `header_len` says that the call's own regions are in the
//! window (`transport/src/window.rs`), so that the payload lacks them. Only connections
//! that have a window use it.

/// Bytes before the header.
pub const PREFIX_LEN: usize = 12;
/// Largest header accepted.
pub const MAX_HEADER: u32 = 1 << 20;
/// Largest payload accepted: 64 GiB, more than any guest's RAM here.
pub const MAX_PAYLOAD: u64 = 1 << 36;
/// In `header_len`: the call's own regions are in the window.
const IN_WINDOW: u32 = 1 << 31;

/// The two lengths of a frame, and where region bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes of the header.
    pub header_len: u32,
    /// Bytes of the payload.
    pub payload_len: u64,
    /// Whether the call's own regions are in the window, not in the payload.
    pub in_window: bool,
}

/// A frame that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The header would be too long.
    #[error("a frame header of {0} bytes exceeds the bound of {MAX_HEADER}")]
    Header(u64),
    /// The payload would be too long.
    #[error("a frame payload of {0} bytes exceeds the bound of {MAX_PAYLOAD}")]
    Payload(u64),
    /// The header's bytes are no message.
    #[error("a frame header does not decode: {0}")]
    Decode(#[from] postcard::Error),
}

impl Prefix {
    /// The bytes to send.
    pub fn encode(self) -> [u8; PREFIX_LEN] {
        let mut out = [0; PREFIX_LEN];
        let flag = if self.in_window { IN_WINDOW } else { 0 };
        out[..4].copy_from_slice(&(self.header_len | flag).to_le_bytes());
        out[4..].copy_from_slice(&self.payload_len.to_le_bytes());
        out
    }

    /// Reads and bounds a peer's lengths.
    ///
    /// # Errors
    /// [`FrameError::Header`] or [`FrameError::Payload`] with the length that
    /// is out of bounds.
    pub fn decode(bytes: &[u8; PREFIX_LEN]) -> Result<Self, FrameError> {
        let first = u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes"));
        let (header_len, in_window) = (first & !IN_WINDOW, first & IN_WINDOW != 0);
        let payload_len = u64::from_le_bytes(bytes[4..].try_into().expect("8 bytes"));
        if header_len > MAX_HEADER {
            return Err(FrameError::Header(header_len.into()));
        }
        if payload_len > MAX_PAYLOAD {
            return Err(FrameError::Payload(payload_len));
        }
        Ok(Self {
            header_len,
            payload_len,
            in_window,
        })
    }
}

/// Appends prefix and header of a frame to `out`; the payload follows by the
/// caller's own means, so that region bytes need not be copied here.
///
/// # Errors
/// [`FrameError`] if the message or the payload exceeds a bound.
pub fn begin(
    message: &impl serde::Serialize,
    payload_len: u64,
    out: &mut Vec<u8>,
) -> Result<(), FrameError> {
    begin_with(message, payload_len, false, out)
}

/// As [`begin`]; `in_window` says that the call's own regions are in the
/// window, so that the payload lacks them.
///
/// # Errors
/// As [`begin`].
pub fn begin_with(
    message: &impl serde::Serialize,
    payload_len: u64,
    in_window: bool,
    out: &mut Vec<u8>,
) -> Result<(), FrameError> {
    let start = out.len();
    out.extend_from_slice(&[0; PREFIX_LEN]);
    let body = std::mem::take(out);
    *out = postcard::to_extend(message, body)?;
    let header_len = (out.len() - start - PREFIX_LEN) as u64;
    if header_len > MAX_HEADER.into() {
        return Err(FrameError::Header(header_len));
    }
    if payload_len > MAX_PAYLOAD {
        return Err(FrameError::Payload(payload_len));
    }
    let prefix = Prefix {
        header_len: header_len as u32,
        payload_len,
        in_window,
    };
    out[start..start + PREFIX_LEN].copy_from_slice(&prefix.encode());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_prefix_decodes_or_is_bounded(bytes: [u8; PREFIX_LEN]) {
            if let Ok(prefix) = Prefix::decode(&bytes) {
                prop_assert!(prefix.header_len <= MAX_HEADER);
                prop_assert!(prefix.payload_len <= MAX_PAYLOAD);
                prop_assert_eq!(prefix.encode(), bytes);
            }
        }
    }

    #[test]
    fn lengths_are_bounded_on_either_side() {
        assert_eq!((MAX_HEADER, MAX_PAYLOAD), (1_048_576, 68_719_476_736));
        let prefix = |header_len, payload_len| Prefix {
            header_len,
            payload_len,
            in_window: true,
        };
        let decoded = |prefix: Prefix| Prefix::decode(&prefix.encode());
        let largest = prefix(MAX_HEADER, MAX_PAYLOAD);
        assert_eq!(decoded(largest), Ok(largest));
        let header = FrameError::Header(1_048_577);
        assert_eq!(decoded(prefix(MAX_HEADER + 1, 0)), Err(header.clone()));
        let payload = FrameError::Payload(MAX_PAYLOAD + 1);
        assert_eq!(decoded(prefix(0, MAX_PAYLOAD + 1)), Err(payload.clone()));

        // A byte string's length takes three bytes before it.
        let message = |len: u32| "x".repeat(len as usize - 3);
        let begun = |len, payload| begin(&message(len), payload, &mut Vec::new());
        assert_eq!(begun(MAX_HEADER, MAX_PAYLOAD), Ok(()));
        assert_eq!(begun(MAX_HEADER + 1, 0), Err(header));
        assert_eq!(begun(10, MAX_PAYLOAD + 1), Err(payload));
    }

    #[test]
    fn begin_writes_what_decode_reads() {
        let mut out = b"before".to_vec();
        begin(&("header", 7u32), 1234, &mut out).unwrap();
        let prefix = Prefix::decode(out[6..6 + PREFIX_LEN].try_into().unwrap()).unwrap();
        assert_eq!((prefix.payload_len, prefix.in_window), (1234, false));
        let mut shared = Vec::new();
        begin_with(&("header", 7u32), 0, true, &mut shared).unwrap();
        let shared = Prefix::decode(shared[..PREFIX_LEN].try_into().unwrap()).unwrap();
        let expected = Prefix {
            payload_len: 0,
            in_window: true,
            ..prefix
        };
        assert_eq!(shared, expected);
        assert_eq!(prefix.header_len as usize, out.len() - 6 - PREFIX_LEN);
        let (text, number): (&str, u32) = postcard::from_bytes(&out[6 + PREFIX_LEN..]).unwrap();
        assert_eq!((text, number), ("header", 7));
    }
}
