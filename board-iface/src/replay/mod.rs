//! A recording instead of a device: the n-th opened session gets the answers of the n-th
//! recorded one, as long as each request equals the recorded one.

mod alternatives;
mod boards;
mod fetches;
mod file;
mod live;
mod order;
mod read;
mod unrecorded;

use crate::board::{Board, BoardError, Call, Ended, Guest, Outcome, Session, Unable};
use crate::region::{Budget, Region};
use file::{RecordedSession, Recording};
use gil_files::container::FileError;
use gil_files::difference::Difference;
use gil_files::recording::{Called, FILE};
use gil_transport::client::BoardConfig;
use gil_wire::api::Described;
use gil_wire::checkpoint::{PastEvent, Survey};
use gil_wire::choice::Together;
use gil_wire::identity::{DeviceIdentity, DeviceInfo};
use gil_wire::message::{self, CallStatus, Done, Report};
use live::{Live, NotLive, Step};
use order::{Order, is_unordered};
use read::{ReadError, outputs, report_of};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unrecorded::Unrecorded;

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("cannot read the recording {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// Its answers cannot be read when they are needed.
    #[error("the recording {} is no regular file, and a replay reads parts of it again: save it in a file first", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// Another run writes it.
    #[error("another run writes the recording {}: wait until it ends, or replay another file", path.display())]
    Written {
        /// The file.
        path: PathBuf,
    },
    /// It is no recording for this build.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: FileError,
    },
    /// No recording that `gil` wrote has that: which session is meant is not known.
    #[error("{}: two of its sessions have the number {session}: record the run again", path.display())]
    Repeated {
        /// The file.
        path: PathBuf,
        /// The number.
        session: u64,
    },
    /// More sessions are opened than were recorded.
    #[error(
        "the recording holds {} and one more was opened: {}",
        sessions(*.recorded),
        rest.as_deref().unwrap_or(ONE_RUN)
    )]
    NoSession {
        /// Sessions in the recording.
        recorded: usize,
        /// Why there may have been more.
        rest: Option<String>,
    },
    /// The recorded run had several boards.
    #[error("the run that {} records had several boards: replay it with {}", path.display(), boards.join(" "))]
    Boards {
        /// The file.
        path: PathBuf,
        /// The options that name a board for each.
        boards: Vec<String>,
    },
    /// The program has other pointers than the recorded one.
    #[error(
        "the recorded program has pointers of {recorded} bits, this one of {now}: replay the run that was recorded"
    )]
    PointerBits {
        /// In the recording.
        recorded: u32,
        /// Now.
        now: u32,
    },
}

/// What a replaying board is for.
const ONE_RUN: &str =
    "replay the run that was recorded, and start the replaying board anew for each run";

fn sessions(count: usize) -> String {
    match count {
        1 => "1 session".into(),
        _ => format!("{count} sessions"),
    }
}

impl From<ReplayError> for BoardError {
    fn from(error: ReplayError) -> Self {
        Self::Departed(Box::new(error))
    }
}

/// Where the run leaves the recording.
#[derive(Debug, thiserror::Error)]
enum Departure {
    #[error(
        "the run departs from the recording at {place}: {}; replay the run that was recorded, with the same options, record it again, or name a board for the rest with --replay-live",
        difference.between("now", "in the recording")
    )]
    Differs {
        place: CallPlace,
        difference: Difference,
    },
    #[error(
        "the run departs from the recording at {0}: its threads called in another order, so that the numbers of their operations differ; replay the run that was recorded, with the same options, or record it again"
    )]
    Order(CallPlace),
    #[error("{}", at_the_end(*place, *calls, rest.as_deref()))]
    End {
        place: CallPlace,
        calls: usize,
        rest: Option<String>,
    },
    #[error(
        "the board was lost in the recorded run at {0}, or the run was ended there: there is no answer to give"
    )]
    Unanswered(CallPlace),
    #[error("the recording cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("the recording is damaged: {0}")]
    Trace(#[from] FileError),
    #[error(
        "the recording is damaged: its answer to call {call} of session {session} does not fit the call's regions"
    )]
    Regions { session: usize, call: usize },
    #[error(
        "the recording is damaged: its report of event {0} does not fit the regions of the call that signals it"
    )]
    Report(u64),
    #[error(
        "the recording does not say how the operation of event {0} ended, or its run was ended before that: replay the run that was recorded, with the same options, or record it again"
    )]
    Unasked(u64),
    #[error(transparent)]
    Read(ReadError),
    #[error("{0}; and the live board does not serve it: {1}")]
    NotLive(Box<Departure>, NotLive),
    #[error("the live board was lost: {0}")]
    LiveLost(NotLive),
}

