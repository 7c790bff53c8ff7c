//! OpenGL ES and EGL: a program of the guest draws on the board, and gets what it gets on
//! this machine from the same driver.

use gil_tests::coverage::{LIST_CALLS, called, covers};
use gil_tests::{
    Finished, GLES_LIBRARIES, Link, Run, Width, both_widths, guest_program_of, native_program_with,
};
use std::ffi::OsStr;
use std::process::Command;

/// What a program prints on this machine.
fn natively(source: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let libraries = GLES_LIBRARIES.map(OsStr::new);
    let program = native_program_with(source, folder.path(), &libraries);
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{source} natively: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What puts gil's own libraries in the places of GLVND's.
fn without_glvnd(width: Width) -> Vec<String> {
    let mut options = ["--env", "LD_LIBRARY_PATH=/direct"]
        .map(String::from)
        .to_vec();
    for library in [gil_guest_names::EGL, gil_guest_names::GLES] {
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
    let program = guest_program_of(width, &source, Link::Gles)
        .display()
        .to_string();
    let options = options.iter().map(String::as_str);
    let run = Run::new(options.chain([program.as_str()])).finish().ok();
    assert_eq!(run.stdout, natively(&source), "{}", run.stderr);
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

    fn threads_share_objects(width: Width) {
        same(width, "gles_threads");
    }

    fn a_system_without_glvnd_has_the_same(width: Width) {
        is_the_same(width, "gles_pbuffer", &without_glvnd(width));
    }
}
