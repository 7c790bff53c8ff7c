//! A frame that Mali-400's pixel processors draw: what goes to the board for each.

mod support;

use gil_gpu_registers::Gpu;
use gil_host::Config;
use gil_host::config::Time;
use gil_host::gpu::GpuPlace;
use gil_uapi::{GuestAddress, Mailbox, VirtualAddress, kind};
use gil_wire::api;
use gil_wire::driver::Fetched;
use gil_wire::generated::lima::API;
use gil_wire::gpu::{FETCH, JOB, MEMORY, PAGE};
use support::board::{Act, Call, FakeBoard};
use support::guest::{Guest, RAM_BASE, RAM_SIZE, config};
use zerocopy::IntoBytes;

/// The registers.
const AT: u64 = RAM_BASE.0 + RAM_SIZE - 0x1_0000;
/// The page directory, the page table behind it, and the page that this maps first.
const DIRECTORY: u64 = RAM_BASE.0 + RAM_SIZE - 0x2_0000;
const MAPPED: u64 = RAM_BASE.0 + RAM_SIZE - 0x3_0000;
/// GPU address of that page.
const LIST: u32 = 0x40_0000;

/// Registers, of the kernel's lima_regs.h.
const MMU: [u32; 4] = [0x4000, 0x5000, 0x6000, 0x7000];
const PP: [u32; 4] = [0x8000, 0xa000, 0xc000, 0xe000];
const CTRL: u32 = 0x100c;
const START: u32 = 0x40;

fn guest(board: &FakeBoard) -> Guest {
    let at = GuestAddress(AT);
    let gpu = Gpu::Mali400;
    let config = Config {
        gpu: Some(GpuPlace { gpu, at: Some(at) }),
        time: Time::Async,
        ..config(Some(board))
    };
    let guest = Guest::with(config, false);
    map(&guest, MAPPED);
    for mmu in MMU {
        for (register, value) in [
            (0x08, 2),
            (0, DIRECTORY as u32),
            (0x08, 4),
            (0x08, 0),
            (0x08, 3),
        ] {
            store(&guest, mmu + register, value);
        }
    }
    guest
}

fn map(guest: &Guest, page: u64) {
    let table = DIRECTORY + PAGE;
    guest.write(DIRECTORY + 4, &(table as u32 | 1).to_le_bytes());
    guest.write(table, &(page as u32 | 7).to_le_bytes());
}

/// The driver stores, as QEMU's plugin sees it.
fn store(guest: &Guest, offset: u32, value: u32) {
    let offset = u64::from(offset);
    guest.write(AT + offset, &value.to_le_bytes());
    guest.host.store(VirtualAddress(offset), AT + offset, value);
}

/// The guest's module tells the time.
fn ring(guest: &mut Guest, now_ns: u64) {
    guest.now_ns = now_ns;
    let mailbox = Mailbox {
        request_len: 0,
        ..guest.header(kind::GPU)
    };
    guest.ring(mailbox.as_bytes());
}

fn draw(guest: &Guest, pp: u32) {
    store(guest, pp, LIST);
    store(guest, pp + CTRL, START);
}

/// How a job of 5 us ends, which changed nothing.
fn executed(call: &Call) -> Act {
    if call.op.entry() != FETCH {
        return Act::default();
    }
    let own = call.event.unwrap();
    let fetched = Fetched {
        compare_ns: 1,
        results: vec![0],
    };
    Act {
        result: fetched.encode(),
        out: vec![Vec::new()],
        reports: vec![(own - 1, 5_000, vec![]), (own, 0, vec![])],
        ..Act::default()
    }
}

fn board() -> FakeBoard {
    let board = FakeBoard::new(executed);
    board.objects.lock().unwrap().apis = Some(api::described(&[API]));
    board
}

fn calls(board: &FakeBoard) -> Vec<u16> {
    board.calls().iter().map(|it| it.op.entry()).collect()
}

#[test]
fn the_memory_of_a_frame_goes_to_the_board_once() {
    let board = board();
    let mut guest = guest(&board);
    ring(&mut guest, 1_000_000);
    draw(&guest, PP[0]);
    ring(&mut guest, 1_001_000);
    draw(&guest, PP[1]);
    draw(&guest, PP[2]);
    ring(&mut guest, 1_002_500);
    draw(&guest, PP[3]);
    let pixels = [JOB, FETCH];
    let first = [MEMORY, JOB, FETCH];
    let frame = [&first[..], &pixels, &pixels, &pixels].concat();
    assert_eq!(calls(&board), frame);
    ring(&mut guest, 1_010_000);
    // The next frame may be of other memory.
    draw(&guest, PP[0]);
    draw(&guest, PP[1]);
    assert_eq!(calls(&board)[frame.len()..], [&first[..], &pixels].concat());
}

#[test]
fn a_processor_that_starts_later_or_with_other_pages_gets_its_memory() {
    let board = board();
    let mut guest = guest(&board);
    ring(&mut guest, 1_000_000);
    draw(&guest, PP[0]);
    ring(&mut guest, 1_100_000);
    draw(&guest, PP[1]);
    map(&guest, MAPPED + PAGE);
    draw(&guest, PP[2]);
    let first = [MEMORY, JOB, FETCH];
    assert_eq!(calls(&board), first.repeat(3));
}
