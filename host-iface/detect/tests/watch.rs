//! Watches in a made kernel: arguments, modules, programs.

#[path = "support/kernel.rs"]
mod kernel;

use gil_detect::btf::{Btf, Kind, Parameter};
use gil_detect::watch::arguments::{self, Argument, Convention, Text, Value};
use gil_detect::watch::{Call, Guest, Point, Sighting, Spec, Watches, When};
use gil_uapi::VirtualAddress;
use kernel::{BASE, Image, USUAL, symbols, types};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;

/// Registers that count up, and some memory.
#[derive(Default)]
struct Machine {
    registers: BTreeMap<u8, u64>,
    memory: BTreeMap<u64, Vec<u8>>,
}

impl Guest for Machine {
    fn register(&self, number: u8, _: Convention) -> Option<u64> {
        let usual = 0x10 + u64::from(number);
        Some(self.registers.get(&number).copied().unwrap_or(usual))
    }

    fn stack(&self, _: Convention) -> Option<VirtualAddress> {
        Some(VirtualAddress(0x8000))
    }

    fn process(&self) -> Option<u32> {
        Some(42)
    }

    fn read(&self, VirtualAddress(address): VirtualAddress, out: &mut [u8]) -> bool {
        let Some((start, bytes)) = self.memory.range(..=address).next_back() else {
            return false;
        };
        let from = (address - start) as usize;
        let found = bytes.get(from..from.saturating_add(out.len()));
        found.is_some_and(|found| {
            out.copy_from_slice(found);
            true
        })
    }
}

fn with(kinds: &[Kind], convention: Convention, machine: &Machine) -> String {
    let parameter = |&kind: &Kind| Parameter {
        name: String::new(),
        kind,
    };
    let parameters: Vec<_> = kinds.iter().map(parameter).collect();
    arguments::read(Some(&parameters), convention, machine).to_string()
}

const INT: Kind = Kind::Integer {
    size: 4,
    signed: true,
};
const U64: Kind = Kind::Integer {
    size: 8,
    signed: false,
};
const WIDE: Kind = Kind::Integer {
    size: 16,
    signed: false,
};

#[test]
fn arguments_are_where_the_conventions_put_them() {
    let mut machine = Machine::default();
    machine.registers.insert(0, 0xffff_ffff_ffff_fffe);
    machine.memory.insert(0x8000, (1..=64).collect());
    let a64 = |kinds: &[Kind]| with(kinds, Convention::Aarch64, &machine);
    let a32 = |kinds: &[Kind]| with(kinds, Convention::Aarch32, &machine);
    assert_eq!(a64(&[INT, U64, Kind::Pointer]), "-2, 0x11, 0x12");
    // Two registers begin at an even one.
    assert_eq!(a64(&[INT, WIDE]), "-2, 0x130000000000000012");
    // The ninth is on the stack.
    let nine = a64(&[Kind::Pointer; 9]);
    assert!(nine.ends_with("0x17, 0x807060504030201"), "{nine}");
    let composite = |size| Kind::Composite { size };
    assert_eq!(a64(&[INT, composite(16)]), "-2, {0x11, 0x12}");
    assert_eq!(a64(&[INT, composite(24)]), "-2, at 0x11");
    assert_eq!(a32(&[INT, U64, INT]), "-2, 0x1300000012, 67305985");
    assert_eq!(a64(&[]), "");
    assert_eq!(
        arguments::read(None, Convention::Aarch32, &machine).to_string(),
        "r0=0xfffffffffffffffe, r1=0x11, r2=0x12, r3=0x13"
    );
}

#[test]
fn texts_are_read_as_far_as_they_are_there() {
    let mut machine = Machine::default();
    machine
        .memory
        .insert(0x1000, [&b"/etc\x07\0"[..], &[b'x'; 5000]].concat());
    let mut text = |address| {
        machine.registers.insert(0, address);
        with(&[Kind::Text], Convention::Aarch64, &machine)
    };
    assert_eq!(text(0x1000), "0x1000 \"/etc\\u{7}\"");
    assert_eq!(text(0), "0x0");
    assert_eq!(text(0x10), "0x10");
    assert!(text(0x1100).ends_with("xxx…\""));
    // The next page may not be there.
    assert_eq!(text(0x1ffd), "0x1ffd \"xxx…\"");
}

