//! A GPU whose registers are the guest's RAM: jobs become calls of the board, and end in
//! simulated time.

mod support;

use gil_gpu_registers::Gpu;
use gil_host::Config;
use gil_host::config::Time;
use gil_host::gpu::{Access, GpuPlace, Pins};
use gil_uapi::{GuestAddress, Mailbox, Status, VirtualAddress, gpu, kind};
use gil_wire::driver::Fetched;
use gil_wire::ending::Ending;
use gil_wire::generated::panfrost::API;
use gil_wire::gpu::{self as wire, FAULT, FETCH, JOB, Job, MEMORY, PAGE, Window, Work};
use gil_wire::{api, differences};
use support::board::{Act, Call, FakeBoard, Got, Later};
use support::guest::{DATA, Guest, RAM_BASE, RAM_SIZE, Seen, config, restore};
use zerocopy::IntoBytes;

const OK: u32 = Status::Ok as u32;
/// The registers.
const AT: u64 = RAM_BASE.0 + RAM_SIZE - 0x1_0000;
/// The tables, and the page that they map.
const TABLES: u64 = RAM_BASE.0 + RAM_SIZE - 0x2_0000;
const MAPPED: u64 = RAM_BASE.0 + RAM_SIZE - 0x3_0000;
/// GPU address of that page.
const HEAD: u64 = 0x200_3000;
/// Where the driver has the registers.
const VIRTUAL: u64 = 0xffff_8000_1234_0000;

/// Registers, of the kernel's panfrost_regs.h.
const JOB_INT_RAWSTAT: u32 = 0x1000;
const JOB_INT_CLEAR: u32 = 0x1004;
const JOB_INT_MASK: u32 = 0x1008;
const JS1: u32 = 0x1880;
const HEAD_NEXT: u32 = JS1 + 0x40;
const CONFIG_NEXT: u32 = JS1 + 0x58;
const COMMAND_NEXT: u32 = JS1 + 0x60;
const AS0_TRANSTAB: u32 = 0x2400;
const AS0_COMMAND: u32 = 0x2418;

fn host_config(board: &FakeBoard) -> Config {
    let at = Some(GuestAddress(AT));
    let gpu = Gpu::MaliT628;
    Config {
        gpu: Some(GpuPlace { gpu, at }),
        time: Time::Async,
        ..config(Some(board))
    }
}

fn board(script: impl FnMut(&Call) -> Act + Send + 'static) -> FakeBoard {
    let board = FakeBoard::new(script);
    board.objects.lock().unwrap().apis = Some(api::described(&[API]));
    board
}

/// The driver stores, as QEMU's plugin sees it.
fn store(guest: &Guest, offset: u32, value: u32) {
    let offset = u64::from(offset);
    guest.write(AT + offset, &value.to_le_bytes());
    let place = VirtualAddress(VIRTUAL + offset);
    guest.host.store(place, AT + offset, value);
}

/// The guest's module rings.
fn ring(guest: &Guest, len: u32, request: u64) -> Seen {
    let mailbox = Mailbox {
        request: GuestAddress(request),
        request_len: len,
        ..guest.header(kind::GPU)
    };
    guest.ring(mailbox.as_bytes())
}

fn register(guest: &Guest, offset: u32) -> u32 {
    let bytes = guest.read(AT + u64::from(offset), 4);
    u32::from_le_bytes(bytes.try_into().unwrap())
}

/// Tables of four levels, of which the last maps one page.
fn map_one(guest: &Guest) {
    write_tables(guest);
    for (offset, value) in TRANSLATE {
        store(guest, offset, value);
    }
}

/// What makes the first address space translate by them.
const TRANSLATE: [(u32, u32); 3] = [
    (AS0_TRANSTAB, (TABLES | 7) as u32),
    (AS0_TRANSTAB + 4, (TABLES >> 32) as u32),
    (AS0_COMMAND, 1),
];

fn write_tables(guest: &Guest) {
    for level in 0..4 {
        let index = HEAD >> (39 - 9 * level) & 511;
        let entry = match level {
            3 => MAPPED | 0x400 | 3 << 6 | 1,
            _ => (TABLES + (level + 1) * PAGE) | 3,
        };
        guest.write(TABLES + level * PAGE + index * 8, &entry.to_le_bytes());
    }
}

/// What the driver stores before it starts a job.
fn prepare(guest: &Guest, head: u64) {
    for (offset, value) in before(head) {
        store(guest, offset, value);
    }
}

