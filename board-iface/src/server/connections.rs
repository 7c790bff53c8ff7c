//! The connections that are open, who they are and what they did.

use super::SessionsFull;
use super::refusals::Peer;
use crate::meter::Meter;
use gil_wire::message::DeviceInfo;
use gil_wire::status::{Counts, MAX_LISTED, SessionStatus, Status};
use socket2::Socket;
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The open connections, and what there was since the agent's start.
#[derive(Debug)]
pub struct Connections {
    started: Instant,
    devices: Vec<DeviceInfo>,
    max_sessions: usize,
    open: Mutex<Open>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    sessions: usize,
    live: BTreeMap<u64, Live>,
    all_sessions: u64,
    refused: u64,
    crashed: u64,
    /// Of sessions that ended.
    past: Counts,
}

#[derive(Debug)]
struct Live {
    socket: Arc<Socket>,
    peer: Peer,
    since: Instant,
    meter: Meter,
    admitted: bool,
}

impl Connections {
    /// None yet, of an agent that has these devices.
    pub fn new(devices: Vec<DeviceInfo>, max_sessions: usize) -> Self {
        Self {
            started: Instant::now(),
            devices,
            max_sessions,
            open: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection became no session.
    pub fn refused(&self) {
        self.lock().refused += 1;
    }

    /// A session's process ended by itself.
    pub fn crashed(&self) {
        self.lock().crashed += 1;
    }

    /// Ends all; returns how many are still there after `grace`.
    pub fn end_all(&self, grace: Duration) -> usize {
        let open = self.lock();
        for live in open.live.values() {
            let _ = live.socket.shutdown(Shutdown::Both);
        }
        let waited = self
            .ended
            .wait_timeout_while(open, grace, |open| !open.live.is_empty());
        let (open, _) = waited.unwrap_or_else(PoisonError::into_inner);
        open.live.len()
    }

    /// What an operator wants to know.
    pub fn status(&self) -> Status {
        let open = self.lock();
        let sessions = open.live.iter().filter(|(_, live)| live.admitted);
        let mut totals = open.past;
        sessions
            .clone()
            .for_each(|(_, live)| totals += live.meter.counts());
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            uptime_s: self.started.elapsed().as_secs(),
            devices: self.devices.clone(),
            max_sessions: self.max_sessions as u64,
            open_sessions: open.sessions as u64,
            sessions: sessions.take(MAX_LISTED).map(one).collect(),
            all_sessions: open.all_sessions,
            refused: open.refused,
            crashed: open.crashed,
            totals,
        }
    }
}

fn one((number, live): (&u64, &Live)) -> SessionStatus {
    SessionStatus {
        number: *number,
        peer: live.peer.to_string(),
        age_s: live.since.elapsed().as_secs(),
        counts: live.meter.counts(),
    }
}

/// A connection's place among the open ones, given up when it is dropped.
pub struct Entry {
    /// Counted from 1.
    pub number: u64,
    connections: Arc<Connections>,
}

impl Entry {
    /// A place, if fewer than `bound` others have no session yet.
    pub fn new(
        connections: &Arc<Connections>,
        socket: &Arc<Socket>,
        peer: Peer,
        meter: Meter,
        bound: usize,
    ) -> Option<Self> {
        let mut open = connections.lock();
        if open.live.len() - open.sessions >= bound {
            return None;
        }
        open.next += 1;
        let number = open.next;
        let live = Live {
            socket: socket.clone(),
            peer,
            since: Instant::now(),
            meter,
            admitted: false,
        };
        open.live.insert(number, live);
        Some(Self {
            number,
            connections: connections.clone(),
        })
    }

    /// Where it is.
    pub fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// Its session may begin, if there is room for one more.
    pub fn admit(&mut self) -> Result<(), SessionsFull> {
        let bound = self.connections.max_sessions;
        let mut open = self.connections.lock();
        if open.sessions >= bound {
            return Err(SessionsFull(bound));
        }
        let Some(live) = open.live.get_mut(&self.number) else {
            return Ok(());
        };
        live.admitted = true;
        open.sessions += 1;
        open.all_sessions += 1;
        Ok(())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        if let Some(live) = open.live.remove(&self.number)
            && live.admitted
        {
            open.sessions -= 1;
            let (counts, age) = (live.meter.counts(), live.since.elapsed());
            open.past += counts;
            tracing::info!(
                "session {} of {} is over: {} s, {} calls, {} of them not run, {} bytes came, {} went",
                self.number,
                live.peer,
                age.as_secs(),
                counts.calls,
                counts.errors,
                counts.received,
                counts.sent
            );
        }
        self.connections.ended.notify_all();
    }
}
