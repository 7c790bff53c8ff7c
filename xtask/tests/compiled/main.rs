//! Compiles the golden files of EGL, OpenGL ES and CUDA against doubles of the
//! hand-written support code, and looks at what the generated tables say.
#![allow(missing_docs, non_snake_case, dead_code)]

mod board_double;
mod cuda;
mod egl;
mod gles;
mod guest_double;

use gil_wire::Op;
use gil_wire::call::{Handle, InData};

#[test]
fn dispatch_knows_what_is_forwarded() {
    assert!(egl::dispatch::dispatch(egl::wire::EGL_CHOOSE_CONFIG).is_some());
    assert!(
        egl::dispatch::dispatch(egl::wire::EGL_WAIT_NATIVE).is_none(),
        "not supported"
    );
    assert!(
        egl::dispatch::dispatch(Op::new(102, 1)).is_none(),
        "another API"
    );
    assert!(gles::dispatch::dispatch(gles::wire::GL_DRAW_ELEMENTS).is_some());
    assert!(cuda::dispatch::dispatch(cuda::wire::CU_LAUNCH_KERNEL).is_some());
    assert!(cuda::dispatch::dispatch(Op::new(103, 999)).is_none());
}

#[test]
fn names_and_numbers_agree() {
    let calls = gles::wire::CALLS;
    assert!(calls.is_sorted_by_key(|call| call.entry));
    let found = calls.iter().find(|call| call.name == "glShaderSource");
    assert_eq!(
        found.map(|call| call.entry),
        Some(gles::wire::GL_SHADER_SOURCE.entry())
    );
}

#[test]
fn wire_types_round_trip() {
    let args = gles::wire::GlDrawElementsArgs {
        current: Handle(3),
        mode: 4,
        count: 6,
        r#type: 0x1403,
        indices: gles::wire::Source::Data(InData::Inline(b"abc")),
    };
    let bytes = postcard::to_stdvec(&args).unwrap();
    assert_eq!(postcard::from_bytes(&bytes), Ok(args));
}
