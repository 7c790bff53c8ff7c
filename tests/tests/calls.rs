//! The log of calls of real programs: its sums are the report's, and `gil report` shows it.

use gil_files::calls::{Reader, Row};
use gil_tests::{Link, Run, binary, guest_program};
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// The rows, and whether the run ended.
fn rows(path: &Path) -> (Vec<Row>, bool) {
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let mut all = Vec::new();
    while let Some(rows) = reader.rows().unwrap() {
        all.extend(rows);
    }
    (all, reader.finished().is_some())
}

/// Logs an example's calls; its report and its log agree, and so does what is printed.
fn logged(name: &str, link: Link, args: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.calls");
    let program = guest_program(&format!("examples/{name}/{name}.c"), link);
    let program = program.display().to_string();
    let path = log.display().to_string();
    let all = [&["--calls", &path, &program], args].concat();
    let run = Run::new(all).finish().ok();
    let (rows, is_whole) = rows(&log);
    assert!(is_whole);
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).map(i128::from).sum::<i128>();
    for (pointer, found) in [
        ("/totals/calls", sum(|row| row.is_call().into())),
        ("/totals/bytes_to_board", sum(|row| row.bytes_to_board)),
        ("/totals/bytes_from_board", sum(|row| row.bytes_from_board)),
        ("/simulated/gpu_ns", sum(|row| row.gpu_ns().unwrap_or(0))),
        ("/simulated/board_cpu_ns", sum(|row| row.board_cpu_ns)),
    ] {
        assert_eq!(run.integer(pointer), found, "{name}: {pointer}");
    }
    let began_ns = run.integer("/simulated/boot_ns");
    let ended_ns = began_ns + run.integer("/simulated/program_ns");
    for row in rows.iter().filter(|row| row.is_call()) {
        assert!(i128::from(row.called_ns) >= began_ns, "{row:?}");
        assert!(i128::from(row.returned_ns) <= ended_ns, "{row:?}");
        assert!(row.called_ns <= row.returned_ns, "{row:?}");
        let interval = row.operation.and_then(|it| it.interval);
        assert!(
            interval.is_none_or(|it| it.start_ns <= it.end_ns),
            "{row:?}"
        );
    }
    let printed = Command::new(binary("gil")).arg("report").arg(&log).output();
    let printed = String::from_utf8(printed.unwrap().stdout).unwrap();
    let count = format!(" {} ", run.integer("/totals/calls"));
    assert!(
        printed.contains("100.0 %") && printed.contains(&count),
        "{printed}"
    );
}

#[test]
fn opencl() {
    logged("n-body", Link::OpenCl, &["67", "4"]);
}

#[test]
fn gles() {
    logged("gles-quads", Link::Gles, &["5"]);
}
