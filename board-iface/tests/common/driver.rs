//! Drivers that crash, made of `icd/crash.c`.

use super::Client;
use super::agent::Agent;
use gil_wire::call::Handle;
use gil_wire::generated::opencl as wire;
use gil_wire::message::CallStatus;
use std::path::Path;
use std::process::Command;

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
    if !register_crash(vendors, "crash", 2) {
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