fn before(head: u64) -> [(u32, u32); 4] {
    [
        (JOB_INT_MASK, !0),
        (HEAD_NEXT, head as u32),
        (HEAD_NEXT + 4, (head >> 32) as u32),
        (CONFIG_NEXT, 0),
    ]
}

const START: u64 = 1 << 32 | COMMAND_NEXT as u64;

/// How a job of 5 us ends, which changed its page's second line.
fn executed(call: &Call) -> Act {
    if call.op.entry() != FETCH {
        return Act::default();
    }
    let mut out = Vec::new();
    let line = std::iter::once(64..128).collect::<Vec<_>>();
    differences::encode(&[7; PAGE as usize], &line, &mut out);
    let fetched = Fetched {
        compare_ns: 1,
        results: vec![0],
    };
    let own = call.event.unwrap();
    Act {
        result: fetched.encode(),
        out: vec![out],
        reports: vec![(own - 1, 5_000, vec![]), (own, 0, vec![])],
        ..Act::default()
    }
}

#[test]
fn a_jobs_memory_goes_to_the_board_and_its_interrupt_comes_when_it_ends() {
    let board = board(executed);
    let mut guest = Guest::with(host_config(&board), false);
    assert_eq!(
        ring(&guest, 0, 0).released,
        [0, 0],
        "nothing was stored yet"
    );
    map_one(&guest);
    guest.write(MAPPED, &[1; PAGE as usize]);
    prepare(&guest, HEAD);
    guest.now_ns = 1_000_000;
    let seen = ring(&guest, 4, START);
    assert_eq!(seen.status, OK, "{:?}", guest.log.warnings());
    assert_eq!(seen.attention_ns, 1_005_000);
    assert_eq!(seen.released[gpu::LINES], 0);
    assert_eq!(seen.released[gpu::REGISTERS], VIRTUAL);
    let calls = board.calls();
    let ops: Vec<_> = calls.iter().map(|it| it.op.entry()).collect();
    assert_eq!(ops, [MEMORY, JOB, FETCH]);
    assert_eq!(calls[0].payload, [1; PAGE as usize]);
    let windows = Window::parse(&calls[0].args).unwrap();
    assert_eq!(windows[0].mapped().collect::<Vec<_>>(), [HEAD]);
    let job: Job = postcard::from_bytes(&calls[1].args).unwrap();
    assert!(
        matches!(job.work, Work::Chain { head: HEAD, .. }),
        "{job:?}"
    );
    assert_eq!(job.processor, 0, "vertices and tiler");
    // What the board changed is there, and nothing else is.
    let mut expected = [1; PAGE as usize];
    expected[64..128].fill(7);
    assert_eq!(guest.read(MAPPED, PAGE as usize), expected);
    guest.now_ns = 1_005_000;
    let seen = ring(&guest, 0, 0);
    assert_eq!((seen.released[gpu::LINES], seen.attention_ns), (1, 0));
    assert_eq!(register(&guest, JOB_INT_RAWSTAT), 2);
    store(&guest, JOB_INT_CLEAR, 2);
    assert_eq!(ring(&guest, 0, 0).released[gpu::LINES], 0);
    // The board has all that the next job needs.
    prepare(&guest, HEAD);
    ring(&guest, 4, START);
    assert!(board.calls()[3].payload.is_empty());
}

/// A job that begins at the present moment: how long it lasts.
fn lasts(guest: &Guest) -> u64 {
    prepare(guest, HEAD);
    let seen = ring(guest, gpu::STORE, START);
    assert_eq!(seen.status, OK, "{:?}", guest.log.warnings());
    seen.attention_ns - guest.now_ns
}

#[test]
fn jobs_that_begin_later_last_by_the_clocks_rate() {
    let board = board(executed);
    let mut guest = Guest::with(host_config(&board), false);
    map_one(&guest);
    guest.now_ns = 1_000_000;
    for (hz, ns) in [
        (600_000_000, 5_000),
        (480_000_000, 6_250),
        (177_000_000, 16_949),
        (600_000_000, 5_000),
    ] {
        assert_eq!(ring(&guest, gpu::CLOCK, hz).status, OK);
        assert_eq!(lasts(&guest), ns);
        // What runs is not revised.
        assert_eq!(ring(&guest, gpu::CLOCK, 266_000_000).status, OK);
        guest.now_ns += ns - 1;
        assert_eq!(ring(&guest, 0, 0).released[gpu::LINES], 0);
        guest.now_ns += 1;
        assert_eq!(ring(&guest, 0, 0).released[gpu::LINES], 1);
        store(&guest, JOB_INT_CLEAR, 2);
        guest.now_ns += 1_000;
    }
}

