//! Accepting connections until the agent is stopped. One thread shakes hands with all of
//! them; each that did gets a thread, and where drivers may crash a process.

mod connections;
mod desk;
mod peer;
mod reception;
mod refusals;
mod supervise;

use crate::board::Board;
use crate::process::Launcher;
use crate::session::SessionOptions;
use connections::Connections;
use desk::Desk;
use gil_transport::listener::{Access, ListenError, Listener};
use gil_transport::secure::Key;
use gil_wire::address::Address;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Uid;
pub use peer::name as user_name;
use reception::Reception;
use refusals::Refusals;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long sessions may take to end when the agent is stopped.
const GRACE: Duration = Duration::from_secs(5);
/// Pause when the system gives no more connections, such as for lack of
/// file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections taken at a time, before those that are there are looked at again:
/// what they said came first.
const ACCEPT_AT_ONCE: usize = 16;
/// How long a session's process may go on once nobody listens.
pub const HANG_UP_GRACE: Duration = Duration::from_secs(20);

/// An agent's options.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// What peers have to prove that they have.
    pub key: Option<Key>,
    /// Without a key: whether every user of this machine is served, over TCP.
    pub any_local_user: bool,
    /// Sessions at a time.
    pub sessions: usize,
    /// The options of each session.
    pub session: SessionOptions,
    /// How long a session's process may go on once its peer hung up.
    pub grace: Duration,
}

impl ServerOptions {
    /// Whom the agent serves.
    pub fn access(&self) -> Access {
        match (&self.key, self.any_local_user) {
            (Some(_), _) => Access::Key,
            (None, true) => Access::AnyLocalUser,
            (None, false) => Access::OwnUser,
        }
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            key: None,
            any_local_user: false,
            sessions: 64,
            session: SessionOptions::default(),
            grace: HANG_UP_GRACE,
        }
    }
}

/// Why an agent ends without being stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The system fails it.
    #[error("the agent cannot go on: {0}")]
    System(#[from] io::Error),
}

/// Whether sessions are processes or threads.
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
    reception: Reception,
    /// Nobody is let in until then.
    closed_until: Option<Instant>,
    stop: UnixStream,
    desk: Desk,
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
            listener: Listener::bind(address, options.access())?,
            reception: Reception::new(
                options.key.clone(),
                Uid::effective().as_raw(),
                options.sessions,
            ),
            closed_until: None,
            stop,
            desk: Desk {
                sessions,
                session: options.session,
                grace: options.grace,
                connections: Arc::new(connections),
                refusals: Refusals::default(),
            },
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
    pub fn run(mut self) -> Result<(), ServerError> {
        while let Some(woken) = self.wait()? {
            self.reception.attend(&woken.said, &self.desk);
            if woken.knocked {
                self.let_in();
            }
        }
        drop((self.listener, self.reception));
        let left = self.desk.connections.end_all(GRACE);
        if left > 0 {
            tracing::warn!("{left} sessions are busy on the device and are left behind");
        }
        Ok(())
    }

    /// Waits until there is something to do; none: to stop.
    fn wait(&self) -> io::Result<Option<Woken>> {
        let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let closed = self.closed_for();
        let door = closed.is_none().then(|| self.listener.as_fd());
        let mut fds = vec![readable(self.stop.as_fd())];
        fds.extend(self.reception.sockets().map(readable));
        fds.extend(door.map(readable));
        let patience = self.reception.patience().into_iter().chain(closed).min();
        if let Err(error) = poll(&mut fds, whole(patience)).or_else(|error| match error {
            Errno::EINTR => Ok(0),
            error => Err(error),
        }) {
            return Err(error.into());
        }
        let mut ready = fds.iter().map(|fd| fd.any() == Some(true));
        if ready.next() == Some(true) {
            return Ok(None);
        }
        let mut said: Vec<bool> = ready.collect();
        let knocked = door.is_some() && said.pop() == Some(true);
        Ok(Some(Woken { said, knocked }))
    }

    /// How long nobody is let in, if that is so.
    fn closed_for(&self) -> Option<Duration> {
        let left = self.closed_until?.checked_duration_since(Instant::now())?;
        (!left.is_zero()).then_some(left)
    }

    fn let_in(&mut self) {
        for _ in 0..ACCEPT_AT_ONCE {
            match self.listener.accept() {
                Ok(socket) => {
                    self.closed_until = None;
                    self.reception.enter(socket, &self.desk);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_passing(&error) => {}
                Err(error) => return self.close_for_a_while(&error),
            }
        }
    }

    /// The system gives no connection. Who waits there is let in when files are
    /// closed, of which this side can only do one.
    fn close_for_a_while(&mut self, error: &io::Error) {
        if self.closed_until.is_none() {
            tracing::warn!(
                "cannot accept connections for now: {error}; if that is for lack of files, start the agent with a larger `ulimit -n`, or a smaller --max-sessions"
            );
        }
        self.closed_until = Some(Instant::now() + ACCEPT_PAUSE);
        self.reception.shed(&self.desk);
    }
}

/// The reasons for which a wait ended.
struct Woken {
    /// Which of those that shake hands said something.
    said: Vec<bool>,
    /// Whether somebody comes.
    knocked: bool,
}

/// A time to wait, in whole milliseconds and not less.
fn whole(time: Option<Duration>) -> PollTimeout {
    let Some(time) = time else {
        return PollTimeout::NONE;
    };
    let time = time.saturating_add(Duration::from_millis(1));
    PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX)
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted
    )
}
