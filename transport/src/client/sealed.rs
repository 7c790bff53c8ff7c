//! Bytes that are sent sealed.

use super::end::HostEnd;
use super::{ClientError, send_plain};
use crate::secure::{Records, SecureError};
use crate::vectored::{SendSpan, Span};

/// Seals and sends all of it, as much at a time as goes out at once.
pub fn send_all<'a>(
    end: &HostEnd,
    records: &mut Records,
    spans: impl IntoIterator<Item = SendSpan<'a>>,
) -> Result<(), ClientError> {
    let send = |sealed: &[u8]| send_plain(end, [Span::source(sealed)]);
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
            records.seal_all(&copy, send)?;
            copy.clear();
        }
    }
    records.seal_all(&copy, send)?;
    records.finish(send)
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
