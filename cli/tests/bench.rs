//! `gil bench` measures what it says, on whatever machine: that figures are
//! there and hang together, not what they are.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// What can be measured without a guest.
const NAMES: [&str; 8] = [
    "call",
    "call-busy",
    "sessions",
    "batch",
    "region",
    "region-tcp",
    "region-encrypted",
    "diff",
];

fn bench(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gil"));
    command.arg("bench").args(args);
    command.output().expect("gil starts")
}

fn lines(output: &Output) -> Vec<serde_json::Value> {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON lines")
}

fn check(line: &serde_json::Value) {
    if line["figure"].is_null() {
        assert_ne!(line["held"], true, "{line}");
        return;
    }
    let number = |name: &str| {
        line[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {line}"))
    };
    let (figure, baseline) = (number("figure"), number("baseline"));
    assert!(figure > 0.0, "{line}");
    if line["value"].is_null() {
        // Less than what it is to exceed: no difference can be had.
        assert_eq!(line["judged"], "difference", "{line}");
        assert!(figure < baseline, "{line}");
        assert_ne!(line["held"], true, "{line}");
        return;
    }
    let value = number("value");
    let judged = match line["judged"].as_str() {
        Some("ratio") => figure / baseline,
        Some("itself") => figure,
        _ => figure - baseline,
    };
    assert!(
        (value - judged).abs() <= 0.01 * figure.max(value.abs()),
        "{line}"
    );
    assert_eq!(
        line["must"].is_string(),
        line["held"].is_boolean(),
        "{line}"
    );
    assert!(line["machine"]["cores"].as_u64() > Some(0), "{line}");
}

#[test]
fn every_benchmark_says_what_it_measured() {
    let lines = lines(&bench(&["all", "--quick", "--allow-any-local-user"]));
    lines.iter().for_each(check);
    for name in NAMES {
        let of = |line: &&serde_json::Value| line["bench"] == name;
        assert!(lines.iter().any(|line| of(&line)), "{name}");
    }
}

#[test]
fn lines_become_a_page_and_plots() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (json, page, plots) = (path("lines"), path("page.md"), path("plots"));
    let section = "<!-- gil bench: from here -->\nold\n<!-- gil bench: to here -->\n";
    std::fs::write(&page, section).unwrap();
    let first = bench(&["diff", "--quick", "--json", &json]);
    assert!(lines(&first).is_empty());
    let second = bench(&["--from", &json, "--page", &page, "--plot", &plots]);
    assert!(lines(&second).is_empty());
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("### diff") && !text.contains("old"), "{text}");
    assert!(Path::new(&plots).join("diff-over-size.svg").is_file());
}

#[test]
fn a_page_without_the_section_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (page, json, empty) = (path("page.md"), path("lines"), path("empty"));
    bench(&["diff", "--quick", "--json", &json]);
    std::fs::write(&page, "# Mine\n").unwrap();
    std::fs::write(&empty, "").unwrap();
    for (from, says) in [(&json, "gil bench: from here"), (&empty, "has no lines")] {
        let refused = bench(&["--from", from, "--page", &page]);
        assert_eq!(refused.status.code(), Some(1));
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains(says), "{said}");
        assert_eq!(std::fs::read_to_string(&page).unwrap(), "# Mine\n");
    }
}

#[test]
fn what_cannot_be_written_is_told_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.display().to_string();
    for (option, path) in [
        ("--json", "/no/such/folder/lines"),
        ("--page", "/no/such/page.md"),
        ("--page", &file),
        ("--plot", &file),
    ] {
        // Everything would take minutes.
        let refused = bench(&["all", option, path]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains(path) && said.lines().count() == 1, "{said}");
        assert!(refused.stdout.is_empty(), "{refused:?}");
    }
}

#[test]
fn earlier_lines_are_not_measured_again() {
    for more in [
        &["diff", "--plot", "p"][..],
        &["--quick", "--plot", "p"],
        &[],
    ] {
        let refused = bench(&[&["--from", "lines"], more].concat());
        assert_eq!(refused.status.code(), Some(2), "{more:?}");
    }
}

/// As `kill` does it: nothing of it stays, and nobody it started goes on.
#[test]
fn a_signal_leaves_neither_a_folder_nor_an_agent() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gil"));
    command.args(["bench", "call"]).env("TMPDIR", folder.path());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("gil starts");
    let has_folder = || folder.path().read_dir().unwrap().next().is_some();
    while !has_folder() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(killed.unwrap().success());
    // Its standard error is at its end when the last who has it open is gone.
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(143), "{said}");
    assert!(!has_folder(), "{said}");
}
