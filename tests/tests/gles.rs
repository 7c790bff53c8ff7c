//! OpenGL ES and EGL: a program of the guest draws on the board, and gets what it gets on
//! this machine from the same driver.

use gil_tests::coverage::{LIST_CALLS, called, covers};
use gil_tests::{
    GLES_LIBRARIES, Link, Run, Width, both_widths, guest_program_of, native_program_with,
};
use std::ffi::OsStr;
use std::process::Command;

const PBUFFER: &str = "tests/guest/gles_pbuffer.c";

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

both_widths! {
    /// Through GLVND's libraries, which a program that is linked with them brings.
    fn a_program_draws_what_it_draws_natively(width: Width) {
        let program = guest_program_of(width, PBUFFER, Link::Gles).display().to_string();
        let options = LIST_CALLS.into_iter().chain([program.as_str()]);
        let run = Run::new(options).finish().ok();
        assert_eq!(run.stdout, natively(PBUFFER));
        if width == Width::Arm64 {
            covers("gles_pbuffer", &called(&run.report));
        }
    }

    fn a_system_without_glvnd_has_the_same(width: Width) {
        let program = guest_program_of(width, PBUFFER, Link::Gles).display().to_string();
        let mut options = without_glvnd(width);
        options.push(program);
        let run = Run::new(options).finish().ok();
        assert_eq!(run.stdout, natively(PBUFFER));
    }
}
