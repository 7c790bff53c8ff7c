//! Flame graphs: time by process, thread, source line, API, entry point and kernel.

use crate::log::Sink;
use crate::summary::process_name;
use crate::symbols::SharedSymbols;
use foldhash::{HashMap, HashMapExt};
use gil_files::calls::{Reader, Row};
use inferno::flamegraph::color::{BasicPalette, Palette};
use inferno::flamegraph::{self, Options};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// Most different stacks; the rest is one.
const STACKS_MAX: usize = 1 << 16;

/// Which time it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Operations on engines.
    Gpu,
    /// Calls, until they are due to return.
    Calls,
}

impl Of {
    fn title(self) -> &'static str {
        match self {
            Self::Gpu => "GPU time",
            Self::Calls => "time in calls",
        }
    }

    fn ns(self, row: &Row) -> u64 {
        match self {
            Self::Gpu if row.operation.is_some_and(|it| it.engine != 0) => {
                row.gpu_ns().unwrap_or(0)
            }
            Self::Calls if row.is_call() => row.lasted_ns(),
            _ => 0,
        }
    }
}

/// What rows of one stack have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stack {
    process: u32,
    thread: u32,
    site: u64,
    op: u32,
    label: u32,
}

/// The time of all stacks.
#[derive(Debug)]
pub struct Flame {
    of: Of,
    symbols: SharedSymbols,
    stacks: HashMap<Stack, u64>,
    others_ns: u64,
}

impl Flame {
    /// None yet.
    pub fn new(of: Of, symbols: SharedSymbols) -> Self {
        Self {
            of,
            symbols,
            stacks: HashMap::new(),
            others_ns: 0,
        }
    }

    /// A line a stack: its frames, the outermost first, between semicolons, and nanoseconds.
    /// Sorted.
    pub fn stacks<R: Read>(&self, names: &Reader<R>) -> Vec<String> {
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for (stack, ns) in &self.stacks {
            let sum = all.entry(self.frames(stack, names).join(";")).or_default();
            *sum = sum.saturating_add(*ns);
        }
        if self.others_ns > 0 {
            all.insert("(others)".into(), self.others_ns);
        }
        all.into_iter()
            .map(|(stack, ns)| format!("{stack} {ns}"))
            .collect()
    }

    fn frames<R: Read>(&self, stack: &Stack, names: &Reader<R>) -> Vec<String> {
        let mut frames = vec![
            format!("process {}", process_name(stack.process)),
            format!("thread {}", stack.thread),
        ];
        if stack.site != 0 {
            let lines = self.symbols.frames(stack.process, stack.site, names);
            frames.extend(lines.iter().rev().map(ToString::to_string));
        }
        let (api, call) = names.name(stack.op);
        frames.extend([api.into(), call.into()]);
        frames.extend(names.label(stack.label).map(str::to_owned));
        frames.iter().map(|frame| plain(frame)).collect()
    }

    /// Writes the stacks.
    ///
    /// # Errors
    /// The writer's.
    pub fn collapsed<R: Read>(&self, names: &Reader<R>, mut out: impl Write) -> io::Result<()> {
        for line in self.stacks(names) {
            writeln!(out, "{line}")?;
        }
        out.flush()
    }

    /// Writes the graph as SVG.
    ///
    /// # Errors
    /// The writer's.
    pub fn draw<R: Read>(&self, names: &Reader<R>, mut out: impl Write) -> io::Result<()> {
        let mut options = Options::default();
        options.title = format!(
            "{} by process, thread, source line, call and kernel",
            self.of.title()
        );
        options.count_name = "ns".into();
        options.min_width = 0.01;
        options.colors = Palette::Basic(BasicPalette::Aqua);
        // Of a name in every graph.
        options.hash = true;
        let mut lines = self.stacks(names);
        if lines.is_empty() {
            // It draws nothing of nothing.
            lines.push(format!("no {} 1", self.of.title()));
        }
        let lines = lines.iter().map(String::as_str);
        flamegraph::from_lines(&mut options, lines, &mut out)?;
        out.flush()
    }
}

/// A frame without what separates frames.
fn plain(frame: &str) -> String {
    let allowed = |it: char| {
        if it == ';' || it.is_control() {
            ' '
        } else {
            it
        }
    };
    frame.chars().map(allowed).collect()
}

impl<R: Read> Sink<R> for Flame {
    fn row(&mut self, row: &Row, _: &Reader<R>) -> io::Result<()> {
        let ns = self.of.ns(row);
        if ns == 0 {
            return Ok(());
        }
        let stack = Stack {
            process: row.process,
            thread: row.thread,
            site: row.site,
            op: row.op.0,
            label: row.label,
        };
        let has_room = self.stacks.len() < STACKS_MAX || self.stacks.contains_key(&stack);
        let sum = match has_room {
            true => self.stacks.entry(stack).or_default(),
            false => &mut self.others_ns,
        };
        *sum = sum.saturating_add(ns);
        Ok(())
    }
}
