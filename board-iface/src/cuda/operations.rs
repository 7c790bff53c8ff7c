//! Operations under way: what they use, and how long they take. An operation is measured by
//! two events of the driver's, in front of it and behind it on its stream; one without work
//! has the one behind it.

use super::driver::Driver;
use super::generated::types::*;
use super::pinned::Staged;
use super::shared::Snapshot;
use crate::back_end::call::Memory;
use crate::back_end::operations::Finished;
use crate::board::Ended;
use gil_wire::call::Handle;
use gil_wire::ending::Ending;
use std::collections::HashMap;
use std::ptr::null_mut;

/// Most events that a context keeps for the next operations.
const KEPT_MAX: usize = 1024;

/// Thousandths of a device.
pub const WHOLE: u16 = 1000;
/// Of a stream's operations under way, how many are looked at for what they need.
const LATEST: usize = 64;

/// What of the device an operation keeps busy. By that it is measured beside those of other
/// streams, or behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing of which it matters.
    Nothing,
    /// So many thousandths of the processors.
    Processors(u16),
    /// The engine that copies pinned memory to the device.
    Up,
    /// The engine that copies to pinned memory.
    Down,
}

impl Needs {
    /// How many thousandths of what `self` needs another operation needs.
    fn taken_by(self, other: Self) -> u16 {
        match (self, other) {
            (Self::Processors(_), Self::Processors(thousandths)) => thousandths,
            (Self::Up, Self::Up) | (Self::Down, Self::Down) => WHOLE,
            _ => 0,
        }
    }
}

/// Events of a context that no operation has.
#[derive(Debug, Default)]
pub struct Pool(Vec<CUevent>);

impl Pool {
    /// One of them, or a new one. The context is current.
    ///
    /// # Errors
    /// The driver's code.
    pub fn take(&mut self, driver: &Driver) -> Result<CUevent, CUresult> {
        if let Some(event) = self.0.pop() {
            return Ok(event);
        }
        let mut event = null_mut();
        // SAFETY: there is space for a handle.
        match unsafe { (driver.own.cuEventCreate)(&mut event, 0) } {
            CUDA_SUCCESS => Ok(event),
            error => Err(error),
        }
    }

    /// Takes one back.
    pub fn give(&mut self, driver: &Driver, event: CUevent) {
        if self.0.len() < KEPT_MAX {
            self.0.push(event);
        } else {
            // SAFETY: it is the session's, and nothing else names it.
            unsafe { (driver.own.cuEventDestroy_v2)(event) };
        }
    }
}

/// An operation under way.
#[derive(Debug)]
pub struct Running {
    /// Its context.
    pub context: Handle,
    /// In front of it, if it is measured.
    pub begin: Option<CUevent>,
    /// Behind it.
    pub end: CUevent,
    /// Nanoseconds that the CPU was at it between the two, and that its call took already. On an
    /// idle stream the event in front comes at once, and the work when the CPU has brought it there.
    pub billed_ns: u64,
    /// What of the device it needs.
    pub needs: Needs,
    /// The pinned memory that it copies from or to, if it does.
    pub staged: Option<Staged>,
    /// What the program shares, of which its output is all that the device has there.
    pub snapshot: Option<Snapshot>,
    /// The call's memory, which the driver may use until the operation ends.
    pub memory: Memory,
}

impl Running {
    /// Waits for its end. Its context is current.
    pub fn wait(&self, driver: &Driver) -> Finished {
        // SAFETY: the event is the operation's.
        let result = unsafe { (driver.own.cuEventSynchronize)(self.end) };
        self.finished(driver, result)
    }

    /// How it ended, if it has.
    pub fn look(&self, driver: &Driver) -> Option<Finished> {
        // SAFETY: the event is the operation's.
        match unsafe { (driver.own.cuEventQuery)(self.end) } {
            CUDA_ERROR_NOT_READY => None,
            result => Some(self.finished(driver, result)),
        }
    }

    fn finished(&self, driver: &Driver, result: CUresult) -> Finished {
        match result {
            CUDA_SUCCESS => Finished {
                duration_ns: self.measured(driver),
                ending: Ending::Done,
            },
            error => Finished {
                duration_ns: 0,
                ending: Ending::Failed(error),
            },
        }
    }

