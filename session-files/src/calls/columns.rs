//! Rows as columns of differences.

use super::{Interval, Kind, Operation, Row};
use crate::container::FileError;
use gil_wire::Op;
use gil_wire::envelope::Class;

/// The columns of this build, by their places here; numbers are never reused.
const COUNT: usize = 20;
/// The first column's number.
const FIRST: u16 = 1;

/// A row has a queue.
const QUEUE: u64 = 1;
/// A row has an operation.
const OPERATION: u64 = 2;
/// Its operation has an interval.
const INTERVAL: u64 = 4;

type Cells = [u64; COUNT];

/// Classes by their numbers in a file, which are not those of a message.
const CLASSES: [Class; 7] = [
    Class::Query,
    Class::Sync,
    Class::Post,
    Class::Enqueue,
    Class::Wait,
    Class::Poll,
    Class::Look,
];
/// The number of a row of costs.
const COSTS: u64 = 7;

fn kind_number(kind: Kind) -> u64 {
    let Kind::Call(class) = kind else {
        return COSTS;
    };
    let place = CLASSES.iter().position(|known| *known == class);
    place.map_or(COSTS, |place| place as u64)
}

fn cells(row: &Row) -> Cells {
    let operation = row.operation;
    let interval = operation.and_then(|operation| operation.interval);
    let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
    let flags = flag(row.queue.is_some(), QUEUE)
        | flag(operation.is_some(), OPERATION)
        | flag(interval.is_some(), INTERVAL);
    [
        kind_number(row.kind),
        flags,
        row.process.into(),
        row.thread.into(),
        row.seq,
        row.op.0.into(),
        row.queue.unwrap_or(0),
        operation.map_or(0, |operation| operation.device),
        operation.map_or(0, |operation| operation.engine.into()),
        row.called_ns,
        row.returned_ns,
        interval.map_or(0, |interval| interval.start_ns),
        interval.map_or(0, |interval| interval.end_ns),
        row.board_ns,
        row.board_cpu_ns,
        row.bytes_to_board,
        row.bytes_from_board,
        row.calls,
        row.label.into(),
        row.site,
    ]
}

/// A row of these cells; none if one has no meaning.
fn row(cells: &Cells) -> Option<Row> {
    let [
        kind,
        flags,
        process,
        thread,
        seq,
        op,
        queue,
        device,
        engine,
        called_ns,
        returned_ns,
        start_ns,
        end_ns,
        board_ns,
        board_cpu_ns,
        bytes_to_board,
        bytes_from_board,
        calls,
        label,
        site,
    ] = *cells;
    let is_set = |flag: u64| flags & flag != 0;
    let interval = is_set(INTERVAL).then_some(Interval { start_ns, end_ns });
    let engine = u8::try_from(engine).ok()?;
    Some(Row {
        kind: match CLASSES.get(usize::try_from(kind).ok()?) {
            Some(class) => Kind::Call(*class),
            None if kind == COSTS => Kind::Costs,
            None => return None,
        },
        process: u32::try_from(process).ok()?,
        thread: u32::try_from(thread).ok()?,
        seq,
        op: Op(u32::try_from(op).ok()?),
        queue: is_set(QUEUE).then_some(queue),
        called_ns,
        returned_ns,
        operation: is_set(OPERATION).then_some(Operation {
            device,
            engine,
            interval,
        }),
        board_ns,
        board_cpu_ns,
        bytes_to_board,
        bytes_from_board,
        calls,
        label: u32::try_from(label).ok()?,
        site,
    })
}

/// Each column's number and bytes.
pub(super) fn encode(rows: &[Row]) -> Result<Vec<(u16, Vec<u8>)>, FileError> {
    let all: Vec<Cells> = rows.iter().map(cells).collect();
    let column = |place: usize| {
        let mut before = 0u64;
        let differences = all.iter().map(|cells| {
            let difference = cells[place].wrapping_sub(before);
            before = cells[place];
            difference.cast_signed()
        });
        let differences: Vec<i64> = differences.collect();
        let number = FIRST + place as u16;
        let bytes = postcard::to_stdvec(&differences);
        let bytes = bytes.map_err(|error| FileError::Decode { kind: 2, error })?;
        Ok((number, bytes))
    };
    (0..COUNT).map(column).collect()
}

/// Rows being made of columns.
pub(super) struct Decoder {
    cells: Vec<Cells>,
}

impl Decoder {
    pub(super) fn new(rows: usize) -> Self {
        let cells = vec![[0; COUNT]; rows];
        Self { cells }
    }

    /// Takes a column; one that is not known is skipped. Whether it has a value for each
    /// row.
    pub(super) fn column(&mut self, number: u16, bytes: &[u8]) -> Result<bool, postcard::Error> {
        let place = usize::from(number.wrapping_sub(FIRST));
        if place >= COUNT {
            return Ok(true);
        }
        let differences: Vec<i64> = postcard::from_bytes(bytes)?;
        let mut value = 0u64;
        for (cells, difference) in self.cells.iter_mut().zip(&differences) {
            value = value.wrapping_add_signed(*difference);
            cells[place] = value;
        }
        Ok(differences.len() == self.cells.len())
    }

    /// The rows; none if one of them is none.
    pub(super) fn rows(&self) -> Option<Vec<Row>> {
        self.cells.iter().map(row).collect()
    }
}
