//! What `docs/ARCHITECTURE.md` says of the tree, and rules of the tree that no
//! compiler checks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("a workspace").into()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files that git knows, of this extension, below this folder.
fn files(below: &str, extension: &str) -> Vec<String> {
    let list = Command::new("git")
        .args(["ls-files", "--", below])
        .current_dir(root())
        .output()
        .expect("git");
    let list = String::from_utf8(list.stdout).expect("names in UTF-8");
    let all = list.lines().filter(|file| file.ends_with(extension));
    all.map(str::to_owned).collect()
}

/// The folders of the table, without the slash at their ends.
fn folders() -> BTreeSet<String> {
    let text = read("docs/ARCHITECTURE.md");
    let table = text
        .split("## Crates and folders")
        .nth(1)
        .expect("the table");
    let rows = table.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|'));
    let first = rows.filter_map(|row| row.strip_prefix("| `")?.split("/`").next());
    first.map(str::to_owned).collect()
}

#[test]
fn the_table_of_folders_is_the_tree() {
    let listed = folders();
    assert!(listed.len() > 10, "{listed:?}");
    for folder in &listed {
        assert!(root().join(folder).is_dir(), "there is no {folder}/");
    }
    let is_listed = |folder: &str| listed.iter().any(|other| folder == other);
    let holds_one = |folder: &str| {
        listed
            .iter()
            .any(|other| other.starts_with(&format!("{folder}/")))
    };
    let folders: BTreeSet<String> = files(".", "")
        .iter()
        .filter_map(|file| Some(file.split_once('/')?.0.to_owned()))
        .filter(|folder| !folder.starts_with('.') && folder != "docs")
        .collect();
    for folder in folders {
        assert!(
            is_listed(&folder) || holds_one(&folder),
            "{folder}/ is not in the table"
        );
    }
    for manifest in files(".", "Cargo.toml") {
        let Some((krate, _)) = manifest.rsplit_once('/') else {
            continue;
        };
        let top = krate.split('/').next().unwrap_or_default();
        // The crates of tests have one row, and so have those of examples.
        assert!(
            is_listed(krate) || ["tests", "examples"].contains(&top),
            "the crate {krate} is not in the table"
        );
    }
}

/// The picture's folders, and the row of each: the first is at the top.
fn drawn() -> BTreeMap<String, u32> {
    let picture = read("docs/images/crates.svg");
    let boxes = picture.split("<g data-crate=\"").skip(1);
    boxes
        .map(|group| {
            let (name, rest) = group.split_once('"').expect("a name");
            let row = rest.strip_prefix(" data-row=\"").expect("a row");
            let row = row.split('"').next().expect("a number");
            let label = format!(">{name}/</text>");
            assert!(rest.contains(&label), "the picture does not say {name}/");
            (name.to_owned(), row.parse().expect("a number"))
        })
        .collect()
}

/// The picture's last row: beside the others.
const BESIDE: u32 = 8;

