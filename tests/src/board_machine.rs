//! A second QEMU as the board: Debian's userland with PoCL, or with Mesa and a GPU, the
//! agent as `cargo xtask dist` packed it, a network of its own, and a key. Its clock may count
//! instructions.

use crate::{Run, Width, binary, target};
use gil_run_support::process::dies_with_us;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long it may take to boot and to look for its devices.
const READY_WITHIN: Duration = Duration::from_secs(600);
/// Where the agent listens in the machine: QEMU's user network forwards here.
const LISTEN: &str = "10.0.2.15:7070";

/// A machine that runs the agent. It ends with the thread that booted it.
pub struct BoardMachine {
    qemu: Child,
    port: u16,
    folder: TempDir,
}

/// What a machine is like.
struct Plan<'a> {
    width: Width,
    packages: &'a [&'a str],
    /// Programs of this machine that run there before the agent, each with its arguments.
    first: &'a [(PathBuf, &'a str)],
    /// What a shell does there behind them.
    then: &'a str,
    memory: &'a str,
    gpu: bool,
    /// An instruction takes 2 to the power of this nanoseconds; none: its clock is this machine's.
    icount: Option<u8>,
}

/// Debian's PoCL and OpenCL's loader.
const POCL: [&str; 2] = ["pocl-opencl-icd", "ocl-icd-libopencl1"];

/// Debian's Mesa, which draws on a GPU, and what shows that.
const MESA: [&str; 7] = [
    "libegl1",
    "libgles1",
    "libgles2",
    "libegl-mesa0",
    "libgl1-mesa-dri",
    "mesa-utils-bin",
    "kmscube",
];

/// What this QEMU lacks for a GPU of its machines; none: nothing.
pub fn lacks_gpu() -> Option<&'static str> {
    let lists = |option: &str, name: &str| {
        let mut qemu = Command::new("qemu-system-aarch64");
        let output = qemu.args([option, "help"]).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(name))
    };
    match (lists("-device", GPU), lists("-display", "sdl")) {
        (false, _) => Some("virtio-gpu-gl"),
        (true, false) => Some("QEMU's display in SDL"),
        (true, true) => None,
    }
}

/// The GPU: virgl's, which draws with this machine's OpenGL.
const GPU: &str = "virtio-gpu-gl-pci";

impl BoardMachine {
    /// Boots one whose userland and agent have this width, and waits until the
    /// agent listens.
    ///
    /// # Panics
    /// With the machine's console, if it does not.
    pub fn boot(width: Width) -> Self {
        Self::of(&Plan {
            width,
            packages: &POCL,
            first: &[],
            then: "",
            memory: "3G",
            gpu: false,
            icount: None,
        })
    }

    /// Boots one of 64 bits and one processor with PoCL, whose clock is its instructions: each takes 2 to the power of
    /// `icount` nanoseconds. Programs and lines of a shell as [`BoardMachine::with_gpu`].
    ///
    /// # Panics
    /// As [`BoardMachine::boot`].
    pub fn with_clock(icount: u8, first: &[(PathBuf, &str)], then: &str) -> Self {
        Self::of(&Plan {
            width: Width::Arm64,
            packages: &POCL,
            first,
            then,
            memory: "3G",
            gpu: false,
            icount: Some(icount),
        })
    }

    /// Boots one of 64 bits with a GPU and Debian's Mesa. Programs of this machine run in
    /// it first, each with its arguments, and then these lines of a shell: what they print is
    /// on the console.
    ///
    /// # Panics
    /// As [`BoardMachine::boot`].
    pub fn with_gpu(first: &[(PathBuf, &str)], then: &str) -> Self {
        Self::of(&Plan {
            width: Width::Arm64,
            packages: &MESA,
            first,
            then,
            memory: "1G",
            gpu: true,
            icount: None,
        })
    }

