//! A guest's jobs: each file's on one processor are a queue, of which each begins when the
//! one before has ended. A job lasts from its submission, or from the end of the job before it, to the
//! time that its fence has. Where the driver's table says which processor executes a job,
//! it begins after those of other files' on the same one, and, as drivers have it, after
//! those on others that use a buffer of its own.

use super::node::{End, Fence};
use super::refusal::Refusal;
use crate::board::Ended;
use gil_wire::ending::Ending;
use nix::errno::Errno;
use nix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Jobs under way at a time: each has an open file.
const MOST: usize = 256;
/// Jobs that ended and that nobody asked for.
const UNASKED_MOST: usize = 1 << 16;

/// Jobs that are reported at once.
const REPORTED_MOST: usize = 256;

/// Nanoseconds of `CLOCK_MONOTONIC`, which fences have.
pub fn now_ns() -> u64 {
    clock_ns(ClockId::CLOCK_MONOTONIC)
}

/// Nanoseconds that this thread was executed.
pub fn executed_ns() -> u64 {
    clock_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).map(Duration::from);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// A job under way.
#[derive(Debug)]
pub struct Job {
    /// The event that it signals.
    pub event: u64,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// Its fence; without one it has ended.
    pub fence: Option<Rc<dyn Fence>>,
    /// The numbers of the buffers that it uses, and whether it writes there, if it waits for
    /// others that use them, and for its processor.
    pub buffers: Option<BTreeMap<u32, bool>>,
    /// Of the jobs that it waits for: [`Jobs::add`] finds them.
    pub after: Vec<Rc<dyn Fence>>,
}

impl Job {
    fn shares_with(&self, other: &Self) -> bool {
        let (Some(mine), Some(theirs)) = (&self.buffers, &other.buffers) else {
            return false;
        };
        // Two that only read are not in each other's way.
        mine.iter().any(|(number, writes)| {
            let other = theirs.get(number);
            other.is_some_and(|others| *writes || *others)
        })
    }

    /// When it begins, if it ends then and nothing of its own queue is in the way.
    fn began_ns(&self, end_ns: u64) -> u64 {
        let ended = |fence: &Rc<dyn Fence>| fence.wait(Duration::ZERO).ok()?;
        let ends = self.after.iter().filter_map(ended).map(|end| end.ns);
        // What ended later was not waited for.
        let last = ends.filter(|ns| *ns <= end_ns).max();
        self.submitted_ns.max(last.unwrap_or(0))
    }
}

/// A file's jobs on one processor, in order.
#[derive(Debug, Default)]
struct Queue {
    under_way: VecDeque<Job>,
    /// Those that have ended, and that nobody asked for.
    unasked: VecDeque<Ended>,
    /// When the last of them ended.
    end_ns: u64,
    /// Whether one did not end in time: nobody waits for those behind it.
    is_stuck: bool,
}

impl Queue {
    /// Takes the end of its first job, if it has one within so long, or is not waited
    /// for any longer.
    fn settle(&mut self, within: Duration, gives_up: bool) -> bool {
        let Some(job) = self.under_way.front() else {
            return false;
        };
        let within = if self.is_stuck {
            Duration::ZERO
        } else {
            within
        };
        let end = match &job.fence {
            Some(fence) => fence.wait(within),
            None => Ok(Some(End {
                ns: now_ns(),
                status: 0,
            })),
        };
        let end = match end {
            Ok(None) if !gives_up => return false,
            Ok(None) => {
                self.is_stuck = true;
                tracing::warn!(event = job.event, "a job does not end: it counts as failed");
                failed(Errno::ETIMEDOUT)
            }
            Ok(Some(end)) => end,
            Err(error) => failed(error),
        };
        let ended = self.ended(job, end);
        self.under_way.pop_front();
        self.end_ns = self.end_ns.max(end.ns);
        self.unasked.push_back(ended);
        true
    }

    fn ended(&self, job: &Job, end: End) -> Ended {
        let ending = match end.status {
            0 => Ending::Done,
            error => Ending::Failed(error),
        };
        let began = job.began_ns(end.ns).max(self.end_ns);
        Ended {
            duration_ns: end.ns.saturating_sub(began),
            ..Ended::bare(job.event, ending)
        }
    }

