//! The mailbox that a doorbell names: copied once, then validated completely before
//! any of it is used.

use crate::memory::{GuestMemory, MemoryError};
use crate::pace::Pace;
use crate::submission::{Clock, Region, Submission};
use gil_address_tables::{Extents, ExtentsError};
use gil_uapi::{
    ABI_VERSION, EXTENTS_PER_PAGE, Extent, ExtentPage, GuestAddress, GuestLength, MAILBOX_MAGIC,
    Mailbox, MailboxRegion, REGIONS_MAX, RELEASED_MAX, REPLY_MAX, REQUEST_MAX, Status, WaitKind,
};
use gil_wire::message::Direction;
use std::mem::offset_of;
use zerocopy::{FromZeros, IntoBytes};

// A board takes as many regions of a call as a mailbox has.
const _: () = assert!(REGIONS_MAX as usize == gil_wire::message::REGIONS_MAX);

/// Smallest extent that a driver makes, but for a few at a region's ends:
/// bounds how many a region may have.
const EXTENT_UNIT: u64 = 512;
/// Extents allowed beyond those.
const EXTENTS_FREE: u64 = 64;

/// Bytes of a mailbox in front of its [`Answer`].
const ANSWER: GuestLength = GuestLength(offset_of!(Mailbox, answer) as u64);

