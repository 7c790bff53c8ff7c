//! The log of calls: what its rows say, and that their sums are the report's.

mod support;

use gil_files::calls::{Interval, Kind, Reader, Row};
use gil_host::Config;
use gil_host::config::Time;
use gil_report::Report;
use gil_uapi::Status;
use gil_wire::call::{Handle, InData};
use gil_wire::control::{MODULES, Module, Modules};
use gil_wire::envelope::{Class, Envelope};
use gil_wire::generated::opencl as cl;
use std::path::Path;
use support::board::{Act, Call, FakeBoard, Later};
use support::guest::{DATA, Guest, IN, OUT, call, config, enqueue};

const OK: u32 = Status::Ok as u32;

/// Each call takes 7 ns of CPU, each operation 300 ns, whenever it is asked for.
fn act(call: &Call) -> Act {
    let out = vec![vec![1; 4]];
    let Some(event) = call.event else {
        let cpu_ns = 7;
        return Act {
            cpu_ns,
            ..Act::default()
        };
    };
    let later = Later {
        event,
        duration_ns: 300,
        out: if call.args == b"read" {
            out.clone()
        } else {
            vec![]
        },
        ..Later::default()
    };
    let is_now = call.answer && call.finish;
    Act {
        cpu_ns: 7,
        reports: match is_now {
            true => vec![(event, 300, later.out.clone())],
            false => vec![],
        },
        later: if is_now { vec![] } else { vec![later] },
        ..Act::default()
    }
}

fn run(time: Time, calls: impl FnOnce(&mut Guest)) -> (Vec<Row>, Report, bool) {
    let board = FakeBoard::new(act);
    let file = tempfile::NamedTempFile::new().unwrap();
    let config = Config {
        calls: Some(file.path().into()),
        time,
        ..config(Some(&board))
    };
    let mut guest = Guest::with(config, false);
    calls(&mut guest);
    let report = guest.host.finish();
    let (rows, is_whole) = read(file.path());
    (rows, report, is_whole)
}

fn read(path: &Path) -> (Vec<Row>, bool) {
    let mut reader = Reader::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut all = Vec::new();
    while let Some(rows) = reader.rows().unwrap() {
        all.extend(rows);
    }
    (all, reader.finished().is_some())
}

/// A post, enqueues with and without output, a query, and a wait for all.
fn some_calls(guest: &mut Guest) {
    guest.now_ns = 1_000_000;
    let post = Envelope {
        regions: 1,
        ..call(Class::Post, 999_000)
    };
    let read = Envelope {
        regions: 1,
        args: b"read",
        ..enqueue(1, 999_500)
    };
    let regions = [(DATA, 16, IN), (DATA + 4096, 4, OUT)];
    assert_eq!(guest.submit(&[post, read], &regions).status, OK);
    guest.now_ns = 1_000_100;
    let poll = || call(Class::Query, guest.now_ns);
    let first = enqueue(2, 1_000_050);
    let (second, query) = (enqueue(3, 1_000_060), poll());
    assert_eq!(guest.submit(&[first, second, query], &[]).status, OK);
    let wait = Envelope {
        waits: vec![1, 2, 3].into(),
        ..call(Class::Wait, guest.now_ns)
    };
    assert_eq!(guest.submit(&[wait], &[]).status, OK);
}

#[test]
fn sums_are_the_reports() {
    for time in [Time::Strict, Time::Async] {
        let (rows, report, is_whole) = run(time, some_calls);
        assert!(is_whole, "{time:?}");
        let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
        let calls = rows.iter().filter(|row| row.is_call());
        assert_eq!(calls.count() as u64, report.totals.calls, "{time:?}");
        assert_eq!(sum(|row| row.gpu_ns().unwrap_or(0)), 900, "{time:?}");
        assert_eq!(report.simulated.gpu_ns, 900, "{time:?}");
        assert_eq!(sum(|row| row.board_cpu_ns), report.simulated.board_cpu_ns);
        assert_eq!(sum(|row| row.bytes_to_board), 16);
        assert_eq!(report.totals.bytes_to_board, 16);
        assert_eq!(sum(|row| row.bytes_from_board), 4, "{time:?}");
        assert_eq!(report.totals.bytes_from_board, 4);
    }
}

#[test]
fn a_row_says_when_a_call_and_its_operation_began_and_ended() {
    let (mut rows, ..) = run(Time::Async, some_calls);
    rows.sort_by_key(|row| (row.called_ns, row.seq));
    let [post, read, first, second, query, wait] = &rows[..] else {
        panic!("{rows:?}");
    };
    let kinds = [post, read, first, second, query, wait].map(|row| row.kind);
    let classes = [
        Class::Post,
        Class::Enqueue,
        Class::Enqueue,
        Class::Enqueue,
        Class::Query,
        Class::Wait,
    ];
    assert_eq!(kinds, classes.map(Kind::Call));
    assert_eq!((post.called_ns, post.returned_ns), (999_000, 999_000));
    assert_eq!((read.called_ns, read.returned_ns), (999_500, 1_000_000));
    assert_eq!((read.queue, read.board_cpu_ns), (Some(5), 7));
    let interval = |row: &Row| row.operation.unwrap().interval.unwrap();
    let of = |start_ns| Interval {
        start_ns,
        end_ns: start_ns + 300,
    };
    assert_eq!(interval(read), of(999_507));
    assert_eq!(interval(first), of(1_000_050));
    assert_eq!(interval(second), of(1_000_350));
    assert_eq!((wait.called_ns, wait.returned_ns), (1_000_100, 1_000_650));
    assert_eq!(wait.operation, None);
    let thread = (read.process, read.thread);
    assert!(rows.iter().all(|row| (row.process, row.thread) == thread));
}

