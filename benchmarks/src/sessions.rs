//! How soon programs have their sessions: the first call of each of several that
//! begin at once, from the doorbell to its answer.

use crate::bench::Bench;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use crate::program::Program;
use crate::sampling::Times;
use std::sync::Barrier;
use std::time::Duration;

/// Sessions that begin at once; as many processes as an agent usually keeps ready.
const AT_ONCE: usize = 8;
/// How many times that is measured.
const TIMES: usize = 5;
/// Milliseconds until the last of them has its first answer.
const MUST: Must = Must::AtMost(15.0);
/// After it the agent has processes with the driver loaded again.
const READY_AFTER: Duration = Duration::from_secs(4);

/// One alone, and several.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let board = bench.board_ready_for(bench.way(), AT_ONCE)?;
    let (mut alone, mut last) = (Vec::new(), Vec::new());
    let times = bench.effort.times(TIMES);
    let program = || bench.api.program(&board, 4096);
    for _ in 0..times {
        for (count, slowest) in [(1, &mut alone), (AT_ONCE, &mut last)] {
            std::thread::sleep(READY_AFTER);
            let programs: Result<Vec<_>, _> = (0..count).map(|_| program()).collect();
            slowest.push(at_once(programs?)?);
        }
    }
    let ms = |times: Vec<Duration>| Times::new(times).median().as_secs_f64() * 1e3;
    let against = "one session alone";
    let case = format!("{AT_ONCE} at once, the last one's first answer");
    let line = Measured::new("sessions", case, "ms", ms(last));
    Ok(vec![line.beside(against, ms(alone)).must(MUST)])
}

/// Has each make its first call at the same moment; the longest time one waited.
fn at_once(programs: Vec<Box<dyn Program + Send>>) -> Result<Duration, BenchError> {
    let begin = Barrier::new(programs.len());
    let first = |mut program: Box<dyn Program + Send>| {
        begin.wait();
        // The program goes, and its session ends, when all are measured.
        program.null_call().map(|took| (took.wall, program))
    };
    let first = &first;
    let took: Result<Vec<_>, _> = std::thread::scope(|scope| {
        let threads: Vec<_> = programs
            .into_iter()
            .map(|program| scope.spawn(move || first(program)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|joined| joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    Ok(took?
        .iter()
        .map(|(wall, _)| *wall)
        .max()
        .unwrap_or_default())
}
