//! What a program enqueued last and does not wait for is executed like the rest,
//! however it exits; where it does not exit, it is dropped without a word.

use gil_files::container::{HEADER_LEN, read_all};
use gil_files::recording::{self, Record};
use gil_tests::{Finished, Link, Run, guest_program};
use gil_wire::generated::opencl::CL_ENQUEUE_ND_RANGE_KERNEL;
use std::path::Path;

fn leaves(how: &str, trace: &Path) -> Finished {
    let program = guest_program("tests/guest/cl_leaves.c", Link::OpenCl);
    let (program, trace) = (program.display().to_string(), trace.display().to_string());
    let run = Run::new(["--record", &trace, &program, how]).finish();
    assert!(!run.stderr.contains("refused"), "{how}: {run:#?}");
    run
}

/// How many launches the report counts.
fn counted(run: &Finished) -> u64 {
    let entries = run.report["entries"].as_array().expect("a list");
    let launches = entries
        .iter()
        .find(|entry| entry["name"] == "clEnqueueNDRangeKernel");
    launches.map_or(0, |entry| entry["count"].as_u64().expect("a number"))
}

/// How many the recording has.
fn recorded(path: &Path) -> u64 {
    let bytes = std::fs::read(path).unwrap();
    let mut count = 0;
    for (stored, _) in read_all(&mut &bytes[HEADER_LEN..]).unwrap() {
        if let Some(Record::Call(called)) = recording::record(&stored).unwrap() {
            count += u64::from(called.call.op == CL_ENQUEUE_ND_RANGE_KERNEL);
        }
    }
    count
}

#[test]
fn what_is_enqueued_last_is_executed() {
    for how in ["return", "exit", "thread", "first-handler", "last-handler"] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let run = leaves(how, file.path());
        assert_eq!(run.code, Some(0), "{how}: {run:#?}");
        let found = (counted(&run), recorded(file.path()));
        assert_eq!(found, (10, 10), "{how}: {run:#?}");
    }
}

#[test]
fn who_does_not_exit_leaves_it_behind() {
    for (how, code) in [("_exit", 0), ("signal", 137)] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let run = leaves(how, file.path());
        assert_eq!(run.code, Some(code), "{how}: {run:#?}");
        let found = (counted(&run), recorded(file.path()));
        assert_eq!(found, (5, 5), "{how}: {run:#?}");
    }
}
