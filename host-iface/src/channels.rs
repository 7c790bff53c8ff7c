//! Channels: what a run serves its guest beside the board, such as folders of the
//! host. The guest's init sends a message, and stands still until whoever serves the
//! channel, over a Unix socket, has answered.

use crate::config::Config;
use gil_transport::client::Cancel;
use gil_wire::control::{Channel, Exchanged, MESSAGE_MAX};
use nix::sys::socket::{MsgFlags, send};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait without a look at the cancel flag.
const SLICE: Duration = Duration::from_millis(100);

/// A channel's socket cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to the channel at {}: {error}: is gil run listening there?", path.display())]
pub struct ChannelError {
    path: PathBuf,
    error: io::Error,
}

/// The channels of a run.
#[derive(Debug, Default)]
pub struct Channels(Vec<Served>);

#[derive(Debug)]
struct Served {
    channel: Channel,
    /// None once it has failed.
    socket: Option<UnixStream>,
    /// The session that used it first: messages of another process of the guest
    /// would come between a conversation's.
    owner: Option<u64>,
    cancel: Cancel,
}

impl Channels {
    /// Connects to those of `config`.
    ///
    /// # Errors
    /// [`ChannelError`] names the path.
    pub fn connect(config: &Config, cancel: &Cancel) -> Result<Self, ChannelError> {
        let all = [
            (Channel::Files, &config.files),
            (Channel::Input, &config.input),
        ];
        let there = all
            .into_iter()
            .filter_map(|(channel, path)| Some((channel, path.as_deref()?)));
        let served = there.map(|(channel, path)| Served::connect(channel, path, cancel.clone()));
        Ok(Self(served.collect::<Result<_, _>>()?))
    }

    /// Passes on a session's message, and puts the answer into `answer`.
    pub fn exchange(
        &mut self,
        channel: Channel,
        session: u64,
        message: &[u8],
        answer: &mut [u8],
    ) -> Exchanged {
        let Some(served) = self.0.iter_mut().find(|served| served.channel == channel) else {
            return Exchanged::NotServed;
        };
        if *served.owner.get_or_insert(session) != session {
            return Exchanged::Taken;
        }
        match served.exchange(message, answer) {
            Ok(len) => Exchanged::Answered { len },
            Err(_) => {
                served.socket = None;
                Exchanged::Gone
            }
        }
    }

    /// The session is gone; another may use its channels.
    pub fn close(&mut self, session: u64) {
        for served in &mut self.0 {
            served.owner = served.owner.filter(|&owner| owner != session);
        }
    }
}

impl Served {
    fn connect(channel: Channel, path: &Path, cancel: Cancel) -> Result<Self, ChannelError> {
        let connect = || {
            let socket = UnixStream::connect(path)?;
            socket.set_read_timeout(Some(SLICE))?;
            socket.set_write_timeout(Some(SLICE))?;
            Ok(socket)
        };
        match connect() {
            Ok(socket) => Ok(Self {
                channel,
                socket: Some(socket),
                owner: None,
                cancel,
            }),
            Err(error) => Err(ChannelError {
                path: path.into(),
                error,
            }),
        }
    }

    /// The answer's length.
    fn exchange(&self, message: &[u8], answer: &mut [u8]) -> io::Result<u32> {
        let socket = self.socket.as_ref().ok_or(ErrorKind::NotConnected)?;
        let mut bytes = (message.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(message);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let written = self.patiently(|| write(socket, rest))?;
            rest = &rest[written..];
        }
        let mut len = [0; 4];
        self.read(&mut len)?;
        let len = u32::from_le_bytes(len);
        let answer = answer
            .get_mut(..len as usize)
            .filter(|_| len as usize <= MESSAGE_MAX);
        self.read(answer.ok_or(ErrorKind::InvalidData)?)?;
        Ok(len)
    }

    fn read(&self, mut into: &mut [u8]) -> io::Result<()> {
        let mut socket = self.socket.as_ref().ok_or(ErrorKind::NotConnected)?;
        while !into.is_empty() {
            let read = self.patiently(|| socket.read(into))?;
            if read == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            into = &mut into[read..];
        }
        Ok(())
    }

    /// Repeats what waits in slices, until the user quits.
    fn patiently(&self, mut act: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match act() {
                Err(error) if is_wait(&error) && !self.cancel.is_set() => {}
                other => return other,
            }
        }
    }
}

/// Without a signal if the peer is gone: signals are the simulator's.
fn write(socket: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    Ok(send(socket.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL)?)
}

fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
