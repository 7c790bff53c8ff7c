//! The connection to the board agent: one per session.
//!
//! Waits are sliced, so that the user can quit, and a call may have a bound in wall
//! time. Region bytes are sent from guest RAM and received into it in place, and are
//! encrypted if there is a key.

mod end;

use crate::crew::Crew;
use crate::memory::OutOfMemory;
use crate::secure::{Handshake, Key, MESSAGE_LEN, SecureError};
use crate::stream::{End, Stream};
use crate::vectored::{Receiving, SendSpan, Span};
use crate::window::{CAPABILITY, MAPPED, Made, WINDOW_LEN};
use end::HostEnd;
use gil_wire::address::Address;
use gil_wire::frame::{self, FrameError};
use gil_wire::hello::{HELLO_LEN, HOST, Hello, HelloError, OPERATOR, SECURE};
use gil_wire::words::Words;
use nix::poll::PollFlags;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::ToSocketAddrs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Longest wait without a look at the cancel flag.
const SLICE: Duration = Duration::from_millis(100);
/// Longest wait for a connection and its handshake.
const CONNECT: Duration = Duration::from_secs(10);

/// Pauses before another try to connect: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A flag that ends every wait: set when the user quits.
#[derive(Clone, Default)]
pub struct Cancel(Arc<CancelState>);

#[derive(Default)]
struct CancelState {
    flag: AtomicBool,
    then: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Cancel {
    /// Ends every wait, now and later.
    pub fn set(&self) {
        let before = self.0.flag.swap(true, Ordering::SeqCst);
        if let Some(then) = self.0.then.get()
            && !before
        {
            then();
        }
    }

    /// Whether the user quit.
    pub fn is_set(&self) -> bool {
        self.0.flag.load(Ordering::SeqCst)
    }

    /// Waits so long, in slices.
    fn pause(&self, time: Duration) -> Result<(), ClientError> {
        let until = Instant::now() + time;
        while !self.is_set() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(SLICE));
        }
        Err(ClientError::Cancelled)
    }

    /// What to do when the user quits, once, on the thread that learns of it.
    /// Only the first one given counts.
    pub fn on_set(&self, then: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.then.set(Box::new(then));
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_set()).finish()
    }
}

/// The user's way out of it.
fn advice(error: &io::Error) -> &'static str {
    // The resolver's errors have no code of the system's.
    match error.raw_os_error() {
        None if error.kind() != io::ErrorKind::TimedOut => "check the address",
        _ => "is an agent (`gil board` or `gil-board`) running there?",
    }
}

/// Why a session has no board, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// None was configured.
    #[error("no board was given: start the simulator with board=ADDR")]
    NoBoard,
    /// Nobody answers at the address.
    #[error("cannot connect to the board at {address}: {error}: {}", advice(error))]
    Connect {
        /// The board's address.
        address: Address,
        /// The operating system's error.
        error: io::Error,
    },
    /// The peer is not this release's agent.
    #[error("the board at {address} was refused: {error}")]
    Hello {
        /// The board's address.
        address: Address,
        /// How the handshake failed.
        error: HelloError,
    },
    /// The board asks for a key, and there is none.
    #[error(
        "the board at {0} takes peers only that have its key: give --key FILE (in a simulator's options, key=FILE), a copy of the file that it was started with"
    )]
    KeyWanted(Address),
    /// There is a key, and the board does not ask for it.
    #[error(
        "what answers at {0} has no key, so its identity cannot be checked: start gil-board there with --key FILE, or leave out the key here"
    )]
    NoKeyThere(Address),
    /// The board knows another key.
    #[error(
        "the board at {0} did not take this key: use a copy of the file that it was started with"
    )]
    OtherKey(Address),
    /// What came was not the board's, or the system is of no help.
    #[error("the connection to the board is not private: {0}")]
    Secure(#[from] SecureError),
    /// The agent refused.
    #[error("the board refused: {0}")]
    Refused(Words),
    /// The run is not the one that was recorded.
    #[error("{0}")]
    Departed(Words),
    /// The connection ended.
    #[error("the board closed the connection: look at gil-board's own output")]
    Closed,
    /// Others' connections are in the way.
    #[error(
        "the board at {address} reset every connection within {} s, which it does when too many peers connect at once: try again later, or keep others from its port", .within.as_secs_f64()
    )]
    Crowded {
        /// The board's address.
        address: Address,
        /// The time for which it was tried.
        within: Duration,
    },
    /// The board reset the connection.
    #[error("the board reset the connection: look at gil-board's own output")]
    Reset,
    /// The connection failed.
    #[error("the connection to the board failed: {0}")]
    Io(io::Error),
    /// An invalid reply.
    #[error("the board sent an invalid reply: {0}")]
    Frame(#[from] FrameError),
    /// A reply that does not fit the call.
    #[error("the board sent {found} instead of {expected}")]
    Unexpected {
        /// The reply that the board sent.
        found: String,
        /// The replies that the call allows.
        expected: &'static str,
    },
    /// What listens at the address does not answer.
    #[error(
        "the board at {address} did not answer the first contact within {} s: see that gil-board runs there and is not stuck (`gil run`'s --board-timeout SECONDS and --timeout SECONDS bound this wait)", .within.as_secs_f64()
    )]
    Silent {
        /// The board's address.
        address: Address,
        /// The time that the first contact was given.
        within: Duration,
    },
    /// It took too long.
    #[error("no answer within {} s: give a longer --board-timeout SECONDS (in a simulator's options, board-timeout=SECONDS) if the work takes that long", .0.as_secs_f64())]
    Timeout(Duration),
    /// The user quit.
    #[error("the run was cancelled")]
    Cancelled,
}

