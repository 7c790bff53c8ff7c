//! A live board behind a recording: it serves what was not recorded. First it gets the
//! requests of the session up to there, and must answer them as the recording does, but for
//! times: the program goes on from those answers.

use super::CallPlace;
use super::fetches::{self, Part};
use super::file::{RecordedSession, Recording};
use super::read::{ReadError, outputs, report_of};
use crate::board::{Call, Ended, Guest, Outcome, Output};
use crate::region::{Budget, Region};
use gil_files::container::FileError;
use gil_files::recording::Called;
use gil_transport::client::{BoardConfig, Client, ClientError};
use gil_transport::vectored::Span;
use gil_wire::Op;
use gil_wire::api::{self, ApiError, Described};
use gil_wire::driver::Fetched;
use gil_wire::frame::{self, FrameError};
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::{self, CallStatus, Done, Reply, Report, Request};
use gil_wire::words::Words;
use std::collections::HashMap;
use std::io::{self, Read};

/// Why the live board does not take over.
#[derive(Debug, thiserror::Error)]
pub enum NotLive {
    /// It cannot be reached, or ended the session.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// It does not serve the API, or another description of it.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// It gave another answer than the recorded board.
    #[error(
        "it answers {place} in another way than the recorded board ({what}), and the program goes on from that answer: use the board that was recorded, or record the run again"
    )]
    Answer {
        /// Which call's.
        place: CallPlace,
        /// What differs.
        what: &'static str,
    },
    /// The same of an operation.
    #[error(
        "the operation of event {event} has {what} than on the recorded board, and the program goes on from that: use the board that was recorded, or record the run again"
    )]
    End {
        /// The event that it signals.
        event: u64,
        /// What differs.
        what: &'static str,
    },
    /// The recording.
    #[error("the recording cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The recording.
    #[error("the recording is damaged: {0}")]
    Trace(#[from] FileError),
    /// What it brought, or the recording has.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<FrameError> for NotLive {
    fn from(error: FrameError) -> Self {
        Self::Client(error.into())
    }
}

/// What a session answered from its recording so far.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A call, with what may differ from the recorded one.
    Call {
        /// Its place among the recorded calls.
        place: usize,
        /// Its submission's number.
        seq: u64,
        /// The guest thread.
        thread: u32,
        /// Whether operations were to end before it was answered.
        finish: bool,
        /// The event that it signals.
        event: Option<u64>,
    },
    /// How an operation ended.
    Ended(u64),
}

/// A session on the live board.
#[derive(Debug)]
pub struct Live {
    client: Client,
    apis: Vec<Described>,
    /// What it reported, and the guest was not told yet.
    kept: HashMap<u64, Ended>,
}

impl Live {
    /// A session of this guest's.
    ///
    /// # Errors
    /// [`NotLive`].
    pub fn open(board: &BoardConfig, guest: Guest) -> Result<Self, NotLive> {
        let mut client = Client::connect(board)?;
        client.begin();
        client.send_message(&Request::Open {
            process: guest.process,
            pointer_bits: guest.pointer_bits,
            finish: guest.finish,
        })?;
        let header = client.reply()?.header;
        let apis = match postcard::from_bytes(&header).map_err(FrameError::from)? {
            Reply::Opened { apis } => apis,
            other => return Err(refused(&other).into()),
        };
        let kept = HashMap::new();
        Ok(Self { client, apis, kept })
    }

    /// The APIs that it serves.
    pub fn apis(&self) -> &[Described] {
        &self.apis
    }

    /// Whether calls of an API may be sent.
    ///
    /// # Errors
    /// [`NotLive::Api`].
    pub fn check(&self, number: u16) -> Result<(), NotLive> {
        Ok(api::check(number, &self.apis)?)
    }

    /// Brings it to where the recording led the guest.
    ///
    /// # Errors
    /// [`NotLive`].
    pub fn follow(
        &mut self,
        (recording, number): (&Recording, usize),
        steps: &[Step],
        budget: &Budget,
    ) -> Result<(), NotLive> {
        let session = &recording.sessions[number];
        for step in steps {
            match step {
                Step::Call { .. } => self.repeat((recording, number), step, budget)?,
                Step::Ended(event) => self.ends_as(recording, session, *event, budget)?,
            }
        }
        Ok(())
    }

    /// Makes a recorded call, and compares the answer.
    fn repeat(
        &mut self,
        (recording, number): (&Recording, usize),
        step: &Step,
        budget: &Budget,
    ) -> Result<(), NotLive> {
        let &Step::Call { place, .. } = step else {
            return Ok(());
        };
        let recorded = &recording.sessions[number].calls[place];
        let called = recorded.head()?;
        let mut payload = recording.payload(&recorded.payload())?;
        let repeated = self.repeat_from((&called, number), step, &mut payload, budget);
        recording.check(payload)?;
        repeated
    }

