//! The command line.

mod agent;
mod cache;
mod calibrate;
mod display;
mod environment;
mod gem5;
mod guest;
mod image;
mod network;
mod report;
mod run;
mod share;
mod simulator;
mod sweep;
mod trace;

use clap::{Args, Parser, Subcommand};
use gil_benchmarks::BenchArgs;
use std::path::PathBuf;

pub use agent::{KeyCommand, PingArgs, StatusArgs};
pub use cache::{CacheCommand, KernelArgs};
pub use calibrate::{
    CalibrateCallsArgs, CalibrateCommand, CalibrateContentionArgs, CalibrateCoresArgs,
    CalibrateCpuArgs, CalibrateProgramsArgs,
};
pub use display::{DisplayOptions, Size};
pub use gem5::{Gem5Options, Mode};
pub use image::{ImageArgs, MachineArgs, SysrootArgs};
pub use network::{Network, SERVERS};
pub use report::ReportArgs;
pub use run::RunArgs;
pub use share::{Out, Share};
pub use simulator::{GlTime, Sim, Time};
pub use sweep::SweepArgs;
pub use trace::{
    TraceCommand, TraceDiffArgs, TraceLsArgs, TraceMergeArgs, TraceShowArgs, TraceStatsArgs,
};

/// Run programs in a simulated ARM Linux system, with a real GPU in the loop.
#[derive(Debug, Parser)]
#[command(name = "gil", version)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program in the guest; its GPU work runs on the board.
    #[command(override_usage = "gil run [OPTIONS] PROGRAM [ARG]...")]
    Run(Box<RunArgs>),
    /// Run a program over a grid of options and parameters, in parallel, and make one table
    /// of the reports. What was stopped goes on where it was.
    Sweep(SweepArgs),
    /// Be a board: run forwarded GPU calls on this machine's devices.
    Board(gil_board::cli::BoardArgs),
    /// Show a board's devices and how long it takes to reach it.
    Ping(PingArgs),
    /// Show a running agent's sessions, and what it did since its start.
    Status(StatusArgs),
    /// Keys that boards and their users share.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Show what is missing here, and the command that mends it.
    Doctor,
    /// Install the Debian packages that runs need and this machine lacks: says
    /// which, shows the commands, and asks.
    Setup(SetupArgs),
    /// Unpack Debian packages and gil's guest libraries in a folder, for
    /// simulators that run programs without a kernel.
    Sysroot(SysrootArgs),
    /// Write a guest as files, a kernel and an initramfs, for a simulator that is
    /// started by hand.
    #[command(override_usage = "gil image [OPTIONS] FOLDER PROGRAM [ARG]...")]
    Image(ImageArgs),
    /// Measure what the bridge costs, each figure with its baseline.
    Bench(BenchArgs),
    /// Measure a board, for its profile: what a run corrects the board's times by.
    #[command(subcommand)]
    Calibrate(CalibrateCommand),
    /// Make a kernel and an initramfs of Debian packages and a network, for a
    /// machine in QEMU that is no guest of gil's: a board to try things on.
    Machine(MachineArgs),
    /// List what is in gil's cache, or remove what was used longest ago.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Print a report that `gil run --json` wrote, or what a log of `gil run --calls` says.
    Report(ReportArgs),
    /// Show what is in a recording that `gil run --record` wrote.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Show the guest's kernel, its functions, or make an ELF file of it for
    /// gem5.
    Kernel(KernelArgs),
    /// Print what a shell needs to complete gil's commands and options.
    Completions(CompletionsArgs),
    /// Print gil's man page, or write those of all its commands into a folder.
    Man(ManArgs),
}

/// Arguments of `gil setup`.
#[derive(Clone, Debug, Args)]
pub struct SetupArgs {
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
    /// Install no GPU's library: runs use a board elsewhere.
    #[arg(long)]
    pub no_device: bool,
}

/// Arguments of `gil completions`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
For bash, in this shell: source <(gil completions bash)
For all later ones: gil completions bash > ~/.local/share/bash-completion/completions/gil")]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `gil man`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "For man: gil man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The folder, which is made if it is not there.
    pub folder: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
