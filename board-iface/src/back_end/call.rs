//! One call on the board: its memory, its measured time, the operations that ended
//! with it.

use super::cpu_time;
use super::hold::{Frees, Hold, Leaving, Left};
use super::refusal::Refusal;
use crate::board::{self, Ended, Outcome};
use crate::region::Region;
use gil_transport::window::Kept;
use gil_wire::Op;
use gil_wire::call::{Handle, InData, OutData, OutRoom};
use gil_wire::ending::Ending;
use gil_wire::message::CallStatus;
use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most bytes of one argument's output inside an answer.
const MAX_INLINE: u32 = 8192;
/// Enqueued input of fewer bytes is copied out of the window: it may be
/// something that a driver reads twice, such as sizes.
const MIN_SHARED: usize = 4096;

/// Sixteen bytes at an address that is a multiple of as many, which `u128` is
/// not on machines of 32 bits.
#[derive(Clone, Debug, Default)]
#[repr(align(16))]
struct Word(#[expect(dead_code, reason = "drivers read it")] Cell<[u8; 16]>);

// SAFETY: nothing in Rust reads or writes the cell once it is made, but through
// `Block`'s address: `Output` does after the function that wrote there returned.
unsafe impl Sync for Word {}

/// Memory with a fixed address, aligned for every type of up to 16 bytes,
/// which a driver may write.
#[derive(Clone, Debug)]
pub struct Block(Arc<[Word]>);

impl Block {
    fn zeroed(len: usize) -> Self {
        Self((0..len.div_ceil(16)).map(|_| Word::default()).collect())
    }

    fn copy(bytes: &[u8]) -> Self {
        let word = |chunk: &[u8]| {
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            Word(Cell::new(word))
        };
        Self(bytes.chunks(16).map(word).collect())
    }

    fn pointer(&self) -> *mut c_void {
        self.0.as_ptr().cast_mut().cast()
    }
}

/// The memory that an operation under way may use.
#[derive(Debug, Default)]
pub struct Memory {
    regions: Vec<Region>,
    /// Bytes of its out region that go back, if these are not all.
    made: Option<usize>,
    _blocks: Vec<Block>,
    _shared: Vec<Hold>,
    _frees: Option<Frees>,
}

impl Memory {
    /// Its out regions, whole or as far as was [made](Self::make), in order.
    pub fn outputs(self) -> Vec<board::Output> {
        let outs = self.regions.into_iter().filter(|r| r.dir().is_out());
        let output = |region: Region| match self.made {
            Some(len) if len < region.len() => board::Output::Bytes { region, len },
            _ => board::Output::whole(region),
        };
        outs.map(output).collect()
    }

    /// Puts what `make` makes of its first out region's bytes in their place; as many go back.
    /// What is longer than the region is not put there, and nothing goes back.
    pub fn make(&mut self, make: impl FnOnce(&[u8]) -> Vec<u8>) {
        let out = self.regions.iter_mut().find(|region| region.dir().is_out());
        if let Some(region) = out {
            let made = make(region.bytes());
            let room = region.bytes_mut().get_mut(..made.len());
            self.made = Some(room.map_or(0, |room| {
                room.copy_from_slice(&made);
                made.len()
            }));
        }
    }

    /// As many outputs without bytes: of an operation that failed.
    pub fn no_outputs(&self) -> Vec<board::Output> {
        let outs = self.regions.iter().filter(|r| r.dir().is_out());
        outs.map(|_| board::Output::None).collect()
    }
}

/// One region of the call; none while an operation under way has it.
#[derive(Debug)]
struct Slot {
    region: Option<Region>,
    is_out: bool,
    /// Bytes that go back.
    back: usize,
}

/// One call.
#[derive(Debug)]
pub struct Call {
    op: Op,
    event: Option<u64>,
    finish: bool,
    answered: bool,
    slots: Vec<Slot>,
    blocks: Vec<Block>,
    shared: Vec<Hold>,
    frees: Option<(Vec<Leaving>, Left)>,
    cpu: Duration,
    work: Option<u64>,
    waits: bool,
    ended: Vec<Ended>,
    enqueued: bool,
}

impl Call {
    /// The call as it came; its arguments stay behind.
    pub fn of(call: board::Call<'_>) -> Self {
        Self {
            finish: call.head.finish,
            answered: call.head.answer,
            ..Self::new(call.head.op, call.head.event, call.regions)
        }
    }

    /// A call of `op` that signals `event`, whose regions are these.
    pub fn new(op: Op, event: Option<u64>, regions: Vec<Region>) -> Self {
        let slot = |region: Region| Slot {
            is_out: region.dir().is_out(),
            region: Some(region),
            back: 0,
        };
        Self {
            op,
            event,
            finish: true,
            answered: true,
            slots: regions.into_iter().map(slot).collect(),
            blocks: Vec::new(),
            shared: Vec::new(),
            frees: None,
            cpu: Duration::ZERO,
            work: None,
            waits: false,
            ended: Vec::new(),
            enqueued: false,
        }
    }

    /// The same call; what its API's function waits for the device is its time, too.
    pub fn waiting(self) -> Self {
        Self {
            waits: true,
            ..self
        }
    }

    /// The same call, answered before what it enqueues has ended.
    #[cfg(test)]
    pub(super) fn unfinished(self) -> Self {
        Self {
            finish: false,
            ..self
        }
    }

    /// The enqueue function was called: the operation is known to the session,
    /// or reported.
    pub fn set_enqueued(&mut self) {
        self.enqueued = true;
    }

    /// Whether the enqueue function was called.
    pub fn was_enqueued(&self) -> bool {
        self.enqueued
    }

    /// The entry point.
    pub fn op(&self) -> Op {
        self.op
    }

    /// Whether the guest gets the answer.
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// Whether operations end before the call is answered.
    pub fn finishes(&self) -> bool {
        self.finish
    }

    /// Runs the API's function; its time on the CPU is the call's. Of a call that
    /// [waits](Self::waiting), its time by the clock.
    pub fn timed<R>(&mut self, f: impl FnOnce() -> R) -> R {
        let (result, took) = match self.waits {
            true => {
                let began = Instant::now();
                (f(), began.elapsed())
            }
            false => cpu_time::measure(f),
        };
        self.cpu += took;
        result
    }

    /// What the call's functions took so far on the CPU.
    pub fn cpu(&self) -> Duration {
        self.cpu
    }

    /// So many nanoseconds of these are in the duration of the operation that the program waits
    /// for in this call.
    pub fn passes_beside(&mut self, ns: u64) {
        self.cpu = self.cpu.saturating_sub(Duration::from_nanos(ns));
    }

    /// Equal work has this number in common.
    pub fn set_work(&mut self, work: Option<u64>) {
        self.work = work;
    }

    /// Forgets the time so far: what was measured is no work of the call.
    pub fn restart_time(&mut self) {
        self.cpu = Duration::ZERO;
    }

    /// An operation ended.
    pub fn report(&mut self, ended: Ended) {
        self.ended.push(ended);
    }

    /// The operations that have ended so far.
    pub fn ended_mut(&mut self) -> &mut [Ended] {
        &mut self.ended
    }

    /// Reports how the event that the call itself signals ended.
    pub fn report_own(&mut self, ending: Ending) {
        if let Some(event) = self.event {
            self.ended.push(Ended::bare(event, ending));
        }
    }

    /// Whether this is the event that the call signals.
    ///
    /// # Errors
    /// [`Refusal::Signals`] if it is not.
    pub fn signals(&self, event: Handle) -> Result<(), Refusal> {
        if self.event != Some(event.0) {
            return Err(Refusal::Signals {
                arguments: event.0,
                call: self.event,
            });
        }
        Ok(())
    }

    /// The enqueue was refused with this error: there is no operation.
    pub fn reject(&mut self, error: i32) {
        if let Some(event) = self.event {
            self.ended.push(Ended {
                rejected: true,
                ..Ended::bare(event, Ending::Failed(error))
            });
        }
    }

    /// The address of input, until the call ends; null for NULL.
    ///
    /// # Errors
    /// [`Refusal`] if there are fewer than `needed` bytes, or no such region.
    pub fn input(&mut self, data: &InData<'_>, needed: usize) -> Result<*const c_void, Refusal> {
        let have = |have: usize| match have < needed {
            true => Err(Refusal::Short { have, needed }),
            false => Ok(()),
        };
        match *data {
            InData::Null => Ok(std::ptr::null()),
            InData::Inline(bytes) => {
                have(bytes.len())?;
                Ok(self.block(Block::copy(bytes)).cast_const())
            }
            InData::Region(index) => {
                let bytes = self.region_in(index)?;
                have(bytes.len())?;
                Ok(bytes.as_ptr().cast())
            }
        }
    }

    /// As [`input`](Self::input), for an enqueue: until its operation ends.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn keep_input(
        &mut self,
        data: &InData<'_>,
        needed: usize,
    ) -> Result<*const c_void, Refusal> {
        // All of a call's memory goes with the operation that it enqueues. Only
        // what is surely data may be in the window meanwhile.
        if let InData::Region(index) = *data
            && needed >= MIN_SHARED
        {
            let region = self.slot_in(index)?;
            return match region.len() < needed {
                true => Err(Refusal::Short {
                    have: region.len(),
                    needed,
                }),
                false => Ok(region.data_ptr().cast()),
            };
        }
        self.input(data, needed)
    }

    /// Where in the window a region is that a driver gets as it is, if the window's pages stay
    /// there.
    pub fn kept(&self, region: u32) -> Option<Kept> {
        let region = self.slots.get(region as usize)?.region.as_ref()?;
        region.kept().filter(|_| region.len() >= MIN_SHARED)
    }

    /// Has a region in memory of the board's own.
    ///
    /// # Errors
    /// [`Refusal::Region`] if there is none, [`Refusal::Memory`].
    pub fn leave_window(&mut self, region: u32) -> Result<(), Refusal> {
        let region = self.slot(region)?.region.as_mut();
        Ok(region.map_or(Ok(()), |region| region.leave_window())?)
    }

    /// All bytes of an input; `None` for NULL.
    ///
    /// # Errors
    /// [`Refusal`] if there is no such region.
    pub fn bytes<'a>(&'a self, data: &InData<'a>) -> Result<Option<&'a [u8]>, Refusal> {
        Ok(match *data {
            InData::Null => None,
            InData::Inline(bytes) => Some(bytes),
            InData::Region(index) => Some(self.region_in(index)?),
        })
    }

    /// Whether a region of input came without bytes.
    ///
    /// # Errors
    /// [`Refusal`] if there is no such region.
    pub fn is_empty_input(&self, region: u32) -> Result<bool, Refusal> {
        Ok(self.region_in(region)?.is_empty())
    }

    /// An input as a C string; `None` for NULL.
    ///
    /// # Errors
    /// [`Refusal::Nul`] for a NUL inside, or as [`bytes`](Self::bytes).
    pub fn string(&mut self, data: &InData<'_>) -> Result<Option<CString>, Refusal> {
        let string = self.bytes(data)?.map(CString::new).transpose();
        string.map_err(|error| Refusal::Nul(error.nul_position()))
    }

    /// Room for output of `needed` bytes.
    ///
    /// # Errors
    /// [`Refusal`] if it is smaller, or there is no such region.
    pub fn output(&mut self, room: OutRoom, needed: usize) -> Result<Output, Refusal> {
        let (pointer, place, have) = match room {
            OutRoom::Null => return Ok(Output::null()),
            OutRoom::Inline(len) if len > MAX_INLINE => return Err(Refusal::InlineRoom(len)),
            OutRoom::Inline(len) => {
                let block = Block::zeroed(len as usize);
                let pointer = self.block(block.clone());
                (pointer, Place::Inline(block), len as usize)
            }
            OutRoom::Region(index) => {
                let slot = self.slot(index)?;
                let region = slot.region.as_mut().filter(|region| region.dir().is_out());
                let region = region.ok_or(Refusal::Direction(index))?;
                let pointer = region.data_mut_ptr().cast();
                (pointer, Place::Region(index as usize), region.len())
            }
        };
        if have < needed {
            return Err(Refusal::Short { have, needed });
        }
        Ok(Output {
            pointer,
            place,
            room: have,
        })
    }

    /// A structure that comes and goes back, whose first word says its version, and its size in
    /// the lower 24 bits: as long as that, if the version is one of these.
    ///
    /// # Errors
    /// [`Refusal`] if it is none of them, is shorter, or there is no such region.
    pub fn versioned(
        &mut self,
        room: OutRoom,
        versions: &[u32],
    ) -> Result<(Output, usize), Refusal> {
        const SIZE: u32 = 0xff_ffff;
        let OutRoom::Region(index) = room else {
            return Err(Refusal::parameter("version", 0));
        };
        let first = self.region_in(index)?.first_chunk();
        let version = first.map_or(0, |word| u32::from_le_bytes(*word));
        if !versions.contains(&version) {
            return Err(Refusal::parameter("version", version.into()));
        }
        let len = (version & SIZE) as usize;
        Ok((self.output(room, len)?, len))
    }

    /// Keeps shared memory until the call's operation ends.
    pub fn hold(&mut self, hold: Hold) {
        self.shared.push(hold);
    }

    /// Frees shared memory when the call's operation ends, if it begins.
    pub fn free_at_end(&mut self, leaving: Vec<Leaving>, to: Left) {
        self.frees = Some((leaving, to));
    }

    /// Hands the call's memory to the operation that it enqueued.
    pub fn take_memory(&mut self) -> Memory {
        let regions = self.slots.iter_mut().filter_map(|slot| slot.region.take());
        Memory {
            regions: regions.collect(),
            made: None,
            _blocks: std::mem::take(&mut self.blocks),
            _shared: std::mem::take(&mut self.shared),
            _frees: self.frees.take().map(|(which, to)| Frees::new(which, to)),
        }
    }

    /// The call's own operation ended: its output goes back with the answer.
    pub fn give_back(&mut self, memory: Memory) {
        let mut regions = memory.regions.into_iter();
        for slot in self.slots.iter_mut().filter(|slot| slot.region.is_none()) {
            slot.region = regions.next();
            let len = slot.region.as_ref().map_or(0, Region::len);
            let len = memory.made.map_or(len, |made| made.min(len));
            slot.back = if slot.is_out { len } else { 0 };
        }
    }

    /// The answer.
    pub fn outcome(self, result: Vec<u8>) -> Outcome {
        let outs = self.slots.into_iter().filter(|slot| slot.is_out);
        let output = |slot: Slot| match slot.region {
            Some(region) if slot.back > 0 => board::Output::Bytes {
                region,
                len: slot.back,
            },
            _ => board::Output::None,
        };
        Outcome {
            status: CallStatus::Ran,
            result,
            cpu_ns: self.cpu.as_nanos() as u64,
            work: self.work,
            out: outs.map(output).collect(),
            ended: self.ended,
            notices: false,
            posted: Vec::new(),
        }
    }

    fn block(&mut self, block: Block) -> *mut c_void {
        let pointer = block.pointer();
        self.blocks.push(block);
        pointer
    }

    fn slot(&mut self, index: u32) -> Result<&mut Slot, Refusal> {
        let count = self.slots.len();
        let slot = self.slots.get_mut(index as usize);
        slot.ok_or(Refusal::Region { index, count })
    }

    fn region_in(&self, index: u32) -> Result<&[u8], Refusal> {
        Ok(self.slot_in(index)?.bytes())
    }

    fn slot_in(&self, index: u32) -> Result<&Region, Refusal> {
        let count = self.slots.len();
        let slot = self.slots.get(index as usize);
        let slot = slot.ok_or(Refusal::Region { index, count })?;
        let region = slot.region.as_ref().filter(|region| region.dir().is_in());
        region.ok_or(Refusal::Direction(index))
    }
}

