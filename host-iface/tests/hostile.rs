//! Whatever a guest puts into its RAM, wherever it rings: an answer or none,
//! never a crash, never a hang, never a write outside of RAM.

mod support;

use gil_address_tables::{GuestAddress, GuestLength, RamMap, RamRange};
use gil_host::memory::{Callbacks, ReadGuest, WriteGuest};
use gil_host::{Config, Host};
use gil_uapi::Mailbox;
use gil_wire::rows::{RegionRows, Rows};
use proptest::prelude::*;
use std::mem::offset_of;
use std::sync::{Arc, Mutex};
use support::Log;
use support::board::{Act, FakeBoard};

const BASE: u64 = 0x1000;
const SIZE: u64 = 0x8000;

/// RAM whose functions fail the test when they are called outside of it.
fn host(ram: &Arc<Mutex<Vec<u8>>>, board: Option<&FakeBoard>) -> Host {
    let config = Config {
        board: board.map(FakeBoard::address),
        ..Config::default()
    };
    let host = Host::new(&config, "test", Box::new(Log::default())).unwrap();
    let range = |gpa, len| RamRange {
        gpa: GuestAddress(gpa),
        len: GuestLength(len),
        offset: gpa - BASE,
    };
    // Two ranges that touch.
    let ranges = vec![range(BASE, SIZE / 2), range(BASE + SIZE / 2, SIZE / 2)];
    let (one, two) = (ram.clone(), ram.clone());
    let read: ReadGuest = Box::new(move |gpa, out| {
        let from = (gpa.0 - BASE) as usize;
        out.copy_from_slice(&one.lock().unwrap()[from..from + out.len()]);
        true
    });
    let write: WriteGuest = Box::new(move |gpa, bytes| {
        let from = (gpa.0 - BASE) as usize;
        two.lock().unwrap()[from..from + bytes.len()].copy_from_slice(bytes);
        true
    });
    let map = RamMap::new(ranges).unwrap();
    host.set_memory(Box::new(Callbacks::new(map, read, write)));
    host
}

/// Numbers that are near what matters.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..5u64,
        (0..SIZE * 2).prop_map(|offset| BASE - 0x100 + offset),
        (0..8u64).prop_map(|page| BASE + page * 0x1000),
        any::<u64>(),
        (0..16u64).prop_map(|less| u64::MAX - less),
    ]
}

/// A mailbox whose every field may be anything, but that mostly passes for one.
fn mailbox() -> impl Strategy<Value = Vec<u8>> {
    let fields = proptest::collection::vec((0..size_of::<Mailbox>() / 4, number()), 0..6);
    (fields, 1..5u32, 1..3u64).prop_map(|(fields, kind, session)| {
        let mut bytes = vec![0; size_of::<Mailbox>()];
        let mut put = |offset: usize, value: &[u8]| {
            let end = (offset + value.len()).min(size_of::<Mailbox>());
            bytes[offset..end].copy_from_slice(&value[..end - offset]);
        };
        put(
            offset_of!(Mailbox, magic),
            &gil_uapi::MAILBOX_MAGIC.to_le_bytes(),
        );
        put(
            offset_of!(Mailbox, version),
            &gil_uapi::ABI_VERSION.to_le_bytes(),
        );
        put(offset_of!(Mailbox, session), &session.to_le_bytes());
        put(offset_of!(Mailbox, seq), &1u64.to_le_bytes());
        put(offset_of!(Mailbox, kind), &kind.to_le_bytes());
        put(offset_of!(Mailbox, pointer_bits), &64u32.to_le_bytes());
        put(offset_of!(Mailbox, counter_hz), &1000u32.to_le_bytes());
        put(offset_of!(Mailbox, region_count), &2u32.to_le_bytes());
        put(offset_of!(Mailbox, regions), &(BASE + 0x1000).to_le_bytes());
        put(offset_of!(Mailbox, request), &(BASE + 0x2000).to_le_bytes());
        put(offset_of!(Mailbox, reply), &(BASE + 0x3000).to_le_bytes());
        put(offset_of!(Mailbox, request_len), &64u32.to_le_bytes());
        put(offset_of!(Mailbox, reply_cap), &64u32.to_le_bytes());
        for (word, value) in fields {
            put(word * 4, &value.to_le_bytes());
        }
        bytes
    })
}

/// RAM full of numbers that are near what matters.
fn ram() -> impl Strategy<Value = Vec<u8>> {
    let words = proptest::collection::vec(number(), 64..512);
    words.prop_map(|words| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.iter().copied().cycle().take(SIZE as usize).collect()
    })
}

