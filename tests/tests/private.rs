//! The host interface's own client and the agent's own server, with keys and
//! without.

use gil_board::board::{Board, BoardError, Call, Ended, Guest, Outcome, Output, Session};
use gil_board::region::Budget;
use gil_board::server::{Server, ServerOptions, Stopper};
use gil_transport::client::{BoardConfig, Client};
use gil_transport::secure::{KEY_LEN, Key};
use gil_transport::vectored::Span;
use gil_wire::Op;
use gil_wire::address::Address;
use gil_wire::api::Described;
use gil_wire::frame;
use gil_wire::hello::{HELLO_LEN, Hello};
use gil_wire::identity::DeviceInfo;
use gil_wire::message::{self, CallStatus, Direction, RegionDesc, Reply, Request};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// Gives back what it gets.
#[derive(Debug)]
struct Echo;

impl Board for Echo {
    fn devices(&self) -> Vec<DeviceInfo> {
        Vec::new()
    }

    fn open<'b>(&'b self, _: Guest, _: &Budget) -> Result<Box<dyn Session + 'b>, BoardError> {
        Ok(Box::new(Self))
    }
}

impl Session for Echo {
    fn apis(&self) -> Vec<Described> {
        gil_wire::api::described(&[1])
    }

    fn call(&mut self, call: Call<'_>) -> Outcome {
        Outcome {
            status: CallStatus::Ran,
            result: Vec::new(),
            cpu_ns: 1,
            out: call.regions.into_iter().map(Output::whole).collect(),
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

struct Agent {
    address: Address,
    stopper: Stopper,
    _folder: tempfile::TempDir,
}

impl Agent {
    fn start(unix: bool, key: Option<u8>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = match unix {
            true => Address::Unix(folder.path().join("s")),
            false => "tcp://127.0.0.1:0".parse().unwrap(),
        };
        let options = ServerOptions {
            any_local_user: key.is_none(),
            key: key.map(of),
            ..ServerOptions::default()
        };
        let (server, stopper) = Server::bind(&address, Arc::new(Echo), options).unwrap();
        let address = server.address().clone();
        std::thread::spawn(move || server.run());
        Self {
            address,
            stopper,
            _folder: folder,
        }
    }

    fn connect(&self, key: Option<u8>) -> Result<Client, String> {
        let config = BoardConfig {
            address: Some(self.address.clone()),
            key: key.map(of),
            ..BoardConfig::default()
        };
        Client::connect(&config).map_err(|error| error.to_string())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

fn of(byte: u8) -> Key {
    Key::from_bytes([byte; KEY_LEN])
}

fn open(client: &mut Client) {
    let open = Request::Open {
        process: 1,
        pointer_bits: 64,
        finish: gil_wire::finish::Finish::Program,
    };
    client.send_message(&open).unwrap();
    let reply = client.reply().unwrap().header;
    let opened = postcard::from_bytes(&reply).unwrap();
    assert!(matches!(opened, Reply::Opened { .. }), "{opened:?}");
}

/// One region there and back, in pieces as guest RAM has them.
fn echo(client: &mut Client, bytes: &[u8]) -> Vec<u8> {
    let call = Request::Call(message::Call {
        seq: 1,
        op: Op::new(1, 1),
        thread: 1,
        answer: true,
        finish: true,
        event: None,
        args: &[],
        regions: vec![RegionDesc {
            len: bytes.len() as u64,
            dir: Direction::InOut,
        }],
    });
    let mut head = Vec::new();
    frame::begin(&call, bytes.len() as u64, &mut head).unwrap();
    let pieces = bytes.chunks(70_001).map(Span::source);
    client
        .send([Span::source(&head)].into_iter().chain(pieces))
        .unwrap();
    let reply = client.reply().unwrap();
    assert_eq!(reply.payload_len, bytes.len() as u64);
    let mut back = vec![0; bytes.len()];
    client
        .payload(back.chunks_mut(4096).map(Span::target))
        .unwrap();
    back
}

#[test]
fn sessions_with_a_key_work_as_those_without() {
    for (unix, key) in [(true, Some(1)), (false, Some(1)), (false, None)] {
        let agent = Agent::start(unix, key);
        let mut client = agent.connect(key).unwrap();
        assert!(client.window().is_none());
        open(&mut client);
        for len in [0, 1, 40_000, 1_000_003] {
            let data: Vec<u8> = (0..len).map(|i: u32| (i % 251) as u8).collect();
            assert_eq!(echo(&mut client, &data), data);
        }
    }
}

#[test]
fn keys_that_do_not_fit_are_told_in_a_sentence() {
    let private = Agent::start(false, Some(1));
    let reason = private.connect(Some(2)).unwrap_err();
    assert!(reason.contains("did not take this key"), "{reason}");
    let reason = private.connect(None).unwrap_err();
    assert!(reason.contains("--key FILE"), "{reason}");
    private.connect(Some(1)).unwrap();
    for unix in [true, false] {
        let open = Agent::start(unix, None);
        let reason = open.connect(Some(1)).unwrap_err();
        assert!(reason.contains("has no key, so its identity"), "{reason}");
        open.connect(None).unwrap();
    }
}

/// A board that resets so many connections before it says hello to one; its
/// address.
fn crowded(times: usize) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let mut stream = stream;
            // What is not read is lost, so the connection is reset.
            let _ = stream.read_exact(&mut [0; 1]);
            if number < times {
                continue;
            }
            let _ = stream.read_exact(&mut [0; HELLO_LEN - 1]);
            let _ = stream.write_all(&Hello::ours().encode());
        }
    });
    let host = "127.0.0.1".into();
    Address::Tcp { host, port }
}

#[test]
fn a_crowded_board_is_tried_again_within_bounds_and_it_is_said_once() {
    let config = |times, timeout| BoardConfig {
        address: Some(crowded(times)),
        timeout: Some(timeout),
        ..BoardConfig::default()
    };
    let mut said = Vec::new();
    let patient = config(3, Duration::from_secs(60));
    Client::connect_saying(&patient, &mut |text| said.push(text)).unwrap();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("trying again for up to 10 s"), "{said:?}");
    let hasty = config(usize::MAX, Duration::from_millis(400));
    let reason = Client::connect(&hasty).unwrap_err().to_string();
    assert!(reason.contains("within 0.4 s"), "{reason}");
    let quit = config(usize::MAX, Duration::from_secs(60));
    quit.cancel.set();
    let reason = Client::connect(&quit).unwrap_err().to_string();
    assert!(reason.contains("cancelled"), "{reason}");
}
