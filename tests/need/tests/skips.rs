//! Skips as tests make them: this binary's own test, run in a process of its own
//! with and without declarations.

use gil_need::{DECLARED, HAPPENED, Summary};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

#[test]
#[ignore = "the others run it, in processes of their own"]
fn needs_what_nobody_has() {
    assert!(!gil_need::program("gil-no-such-program"));
}

struct Run {
    folder: TempDir,
    output: Output,
}

impl Run {
    fn declaring(text: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "needs_what_nobody_has",
                "--ignored",
                "--nocapture",
            ])
            .env_remove(DECLARED)
            .env(HAPPENED, folder.path().join("happened"));
        if let Some(text) = text {
            let declared = folder.path().join("skips.toml");
            std::fs::write(&declared, text).unwrap();
            command.env(DECLARED, declared);
        }
        let output = command.output().unwrap();
        Self { folder, output }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn summary(&self) -> String {
        let declared = self.path("skips.toml");
        let declared: Option<&Path> = declared.exists().then_some(&*declared);
        let summary = Summary::of(declared, Some(&self.path("happened")));
        summary.unwrap().to_string()
    }
}

#[test]
fn a_skip_that_is_not_declared_fails_with_what_to_do() {
    for text in ["", "\"another program\" = \"because\""] {
        let run = Run::declaring(Some(text));
        assert!(!run.output.status.success());
        let said = run.said();
        assert!(said.contains("gil-no-such-program is missing"), "{said}");
        assert!(said.contains("declare the skip in"), "{said}");
    }
}

#[test]
fn a_declared_skip_passes_and_is_told_at_the_end() {
    let text = "gil-no-such-program = \"nobody makes it\"\ngem5 = \"too large\"";
    let run = Run::declaring(Some(text));
    assert!(run.output.status.success(), "{}", run.said());
    assert!(run.said().contains("as declared: nobody makes it"));
    let summary = "skipped for want of gil-no-such-program: skips::needs_what_nobody_has\n  \
                   declared: nobody makes it\n\
                   declared, but nothing was skipped for want of gem5: take it from the list\n";
    assert_eq!(run.summary(), summary);
}

#[test]
fn where_nothing_is_declared_a_skip_is_a_line() {
    let run = Run::declaring(None);
    assert!(run.output.status.success(), "{}", run.said());
    assert!(
        run.said()
            .contains("skipped for want of gil-no-such-program")
    );
    let summary = "skipped for want of gil-no-such-program: skips::needs_what_nobody_has\n";
    assert_eq!(run.summary(), summary);
}

/// Tests' sources below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() && !name.starts_with("target") && !name.starts_with('.') {
            sources(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_test_skips_in_words_of_its_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    sources(&root.canonicalize().unwrap(), &mut found);
    assert!(found.len() > 100);
    let own = concat!("eprintln!(", "\"skip");
    found.retain(|path| std::fs::read_to_string(path).unwrap().contains(own));
    found.retain(|path| !path.ends_with("tests/need/src/lib.rs"));
    assert_eq!(found, Vec::<PathBuf>::new(), "call gil_need::skip there");
}

#[test]
fn a_list_without_reasons_is_refused() {
    for (text, words) in [
        ("gil-no-such-program = \" \"", "has no reason"),
        ("gil-no-such-program = 1", "is no list of skips"),
    ] {
        let run = Run::declaring(Some(text));
        assert!(!run.output.status.success());
        assert!(run.said().contains(words), "{}", run.said());
    }
}
