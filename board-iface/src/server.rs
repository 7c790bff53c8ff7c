//! Accepting connections until told to stop: one thread each, and where drivers
//! may crash one process.

mod connections;
mod refusals;
mod supervise;

use crate::board::Board;
use crate::meter::Meter;
use crate::operator;
use crate::process::Launcher;
use crate::session::{SessionError, SessionOptions, serve};
use crate::transport::{Connection, ListenError, Listener};
use connections::{Connections, Entry};
use gil_wire::address::Address;
use gil_wire::secure::Key;
use gil_wire::status::Status;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use refusals::{Peer, Refusals};
use socket2::Socket;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Connections at a time that have not shaken hands: the 64 sessions that an
/// agent takes may all begin at once, with operators beside them.
const HANDSHAKES: usize = 96;
/// How long sessions may take to end when the agent is stopped.
const GRACE: Duration = Duration::from_secs(5);
/// Stack of a session's thread: drivers compile kernels on it.
const STACK: usize = 16 << 20;
/// Stack of a thread that waits for a session's process.
const SMALL_STACK: usize = 512 << 10;
/// Pause when the system gives no more connections, such as for lack of
/// file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How an agent behaves.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// What peers have to prove that they have.
    pub key: Option<Key>,
    /// Sessions at a time.
    pub sessions: usize,
    /// How each behaves.
    pub session: SessionOptions,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            key: None,
            sessions: 64,
            session: SessionOptions::default(),
        }
    }
}

/// Why an agent ends, other than by being told to.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The system fails it.
    #[error("the agent cannot go on: {0}")]
    System(#[from] io::Error),
}

/// Where sessions live.
#[derive(Clone)]
pub enum Sessions {
    /// In this process.
    Threads(Arc<dyn Board>),
    /// In a process each.
    Processes(Arc<Launcher>),
}

/// An agent that listens.
pub struct Server {
    listener: Listener,
    sessions: Sessions,
    options: ServerOptions,
    stop: UnixStream,
    connections: Arc<Connections>,
    refusals: Arc<Refusals>,
}

/// Tells an agent to stop; may be called from anywhere, any number of times.
#[derive(Debug)]
pub struct Stopper(UnixStream);

impl Stopper {
    /// The agent's `run` returns soon.
    pub fn stop(&self) {
        // A full pipe holds a word to stop already.
        let _ = (&self.0).write(&[0]);
    }
}

