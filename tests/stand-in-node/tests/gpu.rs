//! Jobs of the guest's own kernel driver, through a session of the board: the stand-ins
//! find them in the windows that the guest mapped, and end them as the hardware does.

use gil_board::board::{Board, Call, Ended, Guest, Outcome, Session};
use gil_board::drivers::DriversBoard;
use gil_board::drivers::node::Node;
use gil_board::region::{Budget, Region};
use gil_stand_in_node::node::{Driver, StandIn};
use gil_wire::driver::Fetched;
use gil_wire::ending::Ending;
use gil_wire::generated::{lima, panfrost, sample_gpu};
use gil_wire::gpu::{FETCH, JOB, Job, MEMORY, PAGE, WINDOW, Window, Work};
use gil_wire::message::{self, CallStatus, Direction, RegionDesc};
use gil_wire::{Op, differences};
use std::time::Duration;

/// How long a session waits for a job.
const LIMIT: Duration = Duration::from_millis(100);

fn board(times: &str) -> DriversBoard {
    let script: gil_stand_in_node::script::Script = times.parse().unwrap();
    let drivers = [Driver::Lima, Driver::Panfrost, Driver::SampleGpu];
    let node = |driver| Box::new(StandIn::new(driver, script.clone())) as Box<dyn Node>;
    DriversBoard::of(drivers.map(node).into(), LIMIT).unwrap()
}

/// What the simulator of a guest sends, and what the guest has in its windows.
struct Host<'b> {
    session: Box<dyn Session + 'b>,
    budget: Budget,
    api: u16,
    windows: Vec<(Window, Vec<u8>)>,
    event: u64,
}

impl<'b> Host<'b> {
    fn of(board: &'b DriversBoard, api: u16) -> Self {
        let budget = Budget::new(64 << 20);
        let guest = Guest {
            process: 0,
            pointer_bits: 64,
            finish: Default::default(),
        };
        Self {
            session: board.open(guest, &budget).unwrap(),
            budget,
            api,
            windows: Vec::new(),
            event: 0,
        }
    }

    fn call(&mut self, entry: u16, args: &[u8], event: u64, regions: Vec<Region>) -> Outcome {
        let describe = |it: &Region| RegionDesc {
            len: it.len() as u64,
            dir: it.dir(),
        };
        let head = message::Call {
            seq: 1,
            op: Op::new(self.api, entry),
            thread: 1,
            answer: true,
            finish: false,
            event: (event != 0).then_some(event),
            args,
            regions: regions.iter().map(describe).collect(),
        };
        self.session.call(Call {
            head: &head,
            regions,
            budget: &self.budget,
        })
    }

    /// Maps pages of zeros.
    fn map(&mut self, address: u64, pages: impl IntoIterator<Item = usize>) {
        let mut bits = [0; 32];
        pages.into_iter().for_each(|n| bits[n / 8] |= 1 << (n % 8));
        let window = Window {
            space: 4,
            address,
            pages: bits,
        };
        self.windows.push((window, vec![0; window.len()]));
    }

    /// The guest's bytes at an address, to the end of the page.
    fn at(&mut self, address: u64) -> &mut [u8] {
        let page = address - address % PAGE;
        for (window, bytes) in &mut self.windows {
            if let Some(index) = window.mapped().position(|it| it == page) {
                let start = index * PAGE as usize;
                return &mut bytes[start + (address % PAGE) as usize..start + PAGE as usize];
            }
        }
        panic!("{address:#x} is not mapped")
    }

    fn put(&mut self, address: u64, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.at(address)[..bytes.len()].copy_from_slice(&bytes);
    }

    fn word(&mut self, address: u64) -> u32 {
        u32::from_le_bytes(self.at(address)[..4].try_into().unwrap())
    }

    fn send(&mut self) {
        for (window, bytes) in self.windows.clone() {
            let mut args = Vec::new();
            window.encode(&mut args);
            let region = Region::holding(Direction::In, bytes, &self.budget);
            let outcome = self.call(MEMORY, &args, 0, vec![region]);
            assert_eq!(outcome.status, CallStatus::Ran);
        }
    }

    /// Starts a job; its event.
    fn start(&mut self, processor: u8, work: Work) -> u64 {
        self.event += 1;
        let space = 4;
        let job = Job {
            space,
            processor,
            work,
        };
        let args = postcard::to_stdvec(&job).unwrap();
        let outcome = self.call(JOB, &args, self.event, Vec::new());
        let said = String::from_utf8_lossy(&outcome.result).into_owned();
        assert_eq!(outcome.status, CallStatus::Ran, "{said}");
        self.event
    }

