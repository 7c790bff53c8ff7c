//! `cargo xtask gen`: writes what the descriptions say, or compares.

use crate::emit;
pub use crate::emit::Paths;
use crate::emit::names::Listed;
use crate::spec::{self, Api, SpecError};
use gil_drivers::{Table, TableError};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub enum GenError {
    /// A description is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A kernel driver's table is wrong.
    #[error("{}: {error}", path.display())]
    Table {
        /// The table.
        path: PathBuf,
        /// What is wrong with it.
        error: TableError,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file's path.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// rustfmt would not take what was generated.
    #[error("rustfmt failed for {}: {message}", path.display())]
    Format {
        /// Of which file.
        path: PathBuf,
        /// The program's message.
        message: String,
    },
    /// `gen --check` found differences.
    #[error("these files are not what api/ and the drivers' tables say, run `cargo xtask gen` and commit: {}", list(.0))]
    Differ(Vec<PathBuf>),
}

fn list(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(", ")
}

/// A generated file: its path from the repository's root, and its text.
#[derive(Clone, Debug)]
pub struct Output {
    /// From the root.
    pub path: PathBuf,
    /// Formatted.
    pub text: String,
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> GenError + '_ {
    |error| GenError::Io {
        path: path.into(),
        error,
    }
}

/// Reads `api/*.toml`: the descriptions by API number, each with its hash.
///
/// # Errors
/// [`GenError::Spec`] or [`GenError::Io`].
pub fn descriptions(root: &Path) -> Result<Vec<(Api, [u8; 32])>, GenError> {
    let mut apis = Vec::new();
    for path in listed(&root.join("api"), "toml")? {
        let text = std::fs::read_to_string(&path).map_err(io(&path))?;
        let shown = path.strip_prefix(root).unwrap_or(&path);
        let hash = Sha256::digest(canonical(&text));
        apis.push((spec::parse(shown, &text)?, hash.into()));
    }
    apis.sort_by_key(|(api, _)| api.number);
    Ok(apis)
}

/// A description without comments, layout and order of keys: what its hash is
/// made of.
fn canonical(text: &str) -> String {
    match text.parse::<toml::Table>() {
        Ok(table) => table.to_string(),
        Err(_) => text.into(),
    }
}

/// Where the kernel drivers' tables are.
const TABLES: &str = "address-tables/drivers/tables";

/// Reads the kernel drivers' tables, each with its hash.
fn tables(root: &Path) -> Result<Vec<(Table, [u8; 32])>, GenError> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).map_err(io(&path))?;
        let hash = Sha256::digest(canonical(&text));
        let table = Table::parse(&text).map_err(|error| GenError::Table { path, error })?;
        Ok((table, hash.into()))
    };
    listed(&root.join(TABLES), "toml")?
        .into_iter()
        .map(read)
        .collect()
}

/// All APIs, by number.
fn listed_apis(apis: &[(Api, [u8; 32])], drivers: &[(Table, [u8; 32])]) -> Vec<Listed> {
    let apis = apis.iter().map(|(api, hash)| Listed::of(api, *hash));
    let drivers = drivers
        .iter()
        .map(|(table, hash)| emit::drivers::listed(table, *hash));
    let mut all: Vec<_> = apis.chain(drivers).collect();
    all.sort_by_key(|api| api.number);
    all
}

/// Everything that is generated from the descriptions.
///
/// # Errors
/// [`GenError`].
pub fn outputs(root: &Path) -> Result<Vec<Output>, GenError> {
    let apis = descriptions(root)?;
    let drivers = tables(root)?;
    let mut all = vec![file(
        "wire-protocol/src/generated/mod.rs",
        emit::names::index(&listed_apis(&apis, &drivers)),
    )];
    for (table, _) in &drivers {
        let path = format!("wire-protocol/src/generated/{}.rs", table.driver);
        all.push(file(path, emit::drivers::module(table)));
    }
    all.push(file(
        "synthetic-driver/mirror_tables.c",
        emit::driver_tables::program(drivers.iter().map(|(table, _)| table)),
    ));
    let covered = covered(root)?;
    for (api, _) in &apis {
        all.extend(of_api(api, &covered));
    }
    all.into_iter().map(|output| format(root, output)).collect()
}

/// A generated C program.
#[derive(Debug)]
pub struct AbiProgram {
    /// The file.
    pub path: PathBuf,
    /// The folder of the API's header, if that is not among the system's.
    pub headers: Option<PathBuf>,
    /// The header, if it is the vendor's alone.
    pub vendors: Option<String>,
    /// The bits of pointers, if the API has programs of no others.
    pub pointers: Option<u32>,
}

/// The generated C programs, one an API.
///
/// # Errors
/// [`GenError`].
pub fn abi_programs(root: &Path) -> Result<Vec<AbiProgram>, GenError> {
    let apis = descriptions(root)?;
    let program = |(api, _): &(Api, _)| AbiProgram {
        path: root.join(format!("tests/abi/{}.c", api.name)),
        headers: api.home.as_ref().map(|home| root.join(home)),
        vendors: api.vendors_header.then(|| api.header.clone()),
        pointers: api.pointers,
    };
    Ok(apis.iter().map(program).collect())
}

fn file(path: impl Into<PathBuf>, text: String) -> Output {
    Output {
        path: path.into(),
        text,
    }
}

/// What the lists of `tests/coverage` say: which tests call an entry point.
fn covered(root: &Path) -> Result<emit::coverage::Covered, GenError> {
    let mut covered = emit::coverage::Covered::new();
    for path in listed(&root.join("tests/coverage"), "txt")? {
        let test = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(&path).map_err(io(&path))?;
        for name in text.lines() {
            let tests = covered.entry(name.into()).or_default();
            tests.push(test.clone().into_owned());
        }
    }
    Ok(covered)
}

