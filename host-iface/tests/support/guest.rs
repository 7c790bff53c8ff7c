//! The driver's side: RAM, mailboxes, doorbells.

use super::Log;
use super::board::FakeBoard;
use gil_host::checkpoint::CheckpointError;
use gil_host::config::Time;
use gil_host::memory::{Callbacks, GuestMemory, Mapped};
use gil_host::stand_in::{self, Region};
use gil_host::{Config, Host};
use gil_uapi::GuestLength;
use gil_wire::Op;
use gil_wire::envelope::{self, Class, Engine, Envelope, Queue};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

pub use gil_host::stand_in::{Driver, RAM_BASE, Seen};

/// Free for tests.
pub const DATA: u64 = stand_in::DATA;
pub const RAM_SIZE: u64 = 1 << 20;

pub const IN: u32 = 1;
pub const OUT: u32 = 2;

pub struct Guest {
    pub driver: Driver,
    pub log: Log,
    /// For a test's files.
    pub folder: tempfile::TempDir,
}

impl Deref for Guest {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        &self.driver
    }
}

impl DerefMut for Guest {
    fn deref_mut(&mut self) -> &mut Driver {
        &mut self.driver
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
        Self::with_ram(config, callbacks, RAM_SIZE)
    }

    pub fn with_ram(config: Config, callbacks: bool, size: u64) -> Self {
        let (file, path) = stand_in::ram(size).unwrap();
        let log = Log::default();
        let host = Host::new(&config, "test", Box::new(log.clone())).unwrap();
        host.set_memory(match callbacks {
            false => Box::new(Mapped::open(&path, RAM_BASE, vec![]).unwrap()),
            true => Self::callbacks(&Arc::new(file.try_clone().unwrap()), size),
        });
        let driver = Driver {
            // So that chains are always at work.
            extents_per_page: 1,
            ..Driver::new(host, file)
        };
        assert_eq!(driver.simple(gil_uapi::kind::OPEN).status, 0);
        let folder = tempfile::tempdir().unwrap();
        Self {
            driver,
            log,
            folder,
        }
    }

    fn callbacks(file: &Arc<std::fs::File>, size: u64) -> Box<dyn GuestMemory> {
        let range = gil_address_tables::RamRange {
            gpa: RAM_BASE,
            len: GuestLength(size),
            offset: 0,
        };
        let ram = gil_address_tables::RamMap::new(vec![range]).unwrap();
        let (one, two) = (file.clone(), file.clone());
        Box::new(Callbacks::new(
            ram,
            Box::new(move |gpa, out| one.read_exact_at(out, gpa.since(RAM_BASE).0).is_ok()),
            Box::new(move |gpa, bytes| two.write_all_at(bytes, gpa.since(RAM_BASE).0).is_ok()),
        ))
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
        let regions: Vec<Region> = regions.iter().map(in_two).collect();
        self.prepare_bytes(request, &regions);
        self.doorbell();
        self.seen()
    }
}

/// In two extents, so that scattering is always at work.
fn in_two(&(gpa, len, dir): &(u64, u64, u32)) -> Region {
    let half = len / 2;
    Region {
        dir: dir.into(),
        extents: match half {
            0 => vec![(gpa, len)],
            _ => vec![(gpa, half), (gpa + half, len - half)],
        },
    }
}

/// An envelope of API 1 entered at `entry`, without anything else.
pub fn call(class: Class, entry: u64) -> Envelope<'static> {
    Envelope {
        engine: Engine::COMPUTE,
        observable: true,
        args: b"args",
        ..Envelope::new(Op::new(1, 1), class, entry)
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

/// The same guest in another simulator.
pub fn restore(guest: &mut Guest, config: &Config, path: &Path) -> Result<(), CheckpointError> {
    let log = Log::default();
    let host = Host::new(config, "test", Box::new(log.clone())).unwrap();
    let memory = Mapped::open(&guest.ram_path(), RAM_BASE, vec![]).unwrap();
    host.set_memory(Box::new(memory));
    guest.host.finish();
    let restored = host.restore(path);
    (guest.driver.host, guest.log) = (Arc::new(host), log);
    restored
}