    /// Brings what the jobs wrote to the guest; how they ended.
    fn fetch(&mut self) -> Vec<Ended> {
        let mut args = Vec::new();
        let mut regions = Vec::new();
        for (window, bytes) in &self.windows {
            window.encode(&mut args);
            regions.push(Region::to_write(bytes.len(), &self.budget).unwrap());
        }
        let outcome = self.call(FETCH, &args, u64::MAX, regions);
        assert_eq!(outcome.status, CallStatus::Ran);
        let fetched = Fetched::parse(&outcome.result).unwrap();
        assert!(fetched.results.iter().all(|it| *it == 0));
        for (out, (_, bytes)) in outcome.out.iter().zip(&mut self.windows) {
            for (offset, new) in differences::decode(out.bytes(), bytes.len()).unwrap() {
                bytes[offset..offset + new.len()].copy_from_slice(new);
            }
        }
        outcome.ended
    }

    /// Sends all, executes one job, and brings what it wrote; how it ended, and how long it
    /// took.
    fn run(&mut self, processor: u8, work: Work) -> (Ending, u64) {
        self.send();
        let event = self.start(processor, work);
        let ended = self.fetch();
        let mine = ended.iter().find(|it| it.event == event).unwrap();
        (mine.ending, mine.duration_ns)
    }
}

fn chain(head: u64) -> Work {
    Work::Chain {
        head,
        affinity: 0x3f,
        config: 0,
    }
}

/// A job's header of this type, and what is behind it.
fn header(kind: u32, next: u64, payload: &[u32]) -> Vec<u32> {
    let mut words = vec![
        0,
        0,
        0,
        0,
        kind << 1 | 1,
        0,
        next as u32,
        (next >> 32) as u32,
    ];
    words.extend_from_slice(payload);
    words
}

#[test]
fn a_chain_in_scattered_windows_writes_its_values() {
    let board = board("slot1=70000;slot0=90000");
    let mut host = Host::of(&board, panfrost::API);
    let (first, second, value) = (3 * WINDOW + 7 * PAGE, 0x123 * WINDOW, 0x77 * WINDOW - 4);
    host.map(3 * WINDOW, [7, 200]);
    host.map(second, [0]);
    host.map(0x76 * WINDOW, [255]);
    host.map(0x77 * WINDOW, [0, 3]);
    host.put(first, &header(1, second, &[]));
    // Zero goes across the border of two windows.
    host.put(second, &header(2, 0, &[value as u32, 0, 3]));
    host.put(value, &[u32::MAX]);
    host.put(value + 4, &[u32::MAX; 2]);
    assert_eq!(host.run(0, chain(first)), (Ending::Done, 70_000));
    let statuses = [first, second].map(|at| host.word(at));
    assert_eq!(statuses, [1, 1]);
    let values = [value, value + 4, value + 8].map(|at| host.word(at));
    assert_eq!(values, [0, 0, u32::MAX]);
    assert_eq!(host.run(1, chain(first)).1, 90_000, "slot 0");
}

#[test]
fn a_chain_that_fails_has_the_gpus_status() {
    let board = board("");
    let mut host = Host::of(&board, panfrost::API);
    let at = 9 * WINDOW;
    host.map(at, [0]);
    assert_eq!(
        host.run(0, chain(0x1000)).0,
        Ending::Failed(0x42),
        "nowhere"
    );
    assert_eq!(host.run(0, chain(u64::MAX - 3)).0, Ending::Failed(0x42));
    host.put(at, &header(1, at + 64, &[]));
    host.put(at + 64, &header(1, 0x5000, &[]));
    assert_eq!(host.run(0, chain(at)).0, Ending::Failed(0x42), "its next");
    host.put(at, &header(2, 0, &[0x6000, 0, 3]));
    assert_eq!(host.run(0, chain(at)).0, Ending::Failed(0x43), "its value");
    assert_eq!((host.word(at), host.word(at + 8)), (0x43, 0x6000));
    host.put(at, &header(77, 0, &[]));
    assert_eq!(host.run(0, chain(at)).0, Ending::Failed(0x40), "no type");
    assert_eq!(host.word(at), 0x40);
    host.put(at, &header(1, at + 64, &[]));
    host.put(at + 64, &header(1, at, &[]));
    assert_eq!(host.run(0, chain(at)).0, Ending::Failed(0x58), "it loops");
    let other = Work::Geometry {
        vertex: None,
        plbu: None,
        heap: (0, 0),
    };
    assert_eq!(host.run(0, other).0, Ending::Failed(0x40), "lima's");
}

#[test]
fn a_heap_need_not_be_there_before_the_gpu_touches_it() {
    let board = board("");
    let mut host = Host::of(&board, panfrost::API);
    let at = 9 * WINDOW;
    host.map(at, [0, 1]);
    // A fragment job, and its frame buffer's descriptor: polygon list, body, heap.
    host.put(at, &header(9, 0, &[0, 0, at as u32 + 0x400, 0]));
    let list = at as u32 + 0x800;
    let heap = [0x4000_0000, 0, 0x4100_0000, 0];
    host.put(at + 0x400 + 192 + 8, &[list, 0, list, 0]);
    host.put(at + 0x400 + 192 + 24, &heap);
    assert_eq!(host.run(1, chain(at)).0, Ending::Done);
    host.put(at + 0x400 + 192 + 8, &[0x5000, 0, list, 0]);
    assert_eq!(host.run(1, chain(at)).0, Ending::Failed(0x42));
}

