//! The render node of this machine, where its driver is virtio_gpu: the kernel's own calls,
//! with a renderer behind them. Skipped elsewhere.

mod common;

use common::Client;
use common::agent::Agent;
use common::ioctls::{Data, PAGE, Program};
use gil_board::board::{Call, Ended, Outcome, Output, Session};
use gil_board::drivers::node::Node;
use gil_board::drivers::render::RenderNode;
use gil_board::drivers::{DriversBoard, LIMIT};
use gil_board::region::{Budget, Region};
use gil_wire::api::Described;
use gil_wire::driver::{CHANGED, FREE, Memory};
use gil_wire::ending::Ending;
use gil_wire::generated::virtio_gpu::*;
use gil_wire::message::{CallStatus, Direction};
use std::path::Path;

const NODE: &str = "/dev/dri/renderD128";
/// What it is, where tests are passed over for want of it.
const NEEDED: &str = "virtio_gpu";
/// `VIRTGPU_PARAM_3D_FEATURES`.
const HAS_RENDERER: u32 = 1;
/// `VIRGL_CCMD_NOP`, and nothing with it.
const NOTHING: &[u8] = &[0; 4];

fn node() -> Option<DriversBoard> {
    let node = RenderNode::at(Path::new(NODE)).ok();
    let node = node.filter(|node| node.version().name == "virtio_gpu");
    let Some(node) = node else {
        gil_need::skip(NEEDED, "a machine in QEMU with virtio-gpu-gl has one");
        return None;
    };
    Some(DriversBoard::of(vec![Box::new(node)], LIMIT).unwrap())
}

#[test]
fn the_kernels_driver_executes_what_a_guest_calls() {
    let Some(board) = node() else { return };
    let budget = Budget::new(1 << 20);
    works(Program::of(&board, &budget));
}

#[test]
fn so_it_does_in_a_confined_process() {
    if node().is_none() {
        return;
    }
    let agent = Agent::start(&[]).unwrap();
    assert!(agent.says("are confined").contains("virtio_gpu driver"));
    let budget = Budget::new(1 << 20);
    works(Program {
        session: Box::new(Agents(Client::open(&agent.address))),
        budget: &budget,
        finish: false,
    });
}

/// A session of an agent's.
struct Agents(Client);

impl Session for Agents {
    fn apis(&self) -> Vec<Described> {
        Vec::new()
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        let Self(client) = self;
        let (head, budget) = (call.head, call.budget);
        (client.finish, client.event) = (head.finish, head.event);
        let ins = call.regions.iter().filter(|region| region.dir().is_in());
        let ins: Vec<&[u8]> = ins.map(Region::bytes).collect();
        let mut outcome = Outcome::refused("");
        outcome.status = CallStatus::Ran;
        if !head.answer {
            client.start(head.op, false, head.args, &head.regions, &ins);
            return outcome;
        }
        let done = client.call(head.op, head.args, &head.regions, &ins);
        let out = |bytes: Vec<u8>| match bytes.is_empty() {
            true => Output::None,
            false => Output::whole(Region::holding(Direction::Out, bytes, budget)),
        };
        outcome.out = done.out.into_iter().map(out).collect();
        (outcome.status, outcome.result) = (done.status, done.result);
        outcome
    }

    fn finish(&mut self, event: u64, _: &Budget) -> Option<Ended> {
        let (report, ..) = self.0.ended(event);
        Some(Ended {
            duration_ns: report.duration_ns,
            ..Ended::bare(event, report.ending)
        })
    }
}

/// Buffers, transfers and jobs.
fn works(mut program: Program<'_>) {
    let opened = program.open(1);
    assert_eq!((opened.result, opened.version[0]), (0, 0));
    let room = [Memory::Room(4)];
    let has = program.ioctl(VIRTGPU_GETPARAM, 1, &[HAS_RENDERER, 0, 0, 0], &room);
    assert_eq!(
        (has.0, &has.2[0][..]),
        (0, &[1, 0, 0, 0][..]),
        "no renderer"
    );

    // A buffer of bytes.
    let argument = [
        0,
        64,
        16,
        PAGE as u32,
        1,
        1,
        1,
        0,
        0,
        0,
        30,
        0,
        PAGE as u32,
        0,
    ];
    let (result, made, _) = program.ioctl(VIRTGPU_RESOURCE_CREATE, 1, &argument, &[]);
    assert_eq!((result, made[10]), (0, 30));
    assert_ne!(made[11], 0, "a resource");
    assert_eq!(program.wait(1, 30), (0, None));

    // To the renderer, and back over what the guest has by then.
    let pattern: Vec<u8> = (0..PAGE).map(|n| (n % 251) as u8).collect();
    let all = [30, 0, 0, 0, PAGE as u32, 1, 1, 0, 0, 0, 0];
    program.own(CHANGED, 30, &[Data::In(&pattern)]);
    let sent = program.ioctl(VIRTGPU_TRANSFER_TO_HOST, 1, &all, &[]);
    assert_eq!(sent.0, 0);
    assert_eq!(program.wait(1, 30), (0, None));
    program.own(CHANGED, 30, &[Data::In(&vec![0; PAGE])]);
    let back = program.ioctl(VIRTGPU_TRANSFER_FROM_HOST, 1, &all, &[]);
    assert_eq!(back.0, 0);
    let (result, news) = program.wait(1, 30);
    assert_eq!(result, 0);
    assert!(news.expect("other bytes") == pattern);

    // Jobs, of two files with one buffer.
    assert_eq!(program.open(2).result, 0);
    for (file, event) in [(1, 100), (2, 200), (1, 101), (2, 201)] {
        let job = program.job(file, event, NOTHING, &[30]);
        assert_eq!(job.status, CallStatus::Ran);
        assert!(job.ended.is_empty(), "{job:?}");
    }
    for event in [100, 101, 200, 201] {
        let ended = program.finish(event).unwrap();
        assert_eq!(ended.ending, Ending::Done);
        println!("job {event}: {} ns", ended.duration_ns);
        assert!(ended.duration_ns < 10_000_000_000);
    }
    assert_eq!(program.wait(2, 30), (0, None));
    // One file's end is not the buffer's.
    assert_eq!(program.close(1).status, CallStatus::Ran);
    assert_eq!(program.close(2).status, CallStatus::Ran);
    assert_eq!(program.open(3).result, 0);
    program.job(3, 300, NOTHING, &[30]);
    assert_eq!(program.finish(300).unwrap().ending, Ending::Done);
    assert_eq!(program.wait(3, 30), (0, None));
    assert_eq!(program.own(FREE, 30, &[]).status, CallStatus::Ran);
}
