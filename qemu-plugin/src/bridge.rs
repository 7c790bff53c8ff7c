//! The one host interface of this QEMU, and the callbacks that use it.

use crate::counter::Counter;
use crate::refuse;
use crate::registers::Registers;
use gil_detect::module_code::{ModuleCode, ModuleError};
use gil_detect::watch::{Point, Spec, WatchError, Watches, When};
use gil_host::config::Detect;
use gil_host::events::Standard;
use gil_host::host::HostError;
use gil_host::memory::Mapped;
use gil_host::{Config, Host};
use gil_uapi::{GuestAddress, VirtualAddress};
use nix::sys::signal::Signal;
use qemu_plugin::{
    MemValue, MemoryInfo, PluginId, VCPUIndex, qemu_plugin_register_atexit_cb,
    qemu_plugin_register_vcpu_init_cb,
};
use std::sync::OnceLock;

static BRIDGE: OnceLock<Bridge> = OnceLock::new();

/// The state that the callbacks share.
pub struct Bridge {
    host: Host,
    config: Config,
    registers: OnceLock<Registers>,
    /// With `count=on`, or with watches.
    pub counter: Option<Counter>,
    /// The way in which doorbells are detected.
    pub doorbells: Doorbells,
    /// With `watch=…`.
    pub watches: Option<Watches>,
}

/// The way in which doorbells are detected.
pub enum Doorbells {
    /// By the marker instruction.
    Marker,
    /// By the driver's symbol, as the kernel loads the driver.
    Loaded(Watches),
    /// By the driver's own bytes, where the kernel is not known or does not
    /// describe its structures.
    Code(ModuleCode),
}

impl Doorbells {
    fn new(config: &Config) -> Result<Self, ModuleError> {
        let (Detect::Symbol, Some(path)) = (config.detect, &config.module) else {
            return Ok(Self::Marker);
        };
        let spec = Spec {
            object: Some("gil".into()),
            function: DOORBELL.into(),
            file: None,
            types: None,
            driver: None,
            bytes: 0,
        };
        let kernel = config.kernel.as_deref();
        match Watches::new(&[spec], kernel, u64::MAX) {
            Ok(watches) => Ok(Self::Loaded(watches)),
            Err(_) => Ok(Self::Code(ModuleCode::open(path, DOORBELL)?)),
        }
    }
}

/// The driver's function that rings.
const DOORBELL: &str = "gil_doorbell";

/// Why the plugin cannot work.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The host interface.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The driver's module.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// An error in a watch.
    #[error(transparent)]
    Watch(#[from] WatchError),
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
        let doorbells = Doorbells::new(&config)?;
        let watches = Watches::new(&config.watch, config.kernel.as_deref(), config.watch_limit)?;
        let watches = (!watches.is_empty()).then_some(watches);
        let host = Host::new(&config, simulator, Box::new(Standard))?;
        host.set_spinning();
        // Without its monitor nobody would end this QEMU; its own handler does
        // it in order.
        host.cancel().on_set(|| {
            let _ = raise_process(Signal::SIGTERM);
        });
        Ok(Self {
            host,
            registers: OnceLock::new(),
            counter: match (config.count, &watches) {
                (true, _) => Some(Counter::each()),
                (false, Some(_)) => Some(Counter::blocks()),
                (false, None) => None,
            },
            doorbells,
            watches,
            config,
        })
    }

    /// Asks QEMU to be called.
    ///
    /// # Errors
    /// What the crate says; in this version, none.
    pub fn register(&'static self, id: PluginId) -> qemu_plugin::Result<()> {
        qemu_plugin_register_vcpu_init_cb(id, Some(vcpu_init))?;
        qemu_plugin_register_atexit_cb(id, |_| {
            let watches = self.watches.iter().flat_map(Watches::summary);
            watches.for_each(|text| self.host.watched(text));
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
        match Registers::find() {
            Some(registers) => drop(self.registers.set(registers)),
            None => self.stop("this QEMU does not show the guest's register x0"),
        }
    }

    fn map_memory(&self) -> Result<Mapped, gil_host::memory::MemoryError> {
        let base = self.config.ram_base;
        match (&self.config.ram, &self.config.ram_mapped) {
            (Some(path), _) => Mapped::open(path, base, Vec::new()),
            (None, Some(path)) => Mapped::by_simulator(path, base),
            (None, None) => Mapped::own_memfd(base),
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
        let x0 = self.registers.get().and_then(|registers| registers.x(0));
        match x0 {
            Some(gpa) => {
                // The driver reads the answer in its mailbox.
                self.host.doorbell(GuestAddress(gpa), self.executed());
            }
            None => self
                .host
                .warn("a doorbell's register x0 cannot be read".into()),
        }
    }

    /// Whether this is code of the GPU's driver.
    pub fn is_gpu_code(&self, address: u64) -> bool {
        self.host.is_gpu_code(VirtualAddress(address))
    }

    /// What the instruction at this address stores is seen from now on.
    pub fn instrument(&self, code: u64) {
        self.host.instrument(VirtualAddress(code));
    }

    /// The GPU's driver stored a word, by the instruction at the first address.
    pub fn stored(&self, code: u64, access: &MemoryInfo<'_>, address: u64) {
        self.host.execute_instrumented(VirtualAddress(code));
        let place = access.hwaddr(address).map(|place| place.hwaddr());
        if let (Some(place), MemValue::U32(value)) = (place, access.value()) {
            self.host.store(VirtualAddress(address), place, value);
        }
    }

    /// The kernel has loaded a module, which may be the driver.
    pub fn loaded(&self, point: (VirtualAddress, Point)) {
        if let (Doorbells::Loaded(watches), Some(registers)) =
            (&self.doorbells, self.registers.get())
            && let Some(seen) = watches.reach(point, registers, None)
        {
            self.host.warn(seen.to_string());
        }
    }

    /// A point that is watched for is reached; `rest` instructions of its block,
    /// its own among them, are still to come.
    pub fn reach(&self, point: (VirtualAddress, Point), rest: u64) {
        let (Some(watches), Some(registers)) = (&self.watches, self.registers.get()) else {
            return;
        };
        if let Some(addresses) = watches.job(point.1, registers) {
            self.host.enter_start(addresses);
        }
        let executed = self.counter.as_ref().map(|counter| counter.before(rest));
        let seen = watches.reach(point, registers, executed.map(When::Instructions));
        if let Some(seen) = seen {
            self.host.watched(seen.to_string());
        }
    }

    /// The guest's CPU idles.
    pub fn idle(&self) {
        if let Some(instructions) = self.executed() {
            self.host.idle(instructions);
        }
    }

    /// Whether the report's prediction counts instructions.
    pub fn counts(&self) -> bool {
        self.config.count
    }

    fn executed(&self) -> Option<u64> {
        let counter = self.counter.as_ref().filter(|_| self.config.count);
        counter.map(Counter::sum)
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
