//! Memory shared with an agent on the same machine.

mod common;

use common::agent::{Agent, on_a_device};
use common::program::{Program, bytes, ints};
use common::window::{client, memory, offer, sealed};
use common::{Client, Done};
use gil_files::container::{self, Compression};
use gil_files::recording::{self, FILE, Record, SessionClosed, SessionOpened};
use gil_transport::window::{MAPPED, NOT_MAPPED, WINDOW_LEN};
use gil_wire::Op;
use gil_wire::ending::Ending;
use gil_wire::message::{self, Call, CallStatus, Direction, RegionDesc, Request};
use nix::fcntl::SealFlag;
use std::io::Write;
use std::os::unix::fs::FileExt;

const OP: Op = Op::new(1, 1);

fn region(len: u64, dir: Direction) -> RegionDesc {
    RegionDesc { len, dir }
}

/// An agent whose recording holds one call: 8 bytes in, 4 out.
struct Replay {
    agent: Agent,
    _files: tempfile::TempDir,
}

const REGIONS: [RegionDesc; 2] = [
    RegionDesc {
        len: 8,
        dir: Direction::In,
    },
    RegionDesc {
        len: 4,
        dir: Direction::Out,
    },
];

fn replay() -> Replay {
    let mut file = FILE.header().to_vec();
    let mut append = |record: &Record<'_>, payload: &[u8]| {
        let pieces = [payload];
        let pieces = container::pieces(record, &pieces, Compression::None);
        file.extend(pieces.unwrap().concat());
    };
    let opened = Record::SessionOpened(SessionOpened {
        session: 1,
        process: 42,
        pointer_bits: 64,
        apis: gil_wire::api::described(&[1]),
    });
    append(&opened, &[]);
    let call = recording::Called {
        session: 1,
        call: Call {
            seq: 1,
            op: OP,
            thread: 1,
            answer: true,
            finish: true,
            event: None,
            args: b"args",
            regions: REGIONS.to_vec(),
        },
        done: Some(message::Done {
            status: CallStatus::Ran,
            result: b"result",
            cpu_ns: 1,
            busy_ns: 1,
            out: vec![3],
            reports: vec![],
            notices: false,
        }),
    };
    append(&Record::Call(call), b"recordedout");
    append(&Record::SessionClosed(SessionClosed { session: 1 }), &[]);
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("trace");
    std::fs::File::create(&path)
        .unwrap()
        .write_all(&file)
        .unwrap();
    let listen = format!("unix:{}", files.path().join("agent").display());
    let args = ["--replay", path.to_str().unwrap()];
    Replay {
        agent: Agent::listening(&listen, &args).unwrap(),
        _files: files,
    }
}

fn recorded(client: &mut Client) -> Done {
    client.send_open();
    client.expect_opened();
    let done = client.call(OP, b"args", &REGIONS, &[b"recorded"]);
    assert_eq!(
        (done.status, &done.out[..]),
        (CallStatus::Ran, &[b"out".to_vec()][..])
    );
    done
}

#[test]
fn a_recording_is_answered_through_the_window_and_without() {
    let replay = replay();
    let mut with = client(&replay.agent.address);
    recorded(&mut with);
    assert_eq!(with.answers_in_window, 1);
    drop(with);
    drop(replay);

    let replay = self::replay();
    let mut without = Client::connect(&replay.agent.address);
    recorded(&mut without);
    assert_eq!(without.answers_in_window, 0);
}

#[test]
fn files_that_could_fail_are_not_mapped_and_the_session_goes_on() {
    let len = 1 << 20;
    let unsealed = memory(len, SealFlag::F_SEAL_GROW);
    let (short, good) = (sealed(len - 1), sealed(len));
    let plain = tempfile::tempfile().unwrap();
    plain.set_len(len).unwrap();
    let huge = sealed(2 * WINDOW_LEN);
    let offers = [
        (None, len),
        (Some(&unsealed), len),
        (Some(&short), len),
        (Some(&plain), len),
        (Some(&good), 0),
        (Some(&huge), WINDOW_LEN + 1),
        (Some(&huge), u64::MAX),
    ];
    let replay = replay();
    for (file, len) in offers {
        let (answer, mut client) = offer(&replay.agent.address, file, len);
        assert_eq!(answer, NOT_MAPPED, "{file:?} {len}");
        client.ping(3).unwrap();
    }
    let (answer, mut client) = offer(&replay.agent.address, Some(&good), len);
    assert_eq!(answer, MAPPED);
    assert!(good.set_len(1).is_err());
    recorded(&mut client);
}

