//! A small client that speaks the protocol to an agent.
#![allow(dead_code, reason = "each test program uses its part")]

pub mod agent;
pub mod driver;
pub mod ioctls;
pub mod program;
pub mod window;

use gil_transport::window::{WINDOW_LEN, places};
use gil_wire::Op;
use gil_wire::address::Address;
use gil_wire::frame::{self, PREFIX_LEN, Prefix};
use gil_wire::hello::{HELLO_LEN, Hello};
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::{Call, CallStatus, RegionDesc, Reply, Report, Request};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A stream of either kind.
pub trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

pub struct Client {
    pub stream: Box<dyn Stream>,
    next: u64,
    /// Whether operations end before their calls are answered.
    pub finish: bool,
    /// The thread that calls.
    pub thread: u32,
    /// The event that the next call signals.
    pub event: Option<u64>,
    /// Shared with the agent.
    pub window: Option<File>,
    pub window_len: u64,
    pub answers_in_window: usize,
    /// Where the last call's out regions are in the window.
    out_places: Vec<u64>,
    /// Ends that came with others.
    early: HashMap<u64, End>,
}

/// How an operation ended, its output, its text.
pub type End = (Report, Vec<Vec<u8>>, Vec<u8>);

/// [`Reply::Done`] with its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    pub seq: u64,
    pub status: CallStatus,
    pub result: Vec<u8>,
    pub cpu_ns: u64,
    pub busy_ns: u64,
    pub out: Vec<Vec<u8>>,
    pub reports: Vec<(Report, Vec<Vec<u8>>)>,
    pub notices: bool,
}

impl Done {
    pub fn reason(&self) -> String {
        assert_ne!(self.status, CallStatus::Ran);
        String::from_utf8(self.result.clone()).unwrap()
    }
}

pub fn connect(address: &Address) -> Box<dyn Stream> {
    const LIMIT: Option<Duration> = Some(Duration::from_secs(60));
    match address {
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port)).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(LIMIT).unwrap();
            Box::new(stream)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).unwrap();
            stream.set_read_timeout(LIMIT).unwrap();
            Box::new(stream)
        }
    }
}

impl Client {
    /// Connects and exchanges hellos.
    pub fn connect(address: &Address) -> Self {
        Self::hello(address, &Hello::ours())
    }

    pub fn hello(address: &Address, hello: &Hello) -> Self {
        let mut stream = connect(address);
        stream.write_all(&hello.encode()).unwrap();
        let mut theirs = [0; HELLO_LEN];
        stream.read_exact(&mut theirs).unwrap();
        let theirs = Hello::decode(&theirs).unwrap();
        assert_eq!(theirs.with_capabilities(0), Hello::ours());
        // Who is refused is offered none.
        let is_local = matches!(address, Address::Unix(_));
        assert!(theirs.capabilities <= u64::from(is_local));
        Self::new(stream)
    }

    /// On a connection whose handshake is done.
    pub fn new(stream: Box<dyn Stream>) -> Self {
        Self {
            stream,
            next: 0,
            finish: true,
            thread: 1,
            event: None,
            window: None,
            window_len: WINDOW_LEN,
            answers_in_window: 0,
            out_places: Vec::new(),
            early: HashMap::new(),
        }
    }

    /// Connects and opens a session of a 64-bit program.
    pub fn open(address: &Address) -> Self {
        let mut client = Self::connect(address);
        client.send_open();
        client.expect_opened();
        client
    }

    pub fn send_open(&mut self) {
        let open = Request::Open {
            process: 42,
            pointer_bits: 64,
            finish: gil_wire::finish::Finish::Program,
        };
        self.send(&open, &[]);
    }

    pub fn expect_opened(&mut self) {
        self.receive(|reply, _| assert!(matches!(reply, Reply::Opened { .. })))
            .unwrap();
    }

    pub fn send(&mut self, request: &Request<'_>, payload: &[&[u8]]) {
        let len = payload.iter().map(|piece| piece.len() as u64).sum();
        let mut bytes = Vec::new();
        frame::begin(request, len, &mut bytes).unwrap();
        payload.iter().for_each(|piece| bytes.extend(*piece));
        self.stream.write_all(&bytes).unwrap();
    }

    /// Sends a request whose regions are said to be in the window.
    pub fn send_in_window(&mut self, request: &Request<'_>) {
        let mut bytes = Vec::new();
        frame::begin_with(request, 0, true, &mut bytes).unwrap();
        self.stream.write_all(&bytes).unwrap();
    }

    /// Puts a call's input into the window, if it fits.
    fn put(&mut self, regions: &[RegionDesc], payload: &[&[u8]]) -> bool {
        let Some(window) = &self.window else {
            return false;
        };
        let Some(places) = places(regions, self.window_len) else {
            return false;
        };
        let placed = || regions.iter().zip(&places);
        let ins = placed().filter(|(region, _)| region.dir.is_in());
        for ((_, place), bytes) in ins.zip(payload) {
            window.write_all_at(bytes, *place).unwrap();
        }
        let outs = placed().filter(|(region, _)| region.dir.is_out());
        self.out_places = outs.map(|(_, place)| *place).collect();
        true
    }

