//! Calls of a kernel driver, on a node that stands in for the kernel's: it checks what it
//! is given, and does something simple with it.

mod common;

use common::ioctls::{Data, News, PAGE, Program, answer, args, said};
use gil_board::board::Board;
use gil_board::drivers::jobs::executed_ns;
use gil_board::drivers::node::{End, Fence, Mapped, Node, Open, Performed, Raw, Version};
use gil_board::drivers::{DriversBoard, DriversError};
use gil_board::region::Budget;
use gil_wire::Op;
use gil_wire::driver::{CHANGED, CLOSE, FETCH, FREE, Fetch, Memory, OPEN, Opened};
use gil_wire::ending::Ending;
use gil_wire::generated::virtio_gpu::*;
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::CallStatus;
use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use proptest::prelude::*;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a session waits for a job.
const LIMIT: Duration = Duration::from_millis(50);
/// The command of a job that never ends.
const FOREVER: &[u8] = b"forever!";
/// That of one which fails.
const FAILS: &[u8] = b"it fails";

/// A buffer of the stand-in's: a file, which is its memory.
type Buffer = Arc<File>;

/// All that its files share.
#[derive(Debug, Default)]
struct Kernel {
    /// Buffers by where they are mapped, and by their files' numbers.
    places: HashMap<u64, Buffer>,
    shared: HashMap<u64, Buffer>,
    /// What it was asked, in order.
    calls: Vec<String>,
    /// Buffers of jobs that never end, by their files' numbers.
    busy: Vec<u64>,
    /// Whether programs read its memory slowly.
    is_slow: bool,
    open: usize,
}

#[derive(Debug)]
struct StandIn {
    version: Version,
    kernel: Arc<Mutex<Kernel>>,
}

/// An open file of it.
struct OpenFile {
    kernel: Arc<Mutex<Kernel>>,
    buffers: Mutex<HashMap<u32, Buffer>>,
    /// Handles of one file are not those of another.
    first: u32,
}

