//! A governor in the guest: the GPU's clock by the driver's files.

use gil_tests::{Finished, Link, Run, guest_program};
use std::path::Path;

/// A profile whose GPU does so much of an operation's time.
fn profile(at: &Path, gpu: f64) -> String {
    let path = at.join(format!("{gpu}.toml"));
    let text = format!(
        "version = 1\n[board]\ngpu_mhz = 600\n[parts.opencl]\ngpu = {gpu}\n\
         [guest_governor]\ngpu_mhz = [300, 600]\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

/// What stands behind a name in the program's output.
fn said<'a>(run: &'a Finished, name: &str) -> Vec<&'a str> {
    let lines = run.stdout.lines();
    lines.filter_map(|line| line.strip_prefix(name)).collect()
}

fn lasted_ns(run: &Finished, name: &str) -> u64 {
    said(run, name)[0].parse().unwrap()
}

#[test]
fn what_begins_after_the_guest_sets_the_clock_lasts_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = guest_program("tests/guest/cl_governor.c", Link::OpenCl);
    let program = program.to_str().unwrap();
    let trace = folder.path().join("trace");
    let trace = trace.to_str().unwrap();
    // The clock changes nothing here: both lasted as long as on the board.
    let board = profile(folder.path(), 0.0);
    let run = |args: [&str; 4]| Run::new(args.into_iter().chain([program])).finish().ok();
    let on_board = run(["--board-profile", &board, "--record", trace]);
    let target = profile(folder.path(), 1.0);
    let replay = format!("replay:{trace}");
    let run = run(["--board-profile", &target, "--board", &replay]);
    let [first, second] = ["first: ", "second: "].map(|name| lasted_ns(&run, name));
    assert_eq!(first, lasted_ns(&on_board, "first: "));
    assert_eq!(second, 2 * lasted_ns(&on_board, "second: "));
    assert_eq!(
        said(&run, "available_frequencies: "),
        ["300000000 600000000"]
    );
    assert_eq!(said(&run, "cur_freq: "), ["600000000", "300000000"]);
    assert_eq!(said(&run, "userspace/set_freq: "), ["300000000"]);
    let refused = [
        "\"450000000\": EINVAL",
        "\"0\": EINVAL",
        "\"-1\": EINVAL",
        "\"fast\": EINVAL",
    ];
    // Nothing is written by a write of nothing.
    let rest = ["\"\": done", "\"300000000\": done"];
    assert_eq!(said(&run, "set "), [&refused[..], &rest[..]].concat());
}

#[test]
fn without_rates_in_the_profile_the_clock_is_not_the_guests() {
    let program = guest_program("tests/guest/cl_governor.c", Link::OpenCl);
    let run = Run::new([program]).finish().ok();
    assert_eq!(said(&run, "cur_freq: "), ["EOPNOTSUPP"; 2]);
    assert!(said(&run, "set ").contains(&"\"300000000\": EOPNOTSUPP"));
}
