//! Calls, posts, observations and polls of one process.
//!
//! Posts wait in one ordered batch per process. Every forwarded call carries the
//! batch in front of it, and the batch's lock is held until the driver has accepted
//! the submission: the board sees every thread's posts in the order of the calls,
//! before any later call. Waiting for a deadline is a separate, restartable step
//! without a lock.

use crate::Error;
use crate::batch::Batch;
use crate::counter;
use crate::device::{Device, Outcome, again};
use crate::encode::{self, Arguments};
use crate::notices;
use crate::scratch;
use crate::sites;
use crate::stdout;
use crate::uapi::{self, Region};
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::compact::Writer;
use gil_wire::control::{MODULES, Modules};
use gil_wire::envelope::{Class, Envelope, MORE_NOTICES, MORE_TEXT, Observations, Queue};
use nix::errno::Errno;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Most events in one observation; longer lists are observed in several.
const OBSERVED_MAX: usize = 64;
/// Room for the answer to a submission of posts alone, which says nothing.
const POST_REPLY: usize = 64;

/// The answer to a forwarded call. Of a blocking enqueue that could not be
/// resolved at once it says how its own event ended.
pub use gil_wire::envelope::Answer as Answered;

/// All is well.
const ALIVE: u32 = 0;
/// This is a forked child; the other bits are those of APIs whose board is lost.
const FORKED: u32 = 1 << 31;
/// The run asks from where the program calls.
const SITES: u32 = 1 << 30;

/// An API's bit; all of them for one that this build does not know. The host
/// interface itself is never lost.
const fn lost(op: Op) -> u32 {
    match gil_wire::generated::place(op.api()) {
        Some(place) if place < 30 => 1 << place,
        _ if op.api() == 0 => 0,
        _ => !(FORKED | SITES),
    }
}

/// One process's session with the board.
pub struct Client {
    pub(crate) device: Box<dyn Device>,
    batch: Mutex<Batch>,
    state: AtomicU32,
    /// Ticks of the counter that the library took for calls that ended, which no envelope
    /// says yet.
    owed: AtomicU32,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// A session over `device`.
    pub fn new(device: Box<dyn Device>) -> Self {
        Self {
            device,
            batch: Mutex::new(Batch::new()),
            state: AtomicU32::new(ALIVE),
            owed: AtomicU32::new(0),
        }
    }

    /// The same, whose calls say from where the program makes them.
    #[must_use]
    pub(crate) fn with_sites(self) -> Self {
        self.state.fetch_or(SITES, Ordering::Relaxed);
        self
    }

