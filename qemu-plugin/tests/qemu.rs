//! The plugin in QEMU, with a guest that has no operating system.

#[path = "../../host-iface/tests/support/board.rs"]
#[allow(dead_code)]
mod board;

use board::{Act, FakeBoard};
use gil_need::program;
use gil_report::Report;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const QEMU: &str = "qemu-system-aarch64";
const GCC: &str = "aarch64-linux-gnu-gcc";

/// The plugin, built beside this test: cargo builds no cdylib for tests.
fn plugin() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/test");
        let release = profile.ends_with("release").then_some("--release");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline", "-p", "gil-qemu-plugin"]);
        cargo.args(release).arg("--target-dir");
        let built = cargo.arg(profile.parent().unwrap()).status();
        assert!(built.unwrap().success(), "cargo build of the plugin");
        profile.join("libgil_qemu.so")
    })
}

struct Guest {
    folder: tempfile::TempDir,
}

impl Guest {
    /// Builds the guest; the doorbell's object stands for a kernel module.
    fn build(calls: u32, marker: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest");
        let uapi = sources.join("../../../synthetic-driver/uapi");
        let compile = |source: &str, object: &str| {
            let mut gcc = Command::new(GCC);
            gcc.args([
                "-c",
                "-O2",
                "-ffreestanding",
                "-mgeneral-regs-only",
                "-fno-pic",
            ]);
            gcc.args(["-fno-stack-protector", "-Wall", "-Wextra", "-Werror"]);
            gcc.arg(format!("-DCALLS={calls}"))
                .args(marker.then_some("-DMARKER"));
            gcc.arg("-I").arg(&uapi).arg(sources.join(source));
            let done = gcc.arg("-o").arg(folder.path().join(object)).status();
            assert!(done.unwrap().success(), "{source}");
        };
        compile("start.S", "start.o");
        compile("guest.c", "guest.o");
        compile("doorbell.S", "doorbell.o");
        let mut link = Command::new(GCC);
        link.args([
            "-nostdlib",
            "-static",
            "-no-pie",
            "-Wl,--build-id=none",
            "-Wl,-z,norelro",
            "-Wl,--no-warn-rwx-segments",
        ]);
        link.arg("-T").arg(sources.join("guest.ld"));
        link.args(["start.o", "guest.o", "doorbell.o", "-o", "guest.elf"]);
        assert!(link.current_dir(folder.path()).status().unwrap().success());
        Self { folder }
    }