impl From<OutOfMemory> for ClientError {
    fn from(error: OutOfMemory) -> Self {
        Self::Io(io::Error::new(ErrorKind::OutOfMemory, error))
    }
}

impl ClientError {
    /// The same, of the first contact with the board at `address`.
    #[must_use]
    pub fn first(self, address: &Address) -> Self {
        match self {
            Self::Timeout(within) => Self::Silent {
                address: address.clone(),
                within,
            },
            other => other,
        }
    }
}

/// The parameters of a connection to a board.
#[derive(Clone, Debug, Default)]
pub struct BoardConfig {
    /// The board's address; without one there is no board.
    pub address: Option<Address>,
    /// Longest wall time of one call.
    pub timeout: Option<Duration>,
    /// What the board has to prove that it has, as this side does.
    pub key: Option<Key>,
    /// Whether the agent is asked for its status only.
    pub operator: bool,
    /// Ends every wait.
    pub cancel: Cancel,
}

/// A connection whose handshake is done.
#[derive(Debug)]
pub struct Client {
    end: HostEnd,
    stream: Stream,
    /// Shared with the agent, if it is on this machine.
    window: Option<Made>,
}

/// A reply's beginning.
#[derive(Debug)]
pub struct Received {
    /// The message, encoded.
    pub header: Vec<u8>,
    /// Bytes of payload behind it.
    pub payload_len: u64,
    /// Whether the call's own output is in the window instead.
    pub in_window: bool,
}

impl Client {
    /// Whose handshake is done.
    #[cfg(test)]
    pub(crate) fn over(socket: Socket, records: Option<Box<crate::secure::Records>>) -> Self {
        Self {
            end: HostEnd::new(socket, Cancel::default(), None),
            stream: Stream::new(records),
            window: None,
        }
    }

    /// Connects, and compares versions.
    ///
    /// # Errors
    /// [`ClientError`] names the address and what is wrong there.
    pub fn connect(config: &BoardConfig) -> Result<Self, ClientError> {
        Self::connect_saying(config, &mut |_| {})
    }

