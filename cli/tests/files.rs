//! Files of runs: disks that are full, what a killed run leaves, and what takes no other
//! file's place.

mod common;

use common::{Bench, succeeds};
use gil_files::container::{Compression, pieces};
use gil_files::recording::{FILE, Record, SessionOpened};
use nix::fcntl::{Flock, FlockArg};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A shell in which `folder` is a file system of 64 KiB. None, with a sentence,
/// where neither root nor a user namespace may mount one.
fn with_small_disk(folder: &str, script: &str) -> Option<Command> {
    let mount = format!("mount -t tmpfs -o size=64k small '{folder}'");
    let unshared = |options: &[&str], script: &str| {
        let mut command = Command::new("unshare");
        command.args(options).args(["--mount", "sh", "-c", script]);
        command
    };
    let may_mount = |options: &&[&str]| {
        let output = unshared(options, &mount).output();
        output.is_ok_and(|output| output.status.success())
    };
    let ways: [&[&str]; 2] = [&[], &["--map-root-user"]];
    let Some(options) = ways.iter().find(|options| may_mount(options)) else {
        let why = "neither root nor a user namespace may mount one here";
        gil_need::skip("a small file system", why);
        return None;
    };
    Some(unshared(options, &format!("{mount} && {script}")))
}

#[test]
fn a_cache_on_a_full_disk_is_named_with_its_path() {
    let bench = Bench::new();
    let small = bench.path("small").display().to_string();
    std::fs::create_dir(&small).unwrap();
    let script = format!("exec '{}' run true", env!("CARGO_BIN_EXE_gil"));
    let Some(mut command) = with_small_disk(&small, &script) else {
        return;
    };
    bench.prepare(&mut command);
    command.env("GIL_CACHE", &small);
    bench.refuses(&mut command, 125, &[&small, "make room", "GIL_CACHE"]);
}

#[test]
fn a_merge_onto_a_full_disk_leaves_the_earlier_file() {
    let bench = Bench::new();
    let small = bench.path("small").display().to_string();
    std::fs::create_dir(&small).unwrap();
    let mut long = FILE.header().to_vec();
    for session in 1..=2_000 {
        let opened = Record::SessionOpened(SessionOpened {
            session,
            process: 7,
            pointer_bits: 64,
            apis: gil_wire::api::described(&[1]),
        });
        long.extend(pieces(&opened, &[], Compression::None).unwrap().concat());
    }
    std::fs::write(bench.path("long"), &long).unwrap();
    std::fs::write(bench.path("short"), FILE.header()).unwrap();
    let script = format!(
        "cp short '{small}/out' && '{}' trace merge long long --out '{small}/out'; code=$?; \
         cmp short '{small}/out' >&2 && ls '{small}' >&2; exit $code",
        env!("CARGO_BIN_EXE_gil")
    );
    let Some(mut command) = with_small_disk(&small, &script) else {
        return;
    };
    bench.prepare(&mut command);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("make room"), "{said}");
    assert!(said.ends_with("\nout\n"), "{said}");
}

/// An installation whose parts are empty, but for the driver.
fn hollow_home(bench: &Bench) -> String {
    let home = bench.path("home");
    std::fs::create_dir(&home).unwrap();
    let libraries = gil_guest_names::files(64);
    for name in ["libgil_qemu.so", "gil-init"].into_iter().chain(libraries) {
        std::fs::write(home.join(name), "").unwrap();
    }
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/../synthetic-driver");
    std::os::unix::fs::symlink(driver, home.join("driver")).unwrap();
    home.display().to_string()
}

#[test]
fn running_on_a_full_disk_is_named_with_its_path() {
    let bench = Bench::new();
    let home = hollow_home(&bench);
    // Fills the cache. QEMU's own words say why it ends.
    let mut command = bench.gil(&["run", "--quiet", "true"]);
    let output = command.env("GIL_HOME", &home).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("plugin"), "{said}");
    bench.nothing_is_left();

    let small = bench.path("tmp").display().to_string();
    let script = format!("exec '{}' run true", env!("CARGO_BIN_EXE_gil"));
    let Some(mut command) = with_small_disk(&small, &script) else {
        return;
    };
    bench.prepare(&mut command);
    command.env("GIL_HOME", &home);
    bench.refuses(&mut command, 125, &[&small, "is full", "TMPDIR"]);
}

