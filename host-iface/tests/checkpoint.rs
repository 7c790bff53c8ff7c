//! Sessions in a checkpoint and back, between a guest's driver and a board in
//! this process.

mod support;

use gil_files::checkpoint::{self, FILE, Made};
use gil_files::container::{self, Compression, HEADER_LEN, PREFIX_LEN, Prefix, read_all};
use gil_files::recording::{self, Record};
use gil_host::Config;
use gil_host::checkpoint::CheckpointError;
use gil_host::config::Time;
use gil_uapi::Status;
use gil_wire::Op;
use gil_wire::api;
use gil_wire::call::{Handle, InData, Packed};
use gil_wire::checkpoint::{Contents, PastEvent, Survey};
use gil_wire::ending::Ending;
use gil_wire::envelope::{Class, Envelope, MORE_NOTICES, MORE_TEXT};
use gil_wire::generated::opencl as cl;
use gil_wire::identity::DeviceInfo;
use gil_wire::message::{self, CallStatus, Direction, RegionDesc};
use std::path::PathBuf;
use support::board::{Act, Call, FakeBoard, Got, Later};
use support::guest::{DATA, Guest, IN, OUT, call, config, enqueue, restore};

/// How an operation ends that the driver refuses.
const REFUSED: Ending = Ending::Failed(-54);
const OK: u32 = Status::Ok as u32;
const BUFFER: u64 = 2;
/// More than zeroes are sent at a time, and no multiple of that.
const BUFFER_LEN: u64 = 150_000;
const HELD: &[u8] = b"what it holds now";
const LASTS: u64 = 500;
const PAST: PastEvent = PastEvent {
    api: 1,
    event: 70,
    queue: 5,
    context: 1,
    command: 0,
    ending: Ending::Done,
};

/// Two kernels that the board numbers.
fn found() -> [Handle; 2] {
    [8, 9].map(|number| Handle(Handle::BOARD | number))
}

/// A board on which every call succeeds; operations end when they are awaited.
fn answers(call: &Call) -> Act {
    let event = call.event.unwrap_or_default();
    let is_refused = call.args == b"refused";
    let kernels = cl::ClCreateKernelsInProgramReply {
        kernels: found().to_vec(),
        ..Default::default()
    };
    let later = Later {
        event,
        duration_ns: LASTS,
        ending: if is_refused { REFUSED } else { Ending::Done },
        rejected: is_refused,
        text: match call.args == b"prints" {
            true => b"a kernel's text".to_vec(),
            false => Vec::new(),
        },
        out: match call.args == b"reads" {
            true => vec![b"read".to_vec()],
            false => Vec::new(),
        },
        ..Later::default()
    };
    Act {
        result: match call.op == cl::CL_CREATE_KERNELS_IN_PROGRAM {
            true => postcard::to_stdvec(&kernels).unwrap(),
            false => vec![0],
        },
        later: vec![later],
        ..Act::default()
    }
}

fn device(api: &str, name: &str) -> DeviceInfo {
    DeviceInfo {
        api: api.into(),
        platform: "a platform".into(),
        name: name.into(),
        version: "1.0".into(),
    }
}

/// As the board's device is shown.
const SHOWN: &str = "a device (1.0)";

fn board_that(script: impl FnMut(&Call) -> Act + Send + 'static) -> FakeBoard {
    let board = FakeBoard::new(script);
    let mut objects = board.objects.lock().unwrap();
    objects.devices = vec![device("OpenCL", "a device")];
    objects.contents = HELD.to_vec();
    objects.survey = Survey {
        contents: vec![Contents {
            api: 1,
            object: BUFFER,
            len: HELD.len() as u64,
        }],
        past: vec![PAST],
        obstacles: Vec::new(),
    };
    drop(objects);
    board
}

fn logging(board: &FakeBoard) -> Config {
    Config {
        time: Time::Async,
        checkpoint_log: true,
        ..config(Some(board))
    }
}

/// A call of this entry point with these arguments.
fn called<'a>(class: Class, op: Op, args: &'a [u8], regions: u32) -> Envelope<'a> {
    Envelope {
        op,
        args,
        regions,
        ..call(class, 1_000_000)
    }
}