    fn measured(&self, driver: &Driver) -> u64 {
        // Programs do not ask for these.
        let Some(begin) = self.begin.filter(|_| self.snapshot.is_none()) else {
            return 0;
        };
        let mut milliseconds = 0f32;
        // SAFETY: both events are recorded, and have ended.
        let result = unsafe { (driver.own.cuEventElapsedTime)(&mut milliseconds, begin, self.end) };
        match result {
            CUDA_SUCCESS => {
                let between_ns = (f64::from(milliseconds) * 1e6).round() as u64;
                between_ns.saturating_sub(self.billed_ns)
            }
            _ => 0,
        }
    }
}

/// What a stream keeps busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Busy {
    /// The number of the last operation that does.
    number: u64,
    /// Thousandths, at most at once.
    taken: u16,
    /// Behind that operation.
    end: CUevent,
}

/// The ends of those that have to go before one with these thousandths finds room: the oldest ones.
fn to_wait_for(its_own: u16, mut busy: Vec<Busy>) -> Vec<CUevent> {
    // Numbers are given as they are put on streams.
    busy.sort_unstable_by_key(|it| it.number);
    let taken = busy.iter().map(|it| u32::from(it.taken)).sum::<u32>();
    let mut sum = u32::from(its_own) + taken;
    let mut ends = Vec::new();
    for it in busy {
        if sum <= WHOLE.into() {
            break;
        }
        sum -= u32::from(it.taken);
        ends.push(it.end);
    }
    ends
}

/// An operation that the host has not asked for.
#[derive(Debug)]
pub enum Operation {
    /// Under way.
    Running(Running),
    /// Its context was destroyed.
    Ended(Ended),
}

/// A session's operations, by the guest's numbers.
#[derive(Debug, Default)]
pub struct Operations {
    all: HashMap<u64, Operation>,
    /// Those of each queue, in the order in which they were put there; some may have been
    /// reported.
    lines: HashMap<(Handle, Handle), std::collections::VecDeque<u64>>,
    /// The queue of the one that was asked for last.
    latest: Option<(Handle, Handle)>,
    queues: HashMap<u64, (Handle, Handle)>,
}

impl Operations {
    /// Whether none is under way.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether there is one of this number.
    pub fn has(&self, number: u64) -> bool {
        self.all.contains_key(&number)
    }

    /// One is under way on a queue: a context and a stream.
    pub fn add(&mut self, number: u64, queue: (Handle, Handle), running: Running) {
        self.all.insert(number, Operation::Running(running));
        self.queues.insert(number, queue);
        self.lines.entry(queue).or_default().push_back(number);
    }

    /// The event behind one that is under way.
    pub fn end_of(&self, number: u64) -> Option<CUevent> {
        match self.all.get(&number)? {
            Operation::Running(running) => Some(running.end),
            Operation::Ended(_) => None,
        }
    }

    /// Whether an operation that is put on a queue now waits for none of those before it: all
    /// of that queue have ended, and of those that it is ordered behind. The default stream
    /// comes behind all streams of its context, and each of them behind it.
    pub fn is_idle(&self, (context, stream): (Handle, Handle), driver: &Driver) -> bool {
        let is_in_front = |queue: &(Handle, Handle)| {
            queue.0 == context && (queue.1 == stream || queue.1.is_null() || stream.is_null())
        };
        let mut in_front = self.lines.iter().filter(|(queue, _)| is_in_front(queue));
        in_front.all(|(_, line)| {
            let last = line.back().and_then(|number| self.end_of(*number));
            // SAFETY: the event is the operation's.
            last.is_none_or(|end| unsafe { (driver.own.cuEventQuery)(end) } == CUDA_SUCCESS)
        })
    }

    /// The ends of operations of a context's other streams, if they and one with these needs do
    /// not find room on the device together: it is to be measured behind them, not beside. Those that go
    /// on beside it are not among them. `has_ended` asks the driver for an event.
    pub fn in_the_way(
        &self,
        (context, stream): (Handle, Handle),
        needs: Needs,
        has_ended: impl Fn(CUevent) -> bool,
    ) -> Vec<CUevent> {
        let its_own = needs.taken_by(needs);
        if its_own == 0 {
            return Vec::new();
        }
        let others = |queue: (Handle, Handle)| queue.0 == context && queue.1 != stream;
        // The driver is asked only where there may be too little room.
        let busy = self.busy(others, needs, &|_| false);
        match to_wait_for(its_own, busy).is_empty() {
            true => Vec::new(),
            false => to_wait_for(its_own, self.busy(others, needs, &has_ended)),
        }
    }

