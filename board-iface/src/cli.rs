//! The command `gil-board`, which is also `gil board`.

use crate::board::{Board, BoardError};
use crate::opencl::{DriverOptions, OpenClBoard};
use crate::printed;
use crate::replay::ReplayBoard;
use crate::server::{Server, ServerError, ServerOptions, Stopper};
use crate::session::{ScriptedTimes, SessionOptions};
use gil_wire::Op;
use gil_wire::address::Address;
use gil_wire::generated::opencl;
use nix::sys::signal::{SigSet, Signal};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Runs forwarded GPU calls on this machine's devices.
#[derive(Clone, Debug, clap::Args)]
pub struct BoardArgs {
    /// Where to listen: tcp://HOST:PORT (port 0: any free one) or unix:PATH.
    /// Only loopback addresses: connections are not authenticated.
    #[arg(long, value_name = "ADDR")]
    pub listen: Address,
    /// Answer from a recording instead of a device.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// End when standard input is closed, so that no agent outlives the
    /// process that started it.
    #[arg(long)]
    pub exit_with_stdin: bool,
    /// Sessions at a time.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub max_sessions: usize,
    /// Mebibytes of call data that one session may hold in memory.
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    pub max_memory: u64,
    /// For tests, and for drivers that lie: do not ask the driver which of a
    /// kernel's arguments are objects, but read it from the program's text.
    #[arg(long)]
    pub no_kernel_arg_info: bool,
    /// For tests: report these times instead of measured ones, in
    /// nanoseconds, written cpu=NS,device=NS.
    #[arg(long, value_name = "TIMES", value_parser = scripted_times)]
    pub scripted_times: Option<ScriptedTimes>,
    /// For tests: run what is enqueued by this function, but where the guest
    /// does not wait for the answer say that it was refused with this error;
    /// written clEnqueueNDRangeKernel=-54.
    #[arg(long, value_name = "NAME=ERROR", value_parser = refused_posts)]
    pub refuse_posted: Option<RefusedPosts>,
    /// For tests: wait this many milliseconds before every answer.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub delay_reply: u64,
}

/// A text that is not `cpu=NS,device=NS`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" gives no times: write cpu=NS,device=NS, both in nanoseconds")]
pub struct TimesError(String);

fn scripted_times(text: &str) -> Result<ScriptedTimes, TimesError> {
    let fail = || TimesError(text.into());
    let (mut cpu, mut device) = (None, None);
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(fail)?;
        let slot = match name.trim() {
            "cpu" => &mut cpu,
            "device" => &mut device,
            _ => return Err(fail()),
        };
        *slot = Some(value.trim().parse().map_err(|_| fail())?);
    }
    Ok(ScriptedTimes {
        cpu_ns: cpu.ok_or_else(fail)?,
        device_ns: device.ok_or_else(fail)?,
    })
}

/// Enqueues that are said to be refused where nobody waits for their answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedPosts {
    /// Which function's.
    pub op: Op,
    /// The negative error code.
    pub error: i32,
}

/// A text that is not `NAME=ERROR`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" names no refusal: write an OpenCL function and a negative error, NAME=ERROR")]
pub struct RefusedPostsError(String);

fn refused_posts(text: &str) -> Result<RefusedPosts, RefusedPostsError> {
    let parse = || {
        let (name, error) = text.split_once('=')?;
        let info = opencl::CALLS.iter().find(|call| call.name == name)?;
        let error = error.parse().ok().filter(|error| *error < 0)?;
        let op = Op::new(opencl::CL_FLUSH.api(), info.entry);
        Some(RefusedPosts { op, error })
    };
    parse().ok_or_else(|| RefusedPostsError(text.into()))
}

/// Why the agent does not run.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// No device, no recording.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Signals, standard input or output.
    #[error("the agent cannot be set up: {0}")]
    System(#[from] io::Error),
}

/// Runs the agent until SIGINT, SIGTERM, or the end of standard input if so
/// asked. Prints one line, `listening on ADDR`, when it is ready.
///
/// # Errors
/// [`CliError`], one sentence.
pub fn run(args: &BoardArgs) -> Result<(), CliError> {
    let signals = block_signals()?;
    let board: Arc<dyn Board> = match &args.replay {
        Some(file) => Arc::new(ReplayBoard::open(file).map_err(BoardError::from)?),
        None => Arc::new(OpenClBoard::load(driver_options(args)).map_err(BoardError::from)?),
    };
    for device in board.devices() {
        let (api, platform, version) = (device.api, device.platform, device.version);
        tracing::info!("{api}: {platform}, {} ({version})", device.name);
    }
    let (server, stopper) = Server::bind(&args.listen, board, options(args))?;
    let stopper = Arc::new(stopper);
    end_with_signals(signals, stopper.clone())?;
    if args.exit_with_stdin {
        end_with_stdin(stopper)?;
    }
    let mut out = io::stdout();
    writeln!(out, "listening on {}", server.address())?;
    out.flush()?;
    // Nothing of the agent's own goes there any more.
    printed::capture()?;
    Ok(server.run()?)
}

fn driver_options(args: &BoardArgs) -> DriverOptions {
    DriverOptions {
        asks_arg_info: !args.no_kernel_arg_info,
        refuses_posted: args
            .refuse_posted
            .map(|refused| (refused.op, refused.error)),
    }
}

fn options(args: &BoardArgs) -> ServerOptions {
    ServerOptions {
        sessions: args.max_sessions,
        session: SessionOptions {
            memory: args.max_memory.saturating_mul(1 << 20),
            scripted: args.scripted_times,
            delay: Duration::from_millis(args.delay_reply),
        },
    }
}

/// Signals that end the agent. They are blocked in all threads and waited for
/// in one, because drivers replace signal handlers (LLVM's remove its
/// temporary files and let the process die).
fn block_signals() -> io::Result<SigSet> {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    signals.thread_block()?;
    Ok(signals)
}

fn end_with_signals(signals: SigSet, stopper: Arc<Stopper>) -> io::Result<()> {
    let watch = move || {
        while signals.wait().is_err() {}
        stopper.stop();
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(watch)?;
    Ok(())
}

fn end_with_stdin(stopper: Arc<Stopper>) -> io::Result<()> {
    let watch = move || {
        // io::copy() goes on when a signal interrupts it.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        stopper.stop();
    };
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(watch)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_any_order() {
        let times = ScriptedTimes {
            cpu_ns: 5,
            device_ns: 7,
        };
        assert_eq!(scripted_times("cpu=5,device=7"), Ok(times));
        assert_eq!(scripted_times("device=7, cpu=5"), Ok(times));
        for text in ["", "cpu=5", "cpu=5,device=x", "cpu=5,gpu=7"] {
            assert!(scripted_times(text).is_err(), "{text}");
        }
    }
    #[test]
    fn refusals_name_a_function_and_an_error() {
        let refused = refused_posts("clEnqueueNDRangeKernel=-54").unwrap();
        assert_eq!(
            (refused.op, refused.error),
            (opencl::CL_ENQUEUE_ND_RANGE_KERNEL, -54)
        );
        for text in [
            "",
            "clEnqueueTask",
            "clEnqueueTask=0",
            "clNone=-1",
            "clFlush=x",
        ] {
            assert!(refused_posts(text).is_err(), "{text}");
        }
    }
}