/// A kernel with a loader and a function, in a file.
fn kernel() -> tempfile::NamedTempFile {
    let mut symbols = symbols();
    symbols[3].0 = "Twatched".into();
    symbols[4].0 = "tdo_init_module".into();
    symbols[5].0 = "Tperf_event_mmap".into();
    symbols[6].0 = "Tmodule_put".into();
    let mut bytes = Image::build(&symbols, USUAL);
    bytes.extend(types());
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&bytes).unwrap();
    file
}

fn address(symbol: u64) -> VirtualAddress {
    VirtualAddress(BASE + 0x1_0000 + symbol * 16)
}

fn watches(specs: &[&str], limit: u64) -> Result<Watches, String> {
    let kernel = kernel();
    let specs: Vec<Spec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
    Watches::new(&specs, Some(kernel.path()), limit).map_err(|error| error.to_string())
}

/// What the user reads as a point is reached.
fn line(
    watches: &Watches,
    at: (VirtualAddress, Point),
    machine: &Machine,
    when: Option<When>,
) -> Option<String> {
    let seen = watches.reach(at, machine, when);
    seen.map(|seen| seen.to_string())
}

/// Points in a block of ten instructions.
fn points(watches: &Watches, at: VirtualAddress) -> Vec<(VirtualAddress, Point)> {
    let last = at.checked_add(36).unwrap();
    watches.points(at..=last, |_, _| panic!("nothing to read"))
}

#[test]
fn a_kernels_function_is_shown_with_its_prototype() {
    let watches = watches(&["watched"], 2).unwrap();
    assert_eq!(points(&watches, VirtualAddress(address(3).0 - 40)), []);
    assert_eq!(points(&watches, address(4)), []);
    let found = points(&watches, VirtualAddress(address(3).0 - 36));
    assert_eq!(found, [(address(3), Point::Watched(0))]);
    assert_eq!(watches.known(), found);
    let mut machine = Machine::default();
    machine.memory.insert(0x11, b"words\0".repeat(20));
    let reach = |when| line(&watches, (address(3), Point::Watched(0)), &machine, when);
    assert_eq!(
        reach(Some(When::Instructions(7))).unwrap(),
        "7 instructions, pid 42: watched(count=16, text=0x11 \"words\")"
    );
    let second = reach(Some(When::Nanoseconds(1_000_000_007))).unwrap();
    assert!(second.starts_with("1.000000007 s, pid 42: "), "{second}");
    assert_eq!(reach(None), None);
    assert_eq!(
        watches.summary(),
        ["watched was called 3 times, the last 1 are not shown"]
    );
    assert_eq!(watches.calls(), [("watched".to_owned(), 3)]);
}

#[test]
fn a_drivers_calls_are_counted_with_those_that_are_not_shown() {
    let watches = watches(&["gil_mirror:gil_mirror_called#lima+1"], 2).unwrap();
    let says = |wanted: &str| assert_eq!(watches.summary(), [wanted]);
    let reach = || {
        let at = (address(3), Point::Watched(0));
        line(&watches, at, &Machine::default(), None).is_some()
    };
    says("no call of the driver lima was seen: its module was not used");
    assert!(reach());
    says("the driver lima was called once");
    assert!(reach());
    says("the driver lima was called 2 times");
    assert!(!reach());
    says("the driver lima was called 3 times, 1 of them not shown");
}

#[test]
fn a_call_has_values() {
    let watches = watches(&["watched"], 1).unwrap();
    let mut machine = Machine::default();
    machine.memory.insert(0x11, b"word\0".repeat(20));
    let at = (address(3), Point::Watched(0));
    let argument = |name: &'static str, kind, value| Argument {
        name: name.into(),
        kind: Some(kind),
        value: Some(value),
    };
    let text = Text {
        text: "word".into(),
        is_whole: true,
    };
    let text = Value::Text {
        address: VirtualAddress(0x11),
        text: Some(text),
    };
    let expected = arguments::Arguments {
        values: vec![
            argument("count", INT, Value::Signed(0x10)),
            argument("text", Kind::Text, text),
        ],
        left_out: 0,
    };
    let when = Some(When::Nanoseconds(5));
    let call = Call {
        watch: 0,
        label: "watched".into(),
        when,
        process: Some(42),
        arguments: expected.clone(),
        ioctl: None,
    };
    assert_eq!(
        watches.reach(at, &machine, when),
        Some(Sighting::Call(call))
    );
    // Behind the limit they are there for who asks.
    assert_eq!(watches.reach(at, &machine, when), None);
    assert_eq!(watches.arguments(at, &machine), Some(expected));
    assert_eq!(watches.calls(), [("watched".to_owned(), 2)]);
    assert_eq!(watches.arguments((at.0, Point::Loaded), &machine), None);
    assert_eq!(watches.arguments((at.0, Point::Watched(1)), &machine), None);
}

