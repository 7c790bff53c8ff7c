//! Counts every instruction that the guest executes: code that QEMU generates
//! into the translation, no call.

use qemu_plugin::sys::{qemu_plugin_scoreboard_new, qemu_plugin_u64};
use qemu_plugin::{
    Instruction, PluginOp, qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu,
    qemu_plugin_scoreboard_sum,
};

/// One counter a vCPU.
pub struct Counter {
    /// A QEMU scoreboard's address, for as long as QEMU lives.
    scoreboard: usize,
}

impl Counter {
    /// All zero.
    pub fn new() -> Self {
        // The crate's `Scoreboard` does not give its handle away, which inline
        // operations need.
        // SAFETY: called while QEMU installs the plugin, as the interface asks.
        let scoreboard = unsafe { qemu_plugin_scoreboard_new(size_of::<u64>()) };
        Self {
            scoreboard: scoreboard as usize,
        }
    }

    fn entry(&self) -> qemu_plugin_u64 {
        qemu_plugin_u64 {
            score: self.scoreboard as *mut _,
            offset: 0,
        }
    }

    /// Counts this instruction whenever it is executed.
    pub fn count(&self, instruction: Instruction<'_>) {
        let add = PluginOp::QEMU_PLUGIN_INLINE_ADD_U64;
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(instruction, add, self.entry(), 1);
    }

    /// Instructions executed so far, by all vCPUs.
    pub fn sum(&self) -> u64 {
        qemu_plugin_scoreboard_sum(self.entry())
    }
}