impl From<ReadError> for Departure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => Self::Io(error),
            other => Self::Read(other),
        }
    }
}

/// A session goes on where the recorded one ends: what is at fault comes first.
fn at_the_end(place: CallPlace, calls: usize, rest: Option<&str>) -> String {
    match rest {
        Some(rest) => format!("{rest}; it ends after {calls} calls, before {place}"),
        None => format!(
            "the run departs from the recording at {place}: the recorded session ends after {calls} calls, or its run was ended there; replay the run that was recorded, with the same options, or record it again"
        ),
    }
}

/// A call's place in its run.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("call {call} of session {session} ({op}, thread {thread}, sequence number {seq})")]
struct CallPlace {
    session: usize,
    call: usize,
    op: gil_wire::Op,
    thread: u32,
    seq: u64,
}

impl Departure {
    /// Whether the session is lost as any may be: as the recorded one was, or for want of
    /// memory. Then the run goes on.
    fn is_loss(&self) -> bool {
        match self {
            Self::Unanswered(_) | Self::LiveLost(_) => true,
            Self::Read(error) => error.is_for_want_of_memory(),
            _ => false,
        }
    }

    /// Whether it is about a request that was not recorded, which a live board may serve.
    fn is_of_the_guest(&self) -> bool {
        matches!(
            self,
            Self::Differs { .. } | Self::Order(_) | Self::End { .. }
        )
    }
}

/// A board that answers from a recording.
#[derive(Debug)]
pub struct ReplayBoard {
    recording: Arc<Recording>,
    /// Who serves what was not recorded.
    live: Option<BoardConfig>,
    /// Places of the sessions that it serves.
    served: Vec<usize>,
    /// Those of them that were opened. One that ends before its first
    /// call was no part of the run, unless it is recorded so.
    opened: Mutex<BTreeSet<usize>>,
}

/// What the board's device says its API is.
pub const API: &str = "replay";

impl ReplayBoard {
    /// Reads a recording. What follows its last whole record is ignored, with
    /// a warning.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        Self::open_for(path, &[])
    }

    /// The same; of a run with several boards it stands for the one for these APIs.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn open_for(path: &Path, apis: &[Together]) -> Result<Self, ReplayError> {
        let recording = Recording::open(path)?;
        let sessions = recording.sessions.iter().enumerate();
        let is_served = |(_, session): &(usize, &RecordedSession)| session.is_for(apis);
        let served = sessions.filter(is_served).map(|(place, _)| place);
        let served: Vec<_> = served.collect();
        boards::check_one(&recording, &served)?;
        Ok(Self {
            recording: Arc::new(recording),
            live: None,
            served,
            opened: Mutex::default(),
        })
    }

    /// The same, where this board serves what was not recorded.
    #[must_use]
    pub fn with_live(self, live: Option<BoardConfig>) -> Self {
        Self { live, ..self }
    }

    fn opened(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Board for ReplayBoard {
    fn devices(&self) -> Vec<DeviceInfo> {
        vec![DeviceInfo {
            api: API.into(),
            platform: "gil recording".into(),
            name: self.recording.path.display().to_string(),
            version: format!("layout {}", FILE.version),
        }]
    }

    fn open<'b>(
        &'b self,
        guest: Guest,
        _budget: &Budget,
    ) -> Result<Box<dyn Session + 'b>, BoardError> {
        let recorded = self.take(guest);
        let number = match (recorded, &self.live) {
            (Ok(number), _) => number,
            (Err(error), Some(live)) => {
                tracing::info!("{error}: the live board serves it");
                let live = Live::open(live, guest).map_err(not_live)?;
                return Ok(Box::new(Unrecorded::new(live)));
            }
            (Err(error), None) => return Err(error.into()),
        };
        Ok(Box::new(ReplaySession {
            board: self,
            recording: self.recording.clone(),
            guest,
            number,
            order: Order::default(),
            rooms: HashMap::new(),
            steps: Vec::new(),
            live: None,
            departed: None,
            lost: None,
        }))
    }
}

