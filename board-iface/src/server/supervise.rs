//! A session in a process of its own, seen from the agent.

use super::desk::Guest;
use super::peer::Peer;
use crate::process::{End, Launcher, Next, Task, Word, Worker};
use socket2::Socket;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Has a process serve the connection, and waits for its end: no longer than
/// `grace` once the peer hung up.
pub fn run(guest: Guest, launcher: &Launcher, grace: Duration) {
    let Guest {
        entry,
        peer,
        socket,
        shaken,
        meter,
    } = guest;
    let number = entry.number;
    let task = Task::Session { number, shaken };
    let begun = begin(launcher, &task, &[socket.as_fd(), meter.file()]);
    // Its keys are the process's now.
    drop(task);
    let mut worker = match begun {
        Ok(worker) => worker,
        Err(error) => return tracing::warn!(number, "no process for a session: {error}"),
    };
    let end = attend(&mut worker, &socket, grace);
    if let Some(why) = end.force(grace) {
        let process = worker.id();
        tracing::warn!(
            number,
            process,
            "the session of {peer} is ended by force: {why}"
        );
        worker.kill();
    }
    // The peer need not wait for the process to leave, nor the next session.
    let connections = entry.connections().clone();
    drop((entry, socket));
    if say_end(number, peer, worker) {
        connections.crashed();
    }
}

/// How a session comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It is over, or its process has ended.
    Over,
    /// Its process goes on although nobody has listened for so long.
    Hangs,
    /// Its process says what no session says: a guest's code may be speaking.
    Strays,
}

impl Ending {
    /// Why the process is killed, if it is.
    fn force(self, grace: Duration) -> Option<String> {
        match self {
            Self::Over => None,
            Self::Hangs => Some(format!(
                "nobody has listened for {} s, and its process has not come back, most likely from the GPU driver: a kernel does not end, or the driver waits for what never happens",
                grace.as_secs()
            )),
            Self::Strays => Some(
                "its process says what no session says: a guest's kernel may have taken it over"
                    .into(),
            ),
        }
    }
}

/// Waits for the end of a session. Its process says two words at most, so that
/// none that goes on talking is listened to for ever.
fn attend(worker: &mut Worker, socket: &Socket, grace: Duration) -> Ending {
    let (mut until, mut is_ending) = (None, false);
    loop {
        let peer = until.is_none().then(|| socket.as_fd());
        match worker.next(peer, until) {
            Next::Word(Word::Ending) if !is_ending => is_ending = true,
            Next::HungUp => {}
            Next::Word(Word::Over) | Next::Gone => return Ending::Over,
            Next::Word(_) => return Ending::Strays,
            Next::Late => return Ending::Hangs,
        }
        until.get_or_insert_with(|| Instant::now() + grace);
    }
}

/// Hands the connection to a process. Those that waited may have died of the
/// driver that they loaded ahead: then others try, the last of which did not wait.
fn begin(launcher: &Launcher, task: &Task, files: &[BorrowedFd<'_>]) -> io::Result<Worker> {
    for _ in 0..launcher.most() {
        let worker = launcher.take()?;
        if worker.begin(task, files).is_ok() {
            return Ok(worker);
        }
        let end = worker.end();
        tracing::warn!(
            "a process that waited for a session {end}, most likely in the GPU driver that it loaded ahead"
        );
    }
    let worker = launcher.take()?;
    worker.begin(task, files)?;
    Ok(worker)
}

/// Says how the process ended; whether it took its session with it.
fn say_end(number: u64, peer: Peer, worker: Worker) -> bool {
    let (over, was_killed) = (worker.is_over(), worker.was_killed());
    match worker.end() {
        End::Clean => false,
        end if over || was_killed => {
            tracing::debug!(number, "its process {end} after the session");
            false
        }
        end => {
            tracing::error!(
                number,
                "the session of {peer} is lost: its process {end}, most likely in the GPU driver; other sessions go on. Run the program again; if it happens again, update the driver, or use another device"
            );
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Channel, Found};
    use std::os::unix::net::UnixStream;
    use std::thread::{self, JoinHandle};

    const GRACE: Duration = Duration::from_millis(200);
    const LONG: Duration = Duration::from_secs(600);

    /// A process that says a word again and again, until nobody listens.
    fn says(channel: Channel, word: Word) -> JoinHandle<()> {
        thread::spawn(move || while channel.send(&word, &[]).is_ok() {})
    }

    fn found() -> Word {
        Word::Found(Ok(Found::default()))
    }

    #[test]
    fn a_process_that_never_stops_talking_is_not_listened_to() {
        for word in [found(), Word::Ending] {
            let (mut worker, channel) = Worker::double();
            let (socket, _peer) = UnixStream::pair().unwrap();
            let talk = says(channel, word);
            let end = attend(&mut worker, &Socket::from(socket), LONG);
            assert_eq!(end, Ending::Strays);
            worker.kill();
            assert_ne!(worker.end(), End::Clean);
            talk.join().unwrap();
        }
    }

    #[test]
    fn what_is_no_word_ends_the_session() {
        let (mut worker, channel) = Worker::double();
        let (socket, _peer) = UnixStream::pair().unwrap();
        let talk = thread::spawn(move || channel.send(&u64::MAX, &[]).unwrap());
        let end = attend(&mut worker, &Socket::from(socket), GRACE);
        assert_eq!(end, Ending::Over);
        talk.join().unwrap();
    }

    #[test]
    fn a_session_that_says_that_it_ends_has_the_grace_for_it() {
        let (mut worker, channel) = Worker::double();
        let (socket, peer) = UnixStream::pair().unwrap();
        let socket = Socket::from(socket);
        channel.send(&Word::Ending, &[]).unwrap();
        assert_eq!(attend(&mut worker, &socket, GRACE), Ending::Hangs);
        // As it has when its peer hangs up before.
        drop(peer);
        assert_eq!(attend(&mut worker, &socket, GRACE), Ending::Hangs);
        channel.send(&Word::Ending, &[]).unwrap();
        channel.send(&Word::Over, &[]).unwrap();
        assert_eq!(attend(&mut worker, &socket, GRACE), Ending::Over);
    }
}
