//! One connection, one session: requests in, replies out.

use crate::board::{Board, BoardError, Call, Ended, Guest, Outcome, Output, Session};
use crate::region::{Budget, OutOfMemory, OverBudget, Region};
use crate::transport::{Connection, ConnectionError};
use gil_wire::Op;
use gil_wire::frame::FrameError;
use gil_wire::message::{CallStatus, RegionDesc, Reply, Report, Request};
use std::time::{Duration, Instant};

/// Calls of a session that are not run and are warned of.
const MAX_WARNINGS: u32 = 20;

/// Times to report instead of the measured ones: for tests whose simulated
/// time must be predictable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedTimes {
    /// Nanoseconds of every call on the board's CPU.
    pub cpu_ns: u64,
    /// Nanoseconds of every operation on the device.
    pub device_ns: u64,
}

/// How a session behaves.
#[derive(Clone, Copy, Debug)]
pub struct SessionOptions {
    /// Bytes of regions that a session may hold.
    pub memory: u64,
    /// Times to report instead of the measured ones.
    pub scripted: Option<ScriptedTimes>,
    /// Wall time to wait before every answer to a call.
    pub delay: Duration,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            memory: 4 << 30,
            scripted: None,
            delay: Duration::ZERO,
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
    /// The board gives no session.
    #[error(transparent)]
    Board(#[from] BoardError),
}

/// Serves a connection until its end. The session's objects are released
/// before this returns.
///
/// # Errors
/// [`SessionError`]; the peer was told, if it still listens.
pub fn serve(
    connection: Connection,
    board: &dyn Board,
    options: SessionOptions,
) -> Result<(), SessionError> {
    let mut server = Server {
        connection,
        board,
        options,
        budget: Budget::new(options.memory),
        session: None,
        warnings: MAX_WARNINGS,
    };
    let result = server.run();
    if let Err(error) = &result {
        server.connection.refuse(&error.to_string());
    }
    result
}

struct Server<'b> {
    connection: Connection,
    board: &'b dyn Board,
    options: SessionOptions,
    budget: Budget,
    session: Option<Box<dyn Session>>,
    /// Warnings left; what is refused after them is logged as detail.
    warnings: u32,
}

/// The fields of [`Request::Call`].
struct CallHead<'a> {
    seq: u64,
    op: Op,
    thread: u32,
    answer: bool,
    args: &'a [u8],
    regions: Vec<RegionDesc>,
}

impl Server<'_> {
    fn run(&mut self) -> Result<(), SessionError> {
        let mut header = Vec::new();
        while let Some(payload) = self.connection.receive(&mut header)? {
            let request = postcard::from_bytes(&header).map_err(FrameError::Decode);
            let request = request.map_err(ConnectionError::Frame)?;
            check_payload(&request, payload)?;
            if !self.request(request)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether the session goes on.
    fn request(&mut self, request: Request<'_>) -> Result<bool, SessionError> {
        let reply = match request {
            Request::Open {
                process,
                pointer_bits,
            } => self.open(process, pointer_bits)?,
            Request::Ping { nonce } => Reply::Pong { nonce },
            Request::Devices => Reply::Devices {
                devices: self.board.devices(),
            },
            Request::Close => return Ok(false),
            Request::Call {
                seq,
                op,
                thread,
                answer,
                args,
                regions,
            } => {
                self.call(CallHead {
                    seq,
                    op,
                    thread,
                    answer,
                    args,
                    regions,
                })?;
                return Ok(true);
            }
        };
        self.connection.reply(&reply, &[])?;
        Ok(true)
    }

    fn open(&mut self, process: u32, pointer_bits: u32) -> Result<Reply<'static>, SessionError> {
        if self.session.is_some() {
            return Err(SessionError::OpenTwice);
        }
        if !matches!(pointer_bits, 32 | 64) {
            return Err(SessionError::PointerBits(pointer_bits));
        }
        self.session = Some(self.board.open(Guest {
            process,
            pointer_bits,
        })?);
        tracing::debug!(process, pointer_bits, "session open");
        Ok(Reply::Opened)
    }

    fn call(&mut self, head: CallHead<'_>) -> Result<(), SessionError> {
        if self.session.is_none() {
            return Err(SessionError::NotOpen(head.op));
        }
        let regions = self.regions(&head.regions)?;
        let began = Instant::now();
        let outcome = match regions {
            Ok(regions) => self.run_call(&head, regions),
            Err(error) => Outcome::refused(error),
        };
        self.log(&head, &outcome);
        if head.answer {
            self.answer(head.seq, &outcome, began)?;
        }
        Ok(())
    }

    /// Says what was not run, as long as it is not said all the time.
    fn log(&mut self, head: &CallHead<'_>, outcome: &Outcome) {
        let status = outcome.status;
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

    fn run_call(&mut self, head: &CallHead<'_>, regions: Vec<Region>) -> Outcome {
        let session = self.session.as_mut().expect("checked by call()");
        let mut outcome = session.call(Call {
            seq: head.seq,
            op: head.op,
            thread: head.thread,
            args: head.args,
            regions,
            budget: &self.budget,
        });
        if let Some(times) = self.options.scripted {
            outcome.cpu_ns = times.cpu_ns;
            let ended = outcome.ended.iter_mut();
            ended.for_each(|op| op.duration_ns = times.device_ns);
        }
        outcome
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
            return Ok(Region::zeroed(len, &self.budget));
        }
        let mut bytes = Vec::new();
        if let Err(error) = OutOfMemory::reserve(&mut bytes, len) {
            return Ok(Err(error));
        }
        self.connection.read_to(&mut bytes, len)?;
        Ok(Ok(Region::holding(desc.dir, bytes, &self.budget)))
    }

    fn answer(&self, seq: u64, outcome: &Outcome, began: Instant) -> Result<(), SessionError> {
        let ended = outcome.ended.iter();
        let outputs = outcome.out.iter().chain(ended.flat_map(|op| &op.out));
        let payload: Vec<&[u8]> = outputs.map(Output::bytes).collect();
        let busy_ns = began.elapsed().as_nanos() as u64;
        if !self.options.delay.is_zero() {
            std::thread::sleep(self.options.delay);
        }
        let reply = Reply::Done {
            seq,
            status: outcome.status,
            result: &outcome.result,
            cpu_ns: outcome.cpu_ns,
            busy_ns,
            out: lens(&outcome.out),
            reports: outcome.ended.iter().map(report).collect(),
        };
        Ok(self.connection.reply(&reply, &payload)?)
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

fn lens(outputs: &[Output]) -> Vec<u64> {
    outputs.iter().map(|o| o.bytes().len() as u64).collect()
}

fn report(ended: &Ended) -> Report {
    Report {
        seq: ended.seq,
        duration_ns: ended.duration_ns,
        status: ended.status,
        out: lens(&ended.out),
    }
}

fn in_bytes(regions: &[RegionDesc]) -> Option<u64> {
    let ins = regions.iter().filter(|region| region.dir.is_in());
    ins.map(|region| region.len)
        .try_fold(0u64, u64::checked_add)
}

fn check_payload(request: &Request<'_>, found: u64) -> Result<(), SessionError> {
    let announced = match request {
        Request::Call { regions, .. } => in_bytes(regions).unwrap_or(u64::MAX),
        _ => 0,
    };
    if announced != found {
        return Err(SessionError::Payload { announced, found });
    }
    Ok(())
}
