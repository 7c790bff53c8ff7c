//! Many calls, and many sessions, between a guest's driver, the host interface
//! and an agent's process: memory and file descriptors stay as they are in
//! both. A few of each here; `scripts/test --long` sets a day's worth.

mod agent;
#[path = "../../../host-iface/tests/support/mod.rs"]
mod support;

use agent::{Agent, Footprint};
use gil_host::Config;
use gil_host::config::Time;
use gil_uapi::{Status, kind};
use gil_wire::envelope::{Class, Envelope};
use gil_wire::generated::opencl as cl;
use std::sync::{Mutex, MutexGuard, PoisonError};
use support::guest::{DATA, Guest, IN, OUT, call, enqueue};

/// An agent's default bound of sessions at a time.
const AT_ONCE: u64 = 64;
/// Bytes that a round writes and reads back.
const LEN: u64 = 64;
/// Posts in front of a round's write and read.
const POSTS: usize = 7;

/// The tests look at the memory of this process: one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many, unless the variable says so.
fn count(variable: &str, usual: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.map_or(usual, |text| text.parse().expect("a number"))
}

fn guest(agent: &Agent) -> Guest {
    let config = Config {
        board: Some(agent.address.clone()),
        time: Time::Async,
        ..Config::default()
    };
    Guest::with(config, false)
}

/// Posts, a write and a blocking read in one submission; how many calls.
fn round(guest: &mut Guest, event: &mut u64) -> u64 {
    let now = guest.now_ns;
    let written: [u8; LEN as usize] = std::array::from_fn(|i| (*event as u8).wrapping_add(i as u8));
    guest.write(DATA, &written);
    let mut operation = |op, blocking| {
        *event += 1;
        Envelope {
            op,
            blocking,
            observable: false,
            regions: 1,
            ..enqueue(*event, now)
        }
    };
    let mut envelopes = vec![call(Class::Post, now); POSTS];
    envelopes.push(operation(cl::CL_ENQUEUE_WRITE_BUFFER, false));
    envelopes.push(operation(cl::CL_ENQUEUE_READ_BUFFER, true));
    let seen = guest.submit(&envelopes, &[(DATA, LEN, IN), (DATA + 4096, LEN, OUT)]);
    assert_eq!(seen.status, Status::Ok as u32, "{:?}", guest.log.warnings());
    guest.now_ns = now.max(seen.deadline_ns) + 1;
    guest.collect();
    assert_eq!(guest.read(DATA + 4096, LEN as usize), written);
    envelopes.len() as u64
}

fn open(guest: &mut Guest, session: u64) {
    guest.session = session;
    assert_eq!(guest.simple(kind::OPEN).status, Status::Ok as u32);
}

/// Does something `count` times; the footprint after a tenth of them is the
/// footprint at the end.
fn stays_flat(agent: &Agent, count: u64, mut once: impl FnMut(u64)) {
    let warm = count / 10;
    (0..warm).for_each(&mut once);
    let before = [Footprint::of_this(), agent.footprint()];
    (warm..count).for_each(&mut once);
    let after = [Footprint::of_this(), agent.footprint_again(&before[1])];
    for (before, after) in before.iter().zip(&after) {
        assert!(after.is_as(before), "{count} times: {before:?}, {after:?}");
    }
    eprintln!("{count} times: {before:?}, then {after:?}");
}

#[test]
fn many_calls_leave_nothing_behind() {
    let _alone = alone();
    let agent = Agent::start();
    let mut guest = guest(&agent);
    let (mut event, mut calls) = (0, 0);
    let rounds = count("GIL_SOAK_CALLS", 18_000) / (POSTS as u64 + 2);
    stays_flat(&agent, rounds, |_| calls += round(&mut guest, &mut event));
    let report = guest.host.finish();
    assert_eq!(
        report.entries.iter().map(|entry| entry.count).sum::<u64>(),
        calls
    );
}

#[test]
fn many_sessions_leave_nothing_behind() {
    let _alone = alone();
    let agent = Agent::start();
    let mut guest = guest(&agent);
    stays_flat(&agent, count("GIL_SOAK_SESSIONS", 200), |nth| {
        round(&mut guest, &mut 0);
        assert_eq!(guest.close().status, Status::Ok as u32);
        open(&mut guest, 100 + nth);
    });
}

#[test]
fn as_many_sessions_at_once_as_the_agent_takes() {
    let _alone = alone();
    let agent = Agent::start();
    let mut guest = guest(&agent);
    let mut events = [0; AT_ONCE as usize];
    let first = guest.session;
    (1..=AT_ONCE).for_each(|nth| open(&mut guest, first + nth));
    for _ in 0..5 {
        for (nth, event) in (0..).zip(&mut events) {
            guest.session = first + nth;
            round(&mut guest, event);
        }
    }
    // One more is refused; it does not matter to the others.
    guest.session = first + AT_ONCE;
    let refused = guest.submit(&[call(Class::Query, 0)], &[]);
    assert_eq!(refused.status, Status::Lost as u32);
    let warnings = guest.log.warnings();
    assert!(warnings[0].contains("has 64 sessions open"), "{warnings:?}");
    guest.session = first;
    round(&mut guest, &mut events[0]);
}