/// There is no session, recorded or live, so the run cannot be the recorded one.
fn not_live(error: NotLive) -> BoardError {
    BoardError::Departed(Box::new(error))
}

impl ReplayBoard {
    /// The next recorded session for this guest.
    fn take(&self, guest: Guest) -> Result<usize, ReplayError> {
        let mut opened = self.opened();
        let mut served = self.served.iter().copied();
        let next = served.find(|number| !opened.contains(number));
        let number = next.ok_or_else(|| ReplayError::NoSession {
            recorded: self.served.len(),
            rest: self.recording.rest_in_words(),
        })?;
        let recorded = self.recording.sessions[number].pointer_bits;
        let now = guest.pointer_bits;
        if recorded != now {
            return Err(ReplayError::PointerBits { recorded, now });
        }
        opened.insert(number);
        Ok(number)
    }
}

struct ReplaySession<'b> {
    board: &'b ReplayBoard,
    recording: Arc<Recording>,
    guest: Guest,
    number: usize,
    order: Order,
    /// The out regions of calls that signal an event, by the event, until it is
    /// reported.
    rooms: HashMap<u64, Vec<u64>>,
    /// What was answered, for a live board that is to go on from there.
    steps: Vec<Step>,
    /// It serves the session by now.
    live: Option<Live>,
    departed: Option<String>,
    /// Why no call is answered any more, where the run goes on.
    lost: Option<String>,
}

impl Drop for ReplaySession<'_> {
    fn drop(&mut self) {
        let has_calls = !self.recording.sessions[self.number].calls.is_empty();
        if self.order.next() == 0 && has_calls {
            self.board.opened().remove(&self.number);
        }
    }
}

impl Session for ReplaySession<'_> {
    fn apis(&self) -> Vec<Described> {
        self.recording.sessions[self.number].apis.clone()
    }

    fn identify(&mut self, api: u16, device: u64) -> Option<DeviceIdentity> {
        let devices = &self.recording.sessions[self.number].devices;
        let recorded = devices.get(&(api, device)).cloned();
        match (recorded, &mut self.live) {
            (_, Some(live)) => live.identify(api, device).ok()?,
            (Some(identity), None) => identity,
            (None, None) => None,
        }
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        if let Some(reason) = self.departed.as_ref().or(self.lost.as_ref()) {
            return Outcome::lost(reason);
        }
        self.outcome(&call).unwrap_or_else(|departure| {
            let outcome = Outcome::lost(&departure);
            self.end(&departure);
            outcome
        })
    }

    fn departed(&self) -> Option<&str> {
        self.departed.as_deref()
    }

    fn finish(&mut self, event: u64, budget: &Budget) -> Option<Ended> {
        if self.departed.is_some() || self.lost.is_some() {
            return None;
        }
        self.ended(event, budget).unwrap_or_else(|departure| {
            tracing::warn!("{departure}");
            self.end(&departure);
            None
        })
    }

    fn survey(&mut self) -> Survey {
        Survey {
            obstacles: vec![NO_OBJECTS.into()],
            ..Survey::default()
        }
    }

    // What is restored was restored in the recorded run, too, and has no answer
    // that could differ.
    fn fill(&mut self, _api: u16, _object: u64, _bytes: &[u8]) -> Result<(), Unable> {
        Ok(())
    }

    fn past(&mut self, _event: &PastEvent) -> Result<(), Unable> {
        Ok(())
    }

    fn number_from(&mut self, _api: u16, _number: u64) -> Result<(), Unable> {
        Ok(())
    }
}

/// Why a checkpoint is not taken.
const NO_OBJECTS: &str = "the board answers from a recording, which holds no objects: take checkpoints of runs with a device";

