//! `gil run --watch`: functions of the kernel, of a module, of a program and of
//! a library, in a real guest.

use gil_guest_names::{PREFIX, SHARED};
use gil_tests::{Finished, Link, Run, Width, binary, both_widths, guest_program, guest_program_of};
use std::collections::BTreeMap;
use std::process::Command;

/// The lines about a watch, without what all begin with.
fn lines(run: &Finished) -> Vec<String> {
    let lines = run.stderr.lines();
    lines
        .filter_map(|line| line.strip_prefix("gil: watch: "))
        .map(Into::into)
        .collect()
}

/// A line's instructions, and what stands behind the process's number.
fn parts(line: &str) -> (u64, &str) {
    let (count, rest) = line.split_once(" instructions, pid ").expect(line);
    let (_, call) = rest.split_once(": ").expect(line);
    (count.parse().expect(line), call)
}

/// Calls in the order of their lines, whose times rise.
fn calls(run: &Finished) -> Vec<String> {
    let lines = lines(run);
    let parts: Vec<_> = lines.iter().map(|line| parts(line)).collect();
    assert!(parts.is_sorted_by_key(|(count, _)| *count), "{lines:#?}");
    parts.into_iter().map(|(_, call)| call.into()).collect()
}

both_widths! {
    /// A static program, at its own addresses.
    fn a_programs_function_is_seen_with_its_arguments(width: Width) {
        let program = guest_program_of(width, "tests/guest/watched.c", Link::Static);
        let name = program.file_name().unwrap().to_str().unwrap();
        let spec = format!("{name}:watched_function");
        let run = Run::new(["--watch", &spec, "--", program.to_str().unwrap()]).finish().ok();
        let calls = calls(&run);
        assert_eq!(calls.len(), 3, "{run:#?}");
        let printed = run.stdout.lines().enumerate();
        for ((i, line), call) in printed.zip(calls) {
            let words: Vec<_> = line.split(' ').collect();
            assert_eq!(words[..2], ["called", &format!("{}", i as i64 - 1)]);
            let expected = match width {
                Width::Arm64 => {
                    let first = (i as i32 - 1) as u32;
                    let (text, more) = (words[2], words[3]);
                    format!("{spec}(x0={first:#x}, x1={text}, x2=0x{more}, x3=0x4)")
                }
                // This QEMU does not show plugins the registers of 32-bit code.
                Width::Armhf => format!("{spec}(r0=?, r1=?, r2=?, r3=?)"),
            };
            assert_eq!(call, expected);
        }
    }
}

#[test]
fn a_kernels_function_is_seen_with_its_prototype() {
    let program = guest_program("tests/guest/watched.c", Link::Static);
    let program = program.to_str().unwrap();
    let run = Run::new([
        "--watch",
        "do_sys_openat2",
        "--watch-limit",
        "100000",
        program,
    ]);
    let run = run.finish().ok();
    let calls = calls(&run);
    assert!(calls.len() > 3, "{run:#?}");
    let is_call = |call: &String| call.starts_with("do_sys_openat2(dfd=-100, filename=0x");
    assert!(calls.iter().all(is_call), "{run:#?}");
    // The text is the process's, at an address of its own.
    assert!(
        calls.iter().any(|call| call.contains("how=0xffff")),
        "{run:#?}"
    );
    assert_eq!(run.stdout.lines().count(), 3, "{run:#?}");
}

#[test]
fn a_modules_function_is_found_as_the_kernel_loads_it() {
    let program = guest_program("tests/guest/watched.c", Link::Static);
    let program = program.to_str().unwrap();
    let watch = ["--watch", "gil:gil_doorbell", "--watch-limit", "2"];
    let run = Run::new(watch.into_iter().chain(["--", program]))
        .finish()
        .ok();
    let lines = lines(&run);
    assert_eq!(lines.len(), 3, "{run:#?}");
    for line in &lines[..2] {
        // The mailbox, in guest RAM.
        let (_, call) = parts(line);
        let gpa = call.strip_prefix("gil:gil_doorbell(x0=0x").expect(line);
        let gpa = u64::from_str_radix(gpa.split(',').next().unwrap(), 16).unwrap();
        assert!((0x4000_0000..0x8000_0000).contains(&gpa), "{line}");
    }
    let (start, end) = ("gil:gil_doorbell was called ", "are not shown");
    assert!(
        lines[2].starts_with(start) && lines[2].ends_with(end),
        "{run:#?}"
    );
}

