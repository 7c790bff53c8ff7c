//! What calls cost in the guest. QEMU counts instructions exactly, so these are
//! bounds and no estimates.

use gil_tests::cost::{Row, measure, measure_cuda, measure_gles};

/// Of a forwarded call that waits for its answer, without regions and delay.
const ANSWER_MAX: u64 = 3_100;
/// Of each call of a batch of 64, with its share of the doorbell.
const POST_MAX: u64 = 800;
/// Of a launch with a callback, one of 64, with its share of the wake-ups and doorbells.
const CALLBACK_MAX: u64 = 6_000;

#[test]
fn calls_stay_within_their_instructions() {
    let rows = measure();
    let bound = |row: &Row| match row.kind.as_str() {
        "answer" => Some(ANSWER_MAX),
        "post" => Some(POST_MAX),
        "callback" => Some(CALLBACK_MAX),
        _ => None,
    };
    for kind in ["answer", "post", "callback"] {
        assert!(rows.iter().any(|row| row.kind == kind), "{rows:#?}");
    }
    let over = rows
        .iter()
        .filter(|row| bound(row).is_some_and(|max| row.instructions > max));
    assert_eq!(over.count(), 0, "{rows:#?}");
}

/// Of each call of OpenGL ES that travels in a batch, with its share of the doorbells.
const BATCHED_MAX: u64 = 310;
/// Those that have more to write, or to remember.
const LARGER: [(&str, u64); 9] = [
    ("glUniformMatrix4fv", 320),
    ("glDrawArraysInstanced", 325),
    ("glBindBufferBase", 340),
    ("glDrawElements", 350),
    ("glDrawElementsInstanced", 365),
    ("glBindBufferRange", 365),
    ("glDrawRangeElements", 370),
    ("glVertexAttribIPointer", 440),
    ("glVertexAttribPointer", 440),
];

#[test]
fn batched_calls_of_opengl_es_stay_within_their_instructions() {
    let rows = measure_gles();
    let batched = rows.iter().filter(|row| row.kind == "batched");
    assert!(batched.clone().count() > 55, "{rows:#?}");
    for row in batched {
        let larger = LARGER.iter().find(|(name, _)| *name == row.name);
        let max = larger.map_or(BATCHED_MAX, |(_, max)| *max);
        assert!(row.instructions <= max, "{row:?}");
    }
}

/// Of a launch of CUDA's with up to eight parameters, one of a thousand equal ones.
const LAUNCH_MAX: u64 = 700;
/// Of a copy of 800 KiB that waits, of registered memory in pieces: the driver names none of them.
const REGISTERED_MAX: u64 = 6_000;
/// Of `cuEventRecord`.
const RECORD_MAX: u64 = 1_200;

#[test]
fn launches_of_cuda_stay_within_their_instructions() {
    let rows = measure_cuda();
    for (kind, max, least) in [
        ("launch", LAUNCH_MAX, 3),
        ("large", LAUNCH_MAX, 1),
        ("batched", RECORD_MAX, 1),
        ("registered", REGISTERED_MAX, 2),
    ] {
        let of = rows.iter().filter(|row| row.kind == kind);
        assert!(of.clone().count() >= least, "{rows:#?}");
        let over = of.filter(|row| row.instructions > max);
        assert_eq!(over.count(), 0, "{rows:#?}");
    }
}
