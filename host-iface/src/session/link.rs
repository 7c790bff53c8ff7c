//! A session's connection to the board: the socket, what the board serves, and
//! outstanding requests.

use super::Context;
use super::calls::Call;
use super::forward::{Sent, unexpected};
use super::lateness::Lateness;
use super::log::{Kept, Log};
use super::served::Served;
use crate::boards::{self, Boards};
use gil_files::recording::{self, Record, SessionClosed, SessionOpened};
use gil_transport::client::{Client, ClientError};
use gil_wire::Op;
use gil_wire::api::{Described, effect};
use gil_wire::frame::FrameError;
use gil_wire::message::{Done, Posted, Reply, Request};
use gil_wire::monitor::Event as Monitor;
use std::sync::Arc;

/// The connection.
#[derive(Debug, Default)]
enum Board {
    /// No call to the board yet.
    #[default]
    Unopened,
    /// Connected.
    Open(Box<Client>),
    /// Gone, for good.
    Lost,
}

/// A session's place on the board.
#[derive(Debug)]
pub(super) struct Link {
    boards: Arc<Boards>,
    /// The place of its board among them.
    place: usize,
    process: u32,
    pointer_bits: u32,
    board: Board,
    /// What the board serves, and what was reported to the user as not served.
    pub(super) served: Served,
    /// How late its threads are.
    pub(super) lateness: Lateness,
    /// The session's number in the recording.
    recorded_as: u64,
    /// What a checkpoint needs, if one may be taken.
    pub(super) log: Option<Log>,
    /// The call under way, for it.
    pub(super) kept: Option<Kept>,
}

impl Link {
    /// Of a guest process whose pointers have so many bits, with no connection
    /// yet.
    pub(super) fn new(
        process: u32,
        pointer_bits: u32,
        is_logged: bool,
        (boards, place): (&Arc<Boards>, usize),
    ) -> Self {
        Self {
            boards: boards.clone(),
            place,
            process,
            pointer_bits,
            board: Board::default(),
            served: Served::default(),
            lateness: Lateness::default(),
            recorded_as: 0,
            log: is_logged.then(Log::default),
            kept: None,
        }
    }

    /// The board that it is to.
    pub(super) fn at(&self) -> &boards::Board {
        &self.boards.all()[self.place]
    }

    pub(super) fn process(&self) -> u32 {
        self.process
    }

    pub(super) fn pointer_bits(&self) -> u32 {
        self.pointer_bits
    }

    pub(super) fn recorded_as(&self) -> u64 {
        self.recorded_as
    }

