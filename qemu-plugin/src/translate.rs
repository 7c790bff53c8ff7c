//! Looks at code as QEMU translates it.

use crate::bridge::{self, Bridge};
use gil_host::detect::marker;
use qemu_plugin::sys::qemu_plugin_tb;
use qemu_plugin::{CallbackFlags, Instruction, PluginId, TranslationBlock};

/// `wfi`: the CPU idles until an interrupt.
const WFI: [u8; 4] = 0xd503_207f_u32.to_le_bytes();

/// QEMU translated a block of guest code.
pub extern "C" fn translated(_: PluginId, block: *mut qemu_plugin_tb) {
    if let Some(bridge) = bridge::get() {
        look_at(bridge, &TranslationBlock::from(block));
    }
}

fn look_at(bridge: &'static Bridge, block: &TranslationBlock<'_>) {
    let is_kernel = marker::is_kernel_address(block.vaddr());
    if let Some(counter) = &bridge.counter {
        block.instructions().for_each(|one| counter.count(one));
    }
    if !is_kernel {
        return;
    }
    for instruction in block.instructions() {
        let address = instruction.vaddr();
        let mut bytes = [0; 4];
        let len = instruction.read_data(&mut bytes);
        if bridge.module.is_none() && marker::is_doorbell(address, &bytes[..len]) {
            ring_at(bridge, &instruction);
        }
        if bridge.counter.is_some() && bytes == WFI {
            instruction.register_execute_callback(|_| bridge.idle());
        }
    }
}

/// Calls the host interface whenever this instruction is executed.
fn ring_at(bridge: &'static Bridge, instruction: &Instruction<'_>) {
    let reads = CallbackFlags::QEMU_PLUGIN_CB_R_REGS;
    instruction.register_execute_callback_flags(|_| bridge.doorbell(), reads);
}
