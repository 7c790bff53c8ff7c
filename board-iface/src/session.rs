//! One connection, one session: requests in, replies out.

mod checkpoint;

use crate::board::{Board, BoardError, Call, Ended, Guest, Outcome, Output, Session};
use crate::meter::Meter;
use crate::region::{Budget, OverBudget, Region};
use foldhash::{HashMap, HashMapExt};
use gil_transport::connection::{Connection, Meter as _};
use gil_transport::error::ConnectionError;
use gil_transport::greeting::Shaken;
use gil_transport::memory::OutOfMemory;
use gil_transport::window;
use gil_transport::window::Part;
use gil_wire::Op;
use gil_wire::ending::Ending;
use gil_wire::envelope::Class;
use gil_wire::frame::{FrameError, Prefix};
use gil_wire::message::{
    self, CallStatus, Done, ENDED_MAX, REGIONS_MAX, RegionDesc, Reply, Report, Request,
};
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls of a session that are not run and are warned of.
const MAX_WARNINGS: u32 = 20;
/// How long a peer may be silent before it opens a session.
pub const UNOPENED: Duration = Duration::from_secs(60);
/// Reports kept until they are asked for.
const MAX_KEPT: usize = 1 << 18;

/// Bytes of output beyond which no more ends are added to an awaited one.
const ENDED_TOGETHER: usize = 1 << 20;

/// Times to report instead of the measured ones: for tests whose simulated
/// time must be predictable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptedTimes {
    /// Nanoseconds of every call on the board's CPU.
    pub cpu_ns: u64,
    /// Nanoseconds of every operation on the device.
    pub device_ns: u64,
}

/// A session's options.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SessionOptions {
    /// Bytes of regions that a session may hold.
    pub memory: u64,
    /// Times to report instead of the measured ones.
    pub scripted: Option<ScriptedTimes>,
    /// Wall time to wait before every answer to a call.
    pub delay: Duration,
    /// How long a session's peer may be silent.
    pub silence: Option<Duration>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            memory: 4 << 30,
            scripted: None,
            delay: Duration::ZERO,
            silence: None,
        }
    }
}

/// Why a session ended, other than by its peer's wish.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The transport.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// A second `Open`.
    #[error("the session is open already")]
    OpenTwice,
    /// A call before `Open`.
    #[error("{0} came before the session was opened")]
    NotOpen(Op),
    /// A request that concerns a session's objects before `Open`.
    #[error("a request for a session's objects came before the session was opened")]
    NothingOpen,
    /// A pointer width that does not exist.
    #[error("a program with pointers of {0} bits: only 32 and 64 are known")]
    PointerBits(u32),
    /// The payload is not what the header says.
    #[error("a request announces {announced} bytes of regions and brings {found}")]
    Payload {
        /// Of its regions; `u64::MAX` if they overflow.
        announced: u64,
        /// In the frame.
        found: u64,
    },
    /// More regions than any guest's driver sends.
    #[error("a call has {0} regions, the bound is {REGIONS_MAX}")]
    Regions(usize),
    /// A frame names a window that there is not, or that is too small.
    #[error("a request has {0} regions in a window that does not hold them")]
    Window(usize),
    /// Nothing to wait for.
    #[error("no operation under way signals event {0}, or it waits for an event nobody has set")]
    NotUnderWay(u64),
    /// The peer never asks how its operations ended.
    #[error("{0} operations ended and were never asked for, the bound is {MAX_KEPT}")]
    Unasked(usize),
    /// It asked for nothing.
    #[error("nothing was asked for {} s, the bound of {}", .bound.as_secs(), silent(*.open))]
    Silent {
        /// For how long.
        bound: Duration,
        /// Whether it had opened a session.
        open: bool,
    },
    /// It asked for what only an operator does.
    #[error("a session's connection asks for the agent's status: use `gil status`")]
    NotOperator,
    /// The board gives no session.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The run is not the one that was recorded.
    #[error("{0}")]
    Departed(String),
}

impl SessionError {
    fn is_departure(&self) -> bool {
        matches!(
            self,
            Self::Departed(_) | Self::Board(BoardError::Departed(_))
        )
    }
}

fn silent(open: bool) -> &'static str {
    match open {
        true => "sessions: start the agent with a larger --max-idle",
        false => "connections without a session",
    }
}

