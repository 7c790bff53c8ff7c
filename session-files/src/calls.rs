//! The log of a run's calls: a row each, in blocks of columns.
//!
//! It is a [`crate::container`] of these kinds of record:
//!
//! | kind | head | payload |
//! |---|---|---|
//! | 1 | [`Begun`] | none |
//! | 2 | [`Block`] | its columns, one after the other |
//! | 3 | [`Finished`] | none |
//! | 4 | [`Labels`] | none |
//! | 5 | [`Mapped`] | none |
//! | 6 | [`Files`] | none |
//!
//! A column has a number, a value a row, and is encoded by itself: the differences of
//! each value to that of the row before (wrapping around; the first to 0), as postcard
//! encodes a list of `i64`. A reader skips columns that it does not know. Rows are in the
//! order in which all of them became known: that of an operation once its end is.
//!
//! Blocks are written as the run goes on, behind the labels and mapped files that their
//! rows name. Without [`Finished`], the run died before its end, or the file is short. Only
//! [`Files`] comes behind it.

use crate::container::{self, Compression, FileError, FileType, Pieces, head_as};
use gil_wire::Op;
use gil_wire::api::{Api, api};
pub use gil_wire::control::Module;
use gil_wire::envelope::Class;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

mod columns;
mod mapped;
mod read;

pub use read::{CallsError, Place, Reader};

/// The type of file.
pub const FILE: FileType = FileType {
    magic: *b"gil-calls",
    version: 1,
    name: "log of calls",
    advice: "make it again with `gil run --calls`, or read it with the release that made it",
};

/// Most labels of a log; a writer gives no more.
pub const LABELS_MAX: usize = 1 << 16;
/// Most rows of a block.
pub const ROWS_MAX: usize = 1 << 16;
/// Most bytes of a block's columns, compressed or not: more than [`ROWS_MAX`] rows have.
pub const BLOCK_MAX: u64 = 32 << 20;
/// The first of the engines that are processors, whose names a driver's table has.
const PROCESSOR_FIRST: u8 = 8;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A call of this class.
    Call(Class),
    /// What calls of one entry point took on the board's CPU that had no answer of their
    /// own: posts, which have rows, too.
    Costs,
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is about.
    pub kind: Kind,
    /// Guest process; 0 is a GPU with registers of its own.
    pub process: u32,
    /// Guest thread.
    pub thread: u32,
    /// The number of its submission in its session, which posts share with the call behind
    /// them.
    pub seq: u64,
    /// The entry point.
    pub op: Op,
    /// The queue that it enqueued on or waited for.
    pub queue: Option<u64>,
    /// Guest nanoseconds at which the program entered the library.
    pub called_ns: u64,
    /// Guest nanoseconds at which the call was due to return. What needs no answer is due
    /// at once.
    pub returned_ns: u64,
    /// The operation that it enqueued.
    pub operation: Option<Operation>,
    /// Nanoseconds that the board was busy with it, by its own clock.
    pub board_ns: u64,
    /// Nanoseconds that it took on the board's CPU.
    pub board_cpu_ns: u64,
    /// Bytes of memory that went to the board.
    pub bytes_to_board: u64,
    /// Bytes that came from there.
    pub bytes_from_board: u64,
    /// The number of calls; of a call 1.
    pub calls: u64,
    /// The number of the label of what its operation runs, such as a kernel's name; 0 is
    /// none.
    pub label: u32,
    /// The address to which the call returns in its process; 0 is not known.
    pub site: u64,
}

impl Row {
    /// A call about which nothing else is known.
    pub fn of(class: Class, op: Op) -> Self {
        Self {
            kind: Kind::Call(class),
            process: 0,
            thread: 0,
            seq: 0,
            op,
            queue: None,
            called_ns: 0,
            returned_ns: 0,
            operation: None,
            board_ns: 0,
            board_cpu_ns: 0,
            bytes_to_board: 0,
            bytes_from_board: 0,
            calls: 1,
            label: 0,
            site: 0,
        }
    }

