//! Reads what the bridge in the simulator reports: events over a Unix socket on which `gil run`
//! listens.

use gil_wire::monitor::{ASK, Event, MAX_EVENT};
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

/// A message from the reader.
#[derive(Debug)]
pub enum Message {
    /// The bridge reported something.
    Event(Box<Event>),
    /// A source of messages has ended: the connection, or a relay.
    Closed,
    /// The bridge sent an invalid event.
    Garbled(String),
    /// `gil` got a signal.
    Signal(i32),
}

/// The bridge's connection; hanging up has the host interface cancel what it
/// waits for.
#[derive(Clone, Default)]
pub struct Connection(Arc<Mutex<Option<UnixStream>>>);

impl Connection {
    /// Whether the bridge ever connected.
    pub fn was_made(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// Asks how the run does. The answer is an event.
    pub fn ask(&self) {
        if let Some(stream) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // Whoever is gone gives no answer.
            let _ = stream.write_all(&[ASK]);
        }
    }

    /// Says that nobody wants the simulation any more, if there is one. What the
    /// bridge says to that, its report, still comes.
    pub fn hang_up(&self) {
        if let Some(stream) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
    }
}

/// Accepts one connection and passes its events to `sender`, in a thread.
pub fn listen(listener: UnixListener, sender: SyncSender<Message>) -> Connection {
    let connection = Connection::default();
    let kept = connection.clone();
    std::thread::spawn(move || {
        let last = match accept(&listener, &kept).and_then(|stream| pass_on(stream, &sender)) {
            Ok(()) => Message::Closed,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Message::Garbled(error.to_string())
            }
            Err(_) => Message::Closed,
        };
        let _ = sender.send(last);
    });
    connection
}

fn accept(listener: &UnixListener, kept: &Connection) -> io::Result<UnixStream> {
    let (stream, _) = listener.accept()?;
    let copy = stream.try_clone()?;
    *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy);
    Ok(stream)
}

fn pass_on(mut stream: UnixStream, sender: &SyncSender<Message>) -> io::Result<()> {
    while let Some(event) = read_event(&mut stream)? {
        if sender.send(Message::Event(Box::new(event))).is_err() {
            break;
        }
    }
    Ok(())
}

/// The next event; none at the end.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] for an invalid event, and those of reading.
pub fn read_event(stream: &mut impl Read) -> io::Result<Option<Event>> {
    let mut prefix = [0; 4];
    match stream.read_exact(&mut prefix) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let len = u32::from_le_bytes(prefix);
    if len > MAX_EVENT {
        let text = format!("an event of {len} bytes exceeds the bound of {MAX_EVENT}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut bytes = vec![0; len as usize];
    stream.read_exact(&mut bytes)?;
    postcard::from_bytes(&bytes)
        .map(Some)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_and_nonsense_is_refused() {
        let event = Event::Warning { text: "x".into() };
        let body = postcard::to_stdvec(&event).unwrap();
        let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
        bytes.extend(&body);
        let mut reader = bytes.as_slice();
        assert_eq!(read_event(&mut reader).unwrap(), Some(event));
        assert_eq!(read_event(&mut reader).unwrap(), None);

        let too_long = u32::MAX.to_le_bytes();
        let error = read_event(&mut too_long.as_slice()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let nonsense = [1, 0, 0, 0, 0xff];
        assert!(read_event(&mut nonsense.as_slice()).is_err());
    }
}