    /// Reads a reply with its payload; an error if the agent hung up.
    pub fn receive<R>(&mut self, read: impl FnOnce(Reply<'_>, &[u8]) -> R) -> io::Result<R> {
        self.receive_from(|reply, payload, _| read(reply, payload))
    }

    /// The same, with the window if the call's own output is there.
    fn receive_from<R>(
        &mut self,
        read: impl FnOnce(Reply<'_>, &[u8], Option<(&File, &[u64])>) -> R,
    ) -> io::Result<R> {
        let mut prefix = [0; PREFIX_LEN];
        self.stream.read_exact(&mut prefix)?;
        let prefix = Prefix::decode(&prefix).unwrap();
        let mut header = vec![0; prefix.header_len as usize];
        self.stream.read_exact(&mut header)?;
        let mut payload = vec![0; prefix.payload_len as usize];
        self.stream.read_exact(&mut payload)?;
        self.answers_in_window += usize::from(prefix.in_window);
        let window = prefix
            .in_window
            .then(|| (self.window.as_ref().unwrap(), &self.out_places[..]));
        let reply = postcard::from_bytes(&header).unwrap();
        Ok(read(reply, &payload, window))
    }

    /// The sentence of a refusal.
    pub fn refusal(&mut self) -> String {
        self.receive(|reply, _| match reply {
            Reply::Refused { reason } => reason,
            other => panic!("{other:?}"),
        })
        .unwrap()
    }

    /// Where the run departs from the recording.
    pub fn departure(&mut self) -> String {
        self.receive(|reply, _| match reply {
            Reply::Departed { reason } => reason,
            other => panic!("{other:?}"),
        })
        .unwrap()
    }

    pub fn ping(&mut self, nonce: u64) -> io::Result<()> {
        let mut bytes = Vec::new();
        frame::begin(&Request::Ping { nonce }, 0, &mut bytes).unwrap();
        self.stream.write_all(&bytes)?;
        let answered = self.receive(|reply, _| reply == Reply::Pong { nonce })?;
        answered
            .then_some(())
            .ok_or(io::ErrorKind::ConnectionRefused.into())
    }

    /// Sends a call; returns its number.
    pub fn start(
        &mut self,
        op: Op,
        answer: bool,
        args: &[u8],
        regions: &[RegionDesc],
        payload: &[&[u8]],
    ) -> u64 {
        self.next += 1;
        let call = Request::Call(Call {
            seq: self.next,
            op,
            thread: self.thread,
            answer,
            finish: self.finish,
            event: self.event.take(),
            args,
            regions: regions.to_vec(),
        });
        match answer && !regions.is_empty() && self.put(regions, payload) {
            true => self.send_in_window(&call),
            false => self.send(&call, payload),
        }
        self.next
    }

    /// Sends a call and reads its answer.
    pub fn call(&mut self, op: Op, args: &[u8], regions: &[RegionDesc], payload: &[&[u8]]) -> Done {
        let seq = self.start(op, true, args, regions, payload);
        let done = self.done();
        assert_eq!(done.seq, seq);
        done
    }

    /// Which physical device it is.
    pub fn identity(&mut self, api: u16, device: u64) -> Option<DeviceIdentity> {
        self.send(&Request::Identify { api, device }, &[]);
        let received = self.receive(|reply, _| match reply {
            Reply::Identity { identity } => identity,
            other => panic!("{other:?}"),
        });
        received.unwrap()
    }

    /// How an operation ended, which is asked for unless that came with another.
    pub fn ended(&mut self, event: u64) -> End {
        if !self.early.contains_key(&event) {
            let all = self.ended_with(event);
            let ends = all.into_iter().map(|end| (end.0.event, end));
            self.early.extend(ends);
        }
        self.early.remove(&event).expect("what was asked for")
    }

    /// Asks how an operation ended.
    pub fn ask(&mut self, event: u64) {
        self.send(&Request::Await { event }, &[]);
    }

    /// Awaits an operation; how it ended, and others that had ended by then.
    pub fn ended_with(&mut self, event: u64) -> Vec<End> {
        self.ask(event);
        self.receive(|reply, payload| {
            let Reply::Ended { reports, .. } = reply else {
                panic!("{reply:?}");
            };
            let mut rest = payload;
            let mut cut = |len: &u64| rest.split_off(..*len as usize).unwrap().to_vec();
            let end = |report: Report| {
                let out = report.out.iter().map(&mut cut).collect();
                let text = cut(&report.printed);
                (report, out, text)
            };
            let all = reports.into_iter().map(end).collect();
            assert!(rest.is_empty());
            all
        })
        .unwrap()
    }

    pub fn done(&mut self) -> Done {
        self.receive_from(|reply, payload, window| match reply {
            Reply::Done { seq, done, .. } => {
                let mut rest = payload;
                let mut cut = |lens: &[u64]| -> Vec<Vec<u8>> {
                    let piece = |len: &u64| {
                        let (piece, after) = rest.split_at(*len as usize);
                        rest = after;
                        piece.to_vec()
                    };
                    lens.iter().map(piece).collect()
                };
                let out = match window {
                    None => cut(&done.out),
                    Some((file, places)) => {
                        let read = |(&len, &place): (&u64, &u64)| {
                            let mut bytes = vec![0; len as usize];
                            file.read_exact_at(&mut bytes, place).unwrap();
                            bytes
                        };
                        done.out.iter().zip(places).map(read).collect()
                    }
                };
                assert!(done.reports.iter().all(|report| report.printed == 0));
                let reports = done.reports.into_iter().map(|r| (r.clone(), cut(&r.out)));
                let reports = reports.collect();
                assert!(rest.is_empty());
                Done {
                    seq,
                    status: done.status,
                    result: done.result.to_vec(),
                    cpu_ns: done.cpu_ns,
                    busy_ns: done.busy_ns,
                    out,
                    reports,
                    notices: done.notices,
                }
            }
            other => panic!("{other:?}"),
        })
        .unwrap()
    }
}
