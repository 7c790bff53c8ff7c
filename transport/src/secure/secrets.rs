//! The result of a handshake: a key for each direction. The agent hands them to the
//! session's process.

use super::SecureError;
use serde::{Deserialize, Serialize};
use snow::params::CipherChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::Cipher;
use zeroize::Zeroizing;

/// Bytes of a direction's key.
const KEY: usize = 32;
/// Bytes that a cipher adds.
pub(super) const TAG: usize = 16;
/// Bytes of a record without bytes: a length and a tag.
pub const PROOF_LEN: usize = 2 + TAG;

/// Both directions' keys, and how many records came so far. The keys are
/// overwritten when they are dropped, and no log shows them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {
    out: Zeroizing<[u8; KEY]>,
    into: Zeroizing<[u8; KEY]>,
    received: u64,
}

impl Secrets {
    pub(super) fn new(out: [u8; KEY], into: [u8; KEY]) -> Self {
        Self {
            out: Zeroizing::new(out),
            into: Zeroizing::new(into),
            received: 0,
        }
    }

    /// Opens the peer's first record, which holds nothing and proves that the
    /// peer is there now.
    ///
    /// # Errors
    /// [`SecureError::Forged`].
    pub fn check_proof(&mut self, record: [u8; PROOF_LEN]) -> Result<(), SecureError> {
        let [low, high, sealed @ ..] = record;
        let is_empty = usize::from(u16::from_le_bytes([low, high])) == TAG;
        if !is_empty || !self.ciphers()?.open(self.received, &sealed, &mut []) {
            return Err(SecureError::Forged);
        }
        self.received += 1;
        Ok(())
    }

    /// How many records were opened.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    pub(super) fn ciphers(&self) -> Result<Ciphers, SecureError> {
        let cipher = |key: &[u8; KEY]| {
            let cipher = DefaultResolver.resolve_cipher(&CipherChoice::ChaChaPoly);
            let mut cipher = cipher.ok_or(SecureError::Exhausted)?;
            cipher.set(key);
            Ok(cipher)
        };
        Ok(Ciphers {
            out: cipher(&self.out)?,
            into: cipher(&self.into)?,
        })
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(secret)")
    }
}

/// The cipher of each direction, as Noise has it. Their keys are overwritten
/// when they are dropped.
pub(super) struct Ciphers {
    out: Box<dyn Cipher>,
    into: Box<dyn Cipher>,
}

impl Ciphers {
    /// Seals `bytes` to the beginning of `out`; false if there is no room for
    /// them and a tag.
    pub fn seal(&self, nonce: u64, bytes: &[u8], out: &mut [u8]) -> bool {
        let fits = nonce < u64::MAX && bytes.len() + TAG <= out.len();
        fits && self.out.encrypt(nonce, &[], bytes, out) == bytes.len() + TAG
    }

    /// Opens a record's bytes and tag to the beginning of `out`; false if they
    /// are forged or there is no room for them.
    pub fn open(&self, nonce: u64, sealed: &[u8], out: &mut [u8]) -> bool {
        let fits = sealed.len() >= TAG && out.len() >= sealed.len() - TAG;
        fits && nonce < u64::MAX && self.into.decrypt(nonce, &[], sealed, out).is_ok()
    }
}

impl Drop for Ciphers {
    fn drop(&mut self) {
        self.out.set(&[0; KEY]);
        self.into.set(&[0; KEY]);
    }
}

impl std::fmt::Debug for Ciphers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ciphers(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Records;
    use super::super::handshake::tests::shaken;
    use super::*;
    use std::sync::{Arc, Mutex};

    fn opened(records: &mut Records, line: &[u8]) -> Result<Vec<u8>, SecureError> {
        records.space()[..line.len()].copy_from_slice(line);
        records.came(line.len());
        let mut out = [0; 64];
        let count = records.open(&mut out)?;
        Ok(out[..count].to_vec())
    }

    #[test]
    fn another_process_goes_on_behind_the_proof() {
        let (host, mut board) = shaken();
        let mut host = Records::new(&host).unwrap();
        host.seal_nothing().unwrap();
        host.seal(b"behind").unwrap();
        host.flush().unwrap();
        let (proof, rest) = host.sealed().split_first_chunk().unwrap();
        assert_eq!(board.check_proof(*proof), Ok(()));
        assert_eq!(board.check_proof(*proof), Err(SecureError::Forged));
        let handed = postcard::to_stdvec(&board).unwrap();
        let taken: Secrets = postcard::from_bytes(&handed).unwrap();
        let mut board = Records::new(&taken).unwrap();
        assert_eq!(opened(&mut board, rest), Ok(b"behind".to_vec()));
        board.seal(b"answer").unwrap();
        board.flush().unwrap();
        assert_eq!(opened(&mut host, board.sealed()), Ok(b"answer".to_vec()));
        assert_eq!(format!("{taken:?}"), "Secrets(secret)");
    }

    #[test]
    fn what_is_no_proof_is_refused() {
        let (host, mut board) = shaken();
        let mut records = Records::new(&host).unwrap();
        records.seal_nothing().unwrap();
        let good: [u8; PROOF_LEN] = records.sealed().try_into().unwrap();
        for at in 0..PROOF_LEN {
            let mut bad = good;
            bad[at] ^= 1;
            assert_eq!(board.check_proof(bad), Err(SecureError::Forged), "{at}");
        }
        assert_eq!(board.check_proof(good), Ok(()));
    }

    #[test]
    fn neither_works_without_room_or_with_the_last_nonce() {
        let (host, board) = shaken();
        let (host, board) = (host.ciphers().unwrap(), board.ciphers().unwrap());
        let (mut sealed, mut out) = ([0; 3 + TAG], [0; 3]);
        assert!(!host.seal(1, b"abc", &mut sealed[1..]));
        assert!(!host.seal(u64::MAX, b"abc", &mut sealed));
        assert!(host.seal(u64::MAX - 1, b"abc", &mut sealed));
        assert!(!board.open(u64::MAX - 1, &sealed, &mut out[1..]));
        assert!(board.open(u64::MAX - 1, &sealed, &mut out));
        assert_eq!(&out, b"abc");
        assert!(!board.open(0, &sealed[..TAG - 1], &mut out));
        // A peer that does not stop before it.
        host.out.encrypt(u64::MAX, &[], b"abc", &mut sealed);
        assert!(!board.open(u64::MAX, &sealed, &mut out));
        assert_eq!(format!("{board:?}"), "Ciphers(secret)");
    }

    /// A cipher that knows nothing but its key.
    struct Keyed(Arc<Mutex<[u8; KEY]>>);

    impl Cipher for Keyed {
        fn name(&self) -> &'static str {
            "none"
        }

        fn set(&mut self, key: &[u8; KEY]) {
            *self.0.lock().unwrap() = *key;
        }

        fn encrypt(&self, _: u64, _: &[u8], _: &[u8], _: &mut [u8]) -> usize {
            0
        }

        fn decrypt(&self, _: u64, _: &[u8], _: &[u8], _: &mut [u8]) -> Result<usize, snow::Error> {
            Err(snow::Error::Decrypt)
        }
    }

    #[test]
    fn keys_are_overwritten_when_they_are_dropped() {
        let keys = [7, 8].map(|byte| Arc::new(Mutex::new([byte; KEY])));
        let [out, into] = keys.each_ref().map(|key| Box::new(Keyed(key.clone())));
        drop(Ciphers { out, into });
        assert_eq!(keys.map(|key| *key.lock().unwrap()), [[0; KEY]; 2]);
    }
}
