//! A board that does what a script says, and keeps what it was sent.

use gil_transport::window::{CAPABILITY, MAPPED, OFFER_LEN, WINDOW_LEN, places};
use gil_wire::Op;
use gil_wire::address::Address;
use gil_wire::api::{self, Described};
use gil_wire::checkpoint::{PastEvent, Survey};
use gil_wire::ending::Ending;
use gil_wire::frame::{self, PREFIX_LEN, Prefix};
use gil_wire::hello::{HELLO_LEN, Hello};
use gil_wire::identity::{DeviceIdentity, DeviceInfo};
use gil_wire::message::{self, CallStatus, Posted, Reply, Report, Request};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What reached the board.
#[derive(Clone, Debug, PartialEq)]
pub enum Got {
    Open,
    Call(Box<Call>),
    Await(u64),
    Identify(u64),
    NumberFrom(u64),
    Fill(u64, Vec<u8>),
    Past(PastEvent),
    Close,
    Gone,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub seq: u64,
    pub op: Op,
    pub answer: bool,
    pub finish: bool,
    pub event: Option<u64>,
    pub args: Vec<u8>,
    pub payload: Vec<u8>,
    pub in_window: bool,
}

/// What it does about a call.
#[derive(Clone, Debug)]
pub struct Act {
    pub delay: Duration,
    pub status: CallStatus,
    pub result: Vec<u8>,
    pub cpu_ns: u64,
    /// Of that, what calls before took.
    pub posted_ns: u64,
    pub work: Option<u64>,
    pub out: Vec<Vec<u8>>,
    /// Refuses the enqueue with this error.
    pub refuses: Option<i32>,
    /// Event, duration, output.
    pub reports: Vec<(u64, u64, Vec<Vec<u8>>)>,
    /// Told when they are awaited; also by a call without an answer.
    pub later: Vec<Later>,
    /// Hangs up instead.
    pub hang_up: bool,
    /// Never answers.
    pub silent: bool,
    /// The driver said something of a context.
    pub notices: bool,
    /// Answers another call.
    pub answers_another: bool,
    /// Claims more payload than there is.
    pub lie: bool,
    /// Says that output is in a window, whether there is one or not.
    pub claims_window: bool,
}

impl Default for Act {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            status: CallStatus::Ran,
            result: b"result".to_vec(),
            cpu_ns: 0,
            posted_ns: 0,
            out: vec![],
            refuses: None,
            reports: vec![],
            work: None,
            notices: false,
            later: vec![],
            hang_up: false,
            silent: false,
            answers_another: false,
            lie: false,
            claims_window: false,
        }
    }
}

/// How an operation ends that is awaited.
#[derive(Clone, Debug, Default)]
pub struct Later {
    pub event: u64,
    pub duration_ns: u64,
    pub ending: Ending,
    pub out: Vec<Vec<u8>>,
    pub text: Vec<u8>,
    /// It was refused where no answer said so.
    pub rejected: bool,
    /// Tells how this one ended instead.
    pub tells_of: Option<u64>,
    /// Those whose ends are reported with its own.
    pub with: Vec<u64>,
    /// Wall time that it takes.
    pub delay: Duration,
}

pub type Script = Box<dyn FnMut(&Call) -> Act + Send>;

/// What it says of itself, and of its objects, for a checkpoint.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// What it serves; OpenCL as this build describes it, if that is not said.
    pub apis: Option<Vec<Described>>,
    pub devices: Vec<DeviceInfo>,
    /// What is known of a device; its number alone, if that is not said.
    pub identities: HashMap<u64, Option<DeviceIdentity>>,
    pub survey: Survey,
    /// What each object holds.
    pub contents: Vec<u8>,
    /// Why it does not give or take any.
    pub unable: Option<String>,
}

