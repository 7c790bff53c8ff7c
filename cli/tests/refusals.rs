//! What cannot be run is refused with the exit code that `env` would give, in
//! one sentence, and leaves nothing behind.

mod common;

use common::{Bench, report, succeeds};
use gil_wire::hello::{HELLO_LEN, Hello};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;

#[test]
fn wrong_arguments_of_run_give_125_and_others_2() {
    let bench = Bench::new();
    for (args, code) in [
        (&["run"][..], 125),
        (&["run", "--no-such-option", "x"], 125),
        (&["run", "--memory", "1", "x"], 125),
        (&["run", "--file", "nocolon", "x"], 125),
        (&["run", "--timeout", "0", "x"], 125),
        (&["run", "--env", "=x", "x"], 125),
        (&["run", "-t", "x"], 125),
        (&["run", "-i", "--stdin", "/dev/null", "x"], 125),
        (&["run", "--env-file", "no-such-file", "x"], 125),
        (&["run", "--board-timeout", "0", "x"], 125),
        (&["run", "--board-profile", "no-such-file", "x"], 125),
        (&["run", "--board", "http://x", "x"], 125),
        (&["no-such-command"], 2),
        (&["ping", "nowhere"], 2),
    ] {
        let output = bench.gil(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains("error:"), "{said}");
    }
}

#[test]
fn more_memory_than_this_machine_has_is_refused_with_both() {
    let bench = Bench::new();
    let args = ["run", "--memory", "255G", "true"];
    let words = ["261120 MiB", "this machine has", "available", "--memory"];
    bench.refuses(&mut bench.gil(&args), 125, &words);
}

#[test]
fn a_driver_that_no_table_describes_is_refused_with_those_that_there_are() {
    let bench = Bench::new();
    let output = bench.gil(&["run", "--driver", "amdgpu", "x"]).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{said}");
    for words in ["the driver amdgpu", "lima, panfrost, virtio_gpu"] {
        assert!(said.contains(words), "{said}");
    }
}

/// On the real machine, displays are another driver's.
#[test]
fn a_display_of_a_driver_that_has_none_is_refused() {
    let bench = Bench::new();
    for driver in ["lima", "panfrost"] {
        let args = ["run", "--driver", driver, "--screen", "x.png", "true"];
        let words = ["--screen", driver, "no outputs"];
        bench.refuses(&mut bench.gil(&args), 125, &words);
    }
}

#[test]
fn a_folder_is_no_standard_input() {
    let bench = Bench::new();
    let mut command = bench.gil(&["run", "-i", "cat"]);
    command.stdin(std::fs::File::open("/").unwrap());
    bench.refuses(&mut command, 125, &["/dev/stdin", "a pipe nor a terminal"]);
}