    /// Runs a call that names no memory to its end: hands it over exactly once,
    /// behind all posts so far, waits as the host says, and gives the answer to
    /// `read`.
    ///
    /// # Errors
    /// [`Error`]; unless it says that the call was refused, the call did not run.
    pub fn forward<R>(
        &self,
        call: &Envelope<'_>,
        args: &impl Arguments,
        read: impl FnOnce(Answered<'_>) -> R,
    ) -> Result<R, Error> {
        self.forward_with(call, &[], args, read)
    }

    /// As [`forward`](Self::forward), for a call that names these regions, in the
    /// order of the arguments' region indices.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn forward_with<R>(
        &self,
        call: &Envelope<'_>,
        regions: &[Region],
        args: &impl Arguments,
        read: impl FnOnce(Answered<'_>) -> R,
    ) -> Result<R, Error> {
        self.complete(call, regions, (true, true), args, read)
    }

    /// As [`forward_with`](Self::forward_with), but [`Error::Unresolved`] if the
    /// memory belongs to an operation that cannot end yet.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn try_forward_with<R>(
        &self,
        call: &Envelope<'_>,
        regions: &[Region],
        args: &impl Arguments,
        read: impl FnOnce(Answered<'_>) -> R,
    ) -> Result<R, Error> {
        self.complete(call, regions, (false, true), args, read)
    }

    fn complete<R>(
        &self,
        call: &Envelope<'_>,
        regions: &[Region],
        (patient, owes): (bool, bool),
        args: &impl Arguments,
        read: impl FnOnce(Answered<'_>) -> R,
    ) -> Result<R, Error> {
        encode::check_regions(regions)?;
        scratch::with(|room| {
            let (outcome, slept) = self.run(call, regions, patient, args, &mut room.0)?;
            let reply = &room.0[..outcome.reply_len.min(room.0.len())];
            let mut answer = decode(reply)?;
            if !answer.printed.is_empty() || answer.more != 0 {
                self.bring(call.op, &answer);
            }
            stdout::settle();
            if call.blocking && outcome.flags & uapi::flag::PENDING != 0 {
                let own = self.observe(call.op, call.entry, call.signals.as_slice())?;
                answer.observed.extend(own);
            }
            let result = read(answer);
            if owes && !slept && outcome.wait_kind == uapi::WAIT_NONE {
                self.owe_since(call.entry);
            }
            Ok(result)
        })
    }

    /// Puts text that kernels printed on the program's standard output, fetches
    /// the rest of it, and has the board asked for what it has to say.
    #[cold]
    fn bring(&self, op: Op, answer: &Answered<'_>) {
        stdout::write(answer.printed);
        let (mut more, mut all) = (answer.more, answer.more);
        if more & MORE_TEXT != 0 {
            let _turn = stdout::turn();
            while more & MORE_TEXT != 0 {
                let call = Envelope::new(op, Class::Poll, crate::counter::entry());
                let next = scratch::with(|room| {
                    let (outcome, _) = self.run(&call, &[], true, &(), &mut room.0)?;
                    let reply = &room.0[..outcome.reply_len.min(room.0.len())];
                    let answer = decode(reply)?;
                    stdout::write(answer.printed);
                    Ok::<u8, Error>(answer.more)
                });
                // The next call reports it if the session is lost.
                more = next.unwrap_or(0);
                all |= more;
            }
        }
        if all & MORE_NOTICES != 0 {
            notices::due();
        }
    }

    /// Appends a call that names no memory and needs no answer to the process's
    /// batch.
    ///
    /// # Errors
    /// [`Error`] if it does not fit, or the batch had to be handed over and
    /// could not be.
    pub fn post(&self, call: &Envelope<'_>, args: &impl Arguments) -> Result<(), Error> {
        debug_assert_eq!(call.regions, 0, "regions are captured at once");
        let (batch, len) = self.write_post(call, args)?;
        self.keep(batch, len, (call.op, call.class, call.entry))
    }

    /// As [`post`](Self::post), for a call that names these regions, if there are
    /// any: they are captured when they are handed over, which is at once.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    pub fn post_with(
        &self,
        call: &Envelope<'_>,
        regions: &[Region],
        args: &impl Arguments,
    ) -> Result<(), Error> {
        match regions {
            [] => self.post(call, args),
            _ => self.forward_with(call, regions, args, |_| ()),
        }
    }

    /// As [`post_with`](Self::post_with), but as many may wait as there is room for.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    pub fn post_lazily(
        &self,
        call: &Envelope<'_>,
        regions: &[Region],
        args: &impl Arguments,
    ) -> Result<(), Error> {
        if !regions.is_empty() {
            return self.post_with(call, regions, args);
        }
        let (mut batch, len) = self.write_post(call, args)?;
        if batch.has_ended() {
            return self.keep(batch, len, (call.op, call.class, call.entry));
        }
        batch.keep(len, (call.class, call.entry));
        Ok(())
    }

