//! Kernels made for tests, and Debian's own where it is at hand.

#![allow(dead_code)] // each test file uses some of it

use std::path::PathBuf;

/// Where it is linked for.
pub const BASE: u64 = 0xffff_8000_0800_0000;

/// How a made kernel is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// As Linux 6.4 and later order the tables.
    pub new: bool,
    /// The order of names follows the markers: Linux 6.2 and 6.3.
    pub order: bool,
    /// The relative base stands in a relocation, not in place.
    pub relocated: bool,
    /// Per-CPU symbols have absolute addresses.
    pub percpu: bool,
    /// What tables are padded to.
    pub align: usize,
}

/// As Debian's 6.1 has it.
pub const USUAL: Form = Form {
    new: false,
    order: false,
    relocated: true,
    percpu: false,
    align: 8,
};

/// A name with its kind in front, and its offset from the relative base.
pub type Symbol = (String, u32);

/// Many, some with long names.
pub fn symbols() -> Vec<Symbol> {
    let odd = |i: u32| match i % 300 {
        0 => "x".repeat(200),
        _ => format!("_{}", i % 7),
    };
    (0..3000)
        .map(|i| (format!("t{}_function_{i}", odd(i)), i * 16))
        .collect()
}

/// An Image with these symbols.
pub struct Image {
    bytes: Vec<u8>,
    form: Form,
}

impl Image {
    /// Its bytes.
    pub fn build(symbols: &[Symbol], form: Form) -> Vec<u8> {
        let mut this = Self {
            bytes: vec![0; 0x1000],
            form,
        };
        this.bytes[56..60].copy_from_slice(b"ARM\x64");
        this.bytes[16..24].copy_from_slice(&0x40_0000_u64.to_le_bytes());
        this.bytes
            .extend((0..0x4000_u32).flat_map(u32::to_le_bytes));
        let base_at = match form.new {
            true => {
                this.names(symbols);
                this.addresses(symbols)
            }
            false => {
                let base_at = this.addresses(symbols);
                this.names(symbols);
                base_at
            }
        };
        this.relocations(base_at as u64);
        this.bytes
    }

    fn pad(&mut self, align: usize) {
        let len = self.bytes.len().next_multiple_of(align);
        self.bytes.resize(len, 0);
    }

    fn word(&mut self, word: u32) {
        self.bytes.extend(word.to_le_bytes());
    }

    fn addresses(&mut self, symbols: &[Symbol]) -> usize {
        self.pad(self.form.align);
        for (i, (_, offset)) in symbols.iter().enumerate() {
            let is_absolute = self.form.percpu && i < 10;
            self.word(match (is_absolute, self.form.percpu) {
                (true, _) => i as u32 * 8,
                (false, true) => (-1 - i64::from(*offset)) as u32,
                (false, false) => *offset,
            });
        }
        self.pad(8);
        let at = self.bytes.len();
        let in_place = if self.form.relocated {
            0
        } else {
            BASE + 0x1_0000
        };
        self.bytes.extend(in_place.to_le_bytes());
        at
    }

    fn names(&mut self, symbols: &[Symbol]) {
        self.pad(self.form.align);
        self.word(symbols.len() as u32);
        self.pad(self.form.align);
        let start = self.bytes.len();
        let mut markers = Vec::new();
        for (i, (name, _)) in symbols.iter().enumerate() {
            if i % 256 == 0 {
                markers.push((self.bytes.len() - start) as u32);
            }
            // Code 200 stands for "_function_".
            let packed = name.replace("_function_", "\u{c8}");
            let packed: Vec<u8> = packed.chars().map(|c| c as u8).collect();
            match packed.len() {
                len @ ..0x80 => self.bytes.push(len as u8),
                len => self.bytes.extend([len as u8 | 0x80, (len >> 7) as u8]),
            }
            self.bytes.extend(packed);
        }
        self.pad(self.form.align);
        markers.into_iter().for_each(|marker| self.word(marker));
        self.pad(self.form.align);
        if self.form.order {
            let order = (0..symbols.len())
                .rev()
                .flat_map(|i| [0, (i >> 8) as u8, i as u8]);
            self.bytes.extend(order);
            self.pad(self.form.align);
        }
        self.tokens();
    }