pub struct FakeBoard {
    folder: tempfile::TempDir,
    got: Arc<Mutex<Vec<Got>>>,
    pub objects: Arc<Mutex<Objects>>,
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
        let objects = Arc::new(Mutex::new(Objects::default()));
        let all = objects.clone();
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(Box::new(script)));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, log, objects) = (script.clone(), log.clone(), all.clone());
                std::thread::spawn(move || {
                    serve(stream.unwrap(), hello, &script, &log, &objects);
                    log.lock().unwrap().push(Got::Gone);
                });
            }
        });
        Self {
            folder,
            got,
            objects,
        }
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
    script: &Mutex<Script>,
    log: &Mutex<Vec<Got>>,
    objects: &Mutex<Objects>,
) -> Option<()> {
    stream.write_all(&hello.encode()).ok()?;
    stream.read_exact(&mut [0; HELLO_LEN]).ok()?;
    let window = match hello.capabilities & CAPABILITY {
        0 => None,
        _ => Some(take_window(&mut stream)?),
    };
    let mut out_places = Vec::new();
    let mut later = HashMap::new();
    loop {
        let mut prefix = [0; PREFIX_LEN];
        stream.read_exact(&mut prefix).ok()?;
        let prefix = Prefix::decode(&prefix).expect("a frame");
        let mut header = vec![0; prefix.header_len as usize];
        stream.read_exact(&mut header).ok()?;
        let mut payload = vec![0; prefix.payload_len as usize];
        stream.read_exact(&mut payload).ok()?;
        let window = window.as_ref().filter(|_| prefix.in_window);
        match postcard::from_bytes(&header).expect("a request") {
            Request::Open { .. } => {
                log.lock().unwrap().push(Got::Open);
                let apis = objects.lock().unwrap().apis.clone();
                let apis = apis.unwrap_or_else(|| api::described(&[1]));
                send(&mut stream, &Reply::Opened { apis }, &[], false)?;
            }
            Request::Call(message::Call {
                seq,
                op,
                answer,
                finish,
                event,
                args,
                regions,
                ..
            }) => {
                let args = args.to_vec();
                if let Some(window) = window {
                    let places = places(&regions, WINDOW_LEN).expect("they fit");
                    let placed = || regions.iter().zip(&places);
                    for (region, place) in placed().filter(|(region, _)| region.dir.is_in()) {
                        let mut bytes = vec![0; region.len as usize];
                        window.read_exact_at(&mut bytes, *place).unwrap();
                        payload.extend(bytes);
                    }
                    let outs = placed().filter(|(region, _)| region.dir.is_out());
                    out_places = outs.map(|(_, place)| *place).collect();
                }
                let call = Call {
                    seq,
                    op,
                    answer,
                    finish,
                    event,
                    args,
                    payload,
                    in_window: prefix.in_window,
                };
                log.lock().unwrap().push(Got::Call(Box::new(call.clone())));
                if answer || call.event.is_some() {
                    let mut todo = (script.lock().unwrap())(&call);
                    let told = std::mem::take(&mut todo.later).into_iter();
                    later.extend(told.map(|later| (later.event, later)));
                    if answer {
                        let window = window.map(|w| (w, &out_places[..]));
                        act(&mut stream, &call, todo, window)?;
                    }
                }
            }
            Request::Await { event } => {
                log.lock().unwrap().push(Got::Await(event));
                // Without one it hangs up.
                let first = later.remove(&event)?;
                let others = first.with.iter();
                let others: Vec<Later> = others.map(|one| later[one].clone()).collect();
                end(&mut stream, &first, &others)?;
            }
            Request::Close => {
                log.lock().unwrap().push(Got::Close);
                return None;
            }
            request => {
                let objects = objects.lock().unwrap().clone();
                checkpoint(&mut stream, &request, payload, &objects, log)?;
            }
        }
    }
}

/// Its part in a checkpoint.
fn checkpoint(
    stream: &mut UnixStream,
    request: &Request<'_>,
    payload: Vec<u8>,
    objects: &Objects,
    log: &Mutex<Vec<Got>>,
) -> Option<()> {
    let got = |got| log.lock().unwrap().push(got);
    let unable = objects
        .unable
        .clone()
        .map(|reason| Reply::Unable { reason });
    let (reply, bytes) = match *request {
        Request::Devices => {
            let devices = objects.devices.clone();
            (Reply::Devices { devices }, vec![])
        }
        Request::Identify { device, .. } => {
            let named = || DeviceIdentity {
                place: device.to_string(),
                ..DeviceIdentity::default()
            };
            got(Got::Identify(device));
            let known = objects.identities.get(&device).cloned();
            let identity = known.unwrap_or_else(|| Some(named()));
            (Reply::Identity { identity }, vec![])
        }
        Request::Survey => (Reply::Survey(objects.survey.clone()), vec![]),
        Request::Fetch { .. } if unable.is_none() => (Reply::Contents, objects.contents.clone()),
        Request::Fetch { .. } => (unable?, vec![]),
        Request::NumberFrom { number, .. } => {
            got(Got::NumberFrom(number));
            (unable.unwrap_or(Reply::Restored), vec![])
        }
        Request::Fill { object, .. } => {
            got(Got::Fill(object, payload));
            (unable.unwrap_or(Reply::Restored), vec![])
        }
        Request::Past { event } => {
            got(Got::Past(event));
            (unable.unwrap_or(Reply::Restored), vec![])
        }
        ref other => panic!("unexpected {other:?}"),
    };
    send(stream, &reply, &bytes, false)
}