    fn of(plan: &Plan) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        make_key(&folder.path().join("key"));
        let made = folder.path().join("machine");
        make_machine(plan, &folder.path().join("key"), &made);
        let port = free_port();
        let console = folder.path().join("console");
        let mut machine = Self {
            qemu: start(plan, &made, &console, port),
            port,
            folder,
        };
        machine.wait(&console);
        machine
    }

    /// Where the agent is reached from here.
    pub fn address(&self) -> String {
        format!("tcp://127.0.0.1:{}", self.port)
    }

    /// The file of the key.
    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key")
    }

    /// A run of `gil run` with this board.
    pub fn run(&self, args: &[&str]) -> Run {
        let (address, key) = (self.address(), self.key().display().to_string());
        // The board is a simulator, too: what it compiles takes its time.
        let board = ["--board", &address, "--key", &key, "--board-timeout", "600"];
        Run::new(board.iter().chain(args).copied())
    }

    /// What the machine's console shows.
    pub fn console(&self) -> String {
        fs::read_to_string(self.folder.path().join("console")).unwrap_or_default()
    }

    fn wait(&mut self, console: &Path) {
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(console).unwrap_or_default();
            if text.contains("listening on tcp://") {
                return;
            }
            let ended = self.qemu.try_wait().expect("QEMU can be asked");
            assert!(ended.is_none(), "the board's QEMU ended: {text}");
            assert!(began.elapsed() < READY_WITHIN, "no agent: {text}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for BoardMachine {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

fn make_key(path: &Path) {
    let mut gil = Command::new(binary("gil"));
    let status = gil.args(["key", "new"]).arg(path).status();
    assert!(status.expect("gil starts").success());
}

fn make_machine(plan: &Plan, key: &Path, folder: &Path) {
    let mut gil = Command::new(binary("gil"));
    gil.args(["machine", "--quiet"]);
    for package in plan.packages {
        gil.args(["--pkg", &plan.width.package(package)]);
    }
    for (program, _) in plan.first {
        gil.args(["--file", &format!("{}:/usr/bin/", program.display())]);
    }
    gil.arg("--deb").arg(package_of(plan.width));
    gil.args(["--file", &format!("{}:/etc/gil/board.key", key.display())]);
    gil.arg(folder).args(["--", "sh", "-c", &script(plan)]);
    let output = gil.output().expect("gil starts");
    assert!(output.status.success(), "{output:?}");
}

/// What the machine runs.
fn script(plan: &Plan) -> String {
    let mut script = String::new();
    if plan.gpu {
        script += "dmesg | grep -F '[drm]'; ls /dev/dri; export EGL_PLATFORM=surfaceless; ";
    }
    for (program, arguments) in plan.first {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        script += &format!("{name} {arguments}; ");
    }
    script += plan.then;
    script + &format!("exec gil-board --listen tcp://{LISTEN} --key /etc/gil/board.key")
}

/// The agent's package.
///
/// # Panics
/// If there is none, or several.
fn package_of(width: Width) -> PathBuf {
    let end = match width {
        Width::Arm64 => "_arm64.deb",
        Width::Armhf => "_armhf.deb",
    };
    let entries = fs::read_dir(target().join("packages"))
        .into_iter()
        .flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let found: Vec<_> = paths
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    match &found[..] {
        [one] => one.clone(),
        _ => panic!("packages of the agent: {found:?}: run `cargo xtask dist`"),
    }
}

/// One that nobody has at this moment.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// The kernel is a 64-bit one in any case; a 32-bit userland runs on it.
fn start(plan: &Plan, folder: &Path, console: &Path, port: u16) -> Child {
    // Nothing leaves the machine, and only this port of loopback leads in.
    let network = format!("user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:{port}-{LISTEN}");
    let log = File::create(folder.join("qemu.log")).expect("a log");
    let mut qemu = Command::new("qemu-system-aarch64");
    qemu.args(["-M", "virt", "-cpu", "cortex-a57", "-m", plan.memory])
        .args(processors(plan.icount))
        .args(["-nodefaults", "-no-user-config", "-no-reboot"])
        .args(["-monitor", "none", "-serial"])
        .arg(format!("file:{}", console.display()))
        .args(["-netdev", &network])
        .args(["-device", "virtio-net-device,netdev=n"])
        .arg("-kernel")
        .arg(folder.join("kernel"))
        .arg("-initrd")
        .arg(folder.join("initrd"))
        .args(["-append", "console=ttyAMA0 quiet panic=-1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    if plan.gpu {
        // SDL draws without a screen: no X server is needed.
        qemu.args(["-device", GPU, "-display", "sdl,gl=on"])
            .env("SDL_VIDEODRIVER", "offscreen");
    } else {
        qemu.args(["-display", "none"]);
    }
    let started = dies_with_us(&mut qemu).spawn();
    started.expect("QEMU starts: run scripts/setup")
}

/// QEMU's options for the processors and their clock.
fn processors(icount: Option<u8>) -> Vec<String> {
    let options = match icount {
        None => "-smp 2 -accel tcg,thread=multi".into(),
        // QEMU counts in one thread only. What waits moves this clock to its next timer at once (`sleep=off`), so
        // that nothing in it is this machine's time.
        Some(shift) => format!("-smp 1 -accel tcg,thread=single -icount shift={shift},sleep=off"),
    };
    options.split(' ').map(str::to_owned).collect()
}
