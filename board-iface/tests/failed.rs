//! Events that failed: what waits for one fails, and the driver's ways of
//! waiting for one for ever hold up no session.

mod common;

use common::agent::{Agent, on_a_device};
use common::program::{OUT_OF_ORDER, Program, SUCCESS, reply};
use common::{Client, Done};
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::ending::Ending;
use gil_wire::generated::opencl as wire;
use serde::Serialize;

const TO_HOST: u64 = 1;

/// An agent, unless there is no device here.
fn agent() -> Option<Agent> {
    on_a_device(Agent::start(&[]))
}

/// Whether the operation of a call ended with it, and failed.
fn failed(done: &Done) -> bool {
    matches!(&done.reports[..], [(report, _)] if report.ending.is_failure())
}

/// How an operation ends whose call has no answer.
fn posted(program: &mut Program, op: Op, args: &impl Serialize, event: Handle) -> Ending {
    let args = postcard::to_stdvec(args).unwrap();
    let client: &mut Client = &mut program.client;
    client.start(op, false, &args, &[], &[]);
    client.ended(event.0).0.ending
}

fn migrate(program: &mut Program, queue: Handle, objects: Vec<Handle>) -> Done {
    let args = wire::ClEnqueueMigrateMemObjectsArgs {
        command_queue: queue,
        num_mem_objects: objects.len() as u32,
        mem_objects: Some(objects),
        flags: TO_HOST,
        event_wait_list: Vec::new(),
        event: program.event(),
    };
    let done = program.raw(wire::CL_ENQUEUE_MIGRATE_MEM_OBJECTS, &args, &[], &[]);
    let decoded: wire::ClEnqueueMigrateMemObjectsReply = reply(&done);
    assert_eq!(decoded.result, SUCCESS);
    done
}

#[test]
fn what_waits_for_an_event_that_failed_before_fails() {
    let Some(agent) = agent() else { return };
    let mut program = Program::start(&agent.address);
    let buffer = program.buffer(16);
    let gate = program.user_event();
    program.set(gate, -5);
    for properties in [0, OUT_OF_ORDER] {
        let queue = program.queue(properties);
        let first = program.write(queue, buffer, &[1; 16], &[gate]);
        assert_eq!(first.result, SUCCESS);
        assert!(failed(&first.done), "{:?}", first.done);
        let next = program.read(queue, buffer, 16, &[gate, first.event]);
        assert!(failed(&next.done), "{:?}", next.done);
        // The queue goes on.
        program.write(queue, buffer, &[2; 16], &[]).ended();
        let read = program.read(queue, buffer, 16, &[]);
        read.ended();
        assert_eq!(read.done.out, [[2; 16]]);
    }
}

#[test]
fn markers_and_barriers_behind_an_event_that_failed_fail_and_hold_up_nothing() {
    let Some(agent) = agent() else { return };
    let mut program = Program::start(&agent.address);
    let buffer = program.buffer(16);
    let queue = program.queue(OUT_OF_ORDER);
    let gate = program.user_event();
    program.set(gate, -5);
    let marker = wire::ClEnqueueMarkerWithWaitListArgs {
        command_queue: queue,
        event_wait_list: vec![gate],
        event: program.event(),
    };
    let marker = program.raw(wire::CL_ENQUEUE_MARKER_WITH_WAIT_LIST, &marker, &[], &[]);
    assert!(failed(&marker), "{marker:?}");
    let event = program.event();
    let barrier = wire::ClEnqueueBarrierWithWaitListArgs {
        command_queue: queue,
        event_wait_list: vec![gate],
        event,
    };
    let op = wire::CL_ENQUEUE_BARRIER_WITH_WAIT_LIST;
    assert!(posted(&mut program, op, &barrier, event.number).is_failure());
    program.write(queue, buffer, &[3; 16], &[]).ended();
}

#[test]
fn one_that_waits_for_a_failed_event_and_for_one_that_is_not_set_ends() {
    let Some(agent) = agent() else { return };
    let mut program = Program::start(&agent.address);
    let (queue, buffer) = (program.queue(0), program.buffer(16));
    let (gate, other) = (program.user_event(), program.user_event());
    program.set(gate, -5);
    program
        .write(queue, buffer, &[1; 16], &[gate, other])
        .blocked();
    let set = program.set(other, 0);
    let [_, (write, _)] = &set.reports[..] else {
        panic!("{set:?}");
    };
    assert!(write.ending.is_failure(), "{write:?}");
}

#[test]
fn a_migration_waits_for_no_other_command_on_its_object() {
    let Some(agent) = agent() else { return };
    let mut program = Program::start(&agent.address);
    let (queue, other) = (program.queue(0), program.queue(0));
    let (one, two) = (program.buffer(16), program.buffer(16));
    let gate = program.user_event();
    program.write(queue, one, &[1; 16], &[gate]).blocked();
    program.write(queue, two, &[1; 16], &[gate]).blocked();
    let ahead = migrate(&mut program, other, vec![one, two]);
    assert_eq!(ahead.reports[0].0.ending, Ending::Done);
    assert_eq!(program.set(gate, -5).reports.len(), 3);
    let behind = migrate(&mut program, queue, vec![two]);
    assert_eq!(behind.reports[0].0.ending, Ending::Done);
}