fn buffer(number: u64) -> Vec<u8> {
    let args = cl::ClCreateBufferArgs {
        context: Handle(1),
        flags: 32,
        size: BUFFER_LEN,
        host_ptr: InData::Region(0),
        new: Handle(number),
    };
    postcard::to_stdvec(&args).unwrap()
}

/// Makes a buffer, a program and its kernels, and sets an argument.
fn make_objects(guest: &mut Guest) {
    let whole = [(DATA, BUFFER_LEN, IN)];
    let args = buffer(BUFFER);
    let made = called(Class::Sync, cl::CL_CREATE_BUFFER, &args, 1);
    assert_eq!(guest.submit(&[made], &whole).status, OK);
    let strings = Packed {
        count: 1,
        data: InData::Region(0),
    };
    let args = cl::ClCreateProgramWithSourceArgs {
        context: Handle(1),
        count: 1,
        strings,
        new: Handle(3),
    };
    let args = postcard::to_stdvec(&args).unwrap();
    let program = called(Class::Sync, cl::CL_CREATE_PROGRAM_WITH_SOURCE, &args, 1);
    guest.write(DATA, b"source");
    assert_eq!(guest.submit(&[program], &[(DATA, 6, IN)]).status, OK);
    let args = cl::ClCreateKernelsInProgramArgs {
        program: Handle(3),
        num_kernels: 2,
        kernels: true,
        ..Default::default()
    };
    let args = postcard::to_stdvec(&args).unwrap();
    let kernels = called(Class::Sync, cl::CL_CREATE_KERNELS_IN_PROGRAM, &args, 0);
    assert_eq!(guest.submit(&[kernels], &[]).status, OK);
    let args = cl::ClSetKernelArgArgs {
        kernel: found()[0],
        arg_size: 8,
        arg_value: cl::KernelArgument::Handle(Handle(BUFFER)),
        ..Default::default()
    };
    let args = postcard::to_stdvec(&args).unwrap();
    let argument = called(Class::Post, cl::CL_SET_KERNEL_ARG, &args, 0);
    assert_eq!(guest.submit(&[argument], &[]).status, OK);
}

/// Lets all operations end, as far as they do.
fn settle(guest: &mut Guest) {
    let end_ns = guest.host.settle(guest.now_ns);
    guest.now_ns = guest.now_ns.max(end_ns);
    assert_eq!(guest.host.settle(guest.now_ns), end_ns);
}

fn save(guest: &Guest) -> Result<PathBuf, CheckpointError> {
    let path = guest.folder.path().join("state");
    guest.host.checkpoint(&path, guest.now_ns).map(|()| path)
}

/// What reached a board, but for the beginning and the end.
fn got(board: &FakeBoard) -> Vec<(Op, Vec<u8>)> {
    let calls = board.calls().into_iter();
    calls.map(|call| (call.op, call.payload)).collect()
}

