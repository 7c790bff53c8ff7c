//! Bare sockets: what a machine does with bytes that nobody interprets.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A kind of socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Unix socket.
    Unix,
    /// TCP through the loopback interface.
    Tcp,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unix => "Unix socket",
            Self::Tcp => "TCP on loopback",
        })
    }
}

trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// The two ends of a connection.
fn pair(kind: Kind) -> io::Result<(Box<dyn Stream>, Box<dyn Stream>)> {
    match kind {
        Kind::Unix => {
            let (one, two) = UnixStream::pair()?;
            Ok((Box::new(one), Box::new(two)))
        }
        Kind::Tcp => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let one = TcpStream::connect(listener.local_addr()?)?;
            let (two, _) = listener.accept()?;
            one.set_nodelay(true)?;
            two.set_nodelay(true)?;
            Ok((Box::new(one), Box::new(two)))
        }
    }
}

/// One end of a connection whose other end is a thread's.
struct Peer {
    /// Gone before the thread is joined, which ends at the connection's end.
    stream: Option<Box<dyn Stream>>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    /// The thread does `serve` until it fails.
    fn start(
        kind: Kind,
        mut serve: impl FnMut(&mut dyn Stream) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let (stream, mut other) = pair(kind)?;
        let thread = std::thread::spawn(move || while serve(&mut *other).is_ok() {});
        Ok(Self {
            stream: Some(stream),
            thread: Some(thread),
        })
    }

    fn stream(&mut self) -> io::Result<&mut dyn Stream> {
        match &mut self.stream {
            Some(stream) => Ok(&mut **stream),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stream = None;
        if let Some(thread) = self.thread.take() {
            // It ends at the connection's end, whatever it does.
            let _ = thread.join();
        }
    }
}

/// Sends back 64 bytes.
pub struct Echo(Peer);

impl Echo {
    /// One on a thread of its own.
    pub fn start(kind: Kind) -> io::Result<Self> {
        let mut bytes = [0; 64];
        let peer = Peer::start(kind, move |stream| {
            stream.read_exact(&mut bytes)?;
            stream.write_all(&bytes)
        })?;
        Ok(Self(peer))
    }

    /// There and back.
    pub fn round_trip(&mut self) -> io::Result<Duration> {
        let stream = self.0.stream()?;
        let mut bytes = [7; 64];
        let start = Instant::now();
        stream.write_all(&bytes)?;
        stream.read_exact(&mut bytes)?;
        Ok(start.elapsed())
    }
}

/// Takes bytes, or gives some, between two buffers that stay.
pub struct Bare {
    peer: Peer,
    ours: Vec<u8>,
}

/// What is asked of the other end: the highest bit of the length says that it
/// gives.
const GIVE: u64 = 1 << 63;

impl Bare {
    /// With buffers of `most` bytes.
    pub fn start(kind: Kind, most: usize) -> io::Result<Self> {
        let mut theirs = vec![1; most];
        let peer = Peer::start(kind, move |stream| {
            let mut asked = [0; 8];
            stream.read_exact(&mut asked)?;
            let asked = u64::from_le_bytes(asked);
            let bytes = &mut theirs[..(asked & !GIVE) as usize];
            match asked & GIVE {
                0 => {
                    stream.read_exact(bytes)?;
                    stream.write_all(&[0])
                }
                _ => stream.write_all(bytes),
            }
        })?;
        let ours = vec![2; most];
        Ok(Self { peer, ours })
    }

    /// Sends `len` bytes until they are there.
    pub fn send(&mut self, len: usize) -> io::Result<Duration> {
        let stream = self.peer.stream()?;
        let start = Instant::now();
        stream.write_all(&(len as u64).to_le_bytes())?;
        stream.write_all(&self.ours[..len])?;
        stream.read_exact(&mut [0])?;
        Ok(start.elapsed())
    }

    /// Receives `len` bytes.
    pub fn receive(&mut self, len: usize) -> io::Result<Duration> {
        let stream = self.peer.stream()?;
        let start = Instant::now();
        stream.write_all(&(len as u64 | GIVE).to_le_bytes())?;
        stream.read_exact(&mut self.ours[..len])?;
        Ok(start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_both_ways_and_the_thread_ends() {
        for kind in [Kind::Unix, Kind::Tcp] {
            Echo::start(kind).unwrap().round_trip().unwrap();
            let mut bare = Bare::start(kind, 3 << 20).unwrap();
            bare.receive(5).unwrap();
            assert_eq!(bare.ours[..6], [1, 1, 1, 1, 1, 2]);
            bare.send(3 << 20).unwrap();
        }
    }
}
