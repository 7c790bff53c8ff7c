//! gil, the command: run programs in a simulated ARM system with a real GPU in
//! the loop.

mod apart;
mod args;
mod bench_command;
mod build_times;
mod cache_command;
mod calibrate_command;
mod call_files;
mod calls_report;
mod devices;
mod doctor;
mod generate;
mod image_command;
mod input;
mod kernel_command;
mod launch;
mod launch_costs;
mod live;
mod machine;
mod monitor;
mod output;
mod ping;
mod reach;
mod recorded;
mod relay;
mod report;
mod report_command;
mod run;
mod say;
mod screen;
mod script;
mod setup;
mod shares;
mod signals;
mod simulator;
mod status;
mod stdin;
mod supervise;
mod sweep_command;
mod sysroot;
mod terminal;
mod trace_command;
mod watch;

use args::{CalibrateCommand, Cli, Command, KeyCommand};
use clap::Parser;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(folders) = shares::to_serve() {
        return exit_with(shares::serve(&folders));
    }
    if let Some(connection) = reach::wanted() {
        return reach::carry(connection);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    match cli.command {
        Command::Run(args) => ExitCode::from(run::run(&args).code),
        Command::Sweep(args) => sweep_command::run(&args),
        Command::Board(args) => board(&args),
        Command::Ping(args) => print_or_exit(ping::run(&args)),
        Command::Key(KeyCommand::New { file }) => exit_with(gil_board_client::key::make(&file)),
        Command::Status(args) => exit_with(status::run(&args)),
        Command::Sysroot(args) => exit_with(sysroot::run(&args)),
        Command::Calibrate(CalibrateCommand::Calls(args)) => {
            exit_with(calibrate_command::calls(&args))
        }
        Command::Calibrate(CalibrateCommand::Cpu(args)) => exit_with(calibrate_command::cpu(&args)),
        Command::Calibrate(CalibrateCommand::Cores(args)) => {
            exit_with(calibrate_command::cores(&args))
        }
        Command::Calibrate(CalibrateCommand::Programs(args)) => {
            exit_with(calibrate_command::programs(&args))
        }
        Command::Calibrate(CalibrateCommand::Contention(args)) => {
            exit_with(calibrate_command::contention(&args))
        }
        Command::Bench(args) => exit_with(bench_command::run(&args)),
        Command::Image(args) => exit_with(image_command::run(&args)),
        Command::Machine(args) => exit_with(machine::run(&args)),
        Command::Report(args) => exit_with(report_command::print(&args)),
        Command::Trace(command) => trace_command::run(&command),
        Command::Cache(command) => print_or_exit(cache_command::run(&command)),
        Command::Kernel(args) => exit_with(kernel_command::run(&args)),
        Command::Completions(args) => exit_with(generate::completions(&args)),
        Command::Man(args) => exit_with(generate::man(&args)),
        Command::Setup(args) => exit_with(setup::run(&args)),
        Command::Doctor => {
            let (text, are_met) = doctor::run();
            let printed = print_or_exit(Ok::<_, io::Error>(text));
            match are_met {
                true => printed,
                false => ExitCode::FAILURE,
            }
        }
    }
}

fn board(args: &gil_board::cli::BoardArgs) -> ExitCode {
    gil_board::log::start();
    let program = gil_board::process::Program {
        name: "gil",
        args: &["board"],
        back_ends: gil_board::BACK_ENDS,
    };
    exit_with(gil_board::cli::run(args, program))
}

/// Prints what a command found.
fn print_or_exit<E: std::fmt::Display>(found: Result<String, E>) -> ExitCode {
    match found {
        Ok(text) => exit_with(output::print(&text).or_else(unwritten)),
        Err(error) => exit_with(Err(error)),
    }
}

fn unwritten(error: io::Error) -> Result<(), String> {
    Err(format!(
        "cannot write what was asked for: {error}; make room, or write it elsewhere"
    ))
}

fn exit_with<E: std::fmt::Display>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // What went wrong may quote a file. Nobody may be reading.
            let _ = write!(
                io::stderr(),
                "{}",
                report::harmless(&format!("gil: {error}"))
            );
            ExitCode::FAILURE
        }
    }
}

/// A command line that is not understood: 2 as usual, but for `gil run` 125 as
/// `env` has it, where 2 would be the program's own.
fn refuse(error: &clap::Error) -> ExitCode {
    let printed = error.print();
    let is_run = std::env::args_os().nth(1).is_some_and(|arg| arg == "run");
    match (error.use_stderr(), is_run) {
        (false, _) => match printed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => exit_with(unwritten(error)),
            _ => ExitCode::SUCCESS,
        },
        // Nobody may be reading.
        (true, true) => ExitCode::from(125),
        (true, false) => ExitCode::from(2),
    }
}