#[test]
fn a_session_comes_back_with_its_calls_its_contents_and_its_times() {
    let board = board_that(answers);
    let mut guest = Guest::with(logging(&board), false);
    make_objects(&mut guest);
    // Neither is made of calls that only ask, or of operations.
    let args = buffer(90);
    let asked = called(Class::Query, cl::CL_CREATE_BUFFER, &args, 0);
    guest.submit(&[asked], &[]);
    let operation = Envelope {
        op: cl::CL_CREATE_BUFFER,
        args: &args,
        ..enqueue(10, guest.now_ns)
    };
    guest.submit(&[operation, call(Class::Query, guest.now_ns)], &[]);
    guest.submit(&[enqueue(11, guest.now_ns)], &[]);
    for (event, args) in [(12, &b"prints"[..]), (13, b"refused")] {
        let envelope = Envelope {
            args,
            ..enqueue(event, guest.now_ns)
        };
        guest.submit(&[envelope], &[]);
    }
    settle(&mut guest);
    assert_eq!(guest.now_ns, 1_000_000 + 4 * LASTS);
    let path = save(&guest).unwrap();
    let first = std::fs::read(&path).unwrap();
    save(&guest).expect("the session goes on");

    let second = board_that(answers);
    restore(&mut guest, &logging(&second), &path).unwrap();
    let zeroes = vec![0; BUFFER_LEN as usize];
    let wanted = [
        (cl::CL_CREATE_BUFFER, zeroes),
        (cl::CL_CREATE_PROGRAM_WITH_SOURCE, b"source".to_vec()),
        (cl::CL_CREATE_KERNELS_IN_PROGRAM, vec![]),
        (cl::CL_SET_KERNEL_ARG, vec![]),
    ];
    assert!(got(&second) == wanted);
    let parts = second.got().into_iter();
    let parts: Vec<_> = parts
        .filter(|got| matches!(got, Got::NumberFrom(_) | Got::Fill(..) | Got::Past(_)))
        .collect();
    let wanted = [
        Got::NumberFrom(found()[0].0),
        Got::Past(PAST),
        Got::Fill(BUFFER, HELD.to_vec()),
    ];
    assert_eq!(parts, wanted);
    save(&guest).unwrap();
    assert!(std::fs::read(&path).unwrap() == first, "nothing is lost");

    let again = guest.submit_again(&[call(Class::Sync, 0)], &[]);
    assert_eq!(again.status, Status::Duplicate as u32);
    let finish = Envelope {
        queue: enqueue(0, 0).queue,
        blocking: true,
        ..call(Class::Wait, 0)
    };
    let seen = guest.submit(&[finish], &[]);
    let answer = seen.answer();
    let told: Vec<_> = answer
        .observed
        .iter()
        .map(|o| (o.event, o.ending))
        .collect();
    assert_eq!(told, [(13, REFUSED)], "nobody had heard of it");
    assert_eq!(answer.more, MORE_NOTICES | MORE_TEXT);
    let poll = guest.submit(&[call(Class::Poll, 0)], &[]);
    assert_eq!(poll.answer().printed, b"a kernel's text");
    let poll = Envelope {
        waits: vec![11].into(),
        ..call(Class::Poll, 0)
    };
    let times = guest.submit(&[poll], &[]).answer().observed[0];
    assert_eq!((times.start_ns, times.end_ns), (1_000_500, 1_001_000));
}

/// Why a program that did this cannot be saved.
fn not_saved(configure: impl FnOnce(&mut Config), act: impl FnOnce(&mut Guest)) -> String {
    let board = board_that(answers);
    let mut config = logging(&board);
    configure(&mut config);
    let mut guest = Guest::with(config, false);
    act(&mut guest);
    let error = save(&guest).unwrap_err();
    assert!(!guest.folder.path().join("state").exists());
    error.to_string()
}

#[test]
fn what_is_not_quiet_is_not_saved() {
    let blocked = not_saved(
        |_| {},
        |guest| {
            let gated = Envelope {
                waits: vec![100].into(),
                ..enqueue(1, 1_000_000)
            };
            guest.submit(&[gated], &[]);
            settle(guest);
        },
    );
    assert!(blocked.contains("1 of its operations wait"), "{blocked}");
    let early = not_saved(
        |_| {},
        |guest| {
            guest.submit(&[enqueue(1, 1_000_000)], &[]);
            settle(guest);
            guest.now_ns -= 1;
        },
    );
    assert!(early.contains("under way"), "{early}");
    let held = not_saved(
        |_| {},
        |guest| {
            let read = Envelope {
                args: b"reads",
                regions: 1,
                ..enqueue(1, 1_000_000)
            };
            guest.submit(&[read], &[(DATA, 4, OUT)]);
            guest.now_ns = guest.host.settle(guest.now_ns);
        },
    );
    assert!(held.contains("under way"), "{held}");
    let forgets = not_saved(
        |config| config.checkpoint_log = false,
        |guest| {
            guest.submit(&[call(Class::Sync, 1_000_000)], &[]);
        },
    );
    assert!(forgets.contains("set checkpoint-log"), "{forgets}");
    let lost = not_saved(
        |config| config.board = None,
        |guest| {
            guest.submit(&[call(Class::Sync, 1_000_000)], &[]);
        },
    );
    assert!(lost.contains("lost its board"), "{lost}");
}

