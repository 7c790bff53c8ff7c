//! The generator against golden files, and against bad descriptions.
//!
//! `UPDATE_GOLDENS=1 cargo test -p xtask` writes the golden files anew.

use std::path::{Path, PathBuf};
use xtask::r#gen::{self, GenError, Paths, of_description};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Paths of the doubles in `compiled.rs`.
fn doubles(api: &str) -> Paths {
    Paths {
        wire: format!("crate::{api}::wire"),
        gil_wire: "gil_wire".into(),
        own_wire: "gil_wire".into(),
        runtime: "gil_guest".into(),
        guest: format!("crate::{api}::guest"),
        back_end: "gil_board::back_end".into(),
        board_support: format!("crate::{api}::board::support"),
        board: format!("crate::{api}::board"),
    }
}

fn compare_with_goldens(api: &str) {
    let file = tests().join(format!("specs/{api}.toml"));
    let text = std::fs::read_to_string(&file).expect("a test's description");
    let outputs =
        of_description(&tests(), &file, &text, &doubles(api)).expect("a good description");
    let folder = tests().join("goldens").join(api);
    for output in outputs {
        let golden = folder.join(&output.path);
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(&golden, &output.text).expect("a golden file");
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert!(
            output.text == expected,
            "{} differs; if that is right, run the test with UPDATE_GOLDENS=1",
            golden.display()
        );
    }
}

#[test]
fn egl_is_as_the_golden_files_have_it() {
    compare_with_goldens("egl");
}

#[test]
fn gles_is_as_the_golden_files_have_it() {
    compare_with_goldens("gles");
}

#[test]
fn cuda_is_as_the_golden_files_have_it() {
    compare_with_goldens("cuda");
}

/// A call that only the guest has needs no types on the wire, and no code on the board.
#[test]
fn what_is_never_forwarded_is_the_guests_alone() {
    let root = tests().join("../..");
    let outputs = r#gen::outputs(&root).expect("good descriptions");
    let of = |folder: &str, api: &str| {
        let named = |path: &Path| path.iter().any(|part| part == api);
        let files = outputs.iter().filter(|it| it.path.starts_with(folder));
        files.filter(|it| named(&it.path)).count()
    };
    assert_eq!(of("board-iface", "cudart"), 0);
    assert!(of("synthetic-lib", "cudart") > 0 && of("board-iface", "cuda") > 0);
    let wire = Path::new("wire-protocol/src/generated/cudart.rs");
    let wire = outputs.iter().find(|it| it.path == wire);
    let text = &wire.expect("its numbers").text;
    assert!(
        text.contains("CUDA_MALLOC") && !text.contains("serde"),
        "{text}"
    );
}

/// A description that is good.
const GOOD: &str = r#"
api = "x"
title = "X"
number = 200
header = "x.h"
errors = { type = "xres", success = "X_OK", missing = "X_BAD", bounds = "X_BAD", value = "X_BAD" }
[types]
xres = "i32"
[handles.xobj]
kind = "Obj"
invalid = "X_BAD"
[constants.xres]
X_OK = 0
X_BAD = -1
[queries.obj]
X_BAD = "size_t"
[call.xWrite]
number = 1
since = "1.0"
c = "xres xWrite(xobj obj, size_t size, const void *ptr)"
class = "sync"
params.ptr = "in bytes(size)"
"#;

