//! `gil report` of logs of calls: its forms, and files that are none.

use gil_files::calls::{
    Begun, Encoder, FILE, Finished, Interval, Labels, Operation, Record, Row, plain,
};
use gil_wire::Op;
use gil_wire::envelope::Class;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn row(n: u64) -> Row {
    Row {
        process: 40,
        thread: 41 + (n % 2) as u32,
        seq: n,
        queue: Some(5),
        called_ns: 1_000 * n,
        returned_ns: 1_000 * n + 10,
        operation: Some(Operation {
            device: 1,
            engine: 1,
            interval: Some(Interval {
                start_ns: 1_000 * n,
                end_ns: 1_000 * n + 500,
            }),
        }),
        ..Row::of(Class::Enqueue, Op::new(1, 1 + (n % 3) as u16))
    }
}

fn log(count: u64) -> Vec<u8> {
    let begun = Record::Begun(Begun {
        gil: "1.2.3".into(),
        simulator: "test".into(),
    });
    let rows: Vec<Row> = (0..count).map(row).collect();
    let finished = Record::Finished(Finished {
        rows: count,
        started_ns: 0,
        program_ns: 1_000_000,
    });
    let mut bytes = [&FILE.header()[..], &plain(&begun).unwrap()].concat();
    let mut encoder = Encoder::default();
    for block in rows.chunks(20) {
        bytes.extend(encoder.block(block).unwrap());
    }
    bytes.extend(plain(&finished).unwrap());
    bytes
}

/// `gil report`, in a folder with files.
struct Report {
    folder: tempfile::TempDir,
}