#[test]
fn regions_in_no_window_are_refused_in_a_sentence() {
    let call = |len| {
        Request::Call(Call {
            seq: 1,
            op: OP,
            thread: 1,
            answer: true,
            finish: true,
            event: None,
            args: b"args",
            regions: vec![region(len, Direction::In)],
        })
    };
    let replay = replay();
    let mut without = Client::open(&replay.agent.address);
    without.send_in_window(&call(8));
    assert!(without.refusal().contains("does not hold them"));
    for len in [WINDOW_LEN + 1, u64::MAX] {
        let replay = self::replay();
        let mut with = client(&replay.agent.address);
        with.send_open();
        with.expect_opened();
        with.send_in_window(&call(len));
        assert!(with.refusal().contains("does not hold them"));
    }
}

/// An agent with a device, unless there is none here.
fn device() -> Option<(Agent, tempfile::TempDir)> {
    let files = tempfile::tempdir().unwrap();
    let listen = format!("unix:{}", files.path().join("agent").display());
    let agent = on_a_device(Agent::listening(&listen, &[]))?;
    Some((agent, files))
}

fn numbers(count: i32, factor: i32) -> Vec<i32> {
    (0..count).map(|i| i * factor).collect()
}

#[test]
fn a_device_reads_and_writes_the_window() {
    let Some((agent, _files)) = device() else {
        return;
    };
    let mut program = Program::with(client(&agent.address));
    let queue = program.queue(0);
    for count in [4, 100_000] {
        let buffer = program.buffer(4 * count as usize);
        let kernel = program.scale(buffer, 3);
        let before = program.client.answers_in_window;
        let write = program.write(queue, buffer, &bytes(&numbers(count, 1)), &[]);
        write.ended();
        program.run(queue, kernel, count as usize, &[]).ended();
        let read = program.read(queue, buffer, 4 * count as usize, &[]);
        read.ended();
        assert_eq!(ints(&read.done.out[0]), numbers(count, 3));
        assert!(program.client.answers_in_window >= before + 2);
    }
}

#[test]
fn what_does_not_fit_goes_through_the_socket() {
    let Some((agent, _files)) = device() else {
        return;
    };
    let (answer, small) = offer(&agent.address, Some(&sealed(4096)), 4096);
    assert_eq!(answer, MAPPED);
    let mut program = Program::with(small);
    program.client.window_len = 4096;
    let queue = program.queue(0);
    let buffer = program.buffer(8192);
    let before = program.client.answers_in_window;
    let data = bytes(&numbers(2048, 5));
    program.write(queue, buffer, &data, &[]).ended();
    let read = program.read(queue, buffer, data.len(), &[]);
    assert_eq!(read.done.out, [data]);
    assert_eq!(program.client.answers_in_window, before);
}

#[test]
fn a_blocked_operation_keeps_its_input_and_its_output_comes_late() {
    let Some((agent, _files)) = device() else {
        return;
    };
    let mut program = Program::with(client(&agent.address));
    let (queue, other) = (program.queue(0), program.queue(0));
    let count = 10_000;
    let buffer = program.buffer(4 * count as usize);
    let gate = program.user_event();
    let data = bytes(&numbers(count, 7));
    let write = program.write(queue, buffer, &data, &[gate]);
    write.blocked();
    let read = program.read(queue, buffer, data.len(), &[]);
    read.blocked();
    // The window is used again, and then overwritten as a whole.
    let scratch = program.buffer(data.len());
    let noise = vec![0x5a; data.len()];
    program.write(other, scratch, &noise, &[]).ended();
    let window = program.client.window.as_ref().unwrap();
    window.write_all_at(&[0xee; 1 << 20], 0).unwrap();
    let set = program.set(gate, 0);
    let (last, output) = set.reports.last().unwrap();
    assert_eq!((last.event, last.ending), (read.event.0, Ending::Done));
    assert_eq!(output[0], data);
    let seen = program.read(other, scratch, noise.len(), &[]);
    assert_eq!(seen.done.out[0], noise);
}
