//! Drivers that crash, made of `icd/crash.c`.

use super::agent::Agent;
use super::{Client, connect};
use gil_wire::call::Handle;
use gil_wire::generated::opencl as wire;
use gil_wire::hello::{HELLO_LEN, Hello};
use gil_wire::message::CallStatus;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Registers a driver that crashes; false if none can be built here.
pub fn register_crash(vendors: &Path, name: &str, crash: u32) -> bool {
    let library = vendors.join(format!("lib{name}.so"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/icd/crash.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(format!("-DCRASH={crash}"))
        .arg(source)
        .status();
    let text = format!("{}\n", library.display());
    std::fs::write(vendors.join(format!("{name}.icd")), text).unwrap();
    let is_built = built.is_ok_and(|status| status.success());
    if !is_built {
        let why = "a C compiler and OpenCL's headers build the drivers of this test";
        gil_need::skip("OpenCL's headers", why);
    }
    is_built
}

/// An agent whose one driver crashes when a context is made.
pub fn crashing_agent(vendors: &Path, args: &[&str]) -> Option<Agent> {
    agent_that(vendors, 2, args)
}

/// An agent whose one driver does what `crash.c` has under this number.
pub fn agent_that(vendors: &Path, crash: u32, args: &[&str]) -> Option<Agent> {
    if !register_crash(vendors, "crash", crash) {
        return None;
    }
    match Agent::with_vendors(vendors, args) {
        Ok(agent) => Some(agent),
        Err(reason) if reason.contains("libOpenCL") => {
            gil_need::skip("an ICD loader", reason);
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

/// Sends the call that the driver answers in its own way, with an answer if it
/// has any.
pub fn send_crash(client: &mut Client) {
    let platform = platforms(client)[0];
    let args = wire::ClGetDeviceIDsArgs {
        platform,
        device_type: u64::from(u32::MAX),
        num_entries: 1,
        devices: true,
        num_devices: true,
    };
    let args = postcard::to_stdvec(&args).unwrap();
    let done = client.call(wire::CL_GET_DEVICE_IDS, &args, &[], &[]);
    let found: wire::ClGetDeviceIDsReply = postcard::from_bytes(&done.result).unwrap();
    let args = wire::ClCreateContextArgs {
        num_devices: 1,
        devices: Some(found.devices),
        new: Handle(1),
        ..Default::default()
    };
    let args = postcard::to_stdvec(&args).unwrap();
    client.start(wire::CL_CREATE_CONTEXT, true, &args, &[], &[]);
}

/// Whether a new connection gets a session.
pub fn answers(agent: &Agent) -> bool {
    let mut stream = connect(&agent.address);
    let mut hello = [0; HELLO_LEN];
    let shaken = stream.write_all(&Hello::ours().encode());
    let shaken = shaken.and_then(|()| stream.read_exact(&mut hello));
    shaken.is_ok() && Client::new(stream).ping(1).is_ok()
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A call that the driver answers.
pub fn platforms(client: &mut Client) -> Vec<Handle> {
    let args = wire::ClGetPlatformIDsArgs {
        num_entries: 1,
        platforms: true,
        num_platforms: true,
    };
    let args = postcard::to_stdvec(&args).unwrap();
    let done = client.call(wire::CL_GET_PLATFORM_IDS, &args, &[], &[]);
    assert_eq!(done.status, CallStatus::Ran, "{done:?}");
    let reply: wire::ClGetPlatformIDsReply = postcard::from_bytes(&done.result).unwrap();
    reply.platforms
}
