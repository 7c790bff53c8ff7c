//! Runs from a recording: what differs from the recorded run ends them, and `gil trace`
//! makes one recording of several.

use gil_tests::board_machine::{BoardMachine, lacks_gpu};
use gil_tests::replayed::{Case, Replayed};
use gil_tests::scripted::Scripted;
use gil_tests::stand_in::Board;
use gil_tests::{Finished, Link, Run, binary, guest_program};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A run of the program with options of `gil run`.
fn run(options: &[&str], args: &[&str]) -> Finished {
    let program = guest_program("tests/guest/cl_replayed.c", Link::OpenCl);
    let program = program.display().to_string();
    Run::new([options, &[&program], args].concat()).finish()
}

struct Recorded {
    folder: tempfile::TempDir,
}

impl Recorded {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The recording of a run that writes this byte.
    fn run(&self, byte: &str) -> String {
        let file = self.path(byte).display().to_string();
        let recorded = run(&["--record", &file], &[byte]).ok();
        assert_eq!(recorded.stdout, format!("{byte}\n"));
        file
    }
}

/// `gil trace` with these arguments: what it prints, and its exit code.
fn trace(args: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(binary("gil")).arg("trace").args(args).output();
    let output = output.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (
        String::from_utf8(output.stdout).unwrap(),
        output.status.code(),
    )
}

/// The sentence with which a run departs from the recording ends it.
fn departs(recording: &str, args: &[&str], call: &str, clause: &str) {
    let replayed = run(&["--board", &format!("replay:{recording}")], args);
    assert_eq!(replayed.code, Some(125), "{replayed:#?}");
    assert_eq!(replayed.stdout, "", "{replayed:#?}");
    let lines = replayed.stderr.lines();
    let sentence = "gil: the run departs from the recording at call ";
    let mut sentences = lines.filter_map(|line| line.strip_prefix(sentence));
    let said = sentences.next().unwrap_or_default();
    let place = format!(" of session 1 ({call}, thread ");
    assert!(
        said.contains(&place) && said.contains(", sequence number "),
        "{replayed:#?}"
    );
    assert!(said.contains(clause), "{replayed:#?}");
    assert_eq!(sentences.next(), None, "{replayed:#?}");
}

#[test]
fn a_request_that_differs_ends_the_run_and_names_the_first_byte() {
    let recorded = Recorded::new();
    let a = recorded.run("a");
    let replay = format!("replay:{a}");
    let replayed = run(&["--board", &replay], &["a"]).ok();
    assert_eq!(replayed.stdout, "a\n");
    let clause = "byte 4321 of region 0 is 0x62 now and 0x61 in the recording; replay the run that was recorded, with the same options,";
    departs(&a, &["b"], "clEnqueueWriteBuffer", clause);
    departs(&a, &["a", "6000"], "clCreateBuffer", "of its arguments is ");
    let b = recorded.run("b");
    let (said, code) = trace(&["diff", &a, &b]);
    assert_eq!(code, Some(1), "{said}");
    let clause = "byte 4321 of region 0 is 0x61 in a and 0x62 in b\n";
    assert!(said.contains(clause), "{said}");
    assert_eq!(trace(&["diff", &a, &a]).1, Some(0));
}

/// Call sites are no requests: whether a run notes them does not matter to its recording.
#[test]
fn a_recording_is_replayed_with_call_sites_and_without() {
    let recorded = Recorded::new();
    let log = recorded.path("log").display().to_string();
    let ways: [&[&str]; 2] = [&[], &["--calls", &log, "--call-sites"]];
    for (name, way) in ["without", "with"].into_iter().zip(ways) {
        let file = recorded.path(name).display().to_string();
        run(&[&["--record", &file], way].concat(), &["a"]).ok();
        let replay = format!("replay:{file}");
        for other in ways {
            let replayed = run(&[&["--board", &replay], other].concat(), &["a"]).ok();
            assert_eq!(replayed.stdout, "a\n");
        }
    }
    let at = |name: &str| recorded.path(name).display().to_string();
    let (said, _) = trace(&["diff", &at("without"), &at("with")]);
    assert!(said.starts_with("both are of the same run: "), "{said}");
}

#[test]
fn two_recordings_as_one_serve_both_runs() {
    let recorded = Recorded::new();
    let (a, b) = (recorded.run("a"), recorded.run("b"));
    let both = recorded.path("both").display().to_string();
    assert_eq!(
        trace(&["merge", &a, &b, "--out", &both]),
        (String::new(), Some(0))
    );
    let agent = Scripted::with(&["--replay", &both]);
    for byte in ["a", "b"] {
        let replayed = run(&["--board", agent.address()], &[byte]).ok();
        assert_eq!(replayed.stdout, format!("{byte}\n"));
    }
    let more = run(&["--board", agent.address()], &["a"]);
    assert_eq!(more.code, Some(125), "{more:#?}");
    assert!(
        more.stderr
            .contains("the recording holds 2 sessions and one more was opened")
    );
}

