//! The licences of the crates that are linked into what is packed: most ask to
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

#[derive(Clone, Deserialize)]
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

/// One text for the package `name` that names every crate linked into `parts`, each a
/// crate and the machine that it is built for, with its licence's words where the crate
/// brings them.
///
/// # Errors
/// [`DistError`] if cargo does not say, or a text cannot be read.
pub fn third_party(root: &Path, name: &str, parts: &[(&str, &str)]) -> Result<String, DistError> {
    let mut crates = BTreeMap::new();
    for (package, triple) in parts {
        for linked in linked(&metadata(root, triple)?, package) {
            crates.insert((linked.name.clone(), linked.version.clone()), linked);
        }
    }
    let mut text = format!("{name} holds code of these crates:\n");
    for package in crates.values() {
        add(&mut text, package)?;
    }
    Ok(text)
}

fn metadata(root: &Path, triple: &str) -> Result<Metadata, DistError> {
    let options = ["metadata", "--format-version", "1", "--locked"];
    let out = cargo_output(
        root,
        &[&options[..], &["--filter-platform", triple]].concat(),
    )?;
    serde_json::from_slice(&out).map_err(DistError::Metadata)
}

/// The crates of others that `package` is linked from.
fn linked(metadata: &Metadata, package: &str) -> Vec<Package> {
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
    let found = metadata.packages.iter().filter(is_others);
    found.cloned().collect()
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