impl Node for StandIn {
    fn path(&self) -> &Path {
        Path::new("/dev/dri/renderD128")
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn identity(&self) -> DeviceIdentity {
        DeviceIdentity {
            place: "stand-in".into(),
            ..DeviceIdentity::default()
        }
    }

    fn open(&self) -> Result<Box<dyn Open>, Errno> {
        static FILES: AtomicU32 = AtomicU32::new(1);
        self.kernel.lock().unwrap().open += 1;
        Ok(Box::new(OpenFile {
            kernel: self.kernel.clone(),
            buffers: Mutex::default(),
            first: 1000 * FILES.fetch_add(1, Ordering::Relaxed),
        }))
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.kernel.lock().unwrap().open -= 1;
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

impl OpenFile {
    fn buffer(&self, handle: u32) -> Result<Buffer, Errno> {
        let found = self.buffers.lock().unwrap().get(&handle).cloned();
        found.ok_or(Errno::ENOENT)
    }

    fn add(&self, buffer: Buffer) -> u32 {
        let mut all = self.buffers.lock().unwrap();
        let handle = self.first + all.len() as u32;
        all.insert(handle, buffer);
        handle
    }

    /// Every byte of each buffer gets one more.
    fn execute(&self, memory: &[&mut [u8]]) -> Result<(), Errno> {
        for handle in memory[1].chunks_exact(4) {
            let buffer = self.buffer(word(handle, 0))?;
            let mut bytes = vec![0; PAGE];
            buffer.read_exact_at(&mut bytes, 0).unwrap();
            bytes.iter_mut().for_each(|byte| *byte += 1);
            buffer.write_all_at(&bytes, 0).unwrap();
            if memory[0] == FOREVER {
                let number = buffer.metadata().unwrap().ino();
                self.kernel.lock().unwrap().busy.push(number);
            }
        }
        Ok(())
    }
}

impl Open for OpenFile {
    fn ioctl(&self, call: &mut Raw<'_>) -> Result<Performed, Errno> {
        let wants_fence = call.wants_fence();
        let number = call.number();
        let (argument, mut memory) = call.parts_mut();
        let mut fence = None;
        let mut asked = format!("{number}");
        match number {
            // MAP: offset, handle
            1 => {
                let buffer = self.buffer(word(argument, 8))?;
                let place = buffer.metadata().unwrap().ino() * 0x10000;
                self.kernel.lock().unwrap().places.insert(place, buffer);
                argument[..8].copy_from_slice(&place.to_le_bytes());
            }
            // EXECBUFFER: flags, size, command, handles, count, fence
            2 => {
                assert!(wants_fence);
                assert_eq!(word(argument, 0), 2, "a fence is asked for, and none given");
                assert_eq!(word(argument, 4) as usize, memory[0].len());
                if memory[0] == FAILS {
                    return Err(Errno::EINVAL);
                }
                self.execute(&memory)?;
                let ends = memory[0] != FOREVER;
                let ended = Job(ends.then(|| gil_board::drivers::jobs::now_ns() + 1000));
                fence = Some(Box::new(ended) as Box<dyn Fence>);
                asked += &format!(" {} bytes", memory[0].len());
            }
            // GETPARAM: param, value
            3 => {
                let value = &mut memory[0];
                if value.is_empty() {
                    return Err(Errno::EFAULT);
                }
                put(value, 0, 77 + word(argument, 0));
            }
            // RESOURCE_CREATE: …, flags, handle, resource, size, stride
            4 => {
                let memory = memfd_create(c"buffer", MFdFlags::empty()).unwrap();
                let buffer = File::from(memory);
                buffer.set_len(PAGE as u64).unwrap();
                put(argument, 40, self.add(Arc::new(buffer)));
                put(argument, 44, 55);
            }
            // TRANSFER_TO_HOST: handle
            7 => drop(self.buffer(word(argument, 0))?),
            // WAIT: handle, flags
            8 => {
                let number = self.buffer(word(argument, 0))?.metadata().unwrap().ino();
                let is_poll = word(argument, 4) == 1;
                asked += if is_poll { " polls" } else { "" };
                if is_poll && self.kernel.lock().unwrap().busy.contains(&number) {
                    return Err(Errno::EBUSY);
                }
            }
            _ => return Err(Errno::EINVAL),
        }
        self.kernel.lock().unwrap().calls.push(asked);
        Ok(Performed { result: 0, fence })
    }

    fn map(&self, offset: u64, len: usize) -> Result<Box<dyn Mapped>, Errno> {
        assert_eq!(len, PAGE);
        let kernel = self.kernel.lock().unwrap();
        let buffer = kernel.places.get(&offset).cloned().ok_or(Errno::EINVAL)?;
        Ok(Box::new(Mapping(buffer, kernel.is_slow)))
    }

    fn export(&self, handle: u32) -> Result<OwnedFd, Errno> {
        let buffer = self.buffer(handle)?;
        let number = buffer.metadata().unwrap().ino();
        let fd = buffer.as_fd().try_clone_to_owned().unwrap();
        self.kernel.lock().unwrap().shared.insert(number, buffer);
        Ok(fd)
    }

    fn import(&self, buffer: BorrowedFd<'_>) -> Result<u32, Errno> {
        let file = File::from(buffer.try_clone_to_owned().unwrap());
        let number = file.metadata().unwrap().ino();
        let shared = self.kernel.lock().unwrap().shared.get(&number).cloned();
        Ok(self.add(shared.ok_or(Errno::EINVAL)?))
    }

    fn close(&self, handle: u32) -> Result<(), Errno> {
        let mut all = self.buffers.lock().unwrap();
        all.remove(&handle).map(drop).ok_or(Errno::EINVAL)
    }
}

/// A buffer, and whether it is read slowly.
struct Mapping(Buffer, bool);

/// Processor time that a slow buffer takes.
const SLOW: Duration = Duration::from_millis(20);

impl Mapped for Mapping {
    fn read(&self, bytes: &mut [u8]) {
        let end = executed_ns() + SLOW.as_nanos() as u64;
        while self.1 && executed_ns() < end {}
        self.0.read_exact_at(bytes, 0).unwrap();
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.0.write_all_at(bytes, at as u64).unwrap();
    }
}

/// Ends at a time, or never.
#[derive(Debug)]
struct Job(Option<u64>);

impl Fence for Job {
    fn wait(&self, within: Duration) -> Result<Option<End>, Errno> {
        if self.0.is_none() {
            std::thread::sleep(within);
        }
        Ok(self.0.map(|ns| End { ns, status: 0 }))
    }
}

struct Stage {
    kernel: Arc<Mutex<Kernel>>,
    board: DriversBoard,
    budget: Budget,
}

fn node(numbers: [u32; 3], name: &str) -> (Arc<Mutex<Kernel>>, Box<dyn Node>) {
    let kernel = Arc::default();
    let version = Version {
        name: name.into(),
        numbers,
        date: "today".into(),
        description: "virtio GPU".into(),
    };
    let node = StandIn {
        version,
        kernel: Arc::clone(&kernel),
    };
    (kernel, Box::new(node))
}

fn stage() -> Stage {
    stage_with(1 << 20)
}

fn stage_with(memory: u64) -> Stage {
    let (kernel, node) = node([0, 1, 7], "virtio_gpu");
    Stage {
        kernel,
        board: DriversBoard::of(vec![node], LIMIT).unwrap(),
        budget: Budget::new(memory),
    }
}

impl Stage {
    fn session(&self) -> Program<'_> {
        Program::of(&self.board, &self.budget)
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.kernel.lock().unwrap().calls)
    }

    fn buffers(&self) -> usize {
        let kernel = self.kernel.lock().unwrap();
        kernel.shared.len()
    }
}

fn negative(error: Errno) -> i32 {
    -(error as i32)
}

#[test]
fn a_device_says_what_it_is_and_a_program_opens_it() {
    let stage = stage();
    let [device] = &stage.board.devices()[..] else {
        panic!("{:?}", stage.board.devices())
    };
    assert_eq!(device.api, "virtio_gpu driver");
    assert_eq!(device.name, "/dev/dri/renderD128");
    assert_eq!(device.version, "virtio_gpu 0.1.7, today");
    let mut program = stage.session();
    let version = [0, 1, 7];
    let opened = Opened { result: 0, version };
    assert_eq!(program.open(1), opened);
    assert_eq!(program.session.apis()[0].number, API);
    let identity = program.session.identify(API, 1).unwrap();
    assert_eq!(identity.place, "stand-in");
    assert!(!program.session.survey().obstacles.is_empty());
    // A number that is in use, and none.
    for number in [1, 0] {
        let args = u32::to_le_bytes(number);
        let outcome = program.call(Op::new(API, OPEN), &args, None, &[]);
        assert_eq!(outcome.status, CallStatus::Refused);
    }
    assert_eq!(stage.kernel.lock().unwrap().open, 1);
    assert_eq!(program.close(1).status, CallStatus::Ran);
    assert_eq!(stage.kernel.lock().unwrap().open, 0);
    program.open(2);
    drop(program);
    assert_eq!(stage.kernel.lock().unwrap().open, 0, "what was left open");
}

#[test]
fn a_driver_of_another_version_is_refused_in_one_sentence() {
    let refused = |numbers, name| {
        let error = DriversBoard::of(vec![node(numbers, name).1], LIMIT).unwrap_err();
        error.to_string()
    };
    let sentence = refused([1, 0, 0], "virtio_gpu");
    assert!(
        sentence.contains("version 1.0.0, and gil describes version 0.1.0"),
        "{sentence}"
    );
    assert!(refused([1, 1, 0], "voodoo").contains("no table describes the driver voodoo"));
    assert!(refused([2, 0, 0], "panfrost").contains("version 1.2.0"));
    // Its jobs tell their ends by a sync object.
    assert!(DriversBoard::of(vec![node([1, 0, 0], "lima").1], LIMIT).is_ok());
    let none = DriversBoard::of(Vec::new(), LIMIT).unwrap_err();
    assert!(matches!(none, DriversError::NoNode));
    assert!(none.to_string().contains("lima, panfrost, virtio_gpu"));
}

#[test]
fn calls_of_a_driver_that_no_node_has_are_not_served() {
    let stage = stage();
    let op = Op::new(gil_wire::generated::lima::API, OPEN);
    let outcome = stage.session().call(op, &[1, 0, 0, 0], None, &[]);
    assert_eq!(outcome.status, CallStatus::NotServed);
    assert!(said(&outcome).contains("lima driver"), "{}", said(&outcome));
}

#[test]
fn a_query_brings_what_the_driver_wrote() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    let argument = [5, 0, 0xbad, 0xbad];
    let room = [Memory::Room(4)];
    let (result, after, written) = program.ioctl(VIRTGPU_GETPARAM, 1, &argument, &room);
    assert_eq!(
        (result, &after[..]),
        (0, &argument[..]),
        "no address of the board's"
    );
    assert_eq!(written, [82_u32.to_le_bytes()]);
    // A program that points nowhere.
    let nowhere = [Memory::Room(0)];
    let (result, _, written) = program.ioctl(VIRTGPU_GETPARAM, 1, &argument, &nowhere);
    assert_eq!((result, written), (negative(Errno::EFAULT), vec![vec![]]));
    // A shorter argument ends in zeros, and comes back as short.
    let (result, after, _) = program.ioctl(VIRTGPU_GETPARAM, 1, &argument[..1], &room);
    assert_eq!((result, after), (0, vec![5]));
    let longer = [5, 0, 0, 0, 6, 7];
    let (result, after, _) = program.ioctl(VIRTGPU_GETPARAM, 1, &longer, &room);
    assert_eq!((result, &after[..]), (0, &longer[..]));
    let (result, ..) = program.ioctl(VIRTGPU_GETPARAM, 2, &argument, &room);
    assert_eq!(result, negative(Errno::EBADF));
}

