//! The licences of the crates that are linked into the agent: most ask to
//! travel with it.

use super::DistError;
use super::build::cargo_output;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    /// None for those of this workspace.
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

/// `kind` is none for what is linked, `dev` or `build` for others.
#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// One text that names every crate linked into `package` on `triple`, with its
/// licence's words where the crate brings them.
///
/// # Errors
/// [`DistError`] if cargo does not say, or a text cannot be read.
pub fn third_party(root: &Path, package: &str, triple: &str) -> Result<String, DistError> {
    let options = ["metadata", "--format-version", "1", "--locked"];
    let out = cargo_output(
        root,
        &[&options[..], &["--filter-platform", triple]].concat(),
    )?;
    let metadata: Metadata = serde_json::from_slice(&out).map_err(DistError::Metadata)?;
    let mut text = String::from("gil-board holds code of these crates:\n");
    for package in linked(&metadata, package) {
        add(&mut text, package)?;
    }
    Ok(text)
}

/// The crates of others that `package` is linked from, by name.
fn linked<'a>(metadata: &'a Metadata, package: &str) -> Vec<&'a Package> {
    let nodes: BTreeMap<&str, &Node> = metadata
        .resolve
        .nodes
        .iter()
        .map(|n| (n.id.as_str(), n))
        .collect();
    let own = metadata.packages.iter().find(|p| p.name == package);
    let mut pending: Vec<&str> = own.iter().map(|p| p.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        let deps = nodes.get(id).into_iter().flat_map(|node| &node.deps);
        let linked = deps.filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind.is_none()));
        pending.extend(linked.map(|dep| dep.pkg.as_str()));
    }
    let is_others = |p: &&Package| p.source.is_some() && seen.contains(p.id.as_str());
    let mut found: Vec<_> = metadata.packages.iter().filter(is_others).collect();
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    found
}

fn add(text: &mut String, package: &Package) -> Result<(), DistError> {
    let licence = package.license.as_deref().unwrap_or("see below");
    let (name, version) = (&package.name, &package.version);
    let _ = writeln!(text, "\n==== {name} {version} ({licence})");
    for path in texts(&package.manifest_path) {
        let words = fs::read(&path).map_err(|error| DistError::file(&path, error))?;
        let _ = writeln!(text, "\n{}", String::from_utf8_lossy(&words).trim_end());
    }
    Ok(())
}

/// Files of a crate that its licence is in, sorted.
fn texts(manifest: &Path) -> Vec<PathBuf> {
    let folder = manifest
        .parent()
        .and_then(|folder| fs::read_dir(folder).ok());
    let names = [
        "license",
        "licence",
        "copying",
        "copyright",
        "notice",
        "unlicense",
    ];
    let is_text = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_ascii_lowercase();
        path.is_file() && names.iter().any(|start| name.starts_with(start))
    };
    let entries = folder.into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(is_text).collect();
    found.sort();
    found
}