#[test]
fn what_the_board_does_not_give_is_said_and_the_session_goes_on() {
    let board = board_that(answers);
    let mut guest = Guest::with(logging(&board), false);
    save(&guest).expect("without a call to the board");
    make_objects(&mut guest);
    board.objects.lock().unwrap().unable = Some("it is mapped".into());
    let error = save(&guest).unwrap_err().to_string();
    assert!(error.contains("it is mapped"), "{error}");
    board.objects.lock().unwrap().unable = None;
    let obstacle = "a pipe".to_string();
    board
        .objects
        .lock()
        .unwrap()
        .survey
        .obstacles
        .push(obstacle);
    let error = save(&guest).unwrap_err().to_string();
    assert!(error.contains("a pipe"), "{error}");
    board.objects.lock().unwrap().survey.obstacles.clear();
    assert_eq!(guest.submit(&[call(Class::Query, 0)], &[]).status, OK);
    board.objects.lock().unwrap().contents.push(b'!');
    assert!(matches!(save(&guest), Err(CheckpointError::Client(_))));
    let seen = guest.submit(&[call(Class::Query, 0)], &[]);
    assert_eq!(
        seen.status,
        Status::Lost as u32,
        "it does not keep to the protocol"
    );
}

/// A guest with objects, and its checkpoint.
fn saved() -> (Guest, PathBuf) {
    let board = board_that(answers);
    let mut guest = Guest::with(logging(&board), false);
    make_objects(&mut guest);
    let path = save(&guest).unwrap();
    (guest, path)
}

/// Why it does not come back on a board that does this.
fn not_restored(script: impl FnMut(&Call) -> Act + Send + 'static) -> String {
    let (mut guest, path) = saved();
    let board = board_that(script);
    let restored = restore(&mut guest, &logging(&board), &path);
    restored.unwrap_err().to_string()
}

#[test]
fn a_board_with_other_devices_is_refused_but_a_recording_is_not() {
    let (mut guest, path) = saved();
    let board = board_that(answers);
    let mut on = |devices: Vec<DeviceInfo>| {
        board.objects.lock().unwrap().devices = devices;
        let restored = restore(&mut guest, &logging(&board), &path);
        restored.map_err(|error| error.to_string())
    };
    let error = on(vec![device("OpenCL", "another")]).unwrap_err();
    let wanted = format!("has another (1.0), and the checkpoint was taken with {SHOWN}");
    assert!(error.contains(&wanted), "{error}");
    let error = on(vec![]).unwrap_err();
    assert!(error.contains("has no device"), "{error}");
    on(vec![device("replay", "a recording")]).unwrap();
}

#[test]
fn a_board_that_does_otherwise_than_then_is_refused() {
    let error = not_restored(|call| Act {
        result: vec![1],
        ..answers(call)
    });
    let wanted = "answers clCreateBuffer otherwise than it did then (result [00], now Ran, [01])";
    assert!(error.contains(wanted), "{error}");
    let error = not_restored(|call| Act {
        status: CallStatus::Refused,
        ..answers(call)
    });
    assert!(error.contains("now Refused, [00]"), "{error}");
}

#[test]
fn a_board_that_takes_no_part_is_refused() {
    let (mut guest, path) = saved();
    let board = board_that(answers);
    board.objects.lock().unwrap().unable = Some("there is no memory".into());
    let error = restore(&mut guest, &logging(&board), &path).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("there is no memory"), "{error}");
}

/// The records of `bytes`, one of which says `from`, saying `to` instead.
fn edited(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (header, mut rest) = bytes.split_at(HEADER_LEN);
    let mut out = header.to_vec();
    while let Some((prefix, behind)) = rest.split_first_chunk::<PREFIX_LEN>() {
        let prefix = Prefix::decode(prefix).unwrap();
        let (head, behind) = behind.split_at(prefix.head_len as usize);
        let (payload, behind) = behind.split_at(prefix.stored_len as usize);
        let mut head = head.to_vec();
        if let Some(at) = head.windows(from.len()).position(|found| found == from) {
            head[at..at + from.len()].copy_from_slice(to);
        }
        let prefix = prefix.sealed([&head[..], payload]);
        out.extend([&prefix.encode()[..], &head, payload].concat());
        rest = behind;
    }
    out
}