#[test]
fn operations_whose_ends_nobody_knows_have_rows_without() {
    let (rows, ..) = run(Time::Async, |guest| {
        // Waits for what the program never sets.
        let blocked = Envelope {
            waits: vec![99].into(),
            ..enqueue(1, 1_000_000)
        };
        assert_eq!(guest.submit(&[blocked], &[]).status, OK);
    });
    let [row] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!(row.operation.unwrap().interval, None);
    assert_eq!(row.gpu_ns(), None);
}

#[test]
fn calls_in_front_of_one_that_has_to_wait_are_counted_once() {
    let (rows, report, _) = run(Time::Async, |guest| {
        let front = enqueue(1, 1_000_000);
        let wait = || Envelope {
            waits: vec![99].into(),
            ..call(Class::Wait, 1_000_000)
        };
        let unresolved = Status::Unresolved as u32;
        assert_eq!(guest.submit(&[front, wait()], &[]).status, unresolved);
        let set = Envelope {
            signals: Some(99),
            ..call(Class::Post, 1_000_000)
        };
        assert_eq!(guest.submit(&[set], &[]).status, OK);
        assert_eq!(guest.submit(&[wait()], &[]).status, OK);
    });
    assert_eq!((rows.len() as u64, report.totals.calls), (3, 3));
}

#[test]
fn a_log_that_cannot_be_written_is_short_and_the_run_goes_on() {
    let board = FakeBoard::new(act);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls");
    // As a full disk: it takes the beginning and nothing more.
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let reader = std::thread::spawn({
        let path = path.clone();
        move || std::io::Read::read_exact(&mut std::fs::File::open(path)?, &mut [0; 16])
    });
    let config = Config {
        calls: Some(path.clone()),
        ..config(Some(&board))
    };
    let mut guest = Guest::with(config, false);
    reader.join().unwrap().unwrap();
    assert_eq!(guest.submit(&[call(Class::Sync, 0)], &[]).status, OK);
    guest.host.finish();
    let warnings = guest.log.warnings();
    let name = path.display().to_string();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(&name), "{warnings:?}");
    assert!(warnings[0].contains("short"), "{warnings:?}");
}

fn bytes(args: &impl serde::Serialize) -> Vec<u8> {
    postcard::to_stdvec(args).unwrap()
}

/// A kernel is made, copied, launched, given up, and launched again; both by an address in
/// a file.
fn launches(guest: &mut Guest) {
    let modules = vec![Module {
        from: 0x1000,
        to: 0x2000,
        offset: 0x400,
        path: "/program".into(),
    }];
    let modules = bytes(&Modules { modules });
    let mapped = Envelope {
        op: MODULES,
        args: &modules,
        ..call(Class::Sync, 1)
    };
    assert_eq!(guest.submit(&[mapped], &[]).status, OK);
    let made = bytes(&cl::ClCreateKernelArgs {
        program: Handle(1),
        kernel_name: InData::Inline(b"square\0"),
        new: Handle(2),
    });
    let made = Envelope {
        op: cl::CL_CREATE_KERNEL,
        args: &made,
        ..call(Class::Sync, 2)
    };
    assert_eq!(guest.submit(&[made], &[]).status, OK);
    let like = bytes(&cl::ClCloneKernelArgs {
        source_kernel: Handle(2),
        new: Handle(3),
    });
    let like = Envelope {
        op: cl::CL_CLONE_KERNEL,
        args: &like,
        ..call(Class::Sync, 3)
    };
    assert_eq!(guest.submit(&[like], &[]).status, OK);
    let launch = bytes(&cl::ClEnqueueNDRangeKernelArgs {
        kernel: Handle(3),
        ..Default::default()
    });
    let launch = |event, site| Envelope {
        op: cl::CL_ENQUEUE_ND_RANGE_KERNEL,
        args: &launch,
        site,
        ..enqueue(event, 4)
    };
    let both = [launch(1, 0x1010), launch(2, 0x1010)];
    assert_eq!(guest.submit(&both, &[]).status, OK);
    let ended = bytes(&cl::ClReleaseKernelArgs { kernel: Handle(3) });
    let ended = Envelope {
        op: cl::CL_RELEASE_KERNEL,
        args: &ended,
        ..call(Class::Post, 5)
    };
    assert_eq!(guest.submit(&[ended, launch(3, 0)], &[]).status, OK);
}

#[test]
fn rows_name_kernels_and_call_sites() {
    let board = FakeBoard::new(act);
    let file = tempfile::NamedTempFile::new().unwrap();
    let config = Config {
        calls: Some(file.path().into()),
        time: Time::Strict,
        ..config(Some(&board))
    };
    let mut guest = Guest::with(config, false);
    launches(&mut guest);
    guest.host.finish();
    let mut reader = Reader::new(std::fs::File::open(file.path()).unwrap()).unwrap();
    let rows = reader.rows().unwrap().unwrap();
    let launches = rows.iter().filter(|row| row.operation.is_some());
    let named = launches.map(|row| {
        let place = reader.place(row.process, row.site);
        (
            reader.label(row.label),
            place.map(|it| (it.path, it.offset)),
        )
    });
    let there = (Some("square"), Some(("/program", 0x410)));
    assert_eq!(named.collect::<Vec<_>>(), [there, there, (None, None)]);
}