#[test]
fn a_rate_that_the_gpu_does_not_have_is_refused_and_changes_nothing() {
    let board = board(executed);
    let mut guest = Guest::with(host_config(&board), false);
    map_one(&guest);
    guest.now_ns = 1_000_000;
    assert_eq!(ring(&guest, gpu::CLOCK, 480_000_000).status, OK);
    for hz in [0, 1, 599_999_999, 1 << 40, u64::MAX] {
        let seen = ring(&guest, gpu::CLOCK, hz);
        assert_eq!(seen.status, Status::BadRequest as u32, "{hz}");
        let said = format!(
            "the guest asks for a clock of {hz} Hz, which the mali-t628 does not have: \
             it keeps the one before"
        );
        assert!(
            guest.log.warnings().contains(&said),
            "{:?}",
            guest.log.warnings()
        );
    }
    assert_eq!(lasts(&guest), 6_250);
}

/// A guest whose simulator has a device for the GPU.
fn device(board: &FakeBoard) -> Guest {
    Guest::with(device_config(board), true)
}

fn device_config(board: &FakeBoard) -> Config {
    let gpu = Gpu::MaliT628;
    Config {
        gpu: Some(GpuPlace { gpu, at: None }),
        checkpoint_log: true,
        ..host_config(board)
    }
}

/// What its device shows.
fn access(guest: &Guest, now_ns: u64, access: Access) -> Pins {
    guest.host.gpu(now_ns, access).unwrap()
}

#[test]
fn a_device_of_the_simulators_has_the_same_and_its_jobs_go_on_from_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let first = board(executed);
    let guest = device(&first);
    write_tables(&guest);
    guest.write(MAPPED, &[1; PAGE as usize]);
    for (offset, value) in TRANSLATE.into_iter().chain(before(HEAD)) {
        access(&guest, 500_000, Access::Store(offset, value));
    }
    let started = access(&guest, 1_000_000, Access::Store(COMMAND_NEXT, 1));
    assert_eq!((started.lines, started.attention_ns), (0, 1_005_000));
    assert_eq!(guest.read(MAPPED, 65)[63..], [1, 7]);
    assert_eq!(
        guest.read(AT, 0x4000),
        [0; 0x4000],
        "no copy of the registers is in RAM"
    );
    guest.host.checkpoint(&state, 1_000_000).unwrap();
    let second = board(executed);
    let mut other = device(&first);
    write_tables(&other);
    other.write(MAPPED, &[1; PAGE as usize]);
    restore(&mut other, &device_config(&second), &state).unwrap();
    for guest in [&guest, &other] {
        let early = access(guest, 1_004_999, Access::Load(JOB_INT_RAWSTAT));
        assert_eq!((early.value, early.lines), (0, 0));
        let ended = access(guest, 1_005_000, Access::Tick);
        assert_eq!((ended.lines, ended.attention_ns), (1, 0));
        assert_eq!(
            access(guest, 1_005_000, Access::Load(JOB_INT_RAWSTAT)).value,
            2
        );
        access(guest, 1_006_000, Access::Store(JOB_INT_CLEAR, 2));
        for (offset, value) in before(HEAD) {
            access(guest, 1_006_000, Access::Store(offset, value));
        }
        access(guest, 1_007_000, Access::Clock(480_192_077));
        let next = access(guest, 2_000_000, Access::Store(COMMAND_NEXT, 1));
        assert_eq!(next.attention_ns, 2_006_250, "at 480 MHz of 600");
    }
    // Another board knows nothing of the memory yet.
    let calls = second.calls();
    assert_eq!(calls[0].payload, [1; PAGE as usize]);
    let mut bare = Guest::with(config(None), true);
    let refused = restore(&mut bare, &config(None), &state);
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("--gpu mali-t628, and this run has none"),
        "{refused}"
    );
    assert_eq!(bare.host.gpu(0, Access::Tick), None);
}

#[test]
fn a_job_that_begins_nowhere_faults_and_the_board_hears_nothing() {
    let board = board(executed);
    let guest = Guest::with(host_config(&board), false);
    map_one(&guest);
    prepare(&guest, 0x1000);
    store(&guest, 0x2008, !0); // MMU_INT_MASK
    let seen = ring(&guest, 4, START);
    assert_eq!(seen.released[gpu::LINES], 2, "the MMU's line");
    let calls = board
        .got()
        .iter()
        .filter(|it| matches!(it, Got::Call(_)))
        .count();
    assert_eq!(calls, 0);
}