#[test]
fn a_buffer_goes_to_the_board_is_worked_on_and_comes_back() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    let (result, made) = program.create(1, 30);
    assert_eq!(
        (result, made[10], made[11]),
        (0, 30, 55),
        "its own number, the board's resource"
    );
    // Nobody wrote to it: it is as it was made.
    assert_eq!(program.wait(1, 30), (0, None));

    let mut bytes = vec![0; PAGE];
    bytes[100] = 7;
    let sent = program.own(CHANGED, 30, &[Data::In(&bytes)]);
    assert_eq!(sent.status, CallStatus::Ran, "{}", said(&sent));
    let box_ = [30, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0];
    let (result, ..) = program.ioctl(VIRTGPU_TRANSFER_TO_HOST, 1, &box_, &[]);
    assert_eq!(result, 0);
    assert_eq!(program.wait(1, 30), (0, None), "it has what the guest has");

    let job = program.job(1, 900, b"command!", &[30]);
    assert_eq!(job.status, CallStatus::Ran, "{}", said(&job));
    let ended = program.finish(900).unwrap();
    assert_eq!(ended.ending, Ending::Done);
    assert!(
        (1000..1_000_000_000).contains(&ended.duration_ns),
        "{ended:?}"
    );
    assert!(program.finish(900).is_none());
    let (result, news) = program.wait(1, 30);
    let news = news.expect("a job changed it");
    assert_eq!((result, news[100], news[101]), (0, 8, 1));
    assert_eq!(program.wait(1, 30), (0, None), "the guest has it now");
    // The guest did not change it: no bytes.
    let sent = program.own(CHANGED, 30, &[Data::In(&[])]);
    assert_eq!(sent.status, CallStatus::Ran);
    assert_eq!(program.wait(1, 30), (0, None));
}

