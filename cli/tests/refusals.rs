//! What cannot be run is refused with the exit code that `env` would give, in
//! one sentence, and leaves nothing behind.

mod common;

use common::{Bench, succeeds};
use gil_wire::hello::{HELLO_LEN, Hello};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

/// The JSON report.
fn report(path: &std::path::Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

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
        (&["sweep", "--jobs", "0", "x"], 2),
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
        &["does not speak gil's protocol (it began with \"HTTP/1.1\")"],
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

/// The terminal's Ctrl-C is the tool's, too, whose end is known at once.
#[test]
fn ctrl_c_ends_a_run_whatever_becomes_of_its_tools() {
    let bench = Bench::new();
    bench.program("apt-get", "#!/bin/sh\nkill -INT $PPID\nexit 100\n");
    let path = format!("{}:{}", bench.path("bin").display(), env!("PATH"));
    for _ in 0..20 {
        // As an earlier run left it.
        std::fs::write(bench.path("report"), "{\"exit\": {\"code\": 0}}").unwrap();
        let args = ["run", "--json", "report", "--pkg", "clinfo", "clinfo"];
        let mut command = bench.gil(&args);
        command
            .env("GIL_CACHE", bench.path("cache"))
            .env("PATH", &path);
        let said = bench.refuses(
            &mut command,
            130,
            &["the run was ended by signal 2 (SIGINT)"],
        );
        assert_eq!(said, "gil: the run was ended by signal 2 (SIGINT)\n");
        let report = std::fs::read_to_string(bench.path("report")).unwrap();
        assert!(report.contains("\"code\": 130"), "{report}");
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

/// A calibration adds to the profile that is there, and does not spoil it.
#[test]
fn what_no_board_takes_is_not_calibrated() {
    let bench = Bench::new();
    let good = "version = 1\n[cpu]\nratio = 2.0\n";
    std::fs::write(bench.path("board.toml"), good).unwrap();
    let calibrate = |api: &str, native: &str| {
        std::fs::write(bench.path("native.txt"), native).unwrap();
        let words = "calibrate calls --native native.txt --out board.toml --api";
        let args: Vec<_> = words.split(' ').chain([api]).collect();
        bench.gil(&args)
    };
    for (api, native, word) in [
        ("opencl", "GPU\ndraw 1 2 3 4 5 6 7 0\n", "`launch` with 8"),
        ("gles", "GPU\nlaunch 1 2 3 4 5 6 7 0\n", "`draw` with 8"),
        (
            "gles",
            "GPU\ndraw 1 2 3 20000000000 5 6 7 0\n",
            "none over 10 s",
        ),
        (
            "gles",
            "GPU\ndraw 1 18446744073709551615 3 4 5 6 7 0\n",
            "none over 10 s",
        ),
    ] {
        bench.refuses(&mut calibrate(api, native), 1, &["native.txt", word]);
    }
    assert_eq!(
        std::fs::read_to_string(bench.path("board.toml")).unwrap(),
        good
    );
    let fine = calibrate("gles", "GPU\ndraw 9000 80000 3000 4000 5000 600 700 0\n").status();
    assert!(fine.unwrap().success());
    let profile = std::fs::read_to_string(bench.path("board.toml")).unwrap();
    let has_both = profile.contains("ratio = 2") && profile.contains("[calls.gles]");
    assert!(has_both, "{profile}");
    // What is not read is not taken as fine.
    let long = format!("{good}{}\nnonsense = 1\n", "#".repeat(4 << 20));
    std::fs::write(bench.path("board.toml"), &long).unwrap();
    let mut again = calibrate("gles", "GPU\ndraw 9000 80000 3000 4000 5000 600 700 0\n");
    bench.refuses(&mut again, 1, &["board.toml", "more than 4194304 bytes"]);
    let left = std::fs::metadata(bench.path("board.toml")).unwrap().len();
    assert_eq!(left, long.len() as u64);
}

/// A result that nobody gets is no success; a profile has it all the same.
#[test]
fn a_calibration_onto_a_full_disk_fails() {
    let bench = Bench::new();
    let text = "GPU\nlaunch 50000 239000 27000 2000 90000 2000 3000 0\n";
    std::fs::write(bench.path("native.txt"), text).unwrap();
    let words = "calibrate calls --native native.txt --out board.toml";
    let args: Vec<_> = words.split(' ').collect();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = bench.gil(&args);
    let output = command
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write the result"), "{said}");
    let profile = std::fs::read_to_string(bench.path("board.toml")).unwrap();
    assert!(profile.contains("launch_ns"), "{profile}");
}

/// What is said on standard output is all that these do.
#[test]
fn what_nobody_can_read_is_no_success() {
    let bench = Bench::new();
    let cache = bench.path("cache");
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["--version"],
        &["cache", "ls"],
        &["doctor"],
    ] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = bench.gil(args);
        command.env("GIL_CACHE", &cache).stdout(full);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_ne!(output.status.code(), Some(0), "{args:?}: {said}");
        assert!(said.contains("cannot write"), "{args:?}: {said}");
    }
}

/// Copies of more bytes that take less time are another program's doing: no profile has them.
#[test]
fn copies_that_were_disturbed_are_in_no_profile() {
    let bench = Bench::new();
    let calibrate = |from: u32| {
        let text = format!(
            "GPU\nlaunch 50000 239000 27000 2000 90000 2000 3000 0\nfrom 4 80000\nfrom 65536 {from}\nto 4 90000\n"
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
    let (said, profile) = calibrate(92_000);
    assert_eq!(said, "");
    assert!(
        profile.contains("from = ") || profile.contains("[copies.opencl.from]"),
        "{profile}"
    );
    // The earlier ones go, too.
    let (said, profile) = calibrate(52_000);
    assert_eq!(
        said,
        "gil: copies from the device are left out of the profile and last as on the board, since one of 65536 bytes took 2000 ns, and one of 4 bytes 30000 ns: leave the machine to the measurement, or measure more often, with `launches 4 256` there\n"
    );
    assert!(!profile.contains("65536"), "{profile}");
    assert!(
        profile.contains("launch_ns") && profile.contains("[4, 10000]"),
        "{profile}"
    );
}

/// A profile with an API that there is not would be refused later.
#[test]
fn a_model_is_of_an_api_that_there_is() {
    let bench = Bench::new();
    let words = "calibrate cores --at 1=one.txt --at 2=two.txt --fit 1 --out board.toml --api nope";
    let args: Vec<_> = words.split(' ').collect();
    let output = bench.gil(&args).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("'nope'") && said.contains("no API of that name"),
        "{said}"
    );
    assert!(!bench.path("board.toml").exists());
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
    let args = ["calibrate", "programs", "--board", "nonsense"];
    let words = ["`gil run` does not take this --board", "nonsense"];
    bench.refuses(&mut bench.gil(&args), 1, &words);
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
