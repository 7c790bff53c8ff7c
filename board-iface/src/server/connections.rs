//! The connections that are open, who they are and what they did.

use super::peer::Peer;
use crate::meter::Meter;
use gil_wire::identity::DeviceInfo;
use gil_wire::status::{Counts, MAX_LISTED, SessionStatus, Status};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::Socket;
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Operators' connections at a time.
const MAX_OPERATORS: usize = 32;

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A guest's calls.
    Session,
    /// The same, once there is a place: a session's peer hung up, and what it
    /// made is being released.
    Waiting,
    /// Questions about the agent.
    Operator,
}

/// No connection more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// Of sessions.
    #[error(
        "the board has {0} sessions open, its bound: end one, or start the agent with a larger --max-sessions"
    )]
    Sessions(usize),
    /// Of operators.
    #[error("{MAX_OPERATORS} operators ask for the agent's status already: try again")]
    Operators,
}

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
    role: Role,
}

impl Open {
    fn count(&self, role: Role) -> usize {
        let live = self.live.values();
        live.filter(|live| live.role == role).count()
    }

    /// Whether there is a place for one more, and which.
    fn check(&self, is_operator: bool, max_sessions: usize) -> Result<Role, Full> {
        let waiting = self.count(Role::Waiting);
        match is_operator {
            true if self.count(Role::Operator) >= MAX_OPERATORS => Err(Full::Operators),
            true => Ok(Role::Operator),
            false if self.count(Role::Session) + waiting < max_sessions => Ok(Role::Session),
            false if waiting < self.leaving() => Ok(Role::Waiting),
            false => Err(Full::Sessions(max_sessions)),
        }
    }

    /// Sessions whose peer hung up.
    fn leaving(&self) -> usize {
        let sessions = self.live.values().filter(|live| live.role == Role::Session);
        let hung_up = PollFlags::from_bits_retain(libc::POLLRDHUP);
        let mut fds: Vec<_> = sessions
            .map(|live| PollFd::new(live.socket.as_fd(), hung_up))
            .collect();
        match poll(&mut fds, PollTimeout::ZERO) {
            // `None`: something that the crate has no name for, which this is.
            Ok(_) => fds.iter().filter(|fd| fd.any() != Some(false)).count(),
            Err(_) => 0,
        }
    }
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

    /// Whether there is a place for one more.
    ///
    /// # Errors
    /// [`Full`] if not.
    pub fn check(&self, is_operator: bool) -> Result<Role, Full> {
        self.lock().check(is_operator, self.max_sessions)
    }

    /// A connection came to nothing.
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
        let sessions = open
            .live
            .iter()
            .filter(|(_, live)| live.role == Role::Session);
        let mut totals = open.past;
        sessions
            .clone()
            .for_each(|(_, live)| totals += live.meter.counts());
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            uptime_s: self.started.elapsed().as_secs(),
            devices: self.devices.clone(),
            max_sessions: self.max_sessions as u64,
            open_sessions: open.count(Role::Session) as u64,
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
    /// A place, if there is one.
    ///
    /// # Errors
    /// [`Full`].
    pub fn new(
        connections: &Arc<Connections>,
        socket: &Arc<Socket>,
        peer: Peer,
        meter: Meter,
        is_operator: bool,
    ) -> Result<Self, Full> {
        let mut open = connections.lock();
        let role = open.check(is_operator, connections.max_sessions)?;
        open.next += 1;
        open.all_sessions += u64::from(role == Role::Session);
        let number = open.next;
        let live = Live {
            socket: socket.clone(),
            peer,
            since: Instant::now(),
            meter,
            role,
        };
        open.live.insert(number, live);
        Ok(Self {
            number,
            connections: connections.clone(),
        })
    }

    /// Waits for the place of a session that is about to end.
    ///
    /// # Errors
    /// [`Full`] if it has not ended by then.
    pub fn wait_for_place(&mut self, patience: Duration) -> Result<(), Full> {
        let bound = self.connections.max_sessions;
        let open = self.connections.lock();
        let is_waiting = |open: &Open| {
            let live = open.live.get(&self.number);
            live.is_some_and(|live| live.role == Role::Waiting)
        };
        if !is_waiting(&open) {
            return Ok(());
        }
        let ended = &self.connections.ended;
        let is_full = |open: &mut Open| open.count(Role::Session) >= bound;
        let waited = ended.wait_timeout_while(open, patience, is_full);
        let (mut open, time) = waited.unwrap_or_else(PoisonError::into_inner);
        if time.timed_out() {
            return Err(Full::Sessions(bound));
        }
        open.all_sessions += 1;
        let live = open.live.get_mut(&self.number);
        live.into_iter().for_each(|live| live.role = Role::Session);
        Ok(())
    }

    /// Where it is.
    pub fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        if let Some(live) = open.live.remove(&self.number)
            && live.role == Role::Session
        {
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
