//! The host interface: serves doorbells.

use crate::boards::Boards;
use crate::call_log::{CallLog, CallLogError};
use crate::channels::{ChannelError, Channels};
use crate::checkpoint::CheckpointError;
use crate::config::{Config, Time};
use crate::control::{self, ControlError};
use crate::devices::Devices;
use crate::events::{Events, Monitor, MonitorError, Sink};
use crate::gpu::{self, Code, GpuError, Registers};
use crate::jobs;
use crate::mailbox::{self, Answer, MailboxError};
use crate::memory::GuestMemory;
use crate::prediction::Prediction;
use crate::recorder::{Recorder, RecorderError};
use crate::session::{Context, Session, Took};
use crate::stats::{Counters, Stats};
use crate::submission::Submission;
use crate::target::Target;
use crate::work_times::{WorkTimes, WorkTimesError};
use foldhash::{HashMap, HashMapExt};
use gil_files::calls::{Finished, Mapped};
use gil_files::container::Compression;
use gil_report::{Entry, Program, Report};
use gil_transport::client::{BoardConfig, Cancel, Client, ClientError};
use gil_transport::secure::KeyError;
use gil_uapi::gpu as told;
use gil_uapi::{
    GuestAddress, Mailbox, STATUS_UNSEEN, Status, VirtualAddress, WaitKind, flag, kind,
};
use gil_wire::Op;
use gil_wire::control::{EXCHANGE, Exited, MODULES};
use gil_wire::envelope::Envelope;
use gil_wire::finish::Finish;
use gil_wire::monitor::Event;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

mod checkpoint;
mod clock;
mod live;

/// Most sessions at a time: more processes than use a GPU at once, and a bound
/// for a guest that opens without end.
const MAX_SESSIONS: usize = 4096;

/// The host interface in a simulator's process. Doorbells may ring on any
/// thread; one is served at a time.
pub struct Host {
    cancel: Cancel,
    code: Arc<Code>,
    state: Arc<Mutex<State>>,
}

struct State {
    memory: Option<Box<dyn GuestMemory>>,
    gpu: Option<Registers>,
    code: Arc<Code>,
    /// What was last said of it.
    gpu_error: String,
    boards: Arc<Boards>,
    time: Time,
    finish: Finish,
    /// Whether sessions can be in a checkpoint.
    keeps_log: bool,
    sessions: HashMap<u64, Session>,
    /// Those of the board's devices, which all sessions use.
    target: Target,
    /// Whose engines they are.
    devices: Devices,
    events: Events,
    stats: Stats,
    trace: Option<Recorder>,
    calls: Option<CallLog>,
    works: WorkTimes,
    channels: Channels,
    prediction: Prediction,
    counts_instructions: bool,
    spins: bool,
    seen_driver: bool,
    report_path: Option<PathBuf>,
    report: Option<Report>,
}

/// What a doorbell was for, and what it was answered. All zero, with the status
/// `STATUS_UNSEEN`, where no mailbox was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// See [`kind`]; 0 if the mailbox was refused.
    pub kind: u32,
    /// The number of a [`Status`], or [`STATUS_UNSEEN`].
    pub status: u32,
    /// The session.
    pub session: u64,
    /// The submission's number.
    pub seq: u64,
    /// The number of a [`WaitKind`].
    pub wait_kind: u32,
    /// See [`gil_uapi::flag`].
    pub flags: u32,
    /// Guest nanoseconds at the doorbell.
    pub now_ns: u64,
    /// Guest nanoseconds until when the thread waits.
    pub deadline_ns: u64,
    /// Guest nanoseconds when the driver rings by itself; 0: not at all.
    pub attention_ns: u64,
}

impl Rung {
    fn refused(status: u32) -> Self {
        Self {
            kind: 0,
            status,
            session: 0,
            seq: 0,
            wait_kind: WaitKind::None as u32,
            flags: 0,
            now_ns: 0,
            deadline_ns: 0,
            attention_ns: 0,
        }
    }

