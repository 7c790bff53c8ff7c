//! Calibrations from files that programs wrote elsewhere: `gil calibrate cores` and `calls`.

#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use common::{Bench, succeeds};
use std::fs;
use std::process::{Command, Stdio};

/// What a program of two kernels writes on so many cores: one is spread over them, the other is not.
fn times(device: &str, cores: u32) -> String {
    let spread = 8_000_000 / cores;
    let mut text = format!("{device}\n");
    for more in 0..3 {
        let spread = spread + more * 100;
        text += &format!("spread {} {spread} 1 1234\n", spread + 5_000);
        text += &format!("alone {} {} 1 5678\n", 405_000, 400_000 + more);
    }
    text
}

/// `gil calibrate cores` with the files of 8, 4 and 1 cores.
fn cores(bench: &Bench, files: [&str; 3], out: &str) -> Command {
    let at = [8, 4, 1].into_iter().zip(files);
    let at = at.flat_map(|(cores, file)| ["--at".into(), format!("{cores}={file}")]);
    let mut args = vec!["calibrate".to_owned(), "cores".into()];
    args.extend(at);
    args.extend(["--fit", "8", "--fit", "1", "--out", out].map(String::from));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    bench.gil(&args)
}

fn with_files(device: &str) -> Bench {
    let bench = Bench::new();
    for cores in [8, 4, 1] {
        fs::write(bench.path(&format!("{cores}.txt")), times(device, cores)).unwrap();
    }
    bench
}

const FILES: [&str; 3] = ["8.txt", "4.txt", "1.txt"];

/// Parts of a device add what they are behind a comma; another device is another one.
#[test]
fn a_law_is_of_one_device() {
    let bench = with_files("GPU H, 8 multiprocessors");
    fs::write(bench.path("1.txt"), times("GPU H, 1 multiprocessor", 1)).unwrap();
    succeeds(&mut cores(&bench, FILES, "board.toml"));
    fs::write(bench.path("4.txt"), times("GPU I, 4 multiprocessors", 4)).unwrap();
    let words = [
        "4.txt",
        "\"GPU I, 4 multiprocessors\"",
        "\"GPU H, 8 multiprocessors\"",
    ];
    bench.refuses(&mut cores(&bench, FILES, "other.toml"), 1, &words);
    assert!(!bench.path("other.toml").exists());
}

/// Programs of the same name that did other work have no law in common.
#[test]
fn a_law_is_of_one_program() {
    let bench = with_files("a GPU");
    let other = times("a GPU", 4).replace(" 1234", " 4321");
    fs::write(bench.path("4.txt"), other).unwrap();
    let words = ["4.txt", "spread did something else there"];
    bench.refuses(&mut cores(&bench, FILES, "board.toml"), 1, &words);
}

/// A profile's other parts are of its board's cores.
#[test]
fn a_profile_of_other_cores_is_not_given_parts() {
    let bench = with_files("a GPU");
    let own = "version = 1\n[board]\ncores = 16\n[parts.gles]\ngpu = 0.5\n";
    fs::write(bench.path("board.toml"), own).unwrap();
    let words = ["board.toml", "cores = 16", "of 8 at most", "--out"];
    bench.refuses(&mut cores(&bench, FILES, "board.toml"), 1, &words);
    assert_eq!(fs::read_to_string(bench.path("board.toml")).unwrap(), own);
    let same = own.replace("16", "8");
    fs::write(bench.path("board.toml"), same).unwrap();
    succeeds(&mut cores(&bench, FILES, "board.toml"));
    let profile = fs::read_to_string(bench.path("board.toml")).unwrap();
    let has_both = profile.contains("[parts.gles]") && profile.contains("[parts.opencl]");
    assert!(has_both, "{profile}");
}

/// Calibrations at once add to one profile, and none is lost.
#[test]
fn calibrations_at_once_all_reach_the_profile() {
    let bench = with_files("a GPU");
    let launch = "a GPU\nlaunch 50000 239000 27000 2000 90000 2000 3000 0\n";
    fs::write(bench.path("calls.txt"), launch).unwrap();
    let draw = "a GPU\ndraw 9000 80000 3000 4000 5000 600 700 0\n";
    fs::write(bench.path("draws.txt"), draw).unwrap();
    let calls = |api: &str, file: &str| {
        let words = ["calibrate", "calls", "--api", api, "--native", file];
        let mut command = bench.gil(&words);
        command.args(["--out", "board.toml"]);
        command
    };
    for _ in 0..10 {
        let all = [
            calls("opencl", "calls.txt"),
            calls("gles", "draws.txt"),
            cores(&bench, FILES, "board.toml"),
        ];
        let children = all.map(|mut command| {
            let command = command.stdout(Stdio::null()).stderr(Stdio::inherit());
            command.spawn().unwrap()
        });
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let profile = fs::read_to_string(bench.path("board.toml")).unwrap();
        for part in ["[calls.opencl]", "[calls.gles]", "[parts.opencl]"] {
            assert!(profile.contains(part), "{part} is not in {profile}");
        }
        fs::remove_file(bench.path("board.toml")).unwrap();
    }
}
