//! Symbols in real ELF files: compiled here, and the system's own.

use gil_detect::module_code::{ModuleCode, ModuleError};
use gil_detect::symbol::{SymbolError, Symbols};
use gil_uapi::VirtualAddress;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes unlike any other function's, with a call that is relocated.
const SOURCE: &str = "
extern void elsewhere(void);
__attribute__((visibility(\"default\"), noinline)) long wanted(long x)
{
	elsewhere();
	return (x ^ 0x0123456789abcdef) * 0x76543210fedcba98 + (x >> 7) * 0x1111222233334444;
}
static int twice(int x) { return x + 1; }
int (*first)(int) = twice;
";
const OTHER: &str = "
static int twice(int x) { return x * 3; }
int (*second)(int) = twice;
void elsewhere(void) {}
extern long wanted(long);
#ifdef FREESTANDING
void _start(void) { wanted(1); for (;;); }
#else
int main(void) { return (int)wanted(1); }
#endif
";

/// A compiler, and flags that always go with it.
const COMPILERS: &[(&str, &[&str], u8)] = &[
    ("gcc", &["-m64"], 2),
    ("gcc", &["-m32"], 1),
    ("aarch64-linux-gnu-gcc", &[], 2),
    ("arm-linux-gnueabihf-gcc", &["-mthumb"], 1),
];

fn compile(compiler: &str, flags: &[&str], inputs: &[&Path], out: &Path) -> bool {
    let mut command = Command::new(compiler);
    command
        .args(flags)
        .args(["-O1", "-o"])
        .arg(out)
        .args(inputs);
    matches!(command.output(), Ok(output) if output.status.success())
}

struct Built {
    _folder: tempfile::TempDir,
    object: PathBuf,
    library: PathBuf,
    program: PathBuf,
}

/// An object (as a module is), a shared library, a static program without a C
/// library. `None`, with a sentence, where the compiler is missing.
fn build(compiler: &str, flags: &[&str]) -> Option<Built> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("one.c"), SOURCE).unwrap();
    std::fs::write(at("two.c"), OTHER).unwrap();
    let with = |more: &[&'static str]| [flags, more].concat();
    if !compile(compiler, &with(&["-c"]), &[&at("one.c")], &at("one.o")) {
        let command = [&[compiler], flags].concat().join(" ");
        gil_need::skip(&command, "it does not compile here");
        return None;
    }
    let inputs = [at("one.c"), at("two.c")];
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let bare = &["-nostdlib", "-DFREESTANDING", "-fno-stack-protector"][..];
    let library = with(&[bare, &["-shared", "-fPIC"]].concat());
    let program = with(&[bare, &["-static", "-no-pie", "-fno-pie"]].concat());
    assert!(
        compile(compiler, &library, &inputs, &at("lib.so")),
        "{compiler}"
    );
    assert!(
        compile(compiler, &program, &inputs, &at("program")),
        "{compiler}"
    );
    let [object, library, program] = ["one.o", "lib.so", "program"].map(at);
    Some(Built {
        _folder: folder,
        object,
        library,
        program,
    })
}

/// The address that `nm` prints, which it takes from the same table.
fn nm(path: &Path, dynamic: bool, name: &str) -> u64 {
    let mut command = Command::new("nm");
    let output = command
        .args(dynamic.then_some("-D"))
        .arg(path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| {
        // With `-D` a version follows: ioctl@@GLIBC_2.17.
        let found = line.rsplit(' ').next().unwrap_or_default();
        found.split('@').next() == Some(name)
    });
    let line = line.unwrap_or_else(|| panic!("nm finds no {name}: {text}"));
    u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap() & !1
}

#[test]
fn functions_in_modules_libraries_and_programs_of_32_and_64_bit() {
    let mut built_any = false;
    for &(compiler, flags, class) in COMPILERS {
        let Some(built) = build(compiler, flags) else {
            continue;
        };
        built_any = true;
        for path in [&built.object, &built.library, &built.program] {
            let bytes = std::fs::read(path).unwrap();
            assert_eq!(bytes[4], class, "{path:?}: 32 or 64 bit");
            let symbols = Symbols::parse(&bytes).unwrap();
            let function = symbols.function("wanted").unwrap();
            assert_eq!(function.address, nm(path, false, "wanted"), "{path:?}");
            assert!(function.size > 16, "{function:?}");
            assert_eq!(symbols.is_relocatable(), path == &built.object);
            let code = symbols.code(function).unwrap();
            assert_eq!(code.bytes.len() as u64, function.size);
            assert_eq!(code.relocated.contains(&true), path == &built.object);
            let unknown = symbols.function("wantd").unwrap_err().to_string();
            assert!(
                unknown.contains("no function wantd: did you mean wanted"),
                "{unknown}"
            );
            let unknown = symbols.function("zq").unwrap_err().to_string();
            assert!(unknown.ends_with("and not stripped?"), "{unknown}");
        }
        let bytes = std::fs::read(&built.program).unwrap();
        let twice = Symbols::parse(&bytes).unwrap().function("twice");
        assert!(
            matches!(twice, Err(SymbolError::Ambiguous { count: 2, .. })),
            "{twice:?}"
        );
    }
    assert!(built_any, "no compiler at all");
}

#[test]
fn a_stripped_library_has_its_dynamic_table() {
    let Some(built) = build("gcc", &["-m64"]) else {
        return;
    };
    let strip = Command::new("strip").arg(&built.library).status().unwrap();
    assert!(strip.success());
    let bytes = std::fs::read(&built.library).unwrap();
    let function = Symbols::parse(&bytes).unwrap().function("wanted").unwrap();
    assert_eq!(function.address, nm(&built.library, true, "wanted"));
}

#[test]
fn the_systems_own_library() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps
        .lines()
        .find_map(|line| line.split_once("/").filter(|(_, p)| p.contains("libc.so")));
    let Some((_, path)) = libc else {
        return gil_need::skip("a C library", "this test is linked statically");
    };
    let path = PathBuf::from(format!("/{path}"));
    let bytes = std::fs::read(&path).unwrap();
    let function = Symbols::parse(&bytes).unwrap().function("ioctl").unwrap();
    assert_eq!(function.address, nm(&path, true, "ioctl"));
}

/// The function as a kernel would have it: calls point somewhere.
fn loaded(object: &[u8]) -> (Vec<u8>, u64) {
    let symbols = Symbols::parse(object).unwrap();
    let function = symbols.function("wanted").unwrap();
    let code = symbols.code(function).unwrap();
    let bytes = code.bytes.iter().zip(&code.relocated);
    let bytes = bytes.map(|(&byte, &relocated)| if relocated { byte ^ 0x5a } else { byte });
    (bytes.collect(), function.address)
}

#[test]
fn a_module_is_found_where_it_was_loaded() {
    let Some(built) = build("aarch64-linux-gnu-gcc", &[]) else {
        return;
    };
    let object = std::fs::read(&built.object).unwrap();
    let module = ModuleCode::parse(&object, "wanted").unwrap();
    let (code, offset) = loaded(&object);
    let base = VirtualAddress(0xffff_8000_7a2b_c000);
    let entry = base.checked_add(offset).unwrap();
    let unread = |_: VirtualAddress, _: &mut [u8]| panic!("all of it is known");
    assert!(
        !module.is_entry(VirtualAddress(entry.0 & 0xffff_ffff), &code, unread),
        "a user address"
    );
    let aside = VirtualAddress(entry.0 + 2);
    assert!(!module.is_entry(aside, &code, unread), "not aligned");
    assert!(!module.is_entry(entry, &code[4..], unread), "other code");
    let mut other = code.clone();
    *other.last_mut().unwrap() ^= 1;
    assert!(
        !module.is_entry(entry, &other, unread),
        "its last bit is another"
    );
    assert!(module.load_addresses().is_empty());
    let read = |from: VirtualAddress, out: &mut [u8]| {
        out.copy_from_slice(&code[(from.0 - entry.0) as usize..]);
        true
    };
    assert!(
        !module.is_entry(entry, &code[..4], |_, _| false),
        "unreadable"
    );
    assert!(module.is_entry(entry, &code[..4], read), "a short block");
    assert!(module.is_entry(entry, &[&code[..], &[1, 2, 3, 4]].concat(), unread));
    assert_eq!(module.load_addresses(), [base]);
    // Known from now on.
    assert!(module.is_entry(entry, &code[..4], unread));
}

#[test]
fn what_is_no_module_is_refused() {
    let Some(built) = build("gcc", &["-m64"]) else {
        return;
    };
    let program = std::fs::read(&built.program).unwrap();
    let error = ModuleCode::parse(&program, "wanted").unwrap_err();
    assert!(matches!(error, ModuleError::NotAModule));
    let object = std::fs::read(&built.object).unwrap();
    let error = ModuleCode::parse(&object, "twice").unwrap_err();
    assert!(matches!(error, ModuleError::TooShort { .. }), "{error}");
    let error = ModuleCode::parse(b"not an ELF file", "x").unwrap_err();
    assert!(
        error.to_string().starts_with("no usable ELF file"),
        "{error}"
    );
    let error = ModuleCode::open(Path::new("/nowhere.ko"), "x").unwrap_err();
    assert!(error.to_string().contains("/nowhere.ko"), "{error}");
}

#[test]
fn damaged_files_are_an_error_or_nothing_never_a_crash() {
    let Some(built) = build("gcc", &["-m64"]) else {
        return;
    };
    let whole = std::fs::read(&built.object).unwrap();
    for at in 0..whole.len().min(3000) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        let _ = ModuleCode::parse(&bytes, "wanted");
        let _ = ModuleCode::parse(&whole[..at], "wanted");
    }
}
