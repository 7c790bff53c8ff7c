//! Accepting connections, one thread each, until told to stop.

use crate::board::Board;
use crate::session::{SessionError, SessionOptions, serve};
use crate::transport::{Connection, ListenError, Listener};
use gil_wire::address::Address;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::Socket;
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Connections beyond the bound of sessions that are told why they are refused.
const WAITING_ROOM: usize = 64;
/// How long sessions may take to end when the agent is stopped.
const GRACE: Duration = Duration::from_secs(5);
/// Stack of a session's thread: drivers compile kernels on it.
const STACK: usize = 16 << 20;
/// Pause when the system gives no more connections, such as for lack of
/// file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How an agent behaves.
#[derive(Clone, Copy, Debug)]
pub struct ServerOptions {
    /// Sessions at a time.
    pub sessions: usize,
    /// How each behaves.
    pub session: SessionOptions,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
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

/// An agent that listens.
pub struct Server {
    listener: Listener,
    board: Arc<dyn Board>,
    options: ServerOptions,
    stop: UnixStream,
    connections: Arc<Connections>,
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
    /// Listens on `address`.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn bind(
        address: &Address,
        board: Arc<dyn Board>,
        options: ServerOptions,
    ) -> Result<(Self, Stopper), ServerError> {
        let (stop, stopper) = UnixStream::pair()?;
        stopper.set_nonblocking(true)?;
        let server = Self {
            listener: Listener::bind(address)?,
            board,
            options,
            stop,
            connections: Arc::default(),
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
        let left = self.connections.end_all();
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
        let bound = self.options.sessions + WAITING_ROOM;
        let Some(entry) = Entry::new(&self.connections, &socket, bound) else {
            tracing::warn!("a connection is dropped: {bound} are open");
            return;
        };
        let (board, options) = (self.board.clone(), self.options);
        let name = format!("session {}", entry.number);
        let thread = std::thread::Builder::new().name(name).stack_size(STACK);
        let spawned = thread.spawn(move || session(entry, socket, &*board, options));
        if let Err(error) = spawned {
            tracing::warn!("no thread for a session: {error}");
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

fn session(mut entry: Entry, socket: Arc<Socket>, board: &dyn Board, options: ServerOptions) {
    let number = entry.number;
    let connection = match Connection::handshake(socket) {
        Ok(connection) => connection,
        Err(error) => return tracing::info!(number, "connection refused: {error}"),
    };
    if !entry.admit(options.sessions) {
        let full = SessionsFull(options.sessions).to_string();
        tracing::warn!(number, "connection refused: {full}");
        return connection.refuse(&full);
    }
    match serve(connection, board, options.session) {
        Ok(()) => tracing::debug!(number, "session ended"),
        Err(SessionError::Connection(error)) => tracing::info!(number, "session ended: {error}"),
        Err(error) => tracing::warn!(number, "session ended: {error}"),
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the board has {0} sessions open, its bound: end one, or start the agent with a larger --max-sessions"
)]
struct SessionsFull(usize);

/// The open connections.
#[derive(Debug, Default)]
struct Connections {
    open: Mutex<Open>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    sessions: usize,
    sockets: HashMap<u64, Arc<Socket>>,
}

impl Connections {
    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all; returns how many are still there after the grace.
    fn end_all(&self) -> usize {
        let open = self.lock();
        for socket in open.sockets.values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        let waited = self
            .ended
            .wait_timeout_while(open, GRACE, |open| !open.sockets.is_empty());
        let (open, _) = waited.unwrap_or_else(PoisonError::into_inner);
        open.sockets.len()
    }
}

/// A connection's place among the open ones, given up when it is dropped.
struct Entry {
    number: u64,
    admitted: bool,
    connections: Arc<Connections>,
}

impl Entry {
    fn new(connections: &Arc<Connections>, socket: &Arc<Socket>, bound: usize) -> Option<Self> {
        let mut open = connections.lock();
        if open.sockets.len() >= bound {
            return None;
        }
        open.next += 1;
        let number = open.next;
        open.sockets.insert(number, socket.clone());
        Some(Self {
            number,
            admitted: false,
            connections: connections.clone(),
        })
    }

    fn admit(&mut self, bound: usize) -> bool {
        let mut open = self.connections.lock();
        self.admitted = open.sessions < bound;
        open.sessions += usize::from(self.admitted);
        self.admitted
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        open.sockets.remove(&self.number);
        open.sessions -= usize::from(self.admitted);
        self.connections.ended.notify_all();
    }
}
