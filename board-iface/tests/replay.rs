//! A recorded run, answered from its recording.

mod common;

use common::agent::Agent;
use common::{Client, Done};
use gil_files::container::{self, Compression, PREFIX_LEN, Prefix};
use gil_files::recording::{self, Device, Ended, FILE, Record, SessionClosed, SessionOpened};
use gil_wire::Op;
use gil_wire::ending::Ending;
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::{self, Call, CallStatus, Direction, RegionDesc, Reply, Report};
use nix::fcntl::{Flock, FlockArg};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

const FIRST: Op = Op::new(1, 1);
const SECOND: Op = Op::new(1, 2);
const RETIRE: Op = gil_wire::generated::cuda::GIL_RETIRE;

const REGIONS: [RegionDesc; 2] = [
    RegionDesc {
        len: 5,
        dir: Direction::In,
    },
    RegionDesc {
        len: 4,
        dir: Direction::Out,
    },
];

fn append(file: &mut Vec<u8>, record: &Record<'_>, payload: &[&[u8]]) {
    let pieces = container::pieces(record, payload, Compression::None);
    file.extend(pieces.unwrap().concat());
}

fn done(out: Vec<u64>, reports: Vec<Report>) -> Option<message::Done<'static>> {
    Some(message::Done {
        status: CallStatus::Ran,
        result: b"result",
        cpu_ns: 11,
        busy_ns: 22,
        out,
        reports,
        notices: false,
    })
}

fn call(seq: u64, op: Op) -> recording::Called<'static> {
    recording::Called {
        session: 1,
        call: Call {
            seq,
            op,
            thread: 1,
            answer: true,
            finish: true,
            event: None,
            args: b"args",
            regions: Vec::new(),
        },
        done: done(vec![], vec![]),
    }
}

fn opened() -> Record<'static> {
    Record::SessionOpened(SessionOpened {
        session: 1,
        process: 42,
        pointer_bits: 64,
        apis: gil_wire::api::described(&[1]),
    })
}

fn device() -> Record<'static> {
    Record::Device(Device {
        session: 1,
        api: 1,
        device: 6,
        identity: Some(named("a device")),
    })
}

fn named(place: &str) -> DeviceIdentity {
    DeviceIdentity {
        place: place.into(),
        ..DeviceIdentity::default()
    }
}

/// One session: a call with regions, a post, one that reports an operation,
/// an operation that was awaited, and a call without an answer.
fn recording() -> Vec<u8> {
    let mut file = FILE.header().to_vec();
    append(&mut file, &opened(), &[]);
    let mut first = call(101, FIRST);
    first.call.regions = REGIONS.to_vec();
    first.done = done(vec![3], vec![]);
    append(&mut file, &Record::Call(first), &[b"input", b"out"]);
    let mut post = call(102, SECOND);
    (post.call.answer, post.done) = (false, None);
    append(&mut file, &Record::Call(post), &[]);
    let mut third = call(103, SECOND);
    let report = Report {
        event: 7,
        duration_ns: 33,
        ending: Ending::Failed(-5),
        out: vec![2],
        printed: 0,
        rejected: false,
    };
    third.done = done(vec![], vec![report]);
    append(&mut file, &Record::Call(third), &[b"r!"]);
    let report = Report {
        event: 8,
        duration_ns: 44,
        ending: Ending::Done,
        out: vec![2],
        printed: 2,
        rejected: true,
    };
    append(&mut file, &device(), &[]);
    let ended = Record::Ended(Ended {
        session: 1,
        report,
        busy_ns: 1,
    });
    append(&mut file, &ended, &[b"o!", b"hi"]);
    let mut last = call(104, FIRST);
    last.done = None;
    append(&mut file, &Record::Call(last), &[]);
    append(
        &mut file,
        &Record::SessionClosed(SessionClosed { session: 1 }),
        &[],
    );
    file
}

fn agent(bytes: &[u8]) -> Result<Agent, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    replay(file.path())
}

fn replay(path: &Path) -> Result<Agent, String> {
    Agent::start(&["--replay", path.to_str().unwrap()])
}

fn first(client: &mut Client, data: &[u8]) -> Done {
    client.call(FIRST, b"args", &REGIONS, &[data])
}

