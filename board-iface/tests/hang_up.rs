//! Sessions whose driver does not come back, and whose peer hangs up.

mod common;

use common::Client;
use common::agent::Agent;
use common::driver::{agent_that, answers, platforms, send_crash, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;
use std::time::Duration;

/// The driver never comes back.
const NEVER: u32 = 3;
/// The driver comes back after two seconds.
const LATE: u32 = 4;

/// Processes that are in the driver: the others sleep elsewhere.
fn is_there(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// A session in the driver, and its process.
fn in_the_driver(agent: &Agent) -> (Client, i32) {
    let before = agent.children();
    let mut client = Client::open(&agent.address);
    platforms(&mut client);
    // The one that waited, which is the oldest of those that are not others'.
    let process = before[before.len() - 1];
    send_crash(&mut client);
    (client, process)
}

#[test]
fn sessions_that_hang_in_the_driver_leave_their_places_after_the_grace() {
    let vendors = tempfile::tempdir().unwrap();
    let args = [
        "--ready-sessions=1",
        "--max-sessions",
        "2",
        "--hang-up-grace",
        "1",
    ];
    let Some(agent) = agent_that(vendors.path(), NEVER, &args) else {
        return;
    };
    wait_until("one waits", || agent.children().len() == 1);
    let first = in_the_driver(&agent);
    wait_until("the next waits", || agent.children().len() == 2);
    let second = in_the_driver(&agent);
    assert!(!answers(&agent), "both places are taken");
    let processes = [first.1, second.1];
    drop((first, second));
    for _ in 0..2 {
        wait_until("a place is free", || answers(&agent));
    }
    wait_until("both are gone", || {
        !processes.iter().any(|pid| is_there(*pid))
    });
    let said = agent.says("is ended by force");
    assert!(!said.contains("is lost"), "{said}");
}

#[test]
fn a_call_that_ends_within_the_grace_ends_its_session_as_ever() {
    let vendors = tempfile::tempdir().unwrap();
    let args = ["--max-sessions", "1", "--hang-up-grace", "60"];
    let Some(agent) = agent_that(vendors.path(), LATE, &args) else {
        return;
    };
    wait_until("one waits", || agent.children().len() == 1);
    drop(in_the_driver(&agent));
    wait_until("the place is free", || answers(&agent));
    let said = agent.says("session 1 of");
    assert!(!said.contains("by force"), "{said}");
}

#[test]
fn a_peer_that_stays_has_not_hung_up() {
    let vendors = tempfile::tempdir().unwrap();
    let args = ["--max-sessions", "1", "--hang-up-grace", "0"];
    let Some(agent) = agent_that(vendors.path(), LATE, &args) else {
        return;
    };
    wait_until("one waits", || agent.children().len() == 1);
    let (mut client, _) = in_the_driver(&agent);
    client.done();
    platforms(&mut client);
    assert!(!agent.said().contains("by force"), "{}", agent.said());
}

#[test]
fn sigterm_ends_a_session_that_hangs_in_the_driver_after_the_grace() {
    let vendors = tempfile::tempdir().unwrap();
    let args = ["--max-sessions", "1", "--hang-up-grace", "1"];
    let Some(agent) = agent_that(vendors.path(), NEVER, &args) else {
        return;
    };
    wait_until("one waits", || agent.children().len() == 1);
    let (mut client, process) = in_the_driver(&agent);
    // In the driver by now, or on its way there.
    std::thread::sleep(Duration::from_millis(200));
    kill(Pid::from_raw(process), Signal::SIGTERM).unwrap();
    assert!(client.receive(|_, _| ()).is_err());
    wait_until("it is gone", || !is_there(process));
    wait_until("the place is free", || answers(&agent));
}