#[test]
fn what_a_job_wrote_beside_a_guests_change_stays() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    program.create(1, 30);
    program.job(1, 900, b"command!", &[30]);
    // The guest has not seen what the job wrote, and changes a byte elsewhere.
    let mut bytes = vec![0; PAGE];
    bytes[0] = 100;
    program.own(CHANGED, 30, &[Data::In(&bytes)]);
    let (_, news) = program.wait(1, 30);
    let news = news.unwrap();
    assert_eq!((news[0], news[200]), (0, 1), "the guest has its own");
}

#[test]
fn only_what_differs_travels() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    program.create(1, 30);
    let change = [100_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    let sent = program.own(CHANGED, 30, &[Data::In(&[&change[..], &[7]].concat())]);
    assert_eq!(sent.status, CallStatus::Ran, "{}", said(&sent));
    program.job(1, 900, b"command!", &[30]);
    let (_, news) = program.wait(1, 30);
    assert_eq!(news.unwrap()[100], 8);
    for wrong in [&change[..], &[&change[..], &[7], &change, &[7]].concat()] {
        let sent = program.own(CHANGED, 30, &[Data::In(wrong)]);
        assert_eq!(sent.status, CallStatus::Refused);
    }
}

#[test]
fn a_wait_tells_which_jobs_have_ended() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    program.create(1, 30);
    program.job(1, 900, b"command!", &[30]);
    program.job(1, 901, b"command!", &[30]);
    let told = |program: &mut Program<'_>, event, buffer| {
        let News { results, ended, .. } = program.fetch(event, 1, &[buffer]);
        (results, ended)
    };
    assert_eq!(told(&mut program, 902, 30), (vec![0], vec![900, 901, 902]));
    assert!(program.finish(900).is_none(), "it is told once");
    assert_eq!(told(&mut program, 903, 30), (vec![0], vec![903]));
    let missing = (vec![negative(Errno::ENOENT)], vec![904]);
    assert_eq!(told(&mut program, 904, 31), missing);
}

