//! The section of a Markdown page that benchmarks write; the text around it is
//! hand-written.

use crate::error::BenchError;
use crate::line::Line;
use crate::plot::Drawn;
use crate::table;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- gil bench: from here -->";
/// Characters shown of what is wrong with a line.
const SHOWN: usize = 200;
const END: &str = "<!-- gil bench: to here -->";

fn failed(path: &Path, what: impl ToString) -> BenchError {
    BenchError::File {
        path: path.into(),
        what: what.to_string(),
    }
}

/// The lines of an earlier `--json`.
///
/// # Errors
/// [`BenchError::File`] names the file and the first line that is none.
pub fn read_lines(path: &Path) -> Result<Vec<Line>, BenchError> {
    let what = |error| format!("{error}: give a file that `gil bench --json` wrote");
    let text = fs::read_to_string(path).map_err(|error| failed(path, what(error)))?;
    let lines = (1..).zip(text.lines());
    let read = |(number, line): (usize, &str)| {
        let refused = |error: &str| {
            let error: String = error.chars().take(SHOWN).collect();
            failed(
                path,
                format!(
                    "line {number} is no benchmark's ({error}): give a file that `gil bench --json` wrote"
                ),
            )
        };
        let line: Line = serde_json::from_str(line).map_err(|error| refused(&error.to_string()))?;
        match is_plain(&line) {
            true => Ok(line),
            false => Err(refused("it has characters that no benchmark writes")),
        }
    };
    let lines = lines.map(read).collect::<Result<Vec<_>, _>>()?;
    match lines.is_empty() {
        true => Err(failed(
            path,
            "it has no lines: give a file that `gil bench --json` wrote",
        )),
        false => Ok(lines),
    }
}

/// Whether its words are text in a table's cell, whatever reads that: a page or a
/// terminal.
fn is_plain(line: &Line) -> bool {
    let machine = &line.machine;
    let words = [&line.bench, &line.case, &line.unit, &line.against];
    let words = words
        .into_iter()
        .chain([&line.date, &machine.cpu, &machine.kernel]);
    let breaks = |c: char| c.is_control() || matches!(c, '|' | '<');
    words.into_iter().all(|word| !word.contains(breaks))
}

/// The page's text, which has the section.
fn read(path: &Path) -> Result<String, BenchError> {
    let what = |error| format!("{error}: name a Markdown page that is there");
    let page = fs::read_to_string(path).map_err(|error| failed(path, what(error)))?;
    match replaced(&page, "") {
        Some(_) => Ok(page),
        None => Err(failed(
            path,
            format!("no lines {BEGIN} and {END}: put them where the figures go"),
        )),
    }
}

/// Whether the page is there, can be written and has the section.
///
/// # Errors
/// [`BenchError::File`] if not.
pub fn check(path: &Path) -> Result<(), BenchError> {
    read(path)?;
    let what = |error| format!("{error}: name a page that you can write to");
    let opened = fs::File::options().append(true).open(path);
    opened.map(drop).map_err(|error| failed(path, what(error)))
}

/// Writes the figures into the page's section, and the plots above them.
///
/// # Errors
/// [`BenchError::File`] if the page has no such section.
pub fn write(path: &Path, lines: &[Line], plots: &[Drawn]) -> Result<(), BenchError> {
    let section = images(path, plots) + &section(lines);
    let page = read(path)?;
    let page = replaced(&page, &section).unwrap_or(page);
    fs::write(path, page).map_err(|error| failed(path, error))
}

fn replaced(page: &str, section: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{section}{END}{after}"))
}

/// Named as the page finds them, if they lie below its folder.
fn images(page: &Path, plots: &[Drawn]) -> String {
    let folder = page.parent().unwrap_or(Path::new(""));
    let image = |plot: &Drawn| {
        let path = plot.path.strip_prefix(folder).unwrap_or(&plot.path);
        format!("![{}]({})\n\n", plot.title, path.display())
    };
    plots.iter().map(image).collect()
}

fn section(lines: &[Line]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for line in lines {
        if !names.contains(&line.bench.as_str()) {
            names.push(&line.bench);
        }
    }
    let of = |name: &str| -> String {
        let own: Vec<&Line> = lines.iter().filter(|line| line.bench == name).collect();
        let (machine, date) = (&own[0].machine, &own[0].date);
        format!(
            "### {name}\n\n    gil bench {name}\n\n{date}, {}, {} cores, Linux {}.\n\n{}\n",
            machine.cpu,
            machine.cores,
            machine.kernel,
            table::markdown(&own)
        )
    };
    names.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Measured;

    #[test]
    fn plots_are_found_from_the_page() {
        let plot = |path: &str| Drawn {
            title: "T".into(),
            path: path.into(),
        };
        let plots = [plot("docs/images/a.svg"), plot("/tmp/b.svg")];
        let text = images(Path::new("docs/page.md"), &plots);
        assert_eq!(text, "![T](images/a.svg)\n\n![T](/tmp/b.svg)\n\n");
    }

    #[test]
    fn lines_of_another_hand_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let line = Measured::new("call", "median", "us", 9.0).above("ping-pong", 5.0);
        let mut line = line.at(&Default::default(), "2026-01-01");
        fs::write(&path, serde_json::to_string(&line).unwrap()).unwrap();
        assert_eq!(read_lines(&path).unwrap().len(), 1);
        for case in ["a\u{1b}[5m", "a | b", "<script>", "a\nb"] {
            line.case = case.into();
            fs::write(&path, serde_json::to_string(&line).unwrap()).unwrap();
            let refused = read_lines(&path).unwrap_err().to_string();
            assert!(refused.contains("line 1 is no benchmark's"), "{refused}");
        }
    }

    #[test]
    fn only_the_section_changes() {
        let line = Measured::new("call", "median", "us", 9.0).above("ping-pong", 5.0);
        let line = line.at(&Default::default(), "2026-01-01");
        let page = format!("# Mine\n{BEGIN}\nold\n{END}\nmine too\n");
        let new = replaced(&page, &section(&[line])).unwrap();
        assert!(new.starts_with(&format!("# Mine\n{BEGIN}\n\n### call\n")));
        assert!(new.ends_with(&format!("\n{END}\nmine too\n")));
        assert!(!new.contains("old"));
        assert_eq!(replaced("# Mine\n", ""), None);
    }
}