    fn tokens(&mut self) {
        let mut index = Vec::new();
        let start = self.bytes.len();
        for code in 0..=255_u8 {
            index.push((self.bytes.len() - start) as u16);
            match code {
                200 => self.bytes.extend(b"_function_"),
                code if code.is_ascii_graphic() => self.bytes.push(code),
                code => self.bytes.extend([b'a' + code % 26, b'z']),
            }
            self.bytes.push(0);
        }
        self.pad(self.form.align);
        let index: Vec<u8> = index.into_iter().flat_map(u16::to_le_bytes).collect();
        self.bytes.extend(index);
        self.pad(self.form.align);
    }

    fn relocations(&mut self, base_at: u64) {
        self.pad(8);
        let relocated = self.form.relocated;
        let entries = (0..50_u64).map(|i| (0x2000 + i * 8, 0x2_0000 + i));
        for (place, value) in entries.chain(relocated.then_some((base_at, 0x1_0000))) {
            self.bytes.extend((BASE + place).to_le_bytes());
            self.bytes.extend(1027_u64.to_le_bytes());
            self.bytes.extend((BASE + value).to_le_bytes());
        }
    }
}

/// Debian's kernel, where `gil run` has fetched it.
pub fn stock() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = set("GIL_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("gil")))
        .or_else(|| Some(set("HOME")?.join(".cache/gil")))?;
    let kernels = std::fs::read_dir(cache.join("kernel")).ok()?;
    let mut images = kernels.filter_map(|entry| Some(entry.ok()?.path().join("vmlinuz")));
    images.find(|image| image.is_file())
}

/// A BTF section that describes what watches read of a module, and the
/// function `watched(int count, const char *text)`.
pub fn types() -> Vec<u8> {
    let mut strings = vec![0_u8];
    let mut name = |text: &str| {
        let at = strings.len() as u32;
        strings.extend(text.bytes().chain([0]));
        at
    };
    let member = |name: u32, kind: u32, byte: u32| vec![name, kind, 8 * byte];
    let mut types: Vec<u32> = Vec::new();
    // 1: u64. 2: char. 3: const char. 4: const char *. 5: int.
    types.extend([name("u64"), 1 << 24, 8, 64]);
    types.extend([name("char"), 1 << 24, 1, 8]);
    types.extend([0, 10 << 24, 2]);
    types.extend([0, 2 << 24, 3]);
    types.extend([name("int"), 1 << 24, 4, 1 << 24 | 32]);
    // 6: an unnamed structure in struct module, 7.
    types.extend([0, 4 << 24 | 1, 8]);
    types.extend(member(name("kallsyms"), 1, 0));
    types.extend([name("module"), 4 << 24 | 2, 128]);
    types.extend(member(name("name"), 2, 24));
    types.extend(member(0, 6, 96));
    types.extend([name("mod_kallsyms"), 4 << 24 | 3, 32]);
    types.extend(member(name("symtab"), 1, 0));
    types.extend(member(name("num_symtab"), 5, 8));
    types.extend(member(name("strtab"), 1, 16));
    // 9: a mapping.
    types.extend([name("vm_area_struct"), 4 << 24 | 5, 40]);
    for (i, text) in ["vm_start", "vm_end", "vm_flags", "vm_pgoff", "vm_file"]
        .into_iter()
        .enumerate()
    {
        types.extend(member(name(text), 1, 8 * i as u32));
    }
    // 10: the prototype. 11: the function.
    types.extend([0, 13 << 24 | 2, 5]);
    types.extend([name("count"), 5, name("text"), 4]);
    types.extend([name("watched"), 12 << 24, 10]);
    let types: Vec<u8> = types.into_iter().flat_map(u32::to_le_bytes).collect();
    let (first, second) = (types.len() as u32, strings.len() as u32);
    let header = [24, 0, first, first, second];
    let mut out = vec![0x9f, 0xeb, 1, 0];
    out.extend(header.into_iter().flat_map(u32::to_le_bytes));
    out.extend(types);
    out.extend(strings);
    out
}