/// Serves a connection until its end. The session's objects are released
/// before this returns; `ending` is called before that.
///
/// # Errors
/// [`SessionError`]; it was sent to the peer, if that still listens.
pub fn serve(
    connection: Connection<Meter>,
    board: &dyn Board,
    options: SessionOptions,
    ending: &dyn Fn(),
) -> Result<(), SessionError> {
    let mut server = Server {
        connection,
        board,
        options,
        budget: Budget::new(options.memory),
        session: None,
        warnings: MAX_WARNINGS,
        kept: HashMap::new(),
    };
    let result = server.run();
    match &result {
        Ok(()) => {}
        Err(error) if error.is_departure() => server.connection.depart(&error.to_string()),
        Err(error) => server.connection.refuse(&error.to_string()),
    }
    ending();
    result
}

/// Serves a connection from the handshake to its last byte. `ending` is called
/// when it is of no further use, before what the session made is released.
pub fn run(
    socket: Arc<Socket>,
    shaken: &Shaken,
    meter: Meter,
    board: &dyn Board,
    options: SessionOptions,
    ending: &dyn Fn(),
) {
    let connection = Connection::new(socket, shaken, meter).map_err(SessionError::from);
    match connection.and_then(|connection| serve(connection, board, options, ending)) {
        Ok(()) => tracing::debug!("session ended"),
        Err(SessionError::Connection(error)) => tracing::info!("session ended: {error}"),
        Err(error) => tracing::warn!("session ended: {error}"),
    }
}

struct Server<'b> {
    connection: Connection<Meter>,
    board: &'b dyn Board,
    options: SessionOptions,
    budget: Budget,
    session: Option<Box<dyn Session + 'b>>,
    /// Warnings left; what is refused after them is logged as detail.
    warnings: u32,
    /// What calls without an answer reported, by event.
    kept: HashMap<u64, Ended>,
}

