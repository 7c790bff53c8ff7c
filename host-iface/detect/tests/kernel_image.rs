//! Symbols of a kernel's Image: made ones of every form, damaged ones, and
//! Debian's own where it is at hand.

#[path = "support/kernel.rs"]
mod kernel;

use gil_detect::btf::{Btf, Kind};
use gil_detect::kernel_image::{ImageError, KernelImage};
use kernel::{BASE, Form, Image, Symbol, USUAL, stock, symbols};
use object::{Object, ObjectSegment, ObjectSymbol};
use proptest::prelude::*;

const WITHOUT_KERNEL: &str = "it is not in gil's cache: `gil run` fetches it";

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
    let again = KernelImage::parse(elf.clone()).unwrap();
    assert_eq!(again.bytes(), image.bytes());
    assert_eq!(again.base(), image.base());
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
/// Bytes that look like the beginnings of KALLSYMS' tables all over.
fn made_to_take_long(len: usize) -> [Vec<u8>; 4] {
    let words = u32::try_from(len / 4).unwrap();
    let rising: Vec<u8> = (0..words)
        .flat_map(|i| u32::to_le_bytes(i % 64 * 600))
        .collect();
    let mut tokens = Vec::new();
    while tokens.len() < len {
        tokens.extend([b'a', 0].repeat(256));
        tokens.extend((0..256_u16).flat_map(|i| (2 * i).to_le_bytes()));
    }
    let both = [rising.clone(), tokens.clone()].concat();
    [rising, vec![1; len], tokens, both]
}

/// The processor time in which such files are refused.
fn time_to_refuse(len: usize) -> std::time::Duration {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    let now = || std::time::Duration::from(clock.now().unwrap());
    let started = now();
    for mut bytes in made_to_take_long(len) {
        bytes[56..60].copy_from_slice(b"ARM\x64");
        bytes[4] = 0;
        assert!(KernelImage::parse(bytes).is_err());
    }
    now() - started
}

#[test]
fn files_made_to_take_long_do_not() {
    let quarter = time_to_refuse(1 << 18);
    let whole = time_to_refuse(1 << 20);
    // Four times the bytes; were each byte compared with each, sixteen times.
    assert!(whole < 9 * quarter, "{quarter:?}, then {whole:?}");
}

#[test]
fn the_stock_kernel_is_read_whole() {
    let Some(path) = stock() else {
        return gil_need::skip("Debian's kernel", WITHOUT_KERNEL);
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
        return gil_need::skip("Debian's kernel", WITHOUT_KERNEL);
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
