//! The borders to C: `gil_host.h` from C and from C++, and `gil.h`.

mod support;

use gil_host::layout;
use gil_need::program;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::board::{Act, FakeBoard};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(program: impl AsRef<OsStr>, args: &[&OsStr]) -> Output {
    let output = Command::new(&program).args(args).output();
    let output = output.unwrap_or_else(|error| panic!("{:?}: {error}", program.as_ref()));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {text}", program.as_ref());
    output
}

/// The static library, which cargo made beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let entries = test.parent().unwrap().read_dir().unwrap();
    let files = entries.map(|entry| entry.unwrap());
    let libraries = files.filter(|file| {
        let name = file.file_name().into_string().unwrap_or_default();
        name.starts_with("libgil_host-") && name.ends_with(".a")
    });
    let newest = libraries.max_by_key(|file| file.metadata().unwrap().modified().unwrap());
    newest.expect("libgil_host.a beside the test").path()
}

fn compile(compiler: &str, flags: &[&str], source: &str, out: &Path) {
    let source = root().join("tests/abi").join(source);
    let include = |folder: &str| format!("-I{}", root().join(folder).display());
    let includes = [
        include("host-iface/include"),
        include("synthetic-driver/uapi"),
    ];
    let library = library();
    let mut args: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    args.extend(["-Wall", "-Wextra", "-Werror", "-g"].map(OsStr::new));
    args.extend(includes.iter().map(OsStr::new));
    args.extend([source.as_os_str(), library.as_os_str()]);
    args.extend(["-lpthread", "-ldl", "-lm", "-o"].map(OsStr::new));
    args.push(out.as_os_str());
    run(compiler, &args);
}

/// Answers with the input reversed.
fn mirror() -> FakeBoard {
    FakeBoard::new(|call| Act {
        cpu_ns: 5000,
        out: vec![call.payload.iter().rev().copied().collect()],
        ..Act::default()
    })
}

#[test]
fn simulators_in_c_and_in_cpp() {
    if !program("gcc") || !program("g++") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let board = mirror();
    let (c, cc) = (folder.path().join("c"), folder.path().join("cc"));
    compile("gcc", &["-std=gnu11", "-pedantic"], "gil_sim.c", &c);
    let ram = folder.path().join("ram");
    let address = board.address().to_string();
    let output = run(&c, &[ram.as_os_str(), address.as_ref()]);
    assert_eq!(output.stdout, b"hello");
    let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        warnings.lines().all(|line| line.starts_with("gil: ")),
        "{warnings}"
    );
    compile("g++", &["-std=c++17", "-pedantic"], "gil_sim.cc", &cc);
    let output = run(&cc, &[address.as_ref()]);
    assert!(
        output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
}