/// A machine that shows nothing.
struct Blind;

impl Guest for Blind {
    fn register(&self, _: u8, _: Convention) -> Option<u64> {
        None
    }

    fn stack(&self, _: Convention) -> Option<VirtualAddress> {
        None
    }

    fn process(&self) -> Option<u32> {
        None
    }

    fn read(&self, _: VirtualAddress, _: &mut [u8]) -> bool {
        false
    }
}

#[test]
fn what_the_simulator_does_not_show_has_no_value() {
    let kinds = [INT, Kind::Pointer, Kind::Text, Kind::Float];
    let sizes = [16, 24].map(|size| Kind::Composite { size });
    let parameter = |kind| Parameter {
        name: "p".into(),
        kind,
    };
    let parameters: Vec<_> = kinds.into_iter().chain(sizes).map(parameter).collect();
    let found = arguments::read(Some(&parameters), Convention::Aarch64, &Blind);
    let values: Vec<_> = found.values.iter().map(|one| one.value.clone()).collect();
    let mut expected = vec![None; 6];
    expected[4] = Some(Value::Words(vec![None, None]));
    assert_eq!(values, expected);
    assert_eq!(
        found.to_string(),
        "p=?, p=?, p=?, p=(in a floating-point register), p={?, ?}, p=at ?"
    );
    let many = vec![parameters[0].clone(); 40];
    let found = arguments::read(Some(&many), Convention::Aarch64, &Machine::default());
    assert_eq!((found.values.len(), found.left_out), (32, 8));
    assert!(found.to_string().ends_with("p=?, …"), "{found}");
}

#[test]
fn what_is_not_there_is_told() {
    let error = |spec| watches(&[spec], 1).unwrap_err();
    assert_eq!(
        error("watchd"),
        "--watch watchd: the kernel has no function watchd: did you mean watched?"
    );
    let lost = error("prog:main@/no/such/file");
    assert!(lost.contains("cannot read /no/such/file"), "{lost}");
    let exe = std::fs::read_link("/proc/self/exe").unwrap();
    let unknown = error(&format!("prog:no_such@{}", exe.display()));
    assert!(unknown.contains("no function no_such"), "{unknown}");
    let specs = ["f".parse().unwrap()];
    let unknown = Watches::new(&specs, None, 1).unwrap_err().to_string();
    assert!(unknown.contains("kernel=PATH"), "{unknown}");
    for wrong in ["", ":", "a:", ":f", "a b", "f@", "a,b"] {
        assert!(wrong.parse::<Spec>().is_err(), "{wrong:?}");
    }
}

