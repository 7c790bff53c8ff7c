//! The handshake: both sides send 64 bytes, read the other side's, and refuse a
//! mismatch with one sentence that names both values. The layout never changes,
//! so that every version can read every other version's hello.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic, `gil-wire` |
//! | 8 | 4 | protocol version |
//! | 12 | 4 | reserved, 0 |
//! | 16 | 8 | capabilities, a bit set |
//! | 24 | 40 | reserved, 0 |
//!
//! Before version 7, the 32 bytes at 24 were a hash of all API descriptions.
//! Now each API has its own hash, which the board sends when a session opens
//! ([`Reply::Opened`](crate::message::Reply::Opened)).

/// First bytes of every connection.
pub const MAGIC: [u8; 8] = *b"gil-wire";
/// Version of everything in this crate that is not generated.
pub const PROTOCOL_VERSION: u32 = 11;
/// Bit of [`Hello::capabilities`]: the sender has a key, and goes on with
/// peers only that prove that they have it too.
pub const SECURE: u64 = 2;
/// Bit of [`Hello::capabilities`]: the sender is an operator, who asks for the
/// agent's [status](crate::status) and opens no session.
pub const OPERATOR: u64 = 4;
/// Bit of [`Hello::capabilities`]: the sender is a host. No board has it, so that
/// a host knows its own hello where something sends that back.
pub const HOST: u64 = 8;
/// Bytes of a hello.
pub const HELLO_LEN: usize = 64;

/// One side's first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Protocol version the sender speaks.
    pub version: u32,
    /// What the sender can do beyond the version; unknown bits are ignored.
    pub capabilities: u64,
}

/// Why a handshake was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// The peer is no gil at all.
    #[error("the peer does not speak gil's protocol (it began with \"{}\"): check the address", .0.escape_ascii())]
    Magic([u8; 8]),
    /// The peer is a host, too, or sends back what comes.
    #[error("the peer is not a board but another client: check the address")]
    Host,
    /// Another protocol version.
    #[error(
        "the peer speaks gil protocol version {theirs}, this side speaks {ours}: use the same gil release on both"
    )]
    Version {
        /// This side's version.
        ours: u32,
        /// The peer's version.
        theirs: u32,
    },
}

impl Hello {
    /// This build's hello.
    pub const fn ours() -> Self {
        Self {
            version: PROTOCOL_VERSION,
            capabilities: 0,
        }
    }

    /// The same, offering `capabilities`.
    pub const fn with_capabilities(self, capabilities: u64) -> Self {
        Self {
            capabilities,
            ..self
        }
    }

    /// Whether both sides offer all of `capabilities`.
    pub const fn both_offer(&self, theirs: &Self, capabilities: u64) -> bool {
        self.capabilities & theirs.capabilities & capabilities == capabilities
    }

    /// Compares a board's hello with this host's.
    ///
    /// # Errors
    /// [`HelloError`] says what differs, or that no board sent it.
    pub fn accept_board(&self, theirs: &Self) -> Result<(), HelloError> {
        self.accept(theirs)?;
        match theirs.capabilities & HOST {
            0 => Ok(()),
            _ => Err(HelloError::Host),
        }
    }

    /// The bytes to send.
    pub fn encode(&self) -> [u8; HELLO_LEN] {
        let mut out = [0; HELLO_LEN];
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&self.version.to_le_bytes());
        out[16..24].copy_from_slice(&self.capabilities.to_le_bytes());
        out
    }

    /// Reads the peer's bytes.
    ///
    /// # Errors
    /// [`HelloError::Magic`] if they do not begin as gil's do.
    pub fn decode(bytes: &[u8; HELLO_LEN]) -> Result<Self, HelloError> {
        let field = |at: usize, len: usize| &bytes[at..at + len];
        let magic: [u8; 8] = field(0, 8).try_into().expect("8 bytes");
        if magic != MAGIC {
            return Err(HelloError::Magic(magic));
        }
        Ok(Self {
            version: u32::from_le_bytes(field(8, 4).try_into().expect("4 bytes")),
            capabilities: u64::from_le_bytes(field(16, 8).try_into().expect("8 bytes")),
        })
    }

    /// Compares the peer's hello with this side's.
    ///
    /// # Errors
    /// [`HelloError`] says what differs.
    pub fn accept(&self, theirs: &Self) -> Result<(), HelloError> {
        if self.version != theirs.version {
            return Err(HelloError::Version {
                ours: self.version,
                theirs: theirs.version,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_mismatches() {
        let ours = Hello::ours();
        assert_eq!(Hello::decode(&ours.encode()), Ok(ours));
        let able = ours.with_capabilities(6);
        assert_eq!(Hello::decode(&able.encode()), Ok(able));
        assert_eq!(ours.accept(&able), Ok(()), "capabilities are no condition");
        assert!(able.both_offer(&ours.with_capabilities(3), 2));
        assert!(!able.both_offer(&ours, 2) && !able.both_offer(&able, 1));
        assert_eq!(able.accept_board(&ours), Ok(()));
        let host = ours.with_capabilities(HOST | 6);
        assert_eq!(host.accept_board(&host), Err(HelloError::Host));
        let newer = Hello {
            version: 99,
            ..ours
        };
        let message = ours.accept(&newer).unwrap_err().to_string();
        let speaks = format!("speaks {PROTOCOL_VERSION}");
        assert!(
            message.contains("99") && message.contains(&speaks),
            "{message}"
        );
        assert!(matches!(
            Hello::decode(&[7; HELLO_LEN]),
            Err(HelloError::Magic(_))
        ));
    }
}
