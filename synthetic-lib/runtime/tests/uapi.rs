//! Compiles `synthetic-driver/uapi/gil.h` and compares what it says with the
//! mirror in `gil_guest::uapi`.

use gil_guest::uapi;
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

/// Expressions of C with their values here.
fn expected() -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    constants(&mut all);
    layouts(&mut all);
    all
}

fn constants(all: &mut BTreeMap<String, u64>) {
    let mut add = |name: &str, value: u64| all.insert(name.to_owned(), value);
    add("GIL_ABI_VERSION", uapi::ABI_VERSION.into());
    add("GIL_REQUEST_MAX", uapi::REQUEST_MAX as u64);
    add("GIL_REPLY_MAX", uapi::REPLY_MAX as u64);
    add("GIL_REGIONS_MAX", uapi::REGIONS_MAX as u64);
    add("GIL_STATUS_OK", uapi::STATUS_OK.into());
    add("GIL_STATUS_UNRESOLVED", uapi::STATUS_UNRESOLVED.into());
    add("GIL_STATUS_BAD_MAILBOX", uapi::STATUS_BAD_MAILBOX.into());
    add("GIL_STATUS_BAD_REQUEST", uapi::STATUS_BAD_REQUEST.into());
    add("GIL_STATUS_LOST", uapi::STATUS_LOST.into());
    add("GIL_STATUS_DUPLICATE", uapi::STATUS_DUPLICATE.into());
    add("GIL_STATUS_UNSEEN", uapi::STATUS_UNSEEN.into());
    add("GIL_WAIT_NONE", uapi::WAIT_NONE.into());
    add("GIL_WAIT_SLEEP", uapi::WAIT_SLEEP.into());
    add("GIL_WAIT_OCCUPY", uapi::WAIT_OCCUPY.into());
    add("GIL_WAIT_PROGRESS", uapi::WAIT_PROGRESS.into());
    add("GIL_FLAG_COLLECT", uapi::FLAG_COLLECT.into());
    add("GIL_FLAG_PENDING", uapi::FLAG_PENDING.into());
    add("GIL_WAIT_COLLECT", uapi::WAIT_FLAG_COLLECT.into());
    add("GIL_DIR_IN", gil_wire::message::Direction::In as u64);
    add("GIL_DIR_OUT", gil_wire::message::Direction::Out as u64);
    add("GIL_DIR_INOUT", gil_wire::message::Direction::InOut as u64);
    add("GIL_IOC_INFO", uapi::IOC_INFO);
    add("GIL_IOC_SUBMIT", uapi::IOC_SUBMIT);
    add("GIL_IOC_WAIT", uapi::IOC_WAIT);
}

macro_rules! layout {
    ($all:ident, $rust:ty, $c:literal, $($field:ident)*) => {
        $all.insert(format!("sizeof(struct {})", $c), size_of::<$rust>() as u64);
        $($all.insert(
            format!("offsetof(struct {}, {})", $c, stringify!($field)),
            offset_of!($rust, $field) as u64,
        );)*
    };
}

fn layouts(all: &mut BTreeMap<String, u64>) {
    layout!(all, uapi::Region, "gil_region", addr len dir reserved);
    layout!(all, uapi::Submit, "gil_submit", request reply regions request_len
        reply_cap region_count reserved status reply_len deadline_ns now_ns
        progress wait_kind flags);
    layout!(all, uapi::Wait, "gil_wait", deadline_ns progress kind flags);
    layout!(all, uapi::Info, "gil_info", abi_version reserved session);
}

/// What the header says of each expression.
fn compiled(expressions: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().unwrap();
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../synthetic-driver/uapi/gil.h");
    let print = |e| format!("printf(\"%s=%llu\\n\", \"{e}\", (unsigned long long)({e}));\n");
    let body: String = expressions.map(print).collect();
    let header = header.display();
    let source = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include \"{header}\"\nint main(void) {{\n{body}return 0;\n}}\n"
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
