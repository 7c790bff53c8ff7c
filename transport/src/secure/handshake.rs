//! The handshake, in which both sides prove that they have the key.

use super::{Key, Records, Secrets, SecureError};
use gil_wire::hello::HELLO_LEN;
use snow::{Builder, HandshakeState};

/// The Noise protocol: fresh keys on both sides, and the shared one mixed in
/// before the first message.
pub const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Bytes of each side's message: a public key and a tag.
pub const MESSAGE_LEN: usize = 48;
/// What the authenticated text begins with.
const CONTEXT: &[u8; 8] = b"gil-psk1";
/// Position of the shared key in the pattern.
const PSK0: u8 = 0;

/// A handshake under way.
#[derive(Debug)]
pub struct Handshake(Box<HandshakeState>);

impl Handshake {
    /// The host's side: writes first, then reads.
    ///
    /// # Errors
    /// [`SecureError::Exhausted`].
    pub fn host(
        key: &Key,
        host: [u8; HELLO_LEN],
        board: [u8; HELLO_LEN],
    ) -> Result<Self, SecureError> {
        let prologue = prologue(host, board);
        let state = builder(key, &prologue)?.build_initiator();
        state
            .map(|state| Self(Box::new(state)))
            .map_err(|_| SecureError::Exhausted)
    }

    /// The board's side: reads first, then writes.
    ///
    /// # Errors
    /// [`SecureError::Exhausted`].
    pub fn board(
        key: &Key,
        host: [u8; HELLO_LEN],
        board: [u8; HELLO_LEN],
    ) -> Result<Self, SecureError> {
        let prologue = prologue(host, board);
        let state = builder(key, &prologue)?.build_responder();
        state
            .map(|state| Self(Box::new(state)))
            .map_err(|_| SecureError::Exhausted)
    }

    /// This side's message.
    ///
    /// # Errors
    /// [`SecureError::Exhausted`] without random numbers.
    pub fn write(&mut self) -> Result<[u8; MESSAGE_LEN], SecureError> {
        let mut message = [0; MESSAGE_LEN];
        match self.0.write_message(&[], &mut message) {
            Ok(MESSAGE_LEN) => Ok(message),
            _ => Err(SecureError::Exhausted),
        }
    }

    /// Checks the peer's message.
    ///
    /// # Errors
    /// [`SecureError::Unproven`].
    pub fn read(&mut self, message: &[u8; MESSAGE_LEN]) -> Result<(), SecureError> {
        match self.0.read_message(message, &mut [0; MESSAGE_LEN]) {
            Ok(0) => Ok(()),
            _ => Err(SecureError::Unproven),
        }
    }

    /// The connection after both messages.
    ///
    /// # Errors
    /// [`SecureError::Unproven`] if one is missing.
    pub fn finish(self) -> Result<Records, SecureError> {
        Records::new(&self.secrets()?)
    }

    /// The same, for another process to go on with.
    ///
    /// # Errors
    /// [`SecureError::Unproven`] if a message is missing.
    pub fn secrets(mut self) -> Result<Secrets, SecureError> {
        if !self.0.is_handshake_finished() {
            return Err(SecureError::Unproven);
        }
        let (to_board, to_host) = self.0.dangerously_get_raw_split();
        Ok(match self.0.is_initiator() {
            true => Secrets::new(to_board, to_host),
            false => Secrets::new(to_host, to_board),
        })
    }
}

/// What both sides have to agree on: the hellos as they were sent.
fn prologue(host: [u8; HELLO_LEN], board: [u8; HELLO_LEN]) -> Vec<u8> {
    [&CONTEXT[..], &host, &board].concat()
}

fn builder<'a>(key: &'a Key, prologue: &'a [u8]) -> Result<Builder<'a>, SecureError> {
    let pattern = PATTERN.parse().expect("a pattern of Noise");
    Builder::new(pattern)
        .prologue(prologue)
        .and_then(|builder| builder.psk(PSK0, key.bytes()))
        .map_err(|_| SecureError::Exhausted)
}

#[cfg(test)]
pub mod tests {
    use super::super::KEY_LEN;
    use super::*;
    use proptest::prelude::*;

    const HOST: [u8; HELLO_LEN] = [1; HELLO_LEN];
    const BOARD: [u8; HELLO_LEN] = [2; HELLO_LEN];

    fn key(byte: u8) -> Key {
        Key::from_bytes([byte; KEY_LEN])
    }

    /// Both ends of a connection.
    pub fn pair() -> (Records, Records) {
        let (host, board) = shaken();
        (Records::new(&host).unwrap(), Records::new(&board).unwrap())
    }

    /// What a handshake leaves on both ends.
    pub fn shaken() -> (Secrets, Secrets) {
        let mut host = Handshake::host(&key(7), HOST, BOARD).unwrap();
        let mut board = Handshake::board(&key(7), HOST, BOARD).unwrap();
        board.read(&host.write().unwrap()).unwrap();
        host.read(&board.write().unwrap()).unwrap();
        (host.secrets().unwrap(), board.secrets().unwrap())
    }

    #[test]
    fn another_key_or_hello_is_found_out_at_the_first_message() {
        let mut edited = HOST;
        edited[16] ^= 1;
        let mut first = Handshake::host(&key(7), HOST, BOARD).unwrap();
        let message = first.write().unwrap();
        for (key, host, board) in [
            (key(8), HOST, BOARD),
            (key(7), edited, BOARD),
            (key(7), HOST, edited),
        ] {
            let mut board = Handshake::board(&key, host, board).unwrap();
            assert_eq!(board.read(&message), Err(SecureError::Unproven));
        }
    }

    #[test]
    fn a_replayed_first_message_leads_to_no_record() {
        let mut host = Handshake::host(&key(7), HOST, BOARD).unwrap();
        let recorded = host.write().unwrap();
        let mut records = {
            let mut board = Handshake::board(&key(7), HOST, BOARD).unwrap();
            board.read(&recorded).unwrap();
            host.read(&board.write().unwrap()).unwrap();
            host.finish().unwrap()
        };
        records.seal(b"recorded").unwrap();
        records.flush().unwrap();
        let mut board = Handshake::board(&key(7), HOST, BOARD).unwrap();
        board.read(&recorded).unwrap();
        board.write().unwrap();
        let mut again = board.finish().unwrap();
        let bytes = records.sealed();
        again.space()[..bytes.len()].copy_from_slice(bytes);
        again.came(bytes.len());
        assert_eq!(again.open(&mut [0; 64]), Err(SecureError::Forged));
    }

    proptest! {
        #[test]
        fn any_message_is_refused(message: [[u8; 16]; 3]) {
            let message = message.concat().try_into().unwrap();
            let mut board = Handshake::board(&key(7), HOST, BOARD).unwrap();
            prop_assert_eq!(board.read(&message), Err(SecureError::Unproven));
            let mut host = Handshake::host(&key(7), HOST, BOARD).unwrap();
            host.write().unwrap();
            prop_assert_eq!(host.read(&message), Err(SecureError::Unproven));
        }
    }
}
