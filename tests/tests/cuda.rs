//! CUDA's driver API in a guest, over a driver that runs no kernels.

use gil_tests::coverage::{LIST_CALLS, called, covers};
use gil_tests::cuda::{agent, board, driver};
use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, guest_program};

fn run(board: &str, options: &[&str], source: &str) -> Finished {
    let program = guest_program(source, Link::Cuda).display().to_string();
    let args = [&["--board", board], options, &[&*program]].concat();
    Run::new(args).finish()
}

const RULES: &str = "tests/guest/cuda_rules.c";

/// Every check of a program passes, live and from its recording.
fn passes(source: &str, coverage: &str, calls: &[&str]) {
    passes_on(&board(&[]), source, coverage, calls);
}

fn passes_on(board: &Scripted, source: &str, coverage: &str, calls: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("recording").display().to_string();
    let [env, list] = LIST_CALLS;
    let live = run(board.address(), &[env, list, "--record", &record], source);
    let failed: Vec<_> = live
        .stdout
        .lines()
        .filter(|line| !line.starts_with("ok "))
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
fn calls_do_what_the_api_promises() {
    let calls = ["cuLaunchKernel", "cuMemcpyDtoHAsync_v2", "cuEventRecord"];
    passes(RULES, "cuda_rules", &calls);
}

#[test]
fn memory_does_what_the_api_promises() {
    let calls = ["cuMemcpy3DAsync_v2", "cuMemAllocAsync"];
    passes("tests/guest/cuda_memory.c", "cuda_memory", &calls);
}

/// Arrays, their levels, textures and surfaces, in graphs and contexts.
#[test]
fn arrays_are_copied_and_seen() {
    let calls = [
        "cuArray3DCreate_v2",
        "cuMemcpyHtoA_v2",
        "cuTexObjectCreate",
        "cuSurfObjectCreate",
    ];
    passes("tests/guest/cuda_arrays.c", "cuda_arrays", &calls);
}

/// Managed and mapped memory: a kernel's results are there at its simulated end.
#[test]
fn memory_is_shared_with_kernels() {
    let calls = ["cuMemAllocManaged", "cuMemHostGetDevicePointer_v2"];
    passes("tests/guest/cuda_shared.c", "cuda_shared", &calls);
}

/// What a program calls when a thread or the process ends is done.
#[test]
fn calls_go_on_until_the_end() {
    let board = board(&[]);
    let run = run(board.address(), &[], "tests/guest/cuda_ends.c").ok();
    let thread = "a key of the thread: 0 current 0 0";
    let wanted = [
        thread,
        thread,
        "the process: 0 current 0 0",
        "the very last: 0",
    ];
    assert_eq!(run.stdout.lines().collect::<Vec<_>>(), wanted, "{run:#?}");
}

/// Copies of a few bytes of managed memory do not move all of it.
#[test]
fn of_shared_memory_the_part_that_is_copied_moves() {
    let board = board(&[]);
    let run = run(board.address(), &[], "tests/guest/cuda_shared_parts.c");
    assert!(run.stdout.ends_with("\n0 failures\n"), "{run:#?}");
    let run = run.ok();
    // 420 copies of 200 bytes, which lie in one page or two; all of the memory are 8 MiB.
    for bytes in ["/totals/bytes_to_board", "/totals/bytes_from_board"] {
        assert!(run.integer(bytes) < 8 << 20, "{bytes}: {run:#?}");
    }
}

/// Earlier forms of functions, and launches in several steps.
#[test]
fn earlier_forms_do_what_later_ones_do() {
    let calls = ["cuLaunchGridAsync", "cuParamSetv", "cuMemcpy3DPeer"];
    passes("tests/guest/cuda_older.c", "cuda_older", &calls);
}

/// Memory that one thread frees while another's kernel is launched. Threads' calls come in another
/// order each time, so that there is no replay.
#[test]
fn shared_memory_comes_and_goes_in_threads() {
    let board = board(&[]);
    let run = run(board.address(), &[], "tests/guest/cuda_shared_threads.c");
    assert!(run.stdout.ends_with("\n0 failures\n"), "{run:#?}");
    run.ok();
}

/// Addresses that are reserved, and memory that is mapped there.
#[test]
fn memory_is_mapped_by_hand() {
    let calls = ["cuMemAddressReserve", "cuMemCreate", "cuMemMap"];
    passes("tests/guest/cuda_virtual.c", "cuda_virtual", &calls);
}

/// Kernels of parts of a device run at the same time.
#[test]
fn green_contexts_are_parts_of_a_device() {
    let calls = ["cuGreenCtxCreate", "cuGreenCtxStreamCreate"];
    let mut agent = agent();
    agent.env("GIL_CUDA_NULL_PROCESSORS", "32");
    let board = Scripted::other(agent, &["--scripted-times", "cpu=0,device=10000000"]);
    passes_on(&board, "tests/guest/cuda_green.c", "cuda_green", &calls);
}

/// Maps by which a kernel copies boxes of a tensor are the driver's, whatever a program asks.
#[test]
fn tensor_maps_are_encoded_by_the_driver() {
    let calls = [
        "cuTensorMapEncodeTiled",
        "cuTensorMapEncodeIm2col",
        "cuTensorMapEncodeIm2colWide",
        "cuTensorMapReplaceAddress",
    ];
    passes("tests/guest/cuda_tensor_maps.c", "cuda_tensor_maps", &calls);
}

/// Launches with attributes, functions of the program's on streams, default streams of threads.
#[test]
fn launches_come_in_their_order() {
    let calls = [
        "cuLaunchKernelEx",
        "cuLaunchHostFunc",
        "cuLaunchKernel_ptsz",
    ];
    passes("tests/guest/cuda_launches.c", "cuda_launches", &calls);
}

/// The functions without names that NVIDIA's own libraries ask for.
#[test]
fn tables_have_what_the_documentation_lists() {
    let calls = ["cuGetExportTable", "cuDevicePrimaryCtxRetain"];
    passes("tests/guest/cuda_tables.c", "cuda_tables", &calls);
}

/// Libraries, with and without a current context; kernels in the place of functions.
#[test]
fn libraries_belong_to_no_context() {
    let calls = ["cuLibraryGetKernel", "cuKernelGetFunction"];
    passes("tests/guest/cuda_libraries.c", "cuda_libraries", &calls);
}

/// The linker, what it tells, and states that go with their context.
#[test]
fn texts_are_linked() {
    let calls = ["cuLinkAddData_v2", "cuLinkAddFile_v2", "cuLinkComplete"];
    passes("tests/guest/cuda_links.c", "cuda_links", &calls);
}

/// Graphs, made node by node and from streams, and what is refused while a stream is captured.
#[test]
fn graphs_do_what_their_nodes_say() {
    let calls = [
        "cuGraphLaunch",
        "cuGraphInstantiateWithFlags",
        "cuStreamBeginCapture_v2",
    ];
    passes("tests/guest/cuda_graphs.c", "cuda_graphs", &calls);
}

/// What kernels print is on the program's standard output when the program has waited for them, at the
/// latest.
#[test]
fn kernels_print_in_order_with_the_program() {
    let board = board(&[]);
    let run = run(board.address(), &[], "tests/guest/cuda_prints.c").ok();
    let lines: Vec<&str> = run.stdout.lines().collect();
    let wanted = [
        "kernel 1",
        "behind the first",
        "kernel 2",
        "kernel 3",
        "behind two more",
        "kernel 4",
        "behind a copy",
        "kernel 5",
        "behind the context's end",
    ];
    assert_eq!(lines, wanted, "{}", run.stderr);
}

/// The report has the calls, with the GPU's time.
#[test]
fn the_report_shows_kernels_and_copies() {
    let board = board(&[]);
    let run = run(board.address(), &[], RULES).ok();
    // Seven kernels of 6.255 ms are among what the program launches.
    assert!(run.integer("/simulated/gpu_ns") > 40_000_000, "{run:#?}");
    let report = run.report.to_string();
    for name in ["cuLaunchKernel", "cuMemcpyHtoD_v2"] {
        assert!(report.contains(name), "{report}");
    }
}

/// A board without the driver serves other APIs, and says so of this one.
#[test]
fn a_board_without_the_driver_has_no_device() {
    let mut agent = gil_tests::cuda::agent();
    agent.env("GIL_CUDA_DRIVER", "/nonexistent/libcuda.so.1");
    let board = Scripted::other(agent, &[]);
    let run = run(board.address(), &[], "tests/guest/cuda_absent.c").ok();
    assert_eq!(run.stdout, "ok cuInit(0)\n0 failures\n", "{run:#?}");
    assert!(run.stderr.contains("CUDA"), "{run:#?}");
    assert!(driver().exists());
}