impl Server<'_> {
    fn run(&mut self) -> Result<(), SessionError> {
        let mut header = Vec::new();
        self.bound_silence(UNOPENED)?;
        while let Some(prefix) = self.receive(&mut header)? {
            let request = postcard::from_bytes(&header).map_err(FrameError::Decode);
            let request = request.map_err(ConnectionError::Frame)?;
            check_payload(&request, prefix)?;
            if !self.request(request, prefix.in_window)? {
                break;
            }
        }
        Ok(())
    }

    fn bound_silence(&self, bound: impl Into<Option<Duration>>) -> Result<(), SessionError> {
        let bounded = self.connection.bound_silence(bound.into());
        bounded.map_err(|error| SessionError::Connection(error.into()))
    }

    fn receive(&mut self, header: &mut Vec<u8>) -> Result<Option<Prefix>, SessionError> {
        self.connection
            .receive(header)
            .map_err(|error| match error {
                ConnectionError::Io(error) if error.kind() == ErrorKind::WouldBlock => {
                    let open = self.session.is_some();
                    let bound = self.options.silence.filter(|_| open);
                    let bound = bound.unwrap_or(UNOPENED);
                    SessionError::Silent { bound, open }
                }
                other => SessionError::Connection(other),
            })
    }

    /// Returns whether the session goes on.
    fn request(&mut self, request: Request<'_>, in_window: bool) -> Result<bool, SessionError> {
        let reply = match request {
            Request::Open {
                process,
                pointer_bits,
                finish,
            } => self.open(Guest {
                process,
                pointer_bits,
                finish,
            })?,
            Request::Ping { nonce } => Reply::Pong { nonce },
            Request::Devices => Reply::Devices {
                devices: self.board.devices(),
            },
            Request::Identify { api, device } => {
                let session = self.session.as_mut().ok_or(SessionError::NothingOpen)?;
                let identity = session.identify(api, device);
                Reply::Identity { identity }
            }
            Request::Close => return Ok(false),
            Request::Status => return Err(SessionError::NotOperator),
            Request::Survey
            | Request::Fetch { .. }
            | Request::Fill { .. }
            | Request::Past { .. }
            | Request::NumberFrom { .. } => {
                self.checkpoint(&request)?;
                return Ok(true);
            }
            Request::Await { event } => {
                self.finish(event)?;
                return Ok(true);
            }
            Request::Call(call) => {
                self.call(&call, in_window)?;
                return Ok(true);
            }
        };
        self.connection.reply(&reply, &[], false)?;
        Ok(true)
    }

    fn open(&mut self, guest: Guest) -> Result<Reply<'static>, SessionError> {
        let (process, pointer_bits) = (guest.process, guest.pointer_bits);
        if self.session.is_some() {
            return Err(SessionError::OpenTwice);
        }
        if !matches!(pointer_bits, 32 | 64) {
            return Err(SessionError::PointerBits(pointer_bits));
        }
        let session = self.session.insert(self.board.open(guest, &self.budget)?);
        let apis = session.apis();
        self.bound_silence(self.options.silence)?;
        tracing::debug!(process, pointer_bits, "session open");
        Ok(Reply::Opened { apis })
    }

    fn call(&mut self, head: &message::Call<'_>, in_window: bool) -> Result<(), SessionError> {
        if self.session.is_none() {
            return Err(SessionError::NotOpen(head.op));
        }
        let parts = match in_window {
            true => Some(self.parts(&head.regions)?),
            false => None,
        };
        let all = head.regions.iter().map(|region| region.len);
        self.connection.expect(all.fold(0, u64::saturating_add));
        let regions = match &parts {
            Some(parts) => self.shared_regions(head, parts),
            None => self.regions(&head.regions)?,
        };
        if parts.is_some() {
            let ins = in_bytes(&head.regions).unwrap_or(0);
            self.connection.meter().received(ins);
        }
        let began = Instant::now();
        let outcome = match regions {
            Ok(regions) => match self.unreported(head) {
                Some(event) => Outcome::refused(format_args!(
                    "{} is refused: event {event} is of an earlier operation whose report nobody asked for",
                    head.op
                )),
                None => self.run_call(head, regions),
            },
            Err(error) => Outcome::refused(error),
        };
        self.log(head, &outcome);
        self.check_departure()?;
        match head.answer {
            true => {
                let outs = parts.map(|parts| out_parts(&head.regions, parts));
                self.answer(head.seq, &outcome, began, outs)
            }
            false => self.keep(head, outcome),
        }
    }

    /// Whether the session's requests are the recorded ones, if they should be.
    fn check_departure(&self) -> Result<(), SessionError> {
        let session = self.session.as_deref();
        let reason = session.and_then(Session::departed);
        reason.map_or(Ok(()), |reason| Err(SessionError::Departed(reason.into())))
    }

    /// The event of an enqueue whose number is of an earlier report, for which
    /// nobody asked.
    fn unreported(&self, head: &message::Call<'_>) -> Option<u64> {
        let kept = |event: &u64| self.kept.contains_key(event) && is_enqueue(head.op);
        head.event.filter(kept)
    }

    /// What an unanswered call reports is asked for later.
    fn keep(&mut self, head: &message::Call<'_>, outcome: Outcome) -> Result<(), SessionError> {
        if let Some(event) = head.event
            && outcome.status != CallStatus::Ran
            && is_enqueue(head.op)
        {
            let session = self.session.as_ref();
            let code = session.map_or(-1, |session| session.not_run(head.op));
            let ended = Ended {
                rejected: true,
                ..Ended::bare(event, Ending::Failed(code))
            };
            self.kept.entry(event).or_insert(ended);
        }
        let ended = outcome.ended.into_iter().map(|ended| (ended.event, ended));
        self.kept.extend(ended);
        match self.kept.len() <= MAX_KEPT {
            true => Ok(()),
            false => Err(SessionError::Unasked(self.kept.len())),
        }
    }

    /// Waits for an operation, and sends how it and those behind it ended.
    fn finish(&mut self, event: u64) -> Result<(), SessionError> {
        let began = Instant::now();
        let kept = self.kept.remove(&event);
        let session = self.session.as_mut();
        let first = kept.or_else(|| session?.finish(event, &self.budget));
        self.check_departure()?;
        let mut all = vec![first.ok_or(SessionError::NotUnderWay(event))?];
        self.add_ended(&mut all);
        if let Some(times) = self.options.scripted {
            let ended = all.iter_mut();
            ended.for_each(|ended| ended.duration_ns = times.device_ns);
        }
        let busy_ns = began.elapsed().as_nanos() as u64;
        self.delay();
        let reply = Reply::Ended {
            reports: all.iter().map(report).collect(),
            busy_ns,
        };
        let payload: Vec<&[u8]> = all.iter().flat_map(payload_of).collect();
        Ok(self.connection.reply(&reply, &payload, false)?)
    }

    /// Adds operations that have ended by now, so that each need not be asked
    /// for by itself: as many as are a small answer. What printed is asked for,
    /// since hosts keep less text than output.
    fn add_ended(&mut self, all: &mut Vec<Ended>) {
        let Some(session) = &mut self.session else {
            return;
        };
        let mut len = 0;
        while all.len() < ENDED_MAX
            && len < ENDED_TOGETHER
            && let Some(ended) = session.ended_behind()
        {
            if !ended.printed.is_empty() {
                self.kept.insert(ended.event, ended);
                return;
            }
            len += ended.out.iter().map(Output::len).sum::<usize>();
            all.push(ended);
        }
    }

    fn delay(&self) {
        if !self.options.delay.is_zero() {
            std::thread::sleep(self.options.delay);
        }
    }

    /// Says what was not run, as long as it is not said all the time.
    fn log(&mut self, head: &message::Call<'_>, outcome: &Outcome) {
        let status = outcome.status;
        self.connection.meter().call(status == CallStatus::Ran);
        if status == CallStatus::Ran {
            return;
        }
        let reason = String::from_utf8_lossy(&outcome.result);
        if self.warnings > 0 {
            tracing::warn!(op = %head.op, seq = head.seq, ?status, "{reason}");
        } else {
            tracing::debug!(op = %head.op, seq = head.seq, ?status, "{reason}");
        }
        // Once a call is lost, so is every later one.
        self.warnings = match status {
            CallStatus::Lost => 0,
            _ => self.warnings.saturating_sub(1),
        };
    }

    fn run_call(&mut self, head: &message::Call<'_>, regions: Vec<Region>) -> Outcome {
        let session = self.session.as_mut().expect("checked by call()");
        let mut outcome = session.call(Call {
            head,
            regions,
            budget: &self.budget,
        });
        if let Some(times) = self.options.scripted {
            outcome.work = None;
            outcome.cpu_ns = times.cpu_ns;
            let ended = outcome.ended.iter_mut();
            ended.for_each(|op| op.duration_ns = times.device_ns);
            // They are the call's own.
            outcome.posted.iter_mut().for_each(|posted| {
                (posted.cpu_ns, posted.longest_ns) = (0, 0);
            });
        }
        outcome
    }

    /// Where a call's regions are in the window.
    fn parts(&self, descs: &[RegionDesc]) -> Result<Vec<Part>, SessionError> {
        let found = || {
            let window = self.connection.window()?;
            let places = window::places(descs, window.len())?;
            let places = places.into_iter().zip(descs);
            let part = |(place, desc): (u64, &RegionDesc)| window.part(place, desc.len as usize);
            places.map(part).collect::<Option<Vec<Part>>>()
        };
        found().ok_or(SessionError::Window(descs.len()))
    }

    /// A call's regions, which are in the window, or copied if they may be
    /// needed for longer than the call.
    fn shared_regions(
        &self,
        head: &message::Call<'_>,
        parts: &[Part],
    ) -> Result<Vec<Region>, RegionError> {
        let descs = &head.regions;
        self.budget.check(descs)?;
        let takes_shared = self.session.as_ref();
        let takes_shared = takes_shared.is_some_and(|session| session.takes_shared(head.op));
        let shared = head.finish && takes_shared;
        let region = |(desc, part): (&RegionDesc, &Part)| match shared {
            true => Ok(Region::shared(desc.dir, part.clone(), &self.budget)),
            false => self.copied(desc, part).map_err(RegionError::from),
        };
        descs.iter().zip(parts).map(region).collect()
    }

    fn copied(&self, desc: &RegionDesc, part: &Part) -> Result<Region, OutOfMemory> {
        if !desc.dir.is_in() {
            return Region::to_write(part.len(), &self.budget);
        }
        let mut bytes = self.budget.memory(part.len())?;
        bytes.clear();
        part.copy_to(&mut bytes);
        Ok(Region::holding(desc.dir, bytes, &self.budget))
    }

    /// Receives a call's regions. The inner error refuses the call only: the
    /// payload was skipped.
    fn regions(
        &mut self,
        descs: &[RegionDesc],
    ) -> Result<Result<Vec<Region>, RegionError>, SessionError> {
        if let Err(error) = self.budget.check(descs) {
            self.connection.skip(in_bytes(descs).unwrap_or(0))?;
            return Ok(Err(error.into()));
        }
        let mut regions = Vec::with_capacity(descs.len());
        for (at, desc) in descs.iter().enumerate() {
            match self.region(*desc)? {
                Ok(region) => regions.push(region),
                Err(error) => {
                    self.connection.skip(in_bytes(&descs[at..]).unwrap_or(0))?;
                    return Ok(Err(error.into()));
                }
            }
        }
        Ok(Ok(regions))
    }

    fn region(&mut self, desc: RegionDesc) -> Result<Result<Region, OutOfMemory>, SessionError> {
        let len = desc.len as usize;
        if !desc.dir.is_in() {
            return Ok(Region::to_write(len, &self.budget));
        }
        let mut bytes = match self.budget.memory(len) {
            Ok(memory) => memory,
            Err(error) => return Ok(Err(error)),
        };
        self.connection.fill(&mut bytes, len)?;
        Ok(Ok(Region::holding(desc.dir, bytes, &self.budget)))
    }

    /// Sends the answer; the call's own output through the window if it has
    /// `outs` there.
    fn answer(
        &mut self,
        seq: u64,
        outcome: &Outcome,
        began: Instant,
        outs: Option<Vec<Part>>,
    ) -> Result<(), SessionError> {
        let in_window = outs.is_some();
        let own = outcome.out.iter().filter(|_| !in_window);
        let own = own.map(Output::bytes);
        let payload: Vec<&[u8]> = own
            .chain(outcome.ended.iter().flat_map(payload_of))
            .collect();
        for (output, part) in outcome.out.iter().zip(outs.unwrap_or_default()) {
            if !output.is_shared() {
                part.put(output.bytes());
            }
        }
        if in_window {
            let outs = outcome.out.iter().map(|out| out.len() as u64);
            self.connection.meter().sent(outs.sum());
        }
        let busy_ns = began.elapsed().as_nanos() as u64;
        self.delay();
        let done = Done {
            status: outcome.status,
            result: &outcome.result,
            cpu_ns: outcome.cpu_ns,
            busy_ns,
            out: lens(&outcome.out),
            reports: outcome.ended.iter().map(report).collect(),
            notices: outcome.notices,
        };
        let posted = outcome.posted.clone();
        let work = outcome.work;
        let reply = Reply::Done {
            seq,
            done,
            posted,
            work,
        };
        Ok(self.connection.reply(&reply, &payload, in_window)?)
    }
}

