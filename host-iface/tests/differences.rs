//! Buffers of kernel drivers, of which only differences travel.

mod support;

use gil_host::Config;
use gil_host::config::Time;
use gil_uapi::Status;
use gil_wire::Op;
use gil_wire::driver::{CHANGED, FETCH, Fetch, Fetched, IOCTLS};
use gil_wire::envelope::{Class, Envelope, Order};
use gil_wire::generated::virtio_gpu::API;
use gil_wire::message::CallStatus;
use gil_wire::{api, differences};
use std::ops::Range;
use support::board::{Act, FakeBoard, Got};
use support::guest::{DATA, Guest, IN, OUT, call, config};

const OK: u32 = Status::Ok as u32;
const LEN: usize = 256;
const REGION: (u64, u64, u32) = (DATA, LEN as u64, IN);

/// Answers waits so.
fn board(wait: Act) -> FakeBoard {
    let mut wait = Some(wait);
    let board = FakeBoard::new(move |call| match call.event {
        Some(3) => wait.take().unwrap_or_default(),
        _ => Act::default(),
    });
    board.objects.lock().unwrap().apis = Some(api::described(&[API]));
    board
}

fn config_of(board: &FakeBoard) -> Config {
    Config {
        time: Time::Async,
        ..config(Some(board))
    }
}

/// An answered call, behind which the board has those before it.
fn query() -> Envelope<'static> {
    Envelope {
        op: Op::new(API, IOCTLS + 3),
        ..call(Class::Sync, 0)
    }
}

/// The guest may have written to a buffer.
fn changed(number: u64) -> Envelope<'static> {
    Envelope {
        op: Op::new(API, CHANGED),
        regions: 1,
        mirror: Some(number),
        ..call(Class::Post, 0)
    }
}

/// Brings the bytes of buffers when these jobs have ended.
fn wait<'a>(fetch: &'a [u8], count: u32, event: u64, jobs: &[u64]) -> Envelope<'a> {
    Envelope {
        op: Op::new(API, FETCH),
        class: Class::Enqueue,
        order: Order::Marker,
        blocking: true,
        observable: false,
        regions: count,
        args: fetch,
        waits: jobs.to_vec().into(),
        ..support::guest::enqueue(event, 0)
    }
}

/// A fetch of two buffers, and none.
const FETCHES: [&[u8]; 2] = [
    &[1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0],
    &[1, 0, 0, 0, 200, 0, 0, 0],
];

fn fetch(buffers: &[u32]) -> Vec<u8> {
    let buffers = buffers.to_vec();
    Fetch { file: 1, buffers }.encode()
}

fn job(event: u64) -> Envelope<'static> {
    Envelope {
        op: Op::new(API, IOCTLS + 2),
        ..support::guest::enqueue(event, 0)
    }
}

fn encoded(now: &[u8], range: Range<usize>) -> Vec<u8> {
    let mut out = Vec::new();
    differences::encode(now, &[range], &mut out);
    out
}

fn only_differences_go_to_the_board(callbacks: bool) {
    let board = board(Act::default());
    let mut guest = Guest::with(config_of(&board), callbacks);
    let mut bytes = [b'a'; LEN];
    guest.write(DATA, &bytes);
    let send = |guest: &mut Guest, count: usize| {
        let mut calls = vec![changed(7); count];
        calls.push(query());
        assert_eq!(guest.submit(&calls, &vec![REGION; count]).status, OK);
        let mut got = board.calls();
        got.pop();
        let last = got.split_off(got.len() - count).into_iter();
        last.map(|call| call.payload).collect::<Vec<_>>()
    };
    assert_eq!(send(&mut guest, 1), [bytes.to_vec()]);
    assert_eq!(send(&mut guest, 1), [Vec::<u8>::new()]);
    bytes[130] = b'b';
    guest.write(DATA, &bytes);
    // Of two in one submission, the second has nothing new.
    assert_eq!(send(&mut guest, 2), [encoded(&bytes, 128..192), Vec::new()]);
    assert_eq!(send(&mut guest, 1), [Vec::<u8>::new()]);
}

#[test]
fn only_differences_go_to_the_board_of_mapped_ram() {
    only_differences_go_to_the_board(false);
}

#[test]
fn only_differences_go_to_the_board_from_behind_callbacks() {
    only_differences_go_to_the_board(true);
}

/// What a wait brings, in which two jobs are told to have ended.
fn brings(out: &[Vec<u8>]) -> Act {
    let fetched = Fetched {
        compare_ns: 5000,
        results: vec![0; out.len()],
    };
    let ended = |event| (event, 10_000_000 * event, vec![]);
    Act {
        result: fetched.encode(),
        out: out.to_vec(),
        reports: vec![ended(1), ended(2), (3, 0, vec![])],
        ..Act::default()
    }
}

