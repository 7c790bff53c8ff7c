//! Bytes that cross the socket sealed.

use super::{Client, ClientError};
use crate::secure::{RECORD, Records, SecureError};
use crate::vectored::{Patience, Receiving, SendSpan, Span};
use nix::sys::socket::{MsgFlags, recv};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd};

impl Client {
    /// Seals and sends all of it, as much at a time as goes out at once.
    pub(super) fn send_sealed<'a>(
        &mut self,
        spans: impl IntoIterator<Item = SendSpan<'a>>,
    ) -> Result<(), ClientError> {
        let Some(mut records) = self.records.take() else {
            return Err(ClientError::Closed);
        };
        let sent = self.seal_all(&mut records, spans);
        self.records = Some(records);
        sent
    }

    fn seal_all<'a>(
        &mut self,
        records: &mut Records,
        spans: impl IntoIterator<Item = SendSpan<'a>>,
    ) -> Result<(), ClientError> {
        // Guest RAM is copied before it is sealed, so that it does not change
        // meanwhile: no more at a time than stays in the cache.
        let most = records.at_once();
        let mut copy = Vec::new();
        for mut span in spans {
            loop {
                let room = most - copy.len();
                if span.take_to(&mut copy, room) < room {
                    break;
                }
                records.seal_all(&copy, |sealed| self.send_bytes(sealed))?;
                copy.clear();
            }
        }
        records.seal_all(&copy, |sealed| self.send_bytes(sealed))?;
        records.finish(|sealed| self.send_bytes(sealed))
    }

    fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        self.send_plain([Span::source(bytes)])
    }
}

/// A last message, sealed; empty if it cannot be.
pub fn last(records: &mut Records, message: &[u8]) -> Vec<u8> {
    let seal = |records: &mut Records| -> Result<(), SecureError> {
        records.seal(message)?;
        records.flush()
    };
    match seal(records) {
        Ok(()) => records.sealed().to_vec(),
        Err(_) => Vec::new(),
    }
}

/// Receives what the socket has; opens it where there are records.
///
/// # Errors
/// As [`Receiving::step`]; `InvalidData` for what the board did not seal.
pub fn step(
    records: &mut Option<Box<Records>>,
    receiving: &mut Receiving<'_>,
    socket: BorrowedFd<'_>,
    patience: Patience,
) -> io::Result<()> {
    let Some(records) = records else {
        return receiving.step(socket, patience);
    };
    let flags = MsgFlags::from_bits_truncate(patience.flags());
    let most = receiving.left().min(RECORD as u64) as usize;
    loop {
        let opened = records.open_some(most)?;
        if !opened.is_empty() {
            receiving.put(opened);
            return Ok(());
        }
        match recv(socket.as_raw_fd(), records.space(), flags) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => records.came(count),
            Err(error) => return Err(error.into()),
        }
    }
}
