//! What a back end offers to the transport: devices, and sessions that run
//! calls.

use crate::region::{Budget, Region};
use gil_wire::Op;
use gil_wire::api::Described;
use gil_wire::checkpoint::{PastEvent, Survey};
use gil_wire::ending::Ending;
use gil_wire::finish::Finish;
use gil_wire::identity::{DeviceIdentity, DeviceInfo};
use gil_wire::message::{self, CallStatus, Posted};

/// The guest program a session stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Its process id in the guest.
    pub process: u32,
    /// 32 or 64: the width of its pointers.
    pub pointer_bits: u32,
    /// When the board waits for its device.
    pub finish: Finish,
}

/// A board: a back end, several of them, or a recording that stands for them.
pub trait Board: std::fmt::Debug + Send + Sync {
    /// The board's devices.
    fn devices(&self) -> Vec<DeviceInfo>;

    /// Begins a session, whose memory counts against `budget`. Everything that
    /// it makes is released when it is dropped.
    ///
    /// # Errors
    /// [`BoardError`], one sentence.
    fn open<'b>(
        &'b self,
        guest: Guest,
        budget: &Budget,
    ) -> Result<Box<dyn Session + 'b>, BoardError>;
}

/// Of a back end that says nothing of its objects.
const NO_CHECKPOINTS: &str = "this board does not say what its objects hold";

/// One guest program's objects on the board.
pub trait Session {
    /// The APIs whose calls it takes.
    fn apis(&self) -> Vec<Described>;

    /// The guest thread whose a call is. A post may be handed over by another: an API
    /// whose objects are current in threads knows better.
    fn thread_of(&self, call: &Call<'_>) -> u32 {
        call.head.thread
    }

    /// Runs a call. What goes wrong is in the outcome.
    fn call(&mut self, call: Call<'_>) -> Outcome;

    /// Where the run departed from the one that was recorded, if the session answers from
    /// a recording: it gives no answer any more, and the run must end.
    fn departed(&self) -> Option<&str> {
        None
    }

    /// Waits until the operation that signals `event` ends, and says how.
    /// `None` if there is none that was not reported, or if it waits for what
    /// the guest has yet to cause.
    fn finish(&mut self, event: u64, budget: &Budget) -> Option<Ended>;

    /// The next operation on the queue of the one that was waited for last, if
    /// it has ended, too, and nobody has asked for it. Waits for nothing.
    fn ended_behind(&mut self) -> Option<Ended> {
        None
    }

    /// Which physical device this API's device of this number is; `None` if it
    /// is known to this session alone, or to nobody.
    fn identify(&mut self, _api: u16, _device: u64) -> Option<DeviceIdentity> {
        None
    }

    /// What a checkpoint of the session has to keep.
    fn survey(&mut self) -> Survey {
        Survey {
            obstacles: vec![NO_CHECKPOINTS.into()],
            ..Survey::default()
        }
    }

    /// What an object of the survey holds.
    ///
    /// # Errors
    /// [`Unable`], one sentence; the session goes on.
    fn fetch(&mut self, _api: u16, _object: u64) -> Result<Vec<u8>, Unable> {
        Err(Unable::because(NO_CHECKPOINTS))
    }

    /// An object holds what was fetched of it in another session.
    ///
    /// # Errors
    /// [`Unable`].
    fn fill(&mut self, _api: u16, _object: u64, _bytes: &[u8]) -> Result<(), Unable> {
        Err(Unable::because(NO_CHECKPOINTS))
    }

    /// The event of an operation that ended in another session exists here.
    ///
    /// # Errors
    /// [`Unable`].
    fn past(&mut self, _event: &PastEvent) -> Result<(), Unable> {
        Err(Unable::because(NO_CHECKPOINTS))
    }

    /// The next object that the board numbers gets this number.
    ///
    /// # Errors
    /// [`Unable`].
    fn number_from(&mut self, _api: u16, _number: u64) -> Result<(), Unable> {
        Err(Unable::because(NO_CHECKPOINTS))
    }

    /// The API's code for an operation that nobody ran.
    fn not_run(&self, _op: Op) -> i32 {
        -1
    }

    /// Whether the regions of a call of `op`, if it is the next, may be in memory that is used for
    /// something else once it is answered: nothing that it begins keeps them.
    fn takes_shared(&self, _op: Op) -> bool {
        false
    }
}

/// Why something of a checkpoint cannot be kept or made again; one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unable(pub String);

impl Unable {
    /// With this sentence.
    pub fn because(reason: impl std::fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

/// Why a board cannot be had, or gives no session.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// A back end's driver, or a recording.
    #[error(transparent)]
    Driver(Box<dyn std::error::Error + Send + Sync>),
    /// A recording has no such session.
    #[error(transparent)]
    Departed(Box<dyn std::error::Error + Send + Sync>),
    /// No back end of this board takes such calls.
    #[error("this board has no back end for {0}: start an agent that has")]
    NoBackEnd(String),
}

/// One call, its regions read.
#[derive(Debug)]
pub struct Call<'a> {
    /// As it came. If operations do not end before it is answered, its regions
    /// are kept as long as they need them.
    pub head: &'a message::Call<'a>,
    /// The regions, in order.
    pub regions: Vec<Region>,
    /// Where the session's memory is counted.
    pub budget: &'a Budget,
}

/// The outcome of a call.
#[derive(Debug)]
pub struct Outcome {
    /// Whether it ran.
    pub status: CallStatus,
    /// The generated reply type, encoded; a sentence if it did not run.
    pub result: Vec<u8>,
    /// Nanoseconds that the API's function took on this CPU.
    pub cpu_ns: u64,
    /// What equal work has in common ([`Reply::Done`](gil_wire::message::Reply)).
    pub work: Option<u64>,
    /// The call's own out regions, in order, as far as their bytes are known.
    pub out: Vec<Output>,
    /// Operations that ended.
    pub ended: Vec<Ended>,
    /// Whether something was said of a context that the guest may ask for.
    pub notices: bool,
    /// Parts of `cpu_ns` that are other calls': posts before this one.
    pub posted: Vec<Posted>,
}

/// The first `len` bytes of a region go back to the guest.
#[derive(Debug)]
pub enum Output {
    /// None of them, or not yet.
    None,
    /// Some of them.
    Bytes {
        /// The region.
        region: Region,
        /// How many bytes of it are used.
        len: usize,
    },
}

impl Output {
    /// All of a region's bytes.
    pub fn whole(region: Region) -> Self {
        let len = region.len();
        Self::Bytes { region, len }
    }