#[test]
fn a_recorded_run_is_answered_as_it_was() {
    let agent = agent(&recording()).unwrap();
    let mut client = Client::open(&agent.address);
    let answer = first(&mut client, b"input");
    assert_eq!(
        (answer.status, &answer.result[..]),
        (CallStatus::Ran, &b"result"[..])
    );
    assert_eq!(
        (answer.cpu_ns, &answer.out[..]),
        (11, &[b"out".to_vec()][..])
    );
    client.start(SECOND, false, b"args", &[], &[]);
    let third = client.call(SECOND, b"args", &[], &[]);
    let [(report, out)] = &third.reports[..] else {
        panic!("{third:?}");
    };
    assert_eq!(
        (report.event, report.duration_ns, report.ending),
        (7, 33, Ending::Failed(-5))
    );
    assert_eq!(out, &[b"r!"]);
    assert_eq!(client.identity(1, 6), Some(named("a device")));
    assert_eq!(client.identity(1, 7), None, "nobody asked for it");
    let (report, out, text) = client.ended(8);
    assert_eq!((report.duration_ns, report.ending), (44, Ending::Done));
    assert_eq!((&out[..], &text[..]), (&[b"o!".to_vec()][..], &b"hi"[..]));
    let last = client.call(FIRST, b"args", &[], &[]);
    assert_eq!(last.status, CallStatus::Lost);
    assert!(
        last.reason().contains("lost in the recorded run at call 4")
            && last.reason().contains("or the run was ended there"),
        "{}",
        last.reason()
    );
}

#[test]
fn a_compressed_recording_is_answered_and_compared_as_any() {
    let mut regions = REGIONS;
    (regions[0].len, regions[1].len) = (3000, 600_000);
    let (input, output) = (vec![b'i'; 3000], vec![b'o'; 600_000]);
    let mut recorded = call(101, FIRST);
    recorded.call.regions = regions.to_vec();
    recorded.done = done(vec![600_000], vec![]);
    let mut file = FILE.header().to_vec();
    append(&mut file, &opened(), &[]);
    let payload = [&input[..], &output];
    let pieces = container::pieces(&Record::Call(recorded), &payload, Compression::Lz4);
    file.extend(pieces.unwrap().concat());
    assert!(file.len() < 10_000, "{} bytes", file.len());
    let started = |input: &[u8]| {
        let agent = agent(&file).unwrap();
        let mut client = Client::open(&agent.address);
        client.start(FIRST, true, b"args", &regions, &[input]);
        (agent, client)
    };
    let (_agent, mut client) = started(&input);
    let answer = client.done();
    assert_eq!(answer.status, CallStatus::Ran);
    assert_eq!(answer.out, [output]);
    let mut other = input;
    other[2999] ^= 1;
    let (_agent, mut client) = started(&other);
    let reason = client.departure();
    let byte = "byte 2999 of region 0 is 0x68 now and 0x69 in the recording";
    assert!(reason.contains(byte), "{reason}");
}

/// Of a recorded call that signals `event`, and whose answer reports event 7 with
/// so many zeroes.
fn reporting(event: Option<u64>, zeroes: usize) -> (Agent, Client) {
    let mut recorded = call(101, FIRST);
    recorded.call.regions = REGIONS.to_vec();
    let report = Report {
        event: 7,
        out: vec![zeroes as u64],
        ..Report::default()
    };
    recorded.done = done(vec![], vec![report]);
    let mut file = FILE.header().to_vec();
    append(&mut file, &opened(), &[]);
    let payload = [&b"input"[..], &vec![0; zeroes]];
    let pieces = container::pieces(&Record::Call(recorded), &payload, Compression::Lz4);
    file.extend(pieces.unwrap().concat());
    let mut stored = tempfile::NamedTempFile::new().unwrap();
    stored.write_all(&file).unwrap();
    let path = stored.path().to_str().unwrap();
    let agent = Agent::start(&["--replay", path, "--max-memory", "1"]).unwrap();
    let mut client = Client::open(&agent.address);
    client.event = event;
    client.start(FIRST, true, b"args", &REGIONS, &[b"input"]);
    (agent, client)
}

#[test]
fn a_reports_output_counts_against_the_sessions_bound() {
    let (_agent, mut client) = reporting(None, 1 << 19);
    assert_eq!(client.done().reports[0].1[0].len(), 1 << 19);
    let (_agent, mut client) = reporting(None, 2 << 20);
    let reason = client.done().reason();
    assert!(
        reason.contains("the session's bound of 1048576"),
        "{reason}"
    );
}

#[test]
fn a_reports_output_fits_the_regions_of_its_call() {
    let (_agent, mut client) = reporting(Some(7), 4);
    assert_eq!(client.done().reports[0].1, [[0; 4]]);
    let (_agent, mut client) = reporting(Some(7), 5);
    let reason = client.departure();
    assert!(
        reason.contains("report of event 7 does not fit"),
        "{reason}"
    );
}