#[test]
fn a_recording_of_a_run_is_listed_and_counted() {
    let recorded = Recorded::new();
    let a = recorded.run("a");
    let (listed, code) = trace(&["ls", &a]);
    assert_eq!(code, Some(0));
    assert!(
        listed.contains("its end is whole") && listed.contains(" closed "),
        "{listed}"
    );
    assert!(listed.contains("session 1, opencl device "), "{listed}");
    let (shown, _) = trace(&["show", "--call", "clEnqueueWriteBuffer", "--bytes=4", &a]);
    assert!(
        shown.contains("  enqueue  ") && shown.contains("2e 2e 2e 2e"),
        "{shown}"
    );
    assert!(
        shown.contains("region 0 in: 5000 bytes, the first 4"),
        "{shown}"
    );
    let (csv, _) = trace(&["stats", "--csv", &a]);
    let write = csv
        .lines()
        .find(|line| line.starts_with("clEnqueueWriteBuffer,"));
    assert!(
        write
            .unwrap()
            .starts_with("clEnqueueWriteBuffer,opencl,enqueue,1,0,50"),
        "{csv}"
    );
    assert!(Path::new(&a).exists());
}

/// The replays are the same to the nanosecond, and so is the recorded run but for how often
/// it asked the board.
#[track_caller]
fn replays_are_the_same(case: &Case) -> Replayed {
    let replayed = case.twice();
    let name = &case.name;
    assert_eq!(replayed.spread(), None, "{name}");
    let [replay, _] = &replayed.replays;
    assert!(replay.simulated.calls.len() > 10, "{name}: {replay:#?}");
    let recorded = &replayed.recorded.simulated;
    assert_eq!(recorded.stdout, replay.simulated.stdout, "{name}");
    assert_eq!(recorded.calls, replay.simulated.calls, "{name}");
    assert_eq!(recorded.total(), replay.simulated.total(), "{name}");
    replayed
}

fn quads() -> Case {
    Case::example("gles-quads", Link::Gles, &["3"])
}

#[test]
fn a_computation_is_replayed_to_the_nanosecond() {
    replays_are_the_same(&Case::example("vector-add", Link::OpenCl, &["4099"]));
}

#[test]
fn frames_are_replayed_to_the_nanosecond() {
    replays_are_the_same(&quads());
}

#[test]
fn calls_of_a_kernel_driver_are_replayed_to_the_nanosecond() {
    let board = Board::new("slot0=900000;slot1=200000", 30_000);
    replays_are_the_same(&quads().with_gpu(["--driver", "panfrost"], board.address()));
}

#[test]
fn jobs_of_a_gpus_registers_are_replayed_to_the_nanosecond() {
    let board = Board::new("", 30_000);
    replays_are_the_same(&quads().with_gpu(["--gpu", "mali-t628"], board.address()));
}

/// One file has the sessions of both boards, and each replaying board finds its own.
#[test]
fn a_run_with_two_boards_is_replayed_to_the_nanosecond() {
    let boards = [(); 2].map(|()| Scripted::with(&[]));
    let case = Case::two_boards(&boards);
    let replayed = replays_are_the_same(&case);
    let recording = replayed.recording().display().to_string();
    let (listed, _) = trace(&["ls", &recording]);
    assert!(
        listed.contains("session 1") && listed.contains("session 2"),
        "{listed}"
    );
    let board = format!("replay:{recording}");
    let options = ["--board".to_owned(), board];
    let run = Run::new(options.iter().chain(&case.program)).finish();
    assert_eq!(run.code, Some(125), "{run:#?}");
    let sentence = "had several boards: replay it with --board ";
    assert!(run.stderr.contains(sentence), "{run:#?}");
    for api in ["gles", "opencl"] {
        let option = format!("--board {api}=replay:");
        let is_there = run.stderr.contains(&option);
        assert!(is_there || api == "gles" && run.stderr.contains("--board egl=replay:"));
    }
}

/// All examples at all levels. Replays take less wall time than recordings.
#[test]
#[ignore = "takes minutes: scripts/test --long replays"]
fn everything_is_replayed_to_the_nanosecond() {
    let board = Board::new("", 30_000);
    let boards = [(); 2].map(|()| Scripted::with(&[]));
    let gpus = [
        ["--driver", "panfrost"],
        ["--driver", "lima"],
        ["--gpu", "mali-t628"],
        ["--gpu", "mali-400"],
    ];
    let on = |gpu| quads().with_gpu(gpu, board.address());
    let others = gpus.into_iter().map(on).chain([Case::two_boards(&boards)]);
    let mut wall = [Duration::ZERO; 2];
    for case in Case::examples().chain(others) {
        let replayed = replays_are_the_same(&case);
        println!("{}", replayed.line(&case.name));
        wall[0] += replayed.recorded.wall;
        wall[1] += replayed.replays[0].wall;
    }
    assert!(wall[1] < wall[0], "recording and replay took {wall:?}");
}

