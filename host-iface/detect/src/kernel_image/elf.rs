//! The kernel as an ELF file with symbols, which gem5 needs, and back.
//!
//! The whole Image is one loadable segment at its own address: virtual and
//! physical address are the same, since gem5 maps physical addresses itself
//! (`load_addr_mask`, `load_addr_offset`). The entry is the Image's first
//! instruction, which jumps over the header and relocates the kernel;
//! `start_kernel` would be too late.

use super::{GEM5_NEEDS, ImageError, KernelImage, KernelSymbol, MAX_BYTES};
use object::elf::{
    EM_AARCH64, ET_EXEC, FileFlags, OsAbi, PF_R, PF_W, PF_X, PT_LOAD, SHF_ALLOC, SHF_EXECINSTR,
    SHF_WRITE, SHT_PROGBITS, STB_GLOBAL, STB_LOCAL, STB_WEAK, STT_FUNC, STT_NOTYPE, SymbolInfo,
    SymbolOther, SymbolSection,
};
use object::write::StringId;
use object::write::elf::{FileHeader, ProgramHeader, SectionHeader, SectionIndex, Sym, Writer};
use object::{Object, ObjectSegment};

/// The segment's alignment in the file.
const ALIGN: u64 = 64 << 10;

/// The Image that an ELF file of a kernel loads, whichever addresses it has.
///
/// # Errors
/// [`ImageError`] if it loads nothing, or too much.
pub(super) fn flatten(bytes: &[u8]) -> Result<Vec<u8>, ImageError> {
    let file = object::File::parse(bytes).map_err(|_| ImageError::NotAnImage)?;
    let parts: Vec<(u64, &[u8])> = file
        .segments()
        .filter_map(|segment| Some((segment.address(), segment.data().ok()?)))
        .filter(|(_, data)| !data.is_empty())
        .collect();
    let base = parts.iter().map(|(address, _)| *address).min();
    let base = base.ok_or(ImageError::NotAnImage)?;
    // Parts may lie over each other, a million times.
    if parts.iter().map(|(_, data)| data.len() as u64).sum::<u64>() > MAX_BYTES {
        return Err(ImageError::TooLarge);
    }
    let mut image = Vec::new();
    for (address, data) in parts {
        let start = address - base;
        let end = start.saturating_add(data.len() as u64);
        if end > MAX_BYTES {
            return Err(ImageError::TooLarge);
        }
        let (start, end) = (start as usize, end as usize);
        image.resize(end.max(image.len()), 0);
        image[start..end].copy_from_slice(data);
    }
    Ok(image)
}

impl KernelImage {
    /// An ELF file for gem5.
    ///
    /// # Errors
    /// [`ImageError::Gem5`] if the kernel lacks what gem5 needs.
    pub fn to_elf(&self) -> Result<Vec<u8>, ImageError> {
        let lacks = |name: &&&str| self.function(name).is_err();
        let lacking: Vec<_> = GEM5_NEEDS.iter().filter(lacks).copied().collect();
        if !lacking.is_empty() {
            return Err(ImageError::Gem5(lacking));
        }
        let mut out = Vec::with_capacity(self.bytes.len() + (8 << 20));
        self.write(&mut out)?;
        Ok(out)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), ImageError> {
        let mut writer = Writer::new(object::Endianness::Little, true, out);
        writer.reserve_file_header();
        writer.reserve_program_headers(1);
        let offset = writer.reserve(self.bytes.len() as u64, ALIGN);
        writer.reserve_null_section_index();
        let image_name = writer.add_section_name(b".image");
        let image = writer.reserve_section_index();
        let symbols = self.reserve_symbols(&mut writer, image)?;
        writer.reserve_section_headers();

        writer.write_file_header(&self.file_header())?;
        self.write_segment(&mut writer, offset);
        writer.write_align(ALIGN);
        writer.write(&self.bytes);
        writer.write_null_symbol();
        for (name, symbol) in symbols {
            let name = writer.string_offset(Some(name));
            writer.write_symbol(&entry(name, symbol, image));
        }
        writer.write_strtab();
        writer.write_shstrtab();
        writer.write_null_section_header();
        self.write_image_header(&mut writer, image_name, offset);
        writer.write_symtab_section_header(self.locals() + 1);
        writer.write_strtab_section_header();
        writer.write_shstrtab_section_header();
        Ok(())
    }

    fn is_local(symbol: &KernelSymbol) -> bool {
        symbol.kind.is_ascii_lowercase() && symbol.kind != 'w'
    }

    fn locals(&self) -> u32 {
        self.symbols
            .iter()
            .filter(|one| Self::is_local(one))
            .count() as u32
    }

    /// Local symbols first, as ELF wants it.
    fn reserve_symbols<'a>(
        &'a self,
        writer: &mut Writer<'a>,
        image: SectionIndex,
    ) -> Result<Vec<(StringId, &'a KernelSymbol)>, ImageError> {
        let (locals, globals): (Vec<_>, Vec<_>) =
            self.symbols.iter().partition(|one| Self::is_local(one));
        let all: Vec<_> = locals
            .into_iter()
            .chain(globals)
            .map(|symbol| (writer.add_string(symbol.name.as_bytes()), symbol))
            .collect();
        writer.reserve_null_symbol_index();
        for _ in &all {
            writer.reserve_symbol_index(Some(image));
        }
        writer.reserve_symtab_section_index();
        writer.reserve_symtab();
        writer.reserve_strtab_section_index();
        writer.reserve_strtab()?;
        writer.reserve_shstrtab_section_index();
        writer.reserve_shstrtab()?;
        Ok(all)
    }

    fn file_header(&self) -> FileHeader {
        FileHeader {
            os_abi: OsAbi(0),
            abi_version: 0,
            e_type: ET_EXEC,
            e_machine: EM_AARCH64,
            e_entry: self.base,
            e_flags: FileFlags(0),
        }
    }

    fn write_segment(&self, writer: &mut Writer<'_>, offset: u64) {
        writer.write_align_program_headers();
        writer.write_program_header(&ProgramHeader {
            p_type: PT_LOAD,
            p_flags: PF_R | PF_W | PF_X,
            p_offset: offset,
            p_vaddr: self.base,
            p_paddr: self.base,
            p_filesz: self.bytes.len() as u64,
            p_memsz: self.memory,
            p_align: ALIGN,
        });
    }

    fn write_image_header(&self, writer: &mut Writer<'_>, name: StringId, offset: u64) {
        writer.write_section_header(&SectionHeader {
            sh_name: writer.section_name_offset(Some(name)),
            sh_type: SHT_PROGBITS,
            sh_flags: SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR,
            sh_addr: self.base,
            sh_offset: offset,
            sh_size: self.bytes.len() as u64,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: ALIGN,
            sh_entsize: 0,
        });
    }
}

fn entry(name: u32, symbol: &KernelSymbol, image: SectionIndex) -> Sym {
    let binding = match symbol.kind {
        'W' | 'w' => STB_WEAK,
        kind if kind.is_ascii_lowercase() => STB_LOCAL,
        _ => STB_GLOBAL,
    };
    let kind = match symbol.is_function() {
        true => STT_FUNC,
        false => STT_NOTYPE,
    };
    Sym {
        section: Some(image.0),
        st_name: name,
        st_info: SymbolInfo::new(binding, kind),
        st_other: SymbolOther(0),
        st_shndx: SymbolSection(0),
        st_value: symbol.address,
        st_size: 0,
    }
}