    /// Whether it is a call, and no more than costs of others.
    pub fn is_call(&self) -> bool {
        self.kind != Kind::Costs
    }

    /// Nanoseconds from the call until it was due to return.
    pub fn lasted_ns(&self) -> u64 {
        self.returned_ns.saturating_sub(self.called_ns)
    }

    /// Nanoseconds that its operation took on the device; none without a known end.
    pub fn gpu_ns(&self) -> Option<u64> {
        let interval = self.operation?.interval?;
        Some(interval.end_ns.saturating_sub(interval.start_ns))
    }
}

/// An operation of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The device, as the session numbers it.
    pub device: u64,
    /// The engine that it occupied; 0 is none.
    pub engine: u8,
    /// When; unknown if the run ended before.
    pub interval: Option<Interval>,
}

/// Simulated time of an operation, in guest nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its start.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

/// How the log begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// Version of the gil that writes it.
    pub gil: String,
    /// The simulator's name.
    pub simulator: String,
}

/// Some rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// How many.
    pub rows: u32,
    /// The names of entry points that no block before had.
    pub names: Vec<Named>,
    /// The names of engines that no block before had.
    pub engines: Vec<NamedEngine>,
    /// The columns, in the order of the payload.
    pub columns: Vec<Column>,
}

/// An entry point's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Its number.
    pub op: u32,
    /// Its API.
    pub api: String,
    /// Its name.
    pub name: String,
}

/// A name for an engine of an API's devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedEngine {
    /// The API's number.
    pub api: u16,
    /// The engine's.
    pub engine: u8,
    /// Its name.
    pub name: String,
}

/// One column of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Which.
    pub number: u16,
    /// Its bytes.
    pub bytes: u32,
}

/// How the log ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// All rows.
    pub rows: u64,
    /// Guest nanoseconds at which the program started; 0 if it did not.
    pub started_ns: u64,
    /// Guest nanoseconds that it took.
    pub program_ns: u64,
}

/// Labels that no record before had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// Each with its number, from 1 on.
    pub labels: Vec<(u32, String)>,
}

/// Files that a process mapped to execute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapped {
    /// The guest process.
    pub process: u32,
    /// What it mapped.
    pub modules: Vec<Module>,
}

/// Where files of the guest's are on the machine of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Paths in the guest, and here.
    pub files: Vec<(String, String)>,
}

/// A record of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The first.
    Begun(Begun),
    /// Rows.
    Block(Block),
    /// The last of the run.
    Finished(Finished),
    /// Labels of the rows behind it.
    Labels(Labels),
    /// What a process mapped.
    Mapped(Mapped),
    /// Where files are.
    Files(Files),
}

impl<'a> container::Record<'a> for Record {
    fn kind(&self) -> u16 {
        match self {
            Self::Begun(_) => 1,
            Self::Block(_) => 2,
            Self::Finished(_) => 3,
            Self::Labels(_) => 4,
            Self::Mapped(_) => 5,
            Self::Files(_) => 6,
        }
    }

    fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        match self {
            Self::Begun(begun) => postcard::to_stdvec(begun),
            Self::Block(block) => postcard::to_stdvec(block),
            Self::Finished(finished) => postcard::to_stdvec(finished),
            Self::Labels(labels) => postcard::to_stdvec(labels),
            Self::Mapped(mapped) => postcard::to_stdvec(mapped),
            Self::Files(files) => postcard::to_stdvec(files),
        }
    }

    fn decode(kind: u16, head: &'a [u8]) -> Option<Result<(Self, &'a [u8]), postcard::Error>> {
        match kind {
            1 => head_as(head, Self::Begun),
            2 => head_as(head, Self::Block),
            3 => head_as(head, Self::Finished),
            4 => head_as(head, Self::Labels),
            5 => head_as(head, Self::Mapped),
            6 => head_as(head, Self::Files),
            _ => None,
        }
    }

    fn announced(&self) -> Option<u64> {
        match self {
            Self::Block(block) => Some(block.columns.iter().map(|it| u64::from(it.bytes)).sum()),
            _ => Some(0),
        }
    }
}

