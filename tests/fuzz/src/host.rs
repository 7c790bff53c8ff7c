//! The host interface between a guest and a board, either of which says
//! anything.

use crate::double::Bytes;
use crate::file::{file_of, records};
use crate::input::Input;
use crate::support::Log;
use crate::support::guest::{DATA, Guest, IN, OUT, RAM_BASE, RAM_SIZE, call, enqueue};
use gil_board::server::{Server, ServerOptions};
use gil_host::config::Time;
use gil_host::{Config, Host};
use gil_wire::address::Address;
use gil_wire::envelope::{Class, Envelope};
use gil_wire::generated::opencl as cl;
use gil_wire::hello::{HELLO_LEN, Hello};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use zerocopy::IntoBytes;

/// Doorbells in one input.
const MAX_RINGS: usize = 32;
/// Longest that a call may wait: an answer that never comes is found to be
/// missing by the end of the connection.
const LIMIT: Duration = Duration::from_secs(20);

fn config(board: &Address, time: Time) -> Config {
    Config {
        board: Some(board.clone()),
        time,
        board_timeout: Some(LIMIT),
        ..Config::default()
    }
}

/// A socket that lives as long as the process.
fn socket(name: &str) -> Address {
    let folder = tempfile::tempdir().expect("a temporary folder").keep();
    Address::Unix(folder.join(name))
}

/// The address of an agent in this process, on a board of plain bytes.
fn plain_board() -> &'static Address {
    static ADDRESS: OnceLock<Address> = OnceLock::new();
    ADDRESS.get_or_init(|| {
        let address = socket("plain");
        let mut options = ServerOptions::default();
        options.session.memory = 4 << 20;
        let (server, stopper) =
            Server::bind(&address, Arc::new(Bytes), options).expect("a socket of its own");
        std::thread::spawn(move || {
            let _never_used = stopper;
            server.run()
        });
        address
    })
}

/// A guest that writes to its RAM, rings with mailboxes that it changed, and
/// submits any bytes as requests.
pub fn doorbell(data: &[u8]) {
    let mut input = Input(data);
    let first = input.u8();
    let time = match first & 1 {
        0 => Time::Async,
        _ => Time::Strict,
    };
    let mut guest = Guest::with(config(plain_board(), time), first & 2 != 0);
    let mut rings = 0;
    while !input.is_empty() && rings < MAX_RINGS {
        rings += act(&mut guest, &mut input);
    }
    guest.host.finish();
}

/// Does one thing; how often it rang.
fn act(guest: &mut Guest, input: &mut Input<'_>) -> usize {
    match input.u8() % 3 {
        0 => {
            let at = u64::from(input.u32()) % (RAM_SIZE - 255);
            let len = input.u8().into();
            guest.write(RAM_BASE.0 + at, input.piece(len));
            0
        }
        1 => {
            let mut header = guest.header(input.u8().into());
            for _ in 0..input.u8() % 8 {
                let at = usize::from(input.u8()) % (size_of_val(&header) / 4) * 4;
                header.as_mut_bytes()[at..at + 4].copy_from_slice(&input.u32().to_le_bytes());
            }
            guest.ring(header.as_bytes());
            1
        }
        _ => {
            guest.now_ns = guest.now_ns.saturating_add(input.u32().into());
            let request = input.counted();
            let regions: Vec<_> = (0..input.u8() % 5)
                .map(|_| {
                    let at = u64::from(input.u32()) % RAM_SIZE;
                    (RAM_BASE.0 + at, input.u32().into(), input.u8().into())
                })
                .collect();
            guest.seq += 1;
            guest.submit_bytes(request, &regions);
            1
        }
    }
}

