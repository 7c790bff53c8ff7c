//! A session of the back end of kernel drivers, as a guest's driver uses it.

use gil_board::board::{Board, Call, Ended, Guest, Outcome, Output, Session};
use gil_board::region::{Budget, Region};
use gil_wire::Op;
use gil_wire::differences;
use gil_wire::driver::{Answer, CLOSE, Closed, FETCH, Fetch, Fetched, Ioctl, Memory, OPEN, Opened};
use gil_wire::generated::virtio_gpu::*;
use gil_wire::message::{self, CallStatus, Direction, RegionDesc};

/// Bytes of every buffer here.
pub const PAGE: usize = 4096;

/// A session, as a guest's driver uses it.
pub struct Program<'b> {
    pub session: Box<dyn Session + 'b>,
    pub budget: &'b Budget,
    pub finish: bool,
}

/// A region with bytes, or for so many.
pub enum Data<'a> {
    In(&'a [u8]),
    Out(usize),
}

/// What a fetch brought.
#[derive(Debug, PartialEq, Eq)]
pub struct News {
    /// Of each buffer's wait.
    pub results: Vec<i32>,
    /// The events that were told with it.
    pub ended: Vec<u64>,
    /// What is new of each buffer.
    pub news: Vec<Option<Vec<u8>>>,
    /// Of the driver's waits, and of reading and comparing.
    pub cpu_ns: u64,
    pub compare_ns: u64,
}

impl<'b> Program<'b> {
    pub fn of(board: &'b dyn Board, budget: &'b Budget) -> Self {
        let guest = Guest {
            process: 1,
            pointer_bits: 64,
            finish: Default::default(),
        };
        Self {
            session: board.open(guest, budget).unwrap(),
            budget,
            finish: false,
        }
    }

    pub fn call(&mut self, op: Op, args: &[u8], event: Option<u64>, data: &[Data<'_>]) -> Outcome {
        self.call_as(op, args, event, data, true)
    }

    pub fn call_as(
        &mut self,
        op: Op,
        args: &[u8],
        event: Option<u64>,
        data: &[Data<'_>],
        answer: bool,
    ) -> Outcome {
        let desc = |data: &Data<'_>| match data {
            Data::In(bytes) => RegionDesc {
                len: bytes.len() as u64,
                dir: Direction::In,
            },
            Data::Out(len) => RegionDesc {
                len: *len as u64,
                dir: Direction::Out,
            },
        };
        let region = |data: &Data<'_>| match data {
            Data::In(bytes) => Region::holding(Direction::In, bytes.to_vec(), self.budget),
            Data::Out(len) => Region::to_write(*len, self.budget).unwrap(),
        };
        let head = message::Call {
            seq: 1,
            op,
            thread: 1,
            answer,
            finish: self.finish,
            event,
            args,
            regions: data.iter().map(desc).collect(),
        };
        let call = Call {
            head: &head,
            regions: data.iter().map(region).collect(),
            budget: self.budget,
        };
        self.session.call(call)
    }