#[test]
fn one_call_brings_what_is_new_of_several_buffers() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    for number in 30..34 {
        program.create(1, number);
    }
    program.job(1, 900, b"command!", &[30, 31]);
    program.job(1, 901, FOREVER, &[33]);
    let found = program.fetch(902, 1, &[31, 30, 32, 33, 99]);
    let (busy, none) = (negative(Errno::EBUSY), negative(Errno::ENOENT));
    assert_eq!(found.results, [0, 0, 0, busy, none]);
    assert_eq!(found.ended, [900, 902]);
    let news: Vec<_> = found.news.iter().map(Option::is_some).collect();
    assert_eq!(news, [true, true, false, false, false]);
    let waits = stage.kernel.lock().unwrap().calls.clone();
    let waits: Vec<_> = waits.into_iter().filter(|it| it.starts_with('8')).collect();
    assert_eq!(waits, ["8", "8 polls", "8 polls"]);
    // Of a file that is not open, nothing comes.
    let found = program.fetch(903, 2, &[30, 31]);
    assert_eq!(found.results, [negative(Errno::EBADF); 2]);
}

/// What a program waits for in a driver is the call's time; that its guest gets the bytes is
/// gil's.
#[test]
fn a_fetch_takes_what_the_drivers_waits_do() {
    let stage = stage();
    stage.kernel.lock().unwrap().is_slow = true;
    let mut program = stage.session();
    program.open(1);
    program.create(1, 30);
    program.job(1, 900, b"command!", &[30]);
    let found = program.fetch(901, 1, &[30]);
    assert!(found.news[0].is_some());
    assert!(found.compare_ns >= SLOW.as_nanos() as u64, "{found:?}");
    assert!(found.cpu_ns < SLOW.as_nanos() as u64, "{found:?}");
}

