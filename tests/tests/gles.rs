//! OpenGL ES and EGL: a program of the guest draws on the board, and gets what it gets on
//! this machine from the same driver.

use gil_tests::coverage::{LIST_CALLS, called, covers};
use gil_tests::scripted::Scripted;
use gil_tests::{Finished, Link, Run, Width, both_widths, guest_program_of, native_program_with};
use std::ffi::OsStr;
use std::process::Command;

/// The examples that draw.
const EXAMPLES: [&str; 5] = [
    "gles-quads",
    "gles-shape",
    "gles-fog",
    "gles-rubik",
    "gles1-fog",
];

/// What a program is linked with, by its name.
fn link(source: &str) -> Link {
    match source.contains("gles1") {
        true => Link::Gles1,
        false => Link::Gles,
    }
}

/// What a program prints on this machine.
fn natively(source: &str, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let libraries: Vec<_> = link(source).libraries().iter().map(OsStr::new).collect();
    let program = native_program_with(source, folder.path(), &libraries);
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{source} natively: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What puts gil's own libraries in the places of GLVND's.
fn without_glvnd(width: Width) -> Vec<String> {
    let mut options = ["--env", "LD_LIBRARY_PATH=/direct"]
        .map(String::from)
        .to_vec();
    use gil_guest_names::{EGL, GLES, GLES1};
    for library in [EGL, GLES, GLES1] {
        let loader = library.loader.expect("GLVND has one").file;
        let file = width.library(library.file);
        options.extend([
            "--file".into(),
            format!("{}:/direct/{loader}", file.display()),
        ]);
    }
    options
}

/// In the guest, with these options, a program prints what it prints here.
fn is_the_same(width: Width, name: &str, options: &[String]) -> Finished {
    let source = format!("tests/guest/{name}.c");
    let program = guest_program_of(width, &source, link(&source))
        .display()
        .to_string();
    let options = options.iter().map(String::as_str);
    let run = Run::new(options.chain([program.as_str()])).finish().ok();
    assert_eq!(run.stdout, natively(&source, &[]), "{}", run.stderr);
    run
}

/// Through GLVND's libraries, which a program that is linked with them brings.
fn same(width: Width, name: &str) {
    let run = is_the_same(width, name, &LIST_CALLS.map(String::from));
    covers(name, &called(&run.report));
}

both_widths! {
    fn a_program_draws_what_it_draws_natively(width: Width) {
        same(width, "gles_pbuffer");
    }

    fn so_does_one_of_version_3(width: Width) {
        same(width, "gles3_pbuffer");
    }

    fn so_does_one_of_version_3_2(width: Width) {
        same(width, "gles32_pbuffer");
    }

    fn so_does_what_only_conformance_tests_look_at(width: Width) {
        is_the_same(width, "gles_strict", &[]);
    }

    fn so_does_one_that_reads_and_sends_pictures_in_unusual_ways(width: Width) {
        is_the_same(width, "gles_pixels", &[]);
    }

    fn so_does_one_of_version_1(width: Width) {
        same(width, "gles1_pbuffer");
    }

    fn fences_and_reusable_syncs_are_waited_for(width: Width) {
        same(width, "egl_syncs");
    }

    fn threads_share_objects(width: Width) {
        same(width, "gles_threads");
    }

    fn a_system_without_glvnd_has_the_same(width: Width) {
        for name in ["gles_pbuffer", "gles1_pbuffer"] {
            is_the_same(width, name, &without_glvnd(width));
        }
    }
}

/// An example in the guest, with so many frames.
fn example(name: &str, frames: &str) -> Finished {
    let source = format!("examples/{name}/{name}.c");
    let program = guest_program_of(Width::Arm64, &source, link(&source))
        .display()
        .to_string();
    Run::new([program.as_str(), frames]).finish().ok()
}

#[test]
fn every_frame_of_the_examples_is_what_it_is_natively() {
    for name in EXAMPLES {
        let source = format!("examples/{name}/{name}.c");
        let run = example(name, "200");
        assert_eq!(run.stdout, natively(&source, &["200"]), "{}", run.stderr);
        let last = run.stdout.lines().next_back().unwrap_or_default();
        assert!(last.starts_with(&format!("{name}: PASS, ")), "{last}");
        assert_eq!(run.stdout.lines().count(), 202);
    }
}

/// A frame is drawn, read and swapped: more goes to the board only where arrays of the
/// program's memory do.
#[test]
fn a_frame_of_the_examples_takes_three_requests_at_most() {
    for name in EXAMPLES {
        let [few, many] = ["10", "50"].map(|frames| example(name, frames));
        let requests = |run: &Finished| run.integer("/totals/doorbells");
        let each = (requests(&many) - requests(&few)) as f64 / 40.0;
        assert!(each <= 3.0, "{name}: {each} requests a frame");
    }
}

/// An example with these options in front, and so many frames.
fn example_with(options: &[&str], name: &str, frames: &str) -> Finished {
    let source = format!("examples/{name}/{name}.c");
    let program = guest_program_of(Width::Arm64, &source, link(&source))
        .display()
        .to_string();
    let all = options.iter().copied();
    Run::new(all.chain([program.as_str(), frames]))
        .finish()
        .ok()
}

/// What a piece of work takes on a board in simulated time, where a test says it.
const WORK_NS: i128 = 5_000_000;

/// Ten frames on a board whose calls take no time, and whose every piece of work takes
/// [`WORK_NS`].
fn with_known_times(source: &str, gl_time: &str) -> Finished {
    let board = Scripted::start(0, WORK_NS as u64);
    let program = guest_program_of(Width::Arm64, source, Link::Gles);
    let program = program.display().to_string();
    let options = ["--board", board.address(), "--gl-time", gl_time];
    Run::new(options.into_iter().chain([&*program, "10"]))
        .finish()
        .ok()
}

#[test]
fn a_report_has_the_frames_between_swaps() {
    let run = with_known_times("examples/gles-shape/gles-shape.c", "program");
    assert_eq!(run.report["finish"], "program");
    assert_eq!(run.report["frames"].as_array().map(Vec::len), Some(1));
    let frames = |what: &str| run.integer(&format!("/frames/0/{what}"));
    assert_eq!(frames("count"), 9, "what is before the first is none");
    assert_eq!(frames("forwards"), 2 * 9, "the picture, and the swap");
    // A matrix, a clear, a draw, the picture, the swap.
    assert_eq!(frames("calls"), 5 * 9);
    assert!(frames("bytes_from_board") > 9 * 256 * 192 * 4);
    let [mean, half, most, longest] =
        ["mean_ns", "p50_ns", "p95_ns", "max_ns"].map(|name| frames(&format!("time/{name}")));
    assert!(
        half <= most && most <= longest && mean <= longest,
        "{run:#?}"
    );
    // The picture comes behind the swap before, and what was drawn since.
    assert!((2 * WORK_NS..3 * WORK_NS).contains(&half), "{half}");
    let slowest = run.report["frames"][0]["slowest"].as_array().unwrap();
    let names: Vec<_> = slowest.iter().map(|call| call["name"].as_str()).collect();
    for name in ["eglSwapBuffers", "glReadPixels", "glDrawElements"] {
        assert!(names.contains(&Some(name)), "{names:?}");
    }
}

#[test]
fn swaps_wait_for_what_was_drawn_if_asked() {
    let [program, frame] =
        ["program", "frame"].map(|gl_time| with_known_times("tests/guest/gles_frames.c", gl_time));
    let half = |run: &Finished| run.integer("/frames/0/time/p50_ns");
    assert_eq!(frame.report["finish"], "frame");
    assert!(half(&program) < WORK_NS / 5, "{}", half(&program));
    let waited = half(&frame);
    assert!((WORK_NS..WORK_NS * 6 / 5).contains(&waited), "{waited}");
    for run in [program, frame] {
        // Ten frames, and what is before the program's last wait.
        assert_eq!(run.integer("/simulated/gpu_ns"), 11 * WORK_NS);
        assert!(run.integer("/simulated/program_ns") >= 11 * WORK_NS);
    }
}

#[test]
fn every_call_lasts_until_it_is_done_if_asked() {
    let run = example_with(&["--gl-time", "call"], "gles-fog", "10");
    assert_eq!(run.report["finish"], "call");
    let entries = run.report["entries"].as_array().unwrap();
    let draw = entries
        .iter()
        .find(|entry| {
            entry["name"]
                .as_str()
                .is_some_and(|name| name.starts_with("glDraw"))
        })
        .unwrap();
    // Rasterizing is a draw's, not that of the call that waits.
    let read = entries.iter().find(|entry| entry["name"] == "glReadPixels");
    let gpu = read.unwrap()["gpu_ns"].as_u64().unwrap();
    let draws = draw["board_cpu_ns"].as_u64().unwrap();
    assert!(draws > 10 * gpu, "{draws} {gpu}");
}

/// The same bytes, and the same simulated time, from a recording.
#[test]
fn a_recording_draws_the_same_frames_in_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("run.trace").display().to_string();
    let replay = format!("replay:{trace}");
    for name in EXAMPLES {
        let recorded = example_with(&["--record", &trace], name, "20");
        let replayed = example_with(&["--board", &replay], name, "20");
        assert_eq!(recorded.stdout, replayed.stdout);
        for what in ["/simulated", "/frames", "/entries"] {
            let [one, other] = [&recorded, &replayed].map(|run| run.report.pointer(what).cloned());
            let times = |of: Option<serde_json::Value>| without_wall_times(of.unwrap());
            assert_eq!(times(one), times(other), "{name}: {what}");
        }
    }
    let other = run_of_another(&replay);
    assert_eq!(other.code, Some(125), "{other:#?}");
    let sentence = "gil: the run departs from the recording at call ";
    assert!(other.stderr.contains(sentence), "{other:#?}");
}

/// One example on the recording of another.
fn run_of_another(replay: &str) -> Finished {
    let source = "examples/gles-quads/gles-quads.c";
    let program = guest_program_of(Width::Arm64, source, Link::Gles)
        .display()
        .to_string();
    Run::new(["--board", replay, &program, "20"]).finish()
}

/// Numbers of processes and wall times differ from run to run.
fn without_wall_times(mut value: serde_json::Value) -> serde_json::Value {
    for part in value.as_array_mut().into_iter().flatten() {
        for name in ["wall_ns", "process", "thread"] {
            part.as_object_mut().map(|part| part.remove(name));
        }
    }
    value
}