    fn repeat_from(
        &mut self,
        (called, number): (&Called<'_>, usize),
        step: &Step,
        payload: &mut impl Read,
        budget: &Budget,
    ) -> Result<(), NotLive> {
        let &Step::Call {
            place,
            seq,
            thread,
            finish,
            event,
        } = step
        else {
            return Ok(());
        };
        let head = message::Call {
            seq,
            thread,
            finish,
            event,
            ..called.call.clone()
        };
        self.check(head.op.api())?;
        let mut input = vec![0; in_bytes(&head)];
        payload.read_exact(&mut input)?;
        let done = called.done.as_ref().filter(|_| head.answer);
        let parts = done.and_then(|done| fetches::parts(&head, done));
        let Some(done) = done else {
            return self.send(&head, &[&input]);
        };
        let outcome = match parts {
            Some(parts) => self.fetch(&head, &parts, budget)?,
            None => {
                self.send(&head, &[&input])?;
                self.answer(seq, budget)?
            }
        };
        let out = outputs(&done.out, payload, budget)?;
        let op = head.op;
        if let Some(what) = another(op, &outcome, done, &out) {
            let place = CallPlace {
                session: number + 1,
                call: place + 1,
                op,
                thread,
                seq,
            };
            return Err(NotLive::Answer { place, what });
        }
        self.keep(outcome.ended);
        for report in &done.reports {
            let recorded = report_of(report, payload, budget)?;
            self.compare(&recorded, budget)?;
        }
        Ok(())
    }

    /// Fetches what came of a fetch, as one answer.
    fn fetch(
        &mut self,
        head: &message::Call<'_>,
        parts: &[Part],
        budget: &Budget,
    ) -> Result<Outcome, NotLive> {
        let mut whole = super::ran(&[], 0);
        let mut results = Vec::new();
        // With the first one: it is asked for in any case.
        let mut event = head.event;
        for (part, region) in parts.iter().zip(&head.regions) {
            let Some(args) = &part.args else {
                results.push(part.recorded);
                whole.out.push(Output::None);
                continue;
            };
            let call = message::Call {
                event: event.take(),
                regions: vec![*region],
                ..head.clone()
            };
            self.send(&call.with_args(args), &[])?;
            let one = self.answer(head.seq, budget)?;
            let fetched = Fetched::parse(&one.result).map(|fetched| fetched.results);
            match (one.status, fetched) {
                (CallStatus::Ran, Ok(fetched)) => results.extend(fetched),
                _ => return Ok(one),
            }
            whole.out.extend(one.out);
            whole.ended.extend(one.ended);
        }
        let compare_ns = 0;
        let fetched = Fetched {
            compare_ns,
            results,
        };
        whole.result = fetched.encode();
        Ok(whole)
    }

    fn ends_as(
        &mut self,
        recording: &Recording,
        session: &RecordedSession,
        event: u64,
        budget: &Budget,
    ) -> Result<(), NotLive> {
        let Some(end) = session.ended.get(&event) else {
            return Ok(());
        };
        let mut payload = recording.payload(&end.payload)?;
        let recorded = report_of(&end.report, &mut payload, budget);
        recording.check(payload)?;
        let recorded = recorded?;
        self.compare(&recorded, budget)
    }

    /// The guest was told of this end: the live board's is the same.
    fn compare(&mut self, recorded: &Ended, budget: &Budget) -> Result<(), NotLive> {
        let event = recorded.event;
        let live = self.finish(event, budget)?;
        let what = match () {
            () if live.ending != recorded.ending => "another end",
            () if !same(&live.out, &recorded.out) => "another output",
            () if live.printed != recorded.printed => "printed another text",
            () => return Ok(()),
        };
        Err(NotLive::End { event, what })
    }

    /// Has it execute a call.
    ///
    /// # Errors
    /// [`NotLive`]: the session is over.
    pub fn call(&mut self, call: &Call<'_>) -> Result<Outcome, NotLive> {
        self.check(call.head.op.api())?;
        let ins = call.regions.iter().filter(|region| region.dir().is_in());
        let ins: Vec<_> = ins.map(Region::bytes).collect();
        self.send(call.head, &ins)?;
        match call.head.answer {
            true => self.answer(call.head.seq, call.budget),
            false => Ok(super::ran(&[], 0)),
        }
    }

    /// How an operation ended, once it has.
    ///
    /// # Errors
    /// [`NotLive`].
    pub fn finish(&mut self, event: u64, budget: &Budget) -> Result<Ended, NotLive> {
        if let Some(ended) = self.kept.remove(&event) {
            return Ok(ended);
        }
        self.client.begin();
        self.client.send_message(&Request::Await { event })?;
        let header = self.client.reply()?.header;
        let reports = match postcard::from_bytes(&header).map_err(FrameError::from)? {
            Reply::Ended { reports, .. } => reports,
            other => return Err(refused(&other).into()),
        };
        let ended = self.reports(&reports, budget)?;
        self.keep(ended);
        let found = "no end of the operation that was asked for".into();
        let expected = "an operation's end";
        let none = || ClientError::Unexpected { found, expected }.into();
        self.kept.remove(&event).ok_or_else(none)
    }

    /// Which physical device a device is.
    ///
    /// # Errors
    /// [`NotLive`].
    pub fn identify(&mut self, api: u16, device: u64) -> Result<Option<DeviceIdentity>, NotLive> {
        self.client.begin();
        self.client
            .send_message(&Request::Identify { api, device })?;
        let header = self.client.reply()?.header;
        match postcard::from_bytes(&header).map_err(FrameError::from)? {
            Reply::Identity { identity } => Ok(identity),
            other => Err(refused(&other).into()),
        }
    }

    fn keep(&mut self, ended: Vec<Ended>) {
        let ended = ended.into_iter().map(|ended| (ended.event, ended));
        self.kept.extend(ended);
    }

    fn send(&mut self, head: &message::Call<'_>, ins: &[&[u8]]) -> Result<(), NotLive> {
        let len = ins.iter().map(|bytes| bytes.len() as u64).sum();
        let mut bytes = Vec::new();
        frame::begin_with(&Request::Call(head.clone()), len, false, &mut bytes)?;
        self.client.begin();
        let spans = [Span::source(&bytes)].into_iter();
        let ins = ins.iter().map(|bytes| Span::source(bytes));
        Ok(self.client.send(spans.chain(ins))?)
    }

    fn answer(&mut self, of: u64, budget: &Budget) -> Result<Outcome, NotLive> {
        let header = self.client.reply()?.header;
        let (done, posted, work) = match postcard::from_bytes(&header).map_err(FrameError::from)? {
            Reply::Done {
                seq,
                done,
                posted,
                work,
            } if seq == of => (done, posted, work),
            other => return Err(refused(&other).into()),
        };
        let out = self.outputs(&done.out, budget)?;
        Ok(Outcome {
            status: done.status,
            result: done.result.to_vec(),
            cpu_ns: done.cpu_ns,
            out,
            ended: self.reports(&done.reports, budget)?,
            notices: done.notices,
            posted,
            work,
        })
    }

    fn reports(&mut self, reports: &[Report], budget: &Budget) -> Result<Vec<Ended>, NotLive> {
        let from = &mut Incoming(&mut self.client);
        let ended = reports.iter();
        let ended = ended.map(|report| report_of(report, from, budget));
        Ok(ended.collect::<Result<_, _>>()?)
    }

    fn outputs(&mut self, lens: &[u64], budget: &Budget) -> Result<Vec<Output>, NotLive> {
        Ok(outputs(lens, &mut Incoming(&mut self.client), budget)?)
    }
}

/// The payload of a reply.
struct Incoming<'a>(&'a mut Client);