#[test]
fn a_fetch_has_a_region_for_each_buffer() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    program.create(1, 30);
    program.job(1, 900, b"command!", &[30]);
    let wrong: [&[Data<'_>]; 4] = [
        &[],
        &[Data::Out(PAGE), Data::Out(PAGE)],
        &[Data::Out(PAGE - 1)],
        &[Data::In(&[0; PAGE])],
    ];
    let buffers = vec![30];
    let args = Fetch { file: 1, buffers }.encode();
    for data in wrong {
        let outcome = program.call(Op::new(API, FETCH), &args, Some(901), data);
        assert_eq!(outcome.status, CallStatus::Refused, "{}", said(&outcome));
    }
    for args in [
        &args[..7],
        &[1, 0, 0, 0, 0, 0, 0, 0],
        &[1, 0, 0, 0, 255, 255, 255, 255],
    ] {
        let outcome = program.call(Op::new(API, FETCH), args, Some(901), &[]);
        assert_eq!(outcome.status, CallStatus::Refused, "{}", said(&outcome));
    }
    // An ioctl has none beside its memory.
    let args = common::ioctls::args(1, &[30, 0], &[]);
    let outcome = program.call(VIRTGPU_WAIT, &args, None, &[Data::Out(PAGE)]);
    assert_eq!(outcome.status, CallStatus::Refused, "{}", said(&outcome));
    assert_eq!(program.wait(1, 30).1.unwrap()[0], 1, "it is still new");
}

#[test]
fn jobs_end_in_order_and_what_ends_behind_is_told_unasked() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    program.create(1, 30);
    for event in 1..=3 {
        program.job(1, event, b"command!", &[30]);
    }
    assert_eq!(program.finish(1).unwrap().event, 1);
    let behind: Vec<_> = std::iter::from_fn(|| program.session.ended_behind()).collect();
    let behind: Vec<_> = behind.iter().map(|it| it.event).collect();
    assert_eq!(behind, [2, 3]);
    assert!(program.finish(4).is_none());
    program.finish = true;
    let at_once = program.job(1, 5, b"command!", &[30]);
    assert_eq!(at_once.ended[0].event, 5);
}

#[test]
fn a_job_that_fails_or_does_not_end_is_told_by_its_event() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    let failed = program.job(1, 1, FAILS, &[]);
    let [ended] = &failed.ended[..] else {
        panic!("{failed:?}")
    };
    let wanted = Ending::Failed(negative(Errno::EINVAL));
    assert_eq!(
        (ended.event, ended.ending, ended.rejected),
        (1, wanted, true)
    );
    // A buffer that is not there.
    let failed = program.job(1, 2, b"command!", &[31]);
    let wanted = Ending::Failed(negative(Errno::ENOENT));
    assert_eq!(failed.ended[0].ending, wanted);
    program.job(1, 3, FOREVER, &[]);
    let ended = program.finish(3).unwrap();
    assert_eq!(ended.ending, Ending::Failed(negative(Errno::ETIMEDOUT)));
    assert!(!ended.rejected);
    // An event that is under way.
    program.job(1, 4, b"command!", &[]);
    let again = program.job(1, 4, b"command!", &[]);
    assert_eq!(again.status, CallStatus::Refused);
    // A fence of the guest's is none of the board's.
    let args = args(1, &[1, 0, 0, 0, 0, 0, 0, 3, 0, 0], &[Memory::Bytes(b""); 2]);
    let outcome = program.call(VIRTGPU_EXECBUFFER, &args, Some(5), &[]);
    assert_eq!(answer(&outcome, &[]).0, negative(Errno::EINVAL));
}

#[test]
fn two_files_share_a_buffer_and_one_outlives_the_other() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    program.open(2);
    program.create(1, 30);
    program.job(2, 900, b"command!", &[30]);
    assert_eq!(program.finish(900).unwrap().ending, Ending::Done);
    let (result, news) = program.wait(1, 30);
    assert_eq!((result, news.unwrap()[0]), (0, 1));
    program.close(1);
    program.job(2, 901, b"command!", &[30]);
    assert_eq!(program.wait(2, 30).1.unwrap()[0], 2);
    // Nobody has it open, and it is there for who opens the node next.
    program.close(2);
    program.open(3);
    program.job(3, 902, b"command!", &[30]);
    assert_eq!(program.wait(3, 30).1.unwrap()[0], 3);
    assert!(stage.buffers() > 0);
}

