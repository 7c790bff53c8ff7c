//! gil for QEMU: a TCG plugin over gil-host.
//!
//! ```text
//! qemu-system-aarch64 -plugin libgil_qemu.so,board=ADDR[,key=value…]
//! ```
//!
//! The keys are [`gil_host::Config`]'s. Guest RAM must be shared:
//! `-object memory-backend-memfd,id=ram,size=SIZE,share=on` and
//! `-machine virt,memory-backend=ram`.
//!
//! The plugin examines code when QEMU translates it. Only a doorbell has a callback,
//! on the vCPU's own thread, so that simulated time stands still until it is served.
//! An error while QEMU starts is one sentence on standard error, and QEMU does not
//! start.

mod bridge;
mod counter;
mod guest_code;
mod registers;
mod translate;

use bridge::Bridge;
use gil_host::Config;
use qemu_plugin::{Args, HasCallbacks, Info, PluginId, Register, Result};

/// What QEMU's plugin interface must offer: reading registers and memory.
const API_VERSION: i64 = 4;

struct Gil;

impl HasCallbacks for Gil {}

impl Register for Gil {
    /// Registers what gil needs and nothing else. The callbacks are plain
    /// functions over [`bridge::get`]: the crate's own take one lock for all
    /// of them, and a doorbell can last.
    fn register_default(&mut self, id: PluginId, args: &Args, info: &Info) -> Result<()> {
        match set_up(args, info) {
            Ok(bridge) => {
                bridge.register(id)?;
                translate::register(id)
            }
            Err(reason) => refuse(&reason),
        }
    }
}

qemu_plugin::register!(Gil);

fn set_up(args: &Args, info: &Info) -> std::result::Result<&'static Bridge, String> {
    check(info)?;
    let config = Config::from_args(args.raw.iter().map(String::as_str));
    let config = config.map_err(|error| error.to_string())?;
    let simulator = format!("QEMU (plugin API {})", info.version.current);
    let bridge = Bridge::new(config, &simulator).map_err(|error| error.to_string())?;
    Ok(bridge::set(bridge))
}

fn check(info: &Info) -> std::result::Result<(), String> {
    let found = info.version.current;
    if found < API_VERSION {
        return Err(format!(
            "this QEMU's plugin interface has version {found}, gil needs {API_VERSION}: use QEMU 9.2 or later"
        ));
    }
    if info.target_name != "aarch64" {
        let target = &info.target_name;
        return Err(format!(
            "this QEMU simulates {target}, gil's guests are aarch64: use qemu-system-aarch64"
        ));
    }
    if info.system.is_none() {
        return Err("gil needs a full system: use qemu-system-aarch64".into());
    }
    Ok(())
}

/// Says why, and ends QEMU as it ends itself for a bad argument.
pub(crate) fn refuse(reason: &str) -> ! {
    eprintln!("gil: {reason}");
    std::process::exit(1);
}
