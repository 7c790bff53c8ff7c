//! The pages as a book for mdBook: `scripts/docs` builds it, and puts the crates'
//! documentation beside it.

use crate::links::{self, LinksError};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the book is made, in the target folder.
pub const FOLDER: &str = "target/book";

/// The page that lists the crates; mdBook finds it beside the summary.
const API: &str = "api.md";

/// Why there is no book.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The pages.
    #[error(transparent)]
    Links(#[from] LinksError),
    /// A file cannot be copied or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file's path.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// Cargo does not list the crates.
    #[error("cargo metadata failed: {0}")]
    Metadata(String),
}

/// Makes [`FOLDER`] anew: `book.toml`, and `src` with the pages in the tree's
/// own layout. Returns the folder.
///
/// # Errors
/// [`BookError`].
pub fn stage(root: &Path) -> Result<PathBuf, BookError> {
    let folder = root.join(FOLDER);
    let source = folder.join("src");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(io(&folder))?;
    }
    for file in links::of_the_book(root)? {
        let (from, to) = (root.join(&file), source.join(&file));
        let parent = to.parent().unwrap_or(&source);
        std::fs::create_dir_all(parent).map_err(io(parent))?;
        std::fs::copy(&from, &to).map_err(io(&from))?;
    }
    let summary = root.join(links::SUMMARY);
    let text = std::fs::read_to_string(&summary).map_err(io(&summary))?;
    write(&source.join("SUMMARY.md"), &from_the_root(&text))?;
    write(&source.join(API), &list(&crates(root)?))?;
    write(&folder.join("book.toml"), CONFIG)?;
    Ok(folder)
}

const CONFIG: &str = "\
[book]
title = \"gil: GPU in the loop\"
language = \"en\"

[build]
build-dir = \"html\"
# They give README.md another name, which links from other pages do not have.
use-default-preprocessors = false
";

fn io(path: &Path) -> impl Fn(std::io::Error) -> BookError + '_ {
    |error| BookError::Io {
        path: path.into(),
        error,
    }
}

fn write(path: &Path, text: &str) -> Result<(), BookError> {
    std::fs::write(path, text).map_err(io(path))
}

/// The summary in `docs/`, as one in the folder above, with the crates' page.
fn from_the_root(summary: &str) -> String {
    let links = summary.replace("](", "](docs/").replace("](docs/../", "](");
    format!("{}\n- [Crates]({API})\n", links.trim_end())
}

/// A crate with documentation.
#[derive(Debug, PartialEq, Eq)]
struct Documented {
    /// As code names it, which is its folder's name, too.
    name: String,
    about: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    description: Option<String>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
    doc: bool,
}

/// The workspace's crates that `cargo doc` documents; of a package the library.
fn crates(root: &Path) -> Result<Vec<Documented>, BookError> {
    let cargo = std::env::var("CARGO").unwrap_or("cargo".into());
    let mut metadata = Command::new(cargo);
    metadata.args(["metadata", "--format-version=1", "--no-deps"]);
    let output = metadata.current_dir(root).output();
    let output = output.map_err(|error| BookError::Metadata(error.to_string()))?;
    parse(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        BookError::Metadata(format!("{error} {said}"))
    })
}

fn parse(metadata: &[u8]) -> Result<Vec<Documented>, serde_json::Error> {
    let metadata: Metadata = serde_json::from_slice(metadata)?;
    let documented = metadata.packages.into_iter().filter_map(|package| {
        let is = |target: &&Target, kinds: &[&str]| {
            target.doc
                && kinds
                    .iter()
                    .any(|kind| target.kind.iter().any(|k| k == kind))
        };
        let mut targets = package.targets.iter();
        let library = targets.find(|target| is(target, &["lib", "cdylib", "staticlib"]));
        let target = library.or(package.targets.iter().find(|target| is(target, &["bin"])))?;
        Some(Documented {
            name: target.name.replace('-', "_"),
            about: package.description.unwrap_or_default(),
        })
    });
    Ok(documented.collect())
}

/// The page that lists them.
fn list(crates: &[Documented]) -> String {
    let mut page = String::from("# Crates\n\n| crate | contents |\n|---|---|\n");
    for Documented { name, about } in crates {
        page += &format!("| [`{name}`](api/{name}/index.html) | {about} |\n");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summarys_links_are_the_roots() {
        let summary = "# Summary\n\n[r](../README.md)\n- [a](A.md)\n  - [b](c/b.md)\n";
        let wanted = "# Summary\n\n[r](README.md)\n- [a](docs/A.md)\n  - [b](docs/c/b.md)\n- [Crates](api.md)\n";
        assert_eq!(from_the_root(summary), wanted);
    }

    #[test]
    fn a_package_has_its_library_or_its_program() {
        let target = |kind: &str, name: &str, doc: bool| {
            format!(r#"{{"kind":["{kind}"],"name":"{name}","doc":{doc}}}"#)
        };
        let package = |targets: &[String]| {
            format!(
                r#"{{"description":"does","targets":[{}]}}"#,
                targets.join(",")
            )
        };
        let packages = [
            package(&[target("bin", "a-tool", true), target("lib", "a_lib", true)]),
            package(&[target("test", "t", false), target("bin", "b-tool", true)]),
            package(&[target("cdylib", "c", false)]),
        ];
        let text = format!(r#"{{"packages":[{}]}}"#, packages.join(","));
        let found = parse(text.as_bytes()).unwrap();
        let names: Vec<_> = found.iter().map(|found| &*found.name).collect();
        assert_eq!(names, ["a_lib", "b_tool"]);
        assert!(list(&found).contains("| [`b_tool`](api/b_tool/index.html) | does |"));
    }
}