    pub fn own(&mut self, entry: u16, number: u32, data: &[Data<'_>]) -> Outcome {
        self.call_as(
            Op::new(API, entry),
            &number.to_le_bytes(),
            None,
            data,
            false,
        )
    }

    pub fn close(&mut self, file: u32) -> Outcome {
        let args = Closed { file, ioctls: 3 }.encode();
        self.call_as(Op::new(API, CLOSE), &args, None, &[], false)
    }

    pub fn open(&mut self, file: u32) -> Opened {
        let outcome = self.call(Op::new(API, OPEN), &file.to_le_bytes(), None, &[]);
        Opened::parse(&outcome.result).unwrap()
    }

    /// An ioctl: its answer's result, argument and memory.
    pub fn ioctl(
        &mut self,
        op: Op,
        file: u32,
        argument: &[u32],
        memory: &[Memory<'_>],
    ) -> (i32, Vec<u32>, Vec<Vec<u8>>) {
        let outcome = self.call(op, &args(file, argument, memory), None, &[]);
        answer(&outcome, memory)
    }

    pub fn create(&mut self, file: u32, number: u32) -> (i32, Vec<u32>) {
        let argument = [1, 2, 3, 4, 1, 1, 1, 0, 0, 0, number, 0, 0, 16];
        let (result, argument, _) = self.ioctl(VIRTGPU_RESOURCE_CREATE, file, &argument, &[]);
        (result, argument)
    }

    pub fn job(&mut self, file: u32, event: u64, command: &[u8], buffers: &[u32]) -> Outcome {
        let argument = [
            0,
            command.len() as u32,
            9,
            9,
            9,
            9,
            buffers.len() as u32,
            0,
            0,
            0,
        ];
        let list: Vec<u8> = buffers.iter().flat_map(|it| it.to_le_bytes()).collect();
        let memory = [Memory::Region(command.len() as u32), Memory::Bytes(&list)];
        let args = args(file, &argument, &memory);
        let data = [Data::In(command)];
        self.call_as(VIRTGPU_EXECBUFFER, &args, Some(event), &data, self.finish)
    }

    /// Waits for a buffer: what it has now, if that is news.
    pub fn wait(&mut self, file: u32, buffer: u32) -> (i32, Option<Vec<u8>>) {
        let fetched = self.fetch(1 << 40, file, &[buffer]);
        (fetched.results[0], fetched.news[0].clone())
    }

    /// Waits for the first buffer by a marker that signals an event, and fetches all.
    pub fn fetch(&mut self, event: u64, file: u32, buffers: &[u32]) -> News {
        let buffers = buffers.to_vec();
        let data: Vec<_> = buffers.iter().map(|_| Data::Out(PAGE)).collect();
        let args = Fetch { file, buffers }.encode();
        let outcome = self.call(Op::new(API, FETCH), &args, Some(event), &data);
        assert_eq!(outcome.status, CallStatus::Ran, "{}", said(&outcome));
        let fetched = Fetched::parse(&outcome.result).unwrap();
        News {
            results: fetched.results,
            cpu_ns: outcome.cpu_ns,
            compare_ns: fetched.compare_ns,
            ended: outcome.ended.iter().map(|it| it.event).collect(),
            news: outcome.out.iter().map(news).collect(),
        }
    }

    pub fn finish(&mut self, event: u64) -> Option<Ended> {
        self.session.finish(event, self.budget)
    }
}

pub fn args(file: u32, argument: &[u32], memory: &[Memory<'_>]) -> Vec<u8> {
    let argument: Vec<u8> = argument.iter().flat_map(|it| it.to_le_bytes()).collect();
    let call = Ioctl {
        file,
        argument: &argument,
        memory: memory.to_vec(),
    };
    call.encode()
}

pub fn answer(outcome: &Outcome, memory: &[Memory<'_>]) -> (i32, Vec<u32>, Vec<Vec<u8>>) {
    assert_eq!(outcome.status, CallStatus::Ran, "{}", said(outcome));
    let outs = memory.iter().filter(|it| matches!(it, Memory::Room(_)));
    let answer = Answer::parse(&outcome.result, outs.count()).unwrap();
    let (words, _) = answer.argument.as_chunks::<4>();
    (
        answer.result,
        words.iter().map(|it| u32::from_le_bytes(*it)).collect(),
        answer.written.iter().map(|it| it.to_vec()).collect(),
    )
}

/// What differs in a page, with zeros elsewhere; `None` if nothing does.
fn news(out: &Output) -> Option<Vec<u8>> {
    let Output::Bytes { .. } = out else {
        return None;
    };
    let mut page = vec![0; PAGE];
    for (offset, bytes) in differences::decode(out.bytes(), PAGE).unwrap() {
        page[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    Some(page)
}

pub fn said(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.result).into_owned()
}
