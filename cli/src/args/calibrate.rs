//! The options of `gil calibrate`.

use clap::{Args, Subcommand};
use gil_benchmarks::{
    CalibratedApi, ContentionArgs, CoresArgs, CpuArgs, LaunchesArgs, ProgramsArgs,
};
use std::path::PathBuf;

/// What `gil calibrate` measures.
#[derive(Clone, Debug, Subcommand)]
pub enum CalibrateCommand {
    /// How much longer a job takes while all processors of the board's device are at work
    /// than alone.
    Contention(CalibrateContentionArgs),
    /// What OpenCL's calls cost beside their kernels, or OpenGL ES's beside what they draw: from
    /// a launch to its start, between kernels, and from a kernel's end until a thread that waits
    /// goes on.
    Calls(CalibrateCallsArgs),
    /// How the board's times become the target's: scale and offset by least squares over ten
    /// programs of OpenCL or OpenGL ES, and the errors of these and of others.
    Programs(CalibrateProgramsArgs),
    /// How many times as long the target's CPU takes as the board's, for what calls do on the
    /// CPU: a program runs on this machine and in the guest.
    Cpu(CalibrateCpuArgs),
    /// How times follow the number of the GPU's cores, from what programs wrote on parts of the
    /// board's: for `gil run --target cores=NUMBER`.
    Cores(CalibrateCoresArgs),
}

/// Arguments of `gil calibrate contention`.
#[derive(Clone, Debug, Args)]
pub struct CalibrateContentionArgs {
    /// On what.
    #[command(flatten)]
    pub measured: ContentionArgs,
    /// Write the board's profile, for `gil run --board-profile`; one that is there is
    /// brought up to date.
    #[arg(long, value_name = "PROFILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `gil calibrate calls`.
#[derive(Clone, Debug, Args)]
pub struct CalibrateCallsArgs {
    /// Whose calls to measure.
    #[arg(long, value_name = "API", value_enum, default_value = "opencl")]
    pub api: CalibratedApi,
    /// How.
    #[command(flatten)]
    pub measured: LaunchesArgs,
    /// Write the board's profile, for `gil run --board-profile`; one that is there is
    /// brought up to date.
    #[arg(long, value_name = "PROFILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `gil calibrate programs`.
#[derive(Clone, Debug, Args)]
pub struct CalibrateProgramsArgs {
    /// Whose programs to measure.
    #[arg(long, value_name = "API", value_enum, default_value = "opencl")]
    pub api: CalibratedApi,
    /// How.
    #[command(flatten)]
    pub measured: ProgramsArgs,
    /// Write the board's profile, for `gil run --board-profile`; one that is there is
    /// brought up to date, and what calls cost is taken from it.
    #[arg(long, value_name = "PROFILE")]
    pub out: Option<PathBuf>,
    /// Draw the times measured and simulated, as SVG.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// Arguments of `gil calibrate cpu`.
#[derive(Clone, Debug, Args)]
pub struct CalibrateCpuArgs {
    /// How.
    #[command(flatten)]
    pub measured: CpuArgs,
    /// Write the board's profile, for `gil run --board-profile`; one that is there is
    /// brought up to date.
    #[arg(long, value_name = "PROFILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `gil calibrate cores`.
#[derive(Clone, Debug, Args)]
pub struct CalibrateCoresArgs {
    /// From what.
    #[command(flatten)]
    pub measured: CoresArgs,
    /// Write the board's profile, for `gil run --board-profile`; one that is there is
    /// brought up to date.
    #[arg(long, value_name = "PROFILE")]
    pub out: Option<PathBuf>,
    /// The API whose operations follow the model.
    #[arg(long, value_name = "API", default_value = "opencl", value_parser = api_name)]
    pub api: String,
}

/// The name of an API, as profiles have it.
fn api_name(text: &str) -> Result<String, String> {
    match gil_wire::api::named(text) {
        Some(_) => Ok(text.into()),
        None => Err("there is no API of that name: such as opencl, gles and cuda are".into()),
    }
}