#[test]
fn help_and_version_are_no_errors() {
    let bench = Bench::new();
    let help = succeeds(&mut bench.gil(&["run", "--help"]));
    assert!(help.contains("--detect"), "{help}");
    let version = succeeds(&mut bench.gil(&["--version"]));
    assert_eq!(version.trim(), concat!("gil ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_program_that_is_not_there_gives_127() {
    let bench = Bench::new();
    let json = bench.path("report.json");
    let json_text = json.display().to_string();
    let args = ["run", "--json", &json_text, "./no-such-program"];
    bench.refuses(
        &mut bench.gil(&args),
        127,
        &["./no-such-program", "check the path"],
    );
    let report = report(&json);
    assert_eq!(report["exit"]["code"], 127);
    assert_eq!(report["exit"]["origin"], "start");
    assert_eq!(report["argv"][0], "./no-such-program");
    let reason = report["exit"]["reason"].as_str().unwrap();
    assert!(reason.contains("no-such-program"), "{reason}");
}

#[test]
fn what_follows_the_program_is_no_option_of_gils() {
    let bench = Bench::new();
    let args = ["run", "./no-such-program", "--json", "zz", "--help"];
    bench.refuses(&mut bench.gil(&args), 127, &["./no-such-program"]);
    assert!(!bench.path("zz").exists());
}

#[test]
fn a_program_of_another_machine_gives_126() {
    let bench = Bench::new();
    let gil = env!("CARGO_BIN_EXE_gil");
    bench.refuses(
        &mut bench.gil(&["run", gil]),
        126,
        &[gil, "x86-64", "arm64 and armhf"],
    );
}

#[test]
fn what_is_no_program_gives_126() {
    let bench = Bench::new();
    bench.executable("text", b"no program at all");
    bench.refuses(
        &mut bench.gil(&["run", "./text"]),
        126,
        &["./text", "neither"],
    );
    for (name, text, word) in [
        ("plain", "#!/bin/sh\n", "chmod +x"),
        ("m.c", "int x;", "neither"),
    ] {
        std::fs::write(bench.path(name), text).unwrap();
        let path = format!("./{name}");
        bench.refuses(&mut bench.gil(&["run", &path]), 126, &[word]);
    }
    bench.refuses(&mut bench.gil(&["run", "./tmp"]), 126, &["no file"]);
}

#[test]
fn files_to_copy_must_be_there() {
    let bench = Bench::new();
    bench.arm64_program();
    let args = ["run", "--file", "no-such-file:/x", "./arm64"];
    bench.refuses(&mut bench.gil(&args), 125, &["no-such-file"]);
    let args = ["run", "--stdin", "no-such-input", "./arm64"];
    bench.refuses(&mut bench.gil(&args), 125, &["no-such-input"]);
}

#[test]
fn a_terminal_is_none_where_standard_input_is_none() {
    let bench = Bench::new();
    bench.arm64_program();
    let mut gil = bench.gil(&["run", "-it", "./arm64"]);
    bench.refuses(&mut gil, 125, &["--tty", "terminal", "leave"]);
}

#[test]
fn files_that_the_guest_would_not_see_are_refused() {
    let bench = Bench::new();
    bench.arm64_program();
    for place in ["/proc/x", "/dev/shm/", "/sys"] {
        let file = format!("arm64:{place}");
        let args = ["run", "--file", &file, "./arm64"];
        bench.refuses(&mut bench.gil(&args), 125, &["--file", &file, "covers"]);
    }
}

#[test]
fn a_machine_that_cannot_be_made_leaves_nothing() {
    let bench = Bench::new();
    let machine = |folder: &str, more: &[&str]| {
        let args = [&["machine"], more, &[folder, "--", "sh"]].concat();
        bench.gil(&args)
    };
    bench.refuses(&mut machine("m", &["--file", "nosuch:/x"]), 1, &["nosuch"]);
    let file = ["--file", "bin/apt:/etc/passwd/x"];
    bench.program("apt", "");
    bench.refuses(&mut machine("m", &file), 1, &["/etc/passwd is a file"]);
    bench.refuses(
        &mut machine("m", &["--deb", "nosuch.deb"]),
        1,
        &["nosuch.deb"],
    );
    assert!(!bench.path("m").exists());
    bench.refuses(
        &mut machine("bin", &[]),
        1,
        &["bin is not empty", "gil machine"],
    );
    assert_eq!(std::fs::read_dir(bench.path("bin")).unwrap().count(), 1);
}

#[test]
fn only_files_and_folders_are_copied() {
    let bench = Bench::new();
    bench.arm64_program();
    std::fs::create_dir(bench.path("folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", bench.path("folder/dangling")).unwrap();
    let made = Command::new("mkfifo")
        .arg(bench.path("folder/fifo"))
        .status();
    assert!(made.unwrap().success());
    let neither = "is neither a file nor a folder";
    for (copied, named) in [
        ("/dev/zero:/z", "/dev/zero"),
        ("folder/fifo:/f", "folder/fifo"),
        ("folder:/f", "folder/fifo"),
    ] {
        let args = ["run", "--file", copied, "./arm64"];
        bench.refuses(&mut bench.gil(&args), 125, &[named, neither]);
    }
    let args = ["run", "--stdin", "/dev/zero", "./arm64"];
    let words = ["/dev/zero is neither a file nor a pipe", "--stdin"];
    bench.refuses(&mut bench.gil(&args), 125, &words);
}

#[test]
fn a_pipe_as_standard_input_is_read_as_long_as_the_timeout() {
    let bench = Bench::new();
    bench.arm64_program();
    let made = Command::new("mkfifo").arg(bench.path("fifo")).status();
    assert!(made.unwrap().success());
    let args = [
        "run",
        "-q",
        "--stdin",
        "fifo",
        "--timeout",
        "0.2",
        "./arm64",
    ];
    bench.refuses(&mut bench.gil(&args), 124, &["--stdin fifo", "--timeout"]);
}

#[test]
fn a_board_that_is_not_there_is_told_before_the_guest_boots() {
    let bench = Bench::new();
    bench.arm64_program();
    let board = format!("unix:{}", bench.path("nobody").display());
    let args = ["run", "--board", &board, "./arm64"];
    bench.refuses(&mut bench.gil(&args), 125, &[&board, "gil-board"]);
    let ping = ["ping", board.as_str()];
    bench.refuses(&mut bench.gil(&ping), 1, &[&board, "gil-board"]);
}

#[test]
fn keys_are_made_once_and_used_only_where_nobody_else_reads_them() {
    let bench = Bench::new();
    succeeds(&mut bench.gil(&["key", "new", "board.key"]));
    let again = ["key", "new", "board.key"];
    bench.refuses(
        &mut bench.gil(&again),
        1,
        &["board.key", "never overwritten"],
    );
    let everybody = PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(bench.path("board.key"), everybody).unwrap();
    let ping = ["ping", "tcp://127.0.0.1:1", "--key", "board.key"];
    bench.refuses(&mut bench.gil(&ping), 1, &["chmod 600 board.key", "644"]);
    let board = [
        "board",
        "--listen",
        "tcp://127.0.0.1:0",
        "--key",
        "board.key",
    ];
    bench.refuses(&mut bench.gil(&board), 1, &["chmod 600 board.key"]);
    let board = [
        "board",
        "--listen",
        "tcp://127.0.0.1:0",
        "--key",
        "none.key",
    ];
    bench.refuses(&mut bench.gil(&board), 1, &["none.key", "gil key new"]);
    let board = ["board", "--listen", "tcp://0.0.0.0:0", "--replay", "none"];
    bench.refuses(&mut bench.gil(&board), 1, &["none"]);
    let tcp = ["bench", "region-tcp", "--quick"];
    bench.refuses(
        &mut bench.gil(&tcp),
        1,
        &["--allow-any-local-user", "every user"],
    );
    bench.arm64_program();
    let run = ["run", "--key", "board.key", "./arm64"];
    bench.refuses(&mut bench.gil(&run), 125, &["--board ADDR"]);
}

/// Listens, and answers every connection with `answer` behind its hello.
fn fake_board(bench: &Bench, answer: Vec<u8>) -> String {
    let path = bench.path("fake");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut hello = [0; HELLO_LEN];
            let _ = stream.read_exact(&mut hello);
            let _ = stream.write_all(&answer);
        }
    });
    format!("unix:{}", path.display())
}

