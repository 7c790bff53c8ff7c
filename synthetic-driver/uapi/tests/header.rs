//! Compiles `gil.h` and `gil_disks.h`, and compares what it says with the mirror.

use gil_uapi::*;
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

/// Expressions of C with their values here.
fn expected() -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    numbers(&mut all);
    layouts(&mut all);
    all
}

fn numbers(all: &mut BTreeMap<String, u64>) {
    let words = [
        ("ABI_VERSION", ABI_VERSION),
        ("REQUEST_MAX", REQUEST_MAX),
        ("REPLY_MAX", REPLY_MAX),
        ("REGIONS_MAX", REGIONS_MAX),
        ("MAILBOX_MAGIC", MAILBOX_MAGIC),
        ("MARKER_A64", MARKER_A64),
        ("EXTENTS_PER_PAGE", EXTENTS_PER_PAGE as u32),
        ("RELEASED_MAX", RELEASED_MAX as u32),
        ("DISKS_MAGIC", disks::MAGIC),
        ("DISKS_MAX", disks::MAX as u32),
        ("DIR_IN", dir::IN),
        ("DIR_OUT", dir::OUT),
        ("DIR_INOUT", dir::INOUT),
        ("STATUS_OK", Status::Ok as u32),
        ("STATUS_UNRESOLVED", Status::Unresolved as u32),
        ("STATUS_BAD_MAILBOX", Status::BadMailbox as u32),
        ("STATUS_BAD_REQUEST", Status::BadRequest as u32),
        ("STATUS_LOST", Status::Lost as u32),
        ("STATUS_DUPLICATE", Status::Duplicate as u32),
        ("STATUS_UNSERVED", Status::Unserved as u32),
        ("STATUS_UNSEEN", STATUS_UNSEEN),
        ("WAIT_NONE", WaitKind::None as u32),
        ("WAIT_SLEEP", WaitKind::Sleep as u32),
        ("WAIT_OCCUPY", WaitKind::Occupy as u32),
        ("WAIT_PROGRESS", WAIT_PROGRESS),
        ("WAIT_COLLECT", WAIT_COLLECT),
        ("FLAG_PROGRESS", flag::PROGRESS),
        ("FLAG_COLLECT", flag::COLLECT),
        ("FLAG_HOLD", flag::HOLD),
        ("FLAG_MORE", flag::MORE),
        ("FLAG_PENDING", flag::PENDING),
        ("FLAG_SPIN", flag::SPIN),
        ("MBOX_OPEN", kind::OPEN),
        ("MBOX_SUBMIT", kind::SUBMIT),
        ("MBOX_COLLECT", kind::COLLECT),
        ("MBOX_CLOSE", kind::CLOSE),
        ("MBOX_ATTEND", kind::ATTEND),
        ("MBOX_GPU", kind::GPU),
        ("MBOX_CLOCK", kind::CLOCK),
        ("CLOCK_SET", gil_uapi::clock::SET),
        ("CLOCK_RATE", gil_uapi::clock::RATE as u32),
        ("CLOCK_RATES_MAX", gil_uapi::clock::RATES_MAX as u32),
        ("GPU_STORE", gil_uapi::gpu::STORE),
        ("GPU_CODE", gil_uapi::gpu::CODE),
        ("GPU_CLOCK", gil_uapi::gpu::CLOCK),
        ("GPU_LINES", gil_uapi::gpu::LINES as u32),
        ("GPU_REGISTERS", gil_uapi::gpu::REGISTERS as u32),
    ];
    all.extend(words.map(|(name, word)| (format!("GIL_{name}"), word.into())));
    let ioctls = [
        ("GIL_IOC_INFO", IOC_INFO),
        ("GIL_IOC_SUBMIT", IOC_SUBMIT),
        ("GIL_IOC_WAIT", IOC_WAIT),
        ("GIL_IOC_IMPORT", IOC_IMPORT),
        ("GIL_IOC_PIN", IOC_PIN),
        ("GIL_IOC_FORGET", IOC_FORGET),
        ("GIL_IOC_FENCE", IOC_FENCE),
        ("GIL_FENCE_MAX_NS", FENCE_MAX_NS),
    ];
    all.extend(ioctls.map(|(name, number)| (name.to_owned(), number)));
}

