//! Devices and queues as one would simulate them by hand. A heap of moments;
//! at each, commands that became ready go to their engines, and idle engines
//! take the one that was ready first.

use gil_timing::{Delays, Engine, Operation, Order};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

/// By how much a processor is slowed down that starts beside another.
pub const FACTOR: f64 = 1.75;

/// What takes so long alone, with that factor.
pub fn slowed(duration: u64) -> u64 {
    (7 * duration + 2) / 4
}

/// Whether two engines slow each other down.
pub fn contend(one: (u64, Engine), other: (u64, Engine)) -> bool {
    let is_processor = |(_, engine): (u64, Engine)| (8..=15).contains(&engine.0);
    one != other && one.0 == other.0 && is_processor(one) && is_processor(other)
}

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
    delays: Delays,
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
            delays: op.delays,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Is {
    Waiting,
    /// Since when.
    Ready(u64),
    /// From when until when.
    Running(u64, u64),
    Done(u64, u64),
}

pub struct Simulation {
    commands: Vec<Command>,
    /// For each command, the commands that it has to come after.
    after: Vec<Vec<usize>>,
    signals: HashMap<u64, u64>,
    is: Vec<Is>,
    moments: BinaryHeap<Reverse<u64>>,
    gaps: BTreeSet<u64>,
}

impl Simulation {
    pub fn new(commands: Vec<Command>, signals: &[(u64, u64)]) -> Self {
        let count = commands.len();
        let after = (0..count).map(|n| before(&commands, n)).collect();
        let gaps: BTreeSet<_> = commands.iter().map(|c| c.delays.gap_ns).collect();
        let submits = commands.iter().map(|c| c.submit_ns + c.delays.launch_ns);
        let after_signals = signals
            .iter()
            .flat_map(|&(_, at)| gaps.iter().map(move |gap| at + gap));
        let moments = submits.chain(after_signals);
        Self {
            moments: moments.map(Reverse).collect(),
            gaps: gaps.clone(),
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
            if let Is::Running(start, end) = self.is[n]
                && end == now
            {
                self.is[n] = Is::Done(start, now);
                let moments = self.gaps.iter().map(|gap| Reverse(now + gap));
                self.moments.extend(moments);
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
                let end = now + self.lasts(n);
                self.is[n] = Is::Running(now, end);
                self.moments.push(Reverse(end));
                return true;
            }
        }
        false
    }

    fn may_run(&self, n: usize, now: u64) -> bool {
        let command = &self.commands[n];
        let Delays { launch_ns, gap_ns } = command.delays;
        let is_done =
            |other: usize| matches!(self.is[other], Is::Done(_, end) if end + gap_ns <= now);
        command.submit_ns + launch_ns <= now
            && self.after[n].iter().all(|&other| is_done(other))
            && command
                .waits
                .iter()
                .all(|wait| match self.signals.get(wait) {
                    Some(&at) => at + gap_ns <= now,
                    None => is_done(*wait as usize),
                })
    }

    fn is_busy(&self, engine: Option<(u64, Engine)>) -> bool {
        engine.is_some_and(|engine| self.running().any(|other| other == engine))
    }

    /// The engines that are at work.
    fn running(&self) -> impl Iterator<Item = (u64, Engine)> {
        let all = self.is.iter().zip(&self.commands);
        let running = all.filter(|(is, _)| matches!(is, Is::Running(..)));
        running.filter_map(|(_, command)| command.engine)
    }

    /// What a command takes that starts now.
    fn lasts(&self, n: usize) -> u64 {
        let command = &self.commands[n];
        let mut running = self.running();
        let is_slowed = command
            .engine
            .is_some_and(|own| running.any(|other| contend(own, other)));
        match is_slowed {
            true => slowed(command.duration),
            false => command.duration,
        }
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
