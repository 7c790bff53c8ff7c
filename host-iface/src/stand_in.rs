//! A driver without a guest: it writes mailboxes into its own memory, rings the
//! doorbell, and reads the answers. For tests and benchmarks.

use crate::Host;
use crate::host::Rung;
use gil_uapi::{
    ABI_VERSION, EXTENTS_PER_PAGE, ExtentPage, GuestAddress, MAILBOX_MAGIC, Mailbox, MailboxRegion,
    RELEASED_MAX, REPLY_MAX, STATUS_UNSEEN, kind,
};
use gil_wire::envelope::{self, Answer, Envelope};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use zerocopy::IntoBytes;

/// The first address of RAM.
pub const RAM_BASE: GuestAddress = GuestAddress(BASE);
const BASE: u64 = 0x4000_0000;
/// The mailbox's address.
pub const MAILBOX: u64 = BASE;
/// From here on RAM is for regions.
pub const DATA: u64 = BASE + 0x80000;

const REQUEST: u64 = BASE + 0x1000;
const REPLY: u64 = BASE + 0x4000;
/// Bytes between where the request begins and where the answer does.
const ROOM: usize = (REPLY - REQUEST) as usize;
const REGIONS: u64 = BASE + 0x8000;
const EXTENTS: u64 = BASE + 0x10000;
/// The counter ticks once a nanosecond and began with the clock.
const COUNTER_HZ: u32 = 1_000_000_000;

/// One region of a submission.
#[derive(Clone, Debug)]
pub struct Region {
    /// Which way its bytes go: the number of a
    /// [`Direction`](gil_wire::message::Direction), or what a test puts there.
    pub dir: u64,
    /// Address and length of each piece.
    pub extents: Vec<(u64, u64)>,
}

/// The answer as a driver reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The number of a [`gil_uapi::Status`].
    pub status: u32,
    /// Guest nanoseconds until when the thread waits.
    pub deadline_ns: u64,
    /// The number of a [`gil_uapi::WaitKind`].
    pub wait: u32,
    /// See [`gil_uapi::flag`].
    pub flags: u32,
    /// Numbers of submissions whose regions are released.
    pub released: Vec<u64>,
    /// The answer's bytes.
    pub reply: Vec<u8>,
    /// Guest nanoseconds when the driver rings by itself; 0: not at all.
    pub attention_ns: u64,
}

impl Seen {
    /// The answer, decoded.
    ///
    /// # Panics
    /// If there is none.
    pub fn answer(&self) -> Answer<'_> {
        postcard::from_bytes(&self.reply).expect("an answer")
    }
}

/// The driver.
#[derive(Clone)]
pub struct Driver {
    /// The host interface that it rings.
    pub host: Arc<Host>,
    /// Its RAM.
    pub file: Arc<File>,
    /// The guest's clock.
    pub now_ns: u64,
    /// The number of the last submission.
    pub seq: u64,
    /// The session that mailboxes name.
    pub session: u64,
    /// Extents that it puts on one page of a region's chain.
    pub extents_per_page: usize,
}

/// RAM of so many bytes, all zero; the path can be opened while the file lives.
///
/// # Errors
/// What the system says.
pub fn ram(size: u64) -> io::Result<(File, PathBuf)> {
    let file = File::from(memfd_create(c"gil-stand-in", MFdFlags::MFD_CLOEXEC)?);
    file.set_len(size)?;
    let path = path(&file);
    Ok((file, path))
}