#[test]
fn one_round_trip_brings_the_ends_of_jobs_and_the_differences() {
    let now = [b'j'; LEN];
    let board = board(brings(&[
        encoded(&now, 64..128),
        Vec::new(),
        encoded(&now, 0..64),
    ]));
    let mut guest = Guest::with(config_of(&board), false);
    let place = |n: u64| DATA + n * LEN as u64;
    let region = |n, dir| (place(n), LEN as u64, dir);
    (0..3).for_each(|n| guest.write(place(n), &[b'a'; LEN]));
    let sent = fetch(&[7, 8, 9]);
    let wait = wait(&sent, 3, 3, &[1, 2]);
    let calls = [changed(7), changed(9), job(1), job(2), wait];
    let outs = (0..3).map(|n| region(n, OUT));
    let regions: Vec<_> = [region(0, IN), region(2, IN)]
        .into_iter()
        .chain(outs)
        .collect();
    let seen = guest.submit(&calls, &regions);
    assert_eq!(seen.status, OK, "{:?}", guest.log.warnings());
    // Both were called at 0, and one is behind the other.
    assert_eq!(seen.deadline_ns, 30_000_000);
    for (n, range) in [(0, 64..128), (1, 0..0), (2, 0..64)] {
        let mut expected = [b'a'; LEN];
        expected[range].fill(b'j');
        assert_eq!(guest.read(place(n), LEN), expected, "{n}");
    }
    let asked = board.got().iter().any(|got| matches!(got, Got::Await(_)));
    assert!(!asked, "the jobs are told with it");
    // The board has what it sent.
    let regions = [region(0, IN), region(2, IN)];
    guest.submit(&[changed(7), changed(9), query()], &regions);
    let last: Vec<_> = board.calls()[5..7]
        .iter()
        .map(|it| it.payload.len())
        .collect();
    assert_eq!(last, [0, 0]);
}

#[test]
fn what_are_no_differences_loses_the_board() {
    for out in [vec![1; 5], encoded(&[1; 2 * LEN], LEN..LEN + 1)] {
        let board = board(brings(&[out]));
        let mut guest = Guest::with(config_of(&board), false);
        let seen = guest.submit(
            &[job(1), job(2), wait(&fetch(&[7]), 1, 3, &[1, 2])],
            &[(DATA, LEN as u64, OUT)],
        );
        assert_eq!(seen.status, Status::Lost as u32);
        assert_eq!(guest.read(DATA, LEN), [0; LEN]);
    }
}

/// Numbers that look random, the same at each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % end
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = [0, 1, 4, 8, 12, 72, LEN, LEN + 1][self.below(8) as usize];
        let mut bytes: Vec<u8> = (0..len).map(|_| self.below(256) as u8).collect();
        if len >= 12 && self.below(2) == 0 {
            let place = [self.below(300) as u32, len as u32 - 8];
            bytes[..4].copy_from_slice(&place[0].to_le_bytes());
            bytes[4..8].copy_from_slice(&place[1].to_le_bytes());
        }
        bytes
    }

    /// An answer that may have nothing to do with its call.
    fn act(&mut self) -> Act {
        let status = [CallStatus::Ran, CallStatus::Refused][self.below(16) as usize / 15];
        let result = match self.below(3) {
            0 => self.bytes(),
            _ => Fetched {
                compare_ns: u64::MAX,
                results: vec![0; 1 + self.below(3) as usize],
            }
            .encode(),
        };
        let out = (0..self.below(3)).map(|_| self.bytes()).collect();
        let reports = (0..self.below(4)).map(|_| (self.below(6), self.below(1000), vec![]));
        let reports = reports.collect();
        Act {
            status,
            result,
            out,
            reports,
            cpu_ns: self.below(1000),
            refuses: (self.below(10) == 0).then_some(-22),
            ..Act::default()
        }
    }

    /// A call that no driver's mirror makes.
    fn envelope(&mut self) -> Envelope<'static> {
        let entry = [CHANGED, IOCTLS + 2, IOCTLS + 3, IOCTLS + 8, 1, FETCH][self.below(6) as usize];
        let (event, mirror) = (1 + self.below(5), self.below(3));
        let all = [
            job(event),
            wait(FETCHES[self.below(2) as usize], 1, event, &[]),
            changed(mirror),
            query(),
        ];
        let mut envelope = all[self.below(4) as usize].clone();
        envelope.op = Op::new(API, entry);
        envelope.mirror = (self.below(3) > 0).then_some(mirror);
        envelope.regions = self.below(3) as u32;
        let waits: Vec<u64> = (0..self.below(3)).map(|_| self.below(6)).collect();
        envelope.waits = waits.into();
        envelope.blocking = self.below(2) == 0;
        envelope
    }
}

/// Whatever a guest's kernel asks, and whatever a board answers, the host goes on: another
/// session of the guest's has a board then.
#[test]
fn whatever_both_say_the_host_goes_on() {
    let mut seen = [0; 8];
    for seed in 0..600 {
        let mut numbers = Numbers(seed * 77 + 1);
        let mut acts = Numbers(seed * 99 + 5);
        let board = FakeBoard::new(move |_| acts.act());
        board.objects.lock().unwrap().apis = Some(api::described(&[API]));
        let mut guest = Guest::with(config_of(&board), seed % 2 == 0);
        for _ in 0..4 {
            let count = 1 + numbers.below(4);
            let calls: Vec<_> = (0..count).map(|_| numbers.envelope()).collect();
            let regions: u64 = calls.iter().map(|call| u64::from(call.regions)).sum();
            let regions: Vec<_> = (0..regions)
                .map(|_| {
                    let len = [LEN as u64, 64, 4096][numbers.below(3) as usize];
                    (DATA, len, [IN, OUT, IN | OUT][numbers.below(3) as usize])
                })
                .collect();
            let status = guest.submit(&calls, &regions).status;
            seen[status.min(7) as usize] += 1;
        }
    }
    assert!(seen[OK as usize] > 100, "{seen:?}");
}
