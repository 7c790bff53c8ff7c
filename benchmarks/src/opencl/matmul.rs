//! The matrix multiplication of the examples: natively on this machine's
//! device, in the guest with the same device as the board, and in the guest
//! with the GPU stack emulated there, which is PoCL in the guest.

use crate::bench::{Bench, Effort};
use crate::c_program::{self, Built, in_guest_with_kernels, run};
use crate::error::BenchError;
use crate::line::{Measured, Must};
use gil_board_client::agent::Connection;
use gil_guest_names::{Loader, OPENCL, Vendors};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SOURCE: &str = "examples/matmul/matmul.c";
/// Of the native time.
const TOTAL: Must = Must::AtMost(1.3);
/// Of how much slower the emulated stack is than the native one.
const EMULATED: Must = Must::AtLeast(0.9);
/// How much slower it is than a GPU behind the bridge.
const EMULATED_GPU: Must = Must::AtLeast(1000.0);
/// By how much two runs have to differ.
const CERTAIN: Duration = Duration::from_millis(500);
/// With this one as the board's device, the same stack runs on the same kind of
/// device everywhere, once emulated.
const POCL_PLATFORM: &str = "Portable Computing Language";
/// The loader: without it gil's own library is the guest's.
const LOADER: Loader = OPENCL.loader.expect("a loader");
/// Where that looks for platforms.
const VENDORS: Vendors = LOADER.vendors.expect("a folder");
/// A package with the emulated stack.
pub const EMULATED_STACK: &str = VENDORS.cpu_packages[0];

/// What the emulated stack needs in the guest besides the loader: its package,
/// and to be the only driver that the loader sees.
fn emulated_stack() -> Vec<String> {
    let vendors = format!("OCL_ICD_VENDORS=/{}/pocl.icd", VENDORS.folder);
    let options = [
        "--pkg",
        EMULATED_STACK,
        "--package-platforms",
        "--env",
        &vendors,
        "--env",
        "POCL_CACHE_DIR=/tmp/pocl",
        "--memory",
        "4G",
    ];
    options.map(str::to_owned).into()
}

/// Whether this is gil's repository.
pub fn is_here() -> bool {
    Path::new(SOURCE).is_file()
}