#[test]
fn the_picture_of_the_crates_is_the_tree() {
    let drawn = drawn();
    let names: BTreeSet<String> = drawn.keys().cloned().collect();
    assert_eq!(names, folders());
    let crates = crates();
    let row = |krate: &String| drawn.get(&crates[krate]).filter(|&&row| row < BESIDE);
    let mut seen = 0;
    for (krate, folder) in &crates {
        let Some(own) = row(krate) else { continue };
        let below = used_by(folder);
        for used in below.iter().filter(|used| crates.contains_key(*used)) {
            let used_row = row(used).unwrap_or_else(|| panic!("{folder}/ uses {used}"));
            assert!(own < used_row, "{folder}/ is not above {used}");
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen} uses of a crate by another");
}

/// Each crate of the tree with its folder.
fn crates() -> BTreeMap<String, String> {
    let manifests = files(".", "Cargo.toml").into_iter();
    manifests
        .filter_map(|manifest| {
            let folder = manifest.rsplit_once('/')?.0.to_owned();
            let text = read(&manifest);
            let name = text.split("\nname = \"").nth(1)?;
            Some((name.split('"').next()?.to_owned(), folder))
        })
        .collect()
}

/// The crates that this folder's links with: not those of its tests alone.
fn used_by(folder: &str) -> Vec<String> {
    let manifest = read(&format!("{folder}/Cargo.toml"));
    let list = manifest.split("\n[dependencies]\n").nth(1);
    let list = list.unwrap_or_default().split("\n[").next();
    let lines = list.unwrap_or_default().lines();
    let name = |line: &str| line.split(['.', ' ', '=']).next().map(str::to_owned);
    lines.filter_map(name).collect()
}

/// Who reads a report links no simulator's part, and no board's.
#[test]
fn a_report_is_read_with_nothing_else_of_the_tree() {
    let manifest = read("report/Cargo.toml");
    let own = manifest.lines().find(|line| line.starts_with("gil-"));
    assert_eq!(own, None);
}

/// Where calls are only numbers and bytes.
const GENERIC: &[&str] = &[
    "host-iface/src",
    "host-iface/detect/src",
    "wire-protocol/src",
    "session-files/src",
    "timing-model/src",
    "address-tables/src",
    "qemu-plugin/src",
    "synthetic-driver",
    "synthetic-lib/runtime/src",
    "board-iface/src",
    "benchmarks/src",
    "board-client/src",
    "cli/src",
    "guest-image/src",
    "report/src",
    "run-support/src",
    "trace-tools/src",
];

/// A back end's own, programs that benchmarks measure, and what is generated.
const OF_AN_API: &[&str] = &[
    "benchmarks/src/opencl/",
    "board-iface/src/cuda/",
    "board-iface/src/graphics/",
    "board-iface/src/nvml/",
    "board-iface/src/opencl/",
    "wire-protocol/src/generated/",
];

/// Files that name an API all the same, and why.
const NAMES_ONE: &[(&str, &str)] = &[
    ("benchmarks/src/lib.rs", "the API that is measured"),
    ("board-iface/src/lib.rs", "the list of back ends"),
    ("cli/src/args/calibrate.rs", "the API that is measured"),
    ("cli/src/args/run.rs", "an example of a board for one API"),
];

/// What stands before a file's tests, which may use an API as an example.
fn code(file: &str) -> String {
    let text = read(file);
    text.split("#[cfg(test)]").next().unwrap_or_default().into()
}

/// Whether a line has a word of OpenCL's.
fn names_an_api(line: &str) -> bool {
    let before = |at: usize| line[..at].chars().next_back();
    let is_start = |at: usize| !before(at).is_some_and(|c| c.is_alphanumeric() || c == '_');
    let small = line.match_indices("cl_").any(|(at, _)| is_start(at));
    let large = line.match_indices("CL_").any(|(at, _)| {
        is_start(at) && line[at + 3..].starts_with(|c: char| c.is_ascii_uppercase())
    });
    small || large || line.to_lowercase().contains("opencl")
}

#[test]
fn what_moves_calls_names_no_api() {
    let sources = GENERIC.iter().flat_map(|folder| {
        let c = files(folder, ".c").into_iter().chain(files(folder, ".h"));
        c.chain(files(folder, ".rs"))
    });
    let own = |file: &String| !OF_AN_API.iter().any(|folder| file.starts_with(folder));
    let is_test = |file: &str| file.ends_with("tests.rs") || file.contains("/tests/");
    let mut found = BTreeMap::new();
    for file in sources.filter(own).filter(|file| !is_test(file)) {
        let code = code(&file);
        let line = code.lines().find(|line| names_an_api(line));
        if let Some(line) = line {
            found.insert(file.clone(), line.trim().to_owned());
        }
    }
    for (file, why) in NAMES_ONE {
        assert!(
            found.remove(*file).is_some(),
            "{file} is listed ({why}) and names none"
        );
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(names_an_api("a cl_int") && names_an_api("CL_SUCCESS") && names_an_api("OpenCL"));
    assert!(!names_an_api("include_lines, a circle_") && !names_an_api("ECL_X and CL_1"));
}

/// The name that a path begins with.
fn first_name(path: &str) -> &str {
    let path = path.trim_start();
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
    &path[..end.unwrap_or(path.len())]
}

/// The same, of each path where a group in braces begins.
fn first_names(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else {
        return vec![first_name(path)];
    };
    let (mut depth, mut names) = (1, vec![first_name(group)]);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(first_name(&group[at + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// The modules directly under a crate's `src/` that each of them uses.
fn uses(source: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files(source, ".rs") {
        let within = &file[source.len() + 1..];
        let module = within.split('/').next().unwrap_or_default();
        let module = module.trim_end_matches(".rs").to_owned();
        if ["lib", "main"].contains(&&*module) || file.ends_with("tests.rs") {
            continue;
        }
        let code = code(&file);
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let code: String = code.lines().filter(is_code).collect();
        for used in code.split("crate::").skip(1).flat_map(first_names) {
            if used != module && used.starts_with(|c: char| c.is_lowercase()) {
                all.entry(module.clone())
                    .or_default()
                    .insert(used.to_owned());
            }
        }
    }
    all
}

/// The same with what those use, and so on.
fn reached(mut uses: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    loop {
        let before = uses.clone();
        for used in uses.values_mut() {
            let further = used.iter().filter_map(|module| before.get(module));
            let further: Vec<_> = further.flatten().cloned().collect();
            used.extend(further);
        }
        if uses == before {
            return uses;
        }
    }
}

#[test]
fn modules_do_not_use_each_other() {
    let mut found = BTreeSet::new();
    for manifest in files(".", "Cargo.toml") {
        let Some((krate, _)) = manifest.rsplit_once('/') else {
            continue;
        };
        let uses = reached(uses(&format!("{krate}/src")));
        for (module, used) in &uses {
            let back = |other: &&String| uses.get(*other).is_some_and(|all| all.contains(module));
            for other in used.iter().filter(back).filter(|other| module < *other) {
                found.insert(format!("{krate}: {module}, {other}"));
            }
        }
    }
    let group = "{a, b::{c, d}, e}; use f::{g, h};";
    assert_eq!(first_names(group), ["a", "b", "e"]);
    let ring = [("a", "b"), ("b", "c"), ("c", "a")];
    let ring = ring.map(|(module, used)| (module.to_owned(), BTreeSet::from([used.to_owned()])));
    assert!(reached(ring.into())["a"].contains("a"));
    assert!(found.is_empty(), "{found:#?}");
}

/// Where the example of one API more is.
const EXAMPLE: &str = "examples/toy-api/";

/// What the tables of `docs/ADDING_AN_API.md` name as written by hand, from the
/// root; folders end with a slash.
fn by_hand() -> BTreeSet<String> {
    let page = read("docs/ADDING_AN_API.md");
    let section = page.split("## Files written by hand").nth(1);
    let section = section.and_then(|text| text.split("\n## ").next());
    let rows = section.expect("the tables").lines();
    let column = rows.filter_map(|row| row.strip_prefix("| ")?.split(" | ").nth(1));
    let names = column.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names
        .map(|name| match root().join(name).exists() {
            true => name.to_owned(),
            false => format!("{EXAMPLE}{name}"),
        })
        .collect()
}

/// Whether a file is the example's or speaks of it, and was written by hand.
/// Pages speak of it as they like, and cargo writes `Cargo.lock`.
fn is_of_the_example(file: &str) -> bool {
    if file.starts_with("docs/") || ["CONTRIBUTING.md", "Cargo.lock"].contains(&file) {
        return false;
    }
    let bytes = std::fs::read(root().join(file)).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).to_lowercase();
    let is_generated = text.lines().take(5).any(|line| line.contains("@generated"));
    !is_generated && (file.starts_with(EXAMPLE) || text.contains("toy"))
}

#[test]
fn the_page_on_adding_an_api_names_every_file() {
    let named = by_hand();
    let mut unused = named.clone();
    let mut left_out = Vec::new();
    for file in files(".", "").into_iter().filter(|f| is_of_the_example(f)) {
        let is_in =
            |name: &&String| file == **name || name.ends_with('/') && file.starts_with(*name);
        match named.iter().find(is_in) {
            Some(name) => drop(unused.remove(name)),
            None => left_out.push(file),
        }
    }
    assert!(left_out.is_empty(), "not on the page: {left_out:#?}");
    assert!(unused.is_empty(), "no such file: {unused:#?}");
}