#[test]
fn what_only_a_newer_gil_knows_is_skipped_or_refused() {
    let with = |flags: u8| {
        let whole = recording();
        let (header, rest) = whole.split_at(container::HEADER_LEN);
        let newer = Prefix {
            head_len: 4,
            kind: 900,
            flags,
            ..Prefix::default()
        };
        let newer = newer.sealed([&b"head"[..]]).encode();
        agent(&[header, &newer, b"head", rest].concat())
    };
    let refused = with(0).err().unwrap();
    assert!(
        refused.contains("made by a newer gil: a record has kind 900"),
        "{refused}"
    );
    let agent = with(1).unwrap();
    let mut client = Client::open(&agent.address);
    assert_eq!(first(&mut client, b"input").status, CallStatus::Ran);
}

#[test]
fn a_run_that_departs_ends_with_a_sentence() {
    type Depart = fn(&mut Client) -> u64;
    let cases: [(Depart, &str); 5] = [
        (
            |c| c.start(SECOND, true, b"args", &REGIONS, &[b"input"]),
            "it is clGetPlatformInfo now and clGetPlatformIDs in the recording;",
        ),
        (
            |c| c.start(FIRST, true, b"arms", &REGIONS, &[b"input"]),
            "byte 2 of its arguments is 0x6d now and 0x67 in the recording;",
        ),
        (
            |c| c.start(FIRST, true, b"args", &[], &[]),
            "it has 0 regions now and 2 in the recording;",
        ),
        (
            |c| c.start(FIRST, true, b"args", &REGIONS, &[b"inPut"]),
            "byte 2 of region 0 is 0x50 now and 0x70 in the recording;",
        ),
        (
            // Nobody asks for an answer, but the connection ends.
            |c| c.start(FIRST, false, b"arms", &REGIONS, &[b"input"]),
            "byte 2 of its arguments is 0x6d now",
        ),
    ];
    for (depart, clause) in cases {
        let agent = agent(&recording()).unwrap();
        let mut client = Client::open(&agent.address);
        depart(&mut client);
        let reason = client.departure();
        let place = "the run departs from the recording at call 1 of session 1 (cl";
        assert!(reason.starts_with(place), "{reason}");
        assert!(reason.contains(", thread 1, sequence number "), "{reason}");
        assert!(reason.contains(clause), "{reason}");
    }
}

/// Where each record begins, and where the last one ends.
#[test]
fn an_operation_whose_end_is_not_recorded_ends_the_run_with_a_sentence() {
    let agent = agent(&recording()).unwrap();
    let mut client = Client::open(&agent.address);
    first(&mut client, b"input");
    client.ask(9);
    let reason = client.departure();
    for words in ["how the operation of event 9 ended", "record it again"] {
        assert!(reason.contains(words), "{reason}");
    }
}

/// A recording of two threads' calls by turns, whose last two signal the events 1 and 2.
fn threads() -> Vec<u8> {
    let mut file = FILE.header().to_vec();
    append(&mut file, &opened(), &[]);
    for (seq, thread, name) in [(1, 1, b"a"), (2, 2, b"b"), (3, 1, b"c"), (4, 2, b"d")] {
        let mut it = call(seq, FIRST);
        (it.call.thread, it.call.args) = (thread, name);
        it.call.event = seq.checked_sub(2).filter(|event| *event > 0);
        it.done.as_mut().unwrap().result = name;
        append(&mut file, &Record::Call(it), &[]);
    }
    let closed = Record::SessionClosed(SessionClosed { session: 1 });
    append(&mut file, &closed, &[]);
    file
}

