//! gil in a real gem5, where there is one: `gil run --sim gem5`, and the points
//! of `tests/gem5/run`.

use gil_tests::replayed::Case;
use gil_tests::{Finished, Link, Run, guest_program, processes_naming, root};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A gem5 with gil in it.
fn gem5() -> Option<PathBuf> {
    let gem5 = std::env::var_os("GIL_GEM5");
    if gem5.is_none() {
        gil_need::skip(
            "gem5",
            "set GIL_GEM5 to a gem5.opt built with EXTRAS=gem5-patches",
        );
    }
    gem5.map(PathBuf::from)
}

/// gem5's boot loader: `GIL_GEM5_BOOTLOADER`, or that of the tree gem5 was built
/// in.
fn bootloader(gem5: &Path) -> Option<PathBuf> {
    let folder = "system/arm/bootloader/arm64";
    let tree = gem5.ancestors().nth(3).unwrap_or(gem5).join(folder);
    let named = std::env::var_os("GIL_GEM5_BOOTLOADER").map(PathBuf::from);
    let path = named.unwrap_or_else(|| tree.join("boot.arm64"));
    if !path.is_file() {
        let tree = tree.display();
        let why = format!("run `make -C {tree}`, or set GIL_GEM5_BOOTLOADER to a boot.arm64");
        gil_need::skip("gem5's boot loader", why);
        return None;
    }
    Some(path)
}

/// It connects at its first tick, while QEMU waits for a command.
#[test]
fn gem5_is_started_once_the_board_listens() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let asked = folder.path().join("gem5.opt");
    let script = "#!/bin/sh\ncase \"$*\" in *gil_se.py*) ;; *) echo 'gil asks: 24.0.0.1 True'; exit;; esac\n\
        while [ \"$1\" != --board ]; do shift; done\n\
        test -S \"${2#unix:}\" && echo 'panic: it listens' || echo \"panic: no $2\"\nexit 1\n";
    std::fs::write(&asked, script).expect("a script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&asked, mode).expect("a program");
    let program = guest_program("examples/vector-add/vector-add.c", Link::OpenCl);
    // Whoever loads this driver waits until somebody writes it.
    let driver = folder.path().join("driver");
    nix::unistd::mkfifo(&driver, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    std::fs::write(folder.path().join("slow.icd"), text(&driver)).expect("a file");
    let mut gem5 = InGem5::new(&asked, &["--mode", "se", text(&program)]);
    let vendors = ("OCL_ICD_VENDORS", folder.path());
    gem5.run.command().env(vendors.0, vendors.1);
    let is_over = AtomicBool::new(false);
    let (run, _) = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(2));
            // Each process of the agent loads it. A run that never ends fails the test.
            let end = Instant::now() + Duration::from_secs(120);
            while !is_over.load(Ordering::Relaxed) && Instant::now() < end {
                let mut options = std::fs::File::options();
                let options = options.write(true).custom_flags(libc::O_NONBLOCK);
                drop(options.open(&driver));
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let finished = gem5.finish();
        is_over.store(true, Ordering::Relaxed);
        finished
    });
    assert!(run.stderr.contains("it listens"), "{}", run.stderr);
}

/// `gil run --sim gem5` with an output folder of its own.
struct InGem5 {
    run: Run,
    outdir: TempDir,
}

impl InGem5 {
    fn new(gem5: &Path, args: &[&str]) -> Self {
        let outdir = tempfile::tempdir().expect("a temporary folder");
        let simulator = ["--sim", "gem5", "--gem5", text(gem5), "--outdir"];
        let folder = text(outdir.path());
        let run = Run::new(simulator.iter().chain([&folder]).chain(args));
        Self { run, outdir }
    }

