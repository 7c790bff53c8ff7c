//! Connections that are refused: said once a peer, so that nobody fills the
//! log.

use super::peer::{Origin, Peer};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Peers that are remembered.
const MAX_PEERS: usize = 256;

/// Peers that were refused.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<HashSet<Origin>>);

impl Refusals {
    /// Logs why a peer is refused, if it is the first time.
    pub fn say(&self, peer: Peer, reason: &str) {
        match self.note(peer) {
            Note::First => {
                tracing::warn!("connection of {peer} refused: {reason} (said once for each peer)")
            }
            Note::Last => tracing::warn!(
                "connection of {peer} refused: {reason}; so were others of {MAX_PEERS} addresses, and what follows is logged with GIL_LOG=debug only"
            ),
            Note::Again => tracing::debug!("connection of {peer} refused: {reason}"),
        }
    }

    fn note(&self, peer: Peer) -> Note {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.len() >= MAX_PEERS || !peers.insert(peer.origin()) {
            return Note::Again;
        }
        match peers.len() {
            MAX_PEERS => Note::Last,
            _ => Note::First,
        }
    }
}

/// How often a peer was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Note {
    First,
    /// It takes the last place.
    Last,
    Again,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn each_machine_is_named_once_and_the_table_is_bounded() {
        let refusals = Refusals::default();
        let peer = |last: u32, port| Peer::At(IpAddr::V4(last.into()), port);
        assert_eq!(refusals.note(peer(1, 1)), Note::First);
        assert_eq!(refusals.note(peer(1, 2)), Note::Again);
        assert_eq!(refusals.note(Peer::Local(Some(7))), Note::First);
        let notes: Vec<Note> = (2..1000).map(|last| refusals.note(peer(last, 1))).collect();
        let firsts = notes.iter().filter(|note| **note == Note::First).count();
        assert_eq!(firsts, MAX_PEERS - 3);
        assert_eq!(notes[firsts], Note::Last);
        assert!(notes[firsts + 1..].iter().all(|note| *note == Note::Again));
        assert_eq!(refusals.0.lock().unwrap().len(), MAX_PEERS);
    }
}