    fn answered(mailbox: &Mailbox, answer: &Answer) -> Self {
        Self {
            kind: mailbox.kind,
            status: answer.status as u32,
            session: mailbox.session,
            seq: mailbox.seq,
            wait_kind: answer.wait as u32,
            flags: answer.flags,
            now_ns: mailbox.now_ns,
            deadline_ns: answer.deadline_ns,
            attention_ns: answer.attention_ns,
        }
    }
}

/// The host interface cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The monitor.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// A channel.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The recording.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// The log of calls.
    #[error(transparent)]
    CallLog(#[from] CallLogError),
    /// The times of builds.
    #[error(transparent)]
    WorkTimes(#[from] WorkTimesError),
    /// The board's key.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl Host {
    /// Sets up what `config` says, for a simulator of that name. Events go to
    /// the monitor, or to `sink` where there is none.
    ///
    /// # Errors
    /// [`HostError`] if the monitor, a channel, the recording, the log of calls, the times of
    /// builds or the key cannot be opened.
    pub fn new(config: &Config, simulator: &str, sink: Box<dyn Sink>) -> Result<Self, HostError> {
        let cancel = Cancel::default();
        let code = Arc::new(Code::default());
        let monitor = config.monitor.as_deref();
        let monitor = monitor.map(|path| Monitor::connect(path, cancel.clone()));
        let (sink, questions) = match monitor.transpose()? {
            Some((monitor, questions)) => (Box::new(monitor) as Box<dyn Sink>, Some(questions)),
            None => (sink, None),
        };
        let trace = recorder(config)?;
        let calls = config.calls.as_deref();
        let calls = calls.map(|path| CallLog::create(path, simulator));
        let calls = calls.transpose()?;
        let works = config.work_times.as_deref().map(WorkTimes::open);
        let works = works.transpose()?.unwrap_or_default();
        let boards = Boards::new(config, &cancel)?;
        let mut stats = Stats::new(simulator, config.contention);
        if config.list_jobs {
            stats.jobs = jobs::Ended::listed(config.contention);
        }
        stats.report.boards = boards.reports();
        stats.report.finish = config.finish.name().into();
        stats.report.board.address = config.board.as_ref().map(ToString::to_string);
        let mut events = Events::new(sink);
        let simulator = simulator.into();
        events.tell(Event::Ready { simulator });
        let state = State {
            memory: None,
            gpu: config.gpu.map(Registers::new),
            code: code.clone(),
            gpu_error: String::new(),
            boards: Arc::new(boards),
            time: config.time,
            finish: config.finish,
            keeps_log: config.checkpoint_log,
            sessions: HashMap::new(),
            target: Target::new(config.contention, &config.costs),
            devices: Devices::default(),
            events,
            stats,
            trace,
            calls,
            works,
            channels: Channels::connect(config, &cancel)?,
            prediction: Prediction::default(),
            counts_instructions: false,
            spins: false,
            seen_driver: false,
            report_path: config.report.clone(),
            report: None,
        };
        let state = Arc::new(Mutex::new(state));
        if let Some(questions) = questions {
            let state = Arc::downgrade(&state);
            questions.answered_by(move || live::answer(&state))?;
        }
        Ok(Self {
            cancel,
            code,
            state,
        })
    }

    /// Guest RAM, before the first doorbell.
    pub fn set_memory(&self, memory: Box<dyn GuestMemory>) {
        let mut state = self.state();
        if let Some(gpu) = &mut state.gpu
            && let Err(error) = gpu.publish(&*memory)
        {
            let text = error.to_string();
            state.events.tell(Event::Fatal { text });
        }
        state.memory = Some(memory);
    }

    /// The GPU's driver stored a word at a guest physical address, which it has at this
    /// virtual one.
    pub fn store(&self, place: VirtualAddress, address: u64, value: u32) {
        self.state().store(place, address, value);
    }

    /// The GPU's driver loads or stores in a device of the simulator's, or its time has come, at
    /// `now_ns` of guest time; none: there is no GPU, or guest RAM is not known.
    pub fn gpu(&self, now_ns: u64, access: gpu::Access) -> Option<gpu::Pins> {
        self.state().gpu_device(now_ns, access)
    }

    /// Whether this is the code of the driver of a GPU whose registers are the guest's RAM.
    pub fn is_gpu_code(&self, address: VirtualAddress) -> bool {
        self.code.has(address.0)
    }

    /// The simulator sees from now on what the instruction at this address stores: one of
    /// that code.
    pub fn instrument(&self, address: VirtualAddress) {
        self.code.instrument(address.0);
    }

    /// The driver enters a function that starts jobs, at some of these GPU addresses.
    pub fn enter_start(&self, addresses: Vec<u64>) {
        if let Some(gpu) = &mut self.state().gpu {
            gpu.enter(addresses);
        }
    }

    /// An instruction of these is executed.
    pub fn execute_instrumented(&self, address: VirtualAddress) {
        self.code.execute(address.0);
    }

    /// This simulator executes faster than it idles: sessions that open from now
    /// on spin while they wait shortly.
    pub fn set_spinning(&self) {
        self.state().spins = true;
    }

    /// Whether guest RAM is known.
    pub fn has_memory(&self) -> bool {
        self.state().memory.is_some()
    }

    /// Connects to the board, and hangs up; with several, to each that has an
    /// address.
    ///
    /// # Errors
    /// [`ClientError`] names the address and what is wrong there.
    pub fn check_board(&self) -> Result<(), ClientError> {
        let boards = self.state().boards.clone();
        let is_used = |config: &&BoardConfig| !boards.are_several() || config.address.is_some();
        let all = boards.all().iter().map(|board| &board.config);
        all.filter(is_used)
            .try_for_each(|config| Client::connect(config).map(drop))
    }

    /// Serves a doorbell that names the mailbox at `gpa`. `instructions` is
    /// how many the guest executed so far, if the simulator counts them.
    pub fn doorbell(&self, gpa: GuestAddress, instructions: Option<u64>) -> Rung {
        self.state().doorbell(gpa, instructions)
    }

    /// Publishes every operation and delivers what is ready at `now_ns`, in
    /// nanoseconds of guest time: what a checkpoint needs. Returns when all
    /// operations have ended.
    pub fn settle(&self, now_ns: u64) -> u64 {
        self.state().settle(now_ns)
    }

    /// Keeps the sessions in a file. Between [`settle`](Self::settle) and this
    /// no doorbell rings.
    ///
    /// # Errors
    /// [`CheckpointError`], one sentence; the sessions go on.
    pub fn checkpoint(&self, path: &Path, now_ns: u64) -> Result<(), CheckpointError> {
        self.state().checkpoint(path, now_ns)
    }

    /// Makes the sessions of a file again, on a new connection each.
    ///
    /// # Errors
    /// [`CheckpointError`], one sentence; there are no sessions then.
    pub fn restore(&self, path: &Path) -> Result<(), CheckpointError> {
        self.state().restore(path)
    }

    /// The counters so far.
    pub fn counters(&self) -> Counters {
        let state = self.state();
        Counters {
            sessions: state.sessions.len() as u64,
            ..state.stats.counters()
        }
    }

    /// How the program does, as the guest's init says.
    pub fn program(&self) -> Program {
        self.state().stats.report.program.clone()
    }

    /// The program is about to be executed, by a simulator that does so
    /// itself: no init in the guest tells.
    pub fn program_started(&self, now_ns: u64) {
        let State { stats, events, .. } = &mut *self.state();
        stats.look();
        control::started(now_ns, stats, events);
    }

    /// That program exited.
    pub fn program_exited(&self, now_ns: u64, code: i32) {
        let State { stats, events, .. } = &mut *self.state();
        let (code, signal) = (Some(code), None);
        stats.look();
        control::exited(Exited { code, signal }, now_ns, stats, events);
    }

    /// What was counted so far for one entry point.
    pub fn entry(&self, op: Op) -> Option<Entry> {
        self.state().stats.find(op).cloned()
    }

    /// The guest's CPU idles, having executed so many instructions.
    pub fn idle(&self, instructions: u64) {
        self.state().prediction.idle(instructions);
    }

    /// The flag that ends every wait.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Something the user should read.
    pub fn warn(&self, text: String) {
        self.state().events.warn(text);
    }

    /// A watched function was called, or what became of a watch.
    pub fn watched(&self, text: String) {
        self.state().events.tell(Event::Watch { text });
    }

    /// Something that ends the run.
    pub fn fatal(&self, text: String) {
        self.state().events.tell(Event::Fatal { text });
    }

    /// Ends the run: closes every session and the recording, writes and tells
    /// the report, and returns it. A second call only returns it.
    pub fn finish(&self) -> Report {
        self.state().finish()
    }

    /// What a panic left behind is served on: doorbells must be answered.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn doorbell(&mut self, gpa: GuestAddress, instructions: Option<u64>) -> Rung {
        self.stats.enter();
        let Some(memory) = self.memory.take() else {
            let text = "a doorbell rang before the simulator said where its RAM is";
            self.events.warn(text.into());
            return Rung::refused(STATUS_UNSEEN);
        };
        let (served, rung) = self.serve(&*memory, gpa, instructions);
        self.memory = Some(memory);
        self.stats.leave(served.waited, served.op);
        rung
    }

    fn serve(
        &mut self,
        memory: &dyn GuestMemory,
        gpa: GuestAddress,
        instructions: Option<u64>,
    ) -> (Took, Rung) {
        let mailbox = match mailbox::read(memory, gpa) {
            Ok(mailbox) => mailbox,
            Err(error) => return (Took::default(), self.refuse(memory, gpa, &error)),
        };
        self.stats.rang(mailbox.now_ns);
        if let Some(instructions) = instructions {
            self.counts_instructions = true;
            // What the driver's timer executes is part of whatever wait or
            // work it interrupts.
            if mailbox.kind != kind::ATTEND {
                self.prediction.doorbell(instructions);
            }
        }
        if !std::mem::replace(&mut self.seen_driver, true) {
            let now_ns = mailbox.now_ns;
            self.events.tell(Event::Driver { now_ns });
        }
        let (answer, served) = match self.dispatch(memory, gpa, &mailbox, instructions) {
            Ok(answered) => answered,
            Err(error) => return (Took::default(), self.refuse(memory, gpa, &error)),
        };
        let (now_ns, deadline_ns) = (mailbox.now_ns, answer.deadline_ns);
        if mailbox.kind != kind::ATTEND {
            self.prediction.answered(now_ns, deadline_ns, answer.wait);
        }
        let wait_ns = &mut self.stats.report.simulated.wait_ns;
        *wait_ns = wait_ns.saturating_add(deadline_ns.saturating_sub(now_ns));
        if let Err(error) = mailbox::answer(memory, gpa, &mailbox, &answer) {
            self.events.warn(error.to_string());
        }
        (served, Rung::answered(&mailbox, &answer))
    }

    fn refuse(
        &mut self,
        memory: &dyn GuestMemory,
        gpa: GuestAddress,
        error: &MailboxError,
    ) -> Rung {
        self.events.warn(error.to_string());
        if !error.is_answerable() {
            return Rung::refused(STATUS_UNSEEN);
        }
        let answer = Answer::status(Status::BadMailbox);
        // Where the mailbox was read it can be written.
        let _ = mailbox::answer(memory, gpa, &Mailbox::default(), &answer);
        Rung::refused(Status::BadMailbox as u32)
    }

    fn dispatch(
        &mut self,
        memory: &dyn GuestMemory,
        gpa: GuestAddress,
        mailbox: &Mailbox,
        instructions: Option<u64>,
    ) -> Result<(Answer, Took), MailboxError> {
        if mailbox.kind == kind::GPU {
            return Ok(self.gpu(memory, mailbox));
        }
        if mailbox.kind == kind::CLOCK {
            return Ok((self.clock(mailbox), Took::default()));
        }
        if mailbox.kind == kind::OPEN {
            return self.open(mailbox).map(|answer| (answer, Took::default()));
        }
        if !self.sessions.contains_key(&mailbox.session) {
            return Err(unknown_session(mailbox));
        }
        let submission = match mailbox.kind {
            kind::SUBMIT => Some(mailbox::submission(memory, gpa, mailbox)?),
            _ => None,
        };
        if let Some(submission) = &submission
            && let Some(answer) = self.control(memory, mailbox.session, submission, instructions)
        {
            return Ok((answer, Took::default()));
        }
        Ok(self.with_session(memory, mailbox, submission.as_ref()))
    }

    /// A store of the GPU's driver that the simulator has seen.
    fn store(&mut self, place: VirtualAddress, address: u64, value: u32) {
        let Some(offset) = self.gpu.as_ref().and_then(|gpu| gpu.offset(address)) else {
            return;
        };
        self.stats.enter();
        let mut waited = Duration::ZERO;
        if let (Some(mut gpu), Some(memory)) = (self.gpu.take(), self.memory.take()) {
            gpu.seen_at(place, offset);
            let mut board = |it: &Submission| self.submit_of_gpu(&*memory, it, &mut waited);
            let stored = gpu.store(&*memory, (offset, value), &mut board);
            self.of_gpu(stored);
            self.memory = Some(memory);
            self.gpu = Some(gpu);
        }
        self.stats.leave(waited, None);
    }

    /// What a simulator's device for the GPU is asked.
    fn gpu_device(&mut self, now_ns: u64, access: gpu::Access) -> Option<gpu::Pins> {
        let mut gpu = self.gpu.take()?;
        let Some(memory) = self.memory.take() else {
            self.gpu = Some(gpu);
            return None;
        };
        self.stats.enter();
        let mut waited = Duration::ZERO;
        let mut board = |it: &Submission| self.submit_of_gpu(&*memory, it, &mut waited);
        let (pins, done) = gpu.access(&*memory, now_ns, access, &mut board);
        self.of_gpu(done);
        self.memory = Some(memory);
        self.gpu = Some(gpu);
        self.stats.leave(waited, None);
        Some(pins)
    }

    /// A store of the GPU's driver that the guest's module has seen, or the time.
    fn gpu(&mut self, memory: &dyn GuestMemory, mailbox: &Mailbox) -> (Answer, Took) {
        let mut took = Took::default();
        let Some(mut gpu) = self.gpu.take() else {
            return (Answer::status(Status::BadRequest), took);
        };
        let word = mailbox.request.0;
        if mailbox.request_len == told::CODE {
            self.code.set(word, mailbox.reply.0);
        }
        let is_store = mailbox.request_len == told::STORE;
        let store = is_store.then_some((word as u32, (word >> 32) as u32));
        let waited = &mut took.waited;
        let mut board = |it: &Submission| self.submit_of_gpu(memory, it, waited);
        let told = gpu.tell(memory, mailbox.now_ns, store, &mut board);
        self.of_gpu(told);
        let mut answer = gpu.answer();
        // What was due before begins at the rate before.
        if mailbox.request_len == told::CLOCK
            && let Err(error) = gpu.set_frequency(word)
        {
            answer.status = Status::BadRequest;
            self.of_gpu(Err(error.into()));
        }
        self.gpu = Some(gpu);
        (answer, took)
    }

    /// Says what went wrong with the GPU, if it is not what was said last.
    fn of_gpu(&mut self, result: Result<(), GpuError>) {
        let Err(error) = result else {
            return;
        };
        let text = error.to_string();
        if self.gpu_error == text {
            return;
        }
        // What a program sees from then on is no GPU's doing.
        match error.ends_run() {
            true => self.events.tell(Event::Fatal { text: text.clone() }),
            false => self.events.warn(text.clone()),
        }
        self.gpu_error = text;
    }

    /// Executes calls that the GPU makes, in a session of its own, and adds the time that
    /// the board is waited for.
    fn submit_of_gpu(
        &mut self,
        memory: &dyn GuestMemory,
        submission: &Submission,
        waited: &mut Duration,
    ) -> Answer {
        if !self.sessions.contains_key(&gpu::SESSION) {
            let (target, boards) = (self.target.clone(), &self.boards);
            let session = Session::new(0, 64, target, false, boards);
            self.sessions
                .insert(gpu::SESSION, session.holding(memory.size()));
        }
        let mailbox = Mailbox {
            session: gpu::SESSION,
            kind: kind::SUBMIT,
            ..Mailbox::default()
        };
        let (answer, took) = self.with_session(memory, &mailbox, Some(submission));
        *waited += took.waited;
        answer
    }

    fn open(&mut self, mailbox: &Mailbox) -> Result<Answer, MailboxError> {
        let is_new =
            !self.sessions.contains_key(&mailbox.session) && mailbox.session != gpu::SESSION;
        if !is_new || self.sessions.len() >= MAX_SESSIONS {
            return Err(unknown_session(mailbox));
        }
        let (process, pointer_bits) = (mailbox.process, mailbox.pointer_bits);
        let target = self.target.clone();
        let boards = &self.boards;
        let session = Session::new(process, pointer_bits, target, self.keeps_log, boards);
        self.sessions.insert(mailbox.session, session);
        let flags = if self.spins { flag::SPIN } else { 0 };
        Ok(Answer {
            flags,
            ..Answer::status(Status::Ok)
        })
    }

    /// Answers a submission to the host interface itself; `None` if it is for
    /// the board.
    fn control(
        &mut self,
        memory: &dyn GuestMemory,
        number: u64,
        submission: &Submission,
        instructions: Option<u64>,
    ) -> Option<Answer> {
        let envelopes = submission.envelopes().ok()?;
        if envelopes.iter().any(|envelope| envelope.op.api() != 0) {
            return None;
        }
        let session = self.sessions.get_mut(&number)?;
        if !session.begin_control(submission.seq) {
            let answer = Answer::status(Status::Duplicate);
            return Some(session.answer_control(self.time, answer));
        }
        let mut answer = Answer::status(Status::Ok);
        for envelope in &envelopes {
            if control::is_started(envelope)
                && let Some(instructions) = instructions
            {
                self.prediction.start(instructions);
            }
            let done = match envelope.op {
                EXCHANGE => self.exchange(memory, number, submission, &envelopes),
                MODULES => self.mapped(number, envelope),
                _ => self.execute(envelope, submission.now_ns()),
            };
            match done {
                Ok(reply) => answer.reply = reply,
                Err(error) => {
                    self.events.warn(error.to_string());
                    answer.status = Status::BadRequest;
                }
            }
        }
        let session = self.sessions.get(&number)?;
        Some(session.answer_control(self.time, answer))
    }

    /// A control call without an answer.
    fn execute(&mut self, envelope: &Envelope<'_>, now_ns: u64) -> Result<Vec<u8>, ControlError> {
        control::execute(envelope, now_ns, &mut self.stats, &mut self.events)?;
        Ok(Vec::new())
    }

    /// Logs what a process mapped.
    fn mapped(&mut self, number: u64, envelope: &Envelope<'_>) -> Result<Vec<u8>, ControlError> {
        let modules = control::modules(envelope)?;
        let process = self.sessions.get(&number).map_or(0, Session::process);
        if let Some(log) = &mut self.calls {
            log.mapped(Mapped { process, modules });
        }
        Ok(Vec::new())
    }

    fn exchange(
        &mut self,
        memory: &dyn GuestMemory,
        number: u64,
        submission: &Submission,
        envelopes: &[Envelope<'_>],
    ) -> Result<Vec<u8>, ControlError> {
        let channels = &mut self.channels;
        control::exchange(envelopes, submission, memory, |channel, message, answer| {
            channels.exchange(channel, number, message, answer)
        })
    }

    fn with_session(
        &mut self,
        memory: &dyn GuestMemory,
        mailbox: &Mailbox,
        submission: Option<&Submission>,
    ) -> (Answer, Took) {
        let Some(mut session) = self.sessions.remove(&mailbox.session) else {
            return (Answer::status(Status::BadMailbox), Took::default());
        };
        let mut context = Context {
            memory,
            time: self.time,
            finish: self.finish,
            stats: &mut self.stats,
            trace: &mut self.trace,
            calls: &mut self.calls,
            works: &mut self.works,
            events: &mut self.events,
            devices: &mut self.devices,
            others: &mut self.sessions,
            took: Took::default(),
        };
        let answer = match (mailbox.kind, submission) {
            (_, Some(submission)) => session.submit(&mut context, submission),
            (kind::COLLECT, None) => session.collect(&mut context, mailbox.now_ns),
            (kind::ATTEND, None) => session.attend(&mut context, mailbox.now_ns),
            _ => {
                session.close(&mut context);
                self.channels.close(mailbox.session);
                return (Answer::status(Status::Ok), context.took);
            }
        };
        let served = context.took;
        drop(context);
        self.sessions.insert(mailbox.session, session);
        (answer, served)
    }

    fn finish(&mut self) -> Report {
        if let Some(report) = &self.report {
            return report.clone();
        }
        self.close_sessions();
        let mut report = self.stats.finish(&self.boards);
        report.instrumented = self.code.report();
        report.starts = self.gpu.as_ref().and_then(Registers::starts);
        report.guest = self.counts_instructions.then(|| self.prediction.guest());
        self.finish_recording(&report);
        self.finish_calls(&report);
        let json = serde_json::to_string_pretty(&report).unwrap_or_default();
        if let Some(path) = &self.report_path
            && let Err(error) = std::fs::write(path, &json)
        {
            let path = path.display();
            self.events
                .warn(format!("cannot write the report {path}: {error}"));
        }
        self.events.tell(Event::Report { json });
        self.report = Some(report.clone());
        report
    }

    /// That of a program without calls is empty.
    fn finish_recording(&mut self, report: &Report) {
        let recorder = self.trace.take().filter(|_| has_ended(report));
        if let Some(mut recorder) = recorder
            && let Err(error) = recorder.begin()
        {
            self.events.warn(error.to_string());
        }
    }

    fn finish_calls(&mut self, report: &Report) {
        let is_some = |log: &CallLog| log.has_rows() || has_ended(report);
        let Some(log) = self.calls.take().filter(is_some) else {
            return;
        };
        let finished = log.finish(Finished {
            rows: 0,
            started_ns: report.simulated.boot_ns,
            program_ns: report.simulated.program_ns,
        });
        if let Err(error) = finished {
            self.events.warn(error.to_string());
        }
    }

    fn close_sessions(&mut self) {
        let mut sessions: Vec<_> = self.sessions.drain().collect();
        sessions.sort_by_key(|(number, _)| *number);
        // Closing only sends and records: no guest RAM is touched.
        let Some(memory) = self.memory.take() else {
            return;
        };
        for (_, session) in sessions {
            session.close(&mut Context {
                memory: &*memory,
                time: self.time,
                finish: self.finish,
                stats: &mut self.stats,
                trace: &mut self.trace,
                calls: &mut self.calls,
                works: &mut self.works,
                events: &mut self.events,
                devices: &mut self.devices,
                others: &mut HashMap::new(),
                took: Took::default(),
            });
        }
        self.memory = Some(memory);
    }
}

/// Whether the program ran to its end.
fn has_ended(report: &Report) -> bool {
    report.program.exit_code.is_some() || report.program.signal.is_some()
}

fn recorder(config: &Config) -> Result<Option<Recorder>, RecorderError> {
    let compression = match config.trace_compress {
        true => Compression::Lz4,
        false => Compression::None,
    };
    let trace = config.trace.as_deref();
    trace
        .map(|path| Recorder::create(path, compression))
        .transpose()
}

fn unknown_session(mailbox: &Mailbox) -> MailboxError {
    MailboxError::Field {
        field: "session",
        value: mailbox.session,
    }
}
