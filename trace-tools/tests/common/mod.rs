//! Small recordings, made by hand.

#![allow(dead_code)] // Each test uses a part.

use gil_files::container::{self, Compression};
use gil_files::recording::{
    Called, Costs, Device, Ended, FILE, Record, SessionClosed, SessionOpened,
};
use gil_trace::{Trace, TraceError};
use gil_wire::ending::Ending;
use gil_wire::identity::DeviceIdentity;
use gil_wire::message::{Call, CallStatus, Direction, Done, Posted, RegionDesc, Report};
use gil_wire::{Op, api};
use std::path::{Path, PathBuf};

/// The operation of this name.
pub fn op(name: &str) -> Op {
    let mut all = gil_wire::generated::APIS.iter().flat_map(|api| {
        let calls = api.calls.iter();
        calls.map(|call| (call.name, Op::new(api.number, call.entry)))
    });
    all.find(|(of, _)| *of == name).unwrap().1
}

/// A recording that is being made.
pub struct Made {
    pub bytes: Vec<u8>,
    /// Where each record begins.
    pub starts: Vec<usize>,
    compression: Compression,
}

impl Made {
    pub fn new(compression: Compression) -> Self {
        Self {
            bytes: FILE.header().to_vec(),
            starts: Vec::new(),
            compression,
        }
    }

    pub fn add(&mut self, record: &Record<'_>, payload: &[&[u8]]) -> &mut Self {
        self.starts.push(self.bytes.len());
        let pieces = container::pieces(record, payload, self.compression).unwrap();
        self.bytes.extend(pieces.concat());
        self
    }

    pub fn open(&mut self, session: u64) -> &mut Self {
        let opened = SessionOpened {
            session,
            process: 100 + session as u32,
            pointer_bits: 64,
            apis: api::described(&[1, 3]),
        };
        self.add(&Record::SessionOpened(opened), &[])
    }

    pub fn close(&mut self, session: u64) -> &mut Self {
        self.add(&Record::SessionClosed(SessionClosed { session }), &[])
    }

    pub fn call(&mut self, called: Called<'_>, payload: &[&[u8]]) -> &mut Self {
        self.add(&Record::Call(called), payload)
    }
}

pub fn called(session: u64, seq: u64, name: &str) -> Called<'static> {
    Called {
        session,
        call: Call {
            seq,
            op: op(name),
            thread: 7,
            answer: true,
            finish: false,
            event: None,
            args: b"args",
            regions: Vec::new(),
        },
        done: Some(done(1_000 * seq)),
    }
}

pub fn done(cpu_ns: u64) -> Done<'static> {
    Done {
        status: CallStatus::Ran,
        result: b"\0",
        cpu_ns,
        busy_ns: cpu_ns + 500,
        out: Vec::new(),
        reports: Vec::new(),
        notices: false,
    }
}

pub fn region(len: u64, dir: Direction) -> RegionDesc {
    RegionDesc { len, dir }
}

pub fn report(event: u64, duration_ns: u64) -> Report {
    Report {
        event,
        duration_ns,
        ending: Ending::Done,
        out: Vec::new(),
        printed: 0,
        rejected: false,
    }
}

pub fn post(session: u64, seq: u64, name: &str) -> Called<'static> {
    let mut called = called(session, seq, name);
    (called.call.answer, called.done) = (false, None);
    called
}

pub fn ended(session: u64, report: Report) -> Record<'static> {
    Record::Ended(Ended {
        session,
        report,
        busy_ns: 10,
    })
}

/// 300 bytes go to a buffer, 4 come back, posts draw; in a second session nothing is asked
/// for but a device.
pub fn small(compression: Compression) -> Made {
    let mut made = Made::new(compression);
    made.open(1).open(2);
    let mut write = called(1, 1, "clEnqueueWriteBuffer");
    write.call.event = Some(5);
    write.call.regions = vec![region(300, Direction::In)];
    made.call(write, &[&[b'w'; 300]]);
    let mut read = called(1, 2, "clEnqueueReadBuffer");
    read.call.event = Some(6);
    read.call.regions = vec![region(4, Direction::Out)];
    read.done.as_mut().unwrap().out = vec![4];
    read.done.as_mut().unwrap().reports = vec![report(6, 2_000)];
    made.call(read, &[b"back"]);
    let mut end = report(5, 3_000);
    (end.printed, end.ending) = (2, Ending::Failed(-5));
    made.add(&ended(1, end), &[b"hi"]);
    made.call(post(1, 3, "glFlush"), &[]);
    let posted = vec![Posted {
        op: op("glFlush"),
        calls: 1,
        cpu_ns: 700,
        longest_ns: 700,
    }];
    made.add(&Record::Posted(Costs { session: 1, posted }), &[]);
    made.call(called(1, 4, "glFinish"), &[]);
    let identity = Some(DeviceIdentity {
        uuid: Some([7; 16]),
        pci: None,
        place: "a machine's \u{1b}[2Jdevice".into(),
    });
    let device = Device {
        session: 2,
        api: 1,
        device: 3,
        identity,
    };
    made.add(&Record::Device(device), &[]);
    made.close(1).close(2);
    made
}

/// A file of a test's own.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn trace(&self, bytes: &[u8]) -> Result<Trace, TraceError> {
        Trace::open(&self.file("trace", bytes))
    }
}

/// Why a file is refused.
pub fn refusal(path: &Path) -> String {
    Trace::open(path).unwrap_err().to_string()
}