impl Report {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.at(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gil"));
        command.arg("report").args(args);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn prints(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refuses(&self, args: &[&str], words: &[&str]) {
        let output = self.output(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{args:?}: {said}");
        }
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn tables_are_by_entry_point_thread_and_queue_or_as_told() {
    let report = Report::new();
    let log = report.file("log", &log(90));
    let text = report.prints(&[&log]);
    for words in [
        "test, gil 1.2.3",
        "1.000 ms of simulated time",
        "clGetPlatformIDs",
        "45.000 us", // all operations
        "process, thread",
        "40, 42",
        "process, queue",
        "40, 5",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let text = report.prints(&[&log, "--by", "process", "--top", "1"]);
    assert!(text.contains("\n 40 "), "{text}");
    assert!(!text.contains("clGet"), "{text}");
    let text = report.prints(&[&log, "--by", "entry", "--top", "1"]);
    assert!(text.contains("(2 more)"), "{text}");
}

#[test]
fn what_two_logs_do_not_have_is_a_sentence() {
    let report = Report::new();
    let [one, other] = [1, 2].map(|last| report.file(&format!("log{last}"), &log(last)));
    for option in ["--by=entry", "--csv=-", "--flame-of=gpu", "--html=x"] {
        let name = option.split('=').next().unwrap();
        let words = [
            &format!("gil: {name} is for one log of calls, and two are compared"),
            "leave",
        ];
        report.refuses(&[&one, &other, option], &words);
    }
    assert!(!report.at("x").exists());
}

#[test]
fn a_recording_is_sent_to_its_own_command() {
    let report = Report::new();
    let log = report.file("log", &log(1));
    let trace = report.file("run.trace", b"gil-trace and what is behind it");
    let words = [
        "run.trace is a recording",
        "`gil trace stats ",
        "--json or --calls",
    ];
    report.refuses(&[&trace], &words);
    report.refuses(&[&trace, "--by", "entry"], &words);
    report.refuses(&[&log, &trace], &words);
}

#[test]
fn all_forms_come_of_one_reading_also_of_a_pipe() {
    let report = Report::new();
    let bytes = log(90);
    let names = [
        "table.csv",
        "calls.csv",
        "out.pftrace",
        "out.html",
        "out.svg",
        "stacks",
    ];
    let paths = names.map(|name| report.at(name));
    let [table, calls, trace, page, flame, stacks] =
        paths.each_ref().map(|path| path.to_str().unwrap());
    let args = [
        "/dev/stdin",
        "--csv",
        table,
        "--csv-calls",
        calls,
        "--perfetto",
        trace,
        "--html",
        page,
        "--flame",
        flame,
        "--stacks",
        stacks,
    ];
    let mut child = report.command(&args);
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &bytes).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("clGetPlatformIDs"));
    let lines = |path: &str| fs::read_to_string(path).unwrap().lines().count();
    assert_eq!((lines(table), lines(calls)), (4, 91));
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("clGetPlatformIDs") && html.contains("</html>"));
    assert!(fs::metadata(trace).unwrap().len() > 90 * 20);
    let graph = fs::read_to_string(flame).unwrap();
    assert!(graph.contains("<svg") && graph.contains("thread 42"));
    let stack = "process 40;thread 41;OpenCL;clGetPlatformIDs 7500";
    let stacks = fs::read_to_string(stacks).unwrap();
    assert!(stacks.lines().any(|line| line == stack), "{stacks}");
    let log = report.file("log", &bytes);
    let of_calls = report.prints(&[&log, "--stacks", "-", "--flame-of", "calls"]);
    assert!(of_calls.contains("clGetPlatformIDs 150\n"), "{of_calls}");
    let csv = report.prints(&[&log, "--csv-calls", "-"]);
    assert_eq!(csv, fs::read_to_string(calls).unwrap());
    let one = csv.lines().nth(1).unwrap();
    assert_eq!(
        one,
        "40,41,0,OpenCL,clGetPlatformIDs,enqueue,5,1,compute,0,10,0,500,0,0,0,0,1,,"
    );
}

#[test]
fn two_logs_are_compared() {
    let report = Report::new();
    let (a, b) = (report.file("a", &log(90)), report.file("b", &log(30)));
    let text = report.prints(&[&a, &b]);
    assert!(
        text.contains("-30.000 us") && text.contains("0.333"),
        "{text}"
    );
    let json = report.file("json", b"{}");
    report.refuses(&[&a, &json], &["json", "is none", "--calls"]);
}

#[test]
fn a_log_that_ends_anywhere_is_reported_up_to_there() {
    let report = Report::new();
    let bytes = log(90);
    for len in (9..bytes.len()).step_by(97) {
        let cut = report.file("cut", &bytes[..len]);
        let output = report.output(&[&cut]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => assert!(said.contains("has no end"), "{len}: {said}"),
            Some(1) => assert!(len < 80 && said.contains("ends within"), "{len}: {said}"),
            other => panic!("{len}: {other:?} {said}"),
        }
    }
}

#[test]
fn what_comes_before_damage_is_reported_with_an_error() {
    let report = Report::new();
    let mut bytes = log(90);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    let log = report.file("log", &bytes);
    report.refuses(&[&log], &["is damaged", "checksum"]);
    let output = report.output(&[&log]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("clGetPlatformIDs"));
}

#[test]
fn files_that_are_no_logs_are_refused_in_a_sentence() {
    let report = Report::new();
    let log = log(30);
    let good = report.file("good", &log);
    let mut other = log.clone();
    other[12] = 7;
    let other = report.file("other", &other);
    report.refuses(&[&other], &["layout version 7"]);
    for (len, words) in [
        (100_000_000_000u64, "ends within a record"),
        (u64::MAX, "exceeds the bounds"),
    ] {
        let mut claims = log[..16].to_vec();
        claims.extend([0, 0, 0, 0, 1, 2, 3, 4]);
        claims.extend(len.to_le_bytes().repeat(2));
        claims.extend([2, 0, 0, 0, 0, 0, 0, 0]);
        let claims = report.file("claims", &claims);
        report.refuses(&[&claims], &[words]);
    }
    let empty = report.file("empty", b"");
    report.refuses(&[&empty], &["empty", "no report"]);
    let missing = report.at("missing").display().to_string();
    report.refuses(&[&missing], &["missing", "No such file"]);
    report.refuses(&[report.folder.path().to_str().unwrap()], &["directory"]);
    report.refuses(&[&empty, "--top", "3"], &["--top", "logs of calls"]);
    report.refuses(&[&good, "--plot", "x.svg"], &["--plot", "log of calls"]);
    report.refuses(&[&good, "--by", "line"], &["no call sites", "--call-sites"]);
    report.refuses(&[&empty, "--flame", "x"], &["--flame", "logs of calls"]);
    let (hard, soft) = (report.at("hard"), report.at("soft"));
    fs::hard_link(&good, &hard).unwrap();
    std::os::unix::fs::symlink(&good, &soft).unwrap();
    for same in [&good, hard.to_str().unwrap(), soft.to_str().unwrap()] {
        let words = ["--flame and the log of calls are the same file"];
        report.refuses(&[&good, "--flame", same], &words);
    }
    let words = ["--html and --symbols are the same file"];
    report.refuses(&[&good, "--symbols", &empty, "--html", &empty], &words);
    let words = ["--perfetto and --csv are the same file"];
    report.refuses(&[&good, "--csv", "-", "--perfetto", "-"], &words);
    report.refuses(&[&good, "--csv", "new", "--perfetto", "./new"], &words);
    assert_eq!(fs::read(&good).unwrap(), log, "nothing is written over it");
    report.refuses(
        &[&good, "--csv", "no/such/folder"],
        &["--csv", "no/such/folder"],
    );
    report.refuses(&[&good, "--csv-calls", "/dev/full"], &["cannot be written"]);
    report.refuses(&[&good, "--perfetto", "/dev/full"], &["cannot be written"]);
}

/// A recording that a run writes, or answers from, is not made empty.
#[test]
fn a_file_in_use_is_no_place_for_a_report() {
    let report = Report::new();
    let good = report.file("good", &log(3));
    let used = report.file("used", b"a recording");
    let ways = [
        (FlockArg::LockExclusiveNonblock, "another run writes"),
        (FlockArg::LockSharedNonblock, "another run replays"),
    ];
    for (how, what) in ways {
        let file = fs::File::open(&used).unwrap();
        let lock = Flock::lock(file, how).map_err(|(_, errno)| errno).unwrap();
        for option in [
            "--csv",
            "--csv-calls",
            "--perfetto",
            "--html",
            "--flame",
            "--stacks",
        ] {
            let words = [&format!("{what} {option}"), "name another file"];
            report.refuses(&[&good, option, &used], &words);
        }
        assert_eq!(fs::read(&used).unwrap(), b"a recording");
        drop(lock);
    }
    report.prints(&[&good, "--csv", &used]);
    let table = fs::read_to_string(&used).unwrap();
    assert_eq!(table, report.prints(&[&good, "--csv", "-"]));
}

#[test]
fn a_report_that_fails_leaves_the_earlier_ones() {
    let report = Report::new();
    let good = report.file("good", &log(30));
    let bad = report.file("bad", b"no log");
    let forms = ["--csv", "--csv-calls", "--perfetto", "--flame", "--stacks"];
    for option in forms {
        let earlier = report.file("earlier", b"an earlier report");
        let kept = || fs::read(&earlier).unwrap() == b"an earlier report";
        report.refuses(&[&bad, option, &earlier], &["gil: "]);
        assert!(kept(), "{option}");
        let full = [&good, option, &earlier, "--html", "/dev/full"];
        report.refuses(&full, &["--html /dev/full"]);
        assert!(kept(), "{option}");
        report.prints(&[&good, option, &earlier]);
        assert!(!kept(), "{option}");
        // And what is not whole, where there was none.
        let new = report.folder.path().join("new").display().to_string();
        report.refuses(
            &[&good, option, &new, "--html", "/dev/full"],
            &["/dev/full"],
        );
        assert!(!fs::exists(&new).unwrap(), "{option}");
        report.prints(&[&good, option, &new]);
        fs::remove_file(&new).unwrap();
    }
    let left = fs::read_dir(report.folder.path()).unwrap().count();
    assert_eq!(left, 3, "nothing is left beside them");
}

#[test]
fn names_and_totals_of_any_size_stay_in_their_rows() {
    let report = Report::new();
    let begun = Record::Begun(Begun {
        gil: "1.2.3".into(),
        simulator: "test".into(),
    });
    let long = |n| {
        let mut row = row(n);
        let interval = Interval {
            start_ns: 1,
            end_ns: u64::MAX,
        };
        row.returned_ns = u64::MAX;
        row.operation.as_mut().unwrap().interval = Some(interval);
        row.label = 1;
        row
    };
    let mut bytes = [&FILE.header()[..], &plain(&begun).unwrap()].concat();
    let labels = Record::Labels(Labels {
        labels: vec![(1, "two\nlines".into())],
    });
    bytes.extend(plain(&labels).unwrap());
    let rows = [long(0), long(3), long(6)];
    bytes.extend(Encoder::default().block(&rows).unwrap());
    let long = report.file("long", &bytes);
    let output = report.output(&[&long]);
    let table = String::from_utf8(output.stdout).unwrap();
    let all = table.lines().filter(|line| line.contains("100.0 %"));
    assert!(all.count() >= 2, "{table}");
    let most = gil_report::time(u64::MAX);
    assert!(table.contains(&most), "{table}");
    let named = report.output(&[&long, "--by", "kernel"]);
    let table = String::from_utf8(named.stdout).unwrap();
    let rows = table.lines().filter(|line| line.contains("two"));
    for row in rows.clone() {
        assert!(
            row.contains(r"two\nlines") && row.contains(&most),
            "{table}"
        );
    }
    assert_eq!(
        rows.count(),
        2,
        "of the device's time and of calls: {table}"
    );
}

#[test]
fn nobody_has_to_read_it_to_its_end() {
    let report = Report::new();
    let log = report.file("log", &log(20_000));
    for args in [
        &[&log[..]][..],
        &[&log, "--csv-calls", "-"],
        &[&log, "--perfetto", "-"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = report.command(args).stdout(writer).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        assert_eq!(said, "", "{args:?}");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = report.command(args).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("cannot be written"), "{said}");
    }
}