impl ReplaySession<'_> {
    /// From the recording, or once the run has left it from a live board.
    fn outcome(&mut self, call: &Call<'_>) -> Result<Outcome, Departure> {
        if self.live.is_none() {
            let calls = self.order.next();
            match self.answer(call) {
                Err(departure) if departure.is_of_the_guest() => {
                    if let Some(outcome) = self.go_elsewhere(calls, call)? {
                        return Ok(outcome);
                    }
                    self.go_live(departure, call.budget)?;
                }
                answered => return answered,
            }
        }
        let live = self.live.as_mut().map(|live| live.call(call));
        live.unwrap_or_else(|| Ok(ran(&[], 0)))
            .map_err(Departure::LiveLost)
    }

    /// Answers from another session of the recording that begins with the same calls and goes
    /// on with this one, if there is one that no other program was answered from.
    fn go_elsewhere(
        &mut self,
        calls: usize,
        call: &Call<'_>,
    ) -> Result<Option<Outcome>, Departure> {
        if self.order.is_reordered() {
            return Ok(None);
        }
        let (own, recording) = (self.number, self.recording.clone());
        let opened = self.board.opened().clone();
        let served = self.board.served.iter().copied();
        for other in served.filter(|other| !opened.contains(other)) {
            let rooms = &self.rooms;
            let is_untold = |event| rooms.contains_key(&event);
            if !alternatives::begin_alike(&recording, [own, other], calls, &is_untold)? {
                continue;
            }
            self.number = other;
            self.order.go_to(calls);
            match self.answer(call) {
                Err(departure) if departure.is_of_the_guest() => self.number = own,
                answered => {
                    self.board.opened().insert(other);
                    return answered.map(Some);
                }
            }
        }
        self.order.go_to(calls);
        Ok(None)
    }

    /// Has the live board go on from here, if there is one.
    fn go_live(&mut self, departure: Departure, budget: &Budget) -> Result<(), Departure> {
        let Some(board) = &self.board.live else {
            return Err(departure);
        };
        tracing::info!("{departure}: the live board goes on");
        let from = (&*self.recording, self.number);
        let live = Live::open(board, self.guest).and_then(|mut live| {
            live.follow(from, &self.steps, budget)?;
            Ok(live)
        });
        self.steps = Vec::new();
        match live {
            Ok(live) => self.live = Some(live),
            Err(why) => return Err(Departure::NotLive(Box::new(departure), why)),
        }
        Ok(())
    }

    fn answer(&mut self, call: &Call<'_>) -> Result<Outcome, Departure> {
        if is_unordered(call.head) {
            return Ok(ran(&[], 0));
        }
        let recording = self.recording.clone();
        let RecordedSession { calls, threads, .. } = &recording.sessions[self.number];
        self.order.pass(calls)?;
        if self.order.next() >= calls.len() {
            return Err(Departure::End {
                place: self.place(call, self.order.next() + 1),
                calls: calls.len(),
                rest: recording.rest_in_words(),
            });
        }
        let at = match threads.contains(&call.head.thread) {
            true => self.order.recorded_of(call.head, calls)?,
            false => self.order.next(),
        };
        let recorded = &calls[at];
        self.order.made(at);
        let head = recorded.head()?;
        let mut payload = recording.payload(&recorded.payload())?;
        let answered = self.answer_from(at, &head, call, &mut payload);
        recording.check(payload)?;
        answered
    }

    /// The answer to the recorded call `at`, if this is that.
    fn answer_from(
        &mut self,
        at: usize,
        head: &Called<'_>,
        call: &Call<'_>,
        payload: &mut impl Read,
    ) -> Result<Outcome, Departure> {
        self.compare(at, call, &head.call, payload)?;
        self.note(at, call.head);
        if let Some(event) = call.head.event {
            self.rooms.insert(event, rooms(&call.regions));
        }
        match &head.done {
            Some(done) => self.done(at, call, done, payload),
            None if head.call.answer => {
                let place = self.place(call, at + 1);
                Err(Departure::Unanswered(place))
            }
            None => Ok(ran(&[], 0)),
        }
    }

    /// The recorded call `at` was made.
    fn note(&mut self, at: usize, head: &message::Call<'_>) {
        if self.board.live.is_some() {
            self.steps.push(Step::Call {
                place: at,
                seq: head.seq,
                thread: head.thread,
                finish: head.finish,
                event: head.event,
            });
        }
    }

    /// Nothing is answered any more.
    fn end(&mut self, departure: &Departure) {
        let reason = Some(departure.to_string());
        match departure.is_loss() {
            true => self.lost = reason,
            false => self.departed = reason,
        }
    }

    fn place(&self, call: &Call<'_>, number: usize) -> CallPlace {
        CallPlace {
            session: self.number + 1,
            call: number,
            op: call.head.op,
            thread: call.head.thread,
            seq: call.head.seq,
        }
    }

    fn compare(
        &self,
        at: usize,
        call: &Call<'_>,
        recorded: &message::Call<'_>,
        payload: &mut impl Read,
    ) -> Result<(), Departure> {
        let ins = call.regions.iter().filter(|region| region.dir().is_in());
        let ins: Vec<&[u8]> = ins.map(Region::bytes).collect();
        let difference = match Difference::of_heads(call.head, recorded) {
            Some(difference) => Some(difference),
            None => Difference::of_input(&recorded.regions, &mut Joined(&ins, 0), payload)?,
        };
        let place = self.place(call, at + 1);
        if let Some(difference) = difference {
            return Err(Departure::Differs { place, difference });
        }
        // The program numbers its operations as they come, and the recorded ends have those numbers.
        match self.order.is_reordered() && call.head.event != recorded.event {
            true => Err(Departure::Order(place)),
            false => Ok(()),
        }
    }

    fn done(
        &mut self,
        at: usize,
        call: &Call<'_>,
        done: &Done<'_>,
        payload: &mut impl Read,
    ) -> Result<Outcome, Departure> {
        let mut outcome = Outcome {
            status: done.status,
            notices: done.notices,
            posted: self.recording.sessions[self.number].posted(at),
            ..ran(done.result, done.cpu_ns)
        };
        if !done.out.is_empty() && !fits(&done.out, &rooms(&call.regions)) {
            return Err(Departure::Regions {
                session: self.number + 1,
                call: at + 1,
            });
        }
        outcome.out = outputs(&done.out, payload, call.budget)?;
        for report in &done.reports {
            outcome
                .ended
                .push(self.reported(report, payload, call.budget)?);
        }
        Ok(outcome)
    }

    fn ended(&mut self, event: u64, budget: &Budget) -> Result<Option<Ended>, Departure> {
        if let Some(live) = &mut self.live {
            let ended = live.finish(event, budget);
            return ended.map(Some).map_err(Departure::LiveLost);
        }
        let recording = self.recording.clone();
        let recorded = recording.sessions[self.number].ended.get(&event);
        let Some(end) = recorded else {
            if self.board.live.is_none() {
                return Err(Departure::Unasked(event));
            }
            self.go_live(Departure::Unasked(event), budget)?;
            return self.ended(event, budget);
        };
        let mut payload = recording.payload(&end.payload)?;
        if self.board.live.is_some() {
            self.steps.push(Step::Ended(event));
        }
        let reported = self.reported(&end.report, &mut payload, budget);
        recording.check(payload)?;
        reported.map(Some)
    }

    /// How an operation ended, and what it wrote.
    fn reported(
        &mut self,
        report: &Report,
        payload: &mut impl Read,
        budget: &Budget,
    ) -> Result<Ended, Departure> {
        let rooms = self.rooms.remove(&report.event);
        if rooms.is_some_and(|rooms| !report.out.is_empty() && !fits(&report.out, &rooms)) {
            return Err(Departure::Report(report.event));
        }
        Ok(report_of(report, payload, budget)?)
    }
}

/// Pieces of memory, one behind the other.
struct Joined<'a>(&'a [&'a [u8]], usize);

impl Read for Joined<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let [piece, rest @ ..] = self.0 {
            if self.1 == piece.len() {
                (self.0, self.1) = (rest, 0);
                continue;
            }
            let read = (&piece[self.1..]).read(out)?;
            self.1 += read;
            return Ok(read);
        }
        Ok(0)
    }
}

/// Bytes of each out region.
fn rooms(regions: &[Region]) -> Vec<u64> {
    let outs = regions.iter().filter(|region| region.dir().is_out());
    outs.map(|region| region.len() as u64).collect()
}

fn fits(lens: &[u64], rooms: &[u64]) -> bool {
    lens.len() == rooms.len() && lens.iter().zip(rooms).all(|(len, room)| len <= room)
}

fn ran(result: &[u8], cpu_ns: u64) -> Outcome {
    Outcome {
        status: CallStatus::Ran,
        result: result.to_vec(),
        cpu_ns,
        out: Vec::new(),
        ended: Vec::new(),
        work: None,
        notices: false,
        posted: Vec::new(),
    }
}