    fn take(&mut self, event: u64) -> Option<Ended> {
        let at = self.unasked.iter().position(|it| it.event == event)?;
        self.unasked.remove(at)
    }

    /// The fences of the jobs that another one may wait for, which is for another queue:
    /// on the same processor, or with a buffer of the same.
    fn before(&self, job: &Job, is_same_processor: bool) -> Vec<Rc<dyn Fence>> {
        let is_one = job.buffers.is_some();
        let jobs = self.under_way.iter().filter(|_| is_one);
        let jobs = jobs.filter(|it| is_same_processor || it.shares_with(job));
        jobs.filter_map(|it| it.fence.clone()).collect()
    }

    /// Whether a job that has not ended uses a buffer.
    fn uses(&self, buffer: u32) -> bool {
        let named = |job: &&Job| matches!(&job.buffers, Some(all) if all.contains_key(&buffer));
        let jobs = self.under_way.iter().filter(named);
        let mut fences = jobs.filter_map(|job| job.fence.as_ref());
        fences.any(|fence| matches!(fence.wait(Duration::ZERO), Ok(None)))
    }

    fn has(&self, event: u64) -> bool {
        let mut unasked = self.unasked.iter();
        self.under_way.iter().any(|it| it.event == event) || unasked.any(|it| it.event == event)
    }
}

fn failed(error: Errno) -> End {
    End {
        ns: now_ns(),
        status: -(error as i32),
    }
}

/// All jobs of a guest's.
#[derive(Debug)]
pub struct Jobs {
    /// By file and processor.
    queues: BTreeMap<(u32, u64), Queue>,
    /// How long one job is waited for.
    limit: Duration,
}

impl Jobs {
    /// None, of which each is waited for so long.
    pub fn new(limit: Duration) -> Self {
        Self {
            queues: BTreeMap::new(),
            limit,
        }
    }

