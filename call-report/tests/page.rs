//! The page's data: its figures are the summary's, and its size does not grow with the run.

mod support;

use gil_call_report::html::{SLOTS, TimeLine, write};
use gil_call_report::summary::{By, Summary};
use gil_files::calls::Row;
use proptest::prelude::*;
use serde_json::Value;
use support::{any_rows, enqueue, log, pass};

fn page(rows: &[Row], title: &str) -> String {
    let bytes = log(rows);
    let mut summaries = vec![Summary::new(By::Entry)];
    let mut line = TimeLine::default();
    let log = pass(&bytes, &mut [&mut summaries[0], &mut line]);
    let mut out = Vec::new();
    write(&mut out, (title, "about"), &summaries, line, log.names()).unwrap();
    String::from_utf8(out).unwrap()
}

/// What its script reads.
fn data(page: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"data\">\n";
    let data = page.split(start).nth(1).unwrap();
    serde_json::from_str(data.split("</script>").next().unwrap()).unwrap()
}

#[test]
fn it_loads_nothing_and_no_name_ends_its_data() {
    let title = "</script><script>alert(1)</script>";
    let page = page(&[enqueue(0, 0, 5)], title);
    assert_eq!(data(&page)["title"], title);
    assert_eq!(page.matches("</script>").count(), 2);
    for word in ["http:", "https:", "src=", "href=", "url("] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn a_long_run_has_a_small_page() {
    let rows = |count: u64| {
        let row = |n: u64| enqueue(100 * n, 100 * n + 20, 100 * n + 110);
        (0..count).map(row).collect::<Vec<_>>()
    };
    let (short, long) = (page(&rows(5_000), "t"), page(&rows(100_000), "t"));
    assert!(
        long.len() < short.len() * 3 / 2,
        "{} {}",
        short.len(),
        long.len()
    );
    let tracks = data(&long)["line"]["tracks"].as_array().unwrap().clone();
    let names: Vec<_> = tracks
        .iter()
        .map(|track| track["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "process 40, thread 41",
            "process 40, queue 5",
            "device 1: compute"
        ]
    );
    assert!(tracks.iter().all(|track| track["count"] == 100_000));
}

proptest! {
    #[test]
    fn time_at_work_is_the_slices(rows in any_rows()) {
        let data = data(&page(&rows, "t"));
        let line = &data["line"];
        let begin_ns = line["begin"].as_u64().unwrap();
        let number = |value: &Value| value.as_u64().unwrap();
        for track in line["tracks"].as_array().unwrap() {
            let busy = track["busy"].as_array().unwrap();
            prop_assert!(busy.len() as u64 <= SLOTS);
            let busy: u64 = busy.iter().map(number).sum();
            // What began before the first row counts from there.
            let slices = track["slices"].as_array().unwrap().iter().map(|slice| {
                let (from, took) = (number(&slice[0]), number(&slice[1]));
                (from + took).saturating_sub(begin_ns.max(from))
            });
            prop_assert_eq!(busy, slices.sum::<u64>());
        }
    }
}