#[test]
fn numbers_are_checked() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    program.create(1, 30);
    assert_eq!(program.own(FREE, 30, &[]).status, CallStatus::Ran);
    let gone = program.own(FREE, 30, &[]);
    assert_eq!(gone.status, CallStatus::Refused);
    assert!(
        said(&gone).contains("there is no buffer 30"),
        "{}",
        said(&gone)
    );
    let sent = program.own(CHANGED, 30, &[Data::In(&[0; PAGE])]);
    assert_eq!(sent.status, CallStatus::Refused);
    let (result, ..) = program.ioctl(VIRTGPU_WAIT, 1, &[30, 0], &[]);
    assert_eq!(result, negative(Errno::ENOENT));
    assert_eq!(program.close(9).status, CallStatus::Refused);
    let unknown = program.call(Op::new(API, 16 + 0x5f), &args(1, &[], &[]), None, &[]);
    assert_eq!(unknown.status, CallStatus::Refused);
    // A post that the driver refuses has nobody to say it to but the log.
    let args = args(1, &[30, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0], &[]);
    let posted = program.call_as(VIRTGPU_TRANSFER_TO_HOST, &args, None, &[], false);
    assert_eq!(posted.status, CallStatus::Refused);
    assert_eq!(program.create(1, 30).0, 0, "the next call goes on");
}

