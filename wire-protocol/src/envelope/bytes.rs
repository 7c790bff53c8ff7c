//! The bytes of one envelope. Numbers that every envelope has are at fixed
//! offsets, so that the guest needs few instructions to write them.
//!
//! | offset | what |
//! |---|---|
//! | 0 | `u32`: length of all that follows |
//! | 4 | `u32`: operation |
//! | 8 | `u64`: entry |
//! | 16 | `u8`: class; `u8`: engine, and flags; `u8`: flags; `u8`: number of rows |
//! | 20 | `u16`: number of regions; `u16`: number of waits |
//! | 24 | `u32`: spent, if a flag beside the engine says so; a library's envelopes have it |
//! | … | `u32`: the share of the engine, if a flag beside the engine says so |
//! | … | `u64` each, as the flags say: queue, its device, signals, retires, mirror |
//! | … | waits, each as postcard writes a `u64` |
//! | … | rows, each its region's index and the five sizes in the same way |
//! | … | the arguments |
//!
//! All little-endian. In front of an envelope may stand a note of 12 bytes: as a length
//! `0xffff_ffff`, which no envelope has, and the address in the program to which the calls
//! behind it return.

use super::{Class, Engine, Envelope, Order, Queue, Share};
use crate::Op;
use crate::rows::{RegionRows, Rows};

/// Bytes of the length that stands before each envelope.
pub const LENGTH: usize = 4;
/// What stands for the length of a note.
pub const NOTE_MARK: [u8; LENGTH] = [0xff; LENGTH];
/// Bytes of a note.
pub const NOTE: usize = LENGTH + size_of::<u64>();
/// Bytes before the first optional number.
const FIXED: usize = 24;
/// Bytes of what the library has spent, which comes first.
const SPENT_LEN: usize = size_of::<u32>();
/// Most bytes of one number of variable length.
const VARINT_MAX: usize = 10;

const BLOCKING: u8 = 1;
const OBSERVABLE: u8 = 2;
const QUEUE: u8 = 4;
const IN_ORDER: u8 = 8;
const SIGNALS: u8 = 16;
const RETIRES: u8 = 32;
const MARKER: u8 = 64;
const BARRIER: u8 = 128;
/// Beside the engine's number.
const MIRROR: u8 = 128;
/// Beside it, too.
const SPENT: u8 = 64;
/// Beside the engine: its share follows.
const SHARE: u8 = 32;

pub(super) const CLASSES: [Class; 7] = [
    Class::Query,
    Class::Sync,
    Class::Post,
    Class::Enqueue,
    Class::Wait,
    Class::Poll,
    Class::Look,
];