fn error_of(text: &str) -> String {
    let file = Path::new("api/x.toml");
    match of_description(&tests(), file, text, &doubles("x")) {
        Ok(_) => panic!("this is no good description:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// What the generator says of `GOOD` with `from` replaced.
fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    error_of(&GOOD.replace(from, to))
}

#[test]
fn the_good_description_is_good() {
    let file = Path::new("api/x.toml");
    of_description(&tests(), file, GOOD, &doubles("x")).expect("good");
}

#[test]
fn every_error_names_the_file_the_call_and_the_parameter() {
    let unknown_type = with("size_t size", "xsize size");
    assert_eq!(
        unknown_type,
        "api/x.toml: xWrite, size: the type \"xsize\" is not described: add it to [types], [handles] or [structs]"
    );
    assert_eq!(
        with("params.ptr = \"in bytes(size)\"", ""),
        "api/x.toml: xWrite, ptr: the pointer \"ptr\" needs an annotation: say which way its bytes go and how many"
    );
    assert_eq!(
        with("in bytes(size)", "in bytes(size +)"),
        "api/x.toml: xWrite, ptr: the expression \"in bytes(size +)\" does not parse at \")\": a parameter, a constant, a number or \"(\""
    );
    assert_eq!(
        with("in bytes(size)", "in bytes(count)"),
        "api/x.toml: xWrite, ptr: \"count\" in an expression is neither a parameter, a constant nor a helper"
    );
    assert_eq!(
        with("in bytes(size)", "in bytes(f(size))"),
        "api/x.toml: xWrite, ptr: the helper \"f\" is not described: add it to [helpers]"
    );
    assert_eq!(
        with("params.ptr", "params.pointer"),
        "api/x.toml: xWrite: the prototype has no parameter \"pointer\""
    );
}

#[test]
fn numbers_are_never_reused() {
    let second = "[call.xOther]\nnumber = 1\nsince = \"1.0\"\nc = \"xres xOther(xobj obj)\"\nclass = \"sync\"\n";
    assert_eq!(
        error_of(&format!("{GOOD}{second}")),
        "api/x.toml: xWrite, number: the number 1 is also that of xOther: numbers are never reused"
    );
}

#[test]
fn words_outside_the_vocabulary_are_refused() {
    for (from, to, says) in [
        ("class = \"sync\"", "", "the call has no class"),
        (
            "class = \"sync\"",
            "class = \"later\"",
            "\"later\" is no class",
        ),
        (
            "class = \"sync\"",
            "class = \"enqueue\"",
            "an enqueue needs its queue",
        ),
        (
            "class = \"sync\"",
            "class = \"sync\"\nmode = \"magic\"",
            "\"magic\" is no mode",
        ),
        (
            "class = \"sync\"",
            "class = \"sync\"\nrust = \"code\"",
            "unknown field `rust`",
        ),
        (
            "in bytes(size)\"",
            "in bytes(size)\"\naround = true\nmode = \"unsupported\"\nfails = \"X_BAD\"",
            "around needs a call",
        ),
        ("in bytes(size)", "inward", "error, signals, waits"),
        (
            "in bytes(size)",
            "inout versioned(X_BAD)",
            "add version = \"CODE\" to errors",
        ),
        (
            "in bytes(size)",
            "inout versioned(X_NEW)",
            "the constant \"X_NEW\" is not described",
        ),
        (
            "in bytes(size)",
            "in cl_thing",
            "the type \"cl_thing\" is not described",
        ),
        ("const void *ptr)", "const void *ptr", "does not parse"),
        ("xWrite(", "xWritten(", "another name than the table"),
        (
            "X_BAD = \"size_t\"",
            "X_BAD = \"limit xres\"",
            "\"xres\" has no limits",
        ),
        (
            "X_BAD = \"size_t\"",
            "X_WORSE = \"size_t\"",
            "the constant \"X_WORSE\" is not described",
        ),
        (
            "X_BAD = \"size_t\"",
            "X_BAD = \"xthing\"",
            "the type \"xthing\" is not described",
        ),
        (
            "invalid = \"X_BAD\"",
            "invalid = \"X_NONE\"",
            "the constant \"X_NONE\" is not described",
        ),
    ] {
        let error = with(from, to);
        assert!(error.contains(says), "{error}\ndoes not say: {says}");
        assert!(error.starts_with("api/x.toml: "), "{error}");
    }
}

#[test]
fn hand_written_calls_of_a_subject_have_a_trait() {
    let subject = "[by_hand]\nWrites = [\"xWrite\"]\n[types]";
    let of = |text: &str| {
        let file = Path::new("api/x.toml");
        of_description(&tests(), file, text, &doubles("x")).map_err(|error| error.to_string())
    };
    let text = GOOD.replace("[types]", subject);
    assert_eq!(
        of(&text).unwrap_err(),
        "api/x.toml: [by_hand] Writes: there is no other hand-written call of the guest \"xWrite\""
    );
    let by_hand = text.replace(
        "class = \"sync\"",
        "class = \"sync\"\nmode = \"manual-stub\"",
    );
    let outputs = of(&by_hand).expect("good");
    let manual = outputs
        .iter()
        .find(|it| it.text.contains("pub trait Writes {"));
    let (_, rest) = manual
        .unwrap()
        .text
        .split_once("pub trait Writes {")
        .unwrap();
    let (writes, rest) = rest.split_once("pub trait Manual {").unwrap();
    assert!(writes.contains("fn xWrite(") && !rest.contains("fn xWrite("));
}

#[test]
fn a_post_with_output_is_a_contradiction() {
    let text = GOOD
        .replace("const void *ptr", "size_t *ptr")
        .replace("in bytes(size)", "out")
        .replace("\"sync\"", "\"post\"");
    assert!(
        error_of(&text).contains("a post has no answer"),
        "{}",
        error_of(&text)
    );
}

#[test]
fn a_structure_with_addresses_is_not_forwarded() {
    let text = GOOD
        .replace(
            "[constants",
            "[structs]\njob = [\"void *where\", \"int how\"]\n[constants",
        )
        .replace("const void *ptr", "const job *ptr")
        .replace("in bytes(size)", "in job");
    let error = error_of(&text);
    assert!(
        error.contains("the structure \"job\" has addresses"),
        "{error}"
    );
}

/// A kernel driver's table.
const DRIVER: &str = r#"
driver = "sample"
api = 100
description = "a sample"
version = [1, 0, 0]
header = "sample.h"
functions = "sample_{}"
addresses = "none"
[structs]
job = ["u32 handle: buffer"]
[ioctls]
DO = { number = 1, access = "w", argument = "job", does = "start" }
"#;

/// A tree with one API and one driver.
fn describe(root: &Path) {
    let tables = "address-tables/drivers/tables";
    for folder in ["api", "tests/coverage", tables] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::fs::write(root.join("api/x.toml"), GOOD).unwrap();
    std::fs::write(root.join(tables).join("sample.toml"), DRIVER).unwrap();
}

#[test]
fn a_driver_is_an_api_with_its_calls() {
    let root = tempfile::tempdir().unwrap();
    describe(root.path());
    r#gen::write(root.path()).unwrap();
    let read = |path: &str| std::fs::read_to_string(root.path().join(path)).unwrap();
    let driver = read("wire-protocol/src/generated/sample.rs");
    assert!(driver.contains("pub const SAMPLE_DO: Op = Op::new(API, 17);"));
    assert!(driver.contains("name: \"gilDriverOpen\""));
    let index = read("wire-protocol/src/generated/mod.rs");
    let listed = index.split_once("title: \"sample driver\",\n        back_end: \"drivers\"");
    let (before, after) = listed.expect("the driver");
    assert!(before.contains("number: 100,") && after.contains("number: 200,"));

    let table = root
        .path()
        .join("address-tables/drivers/tables/sample.toml");
    std::fs::write(&table, DRIVER.replace("\"job\"", "\"jab\"")).unwrap();
    let error = r#gen::check(root.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("sample.toml: DO names jab, which the table has not"),
        "{error}"
    );
}

#[test]
fn a_file_that_differs_is_named() {
    let root = tempfile::tempdir().unwrap();
    describe(root.path());
    assert!(matches!(
        r#gen::check(root.path()),
        Err(GenError::Differ(_))
    ));
    let written = r#gen::write(root.path()).unwrap();
    r#gen::check(root.path()).unwrap();
    assert!(
        r#gen::write(root.path()).unwrap().is_empty(),
        "a second time"
    );

    let stubs = Path::new("synthetic-lib/x/src/generated/stubs.rs");
    let driver = Path::new("wire-protocol/src/generated/sample.rs");
    assert!(written.iter().any(|path| path == stubs));
    assert!(written.iter().any(|path| path == driver));
    std::fs::write(root.path().join(stubs), "// by hand").unwrap();
    let error = r#gen::check(root.path()).unwrap_err().to_string();
    assert!(
        error.ends_with(": synthetic-lib/x/src/generated/stubs.rs"),
        "{error}"
    );
}
