//! Messages between the agent and a process of its own, and files with them:
//! a socket pair that keeps messages apart.

use gil_transport::attached;
use gil_transport::secure::{Zeroize, Zeroizing};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, recvmsg, sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

/// Largest message.
const MAX_MESSAGE: usize = 128 << 10;
/// Bytes of a message that may hold a connection's keys: room for it is made
/// once, so that no copy of it stays behind.
const MESSAGE: usize = 1 << 10;

/// One end.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// Both ends; neither is inherited by programs that are started.
    ///
    /// # Errors
    /// The system's.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (family, kind) = (AddressFamily::Unix, SockType::SeqPacket);
        let (one, other) = socketpair(family, kind, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Self(one), Self(other)))
    }

    /// The end behind a descriptor.
    pub fn on(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// The descriptor, to hand it on.
    pub fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// Sends a message, and these files with it. Its bytes are overwritten then.
    ///
    /// # Errors
    /// The system's; `BrokenPipe` if the other end is closed.
    pub fn send(&self, message: &impl Serialize, files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = postcard::to_extend(message, Vec::with_capacity(MESSAGE));
        let bytes = Zeroizing::new(bytes.map_err(io::Error::other)?);
        let files: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&files)];
        let rights = if files.is_empty() { &[][..] } else { &rights };
        let data = [IoSlice::new(&bytes)];
        let flags = MsgFlags::MSG_NOSIGNAL;
        loop {
            match sendmsg::<()>(self.0.as_raw_fd(), &data, rights, flags, None) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for a message; none when the other end is closed.
    ///
    /// # Errors
    /// The system's; `InvalidData` for an invalid message of this type.
    pub fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        self.take(Some(attached::space()))
    }

    /// The same from who sends no files: those that come along are closed.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn hear<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        let message = self.take(None)?;
        Ok(message.map(|(message, _)| message))
    }

    fn take<T: DeserializeOwned>(
        &self,
        mut space: Option<Vec<u8>>,
    ) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut bytes = vec![0; MAX_MESSAGE];
        let (len, files) = loop {
            let mut data = [IoSliceMut::new(&mut bytes)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            match recvmsg::<()>(self.0.as_raw_fd(), &mut data, space.as_deref_mut(), flags) {
                Ok(message) => break (message.bytes, attached::files(&message)),
                Err(Errno::EINTR) => {}
                // The other end is gone, and left something unread.
                Err(Errno::ECONNRESET) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        };
        if len == 0 {
            return Ok(None);
        }
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let message = postcard::from_bytes(&bytes[..len]).map_err(invalid);
        bytes[..len].zeroize();
        Ok(Some((message?, files)))
    }

    /// The descriptor to wait for.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Whether a message, or the end, comes within this time.
    pub fn is_ready_within(&self, time: Duration) -> bool {
        let mut fds = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        let time = PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX);
        matches!(poll(&mut fds, time), Ok(1..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};

    #[test]
    fn messages_stay_apart_and_files_come_along() {
        let (one, other) = Channel::pair().unwrap();
        let (mut read, write) = std::io::pipe().unwrap();
        one.send(&("first", 1u32), &[write.as_fd()]).unwrap();
        one.send(&("second", 2u32), &[]).unwrap();
        drop(write);
        let (message, mut files) = other.receive::<(String, u32)>().unwrap().unwrap();
        assert_eq!(message, ("first".into(), 1));
        let mut file = File::from(files.pop().unwrap());
        file.write_all(b"through").unwrap();
        drop(file);
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
        let (message, files) = other.receive::<(String, u32)>().unwrap().unwrap();
        assert_eq!(message, ("second".into(), 2));
        assert!(files.is_empty());
        assert!(!other.is_ready_within(Duration::ZERO));
        drop(one);
        assert!(other.is_ready_within(Duration::ZERO));
        assert!(other.receive::<u32>().unwrap().is_none());
    }

    /// Whether nobody has the other end of a pipe.
    fn has_hung_up(pipe: &impl AsFd) -> bool {
        let mut fds = [PollFd::new(pipe.as_fd(), PollFlags::empty())];
        poll(&mut fds, PollTimeout::ZERO).unwrap();
        fds[0].revents() == Some(PollFlags::POLLHUP)
    }

    #[test]
    fn files_that_nobody_wants_or_that_are_many_are_closed() {
        let (one, other) = Channel::pair().unwrap();
        let (read, write) = std::io::pipe().unwrap();
        let many = vec![write.as_fd(); attached::MAX];
        one.send(&1u32, &many).unwrap();
        one.send(&2u32, &many).unwrap();
        drop(write);
        assert_eq!(other.hear::<u32>().unwrap(), Some(1));
        let (message, files) = other.receive::<u32>().unwrap().unwrap();
        assert_eq!((message, files.len()), (2, attached::MAX));
        assert!(!has_hung_up(&read));
        drop(files);
        assert!(has_hung_up(&read));
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let (one, other) = Channel::pair().unwrap();
        one.send(&u8::MAX, &[]).unwrap();
        let error = other.receive::<String>().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