impl Envelope<'_> {
    /// Bytes that all but the arguments takes at most, the length in front
    /// included.
    #[inline(always)]
    pub fn head_max(&self) -> usize {
        let mirror = if self.mirror.is_some() {
            size_of::<u64>()
        } else {
            0
        };
        let share = match self.share.is_whole() {
            true => 0,
            false => size_of::<u32>(),
        };
        FIXED
            + SPENT_LEN
            + share
            + mirror
            + 4 * size_of::<u64>()
            + (self.waits.len() + 6 * self.rows.len()) * VARINT_MAX
    }

    #[inline(always)]
    fn flags(&self) -> u8 {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        flag(self.blocking, BLOCKING)
            | flag(self.observable, OBSERVABLE)
            | flag(self.queue.is_some(), QUEUE)
            | flag(self.queue.is_some_and(|queue| queue.in_order), IN_ORDER)
            | flag(self.signals.is_some(), SIGNALS)
            | flag(self.retires.is_some(), RETIRES)
            | match self.order {
                Order::Command => 0,
                Order::Marker => MARKER,
                Order::Barrier => BARRIER,
            }
    }

    /// Writes all but the arguments to the beginning of `out`; where the
    /// arguments begin. The length in front is 0 until [`close`] sets it. `None`
    /// if it does not fit.
    ///
    /// Callers that know most of it spare the guest the rest.
    #[inline(always)]
    pub fn write_head(&self, out: &mut [u8]) -> Option<usize> {
        let regions = u16::try_from(self.regions).ok()?;
        let waits = u16::try_from(self.waits.len()).ok()?;
        let rows = u8::try_from(self.rows.len()).ok()?;
        if self.head_max() > out.len() {
            return None;
        }
        let fixed: &mut [u8; FIXED] = out.first_chunk_mut()?;
        let front = u64::from(self.op.0) << 32;
        let mirror = if self.mirror.is_some() { MIRROR } else { 0 };
        let share = if self.share.is_whole() { 0 } else { SHARE };
        let engine = self.engine.0 | mirror | share | SPENT;
        let shape = [self.class as u8, engine, self.flags(), rows];
        let counts = u32::from(regions) | u32::from(waits) << 16;
        let back = u64::from(u32::from_le_bytes(shape)) | u64::from(counts) << 32;
        fixed[..8].copy_from_slice(&front.to_le_bytes());
        fixed[8..16].copy_from_slice(&self.entry.to_le_bytes());
        fixed[16..].copy_from_slice(&back.to_le_bytes());
        let mut at = put(out, FIXED, self.spent.to_le_bytes());
        if !self.share.is_whole() {
            at = put(out, at, self.share.0.to_le_bytes());
        }
        if let Some(queue) = self.queue {
            at = word(out, at, queue.id);
            at = word(out, at, queue.device);
        }
        if let Some(event) = self.signals {
            at = word(out, at, event);
        }
        if let Some(event) = self.retires {
            at = word(out, at, event);
        }
        if let Some(number) = self.mirror {
            at = word(out, at, number);
        }
        for event in self.waits.iter() {
            at = varint(out, at, *event);
        }
        for region in self.rows.iter() {
            at = numbers_of(region).fold(at, |at, number| varint(out, at, number));
        }
        Some(at)
    }
}

/// Sets the length of the envelope that is all of `bytes`.
#[inline]
pub fn close(bytes: &mut [u8]) {
    let len = (bytes.len() - LENGTH) as u32;
    bytes[..LENGTH].copy_from_slice(&len.to_le_bytes());
}

/// Says in the envelope at the beginning of `bytes` what the library has spent on it.
#[inline(always)]
pub fn spend(bytes: &mut [u8], spent: u32) {
    if bytes.len() >= FIXED + SPENT_LEN {
        put(bytes, FIXED, spent.to_le_bytes());
    }
}

/// Adds to it.
pub fn spend_more(bytes: &mut [u8], more: u32) {
    if let Some(room) = bytes.get_mut(FIXED..).and_then(<[u8]>::first_chunk_mut) {
        *room = u32::from_le_bytes(*room).saturating_add(more).to_le_bytes();
    }
}

/// The note of a call site.
pub fn note(site: u64) -> [u8; NOTE] {
    let mut bytes = [0; NOTE];
    bytes[..LENGTH].copy_from_slice(&NOTE_MARK);
    bytes[LENGTH..].copy_from_slice(&site.to_le_bytes());
    bytes
}

#[inline]
fn word(out: &mut [u8], at: usize, value: u64) -> usize {
    put(out, at, value.to_le_bytes())
}

#[inline]
fn put<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) -> usize {
    out[at..at + N].copy_from_slice(&bytes);
    at + N
}

