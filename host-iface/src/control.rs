//! Calls of API 0, from the guest's init to the host interface.

use crate::events::Events;
use crate::stats::Stats;
use gil_report::Failure;
use gil_wire::Op;
use gil_wire::control::{self, Called, Console, Exited, Failed, Late, Started};
use gil_wire::envelope::Envelope;
use gil_wire::monitor::Event;

/// A control call that is refused.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No such call.
    #[error(
        "the guest called {0}, which this gil does not know: use one release for guest and host"
    )]
    Unknown(Op),
    /// Its arguments do not decode.
    #[error("the arguments of {op} do not decode: {error}")]
    Arguments {
        /// The call.
        op: Op,
        /// The decoder's error.
        error: postcard::Error,
    },
}

/// Whether the program starts with this call.
pub fn is_started(envelope: &Envelope<'_>) -> bool {
    envelope.op == control::STARTED
}

/// Executes one control call.
///
/// # Errors
/// [`ControlError`]; nothing was done.
pub fn execute(
    envelope: &Envelope<'_>,
    now_ns: u64,
    stats: &mut Stats,
    events: &mut Events,
) -> Result<(), ControlError> {
    match envelope.op {
        control::CONSOLE => console(arguments(envelope)?, events),
        control::STARTED => {
            let Started { .. } = arguments(envelope)?;
            started(now_ns, stats, events);
        }
        control::EXITED => exited(arguments(envelope)?, now_ns, stats, events),
        control::FAILED => failed(arguments(envelope)?, stats, events),
        control::CALLED => {
            let Called { entries } = arguments(envelope)?;
            stats.called(&entries);
        }
        control::LATE => {
            let Late { callbacks } = arguments(envelope)?;
            let late = &mut stats.report.totals.late_callbacks;
            *late = late.saturating_add(callbacks);
        }
        op => return Err(ControlError::Unknown(op)),
    }
    Ok(())
}

fn arguments<'a, T: serde::Deserialize<'a>>(envelope: &Envelope<'a>) -> Result<T, ControlError> {
    let op = envelope.op;
    postcard::from_bytes(envelope.args).map_err(|error| ControlError::Arguments { op, error })
}

fn console(console: Console<'_>, events: &mut Events) {
    events.tell(Event::Console {
        stream: console.stream,
        bytes: console.bytes.to_vec(),
    });
}

/// The program is about to be executed.
pub fn started(now_ns: u64, stats: &mut Stats, events: &mut Events) {
    stats.started(now_ns);
    events.tell(Event::Started { now_ns });
}

/// The program ended.
pub fn exited(exited: Exited, now_ns: u64, stats: &mut Stats, events: &mut Events) {
    let Exited { code, signal } = exited;
    stats.ended(now_ns);
    stats.report.program.exit_code = code;
    stats.report.program.signal = signal;
    events.tell(Event::Exited {
        now_ns,
        code,
        signal,
    });
}

fn failed(failed: Failed, stats: &mut Stats, events: &mut Events) {
    let Failed { code, reason } = failed;
    stats.report.program.failure = Some(Failure {
        code,
        reason: reason.clone(),
    });
    events.tell(Event::Failed { code, reason });
}