    fn finish(self) -> (Finished, TempDir) {
        (self.run.finish(), self.outdir)
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// gem5's statistics, which must be whole.
#[track_caller]
fn statistics(outdir: &TempDir) -> String {
    let path = outdir.path().join("stats.txt");
    let text = std::fs::read_to_string(path).expect("gem5 wrote its statistics");
    assert!(text.contains("End Simulation Statistics"), "{text}");
    text
}

#[track_caller]
fn names_its_output(run: &Finished, outdir: &TempDir) {
    // `--quiet`, with which tests run, prints no table and not this place.
    let in_report = run.report.pointer("/run/outdir").and_then(|v| v.as_str());
    assert_eq!(in_report, Some(text(outdir.path())));
}

#[test]
fn an_emulated_program_ends_as_on_qemu() {
    let Some(gem5) = gem5() else { return };
    let program = guest_program("tests/guest/exits.c", Link::Static);
    let exits = |args: &[&str]| {
        let args = [&["--mode", "se", text(&program)], args].concat();
        InGem5::new(&gem5, &args).finish()
    };
    let (run, outdir) = exits(&["code", "7"]);
    assert_eq!(run.code, Some(7), "{run:#?}");
    assert_eq!(run.report.pointer("/exit/origin").unwrap(), "program");
    statistics(&outdir);
    names_its_output(&run, &outdir);

    let (run, _) = exits(&["echo", "a b", "-x"]);
    let run = run.ok();
    assert_eq!(run.stdout, "a b -x\n");
    assert!(run.stderr.starts_with("done\n"), "{}", run.stderr);
}

#[test]
fn an_emulated_program_uses_the_gpu() {
    let Some(gem5) = gem5() else { return };
    let matmul = guest_program("examples/matmul/matmul.c", Link::OpenCl);
    let args = ["--mode", "se", text(&matmul), "3", "64"];
    let (run, outdir) = InGem5::new(&gem5, &args).finish();
    computes_products(run, &outdir);
}

/// Both end with the same tick.
#[test]
fn replays_of_emulated_programs_take_the_same_ticks() {
    let Some(gem5) = gem5() else { return };
    for mut case in [
        Case::example("vector-add", Link::OpenCl, &["4099"]),
        Case::example("gles-quads", Link::Gles, &["3"]),
    ] {
        case.gem5 = Some((gem5.clone(), "se"));
        let replayed = case.twice();
        assert_eq!(replayed.spread(), None, "{}", case.name);
        let [ticks, recorded] = [&replayed.replays[0], &replayed.recorded];
        assert_eq!(ticks.simulated.ticks, recorded.simulated.ticks);
    }
}

#[test]
fn a_full_system_uses_the_gpu() {
    let Some(gem5) = gem5() else { return };
    let Some(bootloader) = bootloader(&gem5) else {
        return;
    };
    let matmul = guest_program("examples/matmul/matmul.c", Link::OpenCl);
    let args = ["--bootloader", text(&bootloader), text(&matmul), "3", "64"];
    let (run, outdir) = InGem5::new(&gem5, &args).finish();
    computes_products(run, &outdir);
}

/// The driver asks the simulator for folders and input by its channels, here as in QEMU.
#[test]
fn a_full_system_reads_input_and_exchanges_files() {
    let Some(gem5) = gem5() else { return };
    let Some(bootloader) = bootloader(&gem5) else {
        return;
    };
    let work = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| work.path().join(name);
    std::fs::create_dir(at("in")).expect("a folder");
    std::fs::write(at("in/a"), "from here\n").expect("a file");
    let share = format!("{}:/in:ro", at("in").display());
    let out = format!("result:{}", at("result").display());
    let script = "tr a-z A-Z </in/a; touch /in/b || echo refused; read x; echo $x >result; exit 7";
    let channels = ["-i", "--share", &share, "--out", &out];
    let boots = ["--bootloader", text(&bootloader)];
    let args = [&boots[..], &channels, &["sh", "-c", script]].concat();
    let InGem5 { mut run, outdir } = InGem5::new(&gem5, &args);
    run.command().stdin(Stdio::piped());
    let (mut child, folder) = run.start();
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"typed\n").expect("gil reads");
    drop(input);
    let run = Finished::of(child.wait_with_output().expect("gil ends"), &folder);
    assert_eq!(run.code, Some(7), "{run:#?}");
    assert_eq!(run.stdout, "FROM HERE\nrefused\n");
    let result = std::fs::read_to_string(at("result")).expect("the result");
    assert_eq!(result, "typed\n");
    statistics(&outdir);
}

#[track_caller]
fn computes_products(run: Finished, outdir: &TempDir) {
    let run = run.ok();
    let passed = "every product passed Freivalds' test";
    assert!(
        run.stdout.contains(passed) || run.stderr.contains(passed),
        "{run:#?}"
    );
    assert!(run.integer("/totals/calls") > 0, "{run:#?}");
    assert!(run.number("/simulated/gpu_ns") > 0.0, "{run:#?}");
    let gpu = run.number("/simulated/gpu_ns");
    assert!(run.number("/simulated/program_ns") > gpu, "{run:#?}");
    assert!(statistics(outdir).contains("gpuTime"));
    names_its_output(&run, outdir);
}

#[test]
fn an_interrupt_ends_gem5_with_its_statistics_written() {
    let Some(gem5) = gem5() else { return };
    let program = guest_program("tests/gem5/spin.c", Link::Static);
    let args = ["--mode", "se", text(&program), "1000000000000"];
    let InGem5 { run, outdir } = InGem5::new(&gem5, &args);
    let (child, folder) = run.start();
    simulates(outdir.path());
    let gil = Pid::from_raw(child.id().cast_signed());
    kill(gil, Signal::SIGINT).expect("gil runs");
    let run = Finished::of(child.wait_with_output().expect("gil ends"), &folder);
    assert_eq!(run.code, Some(130), "{run:#?}");
    assert_eq!(run.report.pointer("/exit/origin").unwrap(), "user");
    statistics(&outdir);
    let left = processes_naming(text(outdir.path()));
    assert_eq!(left, Vec::<String>::new());
}

/// Waits until gem5 says that it has begun.
#[track_caller]
fn simulates(outdir: &Path) {
    let log = outdir.join("gem5.log");
    let begun = || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.contains("Entering event queue")
    };
    let until = Instant::now() + Duration::from_secs(120);
    while !begun() {
        assert!(Instant::now() < until, "gem5 does not begin");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn every_point_holds_in_a_real_gem5() {
    let Some(gem5) = gem5() else { return };
    let mut points = Command::new(root().join("tests/gem5/run"));
    points.arg(&gem5);
    if let Some(bootloader) = bootloader(&gem5) {
        points.arg("--bootloader").arg(bootloader);
    }
    let status = points.status().expect("tests/gem5/run starts");
    assert!(status.success(), "see its table");
}
