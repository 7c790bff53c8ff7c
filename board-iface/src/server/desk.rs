//! What becomes of a connection after its handshake.

use super::connections::{Connections, Entry, Full};
use super::peer::Peer;
use super::reception::Refused;
use super::refusals::Refusals;
use super::{Sessions, supervise};
use crate::board::Board;
use crate::meter::Meter;
use crate::operator;
use crate::session::{self, SessionOptions};
use gil_transport::connection::{Connection, HANDSHAKE_WITHIN};
use gil_transport::greeting::Shaken;
use socket2::Socket;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Stack of a session's thread: drivers compile kernels on it.
const STACK: usize = 16 << 20;
/// Stack of a thread that waits for a session's process.
const SMALL_STACK: usize = 512 << 10;

/// Gives who has shaken hands a session, or the agent's status.
pub struct Desk {
    /// Whether sessions are processes or threads.
    pub sessions: Sessions,
    /// The options of each session.
    pub session: SessionOptions,
    /// How long its process may go on once its peer hung up.
    pub grace: Duration,
    /// Those that are open.
    pub connections: Arc<Connections>,
    /// Those that were refused.
    pub refusals: Refusals,
}

impl Desk {
    /// Why there is no session for anybody, if that is so.
    pub fn full(&self) -> Option<String> {
        let full = self.connections.check(false).err()?;
        Some(full.to_string())
    }

    /// A handshake is over.
    pub fn greeted(&self, socket: Socket, peer: Peer, outcome: Result<Shaken, Refused>) {
        let begun = outcome
            .map_err(|error| error.to_string())
            .and_then(|shaken| self.begin(socket, peer, shaken));
        if let Err(reason) = begun {
            self.connections.refused();
            self.refusals.say(peer, &reason);
        }
    }

    /// The reason, if the peer gets nothing.
    fn begin(&self, socket: Socket, peer: Peer, mut shaken: Shaken) -> Result<(), String> {
        let socket = Arc::new(socket);
        let meter = Meter::new().map_err(|error| format!("no memory for a session: {error}"))?;
        let is_operator = shaken.is_operator;
        let entry = Entry::new(&self.connections, &socket, peer, meter.clone(), is_operator);
        match entry {
            Ok(entry) => {
                let guest = Guest {
                    entry,
                    peer,
                    socket,
                    shaken,
                    meter,
                };
                let begun = self.begin_in_thread(guest);
                begun.map_err(|error| format!("no thread for a session: {error}"))
            }
            Err(full) => {
                // Without waiting for what it offers.
                shaken.offers_window = false;
                tell_full(socket, &shaken, meter, full);
                Err(full.to_string())
            }
        }
    }

    fn begin_in_thread(&self, guest: Guest) -> io::Result<()> {
        let name = format!("session {}", guest.entry.number);
        let thread = std::thread::Builder::new()
            .name(name)
            .stack_size(SMALL_STACK);
        let grace = self.grace;
        let begun = match self.sessions.clone() {
            _ if guest.shaken.is_operator => thread.spawn(|| guest.attend_operator()),
            Sessions::Threads(board) => {
                let options = self.session;
                let thread = thread.stack_size(STACK);
                thread.spawn(move || {
                    if let Some(guest) = guest.seated() {
                        guest.serve_here(&*board, options);
                    }
                })
            }
            Sessions::Processes(launcher) => thread.spawn(move || {
                if let Some(guest) = guest.seated() {
                    supervise::run(guest, &launcher, grace);
                }
            }),
        };
        begun.map(drop)
    }
}

/// Says why there is no place, if the peer still listens.
fn tell_full(socket: Arc<Socket>, shaken: &Shaken, meter: Meter, full: Full) {
    if let Ok(mut connection) = Connection::new(socket, shaken, meter) {
        connection.refuse(&full.to_string());
    }
}

/// A peer that has shaken hands, and its place.
pub struct Guest {
    /// Its place.
    pub entry: Entry,
    /// The peer.
    pub peer: Peer,
    /// Its connection.
    pub socket: Arc<Socket>,
    /// The handshake's result.
    pub shaken: Shaken,
    /// The session's counters.
    pub meter: Meter,
}

impl Guest {
    /// The same once it has its place; none if it gets no place.
    fn seated(mut self) -> Option<Self> {
        match self.entry.wait_for_place(HANDSHAKE_WITHIN) {
            Ok(()) => Some(self),
            Err(full) => {
                tracing::warn!("connection of {} refused: {full}", self.peer);
                self.entry.connections().refused();
                tell_full(self.socket, &self.shaken, self.meter, full);
                None
            }
        }
    }

    fn attend_operator(self) {
        let connection = Connection::new(self.socket, &self.shaken, self.meter);
        let connections = self.entry.connections();
        let ended =
            connection.and_then(|connection| operator::serve(connection, || connections.status()));
        if let Err(error) = ended {
            tracing::debug!("an operator's connection: {error}");
        }
    }

    fn serve_here(self, board: &dyn Board, options: SessionOptions) {
        let span = tracing::info_span!("session", number = self.entry.number);
        let _span = span.enter();
        session::run(
            self.socket,
            &self.shaken,
            self.meter,
            board,
            options,
            &|| {},
        );
    }
}