/// GPU address of a page that is not mapped at first, and the status of a job that cannot
/// write there.
const ABSENT: u64 = HEAD + PAGE;
const WRITE_FAULT: i32 = 0x43;

/// What a board says of a job that wants to write to a page which is not there.
fn wants_a_page(call: &Call) -> Act {
    let own = call.event.unwrap_or_default();
    match call.op.entry() {
        FAULT => Act {
            result: postcard::to_allocvec(&Some(wire::Fault {
                address: ABSENT,
                writes: true,
                descriptor: HEAD + 64,
            }))
            .unwrap(),
            ..Act::default()
        },
        FETCH => {
            let later = Later {
                event: own - 1,
                duration_ns: 5_000,
                ending: Ending::Failed(WRITE_FAULT),
                ..Later::default()
            };
            Act {
                later: vec![later],
                reports: vec![(own, 0, vec![])],
                ..executed(call)
            }
        }
        _ => Act::default(),
    }
}

/// The job's MMU has said that the page is not there, at the time at which the job came to it.
fn stalled(board: &FakeBoard) -> Guest {
    let guest = device(board);
    write_tables(&guest);
    let mask_of_mmu = (0x2008, !0);
    let stores = TRANSLATE
        .into_iter()
        .chain([mask_of_mmu])
        .chain(before(HEAD));
    for (offset, value) in stores {
        access(&guest, 500_000, Access::Store(offset, value));
    }
    let started = access(&guest, 1_000_000, Access::Store(COMMAND_NEXT, 1));
    assert_eq!(
        (started.lines, started.attention_ns),
        (0, 1_005_000),
        "{:?}",
        guest.log.warnings()
    );
    let waits = access(&guest, 1_005_000, Access::Tick);
    assert_eq!((waits.lines, waits.attention_ns), (2, 0), "the MMU's line");
    let address = access(&guest, 1_006_000, Access::Load(0x2420)).value;
    assert_eq!(u64::from(address), ABSENT, "AS0_FAULTADDRESS");
    guest
}

#[test]
fn a_job_whose_page_is_mapped_when_it_comes_to_it_is_executed_again() {
    let mut failed = false;
    let board = board(move |call| match failed || call.op.entry() == FAULT {
        true if call.op.entry() != FAULT => executed(call),
        _ => {
            failed |= call.op.entry() == FAULT;
            wants_a_page(call)
        }
    });
    let guest = stalled(&board);
    let entry = TABLES + 3 * PAGE + (ABSENT >> 12 & 511) * 8;
    guest.write(entry, &(MAPPED | 0x400 | 3 << 6 | 1).to_le_bytes());
    access(&guest, 1_007_000, Access::Store(0x2004, !0)); // MMU_INT_CLEAR
    let resumed = access(&guest, 1_010_000, Access::Store(AS0_COMMAND, 4)); // flush
    assert_eq!(resumed.attention_ns, 1_015_000);
    let ended = access(&guest, 1_015_000, Access::Tick);
    assert_eq!((ended.lines, ended.attention_ns), (1, 0));
    let done = access(&guest, 1_015_000, Access::Load(JS1 + 0x24)).value;
    assert_eq!(done, 1, "JS1_STATUS: done");
    let jobs = board
        .calls()
        .iter()
        .filter(|it| it.op.entry() == JOB)
        .count();
    assert_eq!(jobs, 2);
}

#[test]
fn a_job_whose_address_space_is_taken_away_ends_with_its_fault() {
    let board = board(wants_a_page);
    let guest = stalled(&board);
    for (offset, value) in [(AS0_TRANSTAB, 0), (AS0_TRANSTAB + 4, 0), (AS0_COMMAND, 1)] {
        access(&guest, 1_007_000, Access::Store(offset, value));
    }
    let ended = access(&guest, 1_007_000, Access::Load(JS1 + 0x24));
    assert_eq!((ended.value, ended.lines & 1), (WRITE_FAULT as u32, 1));
    assert_eq!(
        access(&guest, 1_007_000, Access::Load(JOB_INT_RAWSTAT)).value,
        2 << 16
    );
}

