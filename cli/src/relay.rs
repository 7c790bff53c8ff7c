//! The guest's output that the simulator itself writes, through FIFOs in the run's
//! folder.

use crate::monitor::Message;
use crate::simulator::Pipe;
use gil_run_support::cache::{At, CacheError};
use gil_wire::control::Stream;
use gil_wire::monitor::Event;
use nix::sys::stat::Mode;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::SyncSender;

/// Bytes passed on at once.
const CHUNK: usize = 64 << 10;

/// An end of a FIFO that keeps its reader from seeing the end of the output.
/// Dropped when the simulator has ended: the reader then passes on what is left
/// and says [`Message::Closed`].
#[derive(Debug)]
pub struct Relay(#[allow(dead_code, reason = "held to be closed")] File);

impl Relay {
    /// Makes a FIFO there, and passes on what is written to it.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be made.
    pub fn open(path: &Path, pipe: Pipe, sender: SyncSender<Message>) -> Result<Self, CacheError> {
        let made = nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR);
        made.map_err(io::Error::from).at(path)?;
        // Opening one end waits for the other, unless asked not to.
        let mut first = OpenOptions::new();
        first.read(true).custom_flags(libc::O_NONBLOCK);
        let first = first.open(path).at(path)?;
        let writer = OpenOptions::new().write(true).open(path).at(path)?;
        let reader = File::open(path).at(path)?;
        drop(first);
        std::thread::spawn(move || {
            // Whoever closed the other end of the channel needs no more.
            let _ = match pipe {
                Pipe::Output(stream) => pass_on(reader, stream, &sender),
                Pipe::Watch => pass_on_lines(reader, &sender),
            };
            let _ = sender.send(Message::Closed);
        });
        Ok(Self(writer))
    }
}

fn send(event: Event, sender: &SyncSender<Message>) -> io::Result<()> {
    let message = Message::Event(Box::new(event));
    let sent = sender.send(message);
    sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
}

/// Lines about watched functions; the simulator bounds them.
fn pass_on_lines(reader: File, sender: &SyncSender<Message>) -> io::Result<()> {
    for line in BufReader::new(reader).split(b'\n') {
        let text = String::from_utf8_lossy(&line?).into_owned();
        send(Event::Watch { text }, sender)?;
    }
    Ok(())
}

fn pass_on(mut reader: File, stream: Stream, sender: &SyncSender<Message>) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let len = match reader.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = chunk[..len].to_vec();
        send(Event::Console { stream, bytes }, sender)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::mpsc;

    #[test]
    fn all_that_was_written_arrives_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let (sender, receiver) = mpsc::sync_channel(4);
        let relay = Relay::open(&path, Pipe::Output(Stream::Out), sender).unwrap();
        let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
        let written = vec![7; 3 * CHUNK];
        std::thread::spawn(move || {
            writer.write_all(&written).unwrap();
            drop(relay);
        });
        let mut arrived = Vec::new();
        while let Message::Event(event) = receiver.recv().unwrap() {
            let Event::Console { stream, bytes } = *event else {
                panic!("{event:?}");
            };
            assert_eq!(stream, Stream::Out);
            arrived.extend(bytes);
        }
        assert_eq!(arrived, vec![7; 3 * CHUNK]);
    }
}
