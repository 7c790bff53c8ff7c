//! Sessions one after the other and many at once: nothing of them stays in the
//! agent. And what it reports of them to an operator.

mod common;

use common::Client;
use common::agent::Agent;
use common::driver::{crashing_agent, platforms};
use gil_wire::hello::{Hello, OPERATOR};
use gil_wire::message::{Reply, Request};
use gil_wire::status::Status;
use std::time::{Duration, Instant};

/// Sessions before the first look: by then every buffer has been needed once.
const WARM_UP: usize = 40;
/// By how much the agent may grow.
const SLACK_KIB: i64 = 2 << 10;

/// Files of connections that are being closed.
const SLACK_FILES: usize = 8;
/// How often an agent may have grown in a row.
const ROUNDS: usize = 3;

/// What the agent itself holds.
#[derive(Debug)]
struct Held {
    files: usize,
    threads: usize,
    kib: i64,
}

impl Held {
    fn of(agent: &Agent) -> Self {
        let count = |what: &str| {
            let folder = format!("/proc/{}/{what}", agent.pid());
            std::fs::read_dir(folder).unwrap().count()
        };
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", agent.pid())).unwrap();
        let pages: i64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            files: count("fd"),
            threads: count("task"),
            kib: pages * 4,
        }
    }

    /// Whether nothing was added to `before`.
    fn is_as(&self, before: &Self) -> bool {
        self.files <= before.files + SLACK_FILES && self.kib <= before.kib + SLACK_KIB
    }

    /// Waits until what sessions held is given back.
    fn settled(agent: &Agent) -> Self {
        let until = Instant::now() + Duration::from_secs(60);
        while status(agent).open_sessions > 0 || Self::of(agent).threads > 8 {
            assert!(Instant::now() < until, "{:?}", status(agent));
            std::thread::sleep(Duration::from_millis(5));
        }
        Self::of(agent)
    }
}

fn status(agent: &Agent) -> Status {
    let hello = Hello::ours().with_capabilities(OPERATOR);
    let mut client = Client::hello(&agent.address, &hello);
    client.send(&Request::Status, &[]);
    let answer = |reply: Reply<'_>, _: &[u8]| match reply {
        Reply::Status(status) => status,
        other => panic!("{other:?}"),
    };
    client.receive(answer).unwrap()
}

fn one_after_the_other(agent: &Agent, count: usize) {
    for number in 0..count {
        let mut client = Client::connect(&agent.address);
        client.ping(number as u64).unwrap();
    }
}

fn at_once(agent: &Agent, count: usize) {
    Held::settled(agent);
    let clients = std::thread::scope(|scope| {
        let open = || scope.spawn(|| Client::open(&agent.address));
        let threads: Vec<_> = (0..count).map(|_| open()).collect();
        let clients = threads.into_iter().map(|thread| thread.join().unwrap());
        clients.collect::<Vec<_>>()
    });
    assert_eq!(status(agent).open_sessions, count as u64);
    for mut client in clients {
        assert_eq!(platforms(&mut client).len(), 1);
    }
}

/// Sessions in threads are not confined.
fn kept_in(kind: &str) -> Vec<&str> {
    let mut args = vec!["--sessions", kind];
    if kind == "threads" {
        args.push("--no-confinement");
    }
    args
}

fn stays_flat(kind: &str, count: usize) {
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &kept_in(kind)) else {
        return;
    };
    one_after_the_other(&agent, WARM_UP);
    at_once(&agent, 64);
    let mut rounds = 0;
    let mut before = Held::settled(&agent);
    loop {
        one_after_the_other(&agent, count);
        at_once(&agent, 64);
        rounds += 1;
        let after = Held::settled(&agent);
        println!("{kind}: {before:?}, after {count} sessions {after:?}");
        if after.is_as(&before) {
            break;
        }
        // What sessions leave behind grows every time; what the allocator sets
        // up for threads that happen to run together does not.
        assert!(rounds < ROUNDS, "{before:?} {after:?}");
        before = after;
    }
    let status = status(&agent);
    assert_eq!(
        status.all_sessions,
        (WARM_UP + 64 + rounds * (count + 64)) as u64
    );
    assert_eq!((status.crashed, status.refused), (0, 0));
}

#[test]
fn sessions_in_processes_leave_nothing_behind() {
    stays_flat("processes", 200);
}

#[test]
fn sessions_in_threads_leave_nothing_behind() {
    stays_flat("threads", 300);
}

#[test]
#[ignore = "takes minutes: cargo test -p gil-board --test flat -- --ignored --nocapture"]
fn ten_thousand_sessions_leave_nothing_behind() {
    stays_flat("processes", 10_000);
    stays_flat("threads", 10_000);
}

#[test]
fn an_operator_sees_sessions_and_totals_in_either_kind() {
    for kind in ["processes", "threads"] {
        let vendors = tempfile::tempdir().unwrap();
        let args = [&kept_in(kind)[..], &["--max-sessions", "2"]].concat();
        let Some(agent) = crashing_agent(vendors.path(), &args) else {
            return;
        };
        let mut client = Client::open(&agent.address);
        (0..3).for_each(|_| drop(platforms(&mut client)));
        let _second = Client::open(&agent.address);
        // Also when there is no room for a session.
        assert!(
            Client::connect(&agent.address)
                .refusal()
                .contains("2 sessions")
        );
        let now = status(&agent);
        assert_eq!((now.open_sessions, now.max_sessions), (2, 2));
        assert_eq!(now.devices[0].name, "a device that crashes");
        let first = &now.sessions[0];
        assert_eq!((first.counts.calls, first.counts.errors), (3, 0));
        assert!(first.counts.received > 64 && first.counts.sent > 64);
        assert!(first.peer.starts_with("127.0.0.1:"), "{}", first.peer);
        let before = first.counts;
        drop(client);
        let until = Instant::now() + Duration::from_secs(30);
        while status(&agent).open_sessions == 2 {
            assert!(Instant::now() < until, "the session never ends");
            std::thread::sleep(Duration::from_millis(5));
        }
        let after = status(&agent);
        assert_eq!((after.sessions.len(), after.all_sessions), (1, 2));
        assert_eq!(after.totals.calls, before.calls);
        assert!(after.totals.received >= before.received);
    }
}

#[test]
fn an_operators_connection_is_good_for_nothing_else() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &[]) else {
        return;
    };
    let hello = Hello::ours().with_capabilities(OPERATOR);
    let mut client = Client::hello(&agent.address, &hello);
    client.ping(1).unwrap();
    client.send_open();
    let reason = client.refusal();
    assert!(reason.contains("status only"), "{reason}");
    let mut client = Client::connect(&agent.address);
    client.send(&Request::Status, &[]);
    let reason = client.refusal();
    assert!(reason.contains("gil status"), "{reason}");
}

#[test]
fn a_session_that_asks_for_nothing_is_ended_where_that_is_bounded() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &["--max-idle", "1"]) else {
        return;
    };
    let mut client = Client::open(&agent.address);
    platforms(&mut client);
    let reason = client.refusal();
    assert!(reason.contains("--max-idle"), "{reason}");
}