#[test]
fn watches_in_cpp() {
    if !program("g++") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("watch");
    let flags = ["-std=c++17", "-pedantic"];
    compile("g++", &flags, "gil_watch.cc", &program);
    let output = run(&program, &[program.as_os_str()]);
    assert!(
        output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
}

/// What the C compiler makes of `gil.h`, in the order of [`mirror_of_uapi`].
const EXPRESSIONS: &[&str] = &[
    "GIL_ABI_VERSION",
    "GIL_MAILBOX_MAGIC",
    "GIL_REQUEST_MAX",
    "GIL_REPLY_MAX",
    "GIL_REGIONS_MAX",
    "GIL_EXTENTS_PER_PAGE",
    "GIL_RELEASED_MAX",
    "GIL_MARKER_A64",
    "GIL_MBOX_OPEN",
    "GIL_MBOX_SUBMIT",
    "GIL_MBOX_COLLECT",
    "GIL_MBOX_CLOSE",
    "GIL_MBOX_ATTEND",
    "GIL_FLAG_PROGRESS",
    "GIL_FLAG_COLLECT",
    "GIL_FLAG_HOLD",
    "GIL_FLAG_MORE",
    "GIL_FLAG_PENDING",
    "GIL_STATUS_OK",
    "GIL_STATUS_UNRESOLVED",
    "GIL_STATUS_BAD_MAILBOX",
    "GIL_STATUS_BAD_REQUEST",
    "GIL_STATUS_LOST",
    "GIL_STATUS_DUPLICATE",
    "GIL_STATUS_UNSEEN",
    "GIL_WAIT_NONE",
    "GIL_WAIT_SLEEP",
    "GIL_WAIT_OCCUPY",
    "GIL_DIR_IN",
    "GIL_DIR_OUT",
    "GIL_DIR_INOUT",
    "sizeof(struct gil_mailbox)",
    "M(magic)",
    "M(version)",
    "M(session)",
    "M(seq)",
    "M(kind)",
    "M(pointer_bits)",
    "M(process)",
    "M(thread)",
    "M(now_ns)",
    "M(now_counter)",
    "M(counter_hz)",
    "M(region_count)",
    "M(regions)",
    "M(request)",
    "M(reply)",
    "M(request_len)",
    "M(reply_cap)",
    "M(status)",
    "M(reply_len)",
    "M(deadline_ns)",
    "M(wait_kind)",
    "M(flags)",
    "M(released_count)",
    "M(released)",
    "M(attention_ns)",
    "sizeof(struct gil_mbox_region)",
    "offsetof(struct gil_mbox_region, len)",
    "offsetof(struct gil_mbox_region, extents)",
    "offsetof(struct gil_mbox_region, dir)",
    "sizeof(struct gil_extent_page)",
    "offsetof(struct gil_extent_page, next)",
    "offsetof(struct gil_extent_page, count)",
    "offsetof(struct gil_extent_page, extent)",
    "sizeof(struct gil_extent)",
    "offsetof(struct gil_extent, gpa)",
    "offsetof(struct gil_extent, len)",
];

fn mirror_of_uapi() -> Vec<u64> {
    use gil_wire::message::Direction;
    use layout::{Status, WaitKind, extent_page as e, flag, kind, mailbox as m, region as r};
    let words = [
        layout::ABI_VERSION,
        layout::MAILBOX_MAGIC,
        layout::REQUEST_MAX,
        layout::REPLY_MAX,
        layout::REGIONS_MAX,
        layout::EXTENTS_PER_PAGE,
        layout::RELEASED_MAX as u32,
        layout::MARKER_A64,
        kind::OPEN,
        kind::SUBMIT,
        kind::COLLECT,
        kind::CLOSE,
        kind::ATTEND,
        flag::PROGRESS,
        flag::COLLECT,
        flag::HOLD,
        flag::MORE,
        flag::PENDING,
        Status::Ok as u32,
        Status::Unresolved as u32,
        Status::BadMailbox as u32,
        Status::BadRequest as u32,
        Status::Lost as u32,
        Status::Duplicate as u32,
        layout::STATUS_UNSEEN,
        WaitKind::None as u32,
        WaitKind::Sleep as u32,
        WaitKind::Occupy as u32,
        Direction::In as u32,
        Direction::Out as u32,
        Direction::InOut as u32,
    ];
    let offsets = [
        m::SIZE,
        m::MAGIC,
        m::VERSION,
        m::SESSION,
        m::SEQ,
        m::KIND,
        m::POINTER_BITS,
        m::PROCESS,
        m::THREAD,
        m::NOW_NS,
        m::NOW_COUNTER,
        m::COUNTER_HZ,
        m::REGION_COUNT,
        m::REGIONS,
        m::REQUEST,
        m::REPLY,
        m::REQUEST_LEN,
        m::REPLY_CAP,
        m::STATUS,
        m::REPLY_LEN,
        m::DEADLINE_NS,
        m::WAIT_KIND,
        m::FLAGS,
        m::RELEASED_COUNT,
        m::RELEASED,
        m::ATTENTION_NS,
        r::SIZE,
        r::LEN,
        r::EXTENTS,
        r::DIR,
        e::SIZE,
        e::NEXT,
        e::COUNT,
        e::EXTENT,
        e::EXTENT_SIZE,
        0,
        8,
    ];
    let words = words.iter().map(|&word| u64::from(word));
    words
        .chain(offsets.iter().map(|&offset| offset as u64))
        .collect()
}

#[test]
fn the_layout_is_the_headers() {
    if !program("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("layout.c"), folder.path().join("layout"));
    let prints: String = EXPRESSIONS
        .iter()
        .map(|e| format!("printf(\"%llu\\n\", (unsigned long long)({e}));\n"))
        .collect();
    let text = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include \"gil.h\"\n\
         #define M(f) offsetof(struct gil_mailbox, f)\nint main(void) {{ {prints} return 0; }}"
    );
    std::fs::write(&source, text).unwrap();
    let include = format!("-I{}", root().join("synthetic-driver/uapi").display());
    let out = OsStr::new("-o");
    run(
        "gcc",
        &[
            source.as_os_str(),
            include.as_ref(),
            out,
            program.as_os_str(),
        ],
    );
    let output = String::from_utf8(run(&program, &[]).stdout).unwrap();
    let found: Vec<u64> = output.lines().map(|line| line.parse().unwrap()).collect();
    let named = |values: Vec<u64>| EXPRESSIONS.iter().copied().zip(values).collect::<Vec<_>>();
    assert_eq!(found.len(), EXPRESSIONS.len());
    assert_eq!(named(mirror_of_uapi()), named(found));
}
