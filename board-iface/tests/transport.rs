//! The transport with a board that echoes: no driver is needed.

mod common;

use common::{Client, connect};
use gil_board::board::{Board, BoardError, Call, Ended, Guest, Outcome, Output, Session};
use gil_board::region::{Budget, Region};
use gil_board::server::{Server, ServerOptions, Stopper};
use gil_board::session::{ScriptedTimes, SessionOptions};
use gil_wire::Op;
use gil_wire::address::Address;
use gil_wire::api::Described;
use gil_wire::frame::{MAX_HEADER, PREFIX_LEN};
use gil_wire::hello::{HELLO_LEN, Hello, PROTOCOL_VERSION};
use gil_wire::identity::DeviceInfo;
use gil_wire::message::{self, CallStatus, Direction, REGIONS_MAX, RegionDesc, Request};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Turns every `InOut` region around and counts what lives.
#[derive(Debug, Default)]
struct Echo {
    sessions: Arc<AtomicUsize>,
}

struct EchoSession(Arc<AtomicUsize>);

impl Board for Echo {
    fn devices(&self) -> Vec<DeviceInfo> {
        Vec::new()
    }

    fn open<'b>(&'b self, _: Guest, _: &Budget) -> Result<Box<dyn Session + 'b>, BoardError> {
        self.sessions.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(EchoSession(self.sessions.clone())))
    }
}

impl Session for EchoSession {
    fn apis(&self) -> Vec<Described> {
        gil_wire::api::described(&[1])
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        let outs = call.regions.into_iter().filter(|r| r.dir().is_out());
        let turned = outs.map(|mut region: Region| {
            region.bytes_mut().reverse();
            Output::whole(region)
        });
        Outcome {
            status: CallStatus::Ran,
            result: call.head.args.to_vec(),
            cpu_ns: 1,
            out: turned.collect(),
            ended: Vec::new(),
            work: None,
            notices: false,
            posted: Vec::new(),
        }
    }

    fn finish(&mut self, _: u64, _: &Budget) -> Option<Ended> {
        None
    }
}

impl Drop for EchoSession {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Agent {
    address: Address,
    sessions: Arc<AtomicUsize>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    fn start(listen: &str, options: ServerOptions) -> Self {
        let board = Echo::default();
        let sessions = board.sessions.clone();
        let (server, stopper) =
            Server::bind(&listen.parse().unwrap(), Arc::new(board), options).unwrap();
        let address = server.address().clone();
        let thread = std::thread::spawn(move || server.run().unwrap());
        Self {
            address,
            sessions,
            stopper,
            thread: Some(thread),
        }
    }

    fn tcp() -> Self {
        Self::with(SessionOptions::default())
    }

    fn with(session: SessionOptions) -> Self {
        let options = ServerOptions {
            any_local_user: true,
            session,
            ..ServerOptions::default()
        };
        Self::start("tcp://127.0.0.1:0", options)
    }

