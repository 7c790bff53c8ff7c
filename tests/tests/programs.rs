//! Unmodified programs in the guest give what they give natively.

use gil_tests::{
    Link, Run, Width, both_widths, guest_program, guest_program_of, native_program, root,
};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

fn matmul(products: &str) -> Vec<String> {
    let program = guest_program("examples/matmul/matmul.c", Link::OpenCl);
    vec![program.display().to_string(), products.into(), "64".into()]
}

fn native_stdout(source: &str, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(native_program(source, folder.path()))
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

both_widths! {
    fn matmul_prints_what_it_prints_natively(width: Width) {
        let program = guest_program_of(width, "examples/matmul/matmul.c", Link::OpenCl);
        let program = program.display().to_string();
        let run = Run::new([&program, "3", "64"]).finish().ok();
        let native = native_stdout("examples/matmul/matmul.c", &["3", "64"]);
        assert_eq!(run.stdout, native, "{}", run.stderr);
    }

    fn clinfo_shows_the_boards_devices(width: Width) {
        let package = width.package("clinfo");
        let run = Run::new(["--pkg", &package, "--", "clinfo"]).finish().ok();
        let more = match width {
            Width::Arm64 => &[][..],
            Width::Armhf => &CLINFO_DIFFERS_32,
        };
        clinfo_shows_what_it_shows_natively(&run.stdout, more);
    }
}

/// Packages that depend on an OpenCL platform have the board's, and a guest
/// that is large enough, without an option for either.
#[test]
fn packages_that_need_a_platform_have_the_boards_alone() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("p.py");
    std::fs::write(&script, format!("{PYOPENCL}{COMPILED}")).unwrap();
    let file = format!("{}:/p.py", script.display());
    let package = ["--pkg", "python3-pyopencl", "--file", &file];
    let run = Run::new([&package[..], &["python3", "/p.py"]].concat());
    let run = run.finish().ok();
    let wanted = format!("1 platform, right\n{ALL_WERE_COMPILED}");
    assert_eq!(run.stdout, wanted, "{}", run.stderr);
    assert!(run.integer("/totals/calls") > 0, "{}", run.report);
}

both_widths! {
    /// In C++, with libraries of its own: one finds the next, where it was built.
    fn a_program_brings_its_own_libraries(width: Width) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("build/bin")).unwrap();
        std::fs::create_dir_all(at("build/lib/inner")).unwrap();
        let compile = |compiler: &str, name: &str, more: &[&str]| {
            let mut command = Command::new(root().join("scripts").join(compiler));
            command.args((width == Width::Armhf).then_some("--armhf"));
            command.arg("-o").arg(at("build").join(name)).args(more);
            assert!(command.current_dir(folder.path()).status().unwrap().success());
        };
        for (name, text) in CPLUSPLUS {
            std::fs::write(at(name), text).unwrap();
        }
        let shared = ["-shared", "-fPIC"];
        let inner = ["inner.cpp", "-Wl,-soname,libinner.so.1"];
        compile("guest-cc", "lib/inner/libinner.so.1", &[&shared[..], &inner].concat());
        let outer = ["outer.txt", "build/lib/inner/libinner.so.1", "-Wl,-rpath,$ORIGIN/inner"];
        let outer = [&["-x", "c++", outer[0], "-x", "none"], &outer[1..]].concat();
        let named = [&shared[..], &["-Wl,-soname,libouter.so"], &outer].concat();
        compile("guest-c++", "lib/libouter.so", &named);
        let program = ["main.cc", "build/lib/libouter.so", "-Wl,-rpath,$ORIGIN/../lib"];
        let program = [&program[..], &["-Wl,--allow-shlib-undefined"]].concat();
        compile("guest-cc", "bin/program", &program);

        let program = at("build/bin/program").display().to_string();
        let run = Run::new([&program, "a", "b"]).finish().ok();
        assert_eq!(run.stdout, "outer caught: inner threw a b\n", "{run:#?}");
    }
}

