//! `gil ping`: a board's devices, and the time of a round trip.

use crate::args::PingArgs;
use gil_benchmarks::NullCall;
use gil_board::replay::API as REPLAY;
use gil_board_client::agent::{AgentError, Connection};
use gil_wire::api::api;
use gil_wire::identity::DeviceInfo;
use gil_wire::message::{Call, CallStatus, Reply, Request};
use gil_wire::words::Words;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// What is to be printed: the devices, the round trip and the null call of the agent there.
///
/// # Errors
/// [`AgentError`] if it does not answer.
pub fn run(args: &PingArgs) -> Result<String, AgentError> {
    let mut connection = Connection::open(&args.address, args.key.as_deref())?;
    let mut text = String::new();
    let devices = connection.devices()?;
    let none = why_no_null_call(&devices);
    for device in devices {
        let [api, name] = [device.api, device.name].map(Words::from);
        let [platform, version] = [device.platform, device.version].map(Words::from);
        let _ = writeln!(text, "{api}: {name} ({platform}, {version})");
    }
    if text.is_empty() {
        text = "the board has no device\n".into();
    }
    let round_trips = Spread::of(args.count, || connection.round_trip())?;
    let _ = writeln!(text, "round trip: {round_trips}");
    if let Some(why) = none {
        let _ = writeln!(text, "forwarded null call: none, since {why}");
    } else {
        let mut calls = NullCalls::open(connection)?;
        let null_calls = Spread::of(args.count, || calls.call())?;
        let _ = writeln!(text, "forwarded null call: {null_calls}");
    }
    Ok(text)
}

/// Why this board is not asked for the null call, which belongs to one API.
fn why_no_null_call(devices: &[DeviceInfo]) -> Option<String> {
    if devices.iter().any(|device| device.api == REPLAY) {
        return Some("a recording answers its own run only".into());
    }
    let title = api(gil_benchmarks::null_call().op.api())?.title;
    let serves = devices.iter().any(|device| device.api == title);
    let is_known = serves || devices.is_empty();
    (!is_known).then(|| format!("it is a call of {title}, which the board does not serve"))
}

/// A session in which the cheapest call of all is made.
struct NullCalls {
    connection: Connection,
    call: NullCall,
    seq: u64,
}

impl NullCalls {
    fn open(mut connection: Connection) -> Result<Self, AgentError> {
        let open = Request::Open {
            process: std::process::id(),
            pointer_bits: 64,
            finish: gil_wire::finish::Finish::Program,
        };
        connection.ask(&open, |reply| match reply {
            Reply::Opened { .. } => Ok(()),
            _ => Err(AgentError::Confused),
        })?;
        Ok(Self {
            connection,
            call: gil_benchmarks::null_call(),
            seq: 0,
        })
    }

    fn call(&mut self) -> Result<Duration, AgentError> {
        self.seq += 1;
        let seq = self.seq;
        let request = Request::Call(Call {
            seq,
            op: self.call.op,
            thread: 1,
            answer: true,
            finish: true,
            event: None,
            args: &self.call.args,
            regions: Vec::new(),
        });
        let start = Instant::now();
        self.connection.ask(&request, |reply| match reply {
            Reply::Done {
                seq: theirs, done, ..
            } if theirs == seq && done.status == CallStatus::Ran => Ok(()),
            _ => Err(AgentError::Confused),
        })?;
        Ok(start.elapsed())
    }
}

/// The distribution of times.
struct Spread {
    count: usize,
    least: Duration,
    median: Duration,
    worst: Duration,
}

impl Spread {
    fn of<E>(count: u32, mut once: impl FnMut() -> Result<Duration, E>) -> Result<Self, E> {
        let mut times = (0..count).map(|_| once()).collect::<Result<Vec<_>, E>>()?;
        times.sort();
        let at = |index: usize| times.get(index).copied().unwrap_or_default();
        Ok(Self {
            count: times.len(),
            least: at(0),
            median: at(times.len() / 2),
            worst: at(times.len().saturating_sub(1)),
        })
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        write!(
            f,
            "median {:.1} us, least {:.1} us, worst {:.1} us of {}",
            us(self.median),
            us(self.least),
            us(self.worst),
            self.count
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_sorted() {
        let mut times = [5, 1, 3].map(Duration::from_micros).into_iter();
        let spread = Spread::of(3, || times.next().ok_or(())).ok().unwrap();
        assert_eq!(
            spread.to_string(),
            "median 3.0 us, least 1.0 us, worst 5.0 us of 3"
        );
    }
}