    fn wait_for_sessions(&self, count: usize) {
        let until = Instant::now() + Duration::from_secs(10);
        while self.sessions.load(Ordering::SeqCst) != count {
            assert!(Instant::now() < until, "sessions never became {count}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stopper.stop();
        let joined = self.thread.take().unwrap().join();
        assert!(joined.is_ok() || std::thread::panicking());
        assert_eq!(self.sessions.load(Ordering::SeqCst), 0);
    }
}

const OP: Op = Op::new(1, 1);

fn region(len: usize, dir: Direction) -> RegionDesc {
    let len = len as u64;
    RegionDesc { len, dir }
}

#[test]
fn calls_and_regions_cross_tcp_and_unix_sockets() {
    let dir = tempfile::tempdir().unwrap();
    let unix = format!("unix:{}/agent", dir.path().display());
    let of_unix = Agent::start(&unix, ServerOptions::default());
    for agent in [Agent::tcp(), of_unix] {
        let mut client = Client::open(&agent.address);
        client.ping(7).unwrap();
        let big: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
        let regions = [
            region(5, Direction::In),
            region(big.len(), Direction::InOut),
            region(4, Direction::Out),
            region(0, Direction::InOut),
        ];
        let done = client.call(OP, b"args", &regions, &[b"input", &big]);
        assert_eq!(
            (done.status, &done.result[..]),
            (CallStatus::Ran, &b"args"[..])
        );
        let turned: Vec<u8> = big.iter().rev().copied().collect();
        assert_eq!(done.out, [turned, vec![0; 4], vec![]]);
        assert!(done.busy_ns > 0);
    }
}

#[test]
fn posts_get_no_answer_and_keep_their_order() {
    let agent = Agent::tcp();
    let mut client = Client::open(&agent.address);
    for _ in 0..100 {
        client.start(OP, false, b"post", &[region(2, Direction::In)], &[b"ab"]);
    }
    assert_eq!(client.call(OP, b"last", &[], &[]).seq, 101);
}

#[test]
fn other_versions_are_told_both_sides_values() {
    let agent = Agent::tcp();
    let newer = Hello {
        version: PROTOCOL_VERSION + 1,
        ..Hello::ours()
    };
    let reason = Client::hello(&agent.address, &newer).refusal();
    let theirs = format!("version {}", newer.version);
    let ours = format!("speaks {PROTOCOL_VERSION}");
    assert!(
        reason.contains(&theirs) && reason.contains(&ours),
        "{reason}"
    );
}

#[test]
fn what_breaks_the_protocol_is_refused_in_a_sentence() {
    let agent = Agent::tcp();
    let call = |regions: Vec<RegionDesc>| {
        Request::Call(message::Call {
            seq: 1,
            op: OP,
            thread: 1,
            answer: true,
            finish: true,
            event: None,
            args: b"",
            regions,
        })
    };
    let mut client = Client::connect(&agent.address);
    client.send(&call(vec![]), &[]);
    assert!(client.refusal().contains("before the session was opened"));

    let mut client = Client::open(&agent.address);
    client.send_open();
    assert!(client.refusal().contains("open already"));

    let mut client = Client::open(&agent.address);
    client.send(&call(vec![region(3, Direction::In)]), &[b"four"]);
    let reason = client.refusal();
    assert!(
        reason.contains("announces 3 bytes") && reason.contains("brings 4"),
        "{reason}"
    );

    let mut client = Client::open(&agent.address);
    client.stream.write_all(&[0xff; PREFIX_LEN]).unwrap();
    assert!(client.refusal().contains(&MAX_HEADER.to_string()));

    let mut client = Client::connect(&agent.address);
    let open = Request::Open {
        process: 1,
        pointer_bits: 16,
        finish: gil_wire::finish::Finish::Program,
    };
    client.send(&open, &[]);
    assert!(client.refusal().contains("16 bits"));
}

#[test]
fn a_call_has_a_bounded_number_of_regions() {
    let agent = Agent::tcp();
    let mut client = Client::open(&agent.address);
    let most = vec![region(0, Direction::Out); REGIONS_MAX];
    let done = client.call(OP, b"", &most, &[]);
    assert_eq!(done.status, CallStatus::Ran);
    let more = vec![region(0, Direction::Out); REGIONS_MAX + 1];
    client.start(OP, true, b"", &more, &[]);
    let reason = client.refusal();
    assert!(reason.contains("65 regions, the bound is 64"), "{reason}");
}

#[test]
fn a_call_over_the_memory_bound_is_refused_and_the_session_goes_on() {
    let agent = Agent::with(SessionOptions {
        memory: 1000,
        ..SessionOptions::default()
    });
    let mut client = Client::open(&agent.address);
    let big = [1; 600];
    let regions = [region(600, Direction::In), region(401, Direction::Out)];
    let done = client.call(OP, b"", &regions, &[&big]);
    assert_eq!(done.status, CallStatus::Refused);
    assert!(done.reason().contains("1001 bytes"), "{}", done.reason());
    let done = client.call(OP, b"", &[region(1000, Direction::Out)], &[]);
    assert_eq!(done.status, CallStatus::Ran);
}

#[test]
fn the_65th_session_is_refused_until_one_ends() {
    let agent = Agent::tcp();
    let mut clients: Vec<Client> = (0..64).map(|_| Client::open(&agent.address)).collect();
    agent.wait_for_sessions(64);
    let reason = Client::connect(&agent.address).refusal();
    assert!(reason.contains("64 sessions"), "{reason}");
    clients.truncate(63);
    agent.wait_for_sessions(63);
    Client::open(&agent.address);
    for client in &mut clients {
        assert_eq!(client.call(OP, b"", &[], &[]).status, CallStatus::Ran);
    }
}

#[test]
fn a_client_that_vanishes_ends_its_session() {
    let agent = Agent::tcp();
    let mut client = Client::open(&agent.address);
    agent.wait_for_sessions(1);
    client.start(OP, true, b"", &[], &[]);
    // Half a message.
    client.stream.write_all(&[200, 0, 0]).unwrap();
    drop(client);
    agent.wait_for_sessions(0);
}

#[test]
fn stopping_ends_open_sessions() {
    let agent = Agent::tcp();
    let mut client = Client::open(&agent.address);
    drop(agent);
    assert!(client.receive(|_, _| ()).is_err());
}

#[test]
fn scripted_times_and_delays_are_as_given() {
    let agent = Agent::with(SessionOptions {
        scripted: Some(ScriptedTimes {
            cpu_ns: 1234,
            device_ns: 5,
        }),
        delay: Duration::from_millis(50),
        ..SessionOptions::default()
    });
    let mut client = Client::open(&agent.address);
    let began = Instant::now();
    let done = client.call(OP, b"", &[], &[]);
    assert!(began.elapsed() >= Duration::from_millis(50));
    assert_eq!(done.cpu_ns, 1234);
    assert!(
        done.busy_ns < 50_000_000,
        "the delay is not the board's work"
    );
}

/// Everything the agent has to say to these bytes, until it hangs up.
fn say(address: &Address, bytes: &[u8]) {
    let mut stream = connect(address);
    let half_closed = |error: &std::io::Error| {
        use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
        matches!(error.kind(), BrokenPipe | ConnectionReset)
    };
    if let Err(error) = stream.write_all(bytes) {
        assert!(half_closed(&error), "{error}");
    }
    // Before a whole hello nothing is said.
    if bytes.len() >= HELLO_LEN {
        let _ = stream.read(&mut [0; HELLO_LEN]);
    }
}

#[test]
fn random_bytes_are_an_error_and_never_a_crash() {
    let agent = Agent::tcp();
    let mut witness = Client::open(&agent.address);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    let after_hello = prop::collection::vec(any::<u8>(), 0..300);
    // No hello; a hello and garbage; a frame with small lengths and garbage.
    let inputs = (0u8..3, after_hello).prop_map(|(kind, garbage)| {
        let mut bytes = Vec::new();
        if kind > 0 {
            bytes.extend(Hello::ours().encode());
        }
        if kind > 1 {
            bytes.extend((garbage.len() as u32 / 2).to_le_bytes());
            bytes.extend((garbage.len() as u64 / 2).to_le_bytes());
        }
        bytes.extend(garbage);
        bytes
    });
    runner
        .run(&inputs, |bytes| {
            say(&agent.address, &bytes);
            Ok(())
        })
        .unwrap();
    assert_eq!(witness.call(OP, b"alive", &[], &[]).result, b"alive");
}