/// Takes the host's window and says so.
fn take_window(stream: &mut UnixStream) -> Option<File> {
    let mut space = nix::cmsg_space!([i32; 1]);
    let mut bytes = [0; OFFER_LEN];
    let mut data = [std::io::IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::empty();
    let message = recvmsg::<()>(stream.as_raw_fd(), &mut data, Some(&mut space), flags).ok()?;
    let file = message.cmsgs().ok()?.find_map(|attached| match attached {
        // SAFETY: the kernel made it for this message only.
        ControlMessageOwned::ScmRights(files) => Some(unsafe { File::from_raw_fd(files[0]) }),
        _ => None,
    });
    assert_eq!(bytes, WINDOW_LEN.to_le_bytes());
    stream.write_all(&[MAPPED]).ok()?;
    file
}

fn act(
    stream: &mut UnixStream,
    call: &Call,
    act: Act,
    window: Option<(&File, &[u64])>,
) -> Option<()> {
    let begun = std::time::Instant::now();
    std::thread::sleep(act.delay);
    if act.hang_up {
        return None;
    }
    if act.silent {
        return Some(());
    }
    let lens = |out: &[Vec<u8>]| out.iter().map(|bytes| bytes.len() as u64).collect();
    let mut payload = match window {
        None => act.out.concat(),
        Some((window, places)) => {
            for (bytes, place) in act.out.iter().zip(places) {
                window.write_all_at(bytes, *place).unwrap();
            }
            Vec::new()
        }
    };
    let mut reports = Vec::new();
    for (event, duration_ns, out) in &act.reports {
        payload.extend(out.concat());
        reports.push(Report {
            event: *event,
            duration_ns: *duration_ns,
            ending: Ending::Done,
            out: lens(out),
            printed: 0,
            rejected: false,
        });
    }
    if let (Some(event), Some(code)) = (call.event, act.refuses) {
        reports.push(Report {
            event,
            ending: Ending::Failed(code),
            rejected: true,
            ..Report::default()
        });
    }
    let mut out: Vec<u64> = lens(&act.out);
    if act.lie {
        out.push(1 << 40);
    }
    let done = message::Done {
        status: act.status,
        result: &act.result,
        cpu_ns: act.cpu_ns,
        busy_ns: begun.elapsed().as_nanos() as u64,
        out,
        reports,
        notices: act.notices,
    };
    let seq = call.seq + u64::from(act.answers_another);
    let posted = Posted {
        op: call.op,
        calls: 1,
        cpu_ns: act.posted_ns,
        longest_ns: act.posted_ns,
    };
    let posted = if act.posted_ns > 0 {
        vec![posted]
    } else {
        vec![]
    };
    let work = act.work;
    let reply = Reply::Done {
        seq,
        done,
        posted,
        work,
    };
    send(
        stream,
        &reply,
        &payload,
        window.is_some() || act.claims_window,
    )
}

fn end(stream: &mut UnixStream, first: &Later, others: &[Later]) -> Option<()> {
    std::thread::sleep(first.delay);
    let all = || [first].into_iter().chain(others);
    let report = |later: &Later| Report {
        event: later.tells_of.unwrap_or(later.event),
        duration_ns: later.duration_ns,
        ending: later.ending,
        out: later.out.iter().map(|bytes| bytes.len() as u64).collect(),
        printed: later.text.len() as u64,
        rejected: later.rejected,
    };
    let reports = all().map(report).collect();
    let bytes = all().flat_map(|later| [later.out.concat(), later.text.clone()]);
    let payload: Vec<u8> = bytes.flatten().collect();
    let reply = Reply::Ended {
        reports,
        busy_ns: 1,
    };
    send(stream, &reply, &payload, false)
}

fn send(stream: &mut UnixStream, reply: &Reply<'_>, payload: &[u8], in_window: bool) -> Option<()> {
    let mut bytes = Vec::new();
    frame::begin_with(reply, payload.len() as u64, in_window, &mut bytes).unwrap();
    bytes.extend(payload);
    stream.write_all(&bytes).ok()
}