/// Makes blocks of rows; it knows which names it has written.
#[derive(Debug, Default)]
pub struct Encoder {
    ops: BTreeSet<u32>,
    engines: BTreeSet<(u16, u8)>,
}

impl Encoder {
    /// A block's bytes. At most [`ROWS_MAX`] rows go into one; the rest is left out.
    ///
    /// # Errors
    /// Those of [`container::pieces`].
    pub fn block(&mut self, rows: &[Row]) -> Result<Vec<u8>, FileError> {
        let rows = &rows[..rows.len().min(ROWS_MAX)];
        let encoded = columns::encode(rows)?;
        let payload: Vec<&[u8]> = encoded.iter().map(|(_, bytes)| &bytes[..]).collect();
        let columns = encoded.iter().map(|(number, bytes)| Column {
            number: *number,
            bytes: bytes.len() as u32,
        });
        let block = Record::Block(Block {
            rows: rows.len() as u32,
            names: rows.iter().filter_map(|row| self.name(row.op)).collect(),
            engines: rows.iter().filter_map(|row| self.engine(row)).collect(),
            columns: columns.collect(),
        });
        let pieces = container::pieces(&block, &payload, Compression::Lz4)?;
        Ok(pieces.concat())
    }

    /// An entry point's name, the first time.
    fn name(&mut self, op: Op) -> Option<Named> {
        if !self.ops.insert(op.0) {
            return None;
        }
        Some(Named {
            op: op.0,
            api: api(op.api()).map_or("unknown", |api| api.title).into(),
            name: op.name().unwrap_or("unknown").into(),
        })
    }

    /// An engine's name, the first time.
    fn engine(&mut self, row: &Row) -> Option<NamedEngine> {
        let (api, engine) = (row.op.api(), row.operation?.engine);
        if engine == 0 || !self.engines.insert((api, engine)) {
            return None;
        }
        let name = engine_name(gil_wire::api::api(api), engine);
        Some(NamedEngine { api, engine, name })
    }
}

/// An engine's name, as operations of this API occupy it.
pub fn engine_name(api: Option<&Api>, engine: u8) -> String {
    let Some(number) = engine.checked_sub(PROCESSOR_FIRST) else {
        let names = ["", "compute", "copy in", "copy out", "graphics"];
        let name = names.get(usize::from(engine));
        return name.map_or_else(|| format!("engine {engine}"), |name| (*name).into());
    };
    let names = api.map_or(&[][..], |api| api.processors);
    let name = names.get(usize::from(number));
    name.map_or_else(|| format!("processor {number}"), |name| (*name).into())
}

/// The bytes of a record without payload.
///
/// # Errors
/// Those of [`container::pieces`].
pub fn plain(record: &Record) -> Result<Vec<u8>, FileError> {
    container::pieces(record, &[], Compression::None).map(|pieces: Pieces<'_>| pieces.concat())
}

/// At least so many bytes are [`is_whole`]'s, if the log has them.
pub const END_LEN: usize = 128;

/// Whether the last bytes of a log are those of one that is whole.
pub fn is_whole(end: &[u8]) -> bool {
    let is_last = |at: usize| {
        let mut rest = &end[at..];
        let read = container::read(&mut rest, &mut std::io::sink());
        let stored = read.ok().flatten().filter(|_| rest.is_empty());
        let record = stored.and_then(|stored| stored.record().ok().flatten());
        matches!(record, Some(Record::Finished(_)))
    };
    (0..end.len()).any(is_last)
}

#[cfg(test)]
mod tests;