#[test]
fn threads_may_call_in_another_order_each_in_its_own() {
    type Made = (u32, &'static [u8], Option<u64>);
    let [a, b, c, d]: [Made; 4] = [
        (1, b"a", None),
        (2, b"b", None),
        (1, b"c", Some(1)),
        (2, b"d", Some(2)),
    ];
    let run = |calls: &[Made]| {
        let agent = agent(&threads()).unwrap();
        let mut client = Client::open(&agent.address);
        for (at, (thread, name, event)) in calls.iter().enumerate() {
            (client.thread, client.event) = (*thread, *event);
            client.start(FIRST, true, name, &[], &[]);
            if at + 1 == calls.len() && *name == b"x" {
                return client.departure();
            }
            assert_eq!(client.done().result, *name, "{calls:?}");
        }
        String::new()
    };
    for calls in [[a, b, c, d], [b, a, c, d], [a, c, b, d], [b, d, a, c]] {
        assert_eq!(run(&calls), "");
    }
    let reason = run(&[b, (1, b"x", None)]);
    assert!(reason.contains("at call 1 of session 1"), "{reason}");
    let reason = run(&[a, b, (2, b"x", None)]);
    assert!(reason.contains("at call 3 of session 1"), "{reason}");
    // What is unknown of a thread is compared with the next call.
    assert_eq!(run(&[(7, b"a", None), b, c, d]), "");
}

/// A recording with a call that the guest's library makes as it finds an operation ended.
#[test]
fn what_a_library_notices_has_no_place_in_the_order() {
    let mut file = FILE.header().to_vec();
    append(&mut file, &opened(), &[]);
    for (seq, op) in [
        (1, FIRST),
        (2, RETIRE),
        (3, RETIRE),
        (4, SECOND),
        (5, RETIRE),
    ] {
        let mut it = call(seq, op);
        if op == RETIRE {
            (it.call.answer, it.done) = (false, None);
        }
        append(&mut file, &Record::Call(it), &[]);
    }
    for calls in [
        &[FIRST, SECOND][..],
        &[RETIRE, FIRST, RETIRE, SECOND],
        &[FIRST, RETIRE, RETIRE, RETIRE, RETIRE, SECOND, RETIRE],
    ] {
        let agent = agent(&file).unwrap();
        let mut client = Client::open(&agent.address);
        for op in calls {
            match *op == RETIRE {
                true => drop(client.start(RETIRE, false, b"", &[], &[])),
                false => assert_eq!(client.call(*op, b"args", &[], &[]).status, CallStatus::Ran),
            }
        }
        client.start(FIRST, true, b"args", &[], &[]);
        let reason = client.departure();
        assert!(reason.contains("ends after 5 calls"), "{reason}");
    }
}

#[test]
fn operations_with_other_numbers_end_the_run() {
    let agent = agent(&threads()).unwrap();
    let mut client = Client::open(&agent.address);
    for (thread, name) in [(1, b"a"), (2, b"b")] {
        client.thread = thread;
        client.start(FIRST, true, name, &[], &[]);
        assert_eq!(client.done().result, name);
    }
    client.event = Some(1);
    client.start(FIRST, true, b"d", &[], &[]);
    let reason = client.departure();
    for words in ["at call 4 of session 1", "the numbers of their operations"] {
        assert!(reason.contains(words), "{reason}");
    }
}

fn records(whole: &[u8]) -> Vec<usize> {
    let mut all = vec![container::HEADER_LEN];
    while *all.last().unwrap() < whole.len() {
        let at = *all.last().unwrap();
        let prefix: &[u8; PREFIX_LEN] = whole[at..].first_chunk().unwrap();
        let len = Prefix::decode(prefix).unwrap().record_len();
        all.push(at + len as usize);
    }
    all
}

#[test]
fn what_a_crash_cut_short_is_ignored_and_all_before_it_is_used() {
    let whole = recording();
    let lens = records(&whole);
    // In the third call, after the first and the post.
    for cut in [lens[4] - 1, lens[3] + 1] {
        let agent = agent(&whole[..cut]).unwrap();
        let mut client = Client::open(&agent.address);
        assert_eq!(first(&mut client, b"input").status, CallStatus::Ran);
        client.start(SECOND, false, b"args", &[], &[]);
        client.start(SECOND, true, b"args", &[], &[]);
        let third = client.departure();
        assert!(third.starts_with("the recording's last "), "{third}");
        assert!(third.contains("ends after 2 calls"), "{third}");
        let why = "the file ends within a record): record the run again";
        assert!(third.contains(why), "{third}");
    }
}

#[test]
fn a_damaged_recording_says_so_where_it_ends() {
    let whole = recording();
    let records = records(&whole);
    let damaged = |record: usize| {
        let mut bytes = whole.clone();
        bytes[records[record + 1] - 1] ^= 1;
        agent(&bytes).unwrap()
    };
    let third_damaged = damaged(3);
    let mut client = Client::open(&third_damaged.address);
    assert_eq!(first(&mut client, b"input").status, CallStatus::Ran);
    client.start(SECOND, false, b"args", &[], &[]);
    client.start(SECOND, true, b"args", &[], &[]);
    let third = client.departure();
    assert!(third.contains("ends after 2 calls"), "{third}");
    assert!(third.contains("a record's checksum is"), "{third}");
    let beginning = damaged(0);
    let mut client = Client::connect(&beginning.address);
    client.send_open();
    let refusal = client.departure();
    assert!(refusal.contains("holds 0 sessions"), "{refusal}");
    assert!(refusal.contains("a record's checksum is"), "{refusal}");
}

#[test]
fn files_that_are_no_recordings_are_refused_in_a_sentence() {
    let refused = |bytes: &[u8]| agent(bytes).err().unwrap();
    assert!(refused(b"").contains("the file is empty"));
    assert!(refused(b"short").contains("ends within its header"));
    assert!(refused(&[7; 500]).contains("no gil recording"));
    let mut newer = recording();
    newer[12] = 200;
    assert!(refused(&newer).contains("version 200"));
    let before = include_bytes!("../../session-files/tests/golden/recording-6");
    let sentence = "layout version 6, this gil reads 7: record it again";
    assert!(refused(before).contains(sentence));
    let nowhere = replay(Path::new("/nonexistent/recording")).err().unwrap();
    assert!(nowhere.contains("cannot read the recording"), "{nowhere}");
    let pipe = replay(Path::new("/dev/null")).err().unwrap();
    assert!(pipe.contains("is no regular file"), "{pipe}");
}

/// Which of the two a call is of is not known.
#[test]
fn two_sessions_of_one_number_are_refused() {
    let mut twice = recording();
    append(&mut twice, &opened(), &[]);
    let error = agent(&twice).err().unwrap_or_default();
    assert!(
        error.contains("two of its sessions have the number 1: record"),
        "{error}"
    );
}

#[test]
fn one_session_more_than_recorded_is_refused() {
    let agent = agent(&recording()).unwrap();
    let _first = Client::open(&agent.address);
    let mut second = Client::connect(&agent.address);
    second.send_open();
    assert!(second.departure().contains("holds 1 session and one more"));
}

#[test]
fn a_session_without_a_call_uses_nothing_of_the_recording() {
    let agent = agent(&recording()).unwrap();
    drop(Client::open(&agent.address));
    // The agent may not have seen the end of the one before yet.
    let open = || {
        let mut client = Client::connect(&agent.address);
        client.send_open();
        let is_open = |reply: Reply<'_>, _: &[u8]| matches!(reply, Reply::Opened { .. });
        client.receive(is_open).unwrap().then_some(client)
    };
    let pause = |_: &i32| std::thread::sleep(Duration::from_millis(10));
    let mut client = (0..1000).inspect(pause).find_map(|_| open()).unwrap();
    assert_eq!(first(&mut client, b"input").status, CallStatus::Ran);
    drop(client);
    // It made a call: that was the recording's only session.
    let mut client = Client::connect(&agent.address);
    client.send_open();
    assert!(client.departure().contains("holds 1 session and one more"));
}

/// Whoever does not ask for locks may write to it all the same.
#[test]
fn a_recording_that_changes_meanwhile_ends_the_run_and_answers_nothing_else() {
    let whole = recording();
    let at = whole.windows(3).position(|it| it == b"out").unwrap();
    let mut other = whole.clone();
    other[at] = b'x';
    let longer = [&FILE.header()[..], &[0; 4096]].concat();
    for changed in [&other[..], &whole[..at], &longer, b""] {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&whole).unwrap();
        let agent = replay(file.path()).unwrap();
        std::fs::write(file.path(), changed).unwrap();
        let mut client = Client::open(&agent.address);
        client.start(FIRST, true, b"args", &REGIONS, &[b"input"]);
        let reason = client.departure();
        let said = format!("the recording {} changed while", file.path().display());
        assert!(reason.starts_with(&said), "{reason}");
    }
}

#[test]
fn a_replayed_recording_is_locked_against_those_that_write_and_for_no_other_replay() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&recording()).unwrap();
    let writes = || {
        let file = file.reopen().unwrap();
        Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno)
    };
    let writing = writes().unwrap();
    let refused = replay(file.path()).err().unwrap();
    let said = "another run writes the recording";
    assert!(refused.contains(said), "{refused}");
    drop(writing);
    let agents = [replay(file.path()).unwrap(), replay(file.path()).unwrap()];
    assert!(writes().is_err());
    for agent in &agents {
        let mut client = Client::open(&agent.address);
        assert_eq!(first(&mut client, b"input").out, [b"out"]);
    }
    drop(agents);
    writes().unwrap();
}
