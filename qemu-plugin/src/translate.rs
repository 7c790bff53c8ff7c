//! Looks at code as QEMU translates it.

use crate::bridge::{self, Bridge};
use crate::guest_code;
use gil_host::detect::marker;
use gil_host::detect::module_code::ModuleCode;
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
    match &bridge.module {
        Some(module) => look_for_entry(bridge, module, block),
        None => look_for_marker(bridge, block),
    }
    if bridge.counter.is_some() {
        let idles = block.instructions().filter(|one| word(one) == WFI);
        idles.for_each(|one| one.register_execute_callback(|_| bridge.idle()));
    }
}

fn look_for_marker(bridge: &'static Bridge, block: &TranslationBlock<'_>) {
    block
        .instructions()
        .filter(|one| marker::is_doorbell(one.vaddr(), &word(one)))
        .for_each(|one| ring_at(bridge, &one));
}

/// A function's entry begins a block: it is called.
fn look_for_entry(bridge: &'static Bridge, module: &ModuleCode, block: &TranslationBlock<'_>) {
    let address = block.vaddr();
    let Some(first) = block.instructions().next() else {
        return;
    };
    if !module.may_begin(address, &word(&first)) {
        return;
    }
    let code: Vec<u8> = block.instructions().flat_map(|one| word(&one)).collect();
    if module.is_entry(address, &code, guest_code::read) {
        ring_at(bridge, &first);
    }
}

fn word(instruction: &Instruction<'_>) -> [u8; 4] {
    let mut bytes = [0; 4];
    instruction.read_data(&mut bytes);
    bytes
}

/// Calls the host interface whenever this instruction is executed.
fn ring_at(bridge: &'static Bridge, instruction: &Instruction<'_>) {
    let reads = CallbackFlags::QEMU_PLUGIN_CB_R_REGS;
    instruction.register_execute_callback_flags(|_| bridge.doorbell(), reads);
}