/// Wall time of the whole, which is judged, and simulated time.
pub fn measure(bench: &Bench<'_>, products: u32, size: u32) -> Result<Vec<Measured>, BenchError> {
    let products = match bench.effort {
        Effort::Quick => 2.min(products),
        _ => products,
    };
    let Built { native, guest } = c_program::build(SOURCE, bench.folder, &["-lOpenCL"], &[])?;
    let (number, size) = (products.to_string(), size.to_string());
    let json = bench.folder.join("report.json");
    let natively = run(Command::new(&native).args([&number, &size]))?;
    run(in_guest_with_kernels(&json)?
        .arg(&guest)
        .args([&number, &size]))?;
    let report = c_program::report(&json)?;
    let (wall, simulated) = (&report.wall, &report.simulated);
    let line = |case: &str, ns: u64| {
        let name = format!("{products} products of {size}x{size}, {case}");
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

/// How many more products, and computations of one, a run has than the run that
/// it is compared with.
#[derive(Clone, Copy)]
struct More(u32);

/// Wall times of what the program does many times.
#[derive(Clone, Copy)]
struct Each {
    /// A product: two matrices filled, multiplied, the result checked.
    product: Duration,
    /// What the GPU's stack does of it: matrices there, multiplied, and back.
    multiplication: Duration,
}

/// Wall times in the three ways: how many times faster the bridge is than the
/// emulated stack, against how many times faster the native one is.
pub fn measure_emulated(bench: &Bench<'_>, size: u32) -> Result<Vec<Measured>, BenchError> {
    let (many, few) = match bench.effort {
        Effort::Quick => (More(2), More(3)),
        // An emulated product takes longer with the cube of its size.
        _ => (
            More(40),
            More((10 * 320_u32.pow(3)).div_ceil(size.pow(3)).clamp(1, 10)),
        ),
    };
    let Built { native, guest } = c_program::build(SOURCE, bench.folder, &["-lOpenCL"], &[])?;
    let natively = each_natively(&native, size, many)?;
    let file = format!("{}:/matmul", guest.display());
    let json = bench.folder.join("report.json");
    let inside = |more: &[String], count| -> Result<Each, BenchError> {
        let mut command = in_guest_with_kernels(&json)?;
        command.args(["--file", &file, "--pkg", LOADER.package]);
        command.args(more);
        command.args(["--", "sh"]);
        each(
            &mut script(command, Path::new("/matmul"), size, count),
            count,
        )
    };
    let bridged = inside(&[], many)?;
    uses_board(&json, true)?;
    let emulated = inside(&emulated_stack(), few)?;
    uses_board(&json, false)?;
    let is_processor = first_platform(bench)?.as_deref() == Some(POCL_PLATFORM);
    let line = |case: &str, time: fn(&Each) -> Duration| {
        let times = |one: &Each| time(&emulated).as_secs_f64() / time(one).as_secs_f64();
        let ms = |each: &Each| time(each).as_secs_f64() * 1e3;
        let name = format!("{case} of {size}x{size}, emulated in the guest, against the bridge");
        let line = Measured::new("emulated", name, "times faster", times(&bridged));
        let line = match is_processor {
            true => line.over("natively", times(&natively)).must(EMULATED),
            false => line
                .must(EMULATED_GPU)
                .detail("native_times_faster", times(&natively)),
        };
        line.detail("native_ms", ms(&natively))
            .detail("bridged_ms", ms(&bridged))
            .detail("emulated_ms", ms(&emulated))
            .detail("emulated_products", few.0.into())
    };
    Ok(vec![
        line("a product, filled and checked,", |each| each.product),
        line("a multiplication", |each| each.multiplication),
    ])
}

/// Of the program here. What a GPU does so often takes less than by how much the
/// beginnings of two runs differ: it is done more often then.
fn each_natively(native: &Path, size: u32, many: More) -> Result<Each, BenchError> {
    let run = |more: More| {
        let mut script = script(Command::new("sh"), native, size, more);
        each(&mut script, more)
    };
    let slowly = run(many)?;
    match slowly.multiplication * many.0 > CERTAIN {
        true => Ok(slowly),
        false => run(More(50 * many.0)),
    }
}

/// The platform of the board's first device, which the example uses.
fn first_platform(bench: &Bench<'_>) -> Result<Option<String>, BenchError> {
    let board = bench.board(bench.way())?;
    let address = board.agent.address.parse()?;
    let devices = Connection::open(&address, board.key.as_deref())?.devices()?;
    Ok(devices.into_iter().next().map(|device| device.platform))
}

/// The figure is of the stack that it says it is of.
fn uses_board(json: &Path, expected: bool) -> Result<(), BenchError> {
    let calls = c_program::report(json)?.totals.calls;
    match (calls > 0) == expected {
        true => Ok(()),
        false => Err(BenchError::OtherStack { calls }),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A shell that runs the program four times and says when each has ended: for
/// one product, so that its kernel is built and cached, for one, for so many
/// more, and for one that is computed so many times more. A shell that is asked to end
/// ends the program first.
fn script(mut shell: Command, program: &Path, size: u32, more: More) -> Command {
    let program = program.display();
    let once = |products: u32, times: u32| {
        format!("{program} {products} {size} {times} >/dev/null & wait $! && echo ended")
    };
    let many = 1 + more.0;
    let runs = [once(1, 1), once(1, 1), once(many, 1), once(1, many)].join(" || exit; ");
    let ends = "trap 'kill $!; exit 143' TERM";
    shell.arg("-c").arg(format!("{ends}; {runs}"));
    shell
}

/// Of the runs of [`script`]: by differences, in which beginning and end cancel
/// out.
fn each(command: &mut Command, more: More) -> Result<Each, BenchError> {
    let ends = c_program::moments(command, 4)?;
    let [first, second, third, fourth] = [ends[0], ends[1], ends[2], ends[3]];
    let one = second - first;
    Ok(Each {
        product: (third - second).saturating_sub(one) / more.0,
        multiplication: (fourth - third).saturating_sub(one) / more.0,
    })
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
        let run = |program: &str| {
            let mut script = script(Command::new("sh"), Path::new(program), 320, More(4));
            each(&mut script, More(4))
        };
        assert!(run(":").is_ok());
        assert!(run("false").is_err());
        let failed = each(&mut sh("echo ended; echo no >&2; exit 3"), More(1));
        assert!(failed.err().unwrap().to_string().contains("no"));
    }
}
