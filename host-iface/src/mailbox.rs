//! The mailbox that a doorbell names: copied once, then validated whole,
//! before anything it says is acted upon.

use crate::memory::{GuestMemory, MemoryError};
use gil_address_tables::{Extent, Extents, ExtentsError};
use gil_uapi::{
    ABI_VERSION, EXTENTS_PER_PAGE, ExtentPage, MAILBOX_MAGIC, Mailbox, MailboxRegion, REGIONS_MAX,
    RELEASED_MAX, REPLY_MAX, REQUEST_MAX, Status, WaitKind,
};
use gil_wire::message::Direction;
use std::mem::offset_of;
use zerocopy::{FromZeros, IntoBytes};

/// Smallest extent that a driver makes, but for a few at a region's ends:
/// bounds how many a region may have.
const EXTENT_UNIT: u64 = 512;
/// Extents allowed beyond those.
const EXTENTS_FREE: u64 = 64;

/// What a driver asks, copied from its mailbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The session.
    pub session: u64,
    /// The submission's number.
    pub seq: u64,
    /// See [`gil_uapi::kind`].
    pub kind: u32,
    /// Width of the program's pointers.
    pub pointer_bits: u32,
    /// Guest process id.
    pub process: u32,
    /// Guest thread id.
    pub thread: u32,
    /// Guest nanoseconds when the doorbell rang.
    pub now_ns: u64,
    /// The guest's counter then.
    pub now_counter: u64,
    /// The counter's frequency.
    pub counter_hz: u32,
    region_count: u32,
    regions: u64,
    request: u64,
    reply: u64,
    request_len: u32,
    reply_cap: u32,
}

/// One region of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Which way its bytes go, seen from the board.
    pub dir: Direction,
    /// Where it lies; all of it is RAM.
    pub extents: Extents,
}

/// What a `SUBMIT` mailbox names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The envelopes' bytes.
    pub request: Vec<u8>,
    /// The regions.
    pub regions: Vec<Region>,
}

/// What the driver is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How it went.
    pub status: Status,
    /// An encoded [`gil_wire::envelope::Answer`], or nothing.
    pub reply: Vec<u8>,
    /// Until when the thread waits.
    pub deadline_ns: u64,
    /// How it waits.
    pub wait: WaitKind,
    /// See [`gil_uapi::flag`].
    pub flags: u32,
    /// Numbers of submissions whose held regions may be unpinned.
    pub released: Vec<u64>,
    /// When the driver rings by itself; 0: not at all.
    pub attention_ns: u64,
}

impl Answer {
    /// An answer that is only a status.
    pub fn status(status: Status) -> Self {
        Self {
            status,
            reply: Vec::new(),
            deadline_ns: 0,
            wait: WaitKind::None,
            flags: 0,
            released: Vec::new(),
            attention_ns: 0,
        }
    }
}

/// A mailbox that is refused.
#[derive(Debug, thiserror::Error)]
pub enum MailboxError {
    /// The mailbox, or what it names, is not RAM.
    #[error("the mailbox at {gpa:#x} names memory that cannot be used: {error}")]
    Memory {
        /// The mailbox.
        gpa: u64,
        /// Why.
        error: MemoryError,
    },
    /// Not a mailbox at all.
    #[error(
        "a doorbell rang with {gpa:#x}, where no mailbox is (it begins with {found:#010x}): something in the guest's kernel executes the marker or writes to the doorbell"
    )]
    Magic {
        /// The doorbell's address.
        gpa: u64,
        /// What stands there.
        found: u32,
    },
    /// Another driver version.
    #[error(
        "the guest's gil.ko speaks version {theirs}, this side {ours}: use the gil.ko of the same gil release",
        ours = ABI_VERSION
    )]
    Version {
        /// The driver's.
        theirs: u32,
    },
    /// A field is out of its bounds.
    #[error("the mailbox's {field} is {value}, which is out of its bounds")]
    Field {
        /// The field's name in `gil.h`.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// Extents that cannot be the region's.
    #[error("region {index} of the mailbox: {error}")]
    Extents {
        /// Which region.
        index: u32,
        /// Why.
        error: ExtentsError,
    },
}