#[test]
fn unpacking_on_a_full_disk_is_named_with_its_path() {
    let bench = Bench::new();
    let home = hollow_home(&bench);
    std::fs::create_dir(bench.path("home/gem5")).unwrap();
    let whole = bench.path("whole").display().to_string();
    // Fills the cache.
    let mut command = bench.gil(&["sysroot", "--quiet", &whole]);
    let output = command.env("GIL_HOME", &home).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");

    let small = bench.path("small").display().to_string();
    std::fs::create_dir(&small).unwrap();
    let script = format!("exec '{}' sysroot '{small}'", env!("CARGO_BIN_EXE_gil"));
    let Some(mut command) = with_small_disk(&small, &script) else {
        return;
    };
    bench.prepare(&mut command);
    command.env("GIL_HOME", &home);
    bench.refuses(&mut command, 1, &[&small, "is full"]);
}

#[test]
fn a_file_stays_as_it_was_where_the_disk_has_no_room_for_another() {
    let bench = Bench::new();
    let small = bench.path("small").display().to_string();
    std::fs::create_dir(&small).unwrap();
    let gil = env!("CARGO_BIN_EXE_gil");
    let fill = format!("cd '{small}'; echo earlier >r.json; cat /dev/zero >fill 2>&-");
    let run = format!("'{gil}' run --json r.json ./no-such-program; code=$?");
    let script = format!("{{ {fill}; {run}; cat r.json; ls -A; exit $code; }}");
    let Some(mut command) = with_small_disk(&small, &script) else {
        return;
    };
    bench.prepare(&mut command);
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(127), "{said}");
    let there = String::from_utf8(output.stdout).unwrap();
    assert_eq!(there, "earlier\nfill\nr.json\n", "{said}");
    let sentences = said.lines().filter(|line| line.contains("--json r.json"));
    let sentences: Vec<_> = sentences.collect();
    assert_eq!(sentences.len(), 1, "{said}");
    assert!(sentences[0].contains("disk with room"), "{said}");
}

/// What it leaves is private while it lives, and gone once another run starts.
#[test]
fn what_a_killed_run_left_was_private_and_goes_at_the_next_start() {
    let bench = Bench::new();
    let home = hollow_home(&bench);
    let answers = "case $1 in --version) echo 'QEMU emulator version 10.0.2' ;; \
                   -help) echo '-plugin x' ;; *) exec sleep 1000 ;; esac";
    let qemu = bench.program("qemu-system-aarch64", &format!("#!/bin/sh\n{answers}\n"));
    let mut path = qemu.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let run = || {
        let mut command = bench.gil(&["run", "--quiet", "--board-timeout", "5", "true"]);
        command.env("GIL_HOME", &home).env("PATH", &path);
        command
    };
    let mut first = Running(run().spawn().unwrap());
    let folder = first.folder(&bench, None);
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap().flatten() {
        let meta = entry.metadata().unwrap();
        let open = meta.is_file() && mode(&entry.path()) != 0o600;
        assert!(!open, "{entry:?} is not private");
    }
    drop(first);
    assert!(folder.join("initrd").exists());

    let mut second = Running(run().spawn().unwrap());
    second.folder(&bench, Some(&folder));
    assert!(!folder.exists());
}

