//! CUDA's runtime in a guest, over a driver that runs no kernels.

use gil_tests::coverage::{LIST_CALLS, called, covers};
use gil_tests::cuda::board;
use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, Width, guest_program, root};
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "tests/guest/cuda_runtime.c";

fn run(board: &str, options: &[&str], source: &str) -> Finished {
    let program = guest_program(source, Link::CudaRuntime);
    let program = program.display().to_string();
    let args = [&["--board", board], options, &[&*program]].concat();
    Run::new(args).finish()
}

/// Every check of a program passes, live and from its recording.
fn passes(source: &str, coverage: &str, calls: &[&str]) {
    let board = board(&[]);
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("recording").display().to_string();
    let [env, list] = LIST_CALLS;
    let options = [env, list, "--record", &record];
    let live = run(board.address(), &options, source);
    let failed: Vec<_> = live
        .stdout
        .lines()
        .filter(|line| line.starts_with("not ok") || line.ends_with(" failures"))
        .collect();
    assert_eq!(failed, ["0 failures"], "{}", live.stderr);
    let live = live.ok();
    let called = called(&live.report);
    for name in calls {
        assert!(called.contains(*name), "{called:?}");
    }
    covers(coverage, &called);
    let replayed = run(&format!("replay:{record}"), &[], source).ok();
    assert_eq!(replayed.stdout, live.stdout, "{}", replayed.stderr);
}

#[test]
fn calls_do_what_the_runtime_promises() {
    let calls = ["cudaLaunchKernel", "__cudaLaunchKernel", "cuLaunchKernel"];
    passes(PROGRAM, "cuda_runtime", &calls);
}

/// A copy of rows is one call.
#[test]
fn memory_does_what_the_runtime_promises() {
    let calls = ["cuMemcpy2DAsync_v2"];
    passes(
        "tests/guest/cuda_runtime_memory.c",
        "cuda_runtime_memory",
        &calls,
    );
}

/// Arrays, their levels, textures and surfaces, by calls of the driver API.
#[test]
fn arrays_are_those_of_the_driver() {
    let calls = ["cuMemcpy2DAsync_v2", "cuTexObjectCreate"];
    passes(
        "tests/guest/cuda_runtime_arrays.c",
        "cuda_runtime_arrays",
        &calls,
    );
}

/// Managed and mapped memory, which are the driver's.
#[test]
fn memory_is_shared_with_kernels() {
    let calls = ["cudaMallocManaged", "cudaHostGetDevicePointer"];
    passes(
        "tests/guest/cuda_runtime_shared.c",
        "cuda_runtime_shared",
        &calls,
    );
}

/// Launches with attributes, functions of the program's on streams, default streams of threads.
#[test]
fn launches_come_in_their_order() {
    let calls = [
        "cudaLaunchKernelExC",
        "cudaLaunchHostFunc",
        "cudaMemcpy_ptds",
    ];
    passes(
        "tests/guest/cuda_runtime_launches.c",
        "cuda_runtime_launches",
        &calls,
    );
}

/// Graphs, made node by node and from streams.
#[test]
fn graphs_do_what_their_nodes_say() {
    let calls = ["cudaGraphLaunch", "cudaStreamBeginCapture"];
    passes(
        "tests/guest/cuda_runtime_graphs.c",
        "cuda_runtime_graphs",
        &calls,
    );
}

/// Environment: the folder of NVIDIA's own runtime for arm64, `lib` of its wheel for Python.
const NVIDIA: &str = "GIL_NVIDIA_CUDART";

/// NVIDIA's `libcudart.so.13` and `libcudart_static.a`, if there are any.
fn nvidia() -> Option<PathBuf> {
    let folder = std::env::var_os(NVIDIA).filter(|folder| !folder.is_empty());
    if folder.is_none() {
        gil_need::skip(
            "NVIDIA's own runtime",
            format_args!("{NVIDIA} names no folder"),
        );
    }
    folder.map(PathBuf::from)
}

/// Every check of a program passes that is linked with this library of NVIDIA's.
fn passes_over(source: &str, library: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let output = Command::new(root().join("scripts/guest-cc"))
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(root().join(source))
        .arg(library)
        .args(["-lcuda", "-ldl", "-lpthread", "-lrt"])
        .output()
        .expect("guest-cc");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let board = board(&[]);
    let file = format!("{}:/opt/nvidia/", library.display());
    let program = program.display().to_string();
    let options = ["--file", &file, "--env", "LD_LIBRARY_PATH=/opt/nvidia"];
    let args = [&["--board", board.address()], &options[..], &[&*program]].concat();
    let run = Run::new(args).finish();
    let failed: Vec<_> = run
        .stdout
        .lines()
        .filter(|line| !line.starts_with("ok "))
        .collect();
    assert_eq!(failed, ["0 failures"], "{}", run.stderr);
    run.ok();
}