#[test]
fn lengths_are_those_of_the_argument() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    program.create(1, 30);
    stage.calls();
    let job = |size, count, memory: &[Memory<'_>]| {
        args(1, &[0, size, 0, 0, 0, 0, count, 0, 0, 0], memory)
    };
    let list = 30_u32.to_le_bytes();
    let wrong: [(Vec<u8>, &[Data<'_>]); 8] = [
        (
            job(9, 0, &[Memory::Bytes(b"command!"), Memory::Bytes(b"")]),
            &[],
        ),
        (
            job(7, 0, &[Memory::Bytes(b"command!"), Memory::Bytes(b"")]),
            &[],
        ),
        (job(0, 2, &[Memory::Bytes(b""), Memory::Bytes(&list)]), &[]),
        (
            job(0, u32::MAX, &[Memory::Bytes(b""), Memory::Bytes(&list)]),
            &[],
        ),
        (job(8, 0, &[Memory::Region(8), Memory::Bytes(b"")]), &[]),
        (
            job(8, 0, &[Memory::Region(8), Memory::Bytes(b"")]),
            &[Data::In(b"short")],
        ),
        (
            job(8, 0, &[Memory::Region(8), Memory::Bytes(b"")]),
            &[Data::Out(8)],
        ),
        // A job brings nothing back.
        (
            job(0, 0, &[Memory::Bytes(b""), Memory::Bytes(b"")]),
            &[Data::Out(PAGE)],
        ),
    ];
    for (n, (args, data)) in wrong.iter().enumerate() {
        let outcome = program.call(VIRTGPU_EXECBUFFER, args, Some(n as u64), data);
        assert_eq!(outcome.status, CallStatus::Refused, "{n}");
    }
    assert!(stage.calls().is_empty(), "the driver saw none");
    for data in [&[][..], &[Data::In(&[1; 5])], &[Data::Out(PAGE)]] {
        let sent = program.own(CHANGED, 30, data);
        assert_eq!(sent.status, CallStatus::Refused);
    }
    for data in [Data::In(&[0; PAGE]), Data::Out(PAGE + 1)] {
        let outcome = program.call(VIRTGPU_WAIT, &args(1, &[30, 0], &[]), None, &[data]);
        assert_eq!(outcome.status, CallStatus::Refused);
    }
    let much = [Memory::Room(u32::MAX >> 1)];
    let args = args(1, &[0, 0, 0, 0], &much);
    let outcome = program.call(VIRTGPU_GETPARAM, &args, None, &[]);
    assert_eq!(outcome.status, CallStatus::Refused);
}

#[test]
fn a_call_that_is_cut_anywhere_is_refused() {
    let stage = stage();
    let mut program = stage.session();
    program.open(1);
    program.create(1, 30);
    stage.calls();
    let list = 30_u32.to_le_bytes();
    let memory = [Memory::Bytes(b"command!"), Memory::Bytes(&list)];
    let whole = args(1, &[0, 8, 0, 0, 0, 0, 1, 0, 0, 0], &memory);
    for cut in 0..whole.len() {
        let outcome = program.call(VIRTGPU_EXECBUFFER, &whole[..cut], Some(1), &[]);
        assert_eq!(outcome.status, CallStatus::Refused, "{cut}");
    }
    let longer = [&whole[..], &[0]].concat();
    let outcome = program.call(VIRTGPU_EXECBUFFER, &longer, Some(1), &[]);
    assert_eq!(outcome.status, CallStatus::Refused);
    for entry in [OPEN, CLOSE, FREE, CHANGED] {
        for args in [&[][..], &[1, 0, 0], &[1, 0, 0, 0, 0]] {
            let outcome = program.call(Op::new(API, entry), args, None, &[]);
            assert_eq!(outcome.status, CallStatus::Refused);
        }
    }
    assert!(stage.calls().is_empty());
    let outcome = program.call(VIRTGPU_EXECBUFFER, &whole, Some(1), &[]);
    assert_eq!(answer(&outcome, &[]).0, 0);
}

#[test]
fn a_sessions_buffers_are_bounded_by_its_memory() {
    let stage = stage_with(3 * PAGE as u64);
    let mut program = stage.session();
    program.open(1);
    program.create(1, 30);
    let big = [1, 2, 3, 4, 1, 1, 1, 0, 0, 0, 31, 0, 3 * PAGE as u32, 16];
    let (result, ..) = program.ioctl(VIRTGPU_RESOURCE_CREATE, 1, &big, &[]);
    assert_eq!(result, negative(Errno::ENOMEM));
    let huge = [1, 2, 3, 4, 1, 1, 1, 0, 0, 0, 31, 0, u32::MAX, 16];
    let (result, ..) = program.ioctl(VIRTGPU_RESOURCE_CREATE, 1, &huge, &[]);
    assert_eq!(result, negative(Errno::ENOMEM));
    // Freed, it counts no more.
    program.own(FREE, 30, &[]);
    drop(program);
    assert!(stage.budget.object(3 * PAGE as u64).is_ok());
    let mut program = stage.session();
    (1..=256).for_each(|file| assert_eq!(program.open(file).result, 0));
    assert_eq!(program.open(257).result, negative(Errno::EMFILE));
}

/// What a guest may call: an entry, the parts of its arguments, its regions.
type Odd = (u16, Vec<u32>, Vec<u8>, Vec<(bool, usize)>, bool);

fn odd() -> impl Strategy<Value = Odd> {
    let entry = prop_oneof![0..30_u16, Just(18), Just(24), any::<u16>()];
    let word = prop_oneof![0..40_u32, Just(1), Just(30), Just(1 << 31), any::<u32>()];
    let lens = prop_oneof![Just(PAGE), Just(0), 0..20_usize];
    (
        entry,
        prop::collection::vec(word, 0..24),
        prop::collection::vec(any::<u8>(), 0..12),
        prop::collection::vec((any::<bool>(), lens), 0..3),
        any::<bool>(),
    )
}

proptest! {
    #[test]
    fn whatever_a_guest_calls_the_session_goes_on(calls in prop::collection::vec(odd(), 1..20)) {
        let stage = stage();
        let mut program = stage.session();
        program.open(1);
        program.create(1, 30);
        for (n, (entry, words, tail, regions, answer)) in calls.iter().enumerate() {
            // Arguments of the length that the call says, and others.
            let mut args: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
            if words.len() > 2 && n % 2 == 0 {
                let len = (words.len() as u32 - 2) * 4;
                args[..4].copy_from_slice(&1_u32.to_le_bytes());
                args[4..8].copy_from_slice(&len.to_le_bytes());
            }
            args.extend_from_slice(tail);
            let bytes = vec![1; PAGE];
            let data: Vec<_> = regions
                .iter()
                .map(|(is_in, len)| match is_in {
                    true => Data::In(&bytes[..*len]),
                    false => Data::Out(*len),
                })
                .collect();
            let event = Some(n as u64);
            program.call_as(Op::new(API, *entry), &args, event, &data, *answer);
        }
        let number = program.open(1_000_000);
        prop_assert_eq!(number.result, 0);
    }
}