impl Server {
    /// Listens on `address`, and has its sessions in this process.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn bind(
        address: &Address,
        board: Arc<dyn Board>,
        options: ServerOptions,
    ) -> Result<(Self, Stopper), ServerError> {
        Self::bind_with(address, Sessions::Threads(board), options)
    }

    /// Listens on `address`.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn bind_with(
        address: &Address,
        sessions: Sessions,
        options: ServerOptions,
    ) -> Result<(Self, Stopper), ServerError> {
        let (stop, stopper) = UnixStream::pair()?;
        stopper.set_nonblocking(true)?;
        let devices = match &sessions {
            Sessions::Threads(board) => board.devices(),
            Sessions::Processes(launcher) => launcher.devices().to_vec(),
        };
        let connections = Connections::new(devices, options.sessions);
        let server = Self {
            listener: Listener::bind(address, options.key.is_some())?,
            sessions,
            options,
            stop,
            connections: Arc::new(connections),
            refusals: Arc::default(),
        };
        Ok((server, Stopper(stopper)))
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> &Address {
        self.listener.address()
    }

    /// Serves until the [`Stopper`] is used. Sessions still open then are
    /// ended, and what they made released.
    ///
    /// # Errors
    /// [`ServerError::System`].
    pub fn run(self) -> Result<(), ServerError> {
        while self.wait()? {
            match self.listener.accept() {
                Ok(socket) => self.begin(socket),
                Err(error) if is_passing(&error) => {}
                Err(error) => {
                    tracing::warn!("cannot accept a connection: {error}");
                    std::thread::sleep(ACCEPT_PAUSE);
                }
            }
        }
        drop(self.listener);
        let left = self.connections.end_all(GRACE);
        if left > 0 {
            tracing::warn!("{left} sessions are busy on the device and are left behind");
        }
        Ok(())
    }

    /// Waits for a connection; false: to stop.
    fn wait(&self) -> io::Result<bool> {
        let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds = [readable(self.stop.as_fd()), readable(self.listener.as_fd())];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) => Ok(fds[0].any() != Some(true)),
            Err(Errno::EINTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn begin(&self, socket: Socket) {
        let socket = Arc::new(socket);
        let peer = Peer::of(&socket);
        let meter = match Meter::new() {
            Ok(meter) => meter,
            Err(error) => return tracing::warn!("no memory for a session: {error}"),
        };
        let entry = Entry::new(&self.connections, &socket, peer, meter.clone(), HANDSHAKES);
        let Some(entry) = entry else {
            self.connections.refused();
            return self.refusals.say(peer, &Crowded.to_string());
        };
        let name = format!("session {}", entry.number);
        let thread = std::thread::Builder::new().name(name);
        let gate = Here {
            entry,
            peer,
            meter,
            refusals: self.refusals.clone(),
        };
        let spawned = match self.sessions.clone() {
            Sessions::Threads(board) => {
                let (key, options) = (self.options.key.clone(), self.options.session);
                thread.stack_size(STACK).spawn(move || {
                    let _span = tracing::info_span!("session", number = gate.entry.number);
                    let _span = _span.enter();
                    let meter = gate.meter.clone();
                    session(&mut { gate }, socket, key.as_ref(), meter, &*board, options);
                })
            }
            Sessions::Processes(launcher) => thread
                .stack_size(SMALL_STACK)
                .spawn(move || supervise::run(gate, socket, &launcher)),
        };
        if let Err(error) = spawned {
            tracing::warn!("no thread for a session: {error}");
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

/// Who says whether a session may begin.
pub trait Gate {
    /// The peer has shaken hands.
    ///
    /// # Errors
    /// [`SessionsFull`].
    fn admit(&mut self) -> Result<(), SessionsFull>;

    /// What to tell an operator.
    fn status(&mut self) -> Option<Status>;

    /// It has not, for this reason.
    fn refused(&mut self, reason: &str);
}

/// In the process that counts.
struct Here {
    entry: Entry,
    peer: Peer,
    meter: Meter,
    refusals: Arc<Refusals>,
}

impl Gate for Here {
    fn admit(&mut self) -> Result<(), SessionsFull> {
        self.entry.admit()
    }

    fn status(&mut self) -> Option<Status> {
        Some(self.entry.connections().status())
    }

    fn refused(&mut self, reason: &str) {
        self.entry.connections().refused();
        self.refusals.say(self.peer, reason);
    }
}

/// Serves a connection from its first byte to its last.
pub fn session(
    gate: &mut dyn Gate,
    socket: Arc<Socket>,
    key: Option<&Key>,
    meter: Meter,
    board: &dyn Board,
    options: SessionOptions,
) {
    let mut connection = match Connection::handshake(socket, key, meter) {
        Ok(connection) => connection,
        Err(error) => return gate.refused(&error.to_string()),
    };
    if connection.is_operator() {
        let ended = operator::serve(connection, || gate.status());
        return ended.unwrap_or_else(|error| tracing::debug!("an operator's connection: {error}"));
    }
    if let Err(full) = gate.admit() {
        tracing::warn!("connection refused: {full}");
        return connection.refuse(&full.to_string());
    }
    match serve(connection, board, options) {
        Ok(()) => tracing::debug!("session ended"),
        Err(SessionError::Connection(error)) => tracing::info!("session ended: {error}"),
        Err(error) => tracing::warn!("session ended: {error}"),
    }
}

/// No session more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the board has {0} sessions open, its bound: end one, or start the agent with a larger --max-sessions"
)]
pub struct SessionsFull(pub usize);

/// No handshake more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{HANDSHAKES} connections are shaking hands already")]
struct Crowded;
