//! Calls and times by entry point, thread, process, queue, kernel or source line.

use crate::log::Sink;
use crate::symbols::SharedSymbols;
use crate::times::Times;
use foldhash::{HashMap, HashMapExt};
use gil_files::calls::{Reader, Row};
use std::collections::BTreeMap;
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
    /// What an operation runs: a kernel by its name, a draw by its program, anything else by
    /// its entry point. Calls without an operation on an engine are left out.
    Kernel,
    /// The source line of the program's call.
    Line,
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
    /// An entry point and a label, or 0.
    Kernel(u32, u32),
    /// A process and an address there; 0 is not known.
    Site(u32, u64),
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
            Self::Kernel => runs(row).then_some(Key::Kernel(row.op.0, row.label)),
            Self::Line => Some(Key::Site(row.process, row.site)),
        }
    }

    /// What a group is, for a column of groups.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entry => "call",
            Self::Thread => "process, thread",
            Self::Process => "process",
            Self::Queue => "process, queue",
            Self::Kernel => "kernel or draw",
            Self::Line => "source line",
        }
    }
}

/// Whether a call's operation occupies an engine, or runs something that has a label.
fn runs(row: &Row) -> bool {
    row.label != 0 || row.operation.is_some_and(|it| it.engine != 0)
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
    fn merge(&mut self, other: &Self) {
        self.calls.merge(&other.calls);
        self.gpu.merge(&other.gpu);
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.board_cpu_ns, other.board_cpu_ns);
        add(&mut self.bytes_to_board, other.bytes_to_board);
        add(&mut self.bytes_from_board, other.bytes_from_board);
    }

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
    symbols: SharedSymbols,
}

impl Summary {
    /// None yet.
    pub fn new(by: By) -> Self {
        Self::with_symbols(by, SharedSymbols::default())
    }

    /// The same, whose source lines are in these files.
    pub fn with_symbols(by: By, symbols: SharedSymbols) -> Self {
        Self {
            by,
            symbols,
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

    /// Whether it says anything: the log has labels, or call sites, if it is about these.
    pub fn is_known(&self) -> bool {
        self.groups.keys().any(|key| match key {
            Key::Kernel(_, label) => *label != 0,
            Key::Site(_, site) => *site != 0,
            _ => true,
        })
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
        let mut named: BTreeMap<(String, String), Sums> = BTreeMap::new();
        for (key, sums) in &self.groups {
            // Several sites may be one line, and several kernels have one name.
            named
                .entry(self.name_of(*key, names))
                .or_default()
                .merge(sums);
        }
        let group = |((api, name), sums)| Group { api, name, sums };
        let mut groups: Vec<Group> = named.into_iter().map(group).collect();
        let weight = |it: &Group| (it.sums.gpu.total_ns(), it.sums.calls.total_ns());
        groups.sort_by_key(|group| std::cmp::Reverse(weight(group)));
        groups
    }

    fn name_of<R: Read>(&self, key: Key, names: &Reader<R>) -> (String, String) {
        let plain = |name: String| (String::new(), name);
        match key {
            Key::Entry(op) => {
                let (api, name) = names.name(op);
                (api.into(), name.into())
            }
            Key::Thread(process, thread) => plain(format!("{}, {thread}", process_name(process))),
            Key::Process(process) => plain(process_name(process)),
            Key::Queue(process, queue) => plain(format!("{}, {queue}", process_name(process))),
            Key::Kernel(op, label) => {
                let (api, name) = names.name(op);
                (api.into(), names.label(label).unwrap_or(name).into())
            }
            Key::Site(process, site) => plain(self.symbols.line(process, site, names)),
            Key::Others => plain("(others)".into()),
        }
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
