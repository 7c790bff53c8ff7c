//! Counts the instructions that the guest executes, with code that QEMU generates
//! inline, without a call.

use qemu_plugin::sys::{qemu_plugin_scoreboard_new, qemu_plugin_u64};
use qemu_plugin::{
    PluginOp, TranslationBlock, qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu,
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu, qemu_plugin_scoreboard_sum,
};

/// One counter a vCPU.
pub struct Counter {
    /// A QEMU scoreboard's address, for as long as QEMU lives.
    scoreboard: usize,
    /// Whether each instruction is counted as it is executed, rather than a
    /// block's as it begins.
    is_each: bool,
}

impl Counter {
    /// Counts exactly, at about twice the wall time.
    pub fn each() -> Self {
        Self::new(true)
    }

    /// Counts a block's instructions when it begins: cheap, and too many by
    /// those of a block that a fault leaves before its end.
    pub fn blocks() -> Self {
        Self::new(false)
    }

    /// All zero.
    fn new(is_each: bool) -> Self {
        // The crate's `Scoreboard` does not give its handle away, which inline
        // operations need.
        // SAFETY: called while QEMU installs the plugin, as the interface asks.
        let scoreboard = unsafe { qemu_plugin_scoreboard_new(size_of::<u64>()) };
        Self {
            scoreboard: scoreboard as usize,
            is_each,
        }
    }

    fn entry(&self) -> qemu_plugin_u64 {
        qemu_plugin_u64 {
            score: self.scoreboard as *mut _,
            offset: 0,
        }
    }

    /// Counts this block's instructions whenever they are executed.
    pub fn count(&self, block: TranslationBlock<'_>) {
        let add = PluginOp::QEMU_PLUGIN_INLINE_ADD_U64;
        if self.is_each {
            block.instructions().for_each(|one| {
                qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(one, add, self.entry(), 1);
            });
            return;
        }
        let size = block.instructions().count() as u64;
        qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, add, self.entry(), size);
    }

    /// Instructions executed so far, by all vCPUs.
    pub fn sum(&self) -> u64 {
        qemu_plugin_scoreboard_sum(self.entry())
    }

    /// The same, before an instruction with which `rest` of its block are to
    /// come.
    pub fn before(&self, rest: u64) -> u64 {
        let counted = if self.is_each { 1 } else { rest };
        self.sum().saturating_sub(counted)
    }
}