/// The same checkpoint as a later gil could write it: compressed, and with a
/// record of a kind that is not known here.
fn newer(bytes: &[u8], flags: u8) -> Vec<u8> {
    let mut out = FILE.header().to_vec();
    for (stored, payload) in read_all(&mut &bytes[HEADER_LEN..]).unwrap() {
        let mut record = checkpoint::record(&stored).unwrap().unwrap();
        if let checkpoint::Record::End(end) = &mut record {
            let newer = Prefix {
                kind: 900,
                flags,
                ..Prefix::default()
            };
            out.extend(newer.sealed([]).encode());
            end.records += 1;
        }
        let payload = [&payload[..]];
        let pieces = container::pieces(&record, &payload, Compression::Lz4);
        out.extend(pieces.unwrap().concat());
    }
    out
}

#[test]
fn what_a_newer_gil_adds_is_skipped_or_refused() {
    let (mut guest, path) = saved();
    let bytes = std::fs::read(&path).unwrap();
    let board = board_that(answers);
    std::fs::write(&path, newer(&bytes, 1)).unwrap();
    restore(&mut guest, &logging(&board), &path).unwrap();
    std::fs::write(&path, newer(&bytes, 0)).unwrap();
    let refused = restore(&mut guest, &logging(&board), &path).unwrap_err();
    let sentence = "made by a newer gil: a record has kind 900";
    assert!(refused.to_string().contains(sentence), "{refused}");
}

#[test]
fn what_an_object_holds_comes_back_piece_by_piece() {
    let held: Vec<u8> = (0..2_500_000).map(|at| (at / 40 % 200) as u8).collect();
    let board = board_that(answers);
    let mut guest = Guest::with(logging(&board), false);
    make_objects(&mut guest);
    let mut objects = board.objects.lock().unwrap();
    objects.survey.contents[0].len = held.len() as u64;
    objects.contents = held.clone();
    drop(objects);
    let path = save(&guest).unwrap();
    let plain = std::fs::read(&path).unwrap();
    for bytes in [newer(&plain, 1), plain] {
        std::fs::write(&path, bytes).unwrap();
        let board = board_that(answers);
        restore(&mut guest, &logging(&board), &path).unwrap();
        assert!(board.got().contains(&Got::Fill(BUFFER, held.clone())));
    }
}

/// A record that announces so many bytes, stored as an invalid LZ4 frame:
/// decompressing any of it fails.
fn claiming(record: &checkpoint::Record<'_>, payload_len: u64) -> Vec<u8> {
    use container::Record as _;
    let head = record.encode().unwrap();
    let stored = vec![0; payload_len as usize / 200];
    let prefix = Prefix {
        head_len: head.len() as u32,
        stored_len: stored.len() as u64,
        payload_len,
        kind: record.kind(),
        compression: 1,
        ..Prefix::default()
    };
    let prefix = prefix.sealed([&head[..], &stored]);
    [&prefix.encode()[..], &head, &stored].concat()
}

/// A call with so many bytes of input.
fn made(len: u64) -> checkpoint::Record<'static> {
    let region = RegionDesc {
        len,
        dir: Direction::In,
    };
    checkpoint::Record::Call(Made {
        call: message::Call {
            seq: 1,
            op: cl::CL_CREATE_BUFFER,
            thread: 1,
            answer: true,
            finish: true,
            event: None,
            args: b"",
            regions: vec![region],
        },
        contents: None,
        found: None,
        result: Some(b""),
    })
}