    fn at(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn run(&self, plugin_args: &str) -> Output {
        self.start(plugin_args).wait_with_output().unwrap()
    }

    fn start(&self, plugin_args: &str) -> Child {
        let child = Command::new(QEMU)
            .args([
                "-M",
                "virt,memory-backend=ram",
                "-cpu",
                "cortex-a57",
                "-smp",
                "1",
            ])
            .args(["-object", "memory-backend-memfd,id=ram,size=64M,share=on"])
            .args([
                "-icount",
                "shift=0,sleep=off",
                "-rtc",
                "clock=vm",
                "-display",
                "none",
            ])
            .args(["-monitor", "none", "-nodefaults", "-no-reboot"])
            .args(["-kernel", &self.at("guest.elf")])
            .arg("-plugin")
            .arg(format!("{}{plugin_args}", plugin().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        child.unwrap()
    }

    /// Runs to the end; the report.
    fn report(&self, plugin_args: &str) -> (Report, Output) {
        let path = self.at("report.json");
        let output = self.run(&format!(",report={path}{plugin_args}"));
        assert!(output.status.success(), "{output:?}");
        let json = std::fs::read_to_string(path).unwrap();
        (serde_json::from_str(&json).unwrap(), output)
    }
}

fn ready() -> bool {
    program(QEMU) && program(GCC)
}

fn slow_board(delay: Duration) -> FakeBoard {
    FakeBoard::new(move |_| Act {
        delay,
        cpu_ns: 1_000_000,
        ..Act::default()
    })
}

fn check(report: &Report, output: &Output, calls: u64) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "ok\n", "{output:?}");
    assert_eq!(report.program.exit_code, Some(7));
    assert_eq!(report.totals.calls, calls);
    // Open, started, the calls, console, exited, close; not the marker below
    // the kernel's addresses.
    assert_eq!(report.totals.doorbells, calls + 5);
}

#[test]
fn the_marker_rings_at_kernel_addresses_only() {
    if !ready() {
        return;
    }
    let board = slow_board(Duration::ZERO);
    let guest = Guest::build(3, true);
    let (report, output) = guest.report(&format!(",board={}", board.address()));
    check(&report, &output, 3);
}

#[test]
fn a_modules_symbol_rings_without_a_marker() {
    if !ready() {
        return;
    }
    let board = slow_board(Duration::ZERO);
    let guest = Guest::build(3, false);
    let module = guest.at("doorbell.o");
    let args = format!(",board={},detect=symbol,module={module}", board.address());
    let (report, output) = guest.report(&args);
    check(&report, &output, 3);
    let (report, _) = guest.report(&format!(",board={}", board.address()));
    assert_eq!(report.totals.doorbells, 0, "there is no marker");
}

#[test]
fn simulated_time_is_the_boards_and_the_guest_cpus() {
    if !ready() {
        return;
    }
    let times = |calls, delay| {
        let board = slow_board(delay);
        let guest = Guest::build(calls, true);
        let (report, _) = guest.report(&format!(",board={},count=on", board.address()));
        let predicted = report.guest.clone().unwrap();
        (report, predicted)
    };
    let (quick, predicted) = times(8, Duration::ZERO);
    assert!(quick.simulated.program_ns > 8_000_000, "{quick:?}");
    assert_eq!(quick.simulated.board_cpu_ns, 8_000_000);
    // For each call: the deadline is rounded up to the counter's 16 ns, and the
    // instructions from the clock's reading to the doorbell count twice.
    let off = quick.simulated.program_ns.abs_diff(predicted.predicted_ns);
    assert!(off <= 8 * 100, "{off} ns: {quick:?}");
    let (slow, same) = times(8, Duration::from_millis(20));
    assert_eq!(slow.simulated, quick.simulated);
    assert_eq!(same, predicted);
    assert!(slow.wall.board_ns >= 160_000_000);
    // What is left is scheduling: on a loaded machine a thread may be taken off the CPU
    // between two looks at the clock. What the board takes is not counted twice.
    println!("wall: {:?}", slow.wall);
    let twice = -slow.wall.unaccounted_ns.min(0) as u64;
    assert!(twice * 8 < slow.wall.total_ns, "{:?}", slow.wall);
}

#[test]
fn what_is_wrong_at_the_start_is_one_sentence() {
    if !ready() {
        return;
    }
    let guest = Guest::build(1, true);
    let refused = |args: &str, wanted: &str| {
        let output = guest.run(args);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{args}");
        assert!(
            text.starts_with("gil: ") && text.contains(wanted),
            "{args}: {text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
    };
    refused(",bord=x", "the keys are board");
    refused(",board=x", "write tcp://HOST:PORT");
    refused(",detect=symbol", "module=PATH");
    refused(
        ",detect=symbol,module=/nowhere.ko",
        "cannot read /nowhere.ko",
    );
    refused(",monitor=/nowhere", "gil run");
    refused(",trace=/nowhere/x", "/nowhere/x");
    refused(",ram=/nowhere", "guest RAM file /nowhere");
}

#[test]
fn qemu_ends_when_its_monitor_is_gone_even_while_the_board_works() {
    if !ready() {
        return;
    }
    let board = FakeBoard::new(|_| Act {
        silent: true,
        ..Act::default()
    });
    let guest = Guest::build(1, true);
    let path = guest.at("monitor");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let address = board.address();
    let trace = guest.at("trace");
    let mut qemu = guest.start(&format!(",board={address},monitor={path},trace={trace}"));
    let (monitor, _) = listener.accept().unwrap();
    let start = Instant::now();
    while board.calls().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(30), "no call");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(monitor);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = qemu.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > Duration::from_secs(5) {
            qemu.kill().unwrap();
            panic!("QEMU does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{status}");
    assert!(std::fs::metadata(trace).unwrap().len() > 0);
}