/// The board is a machine with a virtio GPU, whose own driver executes the calls.
#[test]
#[ignore = "takes minutes: scripts/test --long replays"]
fn calls_of_a_real_kernel_driver_are_replayed_to_the_nanosecond() {
    if let Some(what) = lacks_gpu() {
        gil_need::skip(what, "it is in Debian's qemu-system-gui");
        return;
    }
    let board = BoardMachine::with_gpu(&[], "");
    let mut case = quads().with_gpu(["--driver", "virtio_gpu"], &board.address());
    let key = board.key().display().to_string();
    let more = ["--key", &key, "--board-timeout", "600"];
    case.while_recording = more.map(String::from).into();
    replays_are_the_same(&case);
}

/// A run of the matrix multiplication that so many products of it are made in.
fn products(options: &[&str], count: &str) -> Finished {
    let program = guest_program("examples/matmul/matmul.c", Link::OpenCl);
    let program = program.display().to_string();
    Run::new([options, &[&program, count, "32"]].concat()).finish()
}

/// Its simulated time.
fn time_of(run: &Finished) -> i128 {
    run.integer("/simulated/program_ns")
}

#[test]
fn what_was_not_recorded_is_served_by_a_live_board_and_added() {
    let recorded = Recorded::new();
    let file = recorded.path("trace").display().to_string();
    let replay = format!("replay:{file}");
    let replay = ["--board", &replay];
    let first = products(&["--record", &file], "2").ok();
    assert_eq!(products(&replay, "3").code, Some(125));
    let live = [&replay[..], &["--replay-live", "local"]].concat();
    let added = products(&live, "3").ok();
    assert!(added.stdout.contains("3 products"), "{added:#?}");
    // From one file, without a board.
    for (count, run) in [("3", &added), ("2", &first)] {
        let replayed = products(&replay, count).ok();
        assert_eq!(replayed.stdout, run.stdout);
        assert_eq!(time_of(&replayed), time_of(run));
    }
    let bytes = std::fs::read(&file).unwrap();
    products(&live, "2").ok();
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "nothing is new");
    let names = std::fs::read_dir(recorded.folder.path()).unwrap();
    assert_eq!(names.count(), 1, "nothing is left beside it");
}

/// What could not be added is said before the run, once, and a run with a recording of its own goes on.
#[test]
fn a_live_board_does_not_add_to_a_recording_that_is_cut() {
    let recorded = Recorded::new();
    let [file, other] = ["trace", "other"].map(|it| recorded.path(it).display().to_string());
    products(&["--record", &file], "2").ok();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - 9);
    std::fs::write(&file, &bytes).unwrap();
    let replay = format!("replay:{file}");
    let live = ["--board", &replay, "--replay-live", "local"];
    let refused = products(&live, "3");
    assert_eq!((refused.code, &*refused.stdout), (Some(125), ""));
    let said = refused
        .stderr
        .matches("cannot be added to the recording")
        .count();
    assert!(
        said == 1 && refused.stderr.contains("--record"),
        "{refused:#?}"
    );
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    let elsewhere = products(&[&live[..], &["--record", &other]].concat(), "3").ok();
    assert!(elsewhere.stdout.contains("3 products"), "{elsewhere:#?}");
}

#[test]
fn a_run_on_a_live_board_is_recorded_elsewhere_if_so_wanted() {
    let recorded = Recorded::new();
    let [file, other] = ["trace", "other"].map(|it| recorded.path(it).display().to_string());
    products(&["--record", &file], "2").ok();
    let bytes = std::fs::read(&file).unwrap();
    let board = Scripted::with(&[]);
    let replay = format!("replay:{file}");
    let options = ["--board", &replay, "--replay-live", board.address()];
    let live = products(&[&options[..], &["--record", &other]].concat(), "3").ok();
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    let replayed = products(&["--board", &format!("replay:{other}")], "3").ok();
    assert_eq!(replayed.stdout, live.stdout);
    assert_eq!(time_of(&replayed), time_of(&live));
}

