//! A session in a process of its own, seen from the agent.

use super::refusals::Peer;
use super::{Gate, Here, SessionsFull};
use crate::process::{End, Launcher, Task, Verdict, Word, Worker};
use socket2::Socket;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Has a process serve the connection, and waits for its end.
pub fn run(mut gate: Here, socket: Arc<Socket>, launcher: &Launcher) {
    let (number, peer) = (gate.entry.number, gate.peer);
    let files = [socket.as_fd(), gate.meter.file()];
    let mut worker = match begin(launcher, number, &files) {
        Ok(worker) => worker,
        Err(error) => return tracing::warn!(number, "no process for a session: {error}"),
    };
    while let Some(word) = worker.hear() {
        match word {
            Word::Admit => {
                let verdict = match gate.admit() {
                    Ok(()) => Verdict::Admitted,
                    Err(SessionsFull(bound)) => Verdict::Full(bound),
                };
                // If it is gone, so is what it would say next.
                let _ = worker.answer(verdict);
            }
            Word::Refused(reason) => gate.refused(&reason),
            // If it is gone, so is the operator's connection.
            Word::Status => drop(worker.tell(&gate.status())),
            Word::Over => break,
            Word::Found(_) => {}
        }
    }
    // The peer need not wait for the process to leave, nor the next session.
    let connections = gate.entry.connections().clone();
    drop((gate, socket));
    if say_end(number, peer, worker) {
        connections.crashed();
    }
}

/// Hands the connection to a process. One that waited may have died of the
/// driver that it loaded ahead: then another tries, and says so in its turn.
fn begin(launcher: &Launcher, number: u64, files: &[BorrowedFd<'_>]) -> io::Result<Worker> {
    let worker = launcher.take()?;
    let task = Task::Session { number };
    if worker.begin(&task, files).is_ok() {
        return Ok(worker);
    }
    let end = worker.end();
    tracing::warn!(
        "a process that waited for a session {end}, most likely in the GPU driver that it loaded ahead"
    );
    let worker = launcher.take()?;
    worker.begin(&task, files)?;
    Ok(worker)
}

/// Says how the process ended; whether it took its session with it.
fn say_end(number: u64, peer: Peer, worker: Worker) -> bool {
    let over = worker.is_over();
    match worker.end() {
        End::Clean => false,
        end if over => {
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
