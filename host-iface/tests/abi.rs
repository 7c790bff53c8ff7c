//! The borders to C: `gil_host.h` from C and from C++, and `gil.h`.

mod support;

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
