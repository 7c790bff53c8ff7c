//! The log of calls of real programs: its sums are the report's, and `gil report` shows it.

use gil_files::calls::{Kind, Reader, Row};
use gil_tests::stand_in::Board;
use gil_tests::{Link, Run, Width, binary, guest_program, root};
use gil_wire::envelope::Class;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rows, and whether the run ended.
fn rows(path: &Path) -> (Vec<Row>, bool) {
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let mut all = Vec::new();
    while let Some(rows) = reader.rows().unwrap() {
        all.extend(rows);
    }
    (all, reader.finished().is_some())
}

/// Logs an example's calls; its report and its log agree, and so does what is printed.
fn logged(name: &str, link: Link, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.calls");
    let program = guest_program(&format!("examples/{name}/{name}.c"), link);
    let program = program.display().to_string();
    let path = log.display().to_string();
    let all = [&["--calls", &path, &program], args].concat();
    let run = Run::new(all).finish().ok();
    let (rows, is_whole) = rows(&log);
    assert!(is_whole);
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).map(i128::from).sum::<i128>();
    for (pointer, found) in [
        ("/totals/calls", sum(|row| row.is_call().into())),
        ("/totals/bytes_to_board", sum(|row| row.bytes_to_board)),
        ("/totals/bytes_from_board", sum(|row| row.bytes_from_board)),
        ("/simulated/gpu_ns", sum(|row| row.gpu_ns().unwrap_or(0))),
        ("/simulated/board_cpu_ns", sum(|row| row.board_cpu_ns)),
    ] {
        assert_eq!(run.integer(pointer), found, "{name}: {pointer}");
    }
    let began_ns = run.integer("/simulated/boot_ns");
    let ended_ns = began_ns + run.integer("/simulated/program_ns");
    for row in rows.iter().filter(|row| row.is_call()) {
        assert!(i128::from(row.called_ns) >= began_ns, "{row:?}");
        assert!(i128::from(row.returned_ns) <= ended_ns, "{row:?}");
        assert!(row.called_ns <= row.returned_ns, "{row:?}");
        if row.kind == Kind::Call(Class::Post) && row.bytes_to_board == 0 {
            assert_eq!(row.called_ns, row.returned_ns, "{row:?}");
        }
        let interval = row.operation.and_then(|it| it.interval);
        assert!(
            interval.is_none_or(|it| it.start_ns <= it.end_ns),
            "{row:?}"
        );
    }
    let printed = report(&log, &[]);
    let count = format!(" {} ", run.integer("/totals/calls"));
    assert!(
        printed.contains("100.0 %") && printed.contains(&count),
        "{printed}"
    );
    printed
}

#[test]
fn opencl() {
    let printed = logged("n-body", Link::OpenCl, &["67", "4"]);
    assert!(printed.contains("kernel or draw"), "{printed}");
    assert!(!printed.contains("source line"), "{printed}");
}

/// Its last calls are handed over as it exits, long after it made them.
#[test]
fn calls_before_the_program_computes() {
    logged("vector-add", Link::OpenCl, &[]);
}

#[test]
fn gles() {
    let printed = logged("gles-quads", Link::Gles, &["5"]);
    let draw = printed.lines().find(|line| line.contains(", program "));
    assert!(
        draw.is_some_and(|line| line.contains("glDraw")),
        "{printed}"
    );
}