fn geometry(from: u64, to: u64) -> Work {
    Work::Geometry {
        vertex: Some((from as u32, to as u32)),
        plbu: None,
        heap: (9, 4),
    }
}

#[test]
fn the_geometry_processor_reads_its_commands() {
    let board = board("gp=50000");
    let mut host = Host::of(&board, lima::API);
    let at = 5 * WINDOW;
    host.map(at, [0, 9]);
    let far = at + 9 * PAGE;
    // A shader, and uniforms on another page.
    host.put(at, &[at as u32 + 256, 0x4001_0000, far as u32, 0x3002_0000]);
    assert_eq!(host.run(0, geometry(at, at + 16)), (Ending::Done, 50_000));
    let (bus, hang) = (1 << 11, 1 << 6);
    assert_eq!(
        host.run(0, geometry(at, at + PAGE + 8)).0,
        Ending::Failed(bus)
    );
    assert_eq!(host.run(0, geometry(0x77, 0x80)).0, Ending::Failed(bus));
    host.put(at, &[at as u32, 0xf000_0000]);
    assert_eq!(
        host.run(0, geometry(at, at + 8)).0,
        Ending::Failed(hang),
        "it loops"
    );
    let command = 1 << 13;
    assert_eq!(
        host.run(0, chain(at)).0,
        Ending::Failed(command),
        "panfrost's"
    );
}

/// The registers of a frame: polygon list, render state, stack and its size.
fn pixels(processor: u8, list: u64, state: u64, stack: (u64, u32)) -> Work {
    let mut frame = vec![0; 23];
    (frame[0], frame[1]) = (list as u32, state as u32);
    (frame[12], frame[13]) = (stack.0 as u32, stack.1 << 16);
    Work::Pixels {
        processor,
        frame,
        write_back: vec![0; 36],
    }
}

#[test]
fn pixel_processors_run_side_by_side() {
    let board = board("pp=300000,400000;pp2=500000");
    let mut host = Host::of(&board, lima::API);
    let at = 5 * WINDOW;
    host.map(at, [0, 1, 2]);
    let (list, state, shader) = (at, at + PAGE, at + 0x100);
    host.put(list, &[0, 0xbc00_0000]);
    host.put(shader, &[4]);
    host.put(state + 36, &[shader as u32]);
    host.send();
    let events = [0, 1, 2, 3].map(|n| host.start(1, pixels(n, list, state, (0, 0))));
    let ended = host.fetch();
    let of = |event| ended.iter().find(|it| it.event == event).unwrap();
    let told = events.map(|event| (of(event).ending, of(event).duration_ns));
    let expected = [300_000, 300_000, 500_000, 300_000].map(|ns| (Ending::Done, ns));
    assert_eq!(told, expected);
    let (bus, command) = (1 << 4, 1 << 9);
    let stack = (at + 2 * PAGE, 4);
    assert_eq!(
        host.run(1, pixels(0, list, state, stack)),
        (Ending::Done, 400_000)
    );
    let stack = (at + 3 * PAGE, 4);
    let failed = Ending::Failed;
    assert_eq!(host.run(1, pixels(0, list, state, stack)).0, failed(bus));
    assert_eq!(host.run(1, pixels(0, 0x8000, state, (0, 0))).0, failed(bus));
    let few = Work::Pixels {
        processor: 0,
        frame: vec![0; 3],
        write_back: Vec::new(),
    };
    assert_eq!(host.run(1, few).0, failed(command));
}

#[test]
fn a_processor_goes_on_after_a_job_that_never_ends() {
    let board = board("slot1=never,60000");
    let mut host = Host::of(&board, panfrost::API);
    let at = 9 * WINDOW;
    host.map(at, [0]);
    host.put(at, &header(1, 0, &[]));
    let late = Ending::Failed(-(nix::errno::Errno::ETIMEDOUT as i32));
    assert_eq!(host.run(0, chain(at)).0, late);
    assert_eq!(
        host.run(0, chain(at)),
        (Ending::Done, 60_000),
        "it was reset"
    );
}

#[test]
fn a_sample_that_is_no_such_gpu_says_so() {
    let board = board("");
    let mut host = Host::of(&board, sample_gpu::API);
    let job = Job {
        space: 0,
        processor: 0,
        work: chain(0),
    };
    let args = postcard::to_stdvec(&job).unwrap();
    let refused = host.call(JOB, &args, 1, Vec::new());
    assert_eq!(refused.status, CallStatus::Refused);
    let said = String::from_utf8_lossy(&refused.result).into_owned();
    assert!(said.contains("places buffers itself"), "{said}");
}