#[test]
fn a_session_that_was_not_recorded_is_served_by_a_live_board() {
    let recorded = Recorded::new();
    let file = recorded.path("trace").display().to_string();
    let program = guest_program("tests/guest/gles_and_cl.c", Link::Gles);
    let program = program.display().to_string();
    let one = ["--record", &file, &program, "both"];
    Run::new(one).finish().ok();
    let replay = format!("replay:{file}");
    let two = [
        "--board",
        &replay,
        "--replay-live",
        "local",
        &program,
        "two",
    ];
    let live = Run::new(two).finish().ok();
    let alone = ["--board", &replay, &program, "two"];
    assert_eq!(Run::new(alone).finish().ok().stdout, live.stdout);
}

#[test]
fn a_live_board_that_answers_otherwise_ends_the_run() {
    let recorded = Recorded::new();
    let file = recorded.path("trace").display().to_string();
    products(&["--record", &file], "2").ok();
    let bytes = std::fs::read(&file).unwrap();
    let mut agent = Command::new(binary("gil-board"));
    agent.env("POCL_DEVICES", "basic");
    let board = Scripted::other(agent, &[]);
    let replay = format!("replay:{file}");
    let options = ["--board", &replay, "--replay-live", board.address()];
    let run = products(&options, "3");
    assert_eq!(run.code, Some(125), "{run:#?}");
    let sentence = "in another way than the recorded board (its result)";
    assert!(run.stderr.contains(sentence), "{run:#?}");
    assert_eq!(run.stderr.matches("gil: ").count(), 1, "{run:#?}");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

#[test]
fn calls_of_a_kernel_driver_go_on_on_a_live_board() {
    let frames = guest_program("examples/gles-quads/gles-quads.c", Link::Gles);
    go_on(&frames, ["slot0=900000;slot1=200000"; 2]);
}

/// The live board's jobs last longer, or shorter: other buffers than on the recorded board
/// are in use when the program waits for one.
#[test]
fn calls_of_a_kernel_driver_go_on_on_another_live_board() {
    let jobs = guest_program("tests/guest/panfrost_two.c", Link::Static);
    let [long, short] = ["slot0=200000000;slot1=1000", "slot0=1000;slot1=1000"];
    go_on(&jobs, [long, short]);
    go_on(&jobs, [short, long]);
}

/// A run of 2 rounds is recorded on a board whose jobs take the first times; one of 4 goes
/// on from it on a board whose jobs take the second.
fn go_on(program: &Path, times: [&str; 2]) {
    let recorded = Recorded::new();
    let file = recorded.path("trace").display().to_string();
    let [board, live] = times.map(|times| Board::new(times, 30_000));
    let program = program.display().to_string();
    let run = |options: &[&str], rounds: &str| {
        let driver = ["--driver", "panfrost"];
        let run = Run::new([options, &driver, &[&program, rounds]].concat());
        run.finish().ok()
    };
    run(&["--board", board.address(), "--record", &file], "2");
    let replay = format!("replay:{file}");
    let replay = ["--board", &replay];
    let live = ["--replay-live", live.address()];
    let live = run(&[&replay[..], &live].concat(), "4");
    let alone = run(&replay, "4");
    assert_eq!(alone.stdout, live.stdout);
    assert_eq!(time_of(&alone), time_of(&live));
}

/// A recording is not overwritten by the run that answers from it before it was read.
#[test]
fn a_run_may_be_recorded_over_the_recording_that_it_answers_from() {
    let recorded = Recorded::new();
    let a = recorded.run("a");
    let replay = format!("replay:{a}");
    run(&["--board", &replay, "--record", &a], &["a"]).ok();
    let replayed = run(&["--board", &replay], &["a"]).ok();
    assert_eq!(replayed.stdout, "a\n");
}

#[test]
fn a_live_board_is_for_recordings() {
    let run = run(&["--replay-live", "local"], &["a"]);
    assert_eq!(run.code, Some(125), "{run:#?}");
    assert!(run.stderr.contains("add --board replay:FILE"), "{run:#?}");
}

/// A recording by another name (a hard link) is the same recording.
#[test]
fn no_file_of_the_run_takes_the_place_of_what_it_answers_from() {
    let recorded = Recorded::new();
    let file = recorded.run("a");
    let before = std::fs::read(&file).unwrap();
    let (board, other) = (format!("replay:{file}"), format!("{file}-other"));
    std::fs::hard_link(&file, &other).unwrap();
    let replayed = run(&["--board", &board, "--record", &other], &["a"]).ok();
    assert_eq!(replayed.stdout, "a\n");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    for calls in [&file, &other] {
        let refused = run(&["--board", &board, "--calls", calls], &["a"]);
        assert_eq!(refused.code, Some(125), "{refused:#?}");
        assert!(refused.stderr.contains("are the same file"), "{refused:#?}");
        assert_eq!(std::fs::read(calls).unwrap(), before);
    }
    let new = format!("{file}-new");
    let refused = run(&["--record", &new, "--calls", &new], &["a"]);
    assert_eq!(refused.code, Some(125), "{refused:#?}");
}
