//! The driver's side: RAM, mailboxes, doorbells.

use super::Log;
use super::board::FakeBoard;
use gil_host::config::Time;
use gil_host::layout::{self, mailbox as at};
use gil_host::memory::{Callbacks, GuestMemory, Mapped};
use gil_host::{Config, Host};
use gil_wire::Op;
use gil_wire::envelope::{self, Answer, Class, Engine, Envelope, Queue};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

pub const RAM_BASE: u64 = 0x4000_0000;
pub const RAM_SIZE: u64 = 1 << 20;
const MAILBOX: u64 = RAM_BASE;
const REQUEST: u64 = RAM_BASE + 0x1000;
const REPLY: u64 = RAM_BASE + 0x4000;
const REGIONS: u64 = RAM_BASE + 0x8000;
const EXTENTS: u64 = RAM_BASE + 0x10000;
/// Free for tests.
pub const DATA: u64 = RAM_BASE + 0x80000;

/// Bytes between where the request begins and where the answer does.
const ROOM: usize = (REPLY - REQUEST) as usize;

pub const IN: u32 = 1;
pub const OUT: u32 = 2;

pub struct Guest {
    pub host: Arc<Host>,
    pub log: Log,
    pub file: Arc<std::fs::File>,
    pub path: tempfile::NamedTempFile,
    pub now_ns: u64,
    pub seq: u64,
    pub session: u64,
}

/// What the driver reads back.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub status: u32,
    pub deadline_ns: u64,
    pub wait: u32,
    pub flags: u32,
    pub released: Vec<u64>,
    pub reply: Vec<u8>,
    pub attention_ns: u64,
}

impl Seen {
    pub fn answer(&self) -> Answer<'_> {
        postcard::from_bytes(&self.reply).expect("an answer")
    }
}

/// The strict mode: every duration is known at once.
pub fn config(board: Option<&FakeBoard>) -> Config {
    Config {
        board: board.map(FakeBoard::address),
        time: Time::Strict,
        ..Config::default()
    }
}

impl Guest {
    pub fn new(board: &FakeBoard) -> Self {
        Self::with(config(Some(board)), false)
    }

    pub fn with(config: Config, callbacks: bool) -> Self {
        let path = tempfile::NamedTempFile::new().unwrap();
        path.as_file().set_len(RAM_SIZE).unwrap();
        let file = Arc::new(path.reopen().unwrap());
        let log = Log::default();
        let host = Host::new(&config, "test", Box::new(log.clone())).unwrap();
        host.set_memory(match callbacks {
            false => Box::new(Mapped::open(path.path(), RAM_BASE, vec![]).unwrap()),
            true => Self::callbacks(&file),
        });
        let mut guest = Self {
            host: Arc::new(host),
            log,
            file,
            path,
            now_ns: 1_000_000,
            seq: 0,
            session: 7,
        };
        assert_eq!(guest.simple(layout::kind::OPEN).status, 0);
        guest
    }

    fn callbacks(file: &Arc<std::fs::File>) -> Box<dyn GuestMemory> {
        let range = gil_address_tables::RamRange {
            gpa: RAM_BASE,
            len: RAM_SIZE,
            offset: 0,
        };
        let ram = gil_address_tables::RamMap::new(vec![range]).unwrap();
        let (one, two) = (file.clone(), file.clone());
        Box::new(Callbacks::new(
            ram,
            Box::new(move |gpa, out| one.read_exact_at(out, gpa - RAM_BASE).is_ok()),
            Box::new(move |gpa, bytes| two.write_all_at(bytes, gpa - RAM_BASE).is_ok()),
        ))
    }

