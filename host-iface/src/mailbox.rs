//! The mailbox that a doorbell names: copied once, then validated whole,
//! before anything it says is acted upon.

use crate::layout::{self, REGIONS_MAX, REPLY_MAX, REQUEST_MAX, Status, WaitKind, u32_at, u64_at};
use crate::memory::{GuestMemory, MemoryError};
use gil_address_tables::{Extent, Extents, ExtentsError};
use gil_wire::message::Direction;

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
    /// See [`layout::kind`].
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
    /// See [`layout::flag`].
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
        ours = layout::ABI_VERSION
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
    use layout::mailbox as at;
    let mut bytes = [0; at::SIZE];
    if memory.read(gpa, &mut bytes).is_err() {
        return Err(MailboxError::Magic { gpa, found: 0 });
    }
    let word = |offset| u32_at(&bytes, offset);
    let long = |offset| u64_at(&bytes, offset);
    if word(at::MAGIC) != layout::MAILBOX_MAGIC {
        let found = word(at::MAGIC);
        return Err(MailboxError::Magic { gpa, found });
    }
    if word(at::VERSION) != layout::ABI_VERSION {
        let theirs = word(at::VERSION);
        return Err(MailboxError::Version { theirs });
    }
    let header = Header {
        session: long(at::SESSION),
        seq: long(at::SEQ),
        kind: word(at::KIND),
        pointer_bits: word(at::POINTER_BITS),
        process: word(at::PROCESS),
        thread: word(at::THREAD),
        now_ns: long(at::NOW_NS),
        now_counter: long(at::NOW_COUNTER),
        counter_hz: word(at::COUNTER_HZ),
        region_count: word(at::REGION_COUNT),
        regions: long(at::REGIONS),
        request: long(at::REQUEST),
        reply: long(at::REPLY),
        request_len: word(at::REQUEST_LEN),
        reply_cap: word(at::REPLY_CAP),
    };
    header.check()?;
    Ok(header)
}

impl Header {
    fn check(&self) -> Result<(), MailboxError> {
        use layout::kind::{ATTEND, OPEN, SUBMIT};
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
    let mut table = vec![0; header.region_count as usize * layout::region::SIZE];
    memory.read(header.regions, &mut table).map_err(failed)?;
    let mut regions = Vec::with_capacity(header.region_count as usize);
    let mut left = memory.size();
    for (index, bytes) in (0..).zip(table.chunks_exact(layout::region::SIZE)) {
        let region = region(memory, gpa, index, bytes, left)?;
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
    bytes: &[u8],
    limit: u64,
) -> Result<Region, MailboxError> {
    use layout::region as at;
    let raw = u32_at(bytes, at::DIR);
    let Some(dir) = Direction::from_raw(raw) else {
        return field("region dir", raw);
    };
    let len = u64_at(bytes, at::LEN);
    if !(1..=limit).contains(&len) {
        return field("region len", len);
    }
    let failed = |error| MailboxError::Memory { gpa, error };
    let first = u64_at(bytes, at::EXTENTS);
    let list = extents(memory, gpa, first, len / EXTENT_UNIT + EXTENTS_FREE)?;
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
    use layout::extent_page as at;
    let mut list = Vec::new();
    let mut page = first;
    loop {
        let mut bytes = [0; at::SIZE];
        let read = memory.read(page, &mut bytes);
        read.map_err(|error| MailboxError::Memory { gpa, error })?;
        let count = u32_at(&bytes, at::COUNT);
        let total = list.len() as u64 + u64::from(count);
        // No empty page: a chain that loops reaches the bound.
        if !(1..=layout::EXTENTS_PER_PAGE).contains(&count) || total > most {
            return field("extent count", total);
        }
        let entries = bytes[at::EXTENT..].chunks_exact(at::EXTENT_SIZE);
        list.extend(entries.take(count as usize).map(|entry| Extent {
            gpa: u64_at(entry, 0),
            len: u64_at(entry, 8),
        }));
        page = u64_at(&bytes, at::NEXT);
        if page == 0 {
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
    use layout::mailbox as at;
    let failed = |error| MailboxError::Memory { gpa, error };
    memory.write(header.reply, &answer.reply).map_err(failed)?;
    let mut bytes = [0; at::SIZE - at::STATUS];
    let mut put = |offset: usize, value: &[u8]| {
        let from = offset - at::STATUS;
        bytes[from..from + value.len()].copy_from_slice(value);
    };
    put(at::STATUS, &(answer.status as u32).to_le_bytes());
    put(at::REPLY_LEN, &(answer.reply.len() as u32).to_le_bytes());
    put(at::DEADLINE_NS, &answer.deadline_ns.to_le_bytes());
    put(at::WAIT_KIND, &(answer.wait as u32).to_le_bytes());
    put(at::FLAGS, &answer.flags.to_le_bytes());
    let released = &answer.released[..answer.released.len().min(layout::RELEASED_MAX)];
    put(at::RELEASED_COUNT, &(released.len() as u32).to_le_bytes());
    for (index, seq) in released.iter().enumerate() {
        put(at::RELEASED + 8 * index, &seq.to_le_bytes());
    }
    put(at::ATTENTION_NS, &answer.attention_ns.to_le_bytes());
    memory
        .write(gpa + at::STATUS as u64, &bytes)
        .map_err(failed)
}
