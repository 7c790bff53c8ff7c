//! gil's libraries in a guest process: what they export, and that several of
//! them are one session.

use gil_guest_names::{LIBRARIES, Library, PREFIX, SHARED};
use gil_tests::{Link, Run, Width, both_widths, guest_program_of, root};
use object::{Object, ObjectSymbol};
use std::path::Path;

/// Entry points that the description of a library's API gives a declaration, by name;
/// of one version's library those that this version has.
fn described(api: &str, library: &Library) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(format!("api/{api}.toml"))).unwrap();
    let spec: toml::Table = text.parse().unwrap();
    let calls = spec["call"].as_table().unwrap();
    let version = |call: &toml::Value, key| call.get(key).and_then(|it| it.as_str()).map(numbers);
    let exported = calls.iter().filter(|(_, call)| {
        let wanted = library.of_version.map(numbers);
        call.get("c").is_some()
            && wanted.is_none_or(|wanted| {
                version(call, "since").is_some_and(|since| since <= wanted)
                    && version(call, "until").is_none_or(|until| wanted <= until)
            })
    });
    let mut names: Vec<_> = exported.map(|(name, _)| name.clone()).collect();
    names.sort_unstable();
    names
}

fn numbers(version: &str) -> (u16, u16) {
    let (major, minor) = version.split_once('.').unwrap();
    (major.parse().unwrap(), minor.parse().unwrap())
}

/// What a library exports, by name.
fn exported(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = object::File::parse(&*bytes).unwrap();
    let defined = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition());
    let mut names: Vec<_> = defined
        .map(|symbol| symbol.name().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    names
}

fn exports_its_apis_names(width: Width, library: &Library) {
    let apis = library.apis.iter();
    let mut names: Vec<_> = apis.flat_map(|api| described(api, library)).collect();
    names.extend(library.also.iter().map(|&name| name.to_owned()));
    names.sort_unstable();
    assert!(!names.is_empty());
    assert_eq!(exported(&width.library(library.file)), names);
}

both_widths! {
    fn a_library_exports_its_apis_names_and_no_others(width: Width) {
        for library in LIBRARIES.iter().filter(|library| library.is_for(width.bits())) {
            exports_its_apis_names(width, library);
        }
    }

    /// So a program that loads one API finds the names of no other.
    fn what_they_share_exports_names_of_its_own_only(width: Width) {
        let names = exported(&width.library(SHARED));
        let others: Vec<_> = names.iter().filter(|name| !name.starts_with(PREFIX)).collect();
        assert_eq!(others, [""; 0]);
        assert!(!names.is_empty());
    }

    fn libraries_of_one_process_are_one_session(width: Width) {
        let library = gil_guest_names::OPENCL.file;
        let copied = format!("{}:/direct/libcopy.so", width.library(library).display());
        let program = guest_program_of(width, "tests/guest/cl_libraries.c", Link::OpenCl);
        let program = program.display().to_string();
        let run = Run::new(["--file", &copied, &program, library, "/direct/libcopy.so"]);
        let run = run.finish().ok();
        assert_eq!(run.stdout.lines().count(), 3, "{run:#?}");
        assert!(run.stdout.lines().all(|line| line.starts_with("ok ")), "{run:#?}");
    }
}
