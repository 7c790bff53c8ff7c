//! Jobs of a GPU that the guest's own kernel driver runs, on a node that stands in for one
//! which can place memory: a job writes a value where its descriptor says.

mod common;

use common::ioctls::{Data, Program, said};
use gil_board::board::{Ended, Outcome, Output};
use gil_board::drivers::DriversBoard;
use gil_board::drivers::node::{
    End, Executes, Fence, GpuMemory, Node, Open, Started, Unmapped, Version,
};
use gil_board::region::Budget;
use gil_wire::driver::Fetched;
use gil_wire::ending::Ending;
use gil_wire::generated::panfrost::API;
use gil_wire::gpu::{FAULT, FETCH, Fault, JOB, Job, MEMORY, PAGE, WINDOW, Window, Work};
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::CallStatus;
use gil_wire::{Op, differences};
use nix::errno::Errno;
use proptest::prelude::*;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a session waits for a job.
const LIMIT: Duration = Duration::from_millis(50);
/// The configuration of a job that never ends; of others, how many nanoseconds they take.
const NEVER: u32 = u32::MAX;
const READ_FAULT: i32 = 0x42;
const WRITE_FAULT: i32 = 0x43;

#[derive(Debug)]
struct Gpu {
    version: Version,
    places: bool,
}

impl Node for Gpu {
    fn path(&self) -> &Path {
        Path::new("gpu")
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn identity(&self) -> DeviceIdentity {
        DeviceIdentity::default()
    }

    fn open(&self) -> Result<Box<dyn Open>, Errno> {
        Err(Errno::ENODEV)
    }

    fn gpu(&self) -> Option<&dyn Executes> {
        self.places.then_some(self)
    }
}

/// The descriptor at `head`: an address, and the value that goes there.
fn write_value(head: u64, memory: &mut dyn GpuMemory) -> Result<(), (Unmapped, i32)> {
    let mut descriptor = [0; 16];
    let read = memory.read(head, &mut descriptor);
    read.map_err(|error| (error, READ_FAULT))?;
    let [address, value] = descriptor.as_chunks::<8>().0 else {
        panic!("16 bytes are two numbers");
    };
    let written = memory.write(u64::from_le_bytes(*address), value);
    written.map_err(|error| (error, WRITE_FAULT))
}

impl Executes for Gpu {
    fn execute(&self, job: &Job, submitted_ns: u64, memory: &mut dyn GpuMemory) -> Started {
        let (head, config) = match &job.work {
            Work::Chain { head, config, .. } => (*head, *config),
            other => panic!("no chain: {other:?}"),
        };
        let written = write_value(head, memory);
        let end_ns = (config != NEVER).then(|| submitted_ns + u64::from(config));
        Started {
            fence: Box::new(At(end_ns)),
            status: written.err().map_or(0, |(_, status)| status),
            fault: written.err().map(|(Unmapped(address), status)| Fault {
                address,
                writes: status == WRITE_FAULT,
                descriptor: head,
            }),
        }
    }
}

/// Ends at a time, or never.
#[derive(Debug)]
struct At(Option<u64>);

impl Fence for At {
    fn wait(&self, within: Duration) -> Result<Option<End>, Errno> {
        if self.0.is_none() {
            std::thread::sleep(within);
        }
        Ok(self.0.map(|ns| End { ns, status: 0 }))
    }
}

fn board(places: bool) -> DriversBoard {
    let version = Version {
        name: "panfrost".into(),
        numbers: [1, 2, 0],
        ..Version::default()
    };
    let node = Box::new(Gpu { version, places });
    DriversBoard::of(vec![node], LIMIT).unwrap()
}

fn window(space: u32, address: u64, pages: &[usize]) -> Window {
    let mut bits = [0; 32];
    pages.iter().for_each(|n| bits[n / 8] |= 1 << (n % 8));
    Window {
        space,
        address,
        pages: bits,
    }
}

fn encoded(windows: &[Window]) -> Vec<u8> {
    let mut args = Vec::new();
    windows.iter().for_each(|it| it.encode(&mut args));
    args
}

fn chain(space: u32, processor: u8, head: u64, config: u32) -> Job {
    let affinity = 1;
    Job {
        space,
        processor,
        work: Work::Chain {
            head,
            affinity,
            config,
        },
    }
}

/// What a guest's simulator sends.
struct Host<'b>(Program<'b>);