/// What the board of [`replies`] says to whoever connects.
static SAID: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// A board that says its hello, then the bytes of [`SAID`], and hangs up.
fn talking_board() -> &'static Address {
    static ADDRESS: OnceLock<Address> = OnceLock::new();
    ADDRESS.get_or_init(|| {
        let address = socket("talking");
        let Address::Unix(path) = &address else {
            unreachable!("as socket() has it")
        };
        let listener = UnixListener::bind(path).expect("a socket of its own");
        std::thread::spawn(move || listener.incoming().flatten().for_each(talk));
        address
    })
}

fn talk(mut stream: UnixStream) {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let _ = stream.read_exact(&mut [0; HELLO_LEN]);
    let _ = stream.write_all(&[&Hello::ours().encode()[..], &said].concat());
    let _ = stream.shutdown(Shutdown::Write);
    // Until the host hangs up.
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// A board that answers anything to a query, an enqueue, a wait and a read.
pub fn replies(data: &[u8]) {
    *SAID.lock().unwrap_or_else(PoisonError::into_inner) = data.to_vec();
    let mut guest = Guest::with(config(talking_board(), Time::Async), false);
    guest.submit(&[call(Class::Query, 0)], &[]);
    let written = Envelope {
        regions: 1,
        ..enqueue(1, guest.now_ns)
    };
    guest.submit(std::slice::from_ref(&written), &[(DATA, 64, IN)]);
    let read = Envelope {
        signals: Some(2),
        ..written
    };
    guest.submit(std::slice::from_ref(&read), &[(DATA, 64, OUT)]);
    let wait = Envelope {
        waits: vec![2].into(),
        ..call(Class::Wait, 0)
    };
    let waited = guest.submit(&[wait], &[]);
    guest.now_ns = guest.now_ns.max(waited.deadline_ns);
    guest.collect();
    let blocking = Envelope {
        signals: Some(3),
        blocking: true,
        ..read
    };
    guest.submit(&[blocking], &[(DATA, 64, OUT)]);
    guest.host.finish();
}

/// A checkpoint that holds anything, restored on a board of plain bytes.
pub fn checkpoint(data: &[u8]) {
    let (_file, path) = file_of(&records(&gil_files::checkpoint::FILE.header(), data));
    let config = Config {
        checkpoint_log: true,
        ..config(plain_board(), Time::Async)
    };
    let host = Host::new(&config, "fuzz", Box::new(Log::default())).expect("no file to open");
    let (_ram, ram) = file_of(&[0; 1 << 16]);
    let memory = gil_host::memory::Mapped::open(&ram, RAM_BASE, vec![]).expect("a file");
    host.set_memory(Box::new(memory));
    if host.restore(&path).is_err() {
        assert_eq!(host.counters().sessions, 0);
    }
    host.finish();
}

/// A recording and a checkpoint of a small program on a board of plain bytes.
pub fn recorded() -> (Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (trace, state) = (folder.path().join("trace"), folder.path().join("state"));
    let config = Config {
        trace: Some(trace.clone()),
        checkpoint_log: true,
        ..config(plain_board(), Time::Async)
    };
    let mut guest = Guest::with(config, false);
    let make = Envelope {
        op: cl::CL_CREATE_BUFFER,
        ..call(Class::Sync, 0)
    };
    guest.submit(&[call(Class::Query, 0)], &[]);
    guest.submit(&[make], &[]);
    for event in 1..4 {
        let (op, direction) = match event {
            3 => (cl::CL_ENQUEUE_READ_BUFFER, OUT),
            _ => (cl::CL_ENQUEUE_WRITE_BUFFER, IN),
        };
        let operation = Envelope {
            op,
            regions: 1,
            ..enqueue(event, guest.now_ns)
        };
        guest.submit(&[operation], &[(DATA, 64, direction)]);
    }
    guest.now_ns = guest.now_ns.max(guest.host.settle(guest.now_ns));
    guest.host.settle(guest.now_ns);
    let kept = guest.host.checkpoint(&state, guest.now_ns);
    kept.expect("a board without objects");
    guest.host.finish();
    let read = |path| std::fs::read(path).expect("it was written");
    (read(trace), read(state))
}