/// `rust` as `c` has it; behind `in`, the field that is a structure of its own here.
macro_rules! layout {
    ($all:ident, $rust:ty, $c:literal, $($field:ident)* $(, in $part:ident: $($inner:ident)*)?) => {
        $all.insert(format!("sizeof(struct {})", $c), size_of::<$rust>() as u64);
        $($all.insert(
            format!("offsetof(struct {}, {})", $c, stringify!($field)),
            offset_of!($rust, $field) as u64,
        );)*
        $($($all.insert(
            format!("offsetof(struct {}, {})", $c, stringify!($inner)),
            offset_of!($rust, $part.$inner) as u64,
        );)*)?
    };
}

fn layouts(all: &mut BTreeMap<String, u64>) {
    layout!(all, Region, "gil_region", addr len dir import);
    layout!(all, Submit, "gil_submit", request reply regions request_len
        reply_cap region_count reserved status reply_len deadline_ns now_ns
        progress wait_kind flags);
    layout!(all, Wait, "gil_wait", deadline_ns progress kind flags);
    layout!(all, ImportArg, "gil_import_arg", fd flags len id reserved);
    layout!(all, PinArg, "gil_pin_arg", addr len flags id);
    layout!(all, FenceArg, "gil_fence_arg", deadline_ns flags fd);
    layout!(all, Info, "gil_info", abi_version reserved session);
    layout!(all, Mailbox, "gil_mailbox", magic version session seq kind pointer_bits
        process thread now_ns now_counter counter_hz region_count regions request
        reply request_len reply_cap,
        in answer: status reply_len deadline_ns wait_kind flags released_count
        reserved released attention_ns);
    layout!(all, MailboxRegion, "gil_mbox_region", len extents skip dir reserved);
    layout!(all, Extent, "gil_extent", gpa len);
    layout!(all, disks::Disk, "gil_disk", gpa len);
    layout!(all, disks::Disks, "gil_disks", magic count disk);
    layout!(all, ExtentPage, "gil_extent_page", next count reserved extent);
}

const HEADERS: [&str; 2] = ["gil.h", "gil_disks.h"];

/// What the headers say of each expression.
fn compiled(expressions: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().unwrap();
    let folder_of_headers = Path::new(env!("CARGO_MANIFEST_DIR"));
    let include =
        |name: &&str| format!("#include \"{}\"\n", folder_of_headers.join(name).display());
    let headers: String = HEADERS.iter().map(include).collect();
    let print = |e| format!("printf(\"%s=%llu\\n\", \"{e}\", (unsigned long long)({e}));\n");
    let body: String = expressions.map(print).collect();
    let source = format!(
        "#include <stddef.h>\n#include <stdio.h>\n{headers}int main(void) {{\n{body}return 0;\n}}\n"
    );
    let (c, program) = (folder.path().join("uapi.c"), folder.path().join("uapi"));
    std::fs::write(&c, source).unwrap();
    let built = Command::new("cc").arg(&c).arg("-o").arg(&program).status();
    assert!(built.expect("a C compiler named cc").success());
    let output = Command::new(program).output().unwrap();
    let line = |l: &str| {
        let (name, value) = l.split_once('=').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(line)
        .collect()
}

#[test]
fn mirrors_the_header() {
    let expected = expected();
    let compiled = compiled(expected.keys().cloned());
    assert_eq!(compiled, expected);
}

/// No structure or number of the header is missing here.
#[test]
fn mirrors_all_of_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let texts = HEADERS.map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    let text = texts.concat();
    let known = expected();
    // Names and registers: of the driver and of devices alone.
    let not_here = |name: &str| {
        name.starts_with("GIL_DEV_")
            || name.starts_with("GIL_PAUSE_")
            || [
                "GIL_UAPI_H",
                "GIL_DISKS_H",
                "GIL_DEVICE_NAME",
                "GIL_IOC_MAGIC",
            ]
            .contains(&name)
    };
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("#define ") {
            let name = rest.split_whitespace().next().unwrap();
            assert!(not_here(name) || known.contains_key(name), "{name}");
        }
        if let Some(rest) = line.strip_prefix("struct ") {
            let name = rest.split_whitespace().next().unwrap();
            assert!(
                known.contains_key(&format!("sizeof(struct {name})")),
                "{name}"
            );
        }
    }
}