fn path(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Memory of the stand-in fails only if its own addresses are wrong.
const INSIDE: &str = "an address in the stand-in's RAM";

impl Driver {
    /// A driver of `host`, whose guest memory is `file` from [`RAM_BASE`] on.
    pub fn new(host: Host, file: File) -> Self {
        Self {
            host: Arc::new(host),
            file: Arc::new(file),
            now_ns: 1_000_000,
            seq: 0,
            session: 7,
            extents_per_page: EXTENTS_PER_PAGE,
        }
    }

    /// Where another host interface finds the same RAM.
    pub fn ram_path(&self) -> PathBuf {
        path(&self.file)
    }

    /// Bytes of RAM.
    ///
    /// # Panics
    /// If they are not RAM.
    pub fn read(&self, gpa: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let read = self.file.read_exact_at(&mut bytes, gpa - BASE);
        read.expect(INSIDE);
        bytes
    }

    /// Changes RAM.
    ///
    /// # Panics
    /// If it is not RAM.
    pub fn write(&self, gpa: u64, bytes: &[u8]) {
        let written = self.file.write_all_at(bytes, gpa - BASE);
        written.expect(INSIDE);
    }

    /// A mailbox of this [`kind`], without submission.
    pub fn header(&self, kind: u32) -> Mailbox {
        Mailbox {
            magic: MAILBOX_MAGIC,
            version: ABI_VERSION,
            session: self.session,
            seq: self.seq,
            kind,
            pointer_bits: 64,
            process: 42,
            thread: 43,
            now_ns: self.now_ns,
            now_counter: self.now_ns,
            counter_hz: COUNTER_HZ,
            regions: GuestAddress(REGIONS),
            request: GuestAddress(REQUEST),
            reply: GuestAddress(REPLY),
            reply_cap: REPLY_MAX,
            answer: gil_uapi::Answer {
                status: STATUS_UNSEEN,
                ..Default::default()
            },
            ..Default::default()
        }
    }

    /// Rings with a mailbox of this [`kind`], without submission.
    pub fn simple(&self, kind: u32) -> Seen {
        self.ring(self.header(kind).as_bytes())
    }

    /// `COLLECT`.
    pub fn collect(&self) -> Seen {
        self.simple(kind::COLLECT)
    }

    /// `CLOSE`.
    pub fn close(&self) -> Seen {
        self.simple(kind::CLOSE)
    }

    /// Rings with these bytes as the mailbox.
    pub fn ring(&self, header: &[u8]) -> Seen {
        self.write(MAILBOX, header);
        self.doorbell();
        self.seen()
    }

    /// Rings with the mailbox that is there. Only this is the host interface's
    /// work.
    pub fn doorbell(&self) -> Rung {
        self.host.doorbell(GuestAddress(MAILBOX), None)
    }

    /// The answer that is in the mailbox.
    pub fn seen(&self) -> Seen {
        let mut mailbox = Mailbox::default();
        let read = self
            .file
            .read_exact_at(mailbox.as_mut_bytes(), MAILBOX - BASE);
        read.expect(INSIDE);
        let answer = mailbox.answer;
        let count = (answer.released_count as usize).min(RELEASED_MAX);
        Seen {
            status: answer.status,
            deadline_ns: answer.deadline_ns,
            wait: answer.wait_kind,
            flags: answer.flags,
            released: answer.released[..count].to_vec(),
            reply: self.read(REPLY, answer.reply_len.min(REPLY_MAX) as usize),
            attention_ns: answer.attention_ns,
        }
    }

    /// Writes a submission and its mailbox, under the number [`seq`](Self::seq).
    pub fn prepare(&self, envelopes: &[Envelope<'_>], regions: &[Region]) {
        let mut request = Vec::new();
        envelopes
            .iter()
            .for_each(|envelope| envelope::push(envelope, &mut request));
        self.prepare_bytes(&request, regions);
    }

    /// The same with any bytes as its envelopes; more than there is room for
    /// are only claimed.
    pub fn prepare_bytes(&self, request: &[u8], regions: &[Region]) {
        self.write(REQUEST, &request[..request.len().min(ROOM)]);
        let mut page = EXTENTS;
        for (index, one) in (0..).zip(regions) {
            page = self.put_region(index, one, page);
        }
        let mut header = self.header(kind::SUBMIT);
        header.request_len = request.len() as u32;
        header.region_count = regions.len() as u32;
        self.write(MAILBOX, header.as_bytes());
    }

    /// Its chain of pages begins at `page`; returns the next free one.
    fn put_region(&self, index: u64, one: &Region, mut page: u64) -> u64 {
        let len: u64 = one.extents.iter().map(|extent| extent.1).sum();
        let skip = 0;
        let numbers = [len, page, skip, one.dir];
        let entry: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        self.write(REGIONS + index * size_of::<MailboxRegion>() as u64, &entry);
        let mut pages = one.extents.chunks(self.extents_per_page).peekable();
        while let Some(extents) = pages.next() {
            let after = page + size_of::<ExtentPage>() as u64;
            assert!(
                after <= DATA,
                "as many extents as the stand-in has room for"
            );
            let next = if pages.peek().is_some() { after } else { 0 };
            let count = extents.len() as u64;
            let extents = extents.iter().flat_map(|&(gpa, len)| [gpa, len]);
            let words = [next, count].into_iter().chain(extents);
            self.write(page, &words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
            page = after;
        }
        page
    }
}