#[test]
fn a_fault_that_the_tables_do_not_have_ends_the_job_with_its_status() {
    let board = board(|call| match call.op.entry() {
        FAULT => Act {
            result: postcard::to_allocvec(&Some(wire::Fault {
                address: HEAD,
                writes: false,
                descriptor: HEAD + 64,
            }))
            .unwrap(),
            ..Act::default()
        },
        _ => wants_a_page(call),
    });
    let guest = device(&board);
    write_tables(&guest);
    for (offset, value) in TRANSLATE.into_iter().chain(before(HEAD)) {
        access(&guest, 500_000, Access::Store(offset, value));
    }
    access(&guest, 1_000_000, Access::Store(COMMAND_NEXT, 1));
    access(&guest, 1_005_000, Access::Tick);
    let status = access(&guest, 1_005_000, Access::Load(JS1 + 0x24)).value;
    assert_eq!(status, WRITE_FAULT as u32);
    let tail = access(&guest, 1_005_000, Access::Load(JS1 + 8)).value;
    assert_eq!(u64::from(tail), HEAD + 64, "JS1_TAIL");
}

#[test]
fn a_board_that_is_gone_ends_the_run_and_no_job() {
    let board = board(|call| Act {
        hang_up: call.op.entry() == FETCH,
        ..Act::default()
    });
    let guest = Guest::with(host_config(&board), false);
    map_one(&guest);
    for _ in 0..3 {
        prepare(&guest, HEAD);
        let seen = ring(&guest, 4, START);
        assert_eq!((seen.status, seen.attention_ns), (OK, 0));
        store(&guest, JS1 + 0x20, 3); // hard stop
        store(&guest, JOB_INT_CLEAR, !0);
    }
    let gone =
        "a job of the mali-t628 is not executed: the board is gone: start it again, and the run";
    assert_eq!(guest.log.fatal(), [gone], "{:?}", guest.log.warnings());
}

/// Numbers that look random, the same at each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// Whatever is in the tables, the registers and the answers, the host goes on.
#[test]
fn whatever_the_guest_stores_and_the_board_answers_the_host_goes_on() {
    let mut jobs = 0;
    for seed in 0..300 {
        let mut answers = Numbers(seed * 31 + 7);
        let board = board(move |call| match answers.below(4) {
            0 => executed(call),
            1 => Act {
                out: vec![vec![1; answers.below(80) as usize]; answers.below(3) as usize],
                reports: vec![(answers.below(9), answers.below(1 << 40), vec![])],
                ..executed(call)
            },
            2 => Act {
                hang_up: answers.below(8) == 0,
                ..executed(call)
            },
            _ => executed(call),
        });
        let mut numbers = Numbers(seed * 77 + 1);
        let mut guest = Guest::with(host_config(&board), seed % 2 == 0);
        map_one(&guest);
        for _ in 0..30 {
            match numbers.below(6) {
                0 => {
                    let place = TABLES + numbers.below(4 * 512) * 8;
                    let entry = match numbers.below(3) {
                        0 => (TABLES + numbers.below(8) * PAGE) | numbers.below(4) | 0xc0,
                        1 => (RAM_BASE.0 + numbers.below(1 << 21)) | numbers.below(4) | 0xc0,
                        _ => numbers.below(1 << 30) << 33 | numbers.below(1 << 31),
                    };
                    guest.write(place, &entry.to_le_bytes());
                }
                1 => {
                    // A job, once what was before it is out of the way.
                    store(&guest, JS1 + 0x20, 3);
                    store(&guest, JOB_INT_CLEAR, !0);
                    prepare(&guest, HEAD + numbers.below(8) / 7 * PAGE);
                    ring(&guest, 4, START);
                }
                2 => drop(ring(&guest, 4, START)),
                3 => store(
                    &guest,
                    numbers.below(0x4000) as u32,
                    numbers.below(1 << 32) as u32,
                ),
                4 => {
                    guest.now_ns += numbers.below(10_000);
                    ring(
                        &guest,
                        [0, 4, 8, 12, 3][numbers.below(5) as usize],
                        numbers.below(1 << 60),
                    );
                }
                _ => store(
                    &guest,
                    [0x2008, JOB_INT_CLEAR][numbers.below(2) as usize],
                    !0,
                ),
            }
        }
        jobs += board
            .calls()
            .iter()
            .filter(|it| it.op.entry() == JOB)
            .count();
        assert_eq!(guest.read(DATA, 4).len(), 4);
    }
    assert!(jobs > 100, "{jobs}");
}
