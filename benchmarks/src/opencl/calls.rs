//! What calls of a program in the guest take, in wall time: the simulator's, the
//! bridge's and the board's together. The program says when it begins and when it has
//! ended.

use crate::bench::{Bench, Effort};
use crate::board::{Board, Way};
use crate::c_program::{self, Built};
use crate::delay;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use crate::sampling::{Times, us};
use gil_wire::address::Address;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::Command;
use std::time::Duration;

const SOURCE: &str = "benchmarks/programs/calls.c";
/// How many times each is measured.
const TIMES: usize = 5;
/// To the board and as much back.
const DELAY: Duration = Duration::from_micros(200);

/// Kinds of calls in one run of the program, each with their number.
const KINDS: [(&str, u32); 7] = [
    ("read", 4_000),
    ("launch", 20_000),
    ("event", 20_000),
    ("callback", 20_000),
    ("outstanding", 1_000),
    ("outstanding", 4_000),
    ("outstanding", 16_000),
];
/// Of these over a link.
const LAUNCHES: (&str, u32) = ("launch", 20_000);

/// Microseconds of a read that the program waits for.
const READ: Must = Must::AtMost(120.0);
/// Microseconds of a launch.
const LAUNCH: Must = Must::AtMost(15.0);
/// Of a launch without the delay.
const DELAYED: Must = Must::AtMost(1.2);
/// Of a launch with an event.
const CALLBACK: Must = Must::AtMost(2.0);
/// Of a read where fewer are outstanding.
const FLAT: Must = Must::AtMost(1.2);

/// Wall time of a call of each kind.
///
/// # Errors
/// [`BenchError`] if a program does not build, or fails.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let built = c_program::build(SOURCE, bench.folder, &["-lOpenCL"], &[])?;
    let mut lines = on_this_machine(bench, &built)?;
    lines.push(over_a_link(bench, &built)?);
    Ok(lines)
}

/// The number of calls of a kind, as much as is to be measured.
fn number(bench: &Bench<'_>, usual: u32) -> u32 {
    match bench.effort {
        Effort::Quick => usual / 50,
        Effort::Usual | Effort::Full => usual,
    }
}

fn on_this_machine(bench: &Bench<'_>, built: &Built) -> Result<Vec<Measured>, BenchError> {
    let kinds = KINDS.map(|(kind, usual)| (kind, number(bench, usual)));
    let board = bench.board(bench.way())?;
    let (mut guest, mut native) = (Vec::new(), Vec::new());
    for _ in 0..bench.effort.times(TIMES) {
        let mut command = in_guest(bench, &board, &board.agent.address)?;
        guest.push(each(command.arg(&built.guest), &kinds)?);
        native.push(each(&mut Command::new(&built.native), &kinds)?);
    }
    let median = |runs: &[Vec<Duration>], at: usize| {
        us(Times::new(runs.iter().map(|run| run[at]).collect()).median())
    };
    let [read, launch, event, callback, few, more, most] = [0, 1, 2, 3, 4, 5, 6];
    let line = |at: usize, case: String| {
        let line = Measured::new("calls", case, "us", median(&guest, at));
        line.detail("native_us", median(&native, at))
    };
    let natively = |at: usize, case: String, must: Must| {
        let natively = median(&native, at);
        let line = Measured::new("calls", case, "us", median(&guest, at));
        line.beside("natively", natively).must(must)
    };
    let outstanding = |at: usize| {
        let case = format!("a read while up to {} are outstanding", kinds[at].1);
        let baseline = format!("while up to {} are", kinds[few].1);
        line(at, case)
            .over(&baseline, median(&guest, few))
            .must(FLAT)
    };
    Ok(vec![
        natively(read, "a blocking read of 64 bytes".into(), READ),
        natively(
            launch,
            format!("a launch, of {} and a clFinish", kinds[launch].1),
            LAUNCH,
        ),
        line(callback, "a launch with a callback".into())
            .over("a launch with an event", median(&guest, event))
            .must(CALLBACK),
        outstanding(more),
        outstanding(most),
    ])
}

/// Launches over a link that delays, against the same link without the delay.
fn over_a_link(bench: &Bench<'_>, built: &Built) -> Result<Measured, BenchError> {
    let kinds = [(LAUNCHES.0, number(bench, LAUNCHES.1))];
    let board = bench.board(Way::Encrypted)?;
    let target = socket(&board.agent.address.parse()?)?;
    let (mut near, mut far) = (Vec::new(), Vec::new());
    let near_link = delay::link(target, Duration::ZERO)?;
    let far_link = delay::link(target, DELAY)?;
    for _ in 0..bench.effort.times(TIMES) {
        for (link, times) in [(near_link, &mut near), (far_link, &mut far)] {
            let mut command = in_guest(bench, &board, &format!("tcp://{link}"))?;
            times.extend(each(command.arg(&built.guest), &kinds)?);
        }
    }
    let case = format!("a launch, the board {} us away", DELAY.as_micros());
    let line = Measured::new("calls", case, "us", us(Times::new(far).median()));
    Ok(line
        .over("without the delay", us(Times::new(near).median()))
        .must(DELAYED))
}

/// Where an agent of this run's own listens.
fn socket(address: &Address) -> Result<SocketAddr, BenchError> {
    let missing = || BenchError::OtherWay(address.clone());
    match address {
        Address::Tcp { host, port } => {
            let found = (host.as_str(), *port).to_socket_addrs()?.next();
            found.ok_or_else(missing)
        }
        Address::Unix(_) => Err(missing()),
    }
}

/// `gil run` with the board at this address.
fn in_guest(bench: &Bench<'_>, board: &Board, address: &str) -> Result<Command, BenchError> {
    let mut command = c_program::in_guest(&bench.folder.join("report.json"))?;
    command.args(["--board", address]);
    if let Some(key) = &board.key {
        command.arg("--key").arg(key);
    }
    Ok(command)
}

/// Runs the program; the time of a call of each kind.
fn each(command: &mut Command, kinds: &[(&str, u32)]) -> Result<Vec<Duration>, BenchError> {
    for (kind, number) in kinds {
        command.arg(kind).arg(number.to_string());
    }
    let moments = c_program::moments(command, 2 * kinds.len())?;
    let took = moments.chunks(2).map(|pair| pair[1] - pair[0]);
    Ok(took.zip(kinds).map(|(took, (_, n))| took / *n).collect())
}
