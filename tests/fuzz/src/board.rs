//! The board agent, and a host that says anything; what it reads of kernels'
//! sources; recordings.

use crate::double::Bytes;
use crate::file::{file_of, records};
use crate::input::Input;
use gil_board::back_end::{BackEnd, DriverOptions};
use gil_board::board::{Board, Call, Guest};
use gil_board::graphics::Graphics;
use gil_board::meter::Meter;
use gil_board::opencl::OpenClBoard;
use gil_board::region::{Budget, Region};
use gil_board::replay::ReplayBoard;
use gil_board::session::{SessionOptions, serve};
use gil_kernel_signatures::{Program, Target};
use gil_transport::connection::Connection;
use gil_transport::greeting::{Greeting, Shaken, Terms};
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::generated::{egl, gles, opencl};
use gil_wire::hello::Hello;
use gil_wire::message::{self, Direction};
use socket2::{Domain, Socket, Type};
use std::io::Write;
use std::net::Shutdown;
use std::sync::{Arc, OnceLock};

/// Who calls.
pub(crate) const GUEST: Guest = Guest {
    process: 1,
    pointer_bits: 64,
    finish: gil_wire::finish::Finish::Program,
};

/// A host that says its hello and then any bytes.
pub fn server(data: &[u8]) {
    let (ours, theirs) = Socket::pair(Domain::UNIX, Type::STREAM, None).expect("two sockets");
    let said = [&Hello::ours().encode()[..], data].concat();
    let host = std::thread::spawn(move || {
        let mut theirs = theirs;
        let reader = theirs.try_clone().map(|mut reader| {
            std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()))
        });
        let _ = theirs.write_all(&said);
        let _ = theirs.shutdown(Shutdown::Write);
        reader.map(|reader| reader.join().is_ok())
    });
    let options = SessionOptions {
        memory: 1 << 20,
        ..SessionOptions::default()
    };
    let meter = Meter::new().expect("memory for counters");
    let ours = Arc::new(ours);
    if let Some(shaken) = shake(&ours)
        && let Ok(connection) = Connection::new(ours, &shaken, meter)
    {
        let _ = serve(connection, &Bytes, options, &|| {}).map_err(|error| error.to_string());
    }
    let _ = host.join();
}

/// The agent's side of the handshake.
fn shake(socket: &Socket) -> Option<Shaken> {
    let mut greeting = Greeting::default();
    let terms = Terms {
        key: None,
        refusal: None,
        full: &|| None,
    };
    loop {
        match greeting.step(socket, terms) {
            Ok(None) => std::thread::yield_now(),
            Ok(shaken) => return shaken,
            Err(_) => return None,
        }
    }
}

/// A recording that holds anything, and the first call of its own.
pub fn trace(data: &[u8]) {
    let (_file, path) = file_of(&records(&gil_files::recording::FILE.header(), data));
    let Ok(board) = ReplayBoard::open(&path) else {
        return;
    };
    let budget = Budget::new(1 << 20);
    let Ok(mut session) = board.open(GUEST, &budget) else {
        return;
    };
    for event in 0..2 {
        let head = message::Call {
            seq: event,
            op: opencl::CL_GET_PLATFORM_IDS,
            thread: 1,
            answer: true,
            finish: true,
            event: None,
            args: b"args",
            regions: Vec::new(),
        };
        let outcome = session.call(Call {
            head: &head,
            regions: regions(&mut Input(&[1, 4, 1]), &budget),
            budget: &budget,
        });
        drop(outcome);
        drop(session.finish(event, &budget));
    }
}

fn regions(input: &mut Input<'_>, budget: &Budget) -> Vec<Region> {
    let region = |_| {
        let len: usize = input.u8().into();
        match Direction::from_raw(input.u8().into()) {
            Some(dir) if dir.is_in() => Region::holding(dir, vec![7; len], budget),
            _ => Region::to_write(len, budget).expect("some bytes"),
        }
    };
    (0..2).map(region).collect()
}