/// Encoded envelopes with any numbers in them.
fn envelopes() -> impl Strategy<Value = Vec<u8>> {
    use gil_wire::envelope::{Class, Engine, Envelope, Queue, push};
    let class = prop_oneof![
        Just(Class::Query),
        Just(Class::Sync),
        Just(Class::Post),
        Just(Class::Enqueue),
        Just(Class::Wait),
        Just(Class::Poll),
    ];
    let event = || 0..4u64;
    let one = (
        class,
        number(),
        any::<(bool, bool, bool)>(),
        proptest::collection::vec(event(), 0..3),
        proptest::option::of(event()),
        proptest::option::of(event()),
        0..3u32,
        proptest::collection::vec(any::<(u8, [u8; 5])>().prop_map(rows), 0..2),
    );
    proptest::collection::vec(one, 0..4).prop_map(|list| {
        let mut bytes = Vec::new();
        for (class, entry, flags, waits, signals, retires, regions, rows) in list {
            let queue = Queue {
                id: 1,
                in_order: flags.0,
                device: 0,
            };
            let envelope = Envelope {
                queue: flags.1.then_some(queue),
                engine: Engine::COMPUTE,
                blocking: flags.2,
                waits: waits.into(),
                signals,
                observable: flags.0,
                retires,
                regions,
                rows: rows.into(),
                mirror: flags.2.then_some(1),
                ..Envelope::new(gil_wire::Op::new(1, 1), class, entry)
            };
            push(&envelope, &mut bytes);
        }
        bytes
    })
}

fn rows((region, sizes): (u8, [u8; 5])) -> RegionRows {
    let [row, rows, row_pitch, slices, slice_pitch] = sizes.map(|size| u64::from(size % 8));
    let rows = Rows {
        row,
        rows,
        row_pitch,
        slices,
        slice_pitch,
    };
    RegionRows {
        region: u32::from(region % 3),
        rows,
    }
}

proptest! {
    #[test]
    fn any_mailbox_in_any_ram(
        ram in ram(),
        rings in proptest::collection::vec((mailbox(), number()), 1..8),
    ) {
        let ram = Arc::new(Mutex::new(ram));
        let host = host(&ram, None);
        for (mailbox, elsewhere) in rings {
            ram.lock().unwrap()[..size_of::<Mailbox>()].copy_from_slice(&mailbox);
            host.doorbell(GuestAddress(BASE), None);
            host.doorbell(GuestAddress(elsewhere), None);
        }
        host.finish();
    }

    #[test]
    fn any_envelopes_reach_a_board_or_are_refused(
        submissions in proptest::collection::vec((envelopes(), 0..3u32, number()), 1..12),
        cpu_ns in number(),
    ) {
        let board = FakeBoard::new(move |call| Act {
            cpu_ns,
            reports: if call.seq % 3 == 0 { vec![(call.seq, cpu_ns, vec![])] } else { vec![] },
            ..Act::default()
        });
        let ram = Arc::new(Mutex::new(vec![0; SIZE as usize]));
        let host = host(&ram, Some(&board));
        let word = |offset: u64, value: u64| {
            let mut ram = ram.lock().unwrap();
            ram[offset as usize..][..8].copy_from_slice(&value.to_le_bytes());
        };
        let mut seq = 0;
        let mut ring = |kind: u32, len: usize, regions: u32, now_ns: u64| {
            seq += 1;
            word(0, u64::from(gil_uapi::MAILBOX_MAGIC) | u64::from(gil_uapi::ABI_VERSION) << 32);
            word(8, 1);
            word(16, seq);
            word(24, u64::from(kind) | 64 << 32);
            word(40, now_ns);
            word(48, now_ns);
            word(56, 1_000_000_000 | u64::from(regions) << 32);
            word(64, BASE + 0x1000);
            word(72, BASE + 0x2000);
            word(80, BASE + 0x3000);
            word(88, len as u64 | 4096 << 32);
            word(96, u64::from(gil_uapi::STATUS_UNSEEN));
            host.doorbell(GuestAddress(BASE), None);
            let bytes = ram.lock().unwrap();
            u32::from_le_bytes(bytes[offset_of!(Mailbox, answer.status)..][..4].try_into().unwrap())
        };
        prop_assert_eq!(ring(gil_uapi::kind::OPEN, 0, 0, 1), 0);
        // Two regions of one extent, in and out.
        for (region, dir) in [(0, 1), (1, 2)] {
            let page = 0x4000 + region * 0x1000;
            word(0x1000 + region * 24, 16);
            word(0x1008 + region * 24, BASE + page);
            word(0x1010 + region * 24, dir);
            word(page + 8, 1);
            word(page + 16, BASE + 0x6000 + region * 8);
            word(page + 24, 16);
        }
        for (request, regions, now_ns) in submissions {
            ram.lock().unwrap()[0x2000..][..request.len()].copy_from_slice(&request);
            let status = ring(gil_uapi::kind::SUBMIT, request.len(), regions, now_ns);
            prop_assert!(status <= 5, "{status}");
            ring(gil_uapi::kind::COLLECT, 0, 0, now_ns);
        }
        prop_assert_eq!(ring(gil_uapi::kind::CLOSE, 0, 0, 1), 0);
        host.finish();
    }
}