impl Read for Incoming<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.0.payload([Span::target(out)]);
        read.map(|()| out.len()).map_err(io::Error::other)
    }
}

fn in_bytes(head: &message::Call<'_>) -> usize {
    let ins = head.regions.iter().filter(|region| region.dir.is_in());
    ins.map(|region| region.len as usize).sum()
}

/// In what an answer differs from the recorded one, times left out.
fn another(op: Op, live: &Outcome, recorded: &Done<'_>, out: &[Output]) -> Option<&'static str> {
    match () {
        () if live.status != recorded.status => Some("whether it ran"),
        () if !results_alike(op, &live.result, recorded.result) => Some("its result"),
        () if !same(&live.out, out) => Some("what it wrote"),
        () => None,
    }
}

/// Whether two results are the same. That of a fetch has wall time of the board.
fn results_alike(op: Op, live: &[u8], recorded: &[u8]) -> bool {
    let fetched = |bytes: &[u8]| api::is_fetch(op).then(|| Fetched::parse(bytes).ok());
    match [live, recorded].map(|bytes| fetched(bytes).flatten()) {
        [Some(live), Some(recorded)] => live.results == recorded.results,
        _ => live == recorded,
    }
}

fn same(one: &[Output], other: &[Output]) -> bool {
    let one = one.iter().map(Output::bytes);
    one.eq(other.iter().map(Output::bytes))
}

/// What another reply than the one that was asked for means.
fn refused(reply: &Reply<'_>) -> ClientError {
    match reply {
        Reply::Refused { reason } => ClientError::Refused(Words::from(reason.as_ref())),
        _ => ClientError::Unexpected {
            found: "another reply".into(),
            expected: "the answer to a request",
        },
    }
}
