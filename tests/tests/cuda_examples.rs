//! The CUDA examples as `scripts/guest-nvcc` builds them, over a driver that runs no kernels.
//! So each comes to its end and finds its result wrong; `docs/experiments/cuda-examples` runs
//! them on a GPU.

use gil_tests::coverage::{LIST_CALLS, called};
use gil_tests::cuda::board;
use gil_tests::{Run, root};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Every example, with arguments for little work.
const EXAMPLES: [(&str, &str); 12] = [
    ("black-scholes", "300"),
    ("convolution", "50 30"),
    ("face-detection", "120 96"),
    ("histogram", "5000"),
    ("matmul", "--pinned 6 50"),
    ("merge-sort", "5000"),
    ("n-body", "60 3"),
    ("reduction", "5000"),
    ("scan", "5000"),
    ("sobel", "64 48"),
    ("stereo", "40 30 8"),
    ("vector-add", "--time 5000"),
];

fn guest_nvcc(arguments: &[&OsStr]) -> Output {
    let mut nvcc = Command::new(root().join("scripts/guest-nvcc"));
    nvcc.env_remove("GIL_CUDA_INCLUDE").args(arguments);
    nvcc.output().unwrap()
}

/// Compiles an example into a folder.
fn compiled(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let source = root().join(format!("examples/cuda/{name}.cu"));
    compiled_from(&source, &folder.join(name), options)
}

/// Compiles a program.
fn compiled_from(source: &Path, out: &Path, options: &[&str]) -> PathBuf {
    let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-o"];
    let mut arguments: Vec<&OsStr> = flags.iter().chain(options).map(OsStr::new).collect();
    arguments.insert(flags.len(), out.as_os_str());
    arguments.push(source.as_os_str());
    let output = guest_nvcc(&arguments);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}: {output:?}",
        source.display()
    );
    out.to_owned()
}

/// What the shell in the guest does: each program, and its exit code.
fn script() -> String {
    let lines = EXAMPLES
        .map(|(name, arguments)| format!("/root/{name} {arguments}; echo {name} exits with $?\n"));
    lines.concat()
}

#[test]
fn every_example_is_in_the_list() {
    let folder = std::fs::read_dir(root().join("examples/cuda")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter_map(|name| Some(name.strip_suffix(".cu")?.to_owned()))
        .collect();
    names.sort();
    assert_eq!(names, EXAMPLES.map(|(name, _)| name));
}

/// All calls succeed, kernels get the parameters that their PTX has, and no example takes
/// for right what no kernel computed.
#[test]
fn examples_come_to_their_end() {
    let board = board(&[]);
    let folder = tempfile::tempdir().unwrap();
    let programs = EXAMPLES.map(|(name, _)| compiled(folder.path(), name, &[]));
    let files = programs.map(|path| format!("--file={}:/root/", path.display()));
    let [env, list] = LIST_CALLS;
    let script = script();
    let mut arguments = vec!["--board", board.address(), env, list];
    arguments.extend(files.iter().map(String::as_str));
    arguments.extend(["sh", "-c", &script]);
    let run = Run::new(arguments).finish();
    for (name, _) in EXAMPLES {
        let end = format!("The result is wrong.\n{name} exits with 1\n");
        assert!(run.stdout.contains(&end), "{name}: {run:#?}");
    }
    assert!(!run.stderr.contains(" failed: "), "{run:#?}");
    assert!(run.stderr.contains("time of 1: "), "{run:#?}");
    let called = called(&run.report);
    for name in [
        "__cudaRegisterFatBinary",
        "__cudaRegisterVar",
        "cudaLaunchKernel",
        "cudaMemcpyToSymbol",
        "cudaEventElapsedTime",
        "cudaHostAlloc",
        "cuLaunchKernel",
    ] {
        assert!(called.contains(name), "{name}: {called:?}");
    }
}

/// Natively the same PTX, and NVIDIA's runtime when it starts.
#[test]
fn a_native_program_has_the_same_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = |name: &str| folder.path().join(name).display().to_string();
    let (guests, natives) = (ptx("guest.ptx"), ptx("native.ptx"));
    compiled(folder.path(), "black-scholes", &["--ptx", &guests]);
    let native = compiled(
        folder.path(),
        "black-scholes",
        &["--native", "--ptx", &natives],
    );
    let read = |path| std::fs::read_to_string(path).unwrap();
    let text = read(&guests);
    assert_eq!(text, read(&natives));
    // Products and sums are rounded apart, as the source wants it.
    assert!(
        text.contains("mul.rn.f64") && !text.contains("fma."),
        "{text}"
    );
    let program = std::fs::read(&native).unwrap();
    let has = |wanted: &[u8]| program.windows(wanted.len()).any(|at| at == wanted);
    assert!(has(text.as_bytes()) && has(b"libcudart.so.13\0"));
}

/// `printf` and `assert` in a kernel are the driver's functions.
#[test]
fn kernels_print_and_assert() {
    let board = board(&[]);
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("says.ptx");
    let source = root().join("tests/guest/cuda_says.cu");
    let program = folder.path().join("says");
    compiled_from(&source, &program, &["--ptx", ptx.to_str().unwrap()]);
    let text = std::fs::read_to_string(ptx).unwrap();
    assert!(
        text.contains("vprintf, ") && text.contains("__assertfail, "),
        "{text}"
    );
    let arguments = ["--board", board.address(), program.to_str().unwrap()];
    let run = Run::new(arguments).finish().ok();
    assert_eq!(
        run.stdout,
        "kernel 1\nbehind it: 0\nkernel 2\nbehind it: 0\n"
    );
}

#[test]
fn what_is_missing_is_said_in_a_sentence() {
    for (arguments, sentence) in [
        (
            &["-o", "out"][..],
            "there is no FILE.cu: --help says how it is used",
        ),
        (
            &["--headers", "/nowhere", "a.cu"],
            "/nowhere has no cuda_runtime_api.h: it comes with the pip packages nvidia-cuda-runtime and nvidia-cuda-crt",
        ),
        (
            &["--arch", "90", "a.cu"],
            "90 is no architecture: it is sm_ and a number",
        ),
    ] {
        let arguments: Vec<_> = arguments.iter().map(OsStr::new).collect();
        let output = guest_nvcc(&arguments);
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text, format!("guest-nvcc: {sentence}\n"));
    }
    let help = guest_nvcc(&[OsStr::new("--help")]);
    assert!(help.status.success() && help.stdout.starts_with(b"Usage: guest-nvcc"));
}