/// Why one call's regions are not taken; the session goes on.
#[derive(Debug, thiserror::Error)]
enum RegionError {
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

fn is_enqueue(op: Op) -> bool {
    let info = gil_wire::api::info(op);
    info.is_some_and(|info| info.class == Some(Class::Enqueue))
}

fn lens(outputs: &[Output]) -> Vec<u64> {
    outputs.iter().map(|o| o.len() as u64).collect()
}

fn report(ended: &Ended) -> Report {
    Report {
        event: ended.event,
        duration_ns: ended.duration_ns,
        ending: ended.ending,
        out: lens(&ended.out),
        printed: ended.printed.len() as u64,
        rejected: ended.rejected,
    }
}

/// A report's bytes: output, then text.
fn payload_of(ended: &Ended) -> Vec<&[u8]> {
    let out = ended.out.iter().map(Output::bytes);
    out.chain([&ended.printed[..]]).collect()
}

/// Of a call's regions in the window, those that the board writes.
fn out_parts(descs: &[RegionDesc], parts: Vec<Part>) -> Vec<Part> {
    let parts = descs.iter().zip(parts);
    let outs = parts.filter(|(desc, _)| desc.dir.is_out());
    outs.map(|(_, part)| part).collect()
}

fn in_bytes(regions: &[RegionDesc]) -> Option<u64> {
    let ins = regions.iter().filter(|region| region.dir.is_in());
    ins.map(|region| region.len)
        .try_fold(0u64, u64::checked_add)
}

fn check_payload(request: &Request<'_>, prefix: Prefix) -> Result<(), SessionError> {
    if let Request::Call(call) = request
        && call.regions.len() > REGIONS_MAX
    {
        return Err(SessionError::Regions(call.regions.len()));
    }
    let found = prefix.payload_len;
    let announced = match request {
        Request::Call(_) if prefix.in_window => 0,
        Request::Call(call) => in_bytes(&call.regions).unwrap_or(u64::MAX),
        Request::Fill { len, .. } => *len,
        _ => 0,
    };
    if announced != found {
        return Err(SessionError::Payload { announced, found });
    }
    Ok(())
}