/// Room for output, for one call.
#[derive(Debug)]
pub struct Output {
    pointer: *mut c_void,
    place: Place,
    room: usize,
}

#[derive(Debug)]
enum Place {
    Null,
    Inline(Block),
    Region(usize),
}

impl Output {
    fn null() -> Self {
        Self {
            pointer: std::ptr::null_mut(),
            place: Place::Null,
            room: 0,
        }
    }

    /// Where the API writes; null for NULL.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.pointer
    }

    /// The size of the program's buffer in bytes; 0 for NULL.
    pub fn room(&self) -> usize {
        self.room
    }

    /// What it wrote. A region's bytes go back with the answer.
    pub fn data(&self, call: &mut Call, written: usize) -> OutData<'_> {
        let written = written.min(self.room);
        match &self.place {
            Place::Null => OutData::None,
            Place::Inline(_) => OutData::Inline(self.inline(written)),
            Place::Region(index) => {
                call.slots[*index].back = written;
                OutData::Region
            }
        }
    }

    /// Writes to room inside the message, as far as there is any.
    pub fn put(&mut self, bytes: &[u8]) {
        if let Place::Inline(block) = &self.place {
            let len = bytes.len().min(self.room);
            // SAFETY: the block has at least `room` bytes, which nobody else
            // writes.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), block.pointer().cast(), len) };
        }
    }

    /// What was written inside the message.
    pub fn inline(&self, written: usize) -> &[u8] {
        let Place::Inline(block) = &self.place else {
            return &[];
        };
        let written = written.min(self.room);
        // SAFETY: the block has at least `room` initialised bytes and lives as
        // long as `self`. Its only writer is the API's function, which has
        // returned; what an operation under way writes is never asked for.
        unsafe { std::slice::from_raw_parts(block.pointer().cast(), written) }
    }

    /// Whether it is a region, of which `written` bytes then go back.
    pub fn note(&self, call: &mut Call, written: usize) -> bool {
        matches!(self.data(call, written), OutData::Region)
    }
}

#[cfg(test)]
mod tests;
