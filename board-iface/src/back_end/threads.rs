//! A board thread for each guest thread.
//!
//! If a context is current to a thread, as in EGL and CUDA, making another one current
//! costs a flush, which would be measured as the program's time. So calls of different
//! guest threads execute on different threads here. They still execute one after the
//! other, in the order of arrival: the connection's thread waits for each. Sessions of
//! other APIs are not wrapped and have no cost.

use crate::board::{Call, Ended, Outcome, Session, Unable};
use crate::region::Budget;
use gil_wire::Op;
use gil_wire::api::Described;
use gil_wire::checkpoint::{PastEvent, Survey};
use gil_wire::identity::DeviceIdentity;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Threads of one session, at most, beside the connection's own. Guest threads
/// come and go, and nobody says so: for one more, that which was not used for
/// longest ends. What was current there has to be made so again.
const MAX_THREADS: usize = 64;

/// Work for a thread.
type Job = Box<dyn FnOnce() + Send>;

/// A thread for a guest's.
#[derive(Debug)]
struct Worker {
    /// The guest's number of its thread.
    guest: u32,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(guest: u32) -> io::Result<Self> {
        let (jobs, todo) = channel::<Job>();
        let run = move || todo.into_iter().for_each(|job| job());
        let name = format!("guest {guest}");
        let thread = std::thread::Builder::new().name(name).spawn(run)?;
        Ok(Self {
            guest,
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }
}

impl Drop for Worker {
    /// The thread ends, and with it what is current there.
    fn drop(&mut self) {
        self.jobs = None;
        // One that panicked lost the session, which was said.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Why a call was not executed.
#[derive(Debug, thiserror::Error)]
enum ThreadError {
    #[error("the board has no thread for the guest's: {0}")]
    None(#[from] io::Error),
    #[error("a call ended its thread, and the session with it")]
    Ended,
}

/// A session that has a thread for each of the guest's. The guest thread that
/// calls first has the connection's own, on which everything but calls runs:
/// what it needs to be current, it makes current itself.
#[derive(Debug)]
pub struct GuestThreads<S> {
    /// In the order of use. They end before the session does.
    workers: Vec<Worker>,
    first: Option<u32>,
    /// None once a call panicked.
    session: Option<Box<S>>,
}

impl<S: Session + Send + 'static> GuestThreads<S> {
    /// Gives a session threads.
    pub fn new(session: S) -> Self {
        Self {
            workers: Vec::new(),
            first: None,
            session: Some(Box::new(session)),
        }
    }

    /// The thread for a guest's.
    fn worker(&mut self, guest: u32) -> io::Result<&Sender<Job>> {
        let known = self.workers.iter().position(|one| one.guest == guest);
        let worker = match known {
            Some(at) => self.workers.remove(at),
            None => {
                if self.workers.len() == MAX_THREADS {
                    self.workers.remove(0);
                }
                Worker::start(guest)?
            }
        };
        self.workers.push(worker);
        let last = self.workers.last().and_then(|last| last.jobs.as_ref());
        last.ok_or(io::ErrorKind::BrokenPipe.into())
    }

    /// Does something with the session on a guest thread's own thread.
    fn on<R: Send + 'static>(
        &mut self,
        guest: u32,
        work: impl FnOnce(&mut S) -> R + Send + 'static,
    ) -> Result<R, ThreadError> {
        let jobs = self.worker(guest)?.clone();
        let mut session = self.session.take().ok_or(ThreadError::Ended)?;
        let (done, result) = channel();
        let job = move || {
            let result = work(&mut session);
            let _ = done.send((session, result));
        };
        // If the thread is gone, so are the job and the session in it.
        let _ = jobs.send(Box::new(job));
        let (session, result) = result.recv().map_err(|_| ThreadError::Ended)?;
        self.session = Some(session);
        Ok(result)
    }

    fn here(&mut self) -> Result<&mut S, Unable> {
        let ended = || Unable::because(ThreadError::Ended);
        self.session.as_deref_mut().ok_or_else(ended)
    }
}

impl<S: Session + Send + 'static> Session for GuestThreads<S> {
    fn apis(&self) -> Vec<Described> {
        let session = self.session.as_ref();
        session.map_or_else(Vec::new, |session| session.apis())
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        let thread = match self.here() {
            Ok(session) => session.thread_of(&call),
            Err(error) => return Outcome::lost(error),
        };
        if *self.first.get_or_insert(thread) == thread {
            return match self.here() {
                Ok(session) => session.call(call),
                Err(error) => Outcome::lost(error),
            };
        }
        let (args, budget) = (call.head.args.to_vec(), call.budget.clone());
        let (head, regions) = (call.head.clone().with_args(&[]), call.regions);
        let outcome = self.on(thread, move |session| {
            session.call(Call {
                head: &head.with_args(&args),
                regions,
                budget: &budget,
            })
        });
        match outcome {
            Ok(outcome) => outcome,
            Err(error @ ThreadError::None(_)) => Outcome::refused(error),
            Err(error) => Outcome::lost(error),
        }
    }

    fn finish(&mut self, event: u64, budget: &Budget) -> Option<Ended> {
        self.here().ok()?.finish(event, budget)
    }

    fn identify(&mut self, api: u16, device: u64) -> Option<DeviceIdentity> {
        self.here().ok()?.identify(api, device)
    }

    fn survey(&mut self) -> Survey {
        match self.here() {
            Ok(session) => session.survey(),
            Err(Unable(why)) => Survey {
                obstacles: vec![why],
                ..Survey::default()
            },
        }
    }

    fn fetch(&mut self, api: u16, object: u64) -> Result<Vec<u8>, Unable> {
        self.here()?.fetch(api, object)
    }

    fn fill(&mut self, api: u16, object: u64, bytes: &[u8]) -> Result<(), Unable> {
        self.here()?.fill(api, object, bytes)
    }

    fn past(&mut self, event: &PastEvent) -> Result<(), Unable> {
        self.here()?.past(event)
    }

    fn number_from(&mut self, api: u16, number: u64) -> Result<(), Unable> {
        self.here()?.number_from(api, number)
    }

    fn not_run(&self, op: Op) -> i32 {
        let session = self.session.as_ref();
        session.map_or(-1, |session| session.not_run(op))
    }

    fn takes_shared(&self, op: Op) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.takes_shared(op))
    }
}

#[cfg(test)]
mod tests;
