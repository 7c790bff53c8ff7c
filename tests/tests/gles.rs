//! OpenGL ES and EGL: a program of the guest draws on the board, and gets what it gets on
//! this machine from the same driver.

use gil_tests::coverage::{LIST_CALLS, called, covers};
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
