//! Calls and times by entry point, thread, process or queue.

use crate::log::Sink;
use crate::times::Times;
use foldhash::{HashMap, HashMapExt};
use gil_files::calls::{Reader, Row};
use std::io::{self, Read};

/// What calls are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The entry point.
    Entry,
    /// The guest thread.
    Thread,
    /// The guest process.
    Process,
    /// The queue of a process; calls without one are left out.
    Queue,
}

/// What calls of one group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// The number of an entry point.
    Entry(u32),
    /// A process and its thread.
    Thread(u32, u32),
    /// A process.
    Process(u32),
    /// A process and its queue.
    Queue(u32, u64),
    /// All groups that came after [`GROUPS_MAX`] others.
    Others,
}

/// Most groups: a guest makes up threads and queues.
pub const GROUPS_MAX: usize = 4096;

impl By {
    fn key(self, row: &Row) -> Option<Key> {
        match self {
            Self::Entry => Some(Key::Entry(row.op.0)),
            Self::Thread => Some(Key::Thread(row.process, row.thread)),
            Self::Process => Some(Key::Process(row.process)),
            Self::Queue => Some(Key::Queue(row.process, row.queue?)),
        }
    }

    /// What a group is, for a column of groups.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entry => "call",
            Self::Thread => "process, thread",
            Self::Process => "process",
            Self::Queue => "process, queue",
        }
    }
}

/// Some calls.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// From their begin until they were due to return; how many they are.
    pub calls: Times,
    /// Of their operations on devices' engines.
    pub gpu: Times,
    /// Nanoseconds of the board's CPU.
    pub board_cpu_ns: u64,
    /// Bytes to the board.
    pub bytes_to_board: u64,
    /// Bytes from there.
    pub bytes_from_board: u64,
}

impl Sums {
    fn add(&mut self, row: &Row) {
        self.board_cpu_ns = self.board_cpu_ns.saturating_add(row.board_cpu_ns);
        self.bytes_to_board = self.bytes_to_board.saturating_add(row.bytes_to_board);
        self.bytes_from_board = self.bytes_from_board.saturating_add(row.bytes_from_board);
        if row.is_call() {
            self.calls.add(row.lasted_ns());
        }
        let occupies = row.operation.is_some_and(|it| it.engine != 0);
        if let Some(gpu_ns) = row.gpu_ns().filter(|_| occupies) {
            self.gpu.add(gpu_ns);
        }
    }
}

/// One group.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its API, of an entry point.
    pub api: String,
    /// Its name, for people.
    pub name: String,
    /// What its calls came to.
    pub sums: Sums,
}

/// All calls, by something.
#[derive(Debug)]
pub struct Summary {
    by: By,
    groups: HashMap<Key, Sums>,
    all: Sums,
}

impl Summary {
    /// None yet.
    pub fn new(by: By) -> Self {
        Self {
            by,
            groups: HashMap::new(),
            all: Sums::default(),
        }
    }

    /// What calls are put together by.
    pub fn by(&self) -> By {
        self.by
    }

    /// All calls that are in a group.
    pub fn all(&self) -> &Sums {
        &self.all
    }

    /// Adds a row.
    pub fn add(&mut self, row: &Row) {
        let Some(key) = self.by.key(row) else {
            return;
        };
        let is_full = self.groups.len() >= GROUPS_MAX;
        let key = match is_full && !self.groups.contains_key(&key) {
            true => Key::Others,
            false => key,
        };
        self.groups.entry(key).or_default().add(row);
        self.all.add(row);
    }

    /// The groups, those that took most of the GPU first, then of calls.
    pub fn groups<R: Read>(&self, names: &Reader<R>) -> Vec<Group> {
        let mut groups: Vec<_> = self.groups.iter().collect();
        let weight = |sums: &Sums| (sums.gpu.total_ns(), sums.calls.total_ns());
        groups.sort_by_key(|(key, sums)| (std::cmp::Reverse(weight(sums)), **key));
        let named = groups.into_iter().map(|(key, sums)| {
            let (api, name) = name_of(*key, names);
            let sums = sums.clone();
            Group { api, name, sums }
        });
        named.collect()
    }
}

fn name_of<R: Read>(key: Key, names: &Reader<R>) -> (String, String) {
    let plain = |name: String| (String::new(), name);
    match key {
        Key::Entry(op) => {
            let (api, name) = names.name(op);
            (api.into(), name.into())
        }
        Key::Thread(process, thread) => plain(format!("{}, {thread}", process_name(process))),
        Key::Process(process) => plain(process_name(process)),
        Key::Queue(process, queue) => plain(format!("{}, {queue}", process_name(process))),
        Key::Others => plain("(others)".into()),
    }
}

/// A process, for people.
pub fn process_name(process: u32) -> String {
    match process {
        // No program makes its calls.
        0 => "kernel".into(),
        process => process.to_string(),
    }
}

impl<R> Sink<R> for Summary {
    fn row(&mut self, row: &Row, _: &Reader<R>) -> io::Result<()> {
        self.add(row);
        Ok(())
    }
}
