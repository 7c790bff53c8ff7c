//! The matrix multiplication of the examples: natively on this machine's
//! device, and in the guest with the same device as the board.

use super::Bench;
use super::error::BenchError;
use super::line::{Measured, Must};
use gil_host::report::Report;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SOURCE: &str = "examples/matmul/matmul.c";
const GUEST_CC: &str = "scripts/guest-cc";
const MUST: Must = Must::AtMost(1.3);

/// Wall time of the whole, which is judged, and simulated time.
pub fn measure(bench: &Bench<'_>, products: u32) -> Result<Vec<Measured>, BenchError> {
    let products = match bench.effort {
        super::Effort::Quick => 2.min(products),
        _ => products,
    };
    let native = compile(Command::new("cc"), bench.folder, "native", &["-lOpenCL"])?;
    let guest = compile(Command::new(GUEST_CC), bench.folder, "guest", &[])?;
    let number = products.to_string();
    let json = bench.folder.join("report.json");
    let natively = run(Command::new(&native).arg(&number))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["run", "--quiet", "--json"]).arg(&json);
    run(command.arg(&guest).arg(&number))?;
    let report = read(&json)?;
    let (wall, simulated) = (&report.wall, &report.simulated);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let line = |case: &str, ns: u64| {
        Measured::new(
            "matmul",
            format!("{products} products, {case}"),
            "s",
            seconds(ns),
        )
        .over("natively", natively.as_secs_f64())
    };
    Ok(vec![
        line("wall time", wall.total_ns)
            .must(MUST)
            .detail("simulator_s", seconds(wall.simulator_ns))
            .detail("bridge_s", seconds(wall.bridge_ns))
            .detail("board_s", seconds(wall.board_ns)),
        line("simulated time", simulated.program_ns).detail("gpu_s", seconds(simulated.gpu_ns)),
    ])
}

/// Whether this is gil's repository.
pub fn is_here() -> bool {
    Path::new(SOURCE).is_file()
}

fn compile(
    mut compiler: Command,
    folder: &Path,
    name: &str,
    libraries: &[&str],
) -> Result<PathBuf, BenchError> {
    if !is_here() {
        return Err(BenchError::File {
            path: SOURCE.into(),
            what: "not here: run this in gil's repository".into(),
        });
    }
    let program = folder.join(name);
    compiler.args(["-O2", "-o"]).arg(&program).arg(SOURCE);
    run(compiler.args(libraries))?;
    Ok(program)
}

/// Runs it to its end.
fn run(command: &mut Command) -> Result<Duration, BenchError> {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let took = start.elapsed();
    if output.status.success() {
        return Ok(took);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(BenchError::Program {
        command: command.get_program().to_string_lossy().into_owned(),
        said: said.lines().last().unwrap_or("it said nothing").into(),
    })
}

fn read(json: &Path) -> Result<Report, BenchError> {
    let failed = |what: String| BenchError::File {
        path: json.into(),
        what,
    };
    let text = std::fs::read(json).map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
}
