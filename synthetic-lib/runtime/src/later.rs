//! Deferred jobs, on a thread of the library's own: a program's callbacks.
//!
//! A job runs at a moment of simulated time, or when an event reaches a state, at a
//! moment that may not be known yet. Such a moment becomes known when the program
//! sets a user event; the setter calls [`progress`]. The thread is started at the
//! first job, takes no signals of the program, and sleeps without timer slack.

use crate::client::Client;
use crate::{Error, counter, late, process};
use gil_wire::Op;
use gil_wire::control::LATE_NS;
use gil_wire::ending::Ending;
use gil_wire::envelope::{Observation, State};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Least time between two wake-ups of the thread while more than one job is waiting, in
/// simulated nanoseconds: so much later than its moment may a job be done. Less than
/// half of [`LATE_NS`].
const PACE_NS: u64 = 40_000;

/// A moment of an event's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Its operation was handed to the device.
    Submitted,
    /// Its operation began.
    Started,
    /// It ended, well or badly.
    Ended,
}

/// What to do; called once, without any lock.
pub type Job = Box<dyn FnOnce() + Send>;
/// What to do at a moment of an event: called once, without any lock, with how
/// the event ended, or `None` if the session did. Before its end it is
/// [`Ending::Done`].
pub type EventJob = Box<dyn FnOnce(Option<Ending>) + Send>;

