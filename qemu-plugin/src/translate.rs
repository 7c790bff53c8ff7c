//! Examines code as QEMU translates it.

use crate::bridge::{self, Bridge, Doorbells};
use crate::guest_code;
use gil_detect::marker;
use gil_detect::module_code::ModuleCode;
use gil_detect::watch::{Point, Watches};
use gil_uapi::VirtualAddress;
use qemu_plugin::sys::qemu_plugin_tb;
use qemu_plugin::{
    CallbackFlags, Instruction, MemRW, PluginId, TranslationBlock,
    qemu_plugin_register_vcpu_tb_trans_cb,
};

/// `wfi`: the CPU idles until an interrupt.
const WFI: [u8; 4] = 0xd503_207f_u32.to_le_bytes();

/// Asks QEMU to be called for each block of code that it translates.
///
/// # Errors
/// What the crate says; in this version, none.
pub fn register(id: PluginId) -> qemu_plugin::Result<()> {
    qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translated))
}

/// QEMU translated a block of guest code.
extern "C" fn translated(_: PluginId, block: *mut qemu_plugin_tb) {
    if let Some(bridge) = bridge::get() {
        if let Some(counter) = &bridge.counter {
            counter.count(TranslationBlock::from(block));
        }
        look_at(bridge, &TranslationBlock::from(block));
    }
}

fn look_at(bridge: &'static Bridge, block: &TranslationBlock<'_>) {
    let is_kernel = marker::is_kernel_address(VirtualAddress(block.vaddr()));
    if let Some(watches) = &bridge.watches {
        look_for_points(bridge, watches, block);
    }
    if !is_kernel {
        return;
    }
    match &bridge.doorbells {
        Doorbells::Marker => look_for_marker(bridge, block),
        Doorbells::Loaded(watches) => look_for_driver(bridge, watches, block),
        Doorbells::Code(module) => look_for_entry(bridge, module, block),
    }
    look_for_stores(bridge, block);
    if bridge.counts() {
        let idles = block.instructions().filter(|one| word(one) == WFI);
        idles.for_each(|one| one.register_execute_callback(|_| bridge.idle()));
    }
}

/// `str wT, [xN]`, as the kernel's `writel()` is compiled (arch/arm64/include/asm/io.h),
/// without T and N.
const STORE: u32 = 0xb900_0000;
const STORE_MASK: u32 = 0xffff_fc00;
/// Stores of the GPU's driver, which may be to registers.
fn look_for_stores(bridge: &'static Bridge, block: &TranslationBlock<'_>) {
    if !bridge.is_gpu_code(block.vaddr()) {
        return;
    }
    let stores = block.instructions();
    let stores = stores.filter(|one| u32::from_le_bytes(word(one)) & STORE_MASK == STORE);
    for one in stores.filter(|one| bridge.is_gpu_code(one.vaddr())) {
        let place = one.vaddr();
        bridge.instrument(place);
        one.register_memory_access_callback(
            move |_, access, address| bridge.stored(place, &access, address),
            MemRW::QEMU_PLUGIN_MEM_W,
        );
    }
}

/// Functions that are watched.
fn look_for_points(bridge: &'static Bridge, watches: &Watches, block: &TranslationBlock<'_>) {
    for_points(watches, block, |point, one, rest| {
        let reads = CallbackFlags::QEMU_PLUGIN_CB_R_REGS;
        one.register_execute_callback_flags(move |_| bridge.reach(point, rest), reads);
    });
}

/// The driver's doorbell, and the kernel's module loader, which shows where it is.
fn look_for_driver(bridge: &'static Bridge, watches: &Watches, block: &TranslationBlock<'_>) {
    for_points(watches, block, |point, one, _| match point.1 {
        Point::Watched(_) => ring_at(bridge, one),
        Point::Loaded | Point::Mapped => {
            let reads = CallbackFlags::QEMU_PLUGIN_CB_R_REGS;
            one.register_execute_callback_flags(move |_| bridge.loaded(point), reads);
        }
    });
}

/// Every point in the block: itself, its instruction, and how many of the
/// block's instructions are still to come there.
fn for_points(
    watches: &Watches,
    block: &TranslationBlock<'_>,
    mut with: impl FnMut((VirtualAddress, Point), &Instruction<'_>, u64),
) {
    let Some(last) = block.instructions().last() else {
        return;
    };
    let size = block.instructions().count();
    let code = VirtualAddress(block.vaddr())..=VirtualAddress(last.vaddr());
    for point in watches.points(code, guest_code::read) {
        let mut all = block.instructions().enumerate();
        if let Some((at, one)) = all.find(|(_, one)| one.vaddr() == point.0.0) {
            with(point, &one, (size - at) as u64);
        }
    }
}

fn look_for_marker(bridge: &'static Bridge, block: &TranslationBlock<'_>) {
    block
        .instructions()
        .filter(|one| marker::is_doorbell(VirtualAddress(one.vaddr()), &word(one)))
        .for_each(|one| ring_at(bridge, &one));
}

/// A function's entry begins a block: it is called.
fn look_for_entry(bridge: &'static Bridge, module: &ModuleCode, block: &TranslationBlock<'_>) {
    let address = VirtualAddress(block.vaddr());
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