impl MailboxError {
    /// Whether a driver of this version waits for an answer there.
    pub fn is_answerable(&self) -> bool {
        !matches!(self, Self::Magic { .. })
    }
}

fn field<T>(field: &'static str, value: impl Into<u64>) -> Result<T, MailboxError> {
    let value = value.into();
    Err(MailboxError::Field { field, value })
}

/// Copies and checks a mailbox's own fields.
///
/// # Errors
/// [`MailboxError`]; its address is no mailbox's if
/// [`MailboxError::is_answerable`] denies.
pub fn header(memory: &dyn GuestMemory, gpa: u64) -> Result<Header, MailboxError> {
    let mut raw = Mailbox::default();
    if memory.read(gpa, raw.as_mut_bytes()).is_err() {
        return Err(MailboxError::Magic { gpa, found: 0 });
    }
    if raw.magic != MAILBOX_MAGIC {
        let found = raw.magic;
        return Err(MailboxError::Magic { gpa, found });
    }
    if raw.version != ABI_VERSION {
        let theirs = raw.version;
        return Err(MailboxError::Version { theirs });
    }
    let header = Header {
        session: raw.session,
        seq: raw.seq,
        kind: raw.kind,
        pointer_bits: raw.pointer_bits,
        process: raw.process,
        thread: raw.thread,
        now_ns: raw.now_ns,
        now_counter: raw.now_counter,
        counter_hz: raw.counter_hz,
        region_count: raw.region_count,
        regions: raw.regions,
        request: raw.request,
        reply: raw.reply,
        request_len: raw.request_len,
        reply_cap: raw.reply_cap,
    };
    header.check()?;
    Ok(header)
}

impl Header {
    fn check(&self) -> Result<(), MailboxError> {
        use gil_uapi::kind::{ATTEND, OPEN, SUBMIT};
        if !(OPEN..=ATTEND).contains(&self.kind) {
            return field("kind", self.kind);
        }
        if self.session == 0 {
            return field("session", self.session);
        }
        if self.kind == OPEN && !matches!(self.pointer_bits, 32 | 64) {
            return field("pointer_bits", self.pointer_bits);
        }
        match self.kind {
            SUBMIT => self.check_submit(),
            _ => Ok(()),
        }
    }

    fn check_submit(&self) -> Result<(), MailboxError> {
        if self.seq == 0 {
            return field("seq", self.seq);
        }
        if self.counter_hz == 0 {
            return field("counter_hz", self.counter_hz);
        }
        if !(1..=REQUEST_MAX).contains(&self.request_len) {
            return field("request_len", self.request_len);
        }
        if self.reply_cap > REPLY_MAX {
            return field("reply_cap", self.reply_cap);
        }
        if self.region_count > REGIONS_MAX {
            return field("region_count", self.region_count);
        }
        Ok(())
    }

    /// Guest nanoseconds at which the counter showed `entry`; never after the
    /// doorbell.
    pub fn entry_ns(&self, entry: u64) -> u64 {
        let ticks = u128::from(self.now_counter.saturating_sub(entry));
        let ago = ticks * 1_000_000_000 / u128::from(self.counter_hz.max(1));
        let ago = u64::try_from(ago).unwrap_or(u64::MAX);
        self.now_ns.saturating_sub(ago)
    }

    /// Bytes of answer that fit.
    pub fn reply_cap(&self) -> usize {
        self.reply_cap as usize
    }
}