/// The answer to the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: Status,
    /// An encoded [`gil_wire::envelope::Answer`], or nothing.
    pub reply: Vec<u8>,
    /// Until when the thread waits.
    pub deadline_ns: u64,
    /// The kind of wait.
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
    #[error("the mailbox at {gpa} names memory that cannot be used: {error}")]
    Memory {
        /// The mailbox.
        gpa: GuestAddress,
        /// Why the memory cannot be accessed.
        error: MemoryError,
    },
    /// Not a mailbox at all.
    #[error(
        "a doorbell rang with {gpa}, where no mailbox is (it begins with {found:#010x}): something in the guest's kernel executes the marker or writes to the doorbell"
    )]
    Magic {
        /// The doorbell's address.
        gpa: GuestAddress,
        /// The value that is there.
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
        /// The region's index.
        index: u32,
        /// What is wrong with the extents.
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
pub fn read(memory: &dyn GuestMemory, gpa: GuestAddress) -> Result<Mailbox, MailboxError> {
    let mut mailbox = Mailbox::default();
    if memory.read(gpa, mailbox.as_mut_bytes()).is_err() {
        return Err(MailboxError::Magic { gpa, found: 0 });
    }
    if mailbox.magic != MAILBOX_MAGIC {
        let found = mailbox.magic;
        return Err(MailboxError::Magic { gpa, found });
    }
    if mailbox.version != ABI_VERSION {
        let theirs = mailbox.version;
        return Err(MailboxError::Version { theirs });
    }
    check(&mailbox)?;
    Ok(mailbox)
}

fn check(mailbox: &Mailbox) -> Result<(), MailboxError> {
    use gil_uapi::clock::SET;
    use gil_uapi::gpu as told;
    use gil_uapi::kind::{ATTEND, CLOCK, GPU, OPEN, SUBMIT};
    if mailbox.kind == CLOCK {
        return match mailbox.request_len {
            0 | SET => Ok(()),
            len => field("request_len", len),
        };
    }
    if mailbox.kind == GPU {
        return match mailbox.request_len {
            0 | told::STORE | told::CODE | told::CLOCK => Ok(()),
            len => field("request_len", len),
        };
    }
    if !(OPEN..=ATTEND).contains(&mailbox.kind) {
        return field("kind", mailbox.kind);
    }
    if mailbox.session == 0 {
        return field("session", mailbox.session);
    }
    if mailbox.kind == OPEN && !matches!(mailbox.pointer_bits, 32 | 64) {
        return field("pointer_bits", mailbox.pointer_bits);
    }
    match mailbox.kind {
        SUBMIT => check_submit(mailbox),
        _ => Ok(()),
    }
}

fn check_submit(mailbox: &Mailbox) -> Result<(), MailboxError> {
    if mailbox.seq == 0 {
        return field("seq", mailbox.seq);
    }
    if mailbox.counter_hz == 0 {
        return field("counter_hz", mailbox.counter_hz);
    }
    if !(1..=REQUEST_MAX).contains(&mailbox.request_len) {
        return field("request_len", mailbox.request_len);
    }
    if mailbox.reply_cap > REPLY_MAX {
        return field("reply_cap", mailbox.reply_cap);
    }
    if mailbox.region_count > REGIONS_MAX {
        return field("region_count", mailbox.region_count);
    }
    Ok(())
}

/// Copies and checks what a `SUBMIT` mailbox names.
///
/// # Errors
/// [`MailboxError`] names what is wrong; nothing was executed or written.
pub fn submission(
    memory: &dyn GuestMemory,
    gpa: GuestAddress,
    mailbox: &Mailbox,
) -> Result<Submission, MailboxError> {
    let failed = |error| MailboxError::Memory { gpa, error };
    let room = memory.ram().check(mailbox.reply, mailbox.reply_cap.into());
    room.map_err(|error| failed(error.into()))?;
    let mut request = vec![0; mailbox.request_len as usize];
    let read = memory.read(mailbox.request, &mut request);
    read.map_err(failed)?;
    let mut table = vec![MailboxRegion::default(); mailbox.region_count as usize];
    let read = memory.read(mailbox.regions, table.as_mut_bytes());
    read.map_err(failed)?;
    let mut regions = Vec::with_capacity(table.len());
    let mut left = memory.size();
    for (index, raw) in (0..).zip(&table) {
        let region = region(memory, gpa, index, raw, left)?;
        left = left.saturating_sub(region.extents.len());
        regions.push(region);
    }
    Ok(Submission {
        seq: mailbox.seq,
        thread: mailbox.thread,
        clock: Clock {
            now_ns: mailbox.now_ns,
            counter: mailbox.now_counter,
            counter_hz: mailbox.counter_hz,
        },
        request,
        regions,
        reply_cap: mailbox.reply_cap as usize,
        pace: Pace::default(),
    })
}

/// Reads one region of at most `limit` bytes.
fn region(
    memory: &dyn GuestMemory,
    gpa: GuestAddress,
    index: u32,
    raw: &MailboxRegion,
    limit: GuestLength,
) -> Result<Region, MailboxError> {
    let Some(dir) = Direction::from_raw(raw.dir) else {
        return field("region dir", raw.dir);
    };
    let len = raw.len;
    if len.is_zero() || len > limit {
        return field("region len", len.0);
    }
    let failed = |error| MailboxError::Memory { gpa, error };
    let most = len.0 / EXTENT_UNIT + EXTENTS_FREE;
    let list = extents(memory, gpa, raw, most)?;
    let extents =
        Extents::new(list, len).map_err(|error| MailboxError::Extents { index, error })?;
    for extent in extents.iter() {
        let found = memory.ram().check(extent.gpa, extent.len);
        found.map_err(|error| failed(error.into()))?;
    }
    Ok(Region {
        dir,
        extents,
        instead: None,
    })
}

/// Follows a chain of extent pages to the region's end, over at most `most` extents of its.
fn extents(
    memory: &dyn GuestMemory,
    gpa: GuestAddress,
    raw: &MailboxRegion,
    most: u64,
) -> Result<Vec<Extent>, MailboxError> {
    let mut list = Vec::new();
    let (mut skip, mut left) = (raw.skip.0, raw.len.0);
    let mut page = ExtentPage::new_zeroed();
    page.next = raw.extents;
    loop {
        let read = memory.read(page.next, page.as_mut_bytes());
        read.map_err(|error| MailboxError::Memory { gpa, error })?;
        let count = page.count as usize;
        // No empty page: a chain that loops reaches the bound.
        if !(1..=EXTENTS_PER_PAGE).contains(&count) {
            return field("extent count", list.len() as u64 + u64::from(page.count));
        }
        for extent in &page.extent[..count] {
            list.extend(part(*extent, &mut skip, &mut left));
        }
        if list.len() as u64 > most {
            return field("extent count", list.len() as u64);
        }
        if skip != 0 {
            return field("region skip", raw.skip.0);
        }
        if left == 0 || page.next == GuestAddress(0) {
            return Ok(list);
        }
    }
}

/// What is the region's of an extent: neither the bytes before it, of which `skip` are left,
/// nor what is behind it, of which `left` bytes are left. None if that is nothing.
fn part(extent: Extent, skip: &mut u64, left: &mut u64) -> Option<Extent> {
    if *left == 0 {
        return None;
    }
    // Refused with all its bytes: no region has it.
    if extent.len.is_zero() || extent.gpa.checked_add(extent.len).is_none() {
        return Some(extent);
    }
    let before = extent.len.0.min(*skip);
    let len = (extent.len.0 - before).min(*left);
    *skip -= before;
    *left -= len;
    (len != 0).then_some(Extent {
        gpa: extent.gpa.saturating_add(GuestLength(before)),
        len: GuestLength(len),
    })
}

/// Writes the answer where the driver waits for it: the reply first, then the
/// mailbox's second half in one piece.
///
/// # Errors
/// [`MailboxError::Memory`] if the mailbox or the reply is not RAM.
pub fn answer(
    memory: &dyn GuestMemory,
    gpa: GuestAddress,
    mailbox: &Mailbox,
    answer: &Answer,
) -> Result<(), MailboxError> {
    let failed = |error| MailboxError::Memory { gpa, error };
    memory.write(mailbox.reply, &answer.reply).map_err(failed)?;
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
    let at = gpa.saturating_add(ANSWER);
    memory.write(at, raw.as_bytes()).map_err(failed)
}
