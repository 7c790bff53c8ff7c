//! How the board's bytes go to the socket: as they are, or sealed.

use crate::secure::Records;
use socket2::{MsgHdr, Socket};
use std::io::{self, ErrorKind, IoSlice};

/// Pieces in one vectored write (IOV_MAX).
const MAX_PIECES: usize = 1024;

/// Sends all of these bytes.
///
/// # Errors
/// The system's.
pub fn send(
    socket: &Socket,
    records: Option<&mut Records>,
    head: &[u8],
    payload: &[&[u8]],
) -> io::Result<()> {
    let Some(records) = records else {
        return send_plain(socket, head, payload);
    };
    let mut send = |sealed: &[u8]| send_plain(socket, sealed, &[]);
    for piece in [head].iter().chain(payload) {
        records.seal_all(piece, &mut send)?;
    }
    records.finish(send)
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