impl Host<'_> {
    fn memory(&mut self, window: &Window, data: &[Data<'_>]) -> Outcome {
        let (op, args) = (Op::new(API, MEMORY), encoded(&[*window]));
        self.0.call_as(op, &args, None, data, false)
    }

    /// A window with all of its bytes.
    fn send(&mut self, window: &Window, bytes: &[u8]) {
        let outcome = self.memory(window, &[Data::In(bytes)]);
        assert_eq!(outcome.status, CallStatus::Ran, "{}", said(&outcome));
    }

    fn job(&mut self, event: u64, job: &Job) -> Outcome {
        let args = postcard::to_stdvec(job).unwrap();
        self.0.call(Op::new(API, JOB), &args, Some(event), &[])
    }

    fn asks(&mut self, args: &[u8]) -> Outcome {
        self.0.call(Op::new(API, FAULT), args, None, &[])
    }

    /// Where the job of an event fails.
    fn fault(&mut self, event: u64) -> Option<Fault> {
        let outcome = self.asks(&postcard::to_stdvec(&event).unwrap());
        assert_eq!(outcome.status, CallStatus::Ran, "{}", said(&outcome));
        postcard::from_bytes(&outcome.result).unwrap()
    }

    fn start(&mut self, event: u64, job: &Job) {
        let outcome = self.job(event, job);
        assert_eq!(outcome.status, CallStatus::Ran, "{}", said(&outcome));
        assert!(outcome.result.is_empty() && outcome.ended.is_empty());
    }

    fn fetch(&mut self, event: u64, windows: &[Window]) -> (Vec<i32>, Vec<Ended>, Vec<Output>) {
        let data: Vec<_> = windows.iter().map(|it| Data::Out(it.len())).collect();
        let (op, args) = (Op::new(API, FETCH), encoded(windows));
        let outcome = self.0.call(op, &args, Some(event), &data);
        assert_eq!(outcome.status, CallStatus::Ran, "{}", said(&outcome));
        let fetched = Fetched::parse(&outcome.result).unwrap();
        (fetched.results, outcome.ended, outcome.out)
    }
}

/// A page with a descriptor at its first byte.
fn page(address: u64, value: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE as usize];
    page[..8].copy_from_slice(&address.to_le_bytes());
    page[8..16].copy_from_slice(&value.to_le_bytes());
    page
}

fn told(ended: &[Ended]) -> Vec<(u64, Ending)> {
    ended.iter().map(|it| (it.event, it.ending)).collect()
}

#[test]
fn jobs_find_the_guests_memory_and_what_they_write_comes_back() {
    let (board, budget) = (board(true), Budget::new(1 << 20));
    let mut host = Host(Program::of(&board, &budget));
    // The value goes across the border of two windows.
    let (code, low) = (
        window(7, 3 * WINDOW, &[9]),
        window(7, 0x40 * WINDOW, &[255]),
    );
    let high = window(7, 0x41 * WINDOW, &[0, 200]);
    let border = high.address;
    host.send(&code, &page(border - 4, 0x8877_6655_4433_2211));
    host.send(&low, &[0; PAGE as usize]);
    host.send(&high, &[0; 2 * PAGE as usize]);
    host.start(1, &chain(7, 1, 3 * WINDOW + 9 * PAGE, 1000));
    let (nowhere, other) = (window(7, 0, &[1]), window(7, border, &[0]));
    let (results, ended, out) = host.fetch(2, &[code, low, high, nowhere, other]);
    let missing = -(Errno::ENOENT as i32);
    assert_eq!(results, [0, 0, 0, missing, missing]);
    assert_eq!(told(&ended), [(1, Ending::Done), (2, Ending::Done)]);
    assert_eq!(ended[0].duration_ns, 1000);
    let news = |n: usize, window: &Window| {
        let mut bytes = vec![0; window.len()];
        for (offset, new) in differences::decode(out[n].bytes(), bytes.len()).unwrap() {
            bytes[offset..offset + new.len()].copy_from_slice(new);
        }
        bytes
    };
    assert!(out[0].is_empty() && out[3].is_empty() && out[4].is_empty());
    assert_eq!(news(1, &low)[4092..], [0x11, 0x22, 0x33, 0x44]);
    assert_eq!(news(2, &high)[..5], [0x55, 0x66, 0x77, 0x88, 0]);
    let (_, _, out) = host.fetch(3, &[low, high]);
    assert!(out.iter().all(Output::is_empty), "the guest has it");
}