    /// Whether one more can be started that signals this event.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn check(&mut self, event: u64) -> Result<(), Refusal> {
        if self.queues.values().any(|queue| queue.has(event)) {
            return Err(Refusal::Event(event));
        }
        let unasked: usize = self.queues.values().map(|it| it.unasked.len()).sum();
        if unasked >= UNASKED_MOST {
            return Err(Refusal::Jobs(unasked));
        }
        let under_way = |queues: &BTreeMap<(u32, u64), Queue>| {
            let lens = queues.values().map(|it| it.under_way.len());
            lens.sum::<usize>()
        };
        if under_way(&self.queues) >= MOST {
            let limit = self.limit;
            for queue in self.queues.values_mut() {
                while queue.settle(Duration::ZERO, false) {}
            }
            let longest = self.queues.values_mut().max_by_key(|it| it.under_way.len());
            if let Some(queue) = longest.filter(|it| it.under_way.len() >= MOST / 2) {
                queue.settle(limit, true);
            }
        }
        match under_way(&self.queues) >= MOST {
            true => Err(Errno::EBUSY.into()),
            false => Ok(()),
        }
    }

    /// A job was started on a file and one of its processors.
    pub fn add(&mut self, queue: (u32, u64), mut job: Job) {
        let others = self.queues.iter().filter(|(it, _)| **it != queue);
        let before = others.flat_map(|(it, other)| other.before(&job, it.1 == queue.1));
        job.after = before.collect();
        self.queues
            .entry(queue)
            .or_default()
            .under_way
            .push_back(job);
    }

    /// Whether a job under way uses a buffer, as far as is known without the driver.
    pub fn use_buffer(&self, number: u32) -> bool {
        self.queues.values().any(|queue| queue.uses(number))
    }

    /// Waits for the job that signals this event; `None` if there is none.
    pub fn finish(&mut self, event: u64) -> Option<Ended> {
        let mut queues = self.queues.iter_mut();
        let (_, queue) = queues.find(|(_, queue)| queue.has(event))?;
        let began = Instant::now();
        loop {
            if let Some(ended) = queue.take(event) {
                return Some(ended);
            }
            let left = self.limit.saturating_sub(began.elapsed());
            if !queue.settle(left, true) {
                return None;
            }
        }
    }

    /// Waits until a queue's jobs have ended, so long at most; then they count as failed.
    pub fn drain(&mut self, queue: (u32, u64), within: Duration) {
        let Some(queue) = self.queues.get_mut(&queue) else {
            return;
        };
        let began = Instant::now();
        while queue.settle(within.saturating_sub(began.elapsed()), true) {}
    }

    /// A queue whose last job did not end goes on: its processor was reset.
    pub fn restart(&mut self, queue: (u32, u64)) {
        let queue = self.queues.get_mut(&queue);
        if let Some(queue) = queue.filter(|it| it.under_way.is_empty()) {
            queue.is_stuck = false;
        }
    }

    /// The jobs that have ended and that nobody asked for; of more than [`REPORTED_MOST`],
    /// these.
    pub fn ended(&mut self) -> Vec<Ended> {
        let next = std::iter::from_fn(|| self.ended_behind());
        next.take(REPORTED_MOST).collect()
    }

    /// The next job that has ended and that nobody asked for.
    pub fn ended_behind(&mut self) -> Option<Ended> {
        self.queues.values_mut().find_map(|queue| {
            if queue.unasked.is_empty() {
                queue.settle(Duration::ZERO, false);
            }
            queue.unasked.pop_front()
        })
    }

    /// A file was closed: nothing is added to its jobs.
    pub fn close(&mut self, file: u32) {
        let is_over = |queue: &Queue| queue.under_way.is_empty() && queue.unasked.is_empty();
        self.queues
            .retain(|(it, _), queue| *it != file || !is_over(queue));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends at a time, or never.
    #[derive(Debug)]
    struct At(Option<u64>, i32);

    impl Fence for At {
        fn wait(&self, within: Duration) -> Result<Option<End>, Errno> {
            if self.0.is_none() {
                std::thread::sleep(within);
            }
            let status = self.1;
            Ok(self.0.map(|ns| End { ns, status }))
        }
    }

    fn job(event: u64, submitted_ns: u64, end: Option<u64>, status: i32) -> Job {
        Job {
            event,
            submitted_ns,
            fence: Some(Rc::new(At(end, status))),
            buffers: None,
            after: Vec::new(),
        }
    }

    /// One on a processor that executes one job at a time.
    fn on_processor(event: u64, submitted_ns: u64, end: u64, buffers: &[u32]) -> Job {
        Job {
            buffers: Some(buffers.iter().map(|number| (*number, true)).collect()),
            ..job(event, submitted_ns, Some(end), 0)
        }
    }

    fn jobs() -> Jobs {
        Jobs::new(Duration::from_millis(20))
    }

    #[test]
    fn buffers_are_used_by_jobs_that_have_not_ended() {
        let mut jobs = jobs();
        jobs.add((7, 0), on_processor(1, 0, 10, &[30]));
        let never = Job {
            fence: Some(Rc::new(At(None, 0))),
            ..on_processor(2, 0, 0, &[31, 32])
        };
        jobs.add((8, 1), never);
        let used = [30, 31, 32, 33].map(|number| jobs.use_buffer(number));
        assert_eq!(used, [false, true, true, false]);
        jobs.finish(2).unwrap();
        assert!(!jobs.use_buffer(31), "it counts as failed");
    }

    #[test]
    fn a_job_lasts_from_the_end_of_the_one_before() {
        let mut jobs = jobs();
        for (event, submitted, end) in [(1, 100, 400), (2, 150, 450), (3, 500, 900)] {
            jobs.add((7, 0), job(event, submitted, Some(end), 0));
        }
        jobs.add((7, 1), job(4, 100, Some(700), -5));
        let second = jobs.finish(2).unwrap();
        assert_eq!((second.duration_ns, second.ending), (50, Ending::Done));
        let behind: Vec<_> = std::iter::from_fn(|| jobs.ended_behind()).collect();
        let told = |it: &Ended| (it.event, it.duration_ns, it.ending);
        let behind: Vec<_> = behind.iter().map(told).collect();
        let (done, failed) = (Ending::Done, Ending::Failed(-5));
        assert_eq!(behind, [(1, 300, done), (3, 400, done), (4, 600, failed)]);
        assert!(jobs.finish(1).is_none(), "it was told");
    }

    #[test]
    fn a_job_begins_after_those_that_are_in_its_way() {
        let mut jobs = jobs();
        jobs.add((7, 0), on_processor(1, 100, 400, &[3, 5]));
        jobs.add((7, 1), on_processor(2, 110, 900, &[5]));
        jobs.add((8, 1), on_processor(3, 120, 950, &[9]));
        jobs.add((8, 0), on_processor(4, 130, 300, &[3]));
        jobs.add((9, 2), on_processor(5, 140, 600, &[10]));
        let mut took = |event| jobs.finish(event).unwrap().duration_ns;
        assert_eq!(took(2), 500, "a buffer is the first job's");
        assert_eq!(took(3), 50, "its processor executed the second");
        assert_eq!(took(4), 170, "the first ended later: it did not wait");
        assert_eq!(took(5), 460, "nothing was in its way");
        assert_eq!(took(1), 300);
    }

    #[test]
    fn jobs_that_read_the_same_are_not_in_each_others_way() {
        let mut jobs = jobs();
        let reads = |mut job: Job| {
            job.buffers = Some(BTreeMap::from([(3, false)]));
            job
        };
        jobs.add((7, 0), reads(on_processor(1, 100, 400, &[])));
        jobs.add((7, 1), reads(on_processor(2, 110, 900, &[])));
        jobs.add((7, 2), on_processor(3, 120, 950, &[3]));
        assert_eq!(jobs.finish(2).unwrap().duration_ns, 790);
        assert_eq!(jobs.finish(3).unwrap().duration_ns, 50, "it writes there");
    }

    #[test]
    fn not_only_the_last_of_a_queue_can_be_in_the_way() {
        let mut jobs = jobs();
        jobs.add((7, 1), on_processor(1, 100, 400, &[3, 9]));
        jobs.add((7, 1), on_processor(2, 110, 900, &[9]));
        jobs.add((7, 0), on_processor(3, 120, 500, &[3, 9]));
        assert_eq!(jobs.finish(3).unwrap().duration_ns, 100);
    }

    #[test]
    fn a_job_that_does_not_end_fails_and_those_behind_it_at_once() {
        let mut jobs = jobs();
        (1..=20).for_each(|event| jobs.add((7, 0), job(event, 0, None, 0)));
        let began = Instant::now();
        let late = Ending::Failed(-(Errno::ETIMEDOUT as i32));
        for event in 1..=20 {
            assert_eq!(jobs.finish(event).unwrap().ending, late);
        }
        assert!(began.elapsed() < Duration::from_millis(300));
        assert!(jobs.ended_behind().is_none());
    }

    #[test]
    fn a_queue_goes_on_when_its_processor_was_reset() {
        let mut jobs = jobs();
        jobs.add((7, 0), job(1, 0, None, 0));
        jobs.add((7, 1), job(2, 0, Some(5), 0));
        jobs.drain((7, 0), Duration::from_millis(5));
        jobs.drain((9, 9), Duration::ZERO);
        assert!(jobs.queues[&(7, 0)].is_stuck);
        assert_eq!(jobs.queues[&(7, 1)].under_way.len(), 1, "another's");
        jobs.restart((7, 0));
        jobs.add((7, 0), job(3, 0, None, 0));
        let began = Instant::now();
        jobs.finish(3).unwrap();
        assert!(
            began.elapsed() >= Duration::from_millis(20),
            "it is waited for"
        );
    }

    #[test]
    fn jobs_are_bounded_and_their_events_their_own() {
        let mut jobs = jobs();
        for event in 1..=MOST as u64 {
            jobs.check(event).unwrap();
            jobs.add((7, 0), job(event, 0, Some(event), 0));
        }
        assert!(matches!(jobs.check(5), Err(Refusal::Event(5))));
        jobs.check(1000).unwrap();
        assert!(jobs.queues[&(7, 0)].under_way.is_empty(), "they have ended");
        assert!(matches!(jobs.check(5), Err(Refusal::Event(5))));
        assert!(jobs.finish(5).is_some());
        jobs.check(5).unwrap();
        jobs.close(7);
        assert!(jobs.finish(6).is_some(), "jobs outlive their file");
    }
}
