//! The guest's init: loads gil.ko, runs the program, reports its output and
//! exit code, and switches the machine off.
//!
//! | module | what |
//! |---|---|
//! | [`config`] | what to run: `/etc/gil/run.json` |
//! | [`disks`] | the root: the disks, with a layer above them that the program writes |
//! | [`system`] | mounts, host name, loopback, the module, power |
//! | [`host`] | control calls to the host interface |
//! | [`streams`] | the program's streams: pipes, or a terminal |
//! | [`shares`] | folders of the host |
//! | [`network`] | its Ethernet device, if it has one |
//! | [`display`] | its display, if it has one |
//! | [`driver`] | its driver of a GPU, if it has one |
//! | [`outputs`] | what is copied to the host in the end |
//! | [`program`] | the program's process: search, fork, exec |
//! | [`explain`] | why a program could not be executed |
//! | [`watch`] | its output and its end |
//! | [`input`] | its standard input, as the host gives it |
//! | [`error`] | errors, each with its exit code |

mod config;
mod disks;
mod display;
mod driver;
mod error;
mod explain;
mod host;
mod input;
mod network;
mod outputs;
mod program;
mod rates;
mod shares;
mod streams;
mod system;
mod watch;

use config::Config;
use error::Error;
use gil_wire::control::{Exited, Stream};
use host::{Host, Simulator};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::process::id() != 1 {
        eprintln!("gil-init is the init of gil's guests: boot it with `gil run`");
        return ExitCode::from(125);
    }
    if let Err(error) = boot() {
        eprintln!("gil-init: {error}");
    }
    system::power_off()
}

/// Everything but the power switch. An error is what could not be reported to
/// the host.
fn boot() -> Result<(), Error> {
    let root = disks::enter();
    let config = root.and_then(|()| Config::read(config::PATH.as_ref()));
    let mounted = system::prepare(config.as_ref().map_or(0, |c| c.seed));
    let module = match &config {
        Ok(config) => PathBuf::from(&config.module),
        Err(_) => config::MODULE.into(),
    };
    system::load_module(&module)?;
    let mut host = Simulator::open()?;
    match mounted
        .and(config)
        .and_then(|config| run(&config, &mut host))
    {
        Ok(()) => Ok(()),
        Err(error) => host.failed(error.code(), &error.to_string()),
    }
}

/// Runs the program to its end.
fn run(config: &Config, host: &mut dyn Host) -> Result<(), Error> {
    let watch = watch::Watch::new()?;
    config.network.as_ref().map_or(Ok(()), network::begin)?;
    config.driver.as_ref().map_or(Ok(()), driver::begin)?;
    config.display.as_ref().map_or(Ok(()), display::begin)?;
    let shares = shares::Shares::mount(0, &config.shares)?;
    let (theirs, ours) = streams::open(config)?;
    let program = program::Program::new(config, theirs)?;
    let waiting = program.fork()?;
    host.started(waiting.pid())?;
    let mut streams = watch::Streams::new(ours)?;
    if config.network.is_some() {
        streams.wait_shortly();
    }
    streams.begin(host)?;
    let pid = waiting.execute(&program)?;
    // The other ends of pipes are the program's alone now.
    drop(program);
    let leave = || config.display.as_ref().map_or(Ok(()), |_| display::leave());
    let ended = watch.follow(pid, streams, host, &leave)?;
    let mut failed = outputs::copy(config);
    failed.extend(shares.unmount().err());
    report(ended, &failed, host)?;
    // No time of the program's.
    config.display.as_ref().map_or(Ok(()), |_| display::end())
}

/// How the program ended; what went wrong after it is the run's end only if the
/// program's was a success.
fn report(ended: Exited, failed: &[Error], host: &mut dyn Host) -> Result<(), Error> {
    let is_success = ended.code == Some(0);
    for (number, error) in failed.iter().enumerate() {
        if number == 0 && is_success {
            host.failed(error.code(), &error.to_string())?;
        } else {
            let text = format!("gil: {error}\n");
            host.console(Stream::Err, text.as_bytes())?;
        }
    }
    host.exited(ended)
}
