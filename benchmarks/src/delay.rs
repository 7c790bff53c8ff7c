//! A link that takes time: carries the bytes of TCP connections, each piece so much
//! later.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes read at once.
const CHUNK: usize = 64 << 10;
/// A sleep ends so much late, though the thread asks for no slack: what is left is waited
/// for awake. The link shares its CPUs with the simulator and the board, so this is short.
const AWAKE: Duration = Duration::from_micros(20);

/// A piece, and when it arrives.
type Piece = (Instant, Vec<u8>);

/// Listens on loopback for as long as the process lives, and carries every connection to
/// `target`; what is sent arrives `delay` later, in both directions.
///
/// # Errors
/// The system's.
pub fn link(target: SocketAddr, delay: Duration) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for near in listener.incoming() {
            // Who connected sees the end of the connection.
            let _ = near.and_then(|near| carry(near, target, delay));
        }
    });
    Ok(address)
}

fn carry(near: TcpStream, target: SocketAddr, delay: Duration) -> io::Result<()> {
    let far = TcpStream::connect(target)?;
    for (from, to) in [(&near, &far), (&far, &near)] {
        let (from, to) = (from.try_clone()?, to.try_clone()?);
        to.set_nodelay(true)?;
        let (sender, receiver) = channel();
        thread::spawn(move || take_in(from, delay, &sender));
        thread::spawn(move || pass_on(to, &receiver));
    }
    Ok(())
}

/// Notes when each piece arrives at the far end.
fn take_in(mut from: TcpStream, delay: Duration, sender: &Sender<Piece>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(len @ 1..) = from.read(&mut chunk) {
        let piece = (Instant::now() + delay, chunk[..len].to_vec());
        if sender.send(piece).is_err() {
            return;
        }
    }
}

fn pass_on(mut to: TcpStream, receiver: &Receiver<Piece>) {
    // Without, a sleep ends 50 us later: the link would be slower than it says.
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut waiting: VecDeque<Piece> = VecDeque::new();
    while let Ok(piece) = receiver.recv() {
        waiting.push_back(piece);
        while let Some((at, bytes)) = waiting.pop_front() {
            wait_until(at);
            if to.write_all(&bytes).is_err() {
                return;
            }
            waiting.extend(receiver.try_iter());
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn wait_until(at: Instant) {
    let left = at.saturating_duration_since(Instant::now());
    thread::sleep(left.saturating_sub(AWAKE));
    while Instant::now() < at {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_arrive_in_order_and_no_earlier() {
        let target = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let delay = Duration::from_millis(20);
        let address = link(target.local_addr().unwrap(), delay).unwrap();
        let echo = thread::spawn(move || {
            let (mut stream, _) = target.accept().unwrap();
            io::copy(&mut stream.try_clone().unwrap(), &mut stream).unwrap();
        });
        let mut stream = TcpStream::connect(address).unwrap();
        let sent: Vec<u8> = (0..3 * CHUNK).map(|n| n as u8).collect();
        let begun = Instant::now();
        stream.write_all(&sent).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut back = Vec::new();
        stream.read_to_end(&mut back).unwrap();
        assert!(begun.elapsed() >= 2 * delay);
        assert_eq!(back, sent);
        echo.join().unwrap();
    }
}
