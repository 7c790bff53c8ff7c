//! Guest instructions of calls that travel in a batch.

use super::{LIBRARIES, NAME};
use crate::bench::Bench;
use crate::c_program;
use crate::error::BenchError;
use crate::line::{Measured, Must};
use gil_board_client::agent;

const SOURCE: &str = "tests/guest/gles_cost.c";
/// Guest instructions of a call that travels in a batch, its share of the doorbells
/// included.
const BATCHED: Must = Must::AtMost(310.0);

/// One line of the program: kind, instructions, name.
fn row(line: &str) -> Option<(&str, f64, &str)> {
    let mut words = line.splitn(3, ' ');
    Some((words.next()?, words.next()?.parse().ok()?, words.next()?))
}

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let built = c_program::build(SOURCE, bench.folder, &LIBRARIES, &LIBRARIES)?;
    let listen = format!("unix:{}", bench.folder.join("cost-board").display());
    let times = ["--scripted-times", "cpu=0,device=0"].map(Into::into);
    let board = agent::start(bench.folder, &listen, &times)?;
    let json = bench.folder.join("cost.json");
    let mut command = c_program::in_guest(&json)?;
    command.args(["--board", &board.address]).arg(&built.guest);
    let said = c_program::said(&mut command)?;
    let rows = said.lines().filter_map(row);
    let lines = rows.map(|(kind, instructions, name)| {
        let line = Measured::new(NAME, name, "instructions", instructions);
        line.must_if(kind == "batched", BATCHED)
    });
    Ok(lines.collect())
}