/// Programs without and with kernels.
const OVER_NVIDIAS: [&str; 2] = [
    "tests/guest/cuda_nvidia.c",
    "tests/guest/cuda_nvidia_kernels.c",
];

/// NVIDIA's own runtime, as it is, over gil's library of the driver API.
#[test]
fn nvidias_own_shared_runtime_works() {
    let Some(folder) = nvidia() else { return };
    let library = folder.join("libcudart.so.13");
    OVER_NVIDIAS
        .iter()
        .for_each(|source| passes_over(source, &library));
}

/// The same, inside the program.
#[test]
fn nvidias_own_static_runtime_works() {
    let Some(folder) = nvidia() else { return };
    let library = folder.join("libcudart_static.a");
    OVER_NVIDIAS
        .iter()
        .for_each(|source| passes_over(source, &library));
}

/// Libraries, kernels by their handles, functions of the driver API by name.
#[test]
fn libraries_belong_to_no_context() {
    let calls = ["cudaLibraryGetKernel", "cudaGetKernel"];
    passes(
        "tests/guest/cuda_runtime_libraries.c",
        "cuda_runtime_libraries",
        &calls,
    );
}

/// Without the board's driver there is no device, which is an error and no crash.
#[test]
fn a_board_without_the_driver_has_no_device() {
    let mut agent = gil_tests::cuda::agent();
    agent.env("GIL_CUDA_DRIVER", "/nonexistent/libcuda.so.1");
    let board = Scripted::other(agent, &[]);
    let run = run(board.address(), &[], "tests/guest/cuda_runtime_absent.c").ok();
    assert!(run.stdout.ends_with("\n0 failures\n"), "{run:#?}");
}

/// Programs ask for the runtime's names by the version that NVIDIA's library gives them.
#[test]
fn the_librarys_names_have_its_version() {
    let library = Width::Arm64.library(gil_guest_names::CUDART.file);
    let names = Command::new("nm")
        .args(["--dynamic", "--defined-only"])
        .arg(&library)
        .output()
        .expect("nm");
    let names = String::from_utf8(names.stdout).unwrap();
    let of_version = |name: &str| names.contains(&format!(" T {name}@@libcudart.so.13\n"));
    assert!(
        of_version("cudaMalloc") && of_version("__cudaRegisterFatBinary"),
        "{names}"
    );
    let program = guest_program(PROGRAM, Link::CudaRuntime);
    let needed = Command::new("objdump").arg("-p").arg(&program).output();
    let needed = String::from_utf8(needed.expect("objdump").stdout).unwrap();
    assert!(
        needed.contains("NEEDED               libcudart.so.13"),
        "{needed}"
    );
}

/// Environment: the folder of NVIDIA's cuBLAS for arm64, `lib` of its wheel for Python.
const CUBLAS: &str = "GIL_NVIDIA_CUBLAS";

/// NVIDIA's cuBLAS, as it is: it is loaded, makes its handle and moves matrices.
#[test]
fn nvidias_cublas_is_loaded() {
    let folder = std::env::var_os(CUBLAS).filter(|folder| !folder.is_empty());
    let Some(folder) = folder.map(PathBuf::from) else {
        let why = format_args!("{CUBLAS} names no folder");
        return gil_need::skip("NVIDIA's cuBLAS", why);
    };
    let board = board(&[]);
    let program = guest_program("tests/guest/cublas.c", Link::Cuda);
    let program = program.display().to_string();
    let files = ["libcublas.so.13", "libcublasLt.so.13"];
    let files = files.map(|name| format!("{}:/opt/nvidia/", folder.join(name).display()));
    let mut args = vec!["--board", board.address(), "--memory", "3G"];
    files.iter().for_each(|file| args.extend(["--file", file]));
    args.extend(["--env", "LD_LIBRARY_PATH=/opt/nvidia", &*program]);
    let run = Run::new(args).finish();
    let failed: Vec<_> = run
        .stdout
        .lines()
        .filter(|line| !line.starts_with("ok "))
        .collect();
    assert_eq!(failed, ["0 failures"], "{}", run.stderr);
    run.ok();
}
