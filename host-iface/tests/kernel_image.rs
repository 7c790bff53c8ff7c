//! Symbols of a kernel's Image: made ones of every form, damaged ones, and
//! Debian's own where it is at hand.

use gil_host::detect::btf::{Btf, Kind};
use gil_host::detect::kernel_image::{ImageError, KernelImage};
use object::{Object, ObjectSegment, ObjectSymbol};
use proptest::prelude::*;
use std::path::PathBuf;

const BASE: u64 = 0xffff_8000_0800_0000;

/// How a made kernel is laid out.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// As Linux 6.4 and later order the tables.
    new: bool,
    /// The order of names follows the markers: Linux 6.2 and 6.3.
    order: bool,
    /// The relative base stands in a relocation, not in place.
    relocated: bool,
    /// Per-CPU symbols have absolute addresses.
    percpu: bool,
    /// What tables are padded to.
    align: usize,
}

const USUAL: Form = Form {
    new: false,
    order: false,
    relocated: true,
    percpu: false,
    align: 8,
};

/// A name with its kind in front, and its offset from the relative base.
type Symbol = (String, u32);

fn symbols() -> Vec<Symbol> {
    let odd = |i: u32| match i % 300 {
        0 => "x".repeat(200),
        _ => format!("_{}", i % 7),
    };
    (0..3000)
        .map(|i| (format!("t{}_function_{i}", odd(i)), i * 16))
        .collect()
}

/// An Image with these symbols.
struct Image {
    bytes: Vec<u8>,
    form: Form,
}

