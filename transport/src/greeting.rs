//! The agent's side of the handshake, one step whenever bytes arrive. It never waits,
//! and reads no byte beyond the handshake, because a file may be attached to the next
//! message.

use crate::error::ConnectionError;
use crate::secure::{Handshake, Key, MESSAGE_LEN, PROOF_LEN, Secrets};
use crate::window::CAPABILITY;
use gil_wire::frame;
use gil_wire::hello::{HELLO_LEN, Hello, OPERATOR, SECURE};
use gil_wire::message::Reply;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket};
use std::io;
use std::os::fd::AsRawFd;

/// What a handshake came to: all that whoever goes on needs besides the socket.
#[derive(Debug, Serialize, Deserialize)]
pub struct Shaken {
    /// What is exchanged is sealed, if there is a key.
    pub(crate) secrets: Option<Secrets>,
    /// Whether the peer opens no session.
    pub is_operator: bool,
    /// Whether the peer offers a window next.
    pub offers_window: bool,
}

impl Shaken {
    /// Bytes that came, and bytes that went.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let came = HELLO_LEN + MESSAGE_LEN + PROOF_LEN;
        match self.secrets {
            Some(_) => (came as u64, (HELLO_LEN + MESSAGE_LEN) as u64),
            None => (HELLO_LEN as u64, HELLO_LEN as u64),
        }
    }
}

/// The requirements on a peer.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// To prove that it has this.
    pub key: Option<&'a Key>,
    /// Nothing, since it is not served, for this reason.
    pub refusal: Option<&'a str>,
    /// Why there is no session, asked when there should be one.
    pub full: &'a dyn Fn() -> Option<String>,
}

/// A handshake under way.
#[derive(Debug)]
pub struct Greeting {
    stage: Stage,
    bytes: [u8; HELLO_LEN],
    have: usize,
}

/// The part of the handshake that comes next.
#[derive(Debug)]
enum Stage {
    Hello,
    Message(Handshake, bool),
    Proof(Secrets, bool),
}

impl Stage {
    fn len(&self) -> usize {
        match self {
            Self::Hello => HELLO_LEN,
            Self::Message(..) => MESSAGE_LEN,
            Self::Proof(..) => PROOF_LEN,
        }
    }
}

/// The result of a step.
enum Next {
    Stage(Stage),
    Shaken(Shaken),
}

impl Default for Greeting {
    fn default() -> Self {
        Self {
            stage: Stage::Hello,
            bytes: [0; HELLO_LEN],
            have: 0,
        }
    }
}

impl Greeting {
    /// Takes what came, and answers it; what the handshake came to, if it is
    /// over. Nothing is said before the peer's hello came, and with a key no
    /// more than a hello before the peer has proved itself. Without one, a peer
    /// that speaks gil's protocol and differs is told so with
    /// [`Reply::Refused`].
    ///
    /// # Errors
    /// [`ConnectionError`]: the peer is to be hung up on.
    pub fn step(
        &mut self,
        socket: &Socket,
        terms: Terms<'_>,
    ) -> Result<Option<Shaken>, ConnectionError> {
        while self.receive(socket)? {
            self.have = 0;
            let stage = std::mem::replace(&mut self.stage, Stage::Hello);
            match self.answer(stage, socket, terms)? {
                Next::Stage(next) => self.stage = next,
                Next::Shaken(shaken) => return Ok(Some(shaken)),
            }
        }
        Ok(None)
    }

    /// Whether all came that the stage waits for.
    fn receive(&mut self, socket: &Socket) -> Result<bool, ConnectionError> {
        let missing = &mut self.bytes[self.have..self.stage.len()];
        match recv(socket.as_raw_fd(), missing, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => return Err(ConnectionError::CutShort),
            Ok(count) => self.have += count,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(false),
            Err(error) => return Err(io::Error::from(error).into()),
        }
        Ok(self.have == self.stage.len())
    }

    fn answer(
        &self,
        stage: Stage,
        socket: &Socket,
        terms: Terms<'_>,
    ) -> Result<Next, ConnectionError> {
        match (stage, terms.key) {
            (Stage::Hello, None) => plain_hello(self.bytes, socket, terms),
            (Stage::Hello, Some(key)) => sealed_hello(self.bytes, socket, key),
            (Stage::Message(mut handshake, is_operator), _) => {
                handshake.read(&self.came())?;
                say(socket, &handshake.write()?)?;
                Ok(Next::Stage(Stage::Proof(handshake.secrets()?, is_operator)))
            }
            (Stage::Proof(mut secrets, is_operator), _) => {
                secrets.check_proof(self.came())?;
                Ok(Next::Shaken(Shaken {
                    secrets: Some(secrets),
                    is_operator,
                    offers_window: false,
                }))
            }
        }
    }

    /// The first bytes that came.
    fn came<const LEN: usize>(&self) -> [u8; LEN] {
        std::array::from_fn(|at| self.bytes[at])
    }
}

fn plain_hello(
    came: [u8; HELLO_LEN],
    socket: &Socket,
    terms: Terms<'_>,
) -> Result<Next, ConnectionError> {
    let theirs = Hello::decode(&came)?;
    let is_operator = theirs.capabilities & OPERATOR != 0;
    let refusal = terms.refusal.map(str::to_owned);
    let refusal = refusal.or_else(|| (terms.full)().filter(|_| !is_operator));
    // Who is refused reads a sentence next, and no answer to an offer.
    let maps = socket.domain()? == Domain::UNIX && refusal.is_none();
    let ours = Hello::ours().with_capabilities(if maps { CAPABILITY } else { 0 });
    say(socket, &ours.encode())?;
    if let Err(error) = ours.accept(&theirs) {
        refuse(socket, &error.to_string());
        return Err(error.into());
    }
    if theirs.capabilities & SECURE != 0 {
        return Err(ConnectionError::KeyWanted);
    }
    if let Some(reason) = refusal {
        refuse(socket, &reason);
        return Err(ConnectionError::NotServed(reason));
    }
    Ok(Next::Shaken(Shaken {
        secrets: None,
        is_operator,
        offers_window: ours.both_offer(&theirs, CAPABILITY),
    }))
}

fn sealed_hello(
    came: [u8; HELLO_LEN],
    socket: &Socket,
    key: &Key,
) -> Result<Next, ConnectionError> {
    let theirs = Hello::decode(&came)?;
    let ours = Hello::ours().with_capabilities(SECURE);
    say(socket, &ours.encode())?;
    ours.accept(&theirs)?;
    if theirs.capabilities & SECURE == 0 {
        return Err(ConnectionError::NoKey);
    }
    let handshake = Handshake::board(key, came, ours.encode())?;
    let is_operator = theirs.capabilities & OPERATOR != 0;
    Ok(Next::Stage(Stage::Message(handshake, is_operator)))
}

/// Sends a few bytes, for which a new socket always has room.
fn say(socket: &Socket, bytes: &[u8]) -> Result<(), ConnectionError> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    let sent = send(socket.as_raw_fd(), bytes, flags).map_err(io::Error::from)?;
    match sent == bytes.len() {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::WriteZero).into()),
    }
}

/// Says why the connection ends, if the peer still listens.
fn refuse(socket: &Socket, reason: &str) {
    let reason = reason.to_owned();
    let mut bytes = Vec::new();
    if frame::begin(&Reply::Refused { reason }, 0, &mut bytes).is_ok() {
        let _ = say(socket, &bytes);
    }
}
