//! A guest program without a guest: its calls go through a stand-in for the driver,
//! the host interface and the agent. The calls belong to an API.

use crate::board::Board;
use crate::error::BenchError;
use gil_host::Host;
use gil_host::config::Config;
use gil_host::events::Sink;
use gil_host::memory::Mapped;
use gil_host::stand_in::{self, DATA, Driver, RAM_BASE, Region, Seen};
use gil_host::stats::Counters;
use gil_uapi::{Status, kind};
use gil_wire::Op;
use gil_wire::api::info;
use gil_wire::call::{Handle, NewEvent};
use gil_wire::envelope::{Answer, Class, Engine, Envelope};
use gil_wire::message::Direction;
use gil_wire::monitor::Event;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A call that does as good as nothing.
pub struct NullCall {
    /// The call's operation number.
    pub op: Op,
    /// Its arguments, encoded.
    pub args: Vec<u8>,
}

/// What benchmarks have a program do.
pub trait Program {
    /// Makes a buffer.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    fn buffer(&mut self, size: u64) -> Result<Handle, BenchError>;

    /// Makes a kernel that does as good as nothing.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    fn kernel(&mut self) -> Result<Handle, BenchError>;

    /// The API's cheapest call that goes to the board.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    fn null_call(&mut self) -> Result<Took, BenchError>;

    /// Writes these pieces of the program's memory to a buffer and waits, or
    /// reads them.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    fn transfer(
        &mut self,
        buffer: Handle,
        dir: Direction,
        extents: &[(u64, u64)],
    ) -> Result<Took, BenchError>;

    /// Launches the kernel `count` times in one submission.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    fn launch(&mut self, kernel: Handle, count: usize) -> Result<Took, BenchError>;

    /// Waits for everything on the queue.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    fn finish(&mut self) -> Result<Took, BenchError>;
}

/// A program whose jobs each keep one processor of its device at work.
pub trait Worker {
    /// The device.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    fn device(&mut self) -> Result<Device, BenchError>;

    /// Has the device execute so many jobs, one behind the other; what they take on it
    /// together.
    ///
    /// # Errors
    /// [`BenchError::Call`].
    fn work(&mut self, jobs: u32) -> Result<Duration, BenchError>;
}

/// A device that works.
#[derive(Clone, Debug)]
pub struct Device {
    /// As its driver calls it.
    pub name: String,
    /// How many processors it has.
    pub processors: u32,
}

/// Guest nanoseconds from one call's end to the next call.
const BETWEEN: u64 = 1000;

/// Keeps what the host interface warns of.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Sink for Warnings {
    fn tell(&mut self, event: Event) {
        if let Event::Warning { text } = event {
            let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            texts.push(text);
        }
    }
}

/// A submission's wall time.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// In the doorbell.
    pub wall: Duration,
    /// Of it, the time the board says it worked.
    pub board: Duration,
    /// Of it, the host interface's own work: all but the wait for an answer.
    pub own: Duration,
}

impl Took {
    /// Without the board's work.
    pub fn bridge(self) -> Duration {
        self.wall.saturating_sub(self.board)
    }
}

/// Makes a program's calls.
pub struct Caller {
    driver: Driver,
    warnings: Warnings,
    next: u64,
}

impl Caller {
    /// One whose program has `data` bytes of memory.
    ///
    /// # Errors
    /// [`BenchError`] if the host interface does not take it.
    pub fn new(board: &Board, data: u64) -> Result<Self, BenchError> {
        let config = Config {
            board: Some(board.agent.address.parse()?),
            key: board.key.clone(),
            ..Config::default()
        };
        let warnings = Warnings::default();
        let host = Host::new(&config, "gil bench", Box::new(warnings.clone()))?;
        let (file, path) = stand_in::ram(DATA - RAM_BASE.0 + data)?;
        host.set_memory(Box::new(Mapped::open(&path, RAM_BASE, Vec::new())?));
        let driver = Driver::new(host, file);
        driver.simple(kind::OPEN);
        Ok(Self {
            driver,
            warnings,
            next: 0,
        })
    }

    /// Makes a call and reads its answer.
    ///
    /// # Errors
    /// [`BenchError::Call`] if it was not executed, or answered with something
    /// else.
    pub fn call<A: Serialize, R: for<'a> Deserialize<'a>>(
        &mut self,
        op: Op,
        args: &A,
    ) -> Result<R, BenchError> {
        let args = encoded(args);
        let envelope = self.envelope(op, &args);
        let (_, seen) = self.submit(&[envelope], &[]);
        self.executed(op, &seen)?;
        let wrong = |_| self.failed(op, "bytes that are no answer".into());
        let answer: Answer<'_> = postcard::from_bytes(&seen.reply).map_err(wrong)?;
        postcard::from_bytes(answer.result).map_err(wrong)
    }

    /// A call that is on no queue.
    pub fn envelope<'a>(&self, op: Op, args: &'a [u8]) -> Envelope<'a> {
        let class = info(op).and_then(|info| info.class).unwrap_or(Class::Sync);
        Envelope {
            engine: Engine::COMPUTE,
            args,
            ..Envelope::new(op, class, self.driver.now_ns)
        }
    }

    /// Rings the doorbell for these calls.
    pub fn submit(&mut self, envelopes: &[Envelope<'_>], regions: &[Region]) -> (Took, Seen) {
        self.driver.seq += 1;
        self.driver.prepare(envelopes, regions);
        let before = self.driver.host.counters();
        let start = Instant::now();
        self.driver.doorbell();
        let wall = start.elapsed();
        let after = self.driver.host.counters();
        let since = |of: fn(&Counters) -> u64| Duration::from_nanos(of(&after) - of(&before));
        let took = Took {
            wall,
            board: since(|counters| counters.board_wall_ns),
            own: since(|counters| counters.bridge_wall_ns),
        };
        let seen = self.driver.seen();
        self.driver.now_ns = self.driver.now_ns.max(seen.deadline_ns) + BETWEEN;
        (took, seen)
    }

    /// Whether a submission, whose last call was `op`, was executed.
    ///
    /// # Errors
    /// [`BenchError::Call`] if not.
    pub fn executed(&self, op: Op, seen: &Seen) -> Result<(), BenchError> {
        match seen.status == Status::Ok as u32 {
            true => Ok(()),
            false => Err(self.failed(op, format!("status {} of the mailbox", seen.status))),
        }
    }

    /// What became of a call, with what the host interface said.
    pub fn failed(&self, op: Op, what: String) -> BenchError {
        let texts = self.warnings.0.lock();
        let texts = texts.unwrap_or_else(PoisonError::into_inner);
        let warnings = texts.iter().map(|text| format!("; {text}")).collect();
        BenchError::Call { op, what, warnings }
    }

    /// Device time of all operations so far, as the board measured it.
    pub fn device_time(&self) -> Duration {
        Duration::from_nanos(self.driver.host.counters().gpu_ns)
    }

    /// The number of a new object.
    pub fn number(&mut self) -> Handle {
        self.next += 1;
        Handle(self.next)
    }

    /// The number of a new event, which the program does not keep.
    pub fn event(&mut self) -> NewEvent {
        NewEvent {
            number: self.number(),
            kept: false,
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.driver.close();
    }
}

/// Arguments as they travel.
pub fn encoded(args: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(args).expect("plain data encodes")
}
