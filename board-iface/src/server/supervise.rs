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
    if !attend(&mut worker, &socket, grace) {
        tracing::warn!(
            number,
            "the session of {peer} is ended by force: nobody has listened for {} s, and its process {} is still busy, most likely with a kernel that does not end",
            grace.as_secs(),
            worker.id()
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

/// Waits until the session is over or its process has ended; false if the
/// process goes on although nobody has listened for so long.
fn attend(worker: &mut Worker, socket: &Socket, grace: Duration) -> bool {
    let mut until = None;
    loop {
        let peer = until.is_none().then(|| socket.as_fd());
        match worker.next(peer, until) {
            Next::Word(Word::Ending) | Next::HungUp => {
                until.get_or_insert_with(|| Instant::now() + grace);
            }
            Next::Word(Word::Over) | Next::Gone => return true,
            Next::Word(Word::Found(_)) => {}
            Next::Late => return false,
        }
    }
}

/// Hands the connection to a process. One that waited may have died of the
/// driver that it loaded ahead: then another tries, and says so in its turn.
fn begin(launcher: &Launcher, task: &Task, files: &[BorrowedFd<'_>]) -> io::Result<Worker> {
    let worker = launcher.take()?;
    if worker.begin(task, files).is_ok() {
        return Ok(worker);
    }
    let end = worker.end();
    tracing::warn!(
        "a process that waited for a session {end}, most likely in the GPU driver that it loaded ahead"
    );
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