#[test]
fn a_compiler_that_is_missing_is_named_with_its_package() {
    let bash = std::env::var_os("PATH")
        .and_then(|folders| std::env::split_paths(&folders).find(|at| at.join("bash").is_file()))
        .unwrap();
    for (option, expected) in [
        (
            "-c",
            "there is no aarch64-linux-gnu-gcc: install the Debian package gcc-aarch64-linux-gnu",
        ),
        (
            "--armhf",
            "there is no arm-linux-gnueabihf-gcc: install the Debian package gcc-arm-linux-gnueabihf",
        ),
    ] {
        let mut command = Command::new(bash.join("bash"));
        command.arg(root().join("scripts/guest-cc")).arg(option);
        let output = command.env("PATH", "/nowhere").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text, format!("guest-cc: {expected}\n"));
    }
}

#[test]
fn a_script_that_is_not_in_the_guest_is_named_before_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.sh");
    std::fs::write(&script, "echo \"$0\"\n").unwrap();
    let script = script.display().to_string();
    let run = Run::new(["sh", &script]).finish();
    assert_eq!((run.code, &run.stdout[..]), (Some(125), ""), "{run:#?}");
    let expected =
        format!("sh in the guest will not find {script}, which is a file of this machine");
    assert!(run.stderr.contains(&expected), "{run:#?}");
    let copied = format!("--file={script}:{script}");
    let shared = format!("--share={0}:{0}", folder.path().display());
    for option in [copied, shared] {
        let run = Run::new([&option[..], "sh", &script]).finish().ok();
        assert_eq!(run.stdout, format!("{script}\n"));
    }
}