/// This machine's OpenCL, or why there is none.
pub fn device() -> Result<&'static OpenClBoard, String> {
    static BOARD: OnceLock<Result<OpenClBoard, String>> = OnceLock::new();
    let load = || OpenClBoard::load(DriverOptions::default()).map_err(|error| error.to_string());
    BOARD.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// Calls with any arguments, on a session of this machine's OpenCL that has no
/// objects but platforms and devices. Nothing is done where there is none.
pub fn dispatch(data: &[u8]) {
    let Ok(board) = device() else {
        return;
    };
    let budget = Budget::new(1 << 20);
    let mut session = board.open(GUEST, &budget).expect("a session");
    let mut input = Input(data);
    for seq in 0..4 {
        let (entry, flags) = (input.u16(), input.u8());
        let args = input.counted();
        let head = message::Call {
            seq,
            op: Op::new(opencl::CL_FLUSH.api(), entry),
            thread: 1,
            answer: flags & 2 != 0,
            finish: flags & 4 != 0,
            event: (flags & 1 != 0).then_some(seq),
            args,
            regions: Vec::new(),
        };
        let outcome = session.call(Call {
            head: &head,
            regions: regions(&mut input, &budget),
            budget: &budget,
        });
        drop(outcome);
    }
}

/// This machine's EGL, or why there is none.
pub fn graphics_device() -> Result<&'static dyn Board, String> {
    static BOARD: OnceLock<Result<Box<dyn Board>, String>> = OnceLock::new();
    let load = || {
        let loaded = Graphics.load(DriverOptions::default());
        loaded.map_err(|error| error.to_string())
    };
    let board = BOARD.get_or_init(load).as_ref();
    board.map(Box::as_ref).map_err(Clone::clone)
}

/// Calls of EGL and OpenGL ES with any arguments, on a session of this machine's EGL
/// that has a display, and what these calls make on it. Nothing is done where there is
/// none.
pub fn graphics(data: &[u8]) {
    let Ok(board) = graphics_device() else {
        return;
    };
    let budget = Budget::new(1 << 20);
    let mut session = board.open(GUEST, &budget).expect("a session");
    let mut input = Input(data);
    let display = postcard::to_stdvec(&egl::EglInitializeArgs { dpy: Handle(1) });
    let display = display.expect("plain data encodes");
    let mut call = |seq, op, flags: u8, args: &[u8], regions| {
        let head = message::Call {
            seq,
            op,
            thread: u32::from(flags >> 6),
            answer: flags & 2 != 0,
            finish: flags & 4 != 0,
            event: (flags & 1 != 0).then_some(seq),
            args,
            regions: Vec::new(),
        };
        let outcome = session.call(Call {
            head: &head,
            regions,
            budget: &budget,
        });
        drop(outcome);
    };
    call(0, egl::EGL_INITIALIZE, 2, &display, Vec::new());
    for seq in 1..5 {
        let (entry, flags) = (input.u16(), input.u8());
        let api = match flags & 8 {
            0 => egl::API,
            _ => gles::API,
        };
        let args = input.counted();
        let regions = regions(&mut input, &budget);
        call(seq, Op::new(api, entry), flags, args, regions);
    }
}

/// A program's source behind its options.
pub fn opencl_c(data: &[u8]) {
    let mut input = Input(data);
    let version = 100 + 10 * u32::from(input.u8() % 21);
    let options = String::from_utf8_lossy(input.counted()).into_owned();
    let header = String::from_utf8_lossy(input.counted()).into_owned();
    let source = String::from_utf8_lossy(input.0).into_owned();
    let target = Target {
        address_bits: 64,
        version,
        extensions: "cl_khr_fp64".into(),
        has_images: true,
    };
    let program = Program {
        source: &source,
        options: &options,
        headers: &[("a.h", &header)],
        target: &target,
    };
    let _ = program.signatures().map_err(|error| error.to_string());
}

/// A module of SPIR-V.
pub fn spirv(data: &[u8]) {
    let _ = gil_kernel_signatures::spirv::is_module(data);
    let _ = gil_kernel_signatures::spirv::signatures(data);
}