/// Copies and checks what a `SUBMIT` mailbox names.
///
/// # Errors
/// [`MailboxError`] names what is wrong; nothing was executed or written.
pub fn submission(
    memory: &dyn GuestMemory,
    gpa: u64,
    header: &Header,
) -> Result<Submission, MailboxError> {
    let failed = |error| MailboxError::Memory { gpa, error };
    let reply_cap = header.reply_cap.into();
    let room = memory.ram().check(header.reply, reply_cap);
    room.map_err(|error| failed(error.into()))?;
    let mut request = vec![0; header.request_len as usize];
    memory.read(header.request, &mut request).map_err(failed)?;
    let mut table = vec![MailboxRegion::default(); header.region_count as usize];
    let read = memory.read(header.regions, table.as_mut_bytes());
    read.map_err(failed)?;
    let mut regions = Vec::with_capacity(table.len());
    let mut left = memory.size();
    for (index, raw) in (0..).zip(&table) {
        let region = region(memory, gpa, index, raw, left)?;
        left -= region.extents.len();
        regions.push(region);
    }
    Ok(Submission { request, regions })
}

/// Reads one region of at most `limit` bytes.
fn region(
    memory: &dyn GuestMemory,
    gpa: u64,
    index: u32,
    raw: &MailboxRegion,
    limit: u64,
) -> Result<Region, MailboxError> {
    let Some(dir) = Direction::from_raw(raw.dir) else {
        return field("region dir", raw.dir);
    };
    let len = raw.len;
    if !(1..=limit).contains(&len) {
        return field("region len", len);
    }
    let failed = |error| MailboxError::Memory { gpa, error };
    let list = extents(memory, gpa, raw.extents, len / EXTENT_UNIT + EXTENTS_FREE)?;
    let extents =
        Extents::new(list, len).map_err(|error| MailboxError::Extents { index, error })?;
    for extent in extents.iter() {
        let found = memory.ram().check(extent.gpa, extent.len);
        found.map_err(|error| failed(error.into()))?;
    }
    Ok(Region { dir, extents })
}

/// Follows a chain of extent pages, of at most `most` extents in all.
fn extents(
    memory: &dyn GuestMemory,
    gpa: u64,
    first: u64,
    most: u64,
) -> Result<Vec<Extent>, MailboxError> {
    let mut list = Vec::new();
    let mut page = ExtentPage::new_zeroed();
    page.next = first;
    loop {
        let read = memory.read(page.next, page.as_mut_bytes());
        read.map_err(|error| MailboxError::Memory { gpa, error })?;
        let count = page.count as usize;
        let total = list.len() as u64 + u64::from(page.count);
        // No empty page: a chain that loops reaches the bound.
        if !(1..=EXTENTS_PER_PAGE).contains(&count) || total > most {
            return field("extent count", total);
        }
        let entries = page.extent[..count].iter();
        list.extend(entries.map(|&gil_uapi::Extent { gpa, len }| Extent { gpa, len }));
        if page.next == 0 {
            return Ok(list);
        }
    }
}

/// Writes the answer where the driver waits for it: the reply first, then the
/// mailbox's second half in one piece.
///
/// # Errors
/// [`MailboxError::Memory`] if the mailbox or the reply is not RAM.
pub fn answer(
    memory: &dyn GuestMemory,
    gpa: u64,
    header: &Header,
    answer: &Answer,
) -> Result<(), MailboxError> {
    let failed = |error| MailboxError::Memory { gpa, error };
    memory.write(header.reply, &answer.reply).map_err(failed)?;
    let mut raw = gil_uapi::Answer {
        status: answer.status as u32,
        reply_len: answer.reply.len() as u32,
        deadline_ns: answer.deadline_ns,
        wait_kind: answer.wait as u32,
        flags: answer.flags,
        attention_ns: answer.attention_ns,
        ..Default::default()
    };
    let released = &answer.released[..answer.released.len().min(RELEASED_MAX)];
    raw.released_count = released.len() as u32;
    raw.released[..released.len()].copy_from_slice(released);
    let at = gpa + offset_of!(Mailbox, answer) as u64;
    memory.write(at, raw.as_bytes()).map_err(failed)
}