#[test]
fn a_board_of_another_version_is_refused_with_both_versions() {
    let bench = Bench::new();
    bench.arm64_program();
    let theirs = Hello {
        version: 4711,
        ..Hello::ours()
    };
    let board = fake_board(&bench, theirs.encode().to_vec());
    let ours = format!("speaks {}", Hello::ours().version);
    let args = ["run", "--board", &board, "./arm64"];
    bench.refuses(
        &mut bench.gil(&args),
        125,
        &["4711", &ours, "same gil release"],
    );
}

#[test]
fn what_is_no_board_is_refused() {
    let bench = Bench::new();
    bench.arm64_program();
    let board = fake_board(&bench, b"HTTP/1.1 400 Bad Request\r\n".repeat(4));
    let args = ["run", "--board", &board, "./arm64"];
    bench.refuses(
        &mut bench.gil(&args),
        125,
        &["does not speak gil's protocol"],
    );
}

/// One that serves its connections by `serve`, and then holds them.
fn holding_board(bench: &Bench, serve: fn(&mut UnixStream)) -> String {
    let path = bench.path("holding");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            serve(&mut stream);
            held.push(stream);
        }
    });
    format!("unix:{}", path.display())
}

fn hello_of(stream: &mut UnixStream) -> [u8; HELLO_LEN] {
    let mut hello = [0; HELLO_LEN];
    stream.read_exact(&mut hello).unwrap();
    hello
}

#[test]
fn a_board_that_does_not_answer_is_left_at_the_smaller_timeout() {
    let bench = Bench::new();
    let board = holding_board(&bench, |_| {});
    bench.arm64_program();
    for (board_timeout, timeout) in [("0.2", "60"), ("60", "0.2")] {
        let args = ["run", "-q", "--board", &board, "--timeout", timeout];
        let args = [&args[..], &["--board-timeout", board_timeout, "./arm64"]].concat();
        let words = [
            &board,
            "did not answer the first contact within 0.2 s",
            "--board-timeout SECONDS",
        ];
        bench.refuses(&mut bench.gil(&args), 125, &words);
    }
}

