//! Devices and queues as one would simulate them by hand. A heap of moments;
//! at each, commands that became ready go to their engines, and idle engines
//! take the one that was ready first.

use gil_timing::{Engine, Operation, Order};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A command as the program enqueued it.
#[derive(Clone, Debug)]
pub struct Command {
    pub submit_ns: u64,
    pub duration: u64,
    /// Device and engine; none: it needs none.
    pub engine: Option<(u64, Engine)>,
    queue: u64,
    in_order: bool,
    order: Order,
    pub waits: Vec<u64>,
}

impl Command {
    pub fn new(op: &Operation, duration: u64) -> Self {
        let queue = op.queue.unwrap();
        Self {
            submit_ns: op.submit_ns,
            duration,
            engine: (op.engine != Engine::NONE).then_some((queue.device, op.engine)),
            queue: queue.id,
            in_order: queue.in_order,
            order: op.order,
            waits: op.waits.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Is {
    Waiting,
    /// Since when.
    Ready(u64),
    Running(u64),
    Done(u64, u64),
}

pub struct Simulation {
    commands: Vec<Command>,
    /// For each command, the commands that it has to come after.
    after: Vec<Vec<usize>>,
    signals: HashMap<u64, u64>,
    is: Vec<Is>,
    moments: BinaryHeap<Reverse<u64>>,
}

impl Simulation {
    pub fn new(commands: Vec<Command>, signals: &[(u64, u64)]) -> Self {
        let count = commands.len();
        let after = (0..count).map(|n| before(&commands, n)).collect();
        let submits = commands.iter().map(|c| c.submit_ns);
        let moments = submits.chain(signals.iter().map(|s| s.1));
        Self {
            moments: moments.map(Reverse).collect(),
            signals: signals.iter().copied().collect(),
            is: vec![Is::Waiting; count],
            after,
            commands,
        }
    }

    /// Start and end of every command.
    pub fn run(mut self) -> Vec<(u64, u64)> {
        while let Some(Reverse(now)) = self.moments.pop() {
            while self.step(now) {}
        }
        let span = |is: &Is| match is {
            Is::Done(start, end) => (*start, *end),
            other => panic!("never done: {other:?}"),
        };
        self.is.iter().map(span).collect()
    }

    /// Lets one thing happen at `now`; whether anything did.
    fn step(&mut self, now: u64) -> bool {
        for n in 0..self.is.len() {
            if let Is::Running(start) = self.is[n]
                && start + self.commands[n].duration == now
            {
                self.is[n] = Is::Done(start, now);
                return true;
            }
        }
        for n in 0..self.is.len() {
            if self.is[n] == Is::Waiting && self.may_run(n, now) {
                self.is[n] = Is::Ready(now);
                return true;
            }
        }
        // What needs no engine, first; then whoever was ready first.
        let ready = (0..self.is.len()).filter_map(|n| match self.is[n] {
            Is::Ready(since) => Some((self.commands[n].engine.is_some(), since, n)),
            _ => None,
        });
        let mut ready: Vec<_> = ready.collect();
        ready.sort_unstable();
        for (_, _, n) in ready {
            if !self.is_busy(self.commands[n].engine) {
                self.is[n] = Is::Running(now);
                self.moments.push(Reverse(now + self.commands[n].duration));
                return true;
            }
        }
        false
    }

    fn may_run(&self, n: usize, now: u64) -> bool {
        let command = &self.commands[n];
        let is_done = |other: usize| matches!(self.is[other], Is::Done(..));
        command.submit_ns <= now
            && self.after[n].iter().all(|&other| is_done(other))
            && command
                .waits
                .iter()
                .all(|wait| match self.signals.get(wait) {
                    Some(&at) => at <= now,
                    None => is_done(*wait as usize),
                })
    }

    fn is_busy(&self, engine: Option<(u64, Engine)>) -> bool {
        let runs = |n: usize| matches!(self.is[n], Is::Running(_));
        engine.is_some() && (0..self.is.len()).any(|n| runs(n) && self.commands[n].engine == engine)
    }
}

/// What a command comes after on account of its queue.
fn before(commands: &[Command], n: usize) -> Vec<usize> {
    let own = &commands[n];
    let earlier = (0..n).filter(|&other| commands[other].queue == own.queue);
    let all = own.in_order || own.order != Order::Command && own.waits.is_empty();
    earlier
        .filter(|&other| all || commands[other].order == Order::Barrier)
        .collect()
}
