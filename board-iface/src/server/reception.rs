//! Connections that have not shaken hands: few, for a short time, and no
//! address has most of them.

use super::desk::Desk;
use super::peer::{Origin, Peer};
use gil_transport::connection::HANDSHAKE_WITHIN;
use gil_transport::error::ConnectionError;
use gil_transport::greeting::{Greeting, Shaken, Terms};
use gil_transport::secure::Key;
use nix::sys::resource::{Resource, getrlimit};
use socket2::Socket;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Connections at a time that have not shaken hands.
const MOST: usize = 256;
/// As many where files are few.
const LEAST: usize = 8;
/// Files that an agent has open besides connections and sessions.
const OTHER_FILES: usize = 64;
/// Files that a session takes.
const FILES_OF_SESSION: usize = 4;

/// Why a connection came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The handshake failed.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// Others came.
    #[error(
        "it had not shaken hands when others came, and {of_one} connections of one address, or {in_all} in all, are attended to at a time: the oldest goes first"
    )]
    Crowded {
        /// Of one origin.
        of_one: usize,
        /// Of all.
        in_all: usize,
    },
}

/// The connections that have not shaken hands, the oldest first.
pub struct Reception {
    key: Option<Key>,
    /// Whose agent this is.
    own: u32,
    most: usize,
    waiting: Vec<Waiting>,
}

struct Waiting {
    socket: Socket,
    peer: Peer,
    refusal: Option<String>,
    until: Instant,
    greeting: Greeting,
}

impl Waiting {
    /// What became of it, if it is no longer waited for.
    fn step(
        &mut self,
        key: Option<&Key>,
        now: Instant,
        desk: &Desk,
    ) -> Option<Result<Shaken, Refused>> {
        let terms = Terms {
            key,
            refusal: self.refusal.as_deref(),
            full: &|| desk.full(),
        };
        match self.greeting.step(&self.socket, terms) {
            Ok(Some(shaken)) => Some(Ok(shaken)),
            Ok(None) if now < self.until => None,
            Ok(None) => Some(Err(ConnectionError::Slow(HANDSHAKE_WITHIN).into())),
            Err(error) => Some(Err(error.into())),
        }
    }
}

impl Reception {
    /// Of an agent of the user `own`, whose peers have to have `key`, and which
    /// leaves files for so many sessions.
    pub fn new(key: Option<Key>, own: u32, sessions: usize) -> Self {
        let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(files, _)| files);
        let files = usize::try_from(files).unwrap_or(usize::MAX);
        let sessions = sessions.saturating_mul(FILES_OF_SESSION);
        let left = files.saturating_sub(sessions.saturating_add(OTHER_FILES));
        Self {
            key,
            own,
            most: left.clamp(LEAST, MOST),
            waiting: Vec::new(),
        }
    }

    /// A connection came. If it has not shaken hands already, another may have
    /// to go for it.
    pub fn enter(&mut self, socket: Socket, desk: &Desk) {
        let (peer, now) = (Peer::of(&socket), Instant::now());
        let no_key = self.key.is_none();
        let mut waiting = Waiting {
            socket,
            peer,
            refusal: peer.refusal(self.own).filter(|_| no_key),
            until: now + HANDSHAKE_WITHIN,
            greeting: Greeting::default(),
        };
        if let Some(outcome) = waiting.step(self.key.as_ref(), now, desk) {
            return desk.greeted(waiting.socket, peer, outcome);
        }
        if let Some(at) = self.in_the_way(peer.origin()) {
            self.hang_up(at, desk);
        }
        self.waiting.push(waiting);
    }

    /// The oldest one is hung up on, since the system has no more files.
    pub fn shed(&mut self, desk: &Desk) {
        if !self.waiting.is_empty() {
            self.hang_up(0, desk);
        }
    }

    fn hang_up(&mut self, at: usize, desk: &Desk) {
        let gone = self.waiting.remove(at);
        // A reset tells a peer from the end that who is refused sees: it may come
        // again.
        let _ = gone.socket.set_linger(Some(Duration::ZERO));
        let crowded = Refused::Crowded {
            of_one: self.most_of_one(),
            in_all: self.most,
        };
        desk.greeted(gone.socket, gone.peer, Err(crowded));
    }

    /// Of one address, or one user of this machine: the 64 sessions that an agent
    /// takes may all begin at once, with operators beside them.
    fn most_of_one(&self) -> usize {
        self.most * 3 / 8
    }

    /// The one that has to go for another of this origin, if any: the oldest of
    /// the same if it has its share, or else of who has most.
    fn in_the_way(&self, of: Origin) -> Option<usize> {
        let mut counts = HashMap::new();
        for waiting in &self.waiting {
            *counts.entry(waiting.peer.origin()).or_insert(0) += 1;
        }
        let goes = if counts
            .get(&of)
            .is_some_and(|count| *count >= self.most_of_one())
        {
            of
        } else if self.waiting.len() >= self.most {
            *counts.iter().max_by_key(|(_, count)| **count)?.0
        } else {
            return None;
        };
        let mut origins = self.waiting.iter().map(|waiting| waiting.peer.origin());
        origins.position(|origin| origin == goes)
    }

    /// What to look at: who says something.
    pub fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.waiting.iter().map(|waiting| waiting.socket.as_fd())
    }

    /// How long nobody's time is over.
    pub fn patience(&self) -> Option<Duration> {
        let oldest = self.waiting.first()?;
        Some(oldest.until.saturating_duration_since(Instant::now()))
    }

    /// Goes on with those of [`sockets`](Self::sockets) that said something, and
    /// with those whose time is over.
    pub fn attend(&mut self, said: &[bool], desk: &Desk) {
        let now = Instant::now();
        let said = said.iter().chain(std::iter::repeat(&false));
        for (mut waiting, said) in std::mem::take(&mut self.waiting).into_iter().zip(said) {
            let is_due = *said || now >= waiting.until;
            let over = is_due.then(|| waiting.step(self.key.as_ref(), now, desk));
            match over.flatten() {
                Some(outcome) => desk.greeted(waiting.socket, waiting.peer, outcome),
                None => self.waiting.push(waiting),
            }
        }
    }
}