    pub fn read(&self, gpa: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, gpa - RAM_BASE).unwrap();
        bytes
    }

    pub fn write(&self, gpa: u64, bytes: &[u8]) {
        self.file.write_all_at(bytes, gpa - RAM_BASE).unwrap();
    }

    pub fn header(&self, kind: u32) -> [u8; at::SIZE] {
        let mut bytes = [0; at::SIZE];
        let mut put = |offset: usize, value: &[u8]| {
            bytes[offset..offset + value.len()].copy_from_slice(value);
        };
        put(at::MAGIC, &layout::MAILBOX_MAGIC.to_le_bytes());
        put(at::VERSION, &layout::ABI_VERSION.to_le_bytes());
        put(at::SESSION, &self.session.to_le_bytes());
        put(at::SEQ, &self.seq.to_le_bytes());
        put(at::KIND, &kind.to_le_bytes());
        put(at::POINTER_BITS, &64u32.to_le_bytes());
        put(at::PROCESS, &42u32.to_le_bytes());
        put(at::THREAD, &43u32.to_le_bytes());
        put(at::NOW_NS, &self.now_ns.to_le_bytes());
        // A counter of 1 GHz that began with the clock: `entry` is in ns.
        put(at::NOW_COUNTER, &self.now_ns.to_le_bytes());
        put(at::COUNTER_HZ, &1_000_000_000u32.to_le_bytes());
        put(at::REGIONS, &REGIONS.to_le_bytes());
        put(at::REQUEST, &REQUEST.to_le_bytes());
        put(at::REPLY, &REPLY.to_le_bytes());
        put(at::REPLY_CAP, &layout::REPLY_MAX.to_le_bytes());
        put(at::STATUS, &layout::STATUS_UNSEEN.to_le_bytes());
        bytes
    }

    pub fn simple(&mut self, kind: u32) -> Seen {
        let header = self.header(kind);
        self.ring(&header)
    }

    pub fn collect(&mut self) -> Seen {
        self.simple(layout::kind::COLLECT)
    }

    pub fn close(&mut self) -> Seen {
        self.simple(layout::kind::CLOSE)
    }

    /// Rings with these bytes as the mailbox.
    pub fn ring(&self, header: &[u8]) -> Seen {
        self.write(MAILBOX, header);
        self.host.doorbell(MAILBOX, None);
        let bytes = self.read(MAILBOX, at::SIZE);
        let count = layout::u32_at(&bytes, at::RELEASED_COUNT).min(16) as usize;
        let reply_len = layout::u32_at(&bytes, at::REPLY_LEN).min(layout::REPLY_MAX);
        Seen {
            status: layout::u32_at(&bytes, at::STATUS),
            deadline_ns: layout::u64_at(&bytes, at::DEADLINE_NS),
            wait: layout::u32_at(&bytes, at::WAIT_KIND),
            flags: layout::u32_at(&bytes, at::FLAGS),
            released: (0..count)
                .map(|i| layout::u64_at(&bytes, at::RELEASED + 8 * i))
                .collect(),
            reply: self.read(REPLY, reply_len as usize),
            attention_ns: layout::u64_at(&bytes, at::ATTENTION_NS),
        }
    }

    /// Submits under the next number. Regions: address, length, direction.
    pub fn submit(&mut self, envelopes: &[Envelope<'_>], regions: &[(u64, u64, u32)]) -> Seen {
        self.seq += 1;
        self.submit_again(envelopes, regions)
    }

    /// Submits under the same number as last time.
    pub fn submit_again(
        &mut self,
        envelopes: &[Envelope<'_>],
        regions: &[(u64, u64, u32)],
    ) -> Seen {
        let mut request = Vec::new();
        envelopes
            .iter()
            .for_each(|e| envelope::push(e, &mut request));
        self.submit_bytes(&request, regions)
    }

    /// The same with any bytes as its envelopes.
    pub fn submit_bytes(&mut self, request: &[u8], regions: &[(u64, u64, u32)]) -> Seen {
        self.write(REQUEST, &request[..request.len().min(ROOM)]);
        for (index, &(gpa, len, dir)) in regions.iter().enumerate() {
            self.put_region(index as u64, gpa, len, dir);
        }
        let mut header = self.header(layout::kind::SUBMIT);
        header[at::REQUEST_LEN..][..4].copy_from_slice(&(request.len() as u32).to_le_bytes());
        header[at::REGION_COUNT..][..4].copy_from_slice(&(regions.len() as u32).to_le_bytes());
        self.ring(&header)
    }

    /// In two extents, so that chains and scattering are always at work.
    fn put_region(&self, index: u64, gpa: u64, len: u64, dir: u32) {
        let page = EXTENTS + index * 0x2000;
        let mut region = Vec::new();
        region.extend(len.to_le_bytes());
        region.extend(page.to_le_bytes());
        region.extend(u64::from(dir).to_le_bytes());
        self.write(REGIONS + index * layout::region::SIZE as u64, &region);
        let half = len / 2;
        let chain: &[(u64, u64)] = match half {
            0 => &[(gpa, len)],
            _ => &[(gpa, half), (gpa + half, len - half)],
        };
        for (nth, &(gpa, len)) in chain.iter().enumerate() {
            let at = page + nth as u64 * 0x1000;
            let next = if nth + 1 < chain.len() {
                at + 0x1000
            } else {
                0
            };
            let mut bytes = Vec::new();
            bytes.extend(next.to_le_bytes());
            bytes.extend(1u64.to_le_bytes());
            bytes.extend(gpa.to_le_bytes());
            bytes.extend(len.to_le_bytes());
            self.write(at, &bytes);
        }
    }
}

/// An envelope of API 1 entered at `entry`, without anything else.
pub fn call(class: Class, entry: u64) -> Envelope<'static> {
    Envelope {
        op: Op::new(1, 1),
        class,
        entry,
        queue: None,
        engine: Engine::Compute,
        blocking: false,
        waits: vec![],
        signals: None,
        observable: true,
        retires: None,
        regions: 0,
        rows: vec![],
        args: b"args",
    }
}

/// An enqueue on the in-order queue 5 that signals `event`.
pub fn enqueue(event: u64, entry: u64) -> Envelope<'static> {
    Envelope {
        queue: Some(Queue {
            id: 5,
            in_order: true,
            device: 1,
        }),
        signals: Some(event),
        ..call(Class::Enqueue, entry)
    }
}