#[inline]
fn varint(out: &mut [u8], mut at: usize, mut value: u64) -> usize {
    while value >= 0x80 {
        out[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    out[at] = value as u8;
    at + 1
}

fn numbers_of(region: &RegionRows) -> impl Iterator<Item = u64> {
    let rows = &region.rows;
    let sizes = [
        rows.row,
        rows.rows,
        rows.row_pitch,
        rows.slices,
        rows.slice_pitch,
    ];
    std::iter::once(region.region.into()).chain(sizes)
}

/// Why the bytes behind a length are no envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// They end too soon.
    #[error("it ends inside its head")]
    Short,
    /// A class, an engine or a flag that does not exist.
    #[error("its class {class}, engine {engine} and flags {flags:#x} are not all known")]
    Unknown {
        /// The class's number.
        class: u8,
        /// The engine's number.
        engine: u8,
        /// The flags.
        flags: u8,
    },
    /// A number of variable length that is too long, or not the shortest.
    #[error("an event that it waits for, or a size of its rows, is no number")]
    Number,
}

/// The envelope behind a length.
pub(super) fn read(body: &[u8]) -> Result<Envelope<'_>, BodyError> {
    let mut rest = Rest(body);
    let op = Op(u32::from_le_bytes(rest.take()?));
    let entry = rest.word()?;
    let [class_code, engine_byte, flags, row_count] = rest.take()?;
    let engine_code = engine_byte & !(MIRROR | SPENT | SHARE);
    let regions = u16::from_le_bytes(rest.take()?);
    let wait_count = u16::from_le_bytes(rest.take()?);
    let unknown = BodyError::Unknown {
        class: class_code,
        engine: engine_code,
        flags,
    };
    let class = CLASSES.get(usize::from(class_code)).ok_or(unknown)?;
    let has = |bit: u8| flags & bit != 0;
    let order = match (has(MARKER), has(BARRIER)) {
        (false, false) => Order::Command,
        (true, false) => Order::Marker,
        (false, true) => Order::Barrier,
        (true, true) => return Err(unknown),
    };
    if engine_code > Engine::LAST.0 || has(IN_ORDER) && !has(QUEUE) {
        return Err(unknown);
    }
    let spent = match engine_byte & SPENT {
        0 => 0,
        _ => u32::from_le_bytes(rest.take()?),
    };
    let share = match engine_byte & SHARE {
        0 => Share::WHOLE,
        _ => Share(u32::from_le_bytes(rest.take()?)),
    };
    let queue = match has(QUEUE) {
        true => Some(Queue {
            id: rest.word()?,
            in_order: has(IN_ORDER),
            device: rest.word()?,
        }),
        false => None,
    };
    let signals = rest.word_if(has(SIGNALS))?;
    let retires = rest.word_if(has(RETIRES))?;
    let mirror = rest.word_if(engine_byte & MIRROR != 0)?;
    // Each takes a byte at least: a count that lies fails before it costs.
    let waits: Result<Vec<_>, _> = (0..wait_count).map(|_| rest.varint()).collect();
    let waits = waits?;
    let rows: Result<Vec<_>, _> = (0..row_count).map(|_| rest.region_rows()).collect();
    Ok(Envelope {
        op,
        class: *class,
        entry,
        spent,
        queue,
        engine: Engine(engine_code),
        share,
        order,
        blocking: has(BLOCKING),
        waits: waits.into(),
        signals,
        observable: has(OBSERVABLE),
        retires,
        regions: regions.into(),
        rows: rows?.into(),
        mirror,
        site: 0,
        args: rest.0,
    })
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], BodyError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(BodyError::Short)?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn word(&mut self) -> Result<u64, BodyError> {
        self.take().map(u64::from_le_bytes)
    }

    fn word_if(&mut self, is_there: bool) -> Result<Option<u64>, BodyError> {
        is_there.then(|| self.word()).transpose()
    }

    fn varint(&mut self) -> Result<u64, BodyError> {
        let mut value = 0u64;
        for n in 0..VARINT_MAX {
            let [byte] = self.take()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has one bit left; a last byte of 0 is not the
            // shortest way.
            if n == VARINT_MAX - 1 && byte > 1 || n > 0 && byte == 0 {
                return Err(BodyError::Number);
            }
            value |= bits << (7 * n);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(BodyError::Number)
    }

    fn region_rows(&mut self) -> Result<RegionRows, BodyError> {
        let region = u32::try_from(self.varint()?).map_err(|_| BodyError::Number)?;
        let rows = Rows {
            row: self.varint()?,
            rows: self.varint()?,
            row_pitch: self.varint()?,
            slices: self.varint()?,
            slice_pitch: self.varint()?,
        };
        Ok(RegionRows { region, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_its_place_in_the_list() {
        for (code, class) in CLASSES.iter().enumerate() {
            assert_eq!(*class as usize, code);
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let envelope = Envelope {
            waits: vec![300, u64::MAX].into(),
            ..Envelope::new(Op::new(1, 2), Class::Wait, 3)
        };
        let mut bytes = [0; 100];
        let len = envelope.write_head(&mut bytes).unwrap();
        let body = &bytes[LENGTH..len];
        assert_eq!(read(body), Ok(envelope));
        let with = |at: usize, value: u8| {
            let mut changed = body.to_vec();
            changed[at] = value;
            read(&changed).map(drop)
        };
        for (at, value) in [(12, 99), (13, 16), (14, MARKER | BARRIER), (14, IN_ORDER)] {
            let result = with(at, value);
            assert!(matches!(result, Err(BodyError::Unknown { .. })), "{at}");
        }
        assert_eq!(with(18, 200), Err(BodyError::Short));
        assert_eq!(with(15, 1), Err(BodyError::Short));
        assert_eq!(with(25, 0), Err(BodyError::Number), "not the shortest");
        assert_eq!(with(35, 2), Err(BodyError::Number), "too large");
        assert_eq!(read(&body[..19]).map(drop), Err(BodyError::Short));
    }

    /// An envelope with the greatest numbers.
    fn greatest<'a>(waits: &'a [u64], rows: &'a [RegionRows]) -> Envelope<'a> {
        Envelope {
            op: Op(u32::MAX),
            class: Class::Enqueue,
            entry: u64::MAX,
            spent: u32::MAX,
            queue: Some(Queue {
                id: u64::MAX,
                in_order: true,
                device: u64::MAX,
            }),
            engine: Engine::LAST,
            share: Share::WHOLE,
            order: Order::Barrier,
            blocking: true,
            waits: waits.into(),
            signals: Some(u64::MAX),
            observable: true,
            retires: Some(u64::MAX),
            regions: u16::MAX.into(),
            rows: rows.into(),
            mirror: Some(u64::MAX),
            site: 0,
            args: &[],
        }
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let envelope = greatest(&[1; 10], &[]);
        let mut bytes = vec![0; envelope.head_max()];
        assert!(envelope.write_head(&mut bytes).is_some());
        bytes.pop();
        assert_eq!(envelope.write_head(&mut bytes), None);
    }

    #[test]
    fn more_regions_than_can_be_said_are_not_written() {
        let envelope = Envelope {
            regions: 1 << 16,
            ..greatest(&[], &[])
        };
        assert_eq!(envelope.write_head(&mut [0; 100]), None);
    }

    #[test]
    fn the_greatest_numbers_take_no_more_than_is_said() {
        let rows = RegionRows {
            region: u32::MAX,
            rows: Rows {
                row: u64::MAX,
                rows: u64::MAX,
                row_pitch: u64::MAX,
                slices: u64::MAX,
                slice_pitch: u64::MAX,
            },
        };
        // A region's number takes five bytes at most, and ten are counted.
        for (waits, regions, len, spare) in [
            (0, 0, 68, 0),
            (3, 0, 98, 0),
            (0, 1, 128, 5),
            (3, 2, 218, 10),
        ] {
            let (waits, rows) = (vec![u64::MAX; waits], vec![rows; regions]);
            let envelope = greatest(&waits, &rows);
            assert_eq!(envelope.head_max(), len);
            assert_eq!(envelope.write_head(&mut vec![0; len]), Some(len - spare));
        }
    }
}
