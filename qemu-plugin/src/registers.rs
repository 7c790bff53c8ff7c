//! The guest's registers, as QEMU shows them to plugins.

use crate::guest_code;
use gil_detect::watch::Guest;
use gil_detect::watch::arguments::Convention;
use gil_uapi::VirtualAddress;
use qemu_plugin::{RegisterDescriptor, qemu_plugin_get_registers};

/// General registers that hold arguments.
const ARGUMENTS: usize = 8;

/// Those that gil reads.
pub struct Registers {
    x: Vec<RegisterDescriptor<'static>>,
    sp: Option<RegisterDescriptor<'static>>,
    /// The process's number, with `CONFIG_PID_IN_CONTEXTIDR`.
    context: Option<RegisterDescriptor<'static>>,
}

impl Registers {
    /// Those of the current vCPU; they are the same for all. `None` without
    /// `x0`.
    pub fn find() -> Option<Self> {
        let mut all: Vec<_> = qemu_plugin_get_registers().ok()?.into_iter().collect();
        let mut take = |name: &str| {
            let at = all.iter().position(|one| one.name == name)?;
            Some(all.swap_remove(at))
        };
        let x = (0..ARGUMENTS).map_while(|number| take(&format!("x{number}")));
        let x: Vec<_> = x.collect();
        let (sp, context) = (take("sp"), take("CONTEXTIDR_EL1"));
        (!x.is_empty()).then_some(Self { x, sp, context })
    }

    /// A general register of 64-bit code.
    pub fn x(&self, number: u8) -> Option<u64> {
        value(self.x.get(usize::from(number))?)
    }
}

fn value(register: &RegisterDescriptor<'_>) -> Option<u64> {
    let bytes = register.read().ok()?;
    let mut word = [0; 8];
    word.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Some(u64::from_le_bytes(word))
}

impl Guest for Registers {
    fn register(&self, number: u8, convention: Convention) -> Option<u64> {
        // While a 64-bit CPU executes 32-bit code, QEMU keeps its registers
        // elsewhere, and shows plugins what the 64-bit ones last were.
        (convention == Convention::Aarch64).then(|| self.x(number))?
    }

    fn stack(&self, convention: Convention) -> Option<VirtualAddress> {
        let stack = (convention == Convention::Aarch64).then(|| value(self.sp.as_ref()?))?;
        stack.map(VirtualAddress)
    }

    fn process(&self) -> Option<u32> {
        let context = value(self.context.as_ref()?)? as u32;
        (context != 0).then_some(context)
    }

    fn read(&self, address: VirtualAddress, out: &mut [u8]) -> bool {
        guest_code::read(address, out)
    }
}