#[test]
fn a_board_that_sends_back_what_comes_is_refused() {
    let bench = Bench::new();
    bench.arm64_program();
    let board = holding_board(&bench, |stream| {
        let hello = hello_of(stream);
        stream.write_all(&hello).unwrap();
    });
    let args = [
        "run",
        "-q",
        "--board",
        &board,
        "--board-timeout",
        "5",
        "./arm64",
    ];
    bench.refuses(&mut bench.gil(&args), 125, &[&board, "is not a board"]);
}

#[test]
fn without_qemu_setup_is_named() {
    let bench = Bench::new();
    bench.arm64_program();
    let mut command = bench.gil(&["run", "./arm64"]);
    command.env("PATH", bench.path("tmp"));
    bench.refuses(&mut command, 125, &["not installed", "gil setup"]);
}

#[test]
fn qemu_that_is_too_old_is_named_with_its_version() {
    let bench = Bench::new();
    bench.arm64_program();
    let script = "#!/bin/sh\necho 'QEMU emulator version 7.2.17 (Debian)'\n";
    let path = bench.program("qemu-system-aarch64", script);
    let mut command = bench.gil(&["run", "./arm64"]);
    command.env("PATH", path);
    bench.refuses(&mut command, 125, &["7.2", "9.2", "gil setup"]);
}

#[test]
fn qemu_without_plugins_is_named() {
    let bench = Bench::new();
    bench.arm64_program();
    let script = "#!/bin/sh\necho 'QEMU emulator version 10.0.2'\n";
    let path = bench.program("qemu-system-aarch64", script);
    let mut command = bench.gil(&["run", "./arm64"]);
    command.env("PATH", path);
    bench.refuses(&mut command, 125, &["without TCG plugins"]);
}

/// A gem5 that answers what it is asked.
fn fake_gem5(bench: &Bench, answer: &str) -> String {
    let script = format!("#!/bin/sh\necho '{answer}'\n");
    let path = bench.executable("gem5.opt", script.as_bytes());
    path.display().to_string()
}

#[test]
fn a_gem5_that_will_not_do_is_named_with_what_to_do() {
    let bench = Bench::new();
    bench.arm64_program();
    let refuses = |args: &[&str], words: &[&str]| {
        let all = [&["run", "--sim", "gem5"], args, &["./arm64"]].concat();
        bench.refuses(&mut bench.gil(&all), 125, words);
    };
    refuses(&[], &["--gem5 is missing", "--gem5", "docs/GEM5.md"]);
    refuses(&["--gem5", "no-such-gem5"], &["no gem5 at", "no-such-gem5"]);
    refuses(&["--gem5", "arm64"], &["cannot be started", "this machine"]);
    let other = fake_gem5(&bench, "hello");
    refuses(&["--gem5", &other], &[&other, "does not answer as gem5"]);
    let bare = fake_gem5(&bench, "gil asks: 24.0.0.1 False");
    let words = [&bare, "24.0.0.1 without gil", "EXTRAS=", "gem5-patches"];
    refuses(&["--gem5", &bare], &words);
}

#[test]
fn a_boot_loader_that_is_not_there_is_named_with_how_to_build_it() {
    let bench = Bench::new();
    bench.arm64_program();
    let gem5 = fake_gem5(&bench, "gil asks: 24.0.0.1 True");
    let run = ["run", "--sim", "gem5", "--gem5", &gem5];
    let absent = [&run[..], &["./arm64"]].concat();
    let words = ["boot loader", "make -C", "system/arm/bootloader/arm64"];
    bench.refuses(&mut bench.gil(&absent), 125, &words);
    let wrong = [&run[..], &["--bootloader", "no-such-loader", "./arm64"]].concat();
    bench.refuses(
        &mut bench.gil(&wrong),
        125,
        &["no-such-loader", "boot.arm64"],
    );
    // In system-call emulation nothing boots: the next thing is missed.
    let emulated = [
        &run[..],
        &["--mode", "se", "--stdin", "no-such-input", "./arm64"],
    ]
    .concat();
    bench.refuses(&mut bench.gil(&emulated), 125, &["no-such-input"]);
}