/// A module in the kernel's memory, with functions `first` and `second`.
fn loaded(machine: &mut Machine) {
    let (module, table) = (0x1_0000_u64, 0x2_0000_u64);
    machine.registers.insert(0, module);
    let mut bytes = vec![0; 0x100];
    bytes[24..31].copy_from_slice(b"my_mod\0");
    bytes[96..104].copy_from_slice(&table.to_le_bytes());
    machine.memory.insert(module, bytes);
    let mut bytes = Vec::new();
    for word in [table + 0x100, 3, table + 0x200] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.resize(0x100 + 24, 0);
    for (name, kind, address) in [
        (1_u32, 2_u8, 0xffff_8000_0100_0040_u64),
        (7, 2, 0xffff_8000_0100_0080),
    ] {
        bytes.extend(name.to_le_bytes());
        bytes.extend([kind, 0, 1, 0]);
        bytes.extend(address.to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
    }
    bytes.resize(0x200, 0);
    bytes.extend(b"\0first\0second\0");
    bytes.resize(0x300, 0);
    machine.memory.insert(table, bytes);
}

#[test]
fn a_modules_function_is_found_when_it_is_loaded() {
    let watches = watches(&["my-mod:second", "my_mod:third", "other:first"], 9).unwrap();
    let at = address(4);
    assert_eq!(points(&watches, at), [(at, Point::Loaded)]);
    let mut machine = Machine::default();
    assert_eq!(
        watches.reach((address(4), Point::Loaded), &machine, None),
        None
    );
    loaded(&mut machine);
    assert_eq!(
        line(&watches, (address(4), Point::Loaded), &machine, None).unwrap(),
        "the module my_mod was loaded and has no function third"
    );
    let at = VirtualAddress(0xffff_8000_0100_0080);
    assert_eq!(points(&watches, at), [(at, Point::Watched(0))]);
    let when = Some(When::Instructions(1));
    let line = line(&watches, (at, Point::Watched(0)), &machine, when);
    let expected = "1 instructions, pid 42: my-mod:second(x0=0x10000, x1=0x11, x2=0x12, x3=0x13)";
    assert_eq!(line.unwrap(), expected);
    let why = "no module of that name with that function was loaded";
    assert_eq!(
        watches.summary(),
        [
            format!("my_mod:third was not called: {why}"),
            format!("other:first was not called: {why}")
        ]
    );
}

/// A simulation that goes on where another was saved.
#[test]
fn a_module_that_is_loaded_already_is_found_when_it_is_used() {
    let kernel = kernel();
    let specs = ["my-mod:second", "my-mod:third"].map(|spec| spec.parse().unwrap());
    let mut watches = Watches::new(&specs, Some(kernel.path()), 9).unwrap();
    watches.resume(kernel.path()).unwrap();
    assert_eq!(
        watches.known(),
        [(address(4), Point::Loaded), (address(6), Point::Loaded)]
    );
    let mut machine = Machine::default();
    loaded(&mut machine);
    let used = || line(&watches, (address(6), Point::Loaded), &machine, None);
    assert!(used().unwrap().ends_with("no function third"));
    // Once.
    assert_eq!(used(), None);
    let at = (VirtualAddress(0xffff_8000_0100_0080), Point::Watched(0));
    assert_eq!(watches.known()[2..], [at]);

    // The next one is restored from what this one knew.
    let next = Watches::new(&specs, Some(kernel.path()), 9).unwrap();
    assert!(next.restore(at));
    assert!(!next.restore((at.0, Point::Watched(2))));
    assert!(!next.restore((at.0, Point::Mapped)));
    assert_eq!(next.known()[1..], [at]);
    assert_eq!(next.summary()[0], "my-mod:second was not called");
}

#[test]
fn a_programs_function_is_found_by_its_page() {
    use object::{Object, ObjectSymbol};
    let path = std::fs::read_link("/proc/self/exe").unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let entry = elf.symbol_by_name("main").unwrap().address();
    let spec = format!("program:main@{}", path.display()).parse().unwrap();
    let watches = Watches::new(&[spec], None, 9).unwrap();

    let base = 0x5555_0000_0000;
    let loaded = VirtualAddress(base + entry);
    let page = loaded.0 & !0xfff;
    let image = |at: VirtualAddress, out: &mut [u8]| {
        use object::ObjectSegment;
        let at = at.0 - base;
        elf.segments().any(|segment| {
            let data = segment.data().unwrap();
            let from = at.wrapping_sub(segment.address()) as usize;
            let found = data.get(from..from.saturating_add(out.len()));
            found.map(|found| out.copy_from_slice(found)).is_some()
        })
    };
    let code = loaded..=VirtualAddress(loaded.0 + 4);
    assert_eq!(
        watches.points(code.clone(), image),
        [(loaded, Point::Watched(0))]
    );
    let other = |at: VirtualAddress, out: &mut [u8]| {
        let is_there = image(at, out);
        out[0] ^= 1;
        is_there
    };
    assert_eq!(watches.points(code.clone(), other), []);
    assert_eq!(watches.points(code, |_, _| false), []);
    let next = VirtualAddress(page + 0x1000)..=VirtualAddress(page + 0x1004);
    assert_eq!(watches.points(next, image), []);
    // A simulator that loads programs itself says where.
    watches.loaded_at(base);
    assert_eq!(watches.known(), [(loaded, Point::Watched(0))]);
    assert_eq!(watches.summary(), ["program:main was not called"]);
}

/// A simulator that stops at addresses gets them from the kernel's mappings.
#[test]
fn the_kernels_mappings_lead_to_a_programs_function() {
    use object::{Object, ObjectSegment, ObjectSymbol};
    let path = std::fs::read_link("/proc/self/exe").unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let entry = elf.symbol_by_name("main").unwrap().address();
    let code = elf
        .segments()
        .find(|one| (one.address()..one.address() + one.size()).contains(&entry));
    let code = code.unwrap();
    let kernel = kernel();
    let spec = format!("program:main@{}", path.display()).parse().unwrap();
    let mut watches = Watches::new(&[spec], Some(kernel.path()), 9).unwrap();
    watches.follow_mappings(kernel.path()).unwrap();
    assert_eq!(watches.known(), [(address(5), Point::Mapped)]);

    // struct vm_area_struct, of a file's part that is mapped page by page.
    let start = 0x7000_0000_u64;
    let offset = code.file_range().0 & !0xfff;
    let area = |flags: u64| {
        let words = [start, start + 0x100_0000, flags, offset / 4096, 0xf11e];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    };
    let mut machine = Machine::default();
    machine.registers.insert(0, 0x9000);
    let told = |machine: &Machine| watches.reach((address(5), Point::Mapped), machine, None);
    machine.memory.insert(0x9000, area(1));
    assert_eq!(told(&machine), None);
    assert_eq!(watches.known().len(), 1);
    machine.memory.insert(0x9000, area(5));
    assert_eq!(told(&machine), None);
    let within = entry - code.address() + code.file_range().0 - offset;
    let expected = VirtualAddress(start + within);
    assert_eq!(watches.known()[1], (expected, Point::Watched(0)));

    // Memory where the file is, and where it is not.
    machine
        .memory
        .insert(start, bytes[offset as usize..].to_vec());
    let reach = |machine: &Machine| line(&watches, watches.known()[1], machine, None);
    assert!(
        reach(&machine)
            .unwrap()
            .ends_with("program:main(x0=0x9000, x1=0x11, x2=0x12, x3=0x13)")
    );
    machine.memory.insert(start, vec![0; bytes.len()]);
    assert_eq!(reach(&machine), None);
    assert_eq!(watches.calls()[0].1, 1);
}

/// A library with debug information.
const SOURCE: &str = "
    enum mode { SLOW, FAST };
    struct inner { char pad[24]; short member; };
    struct outer { long first; union { struct inner in; int other; }; struct inner last; };
    typedef unsigned char byte;
    long watched(const char *text, enum mode mode, byte small, double real, struct outer *out,
                 struct inner in) { return (long)text + mode + small + (long)real + out->first + in.member; }
";

#[test]
fn debug_information_gives_prototypes_and_layouts() {
    use gil_detect::symbol::Symbols;
    if !gil_need::program("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("w.c"), folder.path().join("w.so"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut cc = std::process::Command::new("gcc");
    cc.args(["-g", "-O2", "-shared", "-fPIC", "-o"])
        .args([&library, &source]);
    assert!(cc.status().unwrap().success());
    let mut bytes = std::fs::read(&library).unwrap();
    let symbols = Symbols::parse(&bytes).unwrap();
    let address = symbols.function("watched").unwrap().address;
    let types = symbols.debug_information();
    let parameters = types.parameters(address).unwrap();
    let expected = [
        ("text", Kind::Text),
        (
            "mode",
            Kind::Integer {
                size: 4,
                signed: false,
            },
        ),
        (
            "small",
            Kind::Integer {
                size: 1,
                signed: false,
            },
        ),
        ("real", Kind::Float),
        ("out", Kind::Pointer),
        ("in", Kind::Composite { size: 26 }),
    ];
    let found: Vec<_> = parameters
        .iter()
        .map(|one| (&*one.name, one.kind))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(types.offset("outer", "in.member"), Some(32));
    assert_eq!(types.offset("outer", "last.member"), Some(60));
    assert_eq!(types.offset("outer", "no"), None);
    assert_eq!(types.parameters(address + 1), None);

    // Damaged: whatever is read, nothing panics.
    for at in (64..bytes.len()).step_by(37) {
        bytes[at] ^= 0x5a;
        if let Ok(symbols) = Symbols::parse(&bytes) {
            symbols.debug_information().parameters(address);
            symbols.debug_information().offset("outer", "in.member");
        }
    }
}

/// One structure with 64 members without a name, each of which is itself.
#[test]
fn structures_that_lie_in_themselves_have_an_end() {
    let words = [1, 4 << 24 | 64, 8].into_iter();
    let types: Vec<u32> = words.chain([0, 1, 0].repeat(64)).collect();
    let strings = b"\0s0\0";
    let len = 4 * types.len() as u32;
    let header = [24, 0, len, len, strings.len() as u32];
    let words = header.into_iter().chain(types);
    let mut bytes = vec![0x9f, 0xeb, 1, 0];
    bytes.extend(words.flat_map(u32::to_le_bytes));
    bytes.extend(strings);
    let types = Btf::parse(&bytes).unwrap();
    assert_eq!(types.offset("s0", "a"), None);
}

/// Types, as a kernel or module has them.
fn btf(types: &[u32], strings: &[u8]) -> Vec<u8> {
    let len = 4 * types.len() as u32;
    let header = [24, 0, len, len, strings.len() as u32];
    let words = header.into_iter().chain(types.iter().copied());
    let mut bytes = vec![0x9f, 0xeb, 1, 0];
    bytes.extend(words.flat_map(u32::to_le_bytes));
    bytes.extend(strings);
    bytes
}

/// A number of a kernel's; a module's list of four of these, and its structure of both.
fn kernel_and_module() -> (Vec<u8>, Vec<u8>) {
    let kernel = btf(&[1, 1 << 24, 8, 64], b"\0u64\0");
    let list = [0, 3 << 24, 0, 1, 1, 4];
    let job = [5, 4 << 24 | 2, 48, 9, 1, 64, 12, 2, 128];
    (kernel, btf(&[&list[..], &job].concat(), b"job\0jc\0list\0"))
}

#[test]
fn a_modules_types_go_on_from_the_kernels() {
    let (kernel, module) = kernel_and_module();
    let kernel = Btf::parse(&kernel).unwrap();
    let types = kernel.with_module(&module).unwrap();
    assert_eq!(types.numbers("job", "jc"), Some((8, None)));
    assert_eq!(types.numbers("job", "list"), Some((8, Some(4))));
    assert_eq!(types.offset("job", "list"), Some(16));
    assert_eq!(types.numbers("job", "no"), None);
    assert_eq!(kernel.offset("job", "jc"), None);
    // A module's begin with no empty name.
    assert!(Btf::parse(&module).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn damaged_types_of_modules_never_panic(hits in proptest::collection::vec((0_usize..400, any::<u8>()), 1..20)) {
        let (kernel, mut module) = kernel_and_module();
        let kernel = Btf::parse(&kernel).unwrap();
        for (at, byte) in hits {
            let at = at % module.len();
            module[at] = byte;
        }
        if let Some(types) = kernel.with_module(&module) {
            types.numbers("job", "list");
            types.offset("job", "jc");
            types.parameters("job");
        }
    }

    #[test]
    fn damaged_types_never_panic(hits in proptest::collection::vec((0_usize..400, any::<u8>()), 1..20)) {
        let mut bytes = types();
        for (at, byte) in hits {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Some(types) = Btf::parse(&bytes) {
            types.offset("module", "kallsyms");
            types.parameters("watched");
        }
    }

    #[test]
    fn rubbish_in_a_modules_memory_never_panics(words in proptest::collection::vec(any::<u64>(), 40)) {
        let watches = watches(&["my_mod:first"], 1).unwrap();
        let mut machine = Machine::default();
        loaded(&mut machine);
        let rubbish: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        machine.memory.insert(0x2_0000, rubbish);
        watches.reach((address(4), Point::Loaded), &machine, None);
    }
}
