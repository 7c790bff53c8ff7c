//! Kernels and source lines of rows, in tables, time lines and flame graphs.

mod support;

use gil_call_report::flame::{Flame, Of};
use gil_call_report::html::{TimeLine, write};
use gil_call_report::log::{Log, add_files};
use gil_call_report::perfetto::Trace;
use gil_call_report::summary::{By, Summary};
use gil_call_report::symbols::{SharedSymbols, Symbols};
use gil_call_report::tabular;
use gil_files::calls::{Module, Row};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use support::{any_rows, enqueue, named_log, pass};

const SOURCE: &str = "__attribute__((noinline)) int called(int n) { __asm__ volatile(\"\"); return n + 1; }\n\
static inline __attribute__((always_inline)) int put_in(int n) {\n\
  return called(n) * 3;\n\
}\n\
int main(int n, char **all) {\n\
  (void)all;\n\
  return put_in(n) + 5;\n\
}\n";

fn labelled(label: u32, took_ns: u64) -> Row {
    let row = enqueue(1_000, 2_000, 2_000 + took_ns);
    Row { label, ..row }
}

fn csv(summary: &Summary, log: &Log<&[u8]>) -> Vec<String> {
    let mut out = Vec::new();
    tabular::summary(summary, log.names(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn kernels_have_rows_by_their_names() {
    let without = Row {
        operation: None,
        ..enqueue(0, 0, 0)
    };
    let rows = [
        labelled(1, 700),
        labelled(2, 100),
        labelled(1, 300),
        labelled(0, 5),
        without,
    ];
    // Two kernels of one name.
    let bytes = named_log(&rows, &["square", "sum", "square"], Vec::new());
    let mut kernels = Summary::new(By::Kernel);
    let mut flame = Flame::new(Of::Gpu, SharedSymbols::default());
    let mut line = TimeLine::default();
    let mut trace = Trace::new(Vec::new()).unwrap();
    let log = pass(
        &bytes,
        &mut [&mut kernels, &mut flame, &mut line, &mut trace],
    );
    let lines = csv(&kernels, &log);
    let starts = [
        "OpenCL,square,2,1000,905,",
        "OpenCL,sum,1,100,90,",
        "OpenCL,clGetPlatformIDs,1,5,5,",
    ];
    assert_eq!(lines.len(), 3);
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
    let stack = "process 40;thread 41;OpenCL;clGetPlatformIDs";
    let stacks = [("", 5), (";square", 1000), (";sum", 100)];
    let stacks = stacks.map(|(kernel, ns)| format!("{stack}{kernel} {ns}"));
    assert_eq!(flame.stacks(log.names()), stacks);
    let mut graph = Vec::new();
    flame.draw(log.names(), &mut graph).unwrap();
    let graph = String::from_utf8(graph).unwrap();
    assert!(
        graph.contains("<svg") && graph.contains("square (1,000 ns, 90.50%)"),
        "{graph}"
    );
    let mut page = Vec::new();
    write(&mut page, ("", ""), &[kernels], line, log.names()).unwrap();
    let page = String::from_utf8(page).unwrap();
    let names = page.split("\"names\":").nth(1).unwrap();
    let names = names.split(']').next().unwrap();
    assert!(names.contains("square") && names.contains("sum"), "{names}");
}

/// Compiles the source; where it is, and the file.
fn compiled(folder: &Path, options: &[&str]) -> PathBuf {
    let (source, out) = (folder.join("source.c"), folder.join("program"));
    fs::write(&source, SOURCE).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-g"])
        .args(options)
        .arg("-o")
        .arg(&out)
        .arg(&source);
    assert!(cc.status().unwrap().success());
    out
}

/// Where `main` calls the function: the offset in the file to which it returns.
fn returns_to(program: &Path) -> u64 {
    use object::{Object, ObjectSegment, ObjectSymbol};
    let bytes = fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let address = |name: &str| {
        let symbol = file.symbols().find(|it| it.name() == Ok(name)).unwrap();
        (symbol.address(), symbol.size())
    };
    let ((main, len), (called, _)) = (address("main"), address("called"));
    let has =
        |it: &object::Segment<'_, '_>| (it.address()..it.address() + it.size()).contains(&main);
    let segment = file.segments().find(has).unwrap();
    let offset = |at: u64| segment.file_range().0 + (at - segment.address());
    let code = &bytes[offset(main) as usize..offset(main + len) as usize];
    let is_call = |at: &usize| {
        let Some((0xe8, rest)) = code[*at..].split_first() else {
            return false;
        };
        let Some(distance) = rest.first_chunk() else {
            return false;
        };
        let to = (main + *at as u64 + 5).wrapping_add_signed(i32::from_le_bytes(*distance).into());
        to == called
    };
    let call = (0..code.len())
        .find(is_call)
        .expect("a call of the function");
    offset(main) + call as u64 + 5
}

#[test]
#[cfg(target_arch = "x86_64")]
fn call_sites_have_lines_and_the_functions_that_were_put_in() {
    for options in [&["-no-pie", "-fno-pie"][..], &["-pie", "-fPIE"]] {
        has_lines(options);
    }
}

fn has_lines(options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), options);
    let (from, offset) = (0x5555_0000, returns_to(&program) & !0xfff);
    let site = from + (returns_to(&program) - offset);
    let path = "/opt/gil/program".to_owned();
    let module = Module {
        from,
        to: from + 0x1000,
        offset,
        path: path.clone(),
    };
    let at = |site| Row {
        site,
        ..enqueue(0, 0, 100)
    };
    let rows = [at(site), at(site), at(0), at(9)];
    let bytes = named_log(&rows, &[], vec![module]);
    let log_file = folder.path().join("log");
    fs::write(&log_file, &bytes).unwrap();
    let found_at = |symbols: Vec<PathBuf>, written: Option<SystemTime>| {
        let symbols = SharedSymbols::new(Symbols::new(symbols, written));
        let mut lines = Summary::with_symbols(By::Line, symbols.clone());
        let mut flame = Flame::new(Of::Calls, symbols);
        let mut log = Log::open(&log_file, File::open(&log_file).unwrap()).unwrap();
        log.pass(&mut [&mut lines, &mut flame]).unwrap();
        let groups = lines.groups(log.names());
        let of = |n: usize| (groups[n].name.clone(), groups[n].sums.calls.count());
        let names = (0..groups.len()).map(of).collect::<Vec<_>>();
        (names, flame.stacks(log.names()))
    };
    let found = |symbols| found_at(symbols, Some(SystemTime::now()));
    let parent = folder.path().file_name().unwrap().to_str().unwrap();
    let place = |line: u32| format!("{parent}/source.c:{line}");
    let name = format!("put_in ({}) in main ({})", place(3), place(7));
    let wanted = vec![(name, 2), ("(not known)".into(), 1), ("0x9".into(), 1)];
    let (mut lines, stacks) = found(vec![program.clone()]);
    lines[1..].sort();
    assert_eq!(lines, wanted);
    let outer_first = format!(";main ({});put_in ({});OpenCL;", place(7), place(3));
    assert!(
        stacks.iter().any(|stack| stack.contains(&outer_first)),
        "{stacks:?}"
    );
    let nowhere = found(vec![folder.path().join("other")]).0;
    let bare = format!("program + {:#x}", returns_to(&program));
    assert!(nowhere.contains(&(bare, 2)), "{nowhere:?}");
    // The run says where the file was.
    let here = program.display().to_string();
    add_files(&log_file, vec![(path, here)]).unwrap();
    let (mut lines, _) = found(Vec::new());
    lines[1..].sort();
    assert_eq!(lines, wanted);
    // What was compiled after the run has other lines.
    let (lines, _) = found_at(Vec::new(), Some(SystemTime::UNIX_EPOCH));
    let changed = format!(
        "program + {:#x}, changed since the run",
        returns_to(&program)
    );
    assert!(lines.contains(&(changed, 2)), "{lines:?}");
}

#[test]
fn files_are_added_to_whole_logs_only() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let bytes = support::log(&[enqueue(0, 0, 5)]);
    let files = || vec![("/a".to_owned(), "/b".to_owned())];
    fs::write(&log, &bytes[..bytes.len() - 1]).unwrap();
    add_files(&log, files()).unwrap();
    assert_eq!(fs::read(&log).unwrap().len(), bytes.len() - 1);
    fs::write(&log, &bytes).unwrap();
    add_files(&log, files()).unwrap();
    assert!(fs::read(&log).unwrap().len() > bytes.len());
    let mut again = Log::open(&log, File::open(&log).unwrap()).unwrap();
    again.pass(&mut []).unwrap();
    assert_eq!(again.names().file("/a"), Some("/b"));
    assert!(add_files(&folder.path().join("none"), files()).is_err());
    add_files(Path::new("/dev/null"), files()).unwrap();
}

proptest::proptest! {
    #[test]
    fn stacks_add_up(rows in any_rows()) {
        let bytes = support::log(&rows);
        let symbols = SharedSymbols::default;
        let (mut gpu, mut calls) = (Flame::new(Of::Gpu, symbols()), Flame::new(Of::Calls, symbols()));
        let mut entries = Summary::new(By::Entry);
        let log = pass(&bytes, &mut [&mut gpu, &mut calls, &mut entries]);
        let sum = |flame: &Flame| {
            let stacks = flame.stacks(log.names());
            let ns = |stack: &String| stack.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
            stacks.iter().map(ns).sum::<u64>()
        };
        proptest::prop_assert_eq!(sum(&gpu), entries.all().gpu.total_ns());
        proptest::prop_assert_eq!(sum(&calls), entries.all().calls.total_ns());
    }
}
