//! Connections with a key, byte by byte: what a peer without it, with another
//! one, or in between can do. No driver is needed.

mod common;

use common::{Client, connect};
use gil_board::board::{Board, BoardError, Call, Ended, Guest, Outcome, Output, Session};
use gil_board::region::Budget;
use gil_board::server::{Server, ServerOptions, Stopper};
use gil_transport::secure::{Handshake, KEY_LEN, Key, MESSAGE_LEN, Records};
use gil_wire::Op;
use gil_wire::address::Address;
use gil_wire::api::Described;
use gil_wire::hello::{HELLO_LEN, Hello, PROTOCOL_VERSION, SECURE};
use gil_wire::identity::DeviceInfo;
use gil_wire::message::{CallStatus, Direction, RegionDesc};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread::JoinHandle;

const OP: Op = Op::new(1, 1);
const KEY: [u8; KEY_LEN] = [7; KEY_LEN];

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
        let outs = call.regions.into_iter().filter(|r| r.dir().is_out());
        Outcome {
            status: CallStatus::Ran,
            result: call.head.args.to_vec(),
            cpu_ns: 1,
            out: outs.map(Output::whole).collect(),
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
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    fn start(key: Option<Key>) -> Self {
        let options = ServerOptions {
            any_local_user: key.is_none(),
            key,
            ..ServerOptions::default()
        };
        let address = "tcp://127.0.0.1:0".parse().unwrap();
        let (server, stopper) = Server::bind(&address, Arc::new(Echo), options).unwrap();
        let address = server.address().clone();
        let thread = std::thread::spawn(move || server.run().unwrap());
        Self {
            address,
            stopper,
            thread: Some(thread),
        }
    }

    fn private() -> Self {
        Self::start(Some(Key::from_bytes(KEY)))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stopper.stop();
        let joined = self.thread.take().unwrap().join();
        assert!(joined.is_ok() || std::thread::panicking());
    }
}

fn ours() -> [u8; HELLO_LEN] {
    Hello::ours().with_capabilities(SECURE).encode()
}

fn hello(stream: &mut dyn Read) -> [u8; HELLO_LEN] {
    let mut theirs = [0; HELLO_LEN];
    stream.read_exact(&mut theirs).unwrap();
    theirs
}

/// What comes until the agent hangs up.
fn rest(stream: &mut dyn Read) -> Vec<u8> {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => panic!("{error}"),
        _ => rest,
    }
}

/// The handshake of a host with `key`; what it wrote, and its records if the
/// agent took part.
fn shake(stream: &mut (impl Read + Write + ?Sized), key: Key) -> (Vec<u8>, Option<Records>) {
    stream.write_all(&ours()).unwrap();
    let mut theirs = [0; HELLO_LEN];
    stream.read_exact(&mut theirs).unwrap();
    let mut handshake = Handshake::host(&key, ours(), theirs).unwrap();
    let message = handshake.write().unwrap();
    stream.write_all(&message).unwrap();
    let mut answer = [0; MESSAGE_LEN];
    let written = [&ours()[..], &message].concat();
    if stream.read_exact(&mut answer).is_err() {
        return (written, None);
    }
    handshake.read(&answer).unwrap();
    let mut records = handshake.finish().unwrap();
    records.seal_nothing().unwrap();
    stream.write_all(records.sealed()).unwrap();
    let written = [&written[..], records.sealed()].concat();
    records.sent();
    (written, Some(records))
}

/// A stream whose bytes are sealed; remembers what it sent.
struct Sealed<S> {
    stream: S,
    records: Records,
    sent: Vec<u8>,
}

impl<S: Read> Read for Sealed<S> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.records.open(out).map_err(io::Error::other)?;
            if count > 0 || out.is_empty() {
                return Ok(count);
            }
            match self.stream.read(self.records.space())? {
                0 => return Ok(0),
                count => self.records.came(count),
            }
        }
    }
}

impl<S: Write> Write for Sealed<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.records.seal(bytes).map_err(io::Error::other)?;
        self.flush()?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.records.flush().map_err(io::Error::other)?;
        self.stream.write_all(self.records.sealed())?;
        self.sent.extend_from_slice(self.records.sealed());
        self.records.sent();
        Ok(())
    }
}

fn sealed(address: &Address) -> Client {
    let mut stream = connect(address);
    let (sent, records) = shake(&mut *stream, Key::from_bytes(KEY));
    let records = records.expect("the agent has this key");
    Client::new(Box::new(Sealed {
        stream,
        records,
        sent,
    }))
}

#[test]
fn calls_and_bulk_data_cross_sealed() {
    let agent = Agent::private();
    let mut client = sealed(&agent.address);
    client.ping(5).unwrap();
    client.send_open();
    client.expect_opened();
    for len in [0, 1, 40_000, 1_500_000] {
        let data: Vec<u8> = (0..len).map(|i: u32| (i % 251) as u8).collect();
        let region = RegionDesc {
            len: u64::from(len),
            dir: Direction::InOut,
        };
        let done = client.call(OP, b"args", &[region], &[&data]);
        assert_eq!((&done.result[..], &done.out[0]), (&b"args"[..], &data));
    }
}