    /// The number of bytes sent back.
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Bytes { len, .. } => *len,
        }
    }

    /// Whether none do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether they are in the window already.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Bytes { region, .. } if region.is_shared())
    }

    /// The bytes sent back.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::Bytes { region, len } => &region.bytes()[..*len],
        }
    }
}

/// An operation that ended.
#[derive(Debug)]
pub struct Ended {
    /// The event that it signals.
    pub event: u64,
    /// Nanoseconds on the device.
    pub duration_ns: u64,
    /// How it ended.
    pub ending: Ending,
    /// Its out regions; empty in the outcome of the call that enqueued it.
    pub out: Vec<Output>,
    /// What its kernels printed, at most
    /// [`PRINTED_MAX`](gil_wire::message::PRINTED_MAX) bytes.
    pub printed: Vec<u8>,
    /// Whether nothing was enqueued: its call was refused with this failure.
    pub rejected: bool,
}

impl Ended {
    /// Nothing came of it, and nothing was measured.
    pub fn bare(event: u64, ending: Ending) -> Self {
        Self {
            event,
            duration_ns: 0,
            ending,
            out: Vec::new(),
            printed: Vec::new(),
            rejected: false,
        }
    }
}

impl Outcome {
    /// The call was not run.
    pub fn refused(reason: impl std::fmt::Display) -> Self {
        Self::failed(CallStatus::Refused, reason)
    }

    /// The board has nothing that takes the call.
    pub fn not_served(reason: impl std::fmt::Display) -> Self {
        Self::failed(CallStatus::NotServed, reason)
    }

    /// The session is over.
    pub fn lost(reason: impl std::fmt::Display) -> Self {
        Self::failed(CallStatus::Lost, reason)
    }

    fn failed(status: CallStatus, reason: impl std::fmt::Display) -> Self {
        Self {
            status,
            result: reason.to_string().into_bytes(),
            cpu_ns: 0,
            out: Vec::new(),
            ended: Vec::new(),
            work: None,
            notices: false,
            posted: Vec::new(),
        }
    }
}
