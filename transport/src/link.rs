//! How bytes cross the socket: as they are, or sealed.

use crate::secure::{RECORD, Records};
use socket2::{MsgHdr, Socket};
use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;

/// Pieces in one vectored write (IOV_MAX).
const MAX_PIECES: usize = 1024;

/// How a connection's bytes cross its socket.
#[derive(Debug)]
pub enum Link {
    /// As they are.
    Plain,
    /// Encrypted.
    Sealed(Box<Records>),
}

impl Link {
    /// Receives some bytes; 0 at the connection's end.
    ///
    /// # Errors
    /// The system's; `InvalidData` for what the peer did not seal.
    pub fn receive(&mut self, socket: &Socket, room: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        self.receive_with(socket, room, 0)
    }

    /// The same, but `WouldBlock` where it would have to wait.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn receive_now(
        &mut self,
        socket: &Socket,
        room: &mut [MaybeUninit<u8>],
    ) -> io::Result<usize> {
        self.receive_with(socket, room, libc::MSG_DONTWAIT)
    }

    fn receive_with(
        &mut self,
        socket: &Socket,
        room: &mut [MaybeUninit<u8>],
        flags: libc::c_int,
    ) -> io::Result<usize> {
        match self {
            Self::Plain => receive_flagged(socket, room, flags),
            Self::Sealed(records) => {
                // Zeroes first, which are in the cache when a record replaces
                // them.
                let len = room.len().min(2 * RECORD);
                let room = &mut room[..len];
                room.fill(MaybeUninit::new(0));
                let start = room.as_mut_ptr().cast::<u8>();
                // SAFETY: every byte was just initialised, and has the type's
                // layout.
                let room = unsafe { std::slice::from_raw_parts_mut(start, len) };
                open(socket, records, room, flags)
            }
        }
    }

    /// The same, to memory that holds bytes.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn receive_over(&mut self, socket: &Socket, room: &mut [u8]) -> io::Result<usize> {
        self.receive_over_with(socket, room, 0)
    }

    /// The same, but `WouldBlock` where it would have to wait.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn receive_over_now(&mut self, socket: &Socket, room: &mut [u8]) -> io::Result<usize> {
        self.receive_over_with(socket, room, libc::MSG_DONTWAIT)
    }

    fn receive_over_with(
        &mut self,
        socket: &Socket,
        room: &mut [u8],
        flags: libc::c_int,
    ) -> io::Result<usize> {
        match self {
            Self::Plain => read(socket, room, flags),
            Self::Sealed(records) => open(socket, records, room, flags),
        }
    }

    /// Sends all of these bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn send(&mut self, socket: &Socket, head: &[u8], payload: &[&[u8]]) -> io::Result<()> {
        match self {
            Self::Plain => send_plain(socket, head, payload),
            Self::Sealed(records) => {
                let mut send = |sealed: &[u8]| send_plain(socket, sealed, &[]);
                for piece in [head].iter().chain(payload) {
                    records.seal_all(piece, &mut send)?;
                }
                records.finish(send)
            }
        }
    }
}

fn receive_flagged(
    socket: &Socket,
    room: &mut [MaybeUninit<u8>],
    flags: libc::c_int,
) -> io::Result<usize> {
    loop {
        match socket.recv_with_flags(room, flags) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Receives sealed bytes, which may be a part of a record.
fn receive_records(socket: &Socket, records: &mut Records, flags: libc::c_int) -> io::Result<()> {
    let count = read(socket, records.space(), flags)?;
    records.came(count);
    match count {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

fn read(socket: &Socket, room: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: the same bytes; what receives writes bytes and nothing else.
    let room = unsafe { &mut *(std::ptr::from_mut(room) as *mut [MaybeUninit<u8>]) };
    receive_flagged(socket, room, flags)
}

fn open(
    socket: &Socket,
    records: &mut Records,
    room: &mut [u8],
    flags: libc::c_int,
) -> io::Result<usize> {
    loop {
        let count = records.open(room)?;
        if count > 0 || room.is_empty() {
            return Ok(count);
        }
        match receive_records(socket, records, flags) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && !records.has_part() => {
                return Ok(0);
            }
            other => other?,
        }
    }
}

fn send_plain(socket: &Socket, head: &[u8], payload: &[&[u8]]) -> io::Result<()> {
    let pieces = std::iter::once(&head).chain(payload);
    let mut pieces: Vec<_> = pieces.map(|piece| IoSlice::new(piece)).collect();
    let mut left = &mut pieces[..];
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        let some = &left[..left.len().min(MAX_PIECES)];
        let message = MsgHdr::new().with_buffers(some);
        match socket.sendmsg(&message, libc::MSG_NOSIGNAL) {
            Ok(count) => IoSlice::advance_slices(&mut left, count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
