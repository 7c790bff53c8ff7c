//! A forwarded call with an answer and without regions, measured at the host
//! interface's border: from the doorbell to the answer in the mailbox, above
//! what 64 bytes take there and back through a socket of the same kind.

use crate::bench::Bench;
use crate::busy::Loops;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use crate::sampling::{in_turn, us};
use crate::socket::Echo;

/// Round trips of each.
const TIMES: usize = 5000;
/// Most that a call may take above the round trip, in microseconds.
const MEDIAN: Must = Must::AtMost(10.0);
const P99: Must = Must::AtMost(40.0);
const AGAINST: &str = "64 bytes there and back";

/// The call over both kinds of socket.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    over_each_socket(bench, "call", "")
}

/// The same while a loop runs on each CPU.
pub fn measure_busy(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let _loops = Loops::start()?;
    over_each_socket(bench, "call-busy", ", a loop on each core")
}

fn over_each_socket(
    bench: &Bench<'_>,
    name: &str,
    load: &str,
) -> Result<Vec<Measured>, BenchError> {
    let mut lines = Vec::new();
    for kind in bench.kinds() {
        let board = bench.board(bench.way_by(kind))?;
        let mut program = bench.api.program(&board, 4096)?;
        let mut echo = Echo::start(kind)?;
        let call = || program.null_call().map(|took| took.wall);
        let (calls, trips) = in_turn(bench.effort.times(TIMES), call, || {
            echo.round_trip().map_err(BenchError::from)
        })?;
        for (part_name, part, must) in [("median", 0.5, MEDIAN), ("p99", 0.99, P99)] {
            let figure = us(calls.percentile(part));
            let line = Measured::new(name, format!("{kind}{load}, {part_name}"), "us", figure);
            // The requirement is the median's and the p99's each.
            let line = line.above(AGAINST, us(trips.percentile(part))).must(must);
            lines.push(line);
        }
    }
    Ok(lines)
}