#[test]
fn more_than_a_session_keeps_is_refused_before_it_is_decompressed() {
    let (mut guest, path) = saved();
    let board = board_that(answers);
    let mut refused = |record: &checkpoint::Record<'_>, len| {
        let bytes = [&FILE.header()[..], &claiming(record, len)].concat();
        std::fs::write(&path, bytes).unwrap();
        restore(&mut guest, &logging(&board), &path).unwrap_err()
    };
    let text = |printed| {
        checkpoint::Record::Session(checkpoint::Session {
            printed,
            ..checkpoint::Session::default()
        })
    };
    type OfLength<'a> = &'a dyn Fn(u64) -> checkpoint::Record<'static>;
    let cases: [(OfLength<'_>, u64, &str); 2] = [
        (&text, 67_108_864, "a program's text takes 67108865 bytes"),
        (&made, 536_870_912, "a call takes 536870913 bytes"),
    ];
    for (record, most, sentence) in cases {
        let error = refused(&record(most), most);
        assert!(matches!(error, CheckpointError::File { .. }), "{error}");
        let error = refused(&record(most + 1), most + 1);
        assert!(
            matches!(error, CheckpointError::TooLong { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(sentence), "{error}");
    }
    assert_eq!(board.got(), [], "the file alone says so");
}

#[test]
fn a_checkpoint_of_the_version_before_is_refused() {
    let (mut guest, path) = saved();
    let before = include_bytes!("../../session-files/tests/golden/checkpoint-4");
    std::fs::write(&path, before).unwrap();
    let board = board_that(answers);
    let refused = restore(&mut guest, &logging(&board), &path).unwrap_err();
    let sentence = "layout version 4, this gil reads 5: take the checkpoint again";
    assert!(refused.to_string().contains(sentence), "{refused}");
}

#[test]
fn what_another_description_made_is_refused() {
    let ours = api::described(&[1]);
    let mut theirs = ours.clone();
    theirs[0].hash[0] ^= 1;
    let (mut guest, path) = saved();
    let board = board_that(answers);
    board.objects.lock().unwrap().apis = Some(theirs.clone());
    let refused = restore(&mut guest, &logging(&board), &path).unwrap_err();
    assert!(
        refused.to_string().contains("by another description"),
        "{refused}"
    );
    let bytes = std::fs::read(&path).unwrap();
    let bytes = edited(&bytes, &ours[0].hash, &theirs[0].hash);
    std::fs::write(&path, bytes).unwrap();
    let board = board_that(answers);
    let refused = restore(&mut guest, &logging(&board), &path).unwrap_err();
    let wanted = "another description of OpenCL";
    assert!(refused.to_string().contains(wanted), "{refused}");
    assert_eq!(board.got(), [], "the file alone says so");
}

#[test]
fn the_output_of_what_is_made_again_is_bounded() {
    let with_output = |len: usize| {
        move |call: &Call| Act {
            out: vec![vec![0; if call.payload.is_empty() { 0 } else { len }]],
            ..answers(call)
        }
    };
    let (mut guest, path) = saved();
    let board = board_that(with_output(67_108_864));
    restore(&mut guest, &logging(&board), &path).unwrap();
    let error = not_restored(with_output(67_108_865));
    assert!(error.contains("67108865 bytes of output"), "{error}");
}

#[test]
fn a_recording_begins_with_what_is_made_again() {
    let (mut guest, path) = saved();
    let board = board_that(answers);
    let recording = guest.folder.path().join("recording");
    let config = Config {
        trace: Some(recording.clone()),
        ..logging(&board)
    };
    restore(&mut guest, &config, &path).unwrap();
    guest.host.finish();
    assert!(guest.log.fatal().is_empty(), "{:?}", guest.log.fatal());
    let bytes = std::fs::read(recording).unwrap();
    let mut calls = Vec::new();
    for (stored, payload) in read_all(&mut &bytes[HEADER_LEN..]).unwrap() {
        if let Some(Record::Call(called)) = recording::record(&stored).unwrap() {
            calls.push((called.call.op, payload.len() as u64, called.done.is_some()));
        }
    }
    let wanted = [
        (cl::CL_CREATE_BUFFER, BUFFER_LEN, true),
        (cl::CL_CREATE_PROGRAM_WITH_SOURCE, 6, true),
        (cl::CL_CREATE_KERNELS_IN_PROGRAM, 0, true),
        (cl::CL_SET_KERNEL_ARG, 0, false),
    ];
    assert_eq!(calls, wanted);
}
