//! The page in a real browser: its figures are the CSV's, and it sorts, filters and zooms.
//! With `GIL_PICTURES`, a folder, pictures of it are left there.

#[path = "browser/devtools.rs"]
mod devtools;
mod support;

use devtools::Browser;
use gil_call_report::html::{TimeLine, write};
use gil_call_report::log::{Log, Sink};
use gil_call_report::summary::{By, Summary};
use gil_call_report::tabular;
use gil_files::calls::{Encoder, Interval, Operation, Row};
use gil_wire::Op;
use gil_wire::envelope::Class;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const API: u16 = 1;

/// Calls of two threads on two queues: launches, copies, and waits for them.
fn call(n: u64) -> Row {
    let spread = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
    let called_ns = 1_000_000_000 + 40_000 * n;
    let is_wait = n.is_multiple_of(5);
    let start_ns = called_ns + 2_000;
    let operation = Operation {
        device: 1,
        engine: 1 + (n % 3) as u8,
        interval: Some(Interval {
            start_ns,
            end_ns: start_ns + 3_000 + spread % 30_000,
        }),
    };
    Row {
        process: 812,
        thread: 812 + (n / 7 % 2) as u32,
        seq: n,
        queue: Some(1 + n % 2),
        called_ns,
        returned_ns: called_ns + 900 + if is_wait { spread % 36_000 } else { 0 },
        operation: (!is_wait).then_some(operation),
        board_cpu_ns: 700,
        bytes_to_board: if n % 3 == 1 { 4096 } else { 0 },
        ..Row::of(Class::Enqueue, Op::new(API, 1 + (spread % 40) as u16))
    }
}

struct Report {
    folder: tempfile::TempDir,
    /// The page's table by entry point, as CSV: cells by the names of columns.
    csv: Vec<BTreeMap<String, String>>,
}

impl Report {
    fn of(count: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        write_log(&log, count);
        let mut log = Log::open(&log, BufReader::new(File::open(&log).unwrap())).unwrap();
        let mut sums = [By::Entry, By::Thread, By::Queue].map(Summary::new);
        let mut line = TimeLine::default();
        let mut sinks: Vec<&mut dyn Sink<_>> = vec![&mut line];
        sums.iter_mut().for_each(|sum| sinks.push(sum));
        log.pass(&mut sinks).unwrap();
        let out = File::create(folder.path().join("page.html")).unwrap();
        let out = BufWriter::new(out);
        write(
            out,
            ("Calls of a test", "test, gil 1.2.3"),
            &sums,
            line,
            log.names(),
        )
        .unwrap();
        let mut csv = Vec::new();
        tabular::summary(&sums[0], log.names(), &mut csv).unwrap();
        let csv = records(&csv);
        Self { folder, csv }
    }

    fn page(&self) -> PathBuf {
        self.folder.path().join("page.html")
    }

    /// A column of numbers.
    fn column(&self, name: &str) -> Vec<u64> {
        let cells = self.csv.iter().map(|row| row[name].parse().unwrap());
        cells.collect()
    }
}

fn records(csv: &[u8]) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv);
    reader.deserialize().map(Result::unwrap).collect()
}

fn write_log(path: &Path, count: u64) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let (first, last) = support::ends(count);
    out.write_all(&first).unwrap();
    let mut encoder = Encoder::default();
    let mut rows = Vec::new();
    for from in (0..count).step_by(8192) {
        rows.clear();
        rows.extend((from..count.min(from + 8192)).map(call));
        out.write_all(&encoder.block(&rows).unwrap()).unwrap();
    }
    out.write_all(&last).unwrap();
    out.flush().unwrap();
}

/// As the page shows a time.
fn time(ns: u64) -> String {
    let unit = |by: f64, name: &str| format!("{:.3} {name}", ns as f64 / by);
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => unit(1e3, "µs"),
        1_000_000..1_000_000_000 => unit(1e6, "ms"),
        _ => unit(1e9, "s"),
    }
}

/// The texts of the table's cells: the line of all, then the groups.
fn cells(browser: &mut Browser) -> Vec<Vec<String>> {
    let texts = "[...document.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))";
    serde_json::from_value(browser.value(texts)).unwrap()
}

/// A column, without the line of all.
fn column(browser: &mut Browser, place: usize) -> Vec<String> {
    let rows = cells(browser).into_iter().skip(1);
    rows.map(|mut row| row.swap_remove(place)).collect()
}

fn button(key: &str) -> String {
    format!("document.querySelector('button[data-key=\"{key}\"]')")
}

