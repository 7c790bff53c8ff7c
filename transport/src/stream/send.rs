//! Sending at either end: plain or encrypted.

use super::{End, Way};
use crate::secure::{Records, SecureError};
use crate::vectored::{Patience, SendSpan, Sending, Span};
use std::os::fd::BorrowedFd;

/// Sends all of it, as it is.
pub fn plain<'a, E: End>(
    end: &E,
    spans: impl IntoIterator<Item = SendSpan<'a>>,
) -> Result<(), E::Error> {
    let mut sending = Sending::new(spans);
    while sending.left() > 0 {
        let patience = end.patience();
        if let Err(error) = sending.step(end.socket(), patience) {
            end.stopped(error, patience, Way::Out)?;
        }
    }
    Ok(())
}

/// Seals and sends all of it, as much at a time as goes out at once.
pub fn sealed<'a, E: End>(
    end: &E,
    records: &mut Records,
    spans: impl IntoIterator<Item = SendSpan<'a>>,
) -> Result<(), E::Error> {
    let send = |sealed: &[u8]| plain(end, [Span::source(sealed)]);
    if records.has_crew() {
        return sealed_together(records, spans, send);
    }
    for mut span in spans {
        match span.steady() {
            Some(bytes) => records.seal_all(bytes, send)?,
            None => records.seal_all_of(&mut span, send)?,
        }
    }
    records.finish(send)
}

/// The same where a crew seals many records at once. Guest RAM is copied before that,
/// so that it does not change meanwhile: no more at a time than stays in the cache.
fn sealed_together<'a, E: From<SecureError>>(
    records: &mut Records,
    spans: impl IntoIterator<Item = SendSpan<'a>>,
    send: impl Fn(&[u8]) -> Result<(), E> + Copy,
) -> Result<(), E> {
    let most = records.at_once();
    let mut copy = Vec::new();
    for mut span in spans {
        if let Some(bytes) = span.steady() {
            records.seal_all(&copy, send)?;
            copy.clear();
            records.seal_all(bytes, send)?;
            continue;
        }
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

/// Sends a few bytes if the socket takes them at once.
pub fn at_once(socket: BorrowedFd<'_>, records: Option<&mut Records>, bytes: &[u8]) {
    let seal = |records: &mut Records| -> Result<(), SecureError> {
        records.seal(bytes)?;
        records.flush()
    };
    let bytes = match records {
        None => bytes,
        Some(records) => match seal(records) {
            Ok(()) => records.sealed(),
            Err(_) => return,
        },
    };
    let mut sending = Sending::new([Span::source(bytes)]);
    let _ = sending.step(socket, Patience::None);
}
