//! OpenCL's programs.

mod calls;
mod matmul;
mod program;
mod worker;

use crate::bench::{Api, Bench};
use crate::board::Board;
use crate::calibrated::Calibrated;
use crate::error::BenchError;
use crate::line::Measured;
use crate::program::{NullCall, Program, Worker};

/// For `gil calibrate`.
pub(crate) const CALIBRATED: Calibrated = Calibrated {
    name: "opencl",
    launches: "benchmarks/programs/launches.c",
    many: 256,
    programs: "benchmarks/programs/kernels.c",
    libraries: &["-lOpenCL"],
    fitted: &[
        "add",
        "multiply",
        "transpose",
        "bodies",
        "stencil",
        "scan",
        "chain",
        "answers",
        "convolve",
        "copies",
    ],
    launch: ["launch", "launches"],
    paused: "the same after a pause",
};

/// The API.
pub struct OpenCl;

impl Api for OpenCl {
    fn null_call(&self) -> NullCall {
        program::null_call()
    }

    fn program(&self, board: &Board, data: u64) -> Result<Box<dyn Program + Send>, BenchError> {
        Ok(Box::new(program::Program::new(board, data)?))
    }

    fn program_with_queue(&self, board: &Board, data: u64) -> Result<Box<dyn Program>, BenchError> {
        Ok(Box::new(program::Program::with_queue(board, data)?))
    }

    fn worker(&self, board: &Board) -> Result<Box<dyn Worker + Send>, BenchError> {
        Ok(Box::new(worker::Worker::new(board)?))
    }

    fn has_examples(&self) -> bool {
        matmul::is_here()
    }

    fn products(&self, bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
        matmul::measure(bench, bench.args.products, bench.args.size)
    }

    fn calls_in_guest(&self, bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
        calls::measure(bench)
    }

    fn emulated_products(&self, bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError> {
        matmul::measure_emulated(bench, bench.args.size)
    }
}