const NAME: usize = 0;
const GPU_TOTAL: usize = 3;
const GPU_SHARE: usize = 4;
const CALL_COUNT: usize = 9;
const CALL_TOTAL: usize = 10;

#[test]
fn the_page_shows_the_csvs_figures_and_sorts_and_filters() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let report = Report::of(20_000);
    browser.look((1600, 1000), false);
    browser.open(&report.page());
    shows_the_csv(&mut browser, &report);
    sorts(&mut browser, &report);
    filters(&mut browser, &report);
    chooses(&mut browser);
    assert_eq!(browser.errors, Vec::<String>::new());
}

fn shows_the_csv(browser: &mut Browser, report: &Report) {
    let rows = cells(browser);
    let mut found: Vec<Vec<String>> = rows[1..].to_vec();
    let mut wanted = report.csv.clone();
    found.sort();
    wanted.sort_by(|a, b| a["call"].cmp(&b["call"]));
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(&wanted) {
        let number = |name: &str| wanted[name].parse::<u64>().unwrap();
        assert_eq!(found[NAME], wanted["call"]);
        assert_eq!(found[1], wanted["api"]);
        for (place, group) in [(2, "gpu"), (CALL_COUNT, "call")] {
            assert_eq!(found[place], wanted[&format!("{group}_count")]);
            let share = number(&format!("{group}_share_permille"));
            assert_eq!(found[place + 2], format!("{}.{} %", share / 10, share % 10));
            for (more, name) in [
                (1, "total"),
                (3, "mean"),
                (4, "p50"),
                (5, "p95"),
                (6, "max"),
            ] {
                let ns = number(&format!("{group}_{name}_ns"));
                assert_eq!(found[place + more], time(ns), "{group} {name}");
            }
        }
    }
    let sum = |name: &str| report.column(name).iter().sum::<u64>();
    assert_eq!(rows[0][GPU_TOTAL], time(sum("gpu_total_ns")));
    assert_eq!(rows[0][GPU_SHARE], "100.0 %");
    assert_eq!(rows[0][CALL_COUNT], sum("call_count").to_string());
    assert_eq!(sum("call_share_permille"), 1000);
}

fn sorts(browser: &mut Browser, report: &Report) {
    for (key, place) in [("call-total", CALL_TOTAL), ("gpu-total", GPU_TOTAL)] {
        let mut wanted = report.column(&format!("{}_ns", key.replace('-', "_")));
        wanted.sort_unstable();
        browser.click(&button(key), 1);
        let down: Vec<String> = wanted.iter().rev().map(|ns| time(*ns)).collect();
        assert_eq!(column(browser, place), down, "{key}");
        browser.click(&button(key), 1);
        let up: Vec<String> = wanted.iter().map(|ns| time(*ns)).collect();
        assert_eq!(column(browser, place), up, "{key}");
    }
    browser.click(&button("name"), 1);
    let names = column(browser, NAME);
    assert!(
        names.is_sorted_by_key(|name| name.to_lowercase()),
        "{names:?}"
    );
}

fn filters(browser: &mut Browser, report: &Report) {
    browser.click("document.getElementById('filter')", 1);
    browser.type_text("buffer");
    let is_wanted = |row: &&BTreeMap<String, String>| row["call"].to_lowercase().contains("buffer");
    let wanted: Vec<_> = report.csv.iter().filter(is_wanted).collect();
    assert!(!wanted.is_empty() && wanted.len() < report.csv.len());
    let rows = cells(browser);
    assert_eq!(rows.len() - 1, wanted.len());
    let sum = |name: &str| {
        wanted
            .iter()
            .map(|row| row[name].parse::<u64>().unwrap())
            .sum()
    };
    assert_eq!(rows[0][GPU_TOTAL], time(sum("gpu_total_ns")));
    assert_eq!(rows[0][CALL_COUNT], sum("call_count").to_string());
    assert_eq!(rows[0][GPU_TOTAL + 3], "-", "no percentiles of a part");
    let is_shown = format!("{} of {}", wanted.len(), report.csv.len());
    assert_eq!(
        browser.value("document.getElementById('count').textContent"),
        is_shown
    );
    browser.value("document.getElementById('filter').value = ''");
    browser.type_text("no such call");
    assert_eq!(cells(browser).len(), 1);
}

/// Another table has other rows, of the same sum.
fn chooses(browser: &mut Browser) {
    let choose = "const by = document.getElementById('by'); const field = document.getElementById('filter'); \
        field.value = ''; by.selectedIndex = 2; by.dispatchEvent(new Event('change')); by.value";
    assert_eq!(browser.value(choose), "queue");
    let rows = cells(browser);
    let names: Vec<_> = rows.iter().map(|row| row[NAME].as_str()).collect();
    assert_eq!(names.len(), 3);
    assert!(
        names.contains(&"812, 1") && names.contains(&"812, 2"),
        "{names:?}"
    );
    assert_eq!(rows[0][CALL_COUNT], "20000");
}