#[test]
fn a_job_that_fails_has_the_gpus_status() {
    let (board, budget) = (board(true), Budget::new(1 << 20));
    let mut host = Host(Program::of(&board, &budget));
    let code = window(1, 0, &[0]);
    host.send(&code, &page(5 * WINDOW, 1));
    host.start(1, &chain(1, 1, 0, 10));
    host.start(2, &chain(2, 1, 0, 20));
    let unmapped = host.memory(&window(1, 0, &[]), &[]);
    assert_eq!(unmapped.status, CallStatus::Ran);
    host.start(3, &chain(1, 1, 0, 30));
    let (results, ended, _) = host.fetch(4, &[code]);
    assert_eq!(
        results,
        [-(Errno::ENOENT as i32)],
        "nothing is mapped there"
    );
    let failed = Ending::Failed;
    let expected = [
        (1, failed(WRITE_FAULT)),
        (2, failed(READ_FAULT)),
        (3, failed(READ_FAULT)),
    ];
    assert_eq!(told(&ended[..3]), expected);
    assert!(ended.iter().all(|it| !it.rejected));
    let fault = |address, writes| {
        Some(Fault {
            address,
            writes,
            descriptor: 0,
        })
    };
    assert_eq!(host.fault(1), fault(5 * WINDOW, true));
    assert_eq!(host.fault(1), None, "it is said once");
    assert_eq!(host.fault(3), fault(0, false));
    assert_eq!(host.fault(9), None);
    for args in [&[][..], &[0xff; 11], &[1, 2]] {
        assert_ne!(host.asks(args).status, CallStatus::Ran, "{args:?}");
    }
}

#[test]
fn a_processor_executes_one_job_at_a_time() {
    let (board, budget) = (board(true), Budget::new(1 << 20));
    let mut host = Host(Program::of(&board, &budget));
    let ms = 1_000_000;
    host.start(1, &chain(1, 0, 0, 200 * ms));
    host.start(2, &chain(2, 0, 0, 201 * ms));
    host.start(3, &chain(1, 1, 0, 201 * ms));
    let mut took = |event| host.0.finish(event).unwrap().duration_ns;
    assert_eq!(took(3), u64::from(201 * ms), "another processor's");
    assert!(took(2) < u64::from(200 * ms), "it began after the first");
    assert_eq!(took(1), u64::from(200 * ms));
}

#[test]
fn a_job_that_never_ends_keeps_its_address_space_for_so_long_and_its_processor_goes_on() {
    let (board, budget) = (board(true), Budget::new(1 << 20));
    let mut host = Host(Program::of(&board, &budget));
    host.start(1, &chain(1, 0, 0, NEVER));
    let began = Instant::now();
    let (_, ended, _) = host.fetch(2, &[window(2, 0, &[0])]);
    assert_eq!(told(&ended), [(2, Ending::Done)]);
    assert!(began.elapsed() < LIMIT, "another address space's");
    let (_, ended, _) = host.fetch(3, &[window(1, 0, &[0])]);
    let late = Ending::Failed(-(Errno::ETIMEDOUT as i32));
    assert_eq!(told(&ended), [(1, late), (3, Ending::Done)]);
    host.start(4, &chain(1, 0, 0, 10));
    assert_eq!(host.0.finish(4).unwrap().duration_ns, 10);
}

#[test]
fn a_board_that_places_buffers_itself_says_so() {
    let (board, budget) = (board(false), Budget::new(1 << 20));
    let mut host = Host(Program::of(&board, &budget));
    let refused = host.job(1, &chain(1, 0, 0, 10));
    assert_eq!(refused.status, CallStatus::Refused);
    assert!(said(&refused).contains("this board's panfrost places buffers itself"));
    assert!(said(&refused).contains("use the stand-in, or --driver"));
}