/// Nobody has the cache locked once gil is gone.
#[test]
fn a_killed_run_leaves_no_tool_that_works_in_the_cache() {
    let bench = Bench::new();
    let home = hollow_home(&bench);
    let note = bench.path("tool");
    let script = format!(
        "#!/bin/sh\necho $$ >{0}.new; mv {0}.new {0}; exec sleep 1000\n",
        note.display()
    );
    let mut path = bench.program("apt-get", &script).into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut command = bench.gil(&["run", "--quiet", "--pkg", "x", "true"]);
    command.env("GIL_HOME", &home).env("PATH", &path);
    command.env("GIL_CACHE", bench.path("cache"));
    let mut run = Running(command.spawn().unwrap());
    while !note.exists() {
        let ended = run.0.try_wait().unwrap();
        assert!(ended.is_none(), "the run ended early: {ended:?}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let tool = std::fs::read_to_string(&note).unwrap();
    drop(run);
    let stat = format!("/proc/{}/stat", tool.trim());
    let is_alive = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    let is_gone = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !is_alive()
    });
    assert!(is_gone, "{stat}");
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A run that is killed in the end.
struct Running(std::process::Child);

impl Running {
    /// Its folder, once the simulator writes its log there; not the `other`.
    fn folder(&mut self, bench: &Bench, other: Option<&std::path::Path>) -> std::path::PathBuf {
        loop {
            let ended = self.0.try_wait().unwrap();
            assert!(ended.is_none(), "the run ended early: {ended:?}");
            let folders = std::fs::read_dir(bench.path("tmp")).unwrap().flatten();
            let mut folders = folders.map(|entry| entry.path());
            let is_ready = |folder: &std::path::PathBuf| {
                Some(folder.as_path()) != other && folder.join("qemu.log").exists()
            };
            if let Some(folder) = folders.find(is_ready) {
                return folder;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_report_that_cannot_be_written_is_told() {
    let bench = Bench::new();
    let output = bench
        .gil(&["run", "--json", "/dev/full", "./no-such-program"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(127), "{said}");
    assert!(said.contains("--json /dev/full"), "{said}");
    assert!(said.contains("disk with room"), "{said}");
    assert!(said.contains("no-such-program"), "{said}");
}

#[test]
fn a_place_that_no_file_can_be_written_to_is_told_before_the_run() {
    let bench = Bench::new();
    bench.arm64_program();
    for option in ["--json", "--record"] {
        for path in ["no/such/file", "tmp"] {
            let args = ["run", option, path, "./arm64"];
            bench.refuses(&mut bench.gil(&args), 125, &[option, path, "folder"]);
        }
    }
    std::fs::write(bench.path("file"), "").unwrap();
    let args = ["run", "--keep", "file", "./arm64"];
    bench.refuses(&mut bench.gil(&args), 125, &["--keep file", "folder"]);
    // A refused run leaves no recording.
    let args = ["run", "--record", "new", "--file", "none:/x", "./arm64"];
    bench.refuses(&mut bench.gil(&args), 125, &["none"]);
    assert!(!bench.path("new").exists());
}

#[test]
fn what_a_run_reads_is_no_place_for_what_it_writes() {
    let bench = Bench::new();
    let program = bench.arm64_program();
    let before = std::fs::read(&program).unwrap();
    std::fs::write(bench.path("board.toml"), "version = 1\n").unwrap();
    std::fs::write(bench.path("data"), "A=1\n").unwrap();
    std::os::unix::fs::symlink("arm64", bench.path("soft")).unwrap();
    std::fs::hard_link(&program, bench.path("hard")).unwrap();
    for option in ["--record", "--calls", "--json"] {
        for file in ["arm64", "./arm64", "soft", "hard"] {
            let args = ["run", option, file, "./arm64"];
            let words = [option, "and the program are the same file", file];
            bench.refuses(&mut bench.gil(&args), 125, &words);
        }
        for (input, value, file) in [
            ("--board-profile", "board.toml", "board.toml"),
            ("--stdin", "data", "data"),
            ("--env-file", "data", "data"),
            ("--file", "data:/data", "data"),
        ] {
            let args = ["run", option, file, input, value, "./arm64"];
            let words = [option, input, "are the same file", file];
            bench.refuses(&mut bench.gil(&args), 125, &words);
        }
    }
    let two = ["run", "--record", "new", "--calls", "./new", "./arm64"];
    bench.refuses(&mut bench.gil(&two), 125, &["are the same file"]);
    assert_eq!(std::fs::read(&program).unwrap(), before);
    assert_eq!(std::fs::read(bench.path("data")).unwrap(), b"A=1\n");
}

/// Another run's report and a picture would take the place of what is read or written.
#[test]
fn a_recording_in_use_is_no_place_for_a_report() {
    let bench = Bench::new();
    bench.arm64_program();
    std::fs::write(bench.path("r.json"), JOBS).unwrap();
    std::fs::write(bench.path("used"), "a recording").unwrap();
    let lock = |how| {
        let file = std::fs::File::open(bench.path("used")).unwrap();
        Flock::lock(file, how).map_err(|(_, errno)| errno).unwrap()
    };
    let (run, plot) = (
        ["run", "--json", "used", "./arm64"],
        ["report", "r.json", "--plot", "used"],
    );
    let writes = lock(FlockArg::LockExclusiveNonblock);
    bench.refuses(&mut bench.gil(&run), 125, &["another run writes --json"]);
    bench.refuses(&mut bench.gil(&plot), 1, &["another run writes --plot"]);
    drop(writes);
    let _reads = lock(FlockArg::LockSharedNonblock);
    bench.refuses(&mut bench.gil(&run), 125, &["another run replays --json"]);
    bench.refuses(&mut bench.gil(&plot), 1, &["another run replays --plot"]);
    assert_eq!(std::fs::read(bench.path("used")).unwrap(), b"a recording");
}

/// What the guest reads in a shared folder, and anything else that gil knows nothing of.
#[test]
fn a_file_of_another_kind_is_not_replaced() {
    let bench = Bench::new();
    bench.arm64_program();
    std::fs::create_dir(bench.path("share")).unwrap();
    std::fs::write(bench.path("share/input"), "mine\n").unwrap();
    std::os::unix::fs::symlink("share/input", bench.path("soft")).unwrap();
    for (option, kind) in [("--record", "recording"), ("--calls", "log of calls")] {
        for file in ["share/input", "soft"] {
            let args = ["run", option, file, "--share", "share", "./arm64"];
            let words = [option, file, "is there and is no", kind];
            bench.refuses(&mut bench.gil(&args), 125, &words);
        }
    }
    let input = std::fs::read(bench.path("share/input")).unwrap();
    assert_eq!(input, b"mine\n");
}

#[test]
fn a_report_is_printed_from_its_json() {
    let bench = Bench::new();
    let args = ["run", "--json", "r.json", "./no-such-program"];
    let _ = bench.gil(&args).output().unwrap();
    let text = succeeds(&mut bench.gil(&["report", "r.json"]));
    assert!(text.contains("exit code 127"), "{text}");
    std::fs::write(bench.path("other.json"), "{\"a\": 1}").unwrap();
    bench.refuses(
        &mut bench.gil(&["report", "other.json"]),
        1,
        &["no report of gil"],
    );
}

/// A report of jobs on a GPU's processors.
const JOBS: &str = r#"{
    "argv": ["kmscube"],
    "exit": { "code": 0, "origin": "program" },
    "run": { "simulation_ns": 1 },
    "version": 1, "gil": "0", "simulator": "QEMU",
    "program": { "started": true, "ended": true },
    "simulated": { "boot_ns": 0, "program_ns": 4000, "gpu_ns": 3000, "board_cpu_ns": 0,
                   "wait_ns": 0, "excess_ns": 0 },
    "wall": { "total_ns": 1, "since_load_ns": 1, "boot_ns": 0, "simulator_ns": 1,
              "bridge_ns": 0, "board_ns": 0, "unaccounted_ns": 0 },
    "totals": { "calls": 0, "posts": 0, "doorbells": 0, "bytes_to_board": 0,
                "bytes_from_board": 0, "late_deliveries": 0, "latest_delivery_ns": 0 },
    "entries": [],
    "board": {},
    "jobs": {
        "contention": 2.1, "begin_ns": 1000, "end_ns": 5000, "slot_ns": 1024,
        "processors": [{
            "driver": "lima", "device": 1, "name": "pixel", "engine": 9, "jobs": 2,
            "execution_ns": 3000, "waiting_ns": 500, "response_ns": 3500,
            "longest_response_ns": 2000, "busy_ns": [1024, 0, 1024, 952]
        }]
    }
}"#;

#[test]
fn a_report_shows_and_draws_processors_if_there_are_any() {
    let bench = Bench::new();
    std::fs::write(bench.path("r.json"), JOBS).unwrap();
    let text = succeeds(&mut bench.gil(&["report", "r.json", "--plot", "r.svg"]));
    assert!(
        text.contains("lima, pixel") && text.contains("75.0 %"),
        "{text}"
    );
    let svg = std::fs::read_to_string(bench.path("r.svg")).unwrap();
    assert!(svg.contains("lima, pixel: 75.0 %"), "{svg}");
    let _ = bench
        .gil(&["run", "--json", "none.json", "./no-such-program"])
        .output()
        .unwrap();
    let args = ["report", "none.json", "--plot", "none.svg"];
    bench.refuses(
        &mut bench.gil(&args),
        1,
        &["none.json has no jobs", "--driver"],
    );
}

#[test]
fn a_profile_that_is_none_is_not_replaced() {
    let bench = Bench::new();
    std::fs::write(bench.path("Cargo.toml"), "[package]\n").unwrap();
    let args = ["calibrate", "contention", "--out", "Cargo.toml"];
    let words = [
        "Cargo.toml is no board's profile (line 1, `[package]`: unknown field `package`",
        "correct it, or",
    ];
    bench.refuses(&mut bench.gil(&args), 1, &words);
    let text = "version = 1\n[calls.opencl]\nlaunch_ns = -3\n";
    std::fs::write(bench.path("Cargo.toml"), text).unwrap();
    let words = [
        "(line 3, `launch_ns = -3`: ",
        "expected a whole number from 0 on",
    ];
    bench.refuses(&mut bench.gil(&args), 1, &words);
    let args = ["calibrate", "contention", "--out", "none/board.toml"];
    let words = ["--out none/board.toml cannot be written"];
    bench.refuses(&mut bench.gil(&args), 1, &words);
}
