//! Calls of API 0, from the guest's init to the host interface.

use crate::events::Events;
use crate::memory::{GuestMemory, MemoryError, read_region, write_region};
use crate::stats::Stats;
use crate::submission::{Region, Submission};
use gil_report::Failure;
use gil_wire::Op;
use gil_wire::control::{
    self, Called, Channel, Console, EXCHANGE, Exchange, Exchanged, Exited, Failed, Late,
    MESSAGE_MAX, Module, Modules, Started,
};
use gil_wire::envelope::{Answer, Envelope};
use gil_wire::message::Direction;
use gil_wire::monitor::Event;
use gil_wire::words::Words;

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
    /// An invalid message.
    #[error(
        "{EXCHANGE} is no submission of its own with a region in, of at most {MESSAGE_MAX} bytes, and one out"
    )]
    Message,
    /// The memory that a message is in.
    #[error("the memory that {EXCHANGE} names cannot be used: {0}")]
    Memory(#[from] MemoryError),
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

/// What a process says that it mapped.
///
/// # Errors
/// [`ControlError::Arguments`].
pub fn modules(envelope: &Envelope<'_>) -> Result<Vec<Module>, ControlError> {
    let Modules { modules } = arguments(envelope)?;
    Ok(modules)
}

/// Passes a message on by `pass_on`, which puts the answer into its last argument;
/// the encoded answer to the guest.
///
/// # Errors
/// [`ControlError`]; nothing was passed on, unless the answer cannot be written.
pub fn exchange(
    envelopes: &[Envelope<'_>],
    submission: &Submission,
    memory: &dyn GuestMemory,
    pass_on: impl FnOnce(Channel, &[u8], &mut [u8]) -> Exchanged,
) -> Result<Vec<u8>, ControlError> {
    let ([envelope], [sent, room]) = (envelopes, submission.regions.as_slice()) else {
        return Err(ControlError::Message);
    };
    let Exchange { channel } = arguments(envelope)?;
    check(sent, room)?;
    let message = read_region(memory, &sent.extents)?;
    let mut answer = vec![0; room.extents.len().to_usize().min(MESSAGE_MAX)];
    let exchanged = pass_on(channel, &message, &mut answer);
    if let Exchanged::Answered { len } = exchanged {
        write_region(memory, &room.extents, &answer[..len as usize])?;
    }
    encode(&exchanged, submission.reply_cap)
}

fn check(sent: &Region, room: &Region) -> Result<(), ControlError> {
    let are_directed = (sent.dir, room.dir) == (Direction::In, Direction::Out);
    match are_directed && sent.extents.len().to_usize() <= MESSAGE_MAX {
        true => Ok(()),
        false => Err(ControlError::Message),
    }
}

fn encode(exchanged: &Exchanged, cap: usize) -> Result<Vec<u8>, ControlError> {
    let encode = || {
        let result = postcard::to_stdvec(exchanged)?;
        let result = result.as_slice();
        postcard::to_stdvec(&Answer {
            result,
            ..Answer::default()
        })
    };
    let op = EXCHANGE;
    let bytes = encode().map_err(|error| ControlError::Arguments { op, error })?;
    match bytes.len() <= cap {
        true => Ok(bytes),
        false => Err(ControlError::Message),
    }
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

/// Any process of the guest may say so: its words are shown as a peer's, and a failure
/// is no success.
fn failed(failed: Failed, stats: &mut Stats, events: &mut Events) {
    let code = failed.code.max(125);
    let reason = match failed.reason.trim().is_empty() {
        true => "a process of the guest says that the program failed, and not why".into(),
        false => Words::from(failed.reason).to_string(),
    };
    stats.report.program.failure = Some(Failure {
        code,
        reason: reason.clone(),
    });
    events.tell(Event::Failed { code, reason });
}