#[test]
fn options_of_another_simulator_are_named() {
    let bench = Bench::new();
    bench.arm64_program();
    let gem5 = fake_gem5(&bench, "gil asks: 24.0.0.1 True");
    let with_gem5 = ["run", "--sim", "gem5", "--gem5", &gem5];
    for (options, words) in [
        (&["--count"][..], &["--count", "QEMU"][..]),
        (
            &["--mode", "se", "--detect", "symbol"],
            &["--detect symbol", "full system"],
        ),
        (
            &["--mode", "se", "--driver", "lima"],
            &["--driver", "full system", "has no kernel"],
        ),
        (
            &["--cpu", "cortex-a57"],
            &["cortex-a57", "atomic, timing, minor or o3"],
        ),
        (&["--outdir", "a,b"], &["a,b", "comma"]),
    ] {
        let args = [&with_gem5[..], options, &["./arm64"]].concat();
        bench.refuses(&mut bench.gil(&args), 125, words);
    }
    let args = ["run", "--mode", "se", "./arm64"];
    bench.refuses(&mut bench.gil(&args), 125, &["--mode", "--sim gem5"]);
}

#[test]
fn a_script_is_refused_in_system_call_emulation() {
    let bench = Bench::new();
    bench.executable("script", b"#!/bin/sh\nexit 0\n");
    let gem5 = fake_gem5(&bench, "gil asks: 24.0.0.1 True");
    let args = ["run", "--quiet", "--sim", "gem5", "--gem5", &gem5];
    let args = [&args[..], &["--mode", "se", "./script"]].concat();
    let words = ["script", "leave out --mode se"];
    bench.refuses(&mut bench.gil(&args), 125, &words);
}

#[test]
fn a_package_that_does_not_exist_is_named() {
    let bench = Bench::new();
    let args = ["run", "--pkg", "gil-no-such-package", "true"];
    let words = ["gil-no-such-package", "arm64", "check its name"];
    bench.refuses(&mut bench.gil(&args), 125, &words);
}

#[test]
fn a_name_that_no_package_has_gives_127() {
    let bench = Bench::new();
    let words = ["gil-no-such-name", "--pkg"];
    bench.refuses(&mut bench.gil(&["run", "gil-no-such-name"]), 127, &words);
    let words = ["--pkg behind it", "before the program"];
    let args = ["run", "gil-no-such-name", "--pkg", "clinfo"];
    bench.refuses(&mut bench.gil(&args), 127, &words);
}

#[test]
fn a_script_that_the_guest_will_not_have_is_refused_before_its_packages_are_asked_for() {
    let bench = Bench::new();
    std::fs::write(bench.path("main.py"), "").unwrap();
    let args = ["run", "--pkg", "gil-no-such-package", "python3", "main.py"];
    let words = ["main.py:/root/main.py", "--share"];
    bench.refuses(&mut bench.gil(&args), 125, &words);
    let args = ["run", "--file", "main.py:/root/"];
    let args = [
        &args[..],
        &["--pkg", "gil-no-such-package", "python3", "main.py"],
    ]
    .concat();
    let words = ["gil-no-such-package", "check its name"];
    bench.refuses(&mut bench.gil(&args), 125, &words);
}

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

/// An installation whose parts are empty, but for the driver.
fn hollow_home(bench: &Bench) -> String {
    let home = bench.path("home");
    std::fs::create_dir(&home).unwrap();
    let libraries = gil_guest_names::files();
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

/// The terminal's Ctrl-C is the tool's, too, whose end is known at once.
#[test]
fn ctrl_c_ends_a_run_whatever_becomes_of_its_tools() {
    let bench = Bench::new();
    bench.program("apt-get", "#!/bin/sh\nkill -INT $PPID\nexit 100\n");
    let path = format!("{}:{}", bench.path("bin").display(), env!("PATH"));
    for _ in 0..20 {
        let mut command = bench.gil(&["run", "--pkg", "clinfo", "clinfo"]);
        command
            .env("GIL_CACHE", bench.path("cache"))
            .env("PATH", &path);
        let said = bench.refuses(
            &mut command,
            130,
            &["the run was ended by signal 2 (SIGINT)"],
        );
        assert_eq!(said, "gil: the run was ended by signal 2 (SIGINT)\n");
    }
}

#[test]
fn a_cpu_that_qemu_refuses_is_told_with_its_words() {
    let bench = Bench::new();
    bench.arm64_program();
    for cpu in ["nosuch", "cortex-m3", "cortex-a57,nosuch=on"] {
        let args = ["run", "--cpu", cpu, "./arm64"];
        let words = ["QEMU refused", "--cpu", cpu, "-cpu help", "(it says: "];
        bench.refuses(&mut bench.gil(&args), 125, &words);
    }
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
        "Cargo.toml is no board's profile",
        "unknown field `package`",
    ];
    bench.refuses(&mut bench.gil(&args), 1, &words);
    let args = ["calibrate", "contention", "--out", "none/board.toml"];
    let words = ["--out none/board.toml cannot be written"];
    bench.refuses(&mut bench.gil(&args), 1, &words);
}