both_widths! {
    /// clinfo asks for platforms, through Debian's loader.
    fn a_librarys_function_is_seen_in_a_process(width: Width) {
        let package = width.package("clinfo");
        let watch = ["--watch", "libOpenCL.so.1:clGetPlatformIDs"];
        let args = watch.into_iter().chain(["--pkg", &package, "--", "clinfo", "--list"]);
        let run = Run::new(args).finish().ok();
        let calls = calls(&run);
        assert!(!calls.is_empty(), "{run:#?}");
        let expected = match width {
            // First for their number: no entries, no array.
            Width::Arm64 => "libOpenCL.so.1:clGetPlatformIDs(x0=0x0, x1=0x0, x2=0x",
            Width::Armhf => "libOpenCL.so.1:clGetPlatformIDs(r0=?, r1=?",
        };
        assert!(calls[0].starts_with(expected), "{run:#?}");
    }
}

both_widths! {
    /// The function of a thin library is a jump, which is seen as any other.
    fn gils_own_libraries_functions_are_seen(width: Width) {
        let program = guest_program_of(width, "tests/guest/cl_vadd.c", Link::OpenCl);
        let spec = "libOpenCL.so.1:clGetPlatformIDs";
        let shared = format!("{SHARED}:{PREFIX}clGetPlatformIDs");
        let copied = width.in_place_of_the_loader();
        let run = Run::new([
            "--file", &copied, "--env", "LD_LIBRARY_PATH=/direct",
            "--watch", spec, "--watch", &shared, "--", program.to_str().unwrap(),
        ]);
        let calls = calls(&run.finish().ok());
        let of = |spec: &str| {
            let start = format!("{spec}(");
            let arguments = calls.iter().filter_map(|call| call.strip_prefix(&start));
            arguments.collect::<Vec<_>>()
        };
        assert!(!of(spec).is_empty(), "{calls:#?}");
        assert_eq!(of(spec), of(&shared), "{calls:#?}");
    }
}

#[test]
fn what_is_never_called_is_told_and_what_is_not_there_is_no_start() {
    let program = guest_program("tests/guest/watched.c", Link::Static);
    let program = program.to_str().unwrap();
    let run = Run::new([
        "--watch",
        "kernel_restart",
        "--watch",
        "libc.so.6:qsort",
        program,
    ]);
    let run = run.finish().ok();
    let expected = [
        "kernel_restart was not called",
        "libc.so.6:qsort was not called: no process executed it",
    ];
    let found = lines(&run);
    assert!(
        expected
            .iter()
            .all(|line| found.iter().any(|it| it == line)),
        "{run:#?}"
    );
    let refused = |spec: &str, reason: &str| {
        let run = Run::new(["--watch", spec, program]).finish();
        assert_eq!(run.code, Some(125), "{run:#?}");
        assert!(run.stderr.contains(reason), "{run:#?}");
        assert_eq!(run.stderr.lines().count(), 1, "{run:#?}");
    };
    refused("do_sys_openat3", "did you mean do_sys_openat2");
    refused("nothing:main", "no program, library or kernel module");
    let said = "--watch libc.so.6:no_such: the ELF file has no function no_such";
    refused("libc.so.6:no_such", said);
}

/// The whole list of functions, against the kernel's own.
#[test]
fn the_image_holds_what_the_running_kernel_says() {
    let output = Command::new(binary("gil"))
        .args(["kernel", "--symbols"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:#?}");
    let ours = String::from_utf8(output.stdout).unwrap();
    let run = Run::new(["cat", "/proc/kallsyms"]).finish().ok();
    let in_kernel = |line: &&str| !line.contains('\t');
    let count = |text: &str| {
        let mut found = BTreeMap::<String, u32>::new();
        for line in text.lines().filter(in_kernel) {
            *found.entry(line.to_owned()).or_default() += 1;
        }
        found
    };
    let (ours, its) = (count(&ours), count(&run.stdout));
    assert!(its.len() > 40_000);
    let differs: Vec<_> = its
        .iter()
        .filter(|(line, n)| ours.get(*line) != Some(n))
        .collect();
    assert_eq!(differs, [], "the running kernel has others");
    assert_eq!(ours.len(), its.len());
}

#[test]
fn a_drivers_ioctls_are_seen_by_its_functions_and_decoded() {
    let program = guest_program("tests/guest/drm_calls.c", Link::Static);
    let program = program.display().to_string();
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("screen.png").display().to_string();
    let options = ["--screen", &picture, "--watch-driver", "virtio_gpu"];
    let run = Run::new(options.iter().chain(&[&*program])).finish();
    // Without virgl that driver knows of no buffers and of no 3D.
    let printed: Vec<_> = run
        .stdout
        .lines()
        .filter(|it| !it.starts_with('#'))
        .collect();
    let mut lines = lines(&run);
    let last = lines.pop().expect("lines");
    assert_eq!(last, "the driver virtio_gpu was called 6 times", "{run:#?}");
    let calls: Vec<_> = lines.iter().map(|line| parts(line).1).collect();
    assert_eq!(calls, printed, "{run:#?}");
}
