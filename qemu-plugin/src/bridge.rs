//! The one host interface of this QEMU, and the callbacks that reach it.

use crate::counter::Counter;
use crate::{refuse, translate};
use gil_host::config::Detect;
use gil_host::detect::module_code::{ModuleCode, ModuleError};
use gil_host::events::Standard;
use gil_host::host::HostError;
use gil_host::memory::Mapped;
use gil_host::{Config, Host};
use nix::sys::signal::Signal;
use qemu_plugin::{
    PluginId, RegisterDescriptor, VCPUIndex, qemu_plugin_get_registers,
    qemu_plugin_register_atexit_cb, qemu_plugin_register_vcpu_init_cb,
    qemu_plugin_register_vcpu_tb_trans_cb,
};
use std::sync::OnceLock;

static BRIDGE: OnceLock<Bridge> = OnceLock::new();

/// What the callbacks work with.
pub struct Bridge {
    host: Host,
    config: Config,
    x0: OnceLock<RegisterDescriptor<'static>>,
    /// With `count=on`.
    pub counter: Option<Counter>,
    /// With `detect=symbol`.
    pub module: Option<ModuleCode>,
}

/// Why the plugin cannot work.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The host interface.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The driver's module.
    #[error(transparent)]
    Module(#[from] ModuleError),
}

/// Keeps the bridge for the rest of QEMU's life.
pub fn set(bridge: Bridge) -> &'static Bridge {
    BRIDGE.get_or_init(|| bridge)
}

/// The bridge, once QEMU has installed the plugin.
pub fn get() -> Option<&'static Bridge> {
    BRIDGE.get()
}

impl Bridge {
    /// Sets up what needs no guest yet.
    ///
    /// # Errors
    /// [`BridgeError`] says what to do.
    pub fn new(config: Config, simulator: &str) -> Result<Self, BridgeError> {
        let module = match (config.detect, &config.module) {
            (Detect::Symbol, Some(path)) => Some(ModuleCode::open(path, "gil_doorbell")?),
            _ => None,
        };
        let host = Host::new(&config, simulator, Box::new(Standard))?;
        // Without its monitor nobody would end this QEMU; its own handler does
        // it in order.
        host.cancel().on_set(|| {
            let _ = raise_process(Signal::SIGTERM);
        });
        Ok(Self {
            host,
            x0: OnceLock::new(),
            counter: config.count.then(Counter::new),
            module,
            config,
        })
    }

    /// Asks QEMU to be called.
    ///
    /// # Errors
    /// What the crate says; in this version, none.
    pub fn register(&'static self, id: PluginId) -> qemu_plugin::Result<()> {
        qemu_plugin_register_vcpu_init_cb(id, Some(vcpu_init))?;
        qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translate::translated))?;
        qemu_plugin_register_atexit_cb(id, |_| {
            self.host.finish();
        })
    }

    /// A vCPU exists: now guest RAM and the registers' names do.
    fn vcpu_init(&self) {
        if !self.host.has_memory() {
            match self.map_memory() {
                Ok(memory) => self.host.set_memory(Box::new(memory)),
                Err(error) => self.stop(&error.to_string()),
            }
        }
        let registers = qemu_plugin_get_registers().unwrap_or_default();
        match registers.into_iter().find(|register| register.name == "x0") {
            Some(x0) => drop(self.x0.set(x0)),
            None => self.stop("this QEMU does not show the guest's register x0"),
        }
    }

    fn map_memory(&self) -> Result<Mapped, gil_host::memory::MemoryError> {
        let base = self.config.ram_base;
        match &self.config.ram {
            Some(path) => Mapped::open(path, base, Vec::new()),
            None => Mapped::own_memfd(base),
        }
    }

    fn stop(&self, reason: &str) -> ! {
        self.host.fatal(reason.into());
        match self.config.monitor {
            Some(_) => refuse(reason),
            // It stands on standard error already.
            None => std::process::exit(1),
        }
    }

    /// The guest rings: x0 names the mailbox.
    pub fn doorbell(&self) {
        let bytes = self.x0.get().and_then(|x0| x0.read().ok());
        match bytes.as_deref().map(<[u8; 8]>::try_from) {
            Some(Ok(gpa)) => {
                // The driver reads the answer in its mailbox.
                self.host.doorbell(u64::from_le_bytes(gpa), self.executed());
            }
            _ => self
                .host
                .warn("a doorbell's register x0 cannot be read".into()),
        }
    }

    /// The guest's CPU idles.
    pub fn idle(&self) {
        if let Some(instructions) = self.executed() {
            self.host.idle(instructions);
        }
    }

    fn executed(&self) -> Option<u64> {
        self.counter.as_ref().map(Counter::sum)
    }
}

fn raise_process(signal: Signal) -> nix::Result<()> {
    nix::sys::signal::kill(nix::unistd::Pid::this(), signal)
}

extern "C" fn vcpu_init(_: PluginId, _: VCPUIndex) {
    if let Some(bridge) = get() {
        bridge.vcpu_init();
    }
}
