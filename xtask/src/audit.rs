//! The audit page, `docs/SECURITY.md`: each promise names the tests that keep
//! it, and every test that it names is there.
//!
//! A row belongs to a table whose header is `| promise | test that keeps it |`;
//! its second cell names tests as `path/to/file.rs::name`, one or more.

use std::path::{Path, PathBuf};

const PAGE: &str = "docs/SECURITY.md";
const HEADER: [&str; 2] = ["promise", "test that keeps it"];

/// What is wrong with the page.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The page itself.
    #[error("{PAGE} cannot be read ({0}): it holds the project's promises about security")]
    Page(std::io::Error),
    /// It has no such table, or an empty one.
    #[error("{PAGE} has no row under \"| promise | test that keeps it |\": promises stand there")]
    Empty,
    /// A row without a test.
    #[error("{PAGE}:{line}: \"{promise}\" names no test: write path/to/file.rs::name behind it")]
    Unkept {
        /// Of the page.
        line: usize,
        /// The first cell.
        promise: String,
    },
    /// A test that is not there.
    #[error("{PAGE}:{line}: {test} {fault}")]
    Test {
        /// Of the page.
        line: usize,
        /// As the page writes it.
        test: String,
        /// Why it is not a test that runs.
        fault: Fault,
    },
}

/// Why a name is no test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Not of the form.
    #[error("is no path/to/file.rs::name")]
    Form,
    /// The file is not there.
    #[error("names a file that is not in the tree")]
    File,
    /// The file has no such function.
    #[error("names a test that the file does not have: was it renamed?")]
    Function,
    /// `#[ignore]`, or a function that is no test.
    #[error("names a function that `cargo test` does not run")]
    NotRun,
}

/// Whether every promise of the page names tests, and each is in the tree.
///
/// # Errors
/// The first row that does not hold.
pub fn check(root: &Path) -> Result<(), AuditError> {
    let page = std::fs::read_to_string(root.join(PAGE)).map_err(AuditError::Page)?;
    let mut read = |path: PathBuf| std::fs::read_to_string(root.join(path)).ok();
    check_page(&page, &mut read)
}

fn check_page(
    page: &str,
    read: &mut dyn FnMut(PathBuf) -> Option<String>,
) -> Result<(), AuditError> {
    let mut found = false;
    for (line, [promise, tests]) in rows(page) {
        found = true;
        let mut tests = tests
            .split(['`', ',', ' '])
            .filter(|word| !word.is_empty())
            .peekable();
        if tests.peek().is_none() {
            let promise = promise.into();
            return Err(AuditError::Unkept { line, promise });
        }
        for test in tests {
            find(test, read).map_err(|fault| AuditError::Test {
                line,
                test: test.into(),
                fault,
            })?;
        }
    }
    if found {
        Ok(())
    } else {
        Err(AuditError::Empty)
    }
}

/// The rows of every such table, with their lines' numbers.
fn rows(page: &str) -> impl Iterator<Item = (usize, [&str; 2])> {
    let mut inside = false;
    page.lines().enumerate().filter_map(move |(at, line)| {
        let cells = cells(line);
        let header = cells == Some(HEADER);
        inside = header || (inside && cells.is_some());
        let row = cells.filter(|[promise, _]| !promise.starts_with("---"));
        row.filter(|_| inside && !header).map(|row| (at + 1, row))
    })
}

/// The cells of a table's line that has two.
fn cells(line: &str) -> Option<[&str; 2]> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let (first, second) = inner.split_once('|')?;
    (!second.contains('|')).then(|| [first.trim(), second.trim()])
}

fn find(test: &str, read: &mut dyn FnMut(PathBuf) -> Option<String>) -> Result<(), Fault> {
    let (path, name) = test.split_once("::").ok_or(Fault::Form)?;
    let path = PathBuf::from(path);
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let formed = path.extension().is_some_and(|ext| ext == "rs") && name.chars().all(word);
    if !formed || name.is_empty() {
        return Err(Fault::Form);
    }
    runs(&read(path).ok_or(Fault::File)?, name)
}

/// Whether a file's tests have this one. Macros that make tests have functions
/// without the attribute, further in.
fn runs(text: &str, name: &str) -> Result<(), Fault> {
    let head = format!("fn {name}(");
    let lines: Vec<&str> = text.lines().collect();
    let is = |line: &&str| line.trim_start().starts_with(&head);
    let at = lines.iter().position(is).ok_or(Fault::Function)?;
    let above = lines[..at].iter().rev().map(|line| line.trim_start());
    let attributes: Vec<&str> = above
        .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
        .collect();
    let has = |start: &str| attributes.iter().any(|line| line.starts_with(start));
    let made = lines[at].starts_with(' ') && text.contains("! {");
    if has("#[ignore") || !(has("#[test]") || made) {
        return Err(Fault::NotRun);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
#[test]
fn plain() {}

fn helper() {}

#[test]
#[ignore = \"minutes\"]
fn slow() {}

both_widths! {
    fn wide(width: Width) {}
}
";

    fn of(rows: &str) -> Result<(), AuditError> {
        let page =
            format!("| party | trust |\n|---|---|\n| a | b |\n\n## Audit\n\n{rows}\n\nText.\n");
        check_page(&page, &mut |path| {
            (path == Path::new("a/b.rs")).then(|| FILE.into())
        })
    }

    fn of_cell(cell: &str) -> Result<(), AuditError> {
        of(&format!(
            "| promise | test that keeps it |\n|---|---|\n| it holds | {cell} |"
        ))
    }

    fn fault(cell: &str) -> Fault {
        match of_cell(cell) {
            Err(AuditError::Test { line: 9, fault, .. }) => fault,
            other => panic!("{cell}: {other:?}"),
        }
    }

    #[test]
    fn tests_that_are_there_are_found() {
        of_cell("a/b.rs::plain").unwrap();
        of_cell("`a/b.rs::plain`, `a/b.rs::wide`").unwrap();
    }

    #[test]
    fn what_is_no_test_is_named() {
        assert_eq!(fault("`a/b.rs::gone`"), Fault::Function);
        assert_eq!(fault("`a/b.rs::plai`"), Fault::Function);
        assert_eq!(fault("`a/b.rs::plain`, `a/c.rs::plain`"), Fault::File);
        assert_eq!(fault("`a/b.rs::slow`"), Fault::NotRun);
        assert_eq!(fault("`a/b.rs::helper`"), Fault::NotRun);
        for cell in ["reviewed", "a/b.rs", "a/b.c::plain", "a/b.rs::"] {
            assert_eq!(fault(cell), Fault::Form, "{cell}");
        }
    }

    #[test]
    fn a_promise_needs_a_test_and_the_page_a_promise() {
        assert!(matches!(
            of_cell(""),
            Err(AuditError::Unkept { line: 9, .. })
        ));
        let header = "| promise | test that keeps it |\n|---|---|";
        for rows in ["", header, "| other | table |\n|---|---|\n| a | b |"] {
            assert!(matches!(of(rows), Err(AuditError::Empty)), "{rows}");
        }
    }

    #[test]
    fn every_test_that_the_page_names_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        if let Err(error) = check(root) {
            panic!("{error}");
        }
    }
}