/// The files of a folder with this extension, in order of their names.
fn listed(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, GenError> {
    let entries = std::fs::read_dir(folder).map_err(io(folder))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    Ok(files)
}

fn of_api(api: &Api, covered: &emit::coverage::Covered) -> Vec<Output> {
    let paths = Paths::of(api);
    let name = &api.name;
    let (guest, board) = match &api.home {
        Some(home) => (
            format!("{home}/guest/src"),
            format!("{home}/board/src/back_end"),
        ),
        None => (
            format!("synthetic-lib/{name}/src"),
            match &api.back_end {
                Some(module) => format!("board-iface/src/{module}/{name}"),
                None => format!("board-iface/src/{name}"),
            },
        ),
    };
    let guest = |leaf: &str| format!("{guest}/generated/{leaf}");
    let board = |leaf: &str| format!("{board}/generated/{leaf}");
    let mut all = vec![
        file(
            format!("wire-protocol/src/generated/{name}.rs"),
            emit::wire::module(api, &paths),
        ),
        file(guest("mod.rs"), emit::guest_index(api)),
        file(guest("types.rs"), emit::types::module(api, &paths)),
        file(guest("stubs.rs"), emit::guest::stubs(api, &paths)),
        file(guest("manual.rs"), emit::guest::manual(api, &paths)),
        file(guest("exports.rs"), emit::exports::exports(api, &paths)),
        file(
            format!("docs/coverage/{name}.md"),
            emit::coverage::page(api, covered),
        ),
        file(format!("tests/abi/{name}.c"), emit::abi::program(api)),
    ];
    if api.is_forwarded() {
        all.extend([
            file(board("mod.rs"), emit::board_index(api)),
            file(board("types.rs"), emit::types::module(api, &paths)),
            file(board("functions.rs"), emit::board::functions(api, &paths)),
            file(board("dispatch.rs"), emit::board::dispatch(api, &paths)),
            file(board("manual.rs"), emit::board::manual(api, &paths)),
        ]);
    }
    if emit::declarations::are_own(api) {
        let path = format!("synthetic-lib/{name}/include/api/{}", api.header);
        all.push(file(path, emit::declarations::header(api)));
    }
    if let Some(table) = &api.dispatch {
        all.push(file(
            guest("dispatch.rs"),
            emit::exports::dispatch(api, table, &paths),
        ));
    }
    all
}

/// What one description yields, with the paths of test doubles: for the
/// generator's own tests.
///
/// # Errors
/// [`GenError`].
pub fn of_description(
    root: &Path,
    file: &Path,
    text: &str,
    paths: &Paths,
) -> Result<Vec<Output>, GenError> {
    let api = spec::parse(file, text)?;
    let outputs = [
        ("wire.rs", emit::wire::module(&api, paths)),
        ("types.rs", emit::types::module(&api, paths)),
        ("stubs.rs", emit::guest::stubs(&api, paths)),
        ("guest_manual.rs", emit::guest::manual(&api, paths)),
        ("functions.rs", emit::board::functions(&api, paths)),
        ("dispatch.rs", emit::board::dispatch(&api, paths)),
        ("board_manual.rs", emit::board::manual(&api, paths)),
        (
            "coverage.md",
            emit::coverage::page(&api, &Default::default()),
        ),
    ];
    let outputs = outputs.map(|(name, text)| self::file(name, text));
    outputs
        .into_iter()
        .map(|output| format(root, output))
        .collect()
}

fn format(root: &Path, output: Output) -> Result<Output, GenError> {
    if output.path.extension().is_none_or(|ext| ext != "rs") {
        return Ok(output);
    }
    let text = rustfmt(root, &output.path, &output.text)?;
    Ok(Output { text, ..output })
}

/// Lays Rust text out as the project does.
///
/// # Errors
/// [`GenError::Format`].
pub fn rustfmt(root: &Path, path: &Path, text: &str) -> Result<String, GenError> {
    let failed = |message: String| GenError::Format {
        path: path.into(),
        message,
    };
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            failed(format!(
                "{error}; install it with rustup component add rustfmt"
            ))
        })?;
    let mut stdin = child.stdin.take().expect("piped");
    let text = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child
        .wait_with_output()
        .map_err(|error| failed(error.to_string()))?;
    let written = writer.join().is_ok_and(|result| result.is_ok());
    if !output.status.success() || !written {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()))
}

/// Writes every output that differs; returns which.
///
/// # Errors
/// [`GenError`].
pub fn write(root: &Path) -> Result<Vec<PathBuf>, GenError> {
    let mut written = Vec::new();
    for output in outputs(root)? {
        let path = root.join(&output.path);
        if is_same(&path, &output.text) {
            continue;
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io(folder))?;
        }
        std::fs::write(&path, &output.text).map_err(io(&path))?;
        written.push(output.path);
    }
    Ok(written)
}

/// Compares every output with what is there.
///
/// # Errors
/// [`GenError::Differ`] names the files.
pub fn check(root: &Path) -> Result<(), GenError> {
    let differing: Vec<_> = outputs(root)?
        .into_iter()
        .filter(|output| !is_same(&root.join(&output.path), &output.text))
        .map(|output| output.path)
        .collect();
    match differing.is_empty() {
        true => Ok(()),
        false => Err(GenError::Differ(differing)),
    }
}

fn is_same(path: &Path, text: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|found| found == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_what_a_description_says() {
        let a = canonical("b = 1\n[t]\nx = 2 # why\ny = 3\n");
        assert_eq!(a, canonical("# title\nb=1\n[t]\ny = 3\nx = 2\n"));
        assert_ne!(a, canonical("b = 2\n[t]\nx = 2\ny = 3\n"));
    }
}
