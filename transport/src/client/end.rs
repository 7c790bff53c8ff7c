//! The host's waits for its board: in slices, so that quitting works, and up to a
//! bound.

use super::{Cancel, ClientError, SLICE};
use crate::stream::{End, Way};
use crate::vectored::Patience;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use socket2::Socket;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// The socket, and how long it is waited for.
#[derive(Debug)]
pub struct HostEnd {
    pub(super) socket: Socket,
    pub(super) cancel: Cancel,
    /// Longest wall time of one call.
    pub(super) timeout: Option<Duration>,
    limit: Option<(Instant, Duration)>,
    /// It has not shaken hands, and goes over TCP, where a reset says why.
    pub(super) is_new: bool,
}

impl HostEnd {
    /// One whose calls are bounded by `timeout`.
    pub fn new(socket: Socket, cancel: Cancel, timeout: Option<Duration>) -> Self {
        Self {
            socket,
            cancel,
            timeout,
            limit: None,
            is_new: false,
        }
    }

    /// A call begins: its bound in wall time counts from now.
    pub fn begin(&mut self) {
        // A limit that no clock reaches is none.
        self.limit = self
            .timeout
            .and_then(|limit| Some((Instant::now().checked_add(limit)?, limit)));
    }

    /// From now on the socket itself waits, a slice at a time: see
    /// [`Patience::Socket`].
    pub fn wait_in_the_socket(&self) -> io::Result<()> {
        self.socket.set_nonblocking(false)?;
        self.socket.set_read_timeout(Some(SLICE))?;
        self.socket.set_write_timeout(Some(SLICE))
    }

    /// Waits until the socket is ready, in slices.
    pub fn wait(&self, events: PollFlags) -> Result<(), ClientError> {
        loop {
            self.check_limits()?;
            let mut fds = [PollFd::new(self.socket.as_fd(), events)];
            let slice = PollTimeout::try_from(self.slice()).unwrap_or(PollTimeout::ZERO);
            match nix::poll::poll(&mut fds, slice) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return Ok(()),
                Err(errno) => return Err(ClientError::Io(errno.into())),
            }
        }
    }

    fn slice(&self) -> Duration {
        let left = self.limit.map_or(SLICE, |(end, _)| {
            end.saturating_duration_since(Instant::now())
        });
        left.clamp(Duration::from_millis(1), SLICE)
    }

    /// Whether the wait may go on.
    ///
    /// # Errors
    /// Why not.
    pub fn check_limits(&self) -> Result<(), ClientError> {
        if self.cancel.is_set() {
            return Err(ClientError::Cancelled);
        }
        match self.limit {
            Some((end, limit)) if Instant::now() >= end => Err(ClientError::Timeout(limit)),
            _ => Ok(()),
        }
    }
}

impl End for HostEnd {
    type Error = ClientError;

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The socket may wait a whole slice, or not at all.
    fn patience(&self) -> Patience {
        match self.slice() < SLICE || self.cancel.is_set() {
            true => Patience::None,
            false => Patience::Socket,
        }
    }

    fn stopped(&self, error: io::Error, patience: Patience, way: Way) -> Result<(), ClientError> {
        match error.kind() {
            ErrorKind::WouldBlock if patience == Patience::Socket => self.check_limits(),
            ErrorKind::WouldBlock => self.wait(match way {
                Way::In => PollFlags::POLLIN,
                Way::Out => PollFlags::POLLOUT,
            }),
            ErrorKind::Interrupted => self.check_limits(),
            ErrorKind::ConnectionReset if self.is_new => Err(ClientError::Reset),
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Err(ClientError::Closed),
            _ => Err(ClientError::Io(error)),
        }
    }

    fn cut_short(&self) -> ClientError {
        ClientError::Closed
    }

    fn received(&self, _bytes: u64) {}
}