impl Image {
    fn build(symbols: &[Symbol], form: Form) -> Vec<u8> {
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

fn expected(symbols: &[Symbol], form: Form) -> Vec<(u64, String)> {
    let address = |i: usize, offset: u32| match form.percpu && i < 10 {
        true => i as u64 * 8,
        false => BASE + 0x1_0000 + u64::from(offset),
    };
    let all = symbols.iter().enumerate();
    all.map(|(i, (name, offset))| (address(i, *offset), name[1..].to_owned()))
        .collect()
}

fn found(image: &KernelImage) -> Vec<(u64, String)> {
    let all = image.symbols().iter();
    all.map(|symbol| (symbol.address, symbol.name.to_string()))
        .collect()
}

#[test]
fn every_form_is_read() {
    let symbols = symbols();
    let forms = [
        USUAL,
        Form {
            relocated: false,
            ..USUAL
        },
        Form {
            order: true,
            ..USUAL
        },
        Form {
            percpu: true,
            ..USUAL
        },
        Form { new: true, ..USUAL },
        Form {
            new: true,
            align: 4,
            ..USUAL
        },
        Form {
            new: true,
            percpu: true,
            relocated: false,
            ..USUAL
        },
    ];
    for form in forms {
        let image = KernelImage::parse(Image::build(&symbols, form));
        let image = image.unwrap_or_else(|error| panic!("{form:?}: {error}"));
        assert_eq!(image.base(), BASE, "{form:?}");
        assert_eq!(found(&image), expected(&symbols, form), "{form:?}");
    }
}

#[test]
fn functions_are_found_by_name() {
    let mut symbols = symbols();
    symbols[7].0 = "tload_module".into();
    symbols[8].0 = "tload_module".into();
    symbols[9].0 = "dload_module".into();
    let image = KernelImage::parse(Image::build(&symbols, USUAL)).unwrap();
    let first = BASE + 0x1_0000 + 7 * 16;
    assert_eq!(image.function("load_module").unwrap(), [first, first + 16]);
    assert_eq!(&*image.symbol_at(first + 5).unwrap().name, "load_module");
    assert!(image.symbol_at(BASE).is_none());
    let error = image.function("load_modul").unwrap_err().to_string();
    assert_eq!(
        error,
        "the kernel has no function load_modul: did you mean load_module?"
    );
    let lacking = image.to_elf().unwrap_err().to_string();
    assert!(lacking.contains("unflatten_device_tree, __udelay, __const_udelay"));
}

#[test]
fn packed_kernels_are_unpacked_or_named() {
    use std::io::Write;
    let plain = Image::build(&symbols(), USUAL);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&plain).unwrap();
    let packed = packer.finish().unwrap();
    assert_eq!(KernelImage::parse(packed.clone()).unwrap().bytes(), plain);

    let zboot = |kind: &[u8]| {
        let mut bytes = vec![0; 64];
        bytes[..8].copy_from_slice(b"MZ\0\0zimg");
        bytes[8..12].copy_from_slice(&64_u32.to_le_bytes());
        bytes[12..16].copy_from_slice(&(packed.len() as u32).to_le_bytes());
        bytes[24..24 + kind.len()].copy_from_slice(kind);
        bytes.extend(&packed);
        KernelImage::parse(bytes)
    };
    assert_eq!(zboot(b"gzip").unwrap().bytes(), plain);
    let error = zboot(b"zstd").unwrap_err().to_string();
    assert!(error.contains("compressed with zstd"), "{error}");
    let damaged = KernelImage::parse(packed[..packed.len() / 2].to_vec());
    assert!(matches!(damaged, Err(ImageError::Gzip(_))));
    let elf = std::fs::read("/proc/self/exe").unwrap();
    assert!(matches!(
        KernelImage::parse(elf),
        Err(ImageError::NotAnImage)
    ));
    let mut bare = vec![0; 1 << 20];
    bare[56..60].copy_from_slice(b"ARM\x64");
    assert!(matches!(
        KernelImage::parse(bare),
        Err(ImageError::NoSymbols)
    ));
}

#[test]
fn the_elf_file_has_the_image_and_the_symbols() {
    let mut symbols = symbols();
    for (i, name) in ["unflatten_device_tree", "__udelay", "__const_udelay"]
        .into_iter()
        .enumerate()
    {
        symbols[i].0 = format!("T{name}");
    }
    let image = KernelImage::parse(Image::build(&symbols, USUAL)).unwrap();
    check_elf(&image);
}

fn check_elf(image: &KernelImage) {
    let elf = image.to_elf().unwrap();
    let elf = object::File::parse(&*elf).unwrap();
    assert_eq!(elf.entry(), image.base());
    let segments: Vec<_> = elf.segments().collect();
    let [segment] = &segments[..] else {
        panic!("{} segments", segments.len());
    };
    assert_eq!(segment.address(), image.base());
    assert_eq!(segment.data().unwrap(), image.bytes());
    let range = image.addresses();
    assert_eq!(segment.size(), range.end - range.start);
    let mut ours = found(image);
    let mut its: Vec<_> = elf
        .symbols()
        .map(|symbol| (symbol.address(), symbol.name().unwrap().to_owned()))
        .collect();
    ours.sort();
    its.sort();
    assert_eq!(ours, its);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn damage_never_panics_or_hangs(
        new: bool,
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
        len in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Image::build(&symbols(), Form { new, ..USUAL });
        // Where there is structure: the second half.
        let half = bytes.len() / 2;
        for (at, byte) in hits {
            let at = half + at.index(bytes.len() - half);
            bytes[at] = byte;
        }
        bytes.truncate(half + len.index(half));
        let _ = KernelImage::parse(bytes);
    }
}

/// Files that look like tables everywhere are refused, soon.
#[test]
fn files_made_to_take_long_do_not() {
    let rising: Vec<u8> = (0..1 << 20_u32)
        .flat_map(|i| u32::to_le_bytes(i % 64 * 600))
        .collect();
    let ones = vec![1_u8; 4 << 20];
    let mut tokens = Vec::new();
    while tokens.len() < 4 << 20 {
        tokens.extend([b'a', 0].repeat(256));
        tokens.extend((0..256_u16).flat_map(|i| (2 * i).to_le_bytes()));
    }
    let started = std::time::Instant::now();
    for body in [
        &rising,
        &ones,
        &tokens,
        &[rising.clone(), tokens.clone()].concat(),
    ] {
        let mut bytes = body.clone();
        bytes[56..60].copy_from_slice(b"ARM\x64");
        bytes[4] = 0;
        assert!(KernelImage::parse(bytes).is_err());
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

/// Debian's kernel, where `gil run` has fetched it.
fn stock() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = set("GIL_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("gil")))
        .or_else(|| Some(set("HOME")?.join(".cache/gil")))?;
    let kernels = std::fs::read_dir(cache.join("kernel")).ok()?;
    let mut images = kernels.filter_map(|entry| Some(entry.ok()?.path().join("vmlinuz")));
    images.find(|image| image.is_file())
}

#[test]
fn the_stock_kernel_is_read_whole() {
    let Some(path) = stock() else {
        eprintln!("skipped: no kernel in gil's cache, `gil run` fetches it");
        return;
    };
    let image = KernelImage::open(&path).unwrap();
    let functions = image.symbols().iter().filter(|one| one.is_function());
    assert!(functions.count() > 40_000);
    assert!(image.base().is_multiple_of(2 << 20), "{:#x}", image.base());
    for name in ["load_module", "do_init_module", "unflatten_device_tree"] {
        let entries = image.function(name).unwrap();
        assert_eq!(entries.len(), 1, "{name}");
        assert!(image.addresses().contains(&entries[0]));
    }
    check_elf(&image);
}

#[test]
fn the_stock_kernel_describes_its_types() {
    let Some(path) = stock() else {
        eprintln!("skipped: no kernel in gil's cache, `gil run` fetches it");
        return;
    };
    let image = KernelImage::open(&path).unwrap();
    let btf = Btf::find(image.bytes()).unwrap();
    let name = btf.offset("module", "name").unwrap();
    // Behind `state` and `list`, in all kernels so far.
    assert_eq!(name, 24);
    assert!(btf.offset("module", "kallsyms").unwrap() > name);
    let path = btf.offset("file", "f_path").unwrap();
    let dentry = btf.offset("path", "dentry").unwrap();
    assert_eq!(btf.offset("file", "f_path.dentry"), Some(path + dentry));
    // In an unnamed union.
    assert!(btf.offset("dentry", "d_name.len").is_some());
    assert_eq!(btf.offset("file", "no_such_member"), None);
    let parameters = btf.parameters("do_sys_openat2").unwrap();
    let names: Vec<_> = parameters.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["dfd", "filename", "how"]);
    let kinds: Vec<_> = parameters.iter().map(|one| one.kind).collect();
    let signed = Kind::Integer {
        size: 4,
        signed: true,
    };
    assert_eq!(kinds, [signed, Kind::Text, Kind::Pointer]);
}
