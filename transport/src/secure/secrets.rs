//! The result of a handshake: a key for each direction. The agent hands them to the
//! session's process.

use super::SecureError;
use chacha20poly1305::aead::AeadInPlace;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce, Tag};
use serde::{Deserialize, Serialize};
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
        if !is_empty || !self.ciphers().open(self.received, &sealed, &mut []) {
            return Err(SecureError::Forged);
        }
        self.received += 1;
        Ok(())
    }

    /// How many records were opened.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    pub(super) fn ciphers(&self) -> Ciphers {
        let cipher = |key: &[u8; KEY]| ChaCha20Poly1305::new(key.into());
        Ciphers {
            out: cipher(&self.out),
            into: cipher(&self.into),
        }
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(secret)")
    }
}

/// The cipher of each direction, as Noise has it (its specification, revision 34,
/// section 12.3). Their keys are overwritten when they are dropped.
pub(super) struct Ciphers {
    out: ChaCha20Poly1305,
    into: ChaCha20Poly1305,
}

/// Four bytes of zeros and the number, little-endian; the largest is reserved.
fn nonce(number: u64) -> Option<Nonce> {
    let mut nonce = Nonce::default();
    nonce[4..].copy_from_slice(&number.to_le_bytes());
    (number < u64::MAX).then_some(nonce)
}

impl Ciphers {
    /// Seals all but the last [`TAG`] bytes of `record` where they are, and puts the
    /// tag behind them; false if that cannot be.
    pub fn seal(&self, number: u64, record: &mut [u8]) -> bool {
        let Some(nonce) = nonce(number) else {
            return false;
        };
        let Some((bytes, place)) = record.split_last_chunk_mut::<TAG>() else {
            return false;
        };
        let tag = self.out.encrypt_in_place_detached(&nonce, &[], bytes);
        tag.map(|tag| place.copy_from_slice(&tag)).is_ok()
    }

    /// Opens all but the last [`TAG`] bytes of `record`, the tag, where they are; false
    /// if they are forged, and then they stay as they are.
    pub fn open_in_place(&self, number: u64, record: &mut [u8]) -> bool {
        match record.split_last_chunk_mut::<TAG>() {
            Some((bytes, tag)) => self.open_with(number, bytes, tag),
            None => false,
        }
    }

    /// The same, to the beginning of `out`; false also if there is no room for them.
    pub fn open(&self, number: u64, record: &[u8], out: &mut [u8]) -> bool {
        let Some((sealed, tag)) = record.split_last_chunk::<TAG>() else {
            return false;
        };
        let Some(out) = out.get_mut(..sealed.len()) else {
            return false;
        };
        out.copy_from_slice(sealed);
        self.open_with(number, out, tag)
    }

    fn open_with(&self, number: u64, bytes: &mut [u8], tag: &[u8; TAG]) -> bool {
        nonce(number).is_some_and(|nonce| {
            let tag = Tag::from_slice(tag);
            let opened = self.into.decrypt_in_place_detached(&nonce, &[], bytes, tag);
            opened.is_ok()
        })
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
    use snow::params::CipherChoice;
    use snow::resolvers::{CryptoResolver, DefaultResolver};
    use zeroize::ZeroizeOnDrop;

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
        let (host, board) = (host.ciphers(), board.ciphers());
        let sealed_with = |number| {
            let mut record = *b"abc0123456789abcdef";
            host.seal(number, &mut record).then_some(record)
        };
        assert!(!host.seal(1, &mut [0; TAG - 1]));
        assert!(sealed_with(u64::MAX).is_none());
        let mut sealed = sealed_with(u64::MAX - 1).unwrap();
        let mut out = [0; 3];
        assert!(!board.open(u64::MAX - 1, &sealed, &mut out[1..]));
        assert!(board.open(u64::MAX - 1, &sealed, &mut out));
        assert_eq!(&out, b"abc");
        assert!(!board.open(0, &sealed[..TAG - 1], &mut out));
        let forged = sealed;
        assert!(!board.open_in_place(0, &mut sealed) && sealed == forged);
        assert!(board.open_in_place(u64::MAX - 1, &mut sealed));
        assert_eq!(&sealed[..3], b"abc");
        assert!(!board.open_in_place(u64::MAX, &mut sealed));
        assert_eq!(format!("{board:?}"), "Ciphers(secret)");
    }

    #[test]
    fn records_are_sealed_as_noise_does() {
        let (host, _) = shaken();
        let mut record = *b"abc0123456789abcdef";
        assert!(host.ciphers().seal(0x0102_0304_0506_0708, &mut record));
        let noise = DefaultResolver.resolve_cipher(&CipherChoice::ChaChaPoly);
        let mut noise = noise.unwrap();
        noise.set(&host.out);
        let mut expected = [0; 3 + TAG];
        noise.encrypt(0x0102_0304_0506_0708, &[], b"abc", &mut expected);
        assert_eq!(record, expected);
    }

    /// What overwrites itself when it is dropped.
    fn is_overwritten<T: ZeroizeOnDrop>(_: &T) {}

    #[test]
    fn keys_are_overwritten_when_they_are_dropped() {
        let ciphers = shaken().0.ciphers();
        is_overwritten(&ciphers.out);
        is_overwritten(&ciphers.into);
    }
}