const CPLUSPLUS: [(&str, &str); 3] = [
    (
        "inner.cpp",
        "#include <stdexcept>\n#include <string>\n
         void inner(const std::string &text) { throw std::runtime_error(\"inner threw\" + text); }",
    ),
    (
        "outer.txt",
        "#include <exception>\n#include <string>\nvoid inner(const std::string &);\n
         std::string outer(const std::string &text) {
             try { inner(text); } catch (const std::exception &e) {
                 return std::string(\"outer caught: \") + e.what(); }
             return \"nothing\"; }",
    ),
    (
        "main.cc",
        "#include <iostream>\n#include <string>\nstd::string outer(const std::string &);\n
         int main(int argc, char **argv) {
             std::string all;
             for (int i = 1; i < argc; i++) all += std::string(\" \") + argv[i];
             std::cout << outer(all) << std::endl; }",
    ),
];

/// A local script brings the package of its interpreter.
#[test]
fn scripts_run_by_their_interpreters() {
    let folder = tempfile::tempdir().unwrap();
    for (line, body, printed) in [
        (
            "#!/usr/bin/env python3",
            "import sys; print(sys.argv[1] * 2)",
            "abab\n",
        ),
        (
            "#!/bin/bash",
            "a=($1 c); echo ${#a[@]} $BASH",
            "2 /bin/bash\n",
        ),
        ("#!/bin/sh", "echo $1", "ab\n"),
    ] {
        let script = folder.path().join("script");
        std::fs::write(&script, format!("{line}\n{body}\n")).unwrap();
        std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        let run = Run::new([script.to_str().unwrap(), "ab"]).finish().ok();
        assert_eq!(run.stdout, printed, "{line}: {run:#?}");
    }
}

/// As `docker run` has it: values of this machine, files of variables, a folder.
#[test]
fn the_environment_and_the_folder_are_the_users() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("variables");
    std::fs::write(&file, "# A\nA=1\nB=2 b\nC\n").unwrap();
    let file = file.display().to_string();
    let options = [
        "--env-file",
        &file,
        "-e",
        "A=3",
        "-e",
        "D",
        "-e",
        "E",
        "-w",
        "/usr/lib",
    ];
    let script = r#"echo "$A,$B,$C,$D,${E-unset},$PWD""#;
    let mut run = Run::new([&options[..], &["sh", "-c", script]].concat());
    run.command().env("C", "c c").env("D", "d").env_remove("E");
    assert_eq!(run.finish().ok().stdout, "3,2 b,c c,d,unset,/usr/lib\n");
}

const PYOPENCL: &str = r#"
import pyopencl as cl, numpy as np
platforms = cl.get_platforms()
context = cl.Context([platforms[-1].get_devices()[0]])
queue = cl.CommandQueue(context)
numbers = np.arange(65536, dtype=np.float32)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
buffer = cl.Buffer(context, flags, hostbuf=numbers)
source = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"
cl.Program(context, source).build().twice(queue, numbers.shape, None, buffer)
doubled = np.empty_like(numbers)
cl.enqueue_copy(queue, doubled, buffer)
verdict = "right" if (doubled == 2 * numbers).all() else "wrong"
print(len(platforms), "platform,", verdict)
"#;

/// Python compiles no module of a package in the guest: it was done as the set
/// was built, for 32-bit packages, too. (A module that Python itself compiles
/// names its source's time, not its hash.)
#[test]
fn python_finds_its_modules_compiled() {
    let package = ["--pkg", "python3-minimal:armhf", "--"];
    let run = Run::new([&package[..], &["python3", "-c", COMPILED]].concat());
    let run = run.finish().ok();
    assert_eq!(run.stdout, ALL_WERE_COMPILED, "{}", run.stderr);
}

const COMPILED: &str = r#"
import importlib, importlib.util, os, sys
def is_compiled(module):
    compiled = getattr(module, "__cached__", None)
    return compiled is None or open(compiled, "rb").read(8)[4:] == b"\3\0\0\0"
modules = list(sys.modules.values())
print("not compiled:", [module.__name__ for module in modules if not is_compiled(module)])
other = importlib.util.find_spec("optparse")
was_compiled = os.path.exists(other.cached)
with open(other.origin, "w") as source:
    source.write("is_replaced = True")
print("replaced:", was_compiled and importlib.import_module(other.name).is_replaced)
"#;

const ALL_WERE_COMPILED: &str = "not compiled: []\nreplaced: True\n";

/// Programs of both widths, each with its own libraries, in one guest.
#[test]
fn both_widths_run_in_one_guest() {
    let [wide, narrow] = [Width::Arm64, Width::Armhf].map(|width| {
        let program = guest_program_of(width, "tests/guest/cl_vadd.c", Link::OpenCl);
        program.display().to_string()
    });
    let [wide, narrow] = [format!("{wide}:/wide"), format!("{narrow}:/narrow")];
    let loaders = [Width::Arm64, Width::Armhf].map(|width| width.package("ocl-icd-libopencl1"));
    let packages = ["--pkg", &loaders[0], "--pkg", &loaders[1]];
    let files = ["--file", &wide, "--file", &narrow];
    let script = ["sh", "-c", "/wide && /narrow"];
    let run = Run::new([&packages[..], &files[..], &script[..]].concat());
    let run = run.finish().ok();
    let passed = run.stdout.lines().filter(|line| line.starts_with("ok "));
    assert_eq!(passed.count(), 4, "{run:#?}");
}

#[test]
fn matmul_runs_with_detection_by_symbol_and_no_marker() {
    let args = ["--detect".into(), "symbol".into()];
    let run = Run::new(args.into_iter().chain(matmul("3"))).finish().ok();
    let native = native_stdout("examples/matmul/matmul.c", &["3", "64"]);
    assert_eq!(run.stdout, native, "{}", run.stderr);
}

/// Lines in which the guest's clinfo differs from a native one, by their names;
/// docs/OPENCL.md says why.
const CLINFO_DIFFERS: [&str; 15] = [
    // The platform is gil's: its functions have this suffix, and extensions
    // that add functions are shown when these are there.
    "Platform Extensions",
    "cl_pocl_content_size",
    "Platform Extensions function suffix",
    "clGetDeviceIDs(NULL, CL_DEVICE_TYPE_ALL, ...)",
    "clCreateContext(NULL, ...) [default]",
    // Memory is shared at maps and unmaps, not at every access.
    "Fine-grained buffer sharing",
    "Atomics",
    // cl_khr_command_buffer is not offered.
    "Command buffer capabilities",
    "Required queue properties for command buffer",
    "Out-of-order execution",
    "Profiling",
    "cl_khr_command_buffer",
    "Device Extensions",
    // A device without memory of its own has what the agent's --max-memory
    // leaves to a session.
    "Global memory size",
    "Max memory allocation",
];

/// In a 32-bit program besides: what does not fit its pointers.
const CLINFO_DIFFERS_32: [&str; 1] = ["Coarse-grained buffer sharing"];

/// The lines of `text` that are not in `other`, as often as they are in it.
fn beyond<'a>(text: &'a str, other: &str) -> Vec<&'a str> {
    let mut left: Vec<&str> = other.lines().collect();
    let lines = text.lines();
    lines
        .filter(|line| match left.iter().position(|found| found == line) {
            Some(at) => {
                left.swap_remove(at);
                false
            }
            None => true,
        })
        .collect()
}

/// What a line of clinfo is about.
fn name_of(line: &str) -> &str {
    let line = line.trim();
    line.split("  ").next().unwrap_or(line)
}

/// Natively it prints `shown`, but for the listed lines and `more`.
fn clinfo_shows_what_it_shows_natively(shown: &str, more: &[&str]) {
    let native = Command::new("clinfo").output().unwrap();
    let native = String::from_utf8_lossy(&native.stdout).into_owned();
    let differing = [beyond(&native, shown), beyond(shown, &native)].concat();
    let odd: Vec<_> = differing
        .iter()
        .filter(|line| !CLINFO_DIFFERS.contains(&name_of(line)))
        .filter(|line| !more.contains(&name_of(line)))
        .collect();
    assert!(odd.is_empty(), "{odd:#?}");
    assert!(native.lines().count() > 100, "{native}");
}

#[test]
fn one_host_core_gives_the_same_results() {
    let both = Run::new(matmul("2")).finish().ok();
    let one = Run::under(&["taskset", "-c", "0"], matmul("2"))
        .finish()
        .ok();
    assert_eq!(both.stdout, one.stdout);
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let runs = [2, 4].map(|products: u32| {
        let args = matmul(&products.to_string());
        std::thread::spawn(move || (products, Run::new(args).finish().ok()))
    });
    for run in runs {
        let (products, run) = run.join().unwrap();
        assert!(
            run.stdout
                .starts_with(&format!("matmul: {products} products")),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn a_recording_answers_without_a_board() {
    let plain = recorded_and_replayed(&[]);
    let compressed = recorded_and_replayed(&["--compress"]);
    assert!(compressed < plain, "{compressed} and {plain} bytes");
}

/// How long the recording is.
fn recorded_and_replayed(options: &[&str]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("matmul.trace");
    let record = ["--record".into(), trace.display().to_string()];
    let options = options.iter().map(|&option| option.to_owned());
    let record = record.into_iter().chain(options);
    let recorded = Run::new(record.chain(matmul("2"))).finish().ok();
    let replay = ["--board".into(), format!("replay:{}", trace.display())];
    let replayed = Run::new(replay.into_iter().chain(matmul("2")))
        .finish()
        .ok();
    assert_eq!(recorded.stdout, replayed.stdout);
    assert_eq!(
        recorded.integer("/simulated/gpu_ns"),
        replayed.integer("/simulated/gpu_ns")
    );
    trace.metadata().unwrap().len()
}
