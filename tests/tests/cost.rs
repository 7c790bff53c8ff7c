//! What calls cost in the guest. QEMU counts instructions exactly, so these are
//! bounds and no estimates.

use gil_tests::cost::{Row, measure};

/// Of a forwarded call that waits for its answer, without regions and delay.
const ANSWER_MAX: u64 = 3_000;
/// Those that take more, and what they may take.
const LONGER_ANSWERS: [(&str, u64); 3] = [
    ("clGetKernelWorkGroupInfo", 3_200),
    ("clGetEventInfo, status of an event not set", 3_200),
    ("clEnqueueNDRangeKernel, of a new size", 4_000),
];
/// Of each argument set in a batch of 64, with its share of the doorbell.
const ARGUMENT_MAX: u64 = 800;
/// Of each call of a batch with launches in it. The aim is 800.
const LAUNCH_MAX: u64 = 2_000;

#[test]
fn calls_stay_within_their_instructions() {
    let rows = measure();
    let longer = |name: &str| LONGER_ANSWERS.iter().find(|(found, _)| *found == name);
    let bound = |row: &Row| match row.kind.as_str() {
        "answer" => Some(longer(&row.name).map_or(ANSWER_MAX, |(_, max)| *max)),
        "post" if row.name.contains("clEnqueueNDRangeKernel") => Some(LAUNCH_MAX),
        "post" => Some(ARGUMENT_MAX),
        _ => None,
    };
    for kind in ["answer", "post"] {
        assert!(rows.iter().any(|row| row.kind == kind), "{rows:#?}");
    }
    let over = rows
        .iter()
        .filter(|row| bound(row).is_some_and(|max| row.instructions > max));
    assert_eq!(over.count(), 0, "{rows:#?}");
}