/// The working folder has no sources of programs: files are read before those are compiled.
#[test]
fn what_the_program_of_a_calibration_did_not_write_is_named() {
    let bench = Bench::new();
    for (text, word) in [
        (&b"hello\n"[..], "line 1 is \"hello\""),
        (b"", "0 pieces of work"),
        (b"copy 1\n", "1 pieces of work"),
        (b"\xff\xfe", "no text"),
    ] {
        std::fs::write(bench.path("wrong"), text).unwrap();
        for option in ["--native", "--target"] {
            let args = ["calibrate", "cpu", option, "wrong"];
            bench.refuses(&mut bench.gil(&args), 1, &["wrong: it is no", word, "give"]);
        }
    }
}

/// Copies of more bytes that take less time are another program's doing: no profile has them.
#[test]
fn copies_that_were_disturbed_are_in_no_profile() {
    let bench = Bench::new();
    let calibrate = |from: u32| {
        let text = format!(
            "GPU\nlaunch 50000 239000 27000 2000 90000\nfrom 4 60000\nfrom 65536 {from}\nto 4 70000\n"
        );
        std::fs::write(bench.path("native.txt"), text).unwrap();
        let args = [
            "calibrate",
            "calls",
            "--native",
            "native.txt",
            "--out",
            "board.toml",
        ];
        let output = bench.gil(&args).output().unwrap();
        assert!(output.status.success());
        let profile = std::fs::read_to_string(bench.path("board.toml")).unwrap();
        (String::from_utf8(output.stderr).unwrap(), profile)
    };
    let (said, profile) = calibrate(72_000);
    assert_eq!(said, "");
    assert!(
        profile.contains("from = ") || profile.contains("[copies.opencl.from]"),
        "{profile}"
    );
    // The earlier ones go, too.
    let (said, profile) = calibrate(52_000);
    assert_eq!(
        said,
        "gil: copies from the device are left out of the profile and last as on the board, since one of 65536 bytes took 2000 ns, and one of 4 bytes 10000 ns: leave the machine to the measurement, or measure more often, with `launches 4 64` there\n"
    );
    assert!(!profile.contains("65536"), "{profile}");
    assert!(
        profile.contains("launch_ns") && profile.contains("[4, 10000]"),
        "{profile}"
    );
}

#[test]
fn wrong_options_for_the_runs_of_a_calibration_are_named() {
    let bench = Bench::new();
    for (options, word) in [
        (&["--no-such-option"][..], "'--no-such-option'"),
        (&["--memory", "1"], "'1'"),
        (&["sim"], "sim is no option"),
        (&["--help"], "runs nothing"),
    ] {
        for what in ["programs", "cpu"] {
            let options = options.iter().flat_map(|option| ["--run-option", option]);
            let args: Vec<_> = ["calibrate", what].into_iter().chain(options).collect();
            let words = ["`gil run` does not take", word];
            bench.refuses(&mut bench.gil(&args), 1, &words);
        }
    }
}

#[test]
fn a_recording_that_is_not_there_is_named() {
    let bench = Bench::new();
    bench.arm64_program();
    let args = ["run", "--board", "replay:no-such-recording", "./arm64"];
    bench.refuses(
        &mut bench.gil(&args),
        125,
        &["no-such-recording", "--record"],
    );
    let args = ["run", "--board", "replay:tmp", "./arm64"];
    bench.refuses(&mut bench.gil(&args), 125, &["tmp is a folder", "--record"]);
}

#[test]
fn whoever_reads_no_errors_gets_the_same_code() {
    let bench = Bench::new();
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut report = bench.gil(&["report", "/nonexistent"]);
    let status = report.stderr(full.unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn where_devices_cannot_be_looked_for_setup_installs_none() {
    let bench = Bench::new();
    let mut setup = bench.gil(&["setup"]);
    setup.env("TMPDIR", "/nonexistent");
    bench.refuses(&mut setup, 1, &["devices", "TMPDIR"]);
}