#[test]
fn what_no_host_sends_is_refused() {
    let (board, budget) = (board(true), Budget::new(64 << 10));
    let mut host = Host(Program::of(&board, &budget));
    let code = window(1, 0, &[0]);
    let whole = [0; PAGE as usize];
    host.send(&code, &whole);
    host.start(1, &chain(1, 0, 0, NEVER));
    let mut refused = |entry, args: &[u8], event, data: &[Data<'_>], why: &str| {
        let outcome = host.0.call(Op::new(API, entry), args, event, data);
        assert_eq!(outcome.status, CallStatus::Refused, "{why}");
        assert!(said(&outcome).contains(why), "{}", said(&outcome));
    };
    let one = encoded(&[code]);
    refused(MEMORY, &one, None, &[], "region 0");
    refused(MEMORY, &one, None, &[Data::Out(4096)], "region 0");
    refused(MEMORY, &one, None, &[Data::In(&[1; 9])], "a difference of");
    refused(
        MEMORY,
        &encoded(&[code, code]),
        None,
        &[Data::In(&whole)],
        "44 bytes follow",
    );
    let empty = encoded(&[window(1, 0, &[])]);
    refused(MEMORY, &empty, None, &[Data::In(&whole)], "region 0");
    let big = window(1, WINDOW, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let bytes = vec![0; big.len()];
    refused(
        MEMORY,
        &encoded(&[big]),
        None,
        &[Data::In(&bytes)],
        "ENOMEM",
    );
    refused(FETCH, &one, Some(2), &[], "region 0");
    refused(FETCH, &one, Some(2), &[Data::Out(4095)], "4096 bytes");
    refused(FETCH, &one, Some(2), &[Data::In(&whole)], "region 0");
    let job = |job: &Job| postcard::to_stdvec(job).unwrap();
    let good = job(&chain(1, 0, 0, 1));
    refused(JOB, &good[..2], Some(2), &[], "no job");
    refused(
        JOB,
        &[&good[..], &[0]].concat(),
        Some(2),
        &[],
        "1 bytes follow",
    );
    refused(JOB, &good, Some(2), &[Data::Out(1)], "region 1");
    refused(JOB, &good, Some(1), &[], "event 1");
    refused(JOB, &good, None, &[], "EINVAL");
    refused(JOB, &job(&chain(1, 2, 0, 1)), Some(2), &[], "processor 2");
    let work = Work::Pixels {
        processor: 8,
        frame: Vec::new(),
        write_back: Vec::new(),
    };
    let pixels = Job {
        work,
        ..chain(1, 0, 0, 1)
    };
    refused(JOB, &job(&pixels), Some(2), &[], "processor 8");
}

fn data() -> impl Strategy<Value = (bool, Vec<u8>)> {
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        Just(vec![3; PAGE as usize]),
    ];
    (any::<bool>(), bytes)
}

/// Arguments that are nearly right, or any bytes.
fn arguments() -> impl Strategy<Value = Vec<u8>> {
    let window = (0..3_u32, 0..3_u64, 0..9_usize).prop_map(|(space, at, page)| {
        let address = if at == 2 {
            u64::MAX - (WINDOW - 1)
        } else {
            at * WINDOW
        };
        window(space, address, &[page])
    });
    let job = (0..3_u32, 0..3_u8, any::<u64>(), 0..2_u32)
        .prop_map(|(space, unit, head, config)| chain(space, unit, head, config));
    prop_oneof![
        prop::collection::vec(window, 0..4).prop_map(|it| encoded(&it)),
        job.prop_map(|job| postcard::to_stdvec(&job).unwrap()),
        prop::collection::vec(any::<u8>(), 0..96),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_calls_leave_a_session_that_goes_on(
        calls in prop::collection::vec(
            (MEMORY..=FETCH, arguments(), any::<bool>(), prop::collection::vec(data(), 0..3)),
            0..24,
        ),
    ) {
        let (board, budget) = (board(true), Budget::new(1 << 20));
        let mut host = Host(Program::of(&board, &budget));
        for (event, (entry, args, signals, data)) in (100..).zip(&calls) {
            let data: Vec<_> = data
                .iter()
                .map(|(is_in, bytes)| if *is_in { Data::In(bytes) } else { Data::Out(bytes.len()) })
                .collect();
            let event = signals.then_some(event);
            host.0.call(Op::new(API, *entry), args, event, &data);
        }
        let code = window(9, 0, &[0]);
        host.send(&code, &page(0x20, 5));
        host.start(1, &chain(9, 0, 0, 10));
        let (results, ended, out) = host.fetch(2, &[code]);
        prop_assert_eq!(results, [0]);
        prop_assert!(told(&ended).contains(&(1, Ending::Done)));
        prop_assert!(!out[0].is_empty());
    }
}