    /// The same, and says once what is waited for: a board that more peers come
    /// to than it attends to resets connections that have not shaken hands, and
    /// is tried again for as long as a connection may take.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_saying(
        config: &BoardConfig,
        say: &mut dyn FnMut(String),
    ) -> Result<Self, ClientError> {
        let address = config.address.as_ref().ok_or(ClientError::NoBoard)?;
        let within = config.timeout.unwrap_or(CONNECT).min(CONNECT);
        let until = Instant::now() + within;
        let mut pause = FIRST_PAUSE;
        loop {
            let connected =
                Self::try_connect(config, address).map_err(|error| error.first(address));
            if !matches!(connected, Err(ClientError::Reset)) {
                return connected;
            }
            if Instant::now() + pause >= until {
                let address = address.clone();
                return Err(ClientError::Crowded { address, within });
            }
            if pause == FIRST_PAUSE {
                say(format!(
                    "the board at {address} reset the connection, as it does where more peers come than it attends to: trying again for up to {} s",
                    within.as_secs_f64()
                ));
            }
            config.cancel.pause(pause)?;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    fn try_connect(config: &BoardConfig, address: &Address) -> Result<Self, ClientError> {
        let failed = |error| ClientError::Connect {
            address: address.clone(),
            error,
        };
        let targets = targets(address).map_err(failed)?;
        let mut last = ClientError::Closed;
        for target in targets {
            match Self::connect_to(config, &target) {
                Ok(mut client) => {
                    client.end.is_new = matches!(address, Address::Tcp { .. });
                    client.hello(address, config)?;
                    client.end.is_new = false;
                    return Ok(client);
                }
                Err(ClientError::Io(error)) => last = failed(error),
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn connect_to(config: &BoardConfig, target: &SockAddr) -> Result<Self, ClientError> {
        let socket = Socket::new(target.domain(), Type::STREAM, None).map_err(ClientError::Io)?;
        socket.set_nonblocking(true).map_err(ClientError::Io)?;
        let timeout = config.timeout.unwrap_or(CONNECT).min(CONNECT);
        let mut client = Self {
            end: HostEnd::new(socket, config.cancel.clone(), Some(timeout)),
            stream: Stream::new(None),
            window: None,
        };
        client.begin();
        client.finish_connect(target)?;
        if target.domain() != Domain::UNIX {
            let done = client.end.socket.set_tcp_nodelay(true);
            done.map_err(ClientError::Io)?;
        }
        client.end.wait_in_the_socket().map_err(ClientError::Io)?;
        if target.domain() == Domain::UNIX && config.key.is_none() && !config.operator {
            // Without memory for it, the socket does as well.
            client.window = Made::new(WINDOW_LEN).ok();
        }
        client.end.timeout = config.timeout;
        Ok(client)
    }

    fn finish_connect(&mut self, target: &SockAddr) -> Result<(), ClientError> {
        loop {
            match self.end.socket.connect(target) {
                Ok(()) => return Ok(()),
                Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => break,
                // A Unix socket whose backlog is full.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.end.check_limits()?;
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(error) => return Err(ClientError::Io(error)),
            }
        }
        self.end.wait(PollFlags::POLLOUT)?;
        match self.end.socket.take_error().map_err(ClientError::Io)? {
            Some(error) => Err(ClientError::Io(error)),
            None => Ok(()),
        }
    }

    fn hello(&mut self, address: &Address, config: &BoardConfig) -> Result<(), ClientError> {
        let key = config.key.as_ref();
        let refused = |error| ClientError::Hello {
            address: address.clone(),
            error,
        };
        let offers = match (key, &self.window) {
            (Some(_), _) => SECURE,
            (None, Some(_)) => CAPABILITY,
            (None, None) => 0,
        };
        let role = if config.operator { OPERATOR } else { 0 };
        let ours = Hello::ours().with_capabilities(offers | role | HOST);
        self.send([Span::source(&ours.encode())])?;
        let bytes: [u8; HELLO_LEN] = self.stream.bytes(&self.end)?;
        let theirs = Hello::decode(&bytes).map_err(refused)?;
        ours.accept_board(&theirs).map_err(refused)?;
        match (key, theirs.capabilities & SECURE != 0) {
            (Some(key), true) => self.prove(address, key, ours.encode(), bytes),
            (Some(_), false) => Err(ClientError::NoKeyThere(address.clone())),
            (None, true) => Err(ClientError::KeyWanted(address.clone())),
            (None, false) => self.offer_window(ours.both_offer(&theirs, CAPABILITY)),
        }
    }

    /// Both sides prove that they have the key.
    fn prove(
        &mut self,
        address: &Address,
        key: &Key,
        ours: [u8; HELLO_LEN],
        theirs: [u8; HELLO_LEN],
    ) -> Result<(), ClientError> {
        let mut handshake = Handshake::host(key, ours, theirs)?;
        self.send([Span::source(&handshake.write()?)])?;
        let answer: [u8; MESSAGE_LEN] = match self.stream.bytes(&self.end) {
            Ok(answer) => answer,
            // The board says nothing to who does not have its key.
            Err(ClientError::Closed) => return Err(ClientError::OtherKey(address.clone())),
            Err(error) => return Err(error),
        };
        handshake.read(&answer)?;
        let mut records = Box::new(handshake.finish()?.with_crew(Crew::of_this_machine()));
        records.seal_nothing()?;
        self.stream.seal(records);
        self.send([])
    }

    /// Hands the window over, or gives it up.
    fn offer_window(&mut self, wanted: bool) -> Result<(), ClientError> {
        let Some(window) = self.window.take().filter(|_| wanted) else {
            return Ok(());
        };
        let offered = window.offer(self.end.socket());
        offered.map_err(ClientError::Io)?;
        let [answer] = self.stream.bytes(&self.end)?;
        self.window = Some(window).filter(|_| answer == MAPPED);
        Ok(())
    }

    /// The memory shared with the agent, if there is any.
    pub fn window(&self) -> Option<&Made> {
        self.window.as_ref()
    }

    /// The same, to tell it which of it a call uses.
    pub fn window_mut(&mut self) -> Option<&mut Made> {
        self.window.as_mut()
    }

    /// A call begins: its bound in wall time counts from now.
    pub fn begin(&mut self) {
        self.end.begin();
    }

    /// Time spent waiting for the board to begin an answer, since the last
    /// time this was asked.
    pub fn take_waited(&mut self) -> Duration {
        self.stream.take_waited()
    }

    /// Sends all of it.
    ///
    /// # Errors
    /// [`ClientError`]; some of it may have been sent.
    pub fn send<'a>(
        &mut self,
        spans: impl IntoIterator<Item = SendSpan<'a>>,
    ) -> Result<(), ClientError> {
        let sent = self.stream.send(&self.end, spans);
        sent.map_err(|error| match error {
            ClientError::Closed => self.farewell(),
            other => other,
        })
    }

    /// Sends a frame without payload.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn send_message(&mut self, message: &impl serde::Serialize) -> Result<(), ClientError> {
        let mut bytes = Vec::new();
        frame::begin(message, 0, &mut bytes)?;
        self.send([Span::source(&bytes)])
    }

    /// Sends a last message if the socket takes it at once. Never waits.
    pub fn send_last(&mut self, message: &impl serde::Serialize) {
        let mut bytes = Vec::new();
        if frame::begin(message, 0, &mut bytes).is_ok() {
            self.stream.send_last(&self.end, &bytes);
        }
    }

    /// The board moves so many bytes of regions before its next reply: how long
    /// that is asked for before sleeping.
    pub fn expect(&mut self, bytes: u64) {
        self.stream.expect(bytes);
    }

    /// The header of the next reply, and what is behind it.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn reply(&mut self) -> Result<Received, ClientError> {
        let mut header = Vec::new();
        let prefix = self.stream.frame(&self.end, &mut header)?;
        let prefix = prefix.ok_or_else(|| self.end.cut_short())?;
        Ok(Received {
            header,
            payload_len: prefix.payload_len,
            in_window: prefix.in_window,
        })
    }

    /// Fills the spans from the reply's payload.
    ///
    /// # Errors
    /// [`ClientError`]; some of it may have been filled.
    pub fn payload<'a>(
        &mut self,
        spans: impl IntoIterator<Item = Span<'a>>,
    ) -> Result<(), ClientError> {
        self.stream.payload(&self.end, &mut Receiving::new(spans))
    }

    /// The connection ended while sending: the agent may have said why.
    fn farewell(&mut self) -> ClientError {
        use gil_wire::message::Reply;
        let Ok(received) = self.reply() else {
            return ClientError::Closed;
        };
        match postcard::from_bytes(&received.header) {
            Ok(Reply::Refused { reason }) => ClientError::Refused(reason.into()),
            Ok(Reply::Departed { reason }) => ClientError::Departed(reason.into()),
            _ => ClientError::Closed,
        }
    }
}

/// The socket addresses behind an address.
fn targets(address: &Address) -> io::Result<Vec<SockAddr>> {
    match address {
        Address::Unix(path) => Ok(vec![SockAddr::unix(path)?]),
        Address::Tcp { host, port } => {
            let found: Vec<_> = (host.as_str(), *port)
                .to_socket_addrs()?
                .map(SockAddr::from)
                .collect();
            match found.is_empty() {
                true => Err(io::Error::new(
                    ErrorKind::NotFound,
                    "the name has no address",
                )),
                false => Ok(found),
            }
        }
    }
}