    /// As [`post_lazily`](Self::post_lazily) if `lazily`, of arguments that `write` writes,
    /// put into its caller with what that knows of the call.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    #[inline(always)]
    pub fn post_numbers(
        &self,
        call: &Envelope<'_>,
        write: impl Fn(&mut Writer<'_>),
        lazily: bool,
    ) -> Result<(), Error> {
        // A loop, so that `write` is put here once: twice would be a function.
        loop {
            let mut batch = self.lock(call.op)?;
            match batch.write_numbers(call, &write) {
                Ok(len) if lazily && !batch.has_ended() => {
                    batch.keep(len, (call.class, call.entry));
                    return Ok(());
                }
                Ok(len) => return self.keep(batch, len, (call.op, call.class, call.entry)),
                Err(len) => self.make_room(batch, call.op, len)?,
            }
        }
    }

    /// There is no room for so many bytes behind the posts so far.
    #[cold]
    #[inline(never)]
    fn make_room(&self, batch: MutexGuard<'_, Batch>, op: Op, len: usize) -> Result<(), Error> {
        if batch.is_empty() {
            return Err(encode::too_large(len));
        }
        drop(batch);
        self.flush(op)
    }

    /// As [`post`](Self::post), put into its caller with what that knows of the
    /// call: for those that programs make most.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    #[inline(always)]
    pub fn post_here(&self, call: &Envelope<'_>, args: &impl Arguments) -> Result<(), Error> {
        let mut batch = self.lock(call.op)?;
        match batch.write_here(call, args) {
            Ok(len) => self.keep(batch, len, (call.op, call.class, call.entry)),
            Err(_) => {
                drop(batch);
                // A copy: the caller's own needs no place in memory.
                self.post_behind(&call.borrowed(), args)
            }
        }
    }

    /// As [`post_here`](Self::post_here), and hands over all that waits, without
    /// waiting for the board.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    #[inline(always)]
    pub fn post_now(&self, call: &Envelope<'_>, args: &impl Arguments) -> Result<(), Error> {
        self.post_here(call, args)?;
        self.flush(call.op)
    }

    /// There is no room behind the posts so far.
    #[cold]
    #[inline(never)]
    fn post_behind(&self, call: &Envelope<'_>, args: &impl Arguments) -> Result<(), Error> {
        self.post(call, args)
    }

    /// Makes what was written one of the posts.
    #[inline(always)]
    fn keep(
        &self,
        mut batch: MutexGuard<'_, Batch>,
        len: usize,
        (op, class, entry): (Op, Class, u64),
    ) -> Result<(), Error> {
        batch.keep(len, (class, entry));
        if !batch.is_full() {
            return Ok(());
        }
        drop(batch);
        self.flush_full(op)
    }

    /// Hands over posts whose calls need not wait for it: the library's time, as theirs is.
    #[inline(never)]
    fn flush_full(&self, op: Op) -> Result<(), Error> {
        let began = counter::now();
        self.flush(op)?;
        self.owe_since(began);
        Ok(())
    }

    /// What has passed since the counter showed `began` was the library's time.
    fn owe_since(&self, began: u64) {
        let ticks = counter::now().wrapping_sub(began);
        if let Ok(ticks) = u32::try_from(ticks) {
            self.owed.fetch_add(ticks, Ordering::Relaxed);
        }
    }

    /// Waits until every one of `events` ended, and says how. `op` names the
    /// call on whose behalf.
    ///
    /// # Errors
    /// [`Error`] if the session ended.
    pub fn observe(&self, op: Op, entry: u64, events: &[u64]) -> Result<Observations, Error> {
        self.ask((op, Class::Wait, entry), events)
    }

    /// Asks how far `events` are now.
    ///
    /// # Errors
    /// [`Error`] if the session ended.
    pub fn poll(&self, op: Op, entry: u64, events: &[u64]) -> Result<Observations, Error> {
        self.ask((op, Class::Poll, entry), events)
    }

    /// Asks when `events` begin and end, as far as that can be known now;
    /// never sleeps.
    ///
    /// # Errors
    /// [`Error`] if the session ended.
    pub fn look(&self, op: Op, entry: u64, events: &[u64]) -> Result<Observations, Error> {
        self.ask((op, Class::Look, entry), events)
    }

    /// When every operation on the queue numbered `id` so far ends: guest
    /// nanoseconds, 0 if they ended; `None` if that is not known. Never sleeps.
    ///
    /// # Errors
    /// [`Error`] if the session ended.
    pub fn queue_end(&self, op: Op, entry: u64, id: u64) -> Result<Option<u64>, Error> {
        let queue = Queue {
            id,
            in_order: true,
            device: 0,
        };
        let call = Envelope {
            queue: Some(queue),
            ..Envelope::new(op, Class::Wait, entry)
        };
        scratch::with(|room| {
            let outcome = self.hand_over(&call, &[], &(), &mut room.0)?;
            match (outcome.status, outcome.wait_kind) {
                (uapi::STATUS_OK, uapi::WAIT_NONE) => Ok(Some(0)),
                (uapi::STATUS_OK, _) => Ok(Some(outcome.deadline_ns)),
                (status, _) => self.judge(op, status).map(|()| None),
            }
        })
    }

    /// A sync file that signals once every operation on the queue numbered `id` so far has
    /// ended, in simulated time. Never sleeps.
    ///
    /// # Errors
    /// [`Error`] if the session ended, or if the driver makes no such file:
    /// [`Error::Driver`] if that is not known, or too far away.
    pub fn queue_fence(&self, op: Op, entry: u64, id: u64) -> Result<OwnedFd, Error> {
        let end_ns = self.queue_end(op, entry, id)?;
        let end_ns = end_ns.ok_or(Error::Driver {
            errno: Errno::EAGAIN,
        })?;
        self.device
            .fence(end_ns)
            .map_err(|errno| Error::Driver { errno })
    }

    /// Fetches everything that is ready by now: output to memory, text to
    /// standard output. `op` names the call that needs it.
    ///
    /// # Errors
    /// [`Error`] if the session ended.
    pub fn fetch(&self, op: Op) -> Result<(), Error> {
        let call = Envelope::new(op, Class::Poll, crate::counter::entry());
        // Whoever needs it counts its time.
        self.complete(&call, &[], (true, false), &(), |_| ())
    }

    /// Says that nobody will ask for an event any more. `op` names the call on
    /// whose behalf.
    ///
    /// # Errors
    /// [`Error`] if the session ended.
    pub fn retire(&self, op: Op, event: u64) -> Result<(), Error> {
        let call = Envelope {
            retires: Some(event),
            ..Envelope::new(op, Class::Poll, crate::counter::entry())
        };
        self.forward(&call, &(), |_| ())
    }

    fn ask(
        &self,
        (op, class, entry): (Op, Class, u64),
        events: &[u64],
    ) -> Result<Observations, Error> {
        let part = |events: &[u64]| {
            let call = Envelope {
                waits: events.into(),
                ..Envelope::new(op, class, entry)
            };
            self.forward(&call, &(), |answer| answer.observed)
        };
        let (first, rest) = events.split_at(events.len().min(OBSERVED_MAX));
        let mut observed = part(first)?;
        for events in rest.chunks(OBSERVED_MAX) {
            observed.append(&mut part(events)?);
        }
        if observed.len() != events.len() {
            return Err(Error::Answer(postcard::Error::DeserializeUnexpectedEnd));
        }
        Ok(observed)
    }

    /// Hands over what waits in the batch.
    ///
    /// # Errors
    /// [`Error`] if the driver did not take it; what waits stays.
    pub fn flush(&self, op: Op) -> Result<(), Error> {
        let mut batch = self.lock(op)?;
        if batch.ends_with_enqueue() {
            drop(batch);
            return self.fetch(op);
        }
        self.flush_locked(op, &mut batch)
    }

    /// Hands over what waits in the batch, as the process exits, and from here
    /// on every post at once. Gives up if another thread, or the code that a
    /// signal interrupted, keeps the batch.
    pub(crate) fn flush_at_exit(&self) {
        const ATTEMPTS: usize = 1000;
        for _ in 0..ATTEMPTS {
            if self.state.load(Ordering::Relaxed) & FORKED != 0 {
                return;
            }
            match self.batch.try_lock() {
                Ok(mut batch) => {
                    let last = batch.end();
                    drop(batch);
                    // There is nobody to report an error to.
                    let _ = last.map(|op| self.flush(op));
                    return;
                }
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
                Err(TryLockError::Poisoned(_)) => return,
            }
        }
    }

    /// Marks this process as a forked child: the batch it inherited is never
    /// handed over, and every later call fails. Async-signal-safe.
    pub(crate) fn forked(&self) {
        self.state.store(FORKED, Ordering::Relaxed);
        self.device.forked();
    }

    /// Whether calls of this one's API can be handed over.
    #[inline]
    fn usable(&self, op: Op) -> Result<(), Error> {
        match self.state.load(Ordering::Relaxed) {
            ALIVE => Ok(()),
            // Beside what else is rare, so that others do not pay for it.
            SITES => Ok(()),
            state => unusable(state, op),
        }
    }

    /// The batch, for whoever may still use the session. The state is looked at
    /// first: in a forked child the lock may be held by a thread that is not
    /// there.
    #[inline]
    fn lock(&self, op: Op) -> Result<MutexGuard<'_, Batch>, Error> {
        self.usable(op)?;
        let batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        match self.state.load(Ordering::Relaxed) {
            ALIVE => Ok(batch),
            state => self.noting(state, op, batch),
        }
    }