    /// What streams keep busy of what an operation needs, with operations that have not ended.
    fn busy(
        &self,
        is_one: impl Fn((Handle, Handle)) -> bool,
        needs: Needs,
        has_ended: &dyn Fn(CUevent) -> bool,
    ) -> Vec<Busy> {
        let lines = self.lines.iter().filter(|(queue, _)| is_one(**queue));
        let of_line = |line: &std::collections::VecDeque<u64>| {
            let latest = line.iter().rev().take(LATEST);
            let taken = latest.filter_map(|number| match self.all.get(number)? {
                Operation::Running(running) => {
                    let taken = needs.taken_by(running.needs);
                    (taken > 0).then_some((*number, taken, running.end))
                }
                Operation::Ended(_) => None,
            });
            // Those before one that has ended have, too.
            let mut taken = taken.take_while(|(.., end)| !has_ended(*end));
            let (number, of_last, end) = taken.next()?;
            let taken = taken.map(|(_, taken, _)| taken).fold(of_last, u16::max);
            Some(Busy { number, taken, end })
        };
        lines.filter_map(|(_, line)| of_line(line)).collect()
    }

    /// Takes one out.
    pub fn take(&mut self, number: u64) -> Option<Operation> {
        let taken = self.all.remove(&number)?;
        let queue = self.queues.remove(&number);
        if let Some(line) = queue.and_then(|queue| self.lines.get_mut(&queue)) {
            while line.front().is_some_and(|it| !self.all.contains_key(it)) {
                line.pop_front();
            }
            if let (true, Some(queue)) = (line.is_empty(), queue) {
                self.lines.remove(&queue);
            }
        }
        self.latest = queue;
        Some(taken)
    }

    /// The next one under way on the queue of the one that was taken out last.
    pub fn next(&self) -> Option<(u64, &Running)> {
        let number = *self.lines.get(&self.latest?)?.front()?;
        match self.all.get(&number)? {
            Operation::Running(running) => Some((number, running)),
            Operation::Ended(_) => None,
        }
    }

    /// A queue is gone.
    pub fn forget_queue(&mut self, stream: Handle) {
        self.lines.retain(|(_, known), _| *known != stream);
    }

    /// Takes out those of a context.
    pub fn take_of(&mut self, context: Handle) -> Vec<(u64, Running)> {
        let is_its = |_: &u64, operation: &mut Operation| matches!(operation, Operation::Running(running) if running.context == context);
        let taken: Vec<_> = self.all.extract_if(is_its).collect();
        self.lines.retain(|(known, _), _| *known != context);
        taken
            .into_iter()
            .filter_map(|(number, operation)| match operation {
                Operation::Running(running) => Some((number, running)),
                Operation::Ended(_) => None,
            })
            .collect()
    }

    /// One ended with its context.
    pub fn ended(&mut self, number: u64, ended: Ended) {
        self.all.insert(number, Operation::Ended(ended));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(number: u64, taken: u16) -> Busy {
        let end = std::ptr::without_provenance_mut(number as usize);
        Busy { number, taken, end }
    }

    fn waits(its_own: u16, all: &[(u64, u16)]) -> Vec<usize> {
        let all = all.iter().map(|(number, taken)| busy(*number, *taken));
        let ends = to_wait_for(its_own, all.collect());
        ends.into_iter().map(|end| end.addr()).collect()
    }

    #[test]
    fn what_finds_room_waits_for_none() {
        assert!(waits(500, &[]).is_empty());
        assert!(waits(1000, &[]).is_empty());
        assert!(waits(500, &[(7, 250), (3, 250)]).is_empty());
    }

    #[test]
    fn the_oldest_make_room() {
        assert_eq!(waits(500, &[(7, 500), (3, 500)]), [3]);
        assert_eq!(waits(501, &[(7, 500), (3, 500)]), [3, 7]);
        assert_eq!(waits(1000, &[(9, 1), (7, 999), (8, 1000)]), [7, 8, 9]);
        assert_eq!(waits(300, &[(1, 800), (2, 10), (3, 10)]), [1]);
    }
}
