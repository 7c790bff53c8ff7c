//! One process a session: what a driver does to its process, it does to its
//! session only. Drivers that crash are made for it (`icd/crash.c`).

mod common;

use common::Client;
use common::agent::{Agent, command};
use common::driver::{answers, crashing_agent, platforms, register_crash, send_crash, wait_until};
use gil_wire::identity::DeviceInfo;
use gil_wire::message::{Reply, Request};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;
use std::time::Duration;

fn devices(client: &mut Client) -> Vec<DeviceInfo> {
    client.send(&Request::Devices, &[]);
    let answer = |reply: Reply<'_>, _: &[u8]| match reply {
        Reply::Devices { devices } => devices,
        other => panic!("{other:?}"),
    };
    client.receive(answer).unwrap()
}

/// The call that the driver does not survive; whether the connection ended.
fn crash(client: &mut Client) -> bool {
    send_crash(client);
    client.receive(|_, _| ()).is_err()
}

fn is_there(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn a_driver_that_crashes_ends_its_session_only() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &[]) else {
        return;
    };
    let mut other = Client::open(&agent.address);
    assert_eq!(devices(&mut other)[0].name, "a device that crashes");
    let first = platforms(&mut other);
    let mut victim = Client::open(&agent.address);
    assert_eq!(platforms(&mut victim), first, "the same numbers everywhere");
    assert!(crash(&mut victim), "the connection ends with the process");
    let said = agent.says("was ended by SIGSEGV");
    assert!(said.contains("update the driver"), "{said}");
    assert_eq!(platforms(&mut other), first);
    assert_eq!(platforms(&mut Client::open(&agent.address)), first);
}

#[test]
fn a_session_whose_process_is_killed_frees_its_place() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &["--max-sessions", "1"]) else {
        return;
    };
    for _ in 0..3 {
        let mut client = Client::open(&agent.address);
        platforms(&mut client);
        // The session's, and the one that waits for the next.
        for child in agent.children() {
            let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
        }
        assert!(client.receive(|_, _| ()).is_err());
        wait_until("the place is free", || answers(&agent));
    }
}

#[test]
fn no_process_outlives_its_agent() {
    let vendors = tempfile::tempdir().unwrap();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGKILL] {
        let Some(mut agent) = crashing_agent(vendors.path(), &[]) else {
            return;
        };
        let mut client = Client::open(&agent.address);
        platforms(&mut client);
        wait_until("one for the session, one for the next", || {
            agent.children().len() >= 2
        });
        let children = agent.children();
        kill(Pid::from_raw(agent.pid().cast_signed()), signal).unwrap();
        let status = agent.wait(Duration::from_secs(20)).expect("it ends");
        assert_eq!(status.success(), signal != Signal::SIGKILL, "{status}");
        wait_until("all are gone", || {
            !children.iter().any(|pid| is_there(*pid))
        });
        assert!(client.receive(|_, _| ()).is_err());
    }
}

#[test]
fn sigterm_to_a_sessions_process_ends_the_session() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &[]) else {
        return;
    };
    let mut client = Client::open(&agent.address);
    platforms(&mut client);
    // The other waits for the next session, and was started later.
    let session = agent.children()[0];
    kill(Pid::from_raw(session), Signal::SIGTERM).unwrap();
    assert!(client.receive(|_, _| ()).is_err());
    platforms(&mut Client::open(&agent.address));
    assert!(!agent.said().contains("is lost"), "{}", agent.said());
}

#[test]
fn drivers_that_crash_or_do_not_load_are_left_out_with_a_sentence() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(_) = crashing_agent(vendors.path(), &[]) else {
        return;
    };
    register_crash(vendors.path(), "abort", 1);
    let gone = vendors.path().join("gone.icd");
    std::fs::write(gone, "/no/such/libgone.so\n").unwrap();
    let agent = Agent::with_vendors(vendors.path(), &[]).unwrap();
    let said = agent.says("libgone.so");
    for words in ["left out: ", "abort.icd", "SIGABRT", "crash.icd"] {
        assert!(
            said.contains(words) == (words != "crash.icd"),
            "{words}: {said}"
        );
    }
    let mut client = Client::open(&agent.address);
    let found = devices(&mut client);
    assert_eq!(found.len(), 1, "{found:?}");
    platforms(&mut client);
    let mut list = command(&["--list"]);
    list.env("OCL_ICD_VENDORS", format!("{}/", vendors.path().display()));
    let output = list.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("a device that crashes"), "{text}");
    assert!(
        text.contains("abort.icd") && text.contains("libgone.so"),
        "{text}"
    );
}

#[test]
fn without_any_driver_the_agent_says_what_to_install() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(_) = crashing_agent(vendors.path(), &[]) else {
        return;
    };
    std::fs::remove_file(vendors.path().join("crash.icd")).unwrap();
    let reason = Agent::with_vendors(vendors.path(), &[]).err().unwrap();
    assert!(reason.contains("pocl-opencl-icd"), "{reason}");
    register_crash(vendors.path(), "abort", 1);
    let reason = Agent::with_vendors(vendors.path(), &[]).err().unwrap();
    assert!(
        reason.contains("abort.icd") && reason.contains("SIGABRT"),
        "{reason}"
    );
}

/// Whether nothing is left of a process but what its parent may ask for.
fn has_ended(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    threads <= 1 && stat.split(' ').nth(2) == Some("Z")
}

#[test]
fn sessions_begin_although_the_processes_that_waited_are_gone() {
    let vendors = tempfile::tempdir().unwrap();
    let Some(agent) = crashing_agent(vendors.path(), &["--ready-sessions", "3"]) else {
        return;
    };
    wait_until("three wait", || agent.children().len() == 3);
    for child in agent.children() {
        let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
        wait_until("it has ended", || has_ended(child));
    }
    platforms(&mut Client::open(&agent.address));
    agent.says("a process that waited for a session was ended by SIGKILL");
}

#[test]
fn no_more_processes_wait_than_sessions_may_be_open() {
    let vendors = tempfile::tempdir().unwrap();
    let options = ["--ready-sessions", "5", "--max-sessions", "2"];
    let Some(agent) = crashing_agent(vendors.path(), &options) else {
        return;
    };
    wait_until("two wait", || agent.children().len() == 2);
    let (_one, _two) = (Client::open(&agent.address), Client::open(&agent.address));
    wait_until("two serve and two wait", || agent.children().len() == 4);
}

#[test]
fn a_user_without_a_home_has_the_same_devices() {
    let list = |home: Option<&str>| {
        let mut list = command(&["--list"]);
        if let Some(home) = home {
            list.env("HOME", home).env_remove("XDG_CACHE_HOME");
        }
        let output = list.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout))
    };
    // Not even root makes a folder there.
    assert_eq!(list(Some("/proc/no-home")), list(None));
}
