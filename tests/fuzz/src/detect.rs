//! Kernels and ELF files.

use crate::input::Input;
use gil_detect::btf::Btf;
use gil_detect::kernel_image::KernelImage;
use gil_detect::module_code::ModuleCode;
use gil_detect::symbol::Symbols;
use gil_uapi::VirtualAddress;

/// A kernel's Image. What is left out of it is zero: `len` bytes of those stand
/// before each piece.
pub fn kernel_image(data: &[u8]) {
    let mut input = Input(data);
    let mut image = Vec::new();
    while !input.is_empty() && image.len() < 1 << 20 {
        image.resize(image.len() + usize::from(input.u16()), 0);
        image.extend(input.counted());
    }
    if let Ok(kernel) = KernelImage::parse(image) {
        let _ = kernel.function("do_init_module").map_err(|e| e.to_string());
        let _ = (kernel.symbol_at(kernel.base()), kernel.addresses());
        let _ = Btf::find(kernel.bytes());
    }
}

/// Type information of a kernel.
pub fn btf(data: &[u8]) {
    for btf in [Btf::parse(data), Btf::find(data)].into_iter().flatten() {
        let _ = btf.offset("module", "init_layout.base");
        let _ = btf.offset("module", "mem.base");
        let _ = btf.offset("s0", "a.b.c");
        let _ = btf.parameters("do_init_module");
        let _ = btf.parameters("f");
        let _ = btf.numbers("s0", "a");
        // The same as a module's, behind the kernel's.
        if let Some(module) = btf.with_module(data) {
            let _ = module.numbers("s0", "a");
            let _ = module.parameters("f");
        }
    }
}

/// An ELF file with debug information; a module.
pub fn elf(data: &[u8]) {
    if let Ok(symbols) = Symbols::parse(data) {
        let dwarf = symbols.debug_information();
        let _ = dwarf.offset("pair", "first");
        let _ = dwarf.offset("outer", "inner.second");
        for name in ["watched", "gil_doorbell", "main"] {
            if let Ok(function) = symbols.function(name) {
                let _ = dwarf.parameters(function.address);
                let _ = symbols.file_offset(function.address);
                let _ = symbols.code(function).map(|code| code.matches(data));
            }
        }
        let _ = (symbols.is_relocatable(), symbols.architecture());
        let _ = symbols.loaded(0..4096, 0);
    }
    if let Ok(module) = ModuleCode::parse(data, "gil_doorbell") {
        let _ = (
            module.may_begin(VirtualAddress(0), data),
            module.load_addresses(),
        );
    }
}