/// Why there is no thread to do it.
#[derive(Debug, thiserror::Error)]
#[error("no thread for callbacks ({0}): allow the process more threads")]
pub struct NoThread(#[from] io::Error);

/// A job that waits for its time.
struct Timed {
    job: Job,
    /// When its time came or comes.
    at_ns: u64,
    /// When it is to be done; never for one whose time had come when it was
    /// filed, which is done when the program leaves the thread a CPU.
    due_ns: u64,
    /// The call for which everything ready by then is fetched first: output
    /// to memory, text to standard output.
    fetches: Option<Op>,
}

/// A job whose time is not known.
struct Watched {
    op: Op,
    event: u64,
    moment: Moment,
    job: EventJob,
}

/// The end of a queue's operations so far, waited for.
struct Drained {
    op: Op,
    queues: Vec<u64>,
    job: Job,
}

#[derive(Default)]
struct Agenda {
    /// By time, then in the order of filing.
    timed: BTreeMap<(u64, u64), Timed>,
    /// Nobody has asked yet when their time comes.
    unasked: Vec<Watched>,
    /// The host did not know when their time comes.
    watched: Vec<Watched>,
    drained: Vec<Drained>,
    filed: u64,
    /// How often the program may have made moments known.
    progress: u64,
    /// The progress that the watched jobs were looked at with.
    looked: u64,
    /// When the host was last asked about events, or the thread last did jobs.
    busy_ns: u64,
    /// Until when the thread sleeps; 0 while it does not.
    sleeps_until_ns: u64,
    has_thread: bool,
}

static AGENDA: Mutex<Option<Agenda>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// Whether this is the thread that does the jobs.
    static IS_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// The agenda, locked.
struct Locked(MutexGuard<'static, Option<Agenda>>);

impl Locked {
    fn new() -> Self {
        Self(AGENDA.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn agenda(&mut self) -> &mut Agenda {
        self.0.get_or_insert_default()
    }

    /// Sleeps until something changes, or for so long.
    fn wait(self, timeout: Option<Duration>) -> Self {
        Self(match timeout {
            None => CHANGED.wait(self.0).unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                let waited = CHANGED.wait_timeout(self.0, timeout);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        })
    }
}

impl Agenda {
    fn file(&mut self, at_ns: u64, job: Job, fetches: Option<Op>) {
        self.filed += 1;
        let timed = Timed {
            job,
            at_ns,
            due_ns: if at_ns > now_ns() { at_ns } else { u64::MAX },
            fetches,
        };
        self.timed.insert((at_ns, self.filed), timed);
    }

    fn take_due(&mut self, now_ns: u64) -> Vec<Timed> {
        let later = self.timed.split_off(&(now_ns.saturating_add(1), 0));
        std::mem::replace(&mut self.timed, later)
            .into_values()
            .collect()
    }

    /// When the thread has to do something; `None` if nobody knows yet.
    fn next_ns(&self) -> Option<u64> {
        let paced_ns = self.busy_ns.saturating_add(PACE_NS);
        if !self.unasked.is_empty() {
            return Some(paced_ns);
        }
        let ((at_ns, _), _) = self.timed.first_key_value()?;
        Some(match self.timed.len() {
            1 => *at_ns,
            _ => paced_ns.max(*at_ns),
        })
    }

    /// Whether to ask about a new job's event together with those of others: while jobs
    /// come in quick succession, unless one follows from the one before.
    fn defers(&self, now_ns: u64) -> bool {
        let is_chain = IS_THREAD.get() && self.timed.is_empty();
        let is_busy = now_ns < self.busy_ns.saturating_add(PACE_NS);
        !self.unasked.is_empty() || (is_busy && !is_chain)
    }

    /// Wakes the thread if it would sleep past its next job.
    fn wake(&self) {
        if self.next_ns().is_some_and(|ns| ns < self.sleeps_until_ns) {
            CHANGED.notify_all();
        }
    }

    fn start(&mut self) -> Result<(), NoThread> {
        if !self.has_thread {
            start_thread()?;
            self.has_thread = true;
        }
        Ok(())
    }
}

/// Does `job` on the thread as soon as it can.
///
/// # Errors
/// [`NoThread`].
pub fn soon(job: Job) -> Result<(), NoThread> {
    let mut locked = Locked::new();
    let agenda = locked.agenda();
    agenda.start()?;
    agenda.file(0, job, None);
    CHANGED.notify_all();
    Ok(())
}

/// Does `job` on the thread when `event` has reached `moment`. `op` names the
/// call on whose behalf.
///
/// # Errors
/// [`NoThread`].
pub fn when(
    client: &Client,
    op: Op,
    event: u64,
    moment: Moment,
    job: EventJob,
) -> Result<(), NoThread> {
    let watched = Watched {
        op,
        event,
        moment,
        job,
    };
    let mut locked = Locked::new();
    let agenda = locked.agenda();
    agenda.start()?;
    let (now_ns, progress) = (now_ns(), agenda.progress);
    if agenda.defers(now_ns) {
        agenda.unasked.push(watched);
        agenda.wake();
        return Ok(());
    }
    agenda.busy_ns = now_ns;
    drop(locked);
    let looked = client.look(op, counter::entry(), &[event]);
    let found = looked.map(|observed| observed.first().copied());
    let mut locked = Locked::new();
    let agenda = locked.agenda();
    agenda.sort(watched, found);
    if agenda.progress != progress {
        agenda.looked = agenda.looked.min(progress);
        CHANGED.notify_all();
    }
    agenda.wake();
    Ok(())
}

/// Does `job` on the thread when all that is on these queues now has ended.
///
/// # Errors
/// [`NoThread`].
pub fn when_drained(op: Op, queues: Vec<u64>, job: Job) -> Result<(), NoThread> {
    let mut locked = Locked::new();
    let agenda = locked.agenda();
    agenda.start()?;
    agenda.drained.push(Drained { op, queues, job });
    agenda.progress += 1;
    CHANGED.notify_all();
    Ok(())
}

/// The program may have made moments known that jobs wait for.
pub fn progress() {
    let mut locked = Locked::new();
    if let Some(agenda) = locked.0.as_mut() {
        agenda.progress += 1;
        CHANGED.notify_all();
    }
}

impl Agenda {
    /// Files a job, or keeps it if its time is not known.
    fn sort(&mut self, watched: Watched, found: Result<Option<Observation>, Error>) {
        let job = watched.job;
        let (at_ns, ending) = match found {
            Err(_) => (0, None),
            Ok(Some(seen)) => match due(watched.moment, &seen) {
                Some((at_ns, ending)) => (at_ns, Some(ending)),
                None => return self.watched.push(Watched { job, ..watched }),
            },
            Ok(None) => return self.watched.push(Watched { job, ..watched }),
        };
        let job = Box::new(move || job(ending));
        self.file(at_ns, job, Some(watched.op));
    }
}

/// When an event reaches a moment, and the ending to tell; `None` if that is
/// not known. What ended badly reaches every moment as it ends.
fn due(moment: Moment, seen: &Observation) -> Option<(u64, Ending)> {
    let is_known = seen.end_ns != 0 || seen.state == State::Complete;
    match moment {
        _ if is_known && seen.ending.is_failure() => Some((seen.end_ns, seen.ending)),
        Moment::Submitted if is_known => Some((seen.submitted_ns, Ending::Done)),
        Moment::Started if is_known => Some((seen.start_ns, Ending::Done)),
        Moment::Ended if is_known => Some((seen.end_ns, Ending::Done)),
        _ => None,
    }
}

fn start_thread() -> io::Result<()> {
    let thread = std::thread::Builder::new().name("gil-callbacks".into());
    // What a program's callbacks need, as on its other threads.
    let thread = thread.stack_size(8 << 20);
    let before = all_signals_blocked()?;
    let started = thread.spawn(run);
    // SAFETY: the set is one that the kernel gave.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    started.map(drop)
}

/// Blocks all signals in this thread, which those that it starts inherit;
/// gives the set that was blocked before.
fn all_signals_blocked() -> io::Result<libc::sigset_t> {
    // SAFETY: a signal set is plain memory; both are initialised here.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: the sets are this function's own.
    let error = unsafe {
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before)
    };
    match error {
        0 => Ok(before),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The thread: ends with the process.
fn run() {
    // SAFETY: sets the slack of this thread's timers, in nanoseconds.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    IS_THREAD.set(true);
    let mut locked = Locked::new();
    let mut free_ns = 0;
    // More is likely to come soon after a round: who brings it need not wake the thread.
    let mut lingers = false;
    loop {
        let agenda = locked.agenda();
        if agenda.looked != agenda.progress {
            locked = look_again(locked);
            continue;
        }
        let now_ns = now_ns();
        let next_ns = agenda.next_ns().unwrap_or(u64::MAX);
        if next_ns > now_ns {
            let until_ns = match lingers {
                true => next_ns.min(now_ns + PACE_NS),
                false => next_ns,
            };
            locked = sleep(locked, now_ns, until_ns);
            lingers = false;
            continue;
        }
        (locked, free_ns) = round(locked, now_ns, free_ns);
        lingers = true;
    }
}

/// Sleeps until then, `u64::MAX` for ever, or until something changes.
fn sleep(mut locked: Locked, now_ns: u64, until_ns: u64) -> Locked {
    locked.agenda().sleeps_until_ns = until_ns;
    let timeout = (until_ns != u64::MAX).then(|| Duration::from_nanos(until_ns - now_ns));
    locked = locked.wait(timeout);
    locked.agenda().sleeps_until_ns = 0;
    locked
}

/// Asks for times that nobody has asked for, and does the jobs that are ready. The
/// thread is free since `free_ns`; returns when it is free again.
fn round(mut locked: Locked, now_ns: u64, free_ns: u64) -> (Locked, u64) {
    let agenda = locked.agenda();
    agenda.busy_ns = now_ns;
    let mut fetched_ns = 0;
    if !agenda.unasked.is_empty() {
        // The answer delivers everything that is ready by now.
        fetched_ns = now_ns;
        locked = ask(locked);
    }
    let due = locked.agenda().take_due(self::now_ns());
    drop(locked);
    let free_ns = perform(due, free_ns, fetched_ns);
    (Locked::new(), free_ns)
}

/// Does the jobs that are ready, on a thread that is free since `free_ns` and for which
/// the host delivered everything ready by `fetched_ns`. Returns when the thread is
/// free again.
fn perform(due: Vec<Timed>, mut free_ns: u64, fetched_ns: u64) -> u64 {
    let mut behind = due.iter().filter(|timed| timed.at_ns > fetched_ns);
    if let Some(op) = behind.find_map(|timed| timed.fetches)
        && let Ok(client) = process::client()
    {
        // What a lost session owes, nobody will see.
        let _ = client.fetch(op);
    }
    for timed in due {
        let late_ns = now_ns().saturating_sub(timed.due_ns.max(free_ns));
        late::count(late_ns > LATE_NS);
        (timed.job)();
        free_ns = now_ns();
    }
    free_ns
}

/// Asks for the time of the jobs about whose events nobody has asked.
fn ask(mut locked: Locked) -> Locked {
    let agenda = locked.agenda();
    let progress = agenda.progress;
    let unasked = std::mem::take(&mut agenda.unasked);
    drop(locked);
    let found = look_at(&unasked);
    let mut locked = Locked::new();
    let agenda = locked.agenda();
    for (unasked, found) in unasked.into_iter().zip(found) {
        agenda.sort(unasked, found);
    }
    if agenda.progress != progress {
        agenda.looked = agenda.looked.min(progress);
    }
    locked
}

/// Looks at everything whose time is not known.
fn look_again(mut locked: Locked) -> Locked {
    let agenda = locked.agenda();
    agenda.looked = agenda.progress;
    let watched = std::mem::take(&mut agenda.watched);
    let drained = std::mem::take(&mut agenda.drained);
    drop(locked);
    let found = look_at(&watched);
    let ends: Vec<_> = drained.iter().map(queues_end).collect();
    let mut locked = Locked::new();
    let agenda = locked.agenda();
    for (watched, found) in watched.into_iter().zip(found) {
        agenda.sort(watched, found);
    }
    for (drained, end) in drained.into_iter().zip(ends) {
        match end {
            Some(at_ns) => agenda.file(at_ns, drained.job, Some(drained.op)),
            None => agenda.drained.push(drained),
        }
    }
    locked
}

/// How far the jobs' events are, each asked once.
fn look_at(watched: &[Watched]) -> Vec<Result<Option<Observation>, Error>> {
    let Some(first) = watched.first() else {
        return Vec::new();
    };
    let mut events: Vec<u64> = watched.iter().map(|job| job.event).collect();
    events.sort_unstable();
    events.dedup();
    let looked = process::client().and_then(|c| c.look(first.op, counter::entry(), &events));
    let find = |observed: &[Observation], event: u64| {
        let at = events.binary_search(&event).ok()?;
        observed.get(at).copied()
    };
    let each = |job: &Watched| match &looked {
        Ok(observed) => Ok(find(observed, job.event)),
        Err(error) => Err(error.clone()),
    };
    watched.iter().map(each).collect()
}

/// When all of the queues' operations have ended; `None` if that is not known.
fn queues_end(drained: &Drained) -> Option<u64> {
    let Ok(client) = process::client() else {
        return Some(0);
    };
    let mut end_ns = 0;
    for queue in &drained.queues {
        match client.queue_end(drained.op, counter::entry(), *queue) {
            Ok(Some(at_ns)) => end_ns = end_ns.max(at_ns),
            Ok(None) => return None,
            Err(_) => {}
        }
    }
    Some(end_ns)
}

/// `CLOCK_MONOTONIC`, in nanoseconds.
fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` has space for one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn seen(state: State, ending: Ending) -> Observation {
        Observation {
            event: 7,
            state,
            ending,
            queued_ns: 10,
            submitted_ns: 20,
            start_ns: 30,
            end_ns: 40,
        }
    }

    #[test]
    fn moments_are_those_of_the_timeline() {
        let known = seen(State::Running, Ending::Done);
        assert_eq!(due(Moment::Submitted, &known), Some((20, Ending::Done)));
        assert_eq!(due(Moment::Started, &known), Some((30, Ending::Done)));
        assert_eq!(due(Moment::Ended, &known), Some((40, Ending::Done)));
        let ending = Ending::Failed(-14);
        let failed = seen(State::Queued, ending);
        assert_eq!(due(Moment::Started, &failed), Some((40, ending)));
        let unknown = Observation {
            start_ns: 0,
            end_ns: 0,
            ..seen(State::Queued, Ending::Done)
        };
        assert_eq!(due(Moment::Ended, &unknown), None);
        assert_eq!(due(Moment::Submitted, &unknown), None);
    }

    #[test]
    fn what_is_due_is_done_by_time_then_in_the_order_of_filing() {
        let mut agenda = Agenda::default();
        let (tell, told) = channel();
        for (at_ns, name) in [(30, "c"), (10, "a"), (50, "never"), (10, "b")] {
            let tell = tell.clone();
            let job = Box::new(move || tell.send(name).unwrap());
            agenda.file(at_ns, job, None);
        }
        agenda
            .take_due(30)
            .into_iter()
            .for_each(|timed| (timed.job)());
        assert_eq!(told.try_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(agenda.timed.len(), 1);
    }

    fn unasked() -> Watched {
        Watched {
            op: Op(0),
            event: 7,
            moment: Moment::Ended,
            job: Box::new(|_| {}),
        }
    }

    #[test]
    fn a_lone_job_is_done_at_its_time_and_several_at_a_pace() {
        let now = now_ns();
        let mut agenda = Agenda {
            busy_ns: now,
            ..Agenda::default()
        };
        assert_eq!(agenda.next_ns(), None);
        agenda.file(now + 5, Box::new(|| {}), None);
        assert_eq!(agenda.next_ns(), Some(now + 5));
        agenda.file(now + 7, Box::new(|| {}), None);
        assert_eq!(agenda.next_ns(), Some(now + PACE_NS));
        agenda.timed.clear();
        agenda.file(now + 3 * PACE_NS, Box::new(|| {}), None);
        agenda.file(now + 4 * PACE_NS, Box::new(|| {}), None);
        assert_eq!(agenda.next_ns(), Some(now + 3 * PACE_NS));
        agenda.unasked.push(unasked());
        assert_eq!(agenda.next_ns(), Some(now + PACE_NS));
    }

    #[test]
    fn only_jobs_in_quick_succession_are_asked_about_together() {
        let mut agenda = Agenda::default();
        assert!(!agenda.defers(PACE_NS), "the first");
        agenda.busy_ns = PACE_NS;
        assert!(!agenda.defers(2 * PACE_NS), "a pace later");
        assert!(agenda.defers(2 * PACE_NS - 1));
        IS_THREAD.set(true);
        assert!(!agenda.defers(2 * PACE_NS - 1), "the next of a chain");
        agenda.unasked.push(unasked());
        assert!(agenda.defers(2 * PACE_NS - 1));
        IS_THREAD.set(false);
        assert!(agenda.defers(9 * PACE_NS), "with those before it");
    }

    #[test]
    fn only_what_could_have_been_done_in_time_is_late() {
        let late_of = |due_ns, free_ns| {
            let before = late::counted();
            let (job, fetches): (Job, _) = (Box::new(|| {}), None);
            let timed = Timed {
                job,
                at_ns: 0,
                due_ns,
                fetches,
            };
            perform(vec![timed], free_ns, 0);
            late::counted() - before
        };
        let now = now_ns();
        assert_eq!(late_of(now - 2 * LATE_NS, 0), 1);
        assert_eq!(late_of(u64::MAX, 0), 0, "in time");
        assert_eq!(late_of(0, u64::MAX), 0, "the thread was busy");
    }

    #[test]
    fn the_thread_takes_no_signals_and_does_what_comes_soon() {
        let (tell, told) = channel();
        soon(Box::new(move || {
            // SAFETY: a set of this function's own, which the call fills.
            let blocked = unsafe {
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut set);
                libc::sigismember(&set, libc::SIGALRM)
            };
            let name = std::thread::current().name().map(str::to_owned);
            tell.send((blocked, name)).unwrap();
        }))
        .unwrap();
        let (blocked, name) = told.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!((blocked, name.as_deref()), (1, Some("gil-callbacks")));
    }
}
