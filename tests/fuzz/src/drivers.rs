//! Calls of kernel drivers: what a guest's program gives the decoder, and what its kernel
//! gives a board whose nodes take everything.

use crate::input::Input;
use gil_board::board::{Board, Call, Guest};
use gil_board::drivers::DriversBoard;
use gil_board::drivers::node::{End, Fence, Mapped, Node, Open, Performed, Raw, Version};
use gil_board::region::{Budget, Region};
use gil_drivers::Table;
use gil_wire::Op;
use gil_wire::driver::{CLOSE, OPEN};
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::{self, Direction};
use nix::errno::Errno;
use std::cell::Cell;
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

const GUEST: Guest = Guest {
    process: 1,
    pointer_bits: 64,
    finish: gil_wire::finish::Finish::Program,
};

fn tables() -> &'static [Table] {
    static TABLES: OnceLock<Vec<Table>> = OnceLock::new();
    let all = || gil_drivers::names().map(|name| gil_drivers::table(name).expect("a table"));
    TABLES.get_or_init(|| all().collect())
}

/// A driver that takes every call and makes what it is asked for.
#[derive(Debug)]
struct Willing(Version);

/// An open file of it, with the next handle.
#[derive(Debug)]
struct OpenFile(Cell<u32>);

impl Node for Willing {
    fn path(&self) -> &Path {
        Path::new("/dev/null")
    }

    fn version(&self) -> &Version {
        &self.0
    }

    fn identity(&self) -> DeviceIdentity {
        DeviceIdentity::default()
    }

    fn open(&self) -> Result<Box<dyn Open>, Errno> {
        Ok(Box::new(OpenFile(Cell::new(1))))
    }
}

impl OpenFile {
    fn next(&self) -> u32 {
        self.0.replace(self.0.get() + 1)
    }
}

impl Open for OpenFile {
    fn ioctl(&self, call: &mut Raw<'_>) -> Result<Performed, Errno> {
        let place = call.layout().new_buffer;
        let (argument, memory) = call.parts_mut();
        memory.into_iter().for_each(|bytes| bytes.fill(1));
        if let Some(place) = place {
            place.write(argument, self.next().into());
        }
        let fence = call
            .wants_fence()
            .then(|| Box::new(Ended) as Box<dyn Fence>);
        Ok(Performed { result: 0, fence })
    }

    fn map(&self, _offset: u64, len: usize) -> Result<Box<dyn Mapped>, Errno> {
        Ok(Box::new(Memory(vec![0; len])))
    }

    fn export(&self, _handle: u32) -> Result<OwnedFd, Errno> {
        let file = File::open("/dev/null").map_err(|_| Errno::EMFILE)?;
        Ok(file.into())
    }

    fn import(&self, _buffer: BorrowedFd<'_>) -> Result<u32, Errno> {
        Ok(self.next())
    }

    fn close(&self, _handle: u32) -> Result<(), Errno> {
        Ok(())
    }
}

struct Memory(Vec<u8>);

impl Mapped for Memory {
    fn read(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.0[..bytes.len()]);
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

#[derive(Debug)]
struct Ended;

impl Fence for Ended {
    fn wait(&self, _within: Duration) -> Result<Option<End>, Errno> {
        Ok(Some(End { ns: 1, status: 0 }))
    }
}

fn board() -> &'static DriversBoard {
    static BOARD: OnceLock<DriversBoard> = OnceLock::new();
    let node = |table: &Table| {
        let version = Version {
            name: table.driver.clone(),
            numbers: table.version,
            ..Version::default()
        };
        Box::new(Willing(version)) as Box<dyn Node>
    };
    BOARD.get_or_init(|| {
        let nodes = tables().iter().map(node).collect();
        DriversBoard::of(nodes, Duration::from_millis(1)).expect("nodes of all tables")
    })
}

/// A call's regions, with bytes that lie in the input.
fn regions(input: &mut Input<'_>, budget: &Budget) -> Vec<Region> {
    let count = input.u8() % 3;
    let region = |_| {
        let (len, dir) = (usize::from(input.u8()) * 64, input.u8());
        match Direction::from_raw(dir.into()) {
            Some(dir) if dir.is_in() => Region::holding(dir, vec![7; len], budget),
            _ => Region::to_write(len, budget).expect("some bytes"),
        }
    };
    (0..count).map(region).collect()
}

/// Calls with any arguments on a session in which two files are open.
pub fn ioctls(data: &[u8]) {
    let mut input = Input(data);
    let table = &tables()[usize::from(input.u8()) % tables().len()];
    let budget = Budget::new(8 << 20);
    let mut session = board().open(GUEST, &budget).expect("a session");
    let mut call = |seq: u64, entry: u16, flags: u8, args: &[u8], regions| {
        let head = message::Call {
            seq,
            op: Op::new(table.api, entry),
            thread: 1,
            answer: flags & 2 != 0,
            finish: flags & 4 != 0,
            event: (flags & 1 != 0).then_some(seq),
            args,
            regions: Vec::new(),
        };
        drop(session.call(Call {
            head: &head,
            regions,
            budget: &budget,
        }));
        if flags & 8 != 0 {
            drop(session.finish(seq, &budget));
        }
    };
    for file in [1u32, 2] {
        call(file.into(), OPEN, 2, &file.to_le_bytes(), Vec::new());
    }
    for seq in 3..12 {
        let (entry, flags) = (input.u16() % 32, input.u8());
        let args = input.counted();
        call(seq, entry, flags, args, regions(&mut input, &budget));
    }
    call(12, CLOSE, 0, &1u32.to_le_bytes(), Vec::new());
}

/// An argument and a program's memory, as a watch decodes them; and a buffer's differences.
pub fn decode(data: &[u8]) {
    let mut input = Input(data);
    let table = &tables()[usize::from(input.u8()) % tables().len()];
    let number = u32::from(input.u8() % 16);
    let argument = input.counted();
    let memory = input.0;
    let mut program = |address: u64, len: usize| {
        let at = usize::try_from(address % 256).unwrap_or(0);
        Some(memory.get(at..at.checked_add(len)?)?.to_vec())
    };
    let _ = table.decode(number, argument, &mut program);
    let total = argument.len();
    for (offset, bytes) in gil_wire::differences::decode(memory, total).unwrap_or_default() {
        assert!(offset + bytes.len() <= total);
    }
}