    /// The batch, with a note of where the program calls from, if the run asks for that.
    #[cold]
    #[inline(never)]
    fn noting<'a>(
        &self,
        state: u32,
        op: Op,
        mut batch: MutexGuard<'a, Batch>,
    ) -> Result<MutexGuard<'a, Batch>, Error> {
        if state != SITES {
            unusable(state, op)?;
        }
        if state & SITES != 0 {
            let tell = |modules: &Modules| self.tell_modules(modules);
            let site = sites::called_from(&mut batch.known, tell);
            batch.note(site);
        }
        Ok(batch)
    }

    /// Says what the process has mapped: behind no post, and without the batch's lock,
    /// which its caller has.
    fn tell_modules(&self, modules: &Modules) {
        let call = Envelope::new(MODULES, Class::Sync, crate::counter::entry());
        let mut request = vec![0; uapi::REQUEST_MAX];
        // The report says less if the driver takes none.
        if let Ok(len) = encode::envelope(&call, modules, &mut request) {
            let reply = &mut [0; POST_REPLY];
            let _ = again(|| self.device.submit(&request[..len], &[], reply));
        }
    }

    fn run(
        &self,
        call: &Envelope<'_>,
        regions: &[Region],
        patient: bool,
        args: &impl Arguments,
        reply: &mut [u8],
    ) -> Result<(Outcome, bool), Error> {
        let mut may_drain = !regions.is_empty();
        let mut slept = false;
        loop {
            let outcome = match self.hand_over(call, regions, args, reply) {
                Err(Error::Driver { errno, .. })
                    if errno == Errno::ENOMEM && may_drain && self.drain(call)? =>
                {
                    (may_drain, slept) = (false, true);
                    continue;
                }
                outcome => outcome?,
            };
            if outcome.status == uapi::STATUS_OK {
                self.wait_out(&outcome)?;
                return Ok((outcome, slept));
            }
            self.judge(call.op, outcome.status)?;
            if !patient {
                return Err(Error::Unresolved);
            }
            self.wait_for_progress(outcome.progress)?;
            slept = true;
        }
    }

    /// Too much output is outstanding for the call's own memory: waits for all
    /// of its queue so far. False if that depends on what the program has yet
    /// to cause.
    #[cold]
    fn drain(&self, call: &Envelope<'_>) -> Result<bool, Error> {
        let wait = Envelope {
            queue: call.queue,
            ..Envelope::new(call.op, Class::Wait, call.entry)
        };
        if wait.queue.is_none() {
            return Ok(false);
        }
        scratch::with(|room| {
            let outcome = self.hand_over(&wait, &[], &(), &mut room.0)?;
            let done = outcome.status == uapi::STATUS_OK;
            if done {
                self.wait_out(&outcome)?;
            }
            Ok(done)
        })
    }

    fn hand_over(
        &self,
        call: &Envelope<'_>,
        regions: &[Region],
        args: &impl Arguments,
        reply: &mut [u8],
    ) -> Result<Outcome, Error> {
        debug_assert_eq!(call.regions as usize, regions.len());
        let (mut batch, len) = self.write(call, args)?;
        self.submit(&mut batch, len, regions, reply)
    }

    /// Writes a call behind the posts, which go first if there is no room; the
    /// batch with the call's bytes behind it.
    #[inline]
    fn write(
        &self,
        call: &Envelope<'_>,
        args: &impl Arguments,
    ) -> Result<(MutexGuard<'_, Batch>, usize), Error> {
        self.written(call, args, |batch| batch.write(call, args))
    }

    /// The same for a post.
    #[inline]
    fn write_post(
        &self,
        call: &Envelope<'_>,
        args: &impl Arguments,
    ) -> Result<(MutexGuard<'_, Batch>, usize), Error> {
        self.written(call, args, |batch| batch.write_post(call, args))
    }

    #[inline(always)]
    fn written(
        &self,
        call: &Envelope<'_>,
        args: &impl Arguments,
        write: impl Fn(&mut Batch) -> postcard::Result<usize>,
    ) -> Result<(MutexGuard<'_, Batch>, usize), Error> {
        loop {
            let mut batch = self.lock(call.op)?;
            match write(&mut batch) {
                Ok(len) => return Ok((batch, len)),
                Err(error) if batch.is_empty() => return Err(encode::too_long(call, args, error)),
                Err(_) => {}
            }
            drop(batch);
            self.flush(call.op)?;
        }
    }

    /// Hands over the posts and `len` bytes behind them. Posts that the host
    /// executed or dropped are forgotten.
    fn submit(
        &self,
        batch: &mut Batch,
        len: usize,
        regions: &[Region],
        reply: &mut [u8],
    ) -> Result<Outcome, Error> {
        if len > 0 || !batch.is_empty() {
            batch.owe(self.owed.swap(0, Ordering::Relaxed));
        }
        match again(|| self.device.submit(batch.request(len), regions, reply)) {
            Ok(outcome) => {
                let is_unresolved = outcome.status == uapi::STATUS_UNRESOLVED;
                if !is_unresolved || outcome.flags & uapi::flag::PENDING != 0 {
                    batch.clear();
                }
                Ok(outcome)
            }
            Err(errno) => {
                if errno == Errno::EPERM {
                    self.state.store(FORKED, Ordering::Relaxed);
                }
                Err(Error::of_submit(errno))
            }
        }
    }

    fn flush_locked(&self, op: Op, batch: &mut Batch) -> Result<(), Error> {
        if batch.is_empty() {
            return Ok(());
        }
        let outcome = self.submit(batch, 0, &[], &mut [0; POST_REPLY])?;
        match outcome.status {
            uapi::STATUS_OK => Ok(()),
            status => self.judge(op, status),
        }
    }

    /// What a status other than OK means; `Ok` if it should be tried again.
    fn judge(&self, op: Op, status: u32) -> Result<(), Error> {
        match status {
            uapi::STATUS_UNRESOLVED => Ok(()),
            uapi::STATUS_LOST => {
                self.state.fetch_or(lost(op), Ordering::Relaxed);
                Err(Error::Lost)
            }
            uapi::STATUS_UNSERVED => Err(Error::NotServed),
            uapi::STATUS_UNSEEN => Err(Error::of_submit(Errno::ENODEV)),
            status => Err(Error::Refused { status }),
        }
    }

    fn wait_out(&self, outcome: &Outcome) -> Result<(), Error> {
        let collect = outcome.flags & uapi::flag::COLLECT != 0;
        if outcome.wait_kind == uapi::WAIT_NONE && !collect {
            return Ok(());
        }
        self.wait(&uapi::Wait {
            deadline_ns: outcome.deadline_ns,
            progress: 0,
            kind: outcome.wait_kind,
            flags: if collect { uapi::WAIT_COLLECT } else { 0 },
        })
    }

    fn wait_for_progress(&self, progress: u64) -> Result<(), Error> {
        self.wait(&uapi::Wait {
            progress,
            kind: uapi::WAIT_PROGRESS,
            ..Default::default()
        })
    }

    fn wait(&self, wait: &uapi::Wait) -> Result<(), Error> {
        again(|| self.device.wait(wait)).map_err(|errno| Error::Driver { errno })
    }
}

#[cold]
fn unusable(state: u32, op: Op) -> Result<(), Error> {
    match state {
        SITES => Ok(()),
        _ if state & FORKED != 0 => Err(Error::Forked),
        _ if state & lost(op) != 0 => Err(Error::Lost),
        _ => Ok(()),
    }
}

/// The host leaves out an answer that would say nothing: a control call's.
fn decode(reply: &[u8]) -> Result<Answered<'_>, Error> {
    if reply.is_empty() {
        return Ok(Answered::default());
    }
    Answered::read(reply).map_err(Error::Answer)
}

/// Numbers for what the guest creates: from 1, never used again.
pub fn next_number() -> Handle {
    use std::sync::atomic::AtomicU64;
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Handle(NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
