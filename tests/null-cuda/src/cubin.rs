//! What a cubin declares: an ELF file of NVIDIA's compiler. Its code is not read.
//!
//! A kernel is a function that is marked as an entry; the section `.nv.info.NAME` lists what is to be known of it.
//! An entry of that list is a form (1 byte), an attribute (1 byte) and two bytes, which are the
//! value or, in the form 4, the length of the value behind them. `cuobjdump -elf` of the CUDA
//! toolkit prints these names and values.

use gil_cuda_common::ptx::{Kernel, Module, Param, Variable};
use object::elf::FileHeader64;
use object::read::elf::{ElfFile, FileHeader as _};
use object::{
    LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolFlags, SymbolKind,
};

/// `STO_CUDA_ENTRY`, of `st_other`: a kernel.
const ENTRY: u8 = 0x10;
/// The form of an entry that has its value behind it.
const SIZED: u8 = 4;
/// `EIATTR_KPARAM_INFO`: a parameter. An index (4 bytes), its number (2), its offset (2), and a
/// word whose upper 14 bits are its size in bytes.
const PARAMETER: u8 = 0x17;
/// Longest name and most parameters that are believed.
const MOST: usize = 4096;

/// The architecture that a cubin's code is of, 90 for 9.0; `None` if it is no cubin. Since
/// version 8 of its ABI (`llvm/BinaryFormat/ELF.h`, `EF_CUDA_SM_MASK`) it is another byte of the
/// flags.
pub fn architecture(bytes: &[u8]) -> Option<u32> {
    let file = ElfFile::<FileHeader64<LittleEndian>>::parse(bytes).ok()?;
    let header = file.elf_header();
    let flags = header.e_flags(file.endian()).0;
    let byte = if header.e_ident.abi_version < 8 { 0 } else { 8 };
    Some(flags >> byte & 0xff)
}

/// Kernels with their parameters, and variables; `None` if it is no cubin.
pub fn declared(bytes: &[u8]) -> Option<Module> {
    let file = ElfFile::<FileHeader64<LittleEndian>>::parse(bytes).ok()?;
    let mut module = Module::default();
    for symbol in file.symbols() {
        let Ok(name) = symbol.name() else { continue };
        let is_entry =
            matches!(symbol.flags(), SymbolFlags::Elf { st_other, .. } if st_other.0 & ENTRY != 0);
        match symbol.kind() {
            SymbolKind::Text if is_entry => {
                let info = file.section_by_name(&format!(".nv.info.{name}"));
                let info = info.map_or(Some(&[][..]), |section| section.data().ok())?;
                module.kernels.push(Kernel {
                    name: name.to_owned(),
                    params: parameters(info)?,
                });
            }
            SymbolKind::Data if symbol.is_definition() && symbol.size() > 0 => {
                module.variables.push(Variable {
                    name: name.to_owned(),
                    size: usize::try_from(symbol.size()).ok()?,
                });
            }
            _ => {}
        }
    }
    Some(module)
}

/// A kernel's parameters, in their order.
fn parameters(mut info: &[u8]) -> Option<Vec<Param>> {
    let mut params: Vec<(u16, Param)> = Vec::new();
    while let Some((&[form, attribute, low, high], rest)) = info.split_first_chunk() {
        info = rest;
        if form != SIZED {
            continue;
        }
        let (value, rest) = info.split_at_checked(u16::from_le_bytes([low, high]).into())?;
        info = rest;
        if attribute == PARAMETER {
            let &[_, _, _, _, number, more, offset, offsets, a, b, c, d] = value.first_chunk()?;
            let size = u32::from_le_bytes([a, b, c, d]) >> 18;
            let param = Param {
                offset: u16::from_le_bytes([offset, offsets]).into(),
                size: size as usize,
            };
            params.push((u16::from_le_bytes([number, more]), param));
        }
    }
    params.sort_by_key(|(number, _)| *number);
    let is_whole = params.len() <= MOST && (0..).zip(&params).all(|(n, (number, _))| n == *number);
    is_whole.then(|| params.into_iter().map(|(_, param)| param).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_in_their_order() {
        let parameter = |number: u16, offset: u16, size: u32| {
            let mut entry = vec![SIZED, PARAMETER, 12, 0, 0, 0, 0, 0];
            entry.extend([number.to_le_bytes(), offset.to_le_bytes()].concat());
            entry.extend((size << 18 | 0x1f000).to_le_bytes());
            entry
        };
        let other = [3, 0x1b, 0xff, 0, SIZED, 0x1c, 4, 0, 1, 2, 3, 4];
        let info = [&parameter(1, 8, 4)[..], &other, &parameter(0, 0, 8)].concat();
        let param = |offset, size| Param { offset, size };
        assert_eq!(parameters(&info), Some(vec![param(0, 8), param(8, 4)]));
        assert_eq!(parameters(&parameter(1, 8, 4)), None);
        assert_eq!(parameters(&[SIZED, PARAMETER, 12, 0, 1]), None);
        assert_eq!(parameters(&[]), Some(Vec::new()));
    }

    #[test]
    fn other_files_are_none() {
        assert_eq!(declared(b"\x7fELF"), None);
        assert_eq!(declared(b""), None);
    }
}