#[test]
fn a_peer_without_the_key_learns_nothing_but_a_hello() {
    let agent = Agent::private();
    // Nothing is said before a hello came.
    let mut silent = connect(&agent.address);
    silent.write_all(&[7; HELLO_LEN]).unwrap();
    assert_eq!(rest(&mut *silent), []);
    // No key, said openly; or another version, or other APIs.
    let newer = Hello {
        version: PROTOCOL_VERSION + 1,
        ..Hello::decode(&ours()).unwrap()
    };
    for plain in [Hello::ours().encode(), newer.encode()] {
        let mut stream = connect(&agent.address);
        stream.write_all(&plain).unwrap();
        assert_eq!(hello(&mut *stream), ours());
        let _ = stream.write_all(&[0; 100]);
        assert_eq!(rest(&mut *stream), []);
    }
    // Another key, and random bytes for a message.
    let mut stream = connect(&agent.address);
    let (_, records) = shake(&mut *stream, Key::from_bytes([8; KEY_LEN]));
    assert!(records.is_none());
    assert_eq!(rest(&mut *stream), []);
    let mut stream = connect(&agent.address);
    stream.write_all(&ours()).unwrap();
    hello(&mut *stream);
    stream.write_all(&[0x55; MESSAGE_LEN]).unwrap();
    assert_eq!(rest(&mut *stream), []);
    sealed(&agent.address).ping(1).unwrap();
}

#[test]
fn a_recorded_session_opens_none() {
    let agent = Agent::private();
    let mut stream = connect(&agent.address);
    let (mut recorded, records) = shake(&mut *stream, Key::from_bytes(KEY));
    let mut records = records.unwrap();
    records.seal(b"whatever came next").unwrap();
    records.flush().unwrap();
    recorded.extend_from_slice(records.sealed());
    let mut again = connect(&agent.address);
    again.write_all(&recorded).unwrap();
    assert_eq!(hello(&mut *again), ours());
    let answer = rest(&mut *again);
    assert!(
        answer.len() <= MESSAGE_LEN,
        "no more than its half of the handshake"
    );
    sealed(&agent.address).ping(1).unwrap();
}

#[test]
fn a_cut_handshake_leaves_the_agent_as_it_was() {
    let agent = Agent::private();
    let whole = HELLO_LEN + MESSAGE_LEN + 18;
    for cut in [
        0,
        1,
        HELLO_LEN - 1,
        HELLO_LEN,
        HELLO_LEN + 5,
        whole - 20,
        whole - 1,
    ] {
        let mut stream = connect(&agent.address);
        let key = Key::from_bytes(KEY);
        let first = &ours()[..cut.min(HELLO_LEN)];
        stream.write_all(first).unwrap();
        if cut <= HELLO_LEN {
            continue;
        }
        let mut handshake = Handshake::host(&key, ours(), hello(&mut *stream)).unwrap();
        let message = handshake.write().unwrap();
        let second = (cut - HELLO_LEN).min(MESSAGE_LEN);
        stream.write_all(&message[..second]).unwrap();
        if cut > HELLO_LEN + MESSAGE_LEN {
            let partial = vec![0x10; cut - HELLO_LEN - MESSAGE_LEN];
            stream.write_all(&partial).unwrap();
        }
    }
    sealed(&agent.address).ping(1).unwrap();
}

#[test]
fn hellos_that_were_edited_on_their_way_are_found_out() {
    let agent = Agent::private();
    let mut edited = Hello::decode(&ours()).unwrap();
    edited.capabilities |= 1 << 40;
    let mut stream = connect(&agent.address);
    stream.write_all(&edited.encode()).unwrap();
    // The host believes that it sent its own, and got the agent's.
    let theirs = hello(&mut *stream);
    let mut host = Handshake::host(&Key::from_bytes(KEY), ours(), theirs).unwrap();
    stream.write_all(&host.write().unwrap()).unwrap();
    assert_eq!(rest(&mut *stream), []);
}

#[test]
fn a_changed_record_ends_the_session() {
    let agent = Agent::private();
    let mut stream = connect(&agent.address);
    let (_, records) = shake(&mut *stream, Key::from_bytes(KEY));
    let mut records = records.unwrap();
    records.seal(&[1; 50]).unwrap();
    records.flush().unwrap();
    let mut bytes = records.sealed().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    stream.write_all(&bytes).unwrap();
    rest(&mut *stream);
    sealed(&agent.address).ping(1).unwrap();
}

#[test]
fn an_agent_without_a_key_does_not_pretend_to_have_one() {
    let agent = Agent::start(None);
    let mut stream = connect(&agent.address);
    stream.write_all(&ours()).unwrap();
    let theirs = Hello::decode(&hello(&mut *stream)).unwrap();
    assert_eq!(theirs.capabilities & SECURE, 0);
    assert_eq!(rest(&mut *stream), []);
}