    pub(super) fn is_unopened(&self) -> bool {
        matches!(self.board, Board::Unopened)
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.board, Board::Open(_))
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(self.board, Board::Lost)
    }

    /// What the board serves, if the session is on one.
    pub(super) fn apis(&self) -> Option<Vec<Described>> {
        self.is_open().then(|| self.served.all().to_vec())
    }

    pub(super) fn client(&mut self) -> Option<&mut Client> {
        match &mut self.board {
            Board::Open(client) => Some(client),
            Board::Unopened | Board::Lost => None,
        }
    }

    /// Takes an open connection out: who does not put it back has lost it.
    pub(super) fn take(&mut self) -> Option<Box<Client>> {
        match std::mem::replace(&mut self.board, Board::Lost) {
            Board::Open(client) => Some(client),
            other => {
                self.board = other;
                None
            }
        }
    }

    pub(super) fn put(&mut self, client: Box<Client>) {
        self.board = Board::Open(client);
    }

    /// There is no board any more.
    pub(super) fn lose(&mut self) {
        self.board = Board::Lost;
    }

    /// Takes the connection out, made if there is none yet.
    pub(super) fn open(
        &mut self,
        context: &mut Context<'_>,
        op: Op,
        now_ns: u64,
    ) -> Result<Box<Client>, ClientError> {
        if self.is_unopened() {
            if context.stats.first_call(now_ns) {
                let name = op.to_string();
                context.events.tell(Monitor::FirstCall { now_ns, name });
            }
            return self.connect(context);
        }
        let mut client = self.take().ok_or(ClientError::Closed)?;
        client.begin();
        Ok(client)
    }

    pub(super) fn connect(
        &mut self,
        context: &mut Context<'_>,
    ) -> Result<Box<Client>, ClientError> {
        let events = &mut *context.events;
        let connected =
            Client::connect_saying(&self.boards.all()[self.place].config, &mut |text| {
                events.warn(text)
            });
        let mut client = Box::new(connected?);
        client.begin();
        client.send_message(&Request::Open {
            process: self.process,
            pointer_bits: self.pointer_bits,
            finish: context.finish,
        })?;
        let header = client.reply()?.header;
        context.took.waited += client.take_waited();
        match postcard::from_bytes(&header).map_err(FrameError::from)? {
            Reply::Opened { apis } => self.served = Served::by(apis),
            Reply::Refused { reason } => return Err(ClientError::Refused(reason.into())),
            Reply::Departed { reason } => return Err(ClientError::Departed(reason.into())),
            other => return Err(unexpected(&other, "the session's opening")),
        }
        self.record_opening(context);
        Ok(client)
    }

    fn record_opening(&mut self, context: &mut Context<'_>) {
        let Some(recorder) = context.trace else {
            return;
        };
        self.recorded_as = recorder.next_session();
        let opened = SessionOpened {
            session: self.recorded_as,
            process: self.process,
            pointer_bits: self.pointer_bits,
            apis: self.of_its_board(),
        };
        context.record(&Record::SessionOpened(opened), &[]);
    }

    /// Of what the board serves, the APIs that the run has it for.
    fn of_its_board(&self) -> Vec<Described> {
        let served = self.served.all().iter();
        let is_its = |api: &&Described| self.boards.place(api.number) == self.place;
        served.filter(is_its).cloned().collect()
    }

    /// The session ends; never waits for the board.
    pub(super) fn close(&mut self, context: &mut Context<'_>) {
        if let Some(client) = self.client() {
            client.send_last(&Request::Close);
        }
        if self.recorded_as != 0 {
            let session = self.recorded_as;
            context.record(&Record::SessionClosed(SessionClosed { session }), &[]);
        }
    }

    /// Records calls that are not answered, with their input.
    pub(super) fn record_posts(
        &self,
        context: &mut Context<'_>,
        calls: &[&Call<'_>],
        sent: &Sent,
        answered: Option<usize>,
    ) {
        for (index, (call, input)) in calls.iter().zip(sent).enumerate() {
            if answered != Some(index) {
                self.record_call(context, call, input, None, &[]);
            }
        }
    }

    /// Records what calls without an answer took, which the next answer says.
    pub(super) fn record_posted(&self, context: &mut Context<'_>, posted: &[Posted]) {
        if context.trace.is_none() || posted.is_empty() {
            return;
        }
        let record = Record::Posted(recording::Costs {
            session: self.recorded_as,
            posted: posted.to_vec(),
        });
        context.record(&record, &[]);
    }

    /// Records one call.
    pub(super) fn record_call(
        &self,
        context: &mut Context<'_>,
        call: &Call<'_>,
        input: &[Vec<u8>],
        done: Option<&Done<'_>>,
        output: &[&[u8]],
    ) {
        if context.trace.is_none() {
            return;
        }
        let record = Record::Call(recording::Called {
            session: self.recorded_as,
            call: call.message(),
            done: done.cloned(),
        });
        let input = input.iter().map(Vec::as_slice);
        let payload: Vec<&[u8]> = input.chain(output.iter().copied()).collect();
        context.record(&record, &payload);
    }

    /// A call was made, and answered so if it was to be: a checkpoint may need
    /// it.
    pub(super) fn remember(&mut self, kept: Option<Kept>, result: Option<&[u8]>) {
        let (Some(mut kept), Some(log)) = (kept, &mut self.log) else {
            return;
        };
        if let Some(effect) = effect(kept.op, &kept.args, result) {
            kept.result = result.map(<[u8]>::to_vec);
            log.add(kept, effect);
        }
    }
}
