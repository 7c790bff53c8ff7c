//! A board whose operations all take the same time, which it tells when it is
//! asked to.

use super::board::{self, Act, FakeBoard, Later};
use super::guest::{Guest, call};
use gil_host::Config;
use gil_host::config::Time;
use gil_wire::envelope::{Class, Envelope};

/// Every operation takes this, whenever that is reported.
pub const DURATION: u64 = 10_000;
pub const CPU: u64 = 100;

/// A board that tells an operation's duration with its call's answer, if it is
/// asked to, and else when it is awaited.
pub fn answers(call: &board::Call) -> Act {
    let event = call.event.unwrap_or_default();
    let later = Later {
        event,
        duration_ns: DURATION,
        ..Later::default()
    };
    let is_enqueue = call.args != b"set";
    Act {
        cpu_ns: CPU,
        reports: match (is_enqueue, call.finish) {
            (true, true) => vec![(event, DURATION, vec![])],
            (true, false) => vec![],
            (false, _) => call
                .event
                .map(|event| (event, 0, vec![]))
                .into_iter()
                .collect(),
        },
        later: vec![later],
        ..Act::default()
    }
}

pub fn guest(board: &FakeBoard) -> Guest {
    let config = Config {
        board: Some(board.address()),
        time: Time::Async,
        ..Config::default()
    };
    Guest::with(config, false)
}

pub fn waiting(class: Class, waits: &[u64]) -> Envelope<'static> {
    Envelope {
        waits: waits.to_vec().into(),
        ..call(class, 0)
    }
}