/// What part of the line is in view, in nanoseconds.
fn view(browser: &mut Browser) -> (f64, f64) {
    let view = browser.value("[view.from, view.to]");
    (view[0].as_f64().unwrap(), view[1].as_f64().unwrap())
}

#[test]
fn the_time_line_zooms_and_moves() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let report = Report::of(20_000);
    browser.look((1600, 1000), false);
    browser.open(&report.page());
    let whole = view(&mut browser);
    let canvas = "document.getElementById('line')";
    let middle = browser.middle(canvas);
    browser.wheel(middle, -800.0);
    let near = view(&mut browser);
    let [was, is] = [whole, near].map(|(from, to)| to - from);
    assert!(is < was / 5.0 && is > was / 10.0, "{is} of {was}");
    let [was, is] = [whole, near].map(|(from, to)| (from + to) / 2.0);
    assert!(
        (is - was).abs() < was / 1000.0,
        "it stays where the pointer is"
    );
    browser.drag(middle, (middle.0 - 100.0, middle.1));
    let moved = view(&mut browser);
    assert!(moved.0 > near.0 && (moved.1 - moved.0 - (near.1 - near.0)).abs() < 1.0);
    browser.click(canvas, 2);
    assert_eq!(view(&mut browser), whole);
    browser.press("+");
    browser.press("ArrowRight");
    let by_key = view(&mut browser);
    assert!(by_key.0 > whole.0 && by_key.1 - by_key.0 < 0.6 * (whole.1 - whole.0));
    browser.click("document.getElementById('whole')", 1);
    assert_eq!(view(&mut browser), whole);
    says_what_is_there(&mut browser);
    assert_eq!(browser.errors, Vec::<String>::new());
}

fn says_what_is_there(browser: &mut Browser) {
    let longest = "(() => { const [from, took, name] = tracks[2].slices[0]; \
        look(from - took, from + 2 * took); const box = canvas.getBoundingClientRect(); \
        return [box.x + x(from + took / 2), box.y + axis + 2.5 * height, names[name], time(took)]; })()";
    browser.middle("document.getElementById('line')");
    let slice = browser.value(longest);
    let at = (slice[0].as_f64().unwrap(), slice[1].as_f64().unwrap());
    browser.mouse("mouseMoved", at, &serde_json::json!({}));
    let said = browser.value("document.getElementById('shown').textContent");
    let said = said.as_str().unwrap();
    for words in ["process 812, queue 1", "after the first call"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    for words in [&slice[2], &slice[3]] {
        assert!(said.contains(words.as_str().unwrap()), "{words}: {said}");
    }
}

/// Nothing reaches beyond the page, light and dark, wide and narrow.
#[test]
fn the_page_fits_wide_and_narrow() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let report = Report::of(20_000);
    browser.open(&report.page());
    for (width, dark) in [(1600, false), (1600, true), (420, false), (420, true)] {
        browser.look((width, 1000), dark);
        let wide = browser.value("document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= width.into(), "{wide} of {width}");
        let back = browser.value("getComputedStyle(document.body).backgroundColor");
        assert_eq!(back == "rgb(255, 255, 255)", !dark, "{back}");
        // The page draws anew in the frame after its size changed.
        let drawn = "canvas.width === canvas.clientWidth && canvas.height > 100";
        let is_drawn = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            browser.value(drawn) == true
        });
        assert!(is_drawn, "{width}, dark {dark}");
        if let Some(folder) = std::env::var_os("GIL_PICTURES") {
            let name = format!("page-{width}-{}.png", if dark { "dark" } else { "light" });
            browser.picture(&Path::new(&folder).join(name));
        }
    }
}

/// As long a run as the page must open.
#[test]
#[ignore = "takes half a minute in a release build"]
fn a_page_of_ten_million_calls_opens() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let begun = Instant::now();
    let report = Report::of(10_000_000);
    let made = begun.elapsed();
    let opened = browser.open(&report.page());
    let len = fs::metadata(report.page()).unwrap().len();
    println!("log and page made in {made:?}, {len} bytes, opened in {opened:?}");
    assert!(opened < Duration::from_secs(5), "{opened:?}");
    assert!(len < 10_000_000);
    let rows = cells(&mut browser);
    assert_eq!(rows[0][CALL_COUNT], "10000000");
}