/// What `gil report` prints of a log.
fn report(log: &Path, args: &[&str]) -> String {
    let mut report = Command::new(binary("gil"));
    let output = report.arg("report").arg(log).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Compiles `call_sites.c` as users do, with debug information.
fn with_lines(folder: &Path, width: Width, options: &[&str]) -> PathBuf {
    let out = folder.join("call_sites");
    let mut cc = Command::new(root().join("scripts/guest-cc"));
    if width == Width::Armhf {
        cc.arg("--armhf");
    }
    cc.args(["-O2", "-g"]).args(options).arg("-o").arg(&out);
    let compiled = cc.arg(root().join("tests/guest/call_sites.c")).status();
    assert!(compiled.unwrap().success());
    out
}

/// Runs it and compares lines of the report with what the program printed.
fn has_lines(width: Width, options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let program = with_lines(folder.path(), width, options);
    let log = folder.path().join("run.calls");
    let [log_path, program_path] = [&log, &program].map(|path| path.display().to_string());
    let args = ["--calls", &log_path, "--call-sites", &program_path];
    let run = Run::new(args).finish().ok();
    let lines = report(&log, &["--by", "line", "--csv", "-"]);
    is_as_printed(&lines, &run.stdout);
    let kernels = report(&log, &["--by", "kernel", "--csv", "-"]);
    for (name, count) in [("first", 5), ("second", 2)] {
        assert!(
            kernels.contains(&format!("\nOpenCL,{name},{count},")),
            "{kernels}"
        );
    }
    let stacks = report(&log, &["--stacks", "-"]);
    assert!(
        stacks.contains(";OpenCL;clEnqueueNDRangeKernel;first "),
        "{stacks}"
    );
    // Without debug information its symbols remain, without these its name.
    let symbols = folder.path().join("symbols");
    std::fs::create_dir(&symbols).unwrap();
    std::fs::rename(&program, symbols.join("call_sites")).unwrap();
    strip(
        &symbols.join("call_sites"),
        &program,
        "--strip-debug",
        width,
    );
    let named = report(&log, &["--by", "line", "--csv", "-"]);
    assert!(named.contains("several + 0x"), "{named}");
    strip(&symbols.join("call_sites"), &program, "--strip-all", width);
    let bare = report(&log, &["--by", "line", "--csv", "-"]);
    assert!(bare.contains("call_sites + 0x"), "{bare}");
    let symbols = symbols.display().to_string();
    let again = report(&log, &["--by", "line", "--csv", "-", "--symbols", &symbols]);
    assert_eq!(again, lines);
}

/// Lines of the program's are `FUNCTION LINE OUTER LINE CALLS`.
fn is_as_printed(lines: &str, printed: &str) {
    let mut count = 0;
    for line in printed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [function, at, outer, outer_at, calls] = words[..] else {
            panic!("{printed}");
        };
        let place = |function: &str, at: &str| format!("{function} (guest/call_sites.c:{at})");
        let name = match outer {
            "-" => place(function, at),
            outer => format!("{} in {}", place(function, at), place(outer, outer_at)),
        };
        assert!(
            lines.contains(&format!("\n{name},{calls},")),
            "{name}: {lines}"
        );
        count += 1;
    }
    assert_eq!(count, 2);
}

fn strip(from: &Path, to: &Path, option: &str, width: Width) {
    let machine = match width {
        Width::Arm64 => "aarch64-linux-gnu-strip",
        Width::Armhf => "arm-linux-gnueabihf-strip",
    };
    let mut strip = Command::new(machine);
    // What is written after the run is not what ran.
    strip.args(["--preserve-dates", option, "-o"]);
    let stripped = strip.arg(to).arg(from).status();
    assert!(stripped.unwrap().success());
}

#[test]
fn source_lines() {
    has_lines(Width::Arm64, &[]);
}

#[test]
fn source_lines_of_a_program_at_a_fixed_address() {
    has_lines(Width::Arm64, &["-no-pie"]);
}

#[test]
fn source_lines_of_32_bits() {
    has_lines(Width::Armhf, &[]);
}

/// A GPU with registers of its own waits for its jobs itself, beside the program.
#[test]
fn nobody_waits_in_what_a_gpu_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.calls");
    let board = Board::new("slot0=300000;slot1=300000", 30_000);
    let program = guest_program("tests/guest/panfrost_data.c", Link::Static);
    let [log_path, program] = [&log, &program].map(|path| path.display().to_string());
    let gpu = ["--gpu", "mali-t628"];
    board.run_as(gpu, &["--calls", &log_path], &[&program]).ok();
    let (rows, _) = rows(&log);
    let jobs = rows.iter().filter(|row| row.gpu_ns() >= Some(300_000));
    assert!(jobs.count() > 0, "{rows:#?}");
    let gpus = rows.iter().filter(|row| row.process == 0);
    assert!(gpus.clone().count() > 0);
    assert_eq!(gpus.map(Row::lasted_ns).sum::<u64>(), 0);
}
