//! A board that does what a script says, and keeps what it was sent.

use gil_wire::Op;
use gil_wire::address::Address;
use gil_wire::frame::{self, PREFIX_LEN, Prefix};
use gil_wire::hello::{HELLO_LEN, Hello};
use gil_wire::message::{CallStatus, Reply, Report, Request};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What reached the board.
#[derive(Clone, Debug, PartialEq)]
pub enum Got {
    Open,
    Call(Box<Call>),
    Close,
    Gone,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub seq: u64,
    pub op: Op,
    pub answer: bool,
    pub args: Vec<u8>,
    pub payload: Vec<u8>,
}

/// What it does about a call.
#[derive(Clone, Debug)]
pub struct Act {
    pub delay: Duration,
    pub status: CallStatus,
    pub cpu_ns: u64,
    pub out: Vec<Vec<u8>>,
    /// Submission, duration, output.
    pub reports: Vec<(u64, u64, Vec<Vec<u8>>)>,
    /// Hangs up instead.
    pub hang_up: bool,
    /// Never answers.
    pub silent: bool,
    /// Claims more payload than there is.
    pub lie: bool,
}

impl Default for Act {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            status: CallStatus::Ran,
            cpu_ns: 0,
            out: vec![],
            reports: vec![],
            hang_up: false,
            silent: false,
            lie: false,
        }
    }
}

pub type Script = Box<dyn FnMut(&Call) -> Act + Send>;

pub struct FakeBoard {
    folder: tempfile::TempDir,
    got: Arc<Mutex<Vec<Got>>>,
}

impl FakeBoard {
    pub fn new(script: impl FnMut(&Call) -> Act + Send + 'static) -> Self {
        Self::with_hello(Hello::ours(), script)
    }

    /// Answers each call with the next act.
    pub fn acts(acts: impl IntoIterator<Item = Act>) -> Self {
        let mut acts = acts.into_iter().collect::<Vec<_>>().into_iter();
        Self::new(move |_| acts.next().expect("as many acts as calls"))
    }

    pub fn with_hello(hello: Hello, script: impl FnMut(&Call) -> Act + Send + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("board")).unwrap();
        let got = Arc::new(Mutex::new(Vec::new()));
        let log = got.clone();
        let mut script: Script = Box::new(script);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                serve(stream.unwrap(), hello, &mut script, &log);
                log.lock().unwrap().push(Got::Gone);
            }
        });
        Self { folder, got }
    }

    pub fn address(&self) -> Address {
        Address::Unix(self.folder.path().join("board"))
    }

    pub fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    pub fn calls(&self) -> Vec<Call> {
        let calls = self.got().into_iter().filter_map(|got| match got {
            Got::Call(call) => Some(*call),
            _ => None,
        });
        calls.collect()
    }

    /// Waits until the board got this.
    pub fn wait_for(&self, wanted: &Got) {
        let start = std::time::Instant::now();
        while !self.got().contains(wanted) {
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "{:?}",
                self.got()
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn serve(
    mut stream: UnixStream,
    hello: Hello,
    script: &mut Script,
    log: &Mutex<Vec<Got>>,
) -> Option<()> {
    stream.write_all(&hello.encode()).ok()?;
    stream.read_exact(&mut [0; HELLO_LEN]).ok()?;
    loop {
        let mut prefix = [0; PREFIX_LEN];
        stream.read_exact(&mut prefix).ok()?;
        let prefix = Prefix::decode(&prefix).expect("a frame");
        let mut header = vec![0; prefix.header_len as usize];
        stream.read_exact(&mut header).ok()?;
        let mut payload = vec![0; prefix.payload_len as usize];
        stream.read_exact(&mut payload).ok()?;
        match postcard::from_bytes(&header).expect("a request") {
            Request::Open { .. } => {
                log.lock().unwrap().push(Got::Open);
                send(&mut stream, &Reply::Opened, &[])?;
            }
            Request::Call {
                seq,
                op,
                answer,
                args,
                ..
            } => {
                let args = args.to_vec();
                let call = Call {
                    seq,
                    op,
                    answer,
                    args,
                    payload,
                };
                log.lock().unwrap().push(Got::Call(Box::new(call.clone())));
                if answer {
                    act(&mut stream, &call, script(&call))?;
                }
            }
            Request::Close => {
                log.lock().unwrap().push(Got::Close);
                return None;
            }
            other => panic!("unexpected {other:?}"),
        }
    }
}

fn act(stream: &mut UnixStream, call: &Call, act: Act) -> Option<()> {
    let begun = std::time::Instant::now();
    std::thread::sleep(act.delay);
    if act.hang_up {
        return None;
    }
    if act.silent {
        return Some(());
    }
    let lens = |out: &[Vec<u8>]| out.iter().map(|bytes| bytes.len() as u64).collect();
    let mut payload = act.out.concat();
    let mut reports = Vec::new();
    for (seq, duration_ns, out) in &act.reports {
        payload.extend(out.concat());
        reports.push(Report {
            seq: *seq,
            duration_ns: *duration_ns,
            status: 0,
            out: lens(out),
        });
    }
    let mut out: Vec<u64> = lens(&act.out);
    if act.lie {
        out.push(1 << 40);
    }
    let reply = Reply::Done {
        seq: call.seq,
        status: act.status,
        result: b"result",
        cpu_ns: act.cpu_ns,
        busy_ns: begun.elapsed().as_nanos() as u64,
        out,
        reports,
    };
    send(stream, &reply, &payload)
}

fn send(stream: &mut UnixStream, reply: &Reply<'_>, payload: &[u8]) -> Option<()> {
    let mut bytes = Vec::new();
    frame::begin(reply, payload.len() as u64, &mut bytes).unwrap();
    bytes.extend(payload);
    stream.write_all(&bytes).ok()
}
