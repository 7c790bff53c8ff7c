//! The matrix multiplication of the examples: natively on this machine's
//! device, in the guest with the same device as the board, and in the guest
//! with the GPU stack emulated there, which is PoCL in the guest.

use super::error::BenchError;
use super::line::{Measured, Must};
use super::{Bench, Effort};
use gil_host::report::Report;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SOURCE: &str = "examples/matmul/matmul.c";
const GUEST_CC: &str = "scripts/guest-cc";
/// Of the native time.
const TOTAL: Must = Must::AtMost(1.3);
/// Of how much slower the emulated stack is than the native one.
const EMULATED: Must = Must::AtLeast(0.9);
/// The loader: without it gil's own library is the guest's `libOpenCL.so.1`.
const LOADER: [&str; 2] = ["--pkg", "ocl-icd-libopencl1"];
/// What the emulated stack needs in the guest besides: the package, and to be
/// the only driver that the loader sees.
const POCL: [&str; 8] = [
    "--pkg",
    "pocl-opencl-icd",
    "--env",
    "OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd",
    "--env",
    "POCL_CACHE_DIR=/tmp/pocl",
    "--memory",
    "4G",
];

/// Whether this is gil's repository.
pub fn is_here() -> bool {
    Path::new(SOURCE).is_file()
}

/// Wall time of the whole, which is judged, and simulated time.
pub fn measure(bench: &Bench<'_>, products: u32) -> Result<Vec<Measured>, BenchError> {
    let products = match bench.effort {
        Effort::Quick => 2.min(products),
        _ => products,
    };
    let (native, guest) = programs(bench.folder)?;
    let number = products.to_string();
    let json = bench.folder.join("report.json");
    let natively = run(Command::new(&native).arg(&number))?;
    run(in_guest(&json)?.arg(&guest).arg(&number))?;
    let report = read(&json)?;
    let (wall, simulated) = (&report.wall, &report.simulated);
    let line = |case: &str, ns: u64| {
        let name = format!("{products} products, {case}");
        let line = Measured::new("matmul", name, "s", seconds(ns));
        line.over("natively", natively.as_secs_f64())
    };
    Ok(vec![
        line("wall time", wall.total_ns)
            .must(TOTAL)
            .detail("simulator_s", seconds(wall.simulator_ns))
            .detail("bridge_s", seconds(wall.bridge_ns))
            .detail("board_s", seconds(wall.board_ns)),
        line("simulated time", simulated.program_ns).detail("gpu_s", seconds(simulated.gpu_ns)),
    ])
}

/// Wall time of a product in the three ways: how many times faster the bridge
/// is than the emulated stack, against how many times faster the native one is.
pub fn measure_emulated(bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
    let (many, few) = match bench.effort {
        Effort::Quick => (2, 3),
        _ => (40, 20),
    };
    let (native, guest) = programs(bench.folder)?;
    let natively = each(&mut script(Command::new("sh"), &native, many), many)?;
    let file = format!("{}:/matmul", guest.display());
    let json = bench.folder.join("report.json");
    let inside = |more: &[&str], count| -> Result<Duration, BenchError> {
        let mut command = in_guest(&json)?;
        command.args(["--file", &file]).args(LOADER).args(more);
        command.args(["--", "sh"]);
        each(&mut script(command, Path::new("/matmul"), count), count)
    };
    let bridged = inside(&[], many)?;
    uses_board(&json, true)?;
    let emulated = inside(&POCL, few)?;
    uses_board(&json, false)?;
    let times = |one: Duration| emulated.as_secs_f64() / one.as_secs_f64();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let name = "emulated in the guest, against the bridge";
    let line = Measured::new("emulated", name, "times faster", times(bridged))
        .over("natively", times(natively))
        .must(EMULATED)
        .detail("native_product_ms", ms(natively))
        .detail("bridged_product_ms", ms(bridged))
        .detail("emulated_product_ms", ms(emulated))
        .detail("emulated_products", few.into());
    Ok(vec![line])
}

/// The figure is of the stack that it says it is of.
fn uses_board(json: &Path, expected: bool) -> Result<(), BenchError> {
    let calls = read(json)?.totals.calls;
    match (calls > 0) == expected {
        true => Ok(()),
        false => Err(BenchError::OtherStack { calls }),
    }
}

/// The example for this machine and for the guest.
fn programs(folder: &Path) -> Result<(PathBuf, PathBuf), BenchError> {
    let native = compile(Command::new("cc"), folder, "native", &["-lOpenCL"])?;
    let guest = compile(Command::new(GUEST_CC), folder, "guest", &[])?;
    Ok((native, guest))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn in_guest(json: &Path) -> Result<Command, BenchError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["run", "--quiet", "--json"]).arg(json);
    Ok(command)
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
    match output.status.success() {
        true => Ok(took),
        false => Err(failed(command, &output.stderr)),
    }
}

fn failed(command: &Command, stderr: &[u8]) -> BenchError {
    let said = String::from_utf8_lossy(stderr);
    BenchError::Program {
        command: command.get_program().to_string_lossy().into_owned(),
        said: said.lines().last().unwrap_or("it said nothing").into(),
    }
}

/// A shell that runs the program three times and says when each has ended: for
/// one product, so that its kernel is built and cached, for one, and for so
/// many more.
fn script(mut shell: Command, program: &Path, more: u32) -> Command {
    let program = program.display();
    let once = |count: u32| format!("{program} {count} >/dev/null && echo ended");
    let text = [once(1), once(1), once(1 + more)].join(" && ");
    shell.arg("-c").arg(text);
    shell
}

/// Wall time of one product of `more`: the difference of the last two runs of
/// [`script`], in which beginning and end cancel out.
fn each(command: &mut Command, more: u32) -> Result<Duration, BenchError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let mut ends = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            line?;
            ends.push(Instant::now());
        }
    }
    let output = child.wait_with_output()?;
    let [first, second, third] = ends[..] else {
        return Err(failed(command, &output.stderr));
    };
    Ok((third - second).saturating_sub(second - first) / more)
}

fn read(json: &Path) -> Result<Report, BenchError> {
    let failed = |what: String| BenchError::File {
        path: json.into(),
        what,
    };
    let text = std::fs::read(json).map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_fail_have_no_time() {
        let sh = |text: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", text]);
            command
        };
        assert!(each(&mut script(Command::new("sh"), Path::new(":"), 4), 4).is_ok());
        assert!(each(&mut script(Command::new("sh"), Path::new("false"), 4), 4).is_err());
        let failed = each(&mut sh("echo ended; echo no >&2; exit 3"), 1);
        assert!(failed.unwrap_err().to_string().contains("no"));
    }
}
