//! Programs and libraries as the cross compilers make them.

use super::*;
use crate::program;
use crate::tree::Entry;
use std::process::Command;
use tempfile::TempDir;

/// A folder in which programs are built.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Its real path, as the dynamic linker knows it.
    fn at(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join(name)
    }

    /// Compiles nothing to `name`, linked with these libraries.
    fn link(&self, compiler: &str, name: &str, libraries: &[&str], options: &[&str]) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let kind: &[&str] = match name.contains(".so") {
            true => &["-shared"],
            false => &["-Wl,--unresolved-symbols=ignore-all", "-Wl,-e0"],
        };
        let built = Command::new(compiler)
            .args(["-nostdlib", "-x", "c", "/dev/null", "-x", "none", "-o"])
            .arg(path)
            .args(["-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"])
            .args(libraries.iter().map(|name| self.at(name)))
            .args(kind.iter().chain(options))
            .status()
            .unwrap();
        assert!(built.success(), "{name}");
    }

    /// The same, for the guest.
    fn guest(&self, name: &str, libraries: &[&str], options: &[&str]) {
        self.link(Arch::Arm64.compiler(), name, libraries, options);
    }

    fn local(&self, name: &str) -> Local {
        program::local(&self.at(name)).unwrap()
    }

    fn find(&self, name: &str) -> Libraries {
        find(&self.local(name), &Tree::default())
    }

    fn error(&self, name: &str) -> String {
        let (local, tree) = (self.local(name), Tree::default());
        let found = find(&local, &tree).check(&local, &tree, [].into_iter());
        found.unwrap_err().to_string()
    }
}

/// Sets the soname, by which a library is needed.
const NAMES: [&str; 3] = [
    "-Wl,-soname,libone.so.1",
    "-Wl,-soname,libtwo.so.1",
    "-Wl,-soname,libthree.so.1",
];

fn names(found: &Libraries) -> Vec<&str> {
    found.files.iter().map(|file| file.name.as_str()).collect()
}

fn others(found: &Libraries) -> Vec<&str> {
    found.others.iter().map(String::as_str).collect()
}

#[test]
fn libraries_keep_their_places_beside_the_program() {
    let bench = Bench::new();
    bench.guest("lib/more/libtwo.so.1", &[], &[NAMES[1]]);
    let more = [NAMES[0], "-Wl,-rpath,$ORIGIN/more"];
    bench.guest("lib/libone.so.1", &["lib/more/libtwo.so.1"], &more);
    bench.guest("x/libthree.so.1", &[], &[NAMES[2]]);
    let needed = ["lib/libone.so.1", "x/libthree.so.1"];
    bench.guest(
        "bin/p",
        &needed,
        &["-Wl,-rpath,/nowhere:${ORIGIN}/../$LIB:$ORIGIN/../lib"],
    );
    std::os::unix::fs::symlink("bin/p", bench.at("link")).unwrap();

    for name in ["bin/p", "link"] {
        let found = bench.find(name);
        assert_eq!(found.folder, "opt/gil/bin");
        let places = ["opt/gil/lib/libone.so.1", "opt/gil/lib/more/libtwo.so.1"];
        assert_eq!(names(&found), places);
        assert_eq!(found.files[0].source, bench.at("lib/libone.so.1"));
        assert_eq!(others(&found), ["libthree.so.1"]);
    }
    let error = bench.error("bin/p");
    assert!(
        error.contains("libthree.so.1") && error.contains("--pkg"),
        "{error}"
    );
}

#[test]
fn a_program_that_brings_nothing_stays_where_programs_are() {
    let bench = Bench::new();
    bench.guest("bin/p", &[], &["-Wl,-rpath,$ORIGIN/../lib"]);
    assert_eq!(bench.find("bin/p").folder, LOCAL_FOLDER);
    bench.guest("bin/libone.so.1", &[], &[NAMES[0]]);
    bench.guest("bin/q", &["bin/libone.so.1"], &["-Wl,-rpath,$ORIGIN"]);
    let found = bench.find("bin/q");
    assert_eq!(found.folder, LOCAL_FOLDER);
    assert_eq!(names(&found), ["opt/gil/libone.so.1"]);
}

#[test]
fn only_the_older_kind_of_path_serves_libraries_of_libraries() {
    let bench = Bench::new();
    bench.guest("libtwo.so.1", &[], &[NAMES[1]]);
    bench.guest("libone.so.1", &["libtwo.so.1"], &[NAMES[0]]);
    for (kind, places, missing) in [
        (
            "-Wl,--disable-new-dtags",
            &["opt/gil/libone.so.1", "opt/gil/libtwo.so.1"][..],
            &[][..],
        ),
        (
            "-Wl,--enable-new-dtags",
            &["opt/gil/libone.so.1"],
            &["libtwo.so.1"],
        ),
    ] {
        let options = [kind, "-Wl,-rpath,$ORIGIN", "-Wl,-rpath-link,/"];
        bench.guest("p", &["libone.so.1"], &options);
        let found = bench.find("p");
        assert_eq!(
            (names(&found), others(&found)),
            (places.to_vec(), missing.to_vec())
        );
    }
}

#[test]
fn a_library_of_another_machine_is_passed_over_and_named() {
    let bench = Bench::new();
    bench.guest("right/libone.so.1", &[], &[NAMES[0]]);
    bench.link(
        Arch::Armhf.compiler(),
        "narrow/libone.so.1",
        &[],
        &[NAMES[0]],
    );
    let machines = ["right/libone.so.1"];
    bench.guest("p", &machines, &["-Wl,-rpath,$ORIGIN/narrow:$ORIGIN/right"]);
    assert_eq!(names(&bench.find("p")), ["opt/gil/right/libone.so.1"]);

    bench.guest("p", &machines, &["-Wl,-rpath,$ORIGIN/narrow"]);
    let error = bench.error("p");
    for word in [
        "libone.so.1",
        "narrow/libone.so.1",
        "armhf",
        "build it for arm64",
    ] {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn in_other_folders_the_guests_own_come_first() {
    let bench = Bench::new();
    bench.guest("abs/libone.so.1", &[], &[NAMES[0]]);
    let rpath = format!("-Wl,-rpath,{}", bench.at("abs").display());
    bench.guest("bin/p", &["abs/libone.so.1"], &[&rpath]);
    let path = bench.at("abs/libone.so.1").display().to_string();
    let same = tree::normal(&path);
    let found = bench.find("bin/p");
    assert_eq!(found.folder, LOCAL_FOLDER);
    assert_eq!(names(&found), [same.as_str()]);

    let local = bench.local("bin/p");
    let everywhere = format!("{}/libone.so.1", Arch::Arm64.library_folder());
    for (place, wanted) in [(everywhere, &["libone.so.1"][..]), (same, &[])] {
        let mut tree = Tree::default();
        tree.insert(&place, Entry::File { executable: false });
        let found = find(&local, &tree);
        assert_eq!((names(&found), others(&found)), (vec![], wanted.to_vec()));
        found.check(&local, &tree, [].into_iter()).unwrap();
    }
}

#[test]
fn missing_libraries_are_named_once_nobody_has_them() {
    let bench = Bench::new();
    bench.guest("libone.so.1", &[], &[NAMES[0]]);
    bench.guest("p", &["libone.so.1"], &[]);
    let error = bench.error("p");
    assert!(
        error.contains("libone.so.1") && error.contains("--pkg PACKAGE"),
        "{error}"
    );
    let (local, tree) = (bench.local("p"), Tree::default());
    let added = ["usr/lib/libone.so.1"].into_iter();
    find(&local, &tree).check(&local, &tree, added).unwrap();

    let narrow = Arch::Armhf.compiler();
    bench.link(narrow, "libone.so.1", &[], &[NAMES[0]]);
    bench.link(narrow, "p", &["libone.so.1"], &[]);
    let error = bench.error("p");
    assert!(error.contains("--pkg PACKAGE:armhf"), "{error}");
}

#[test]
fn packages_of_graphics_libraries_are_named() {
    let bench = Bench::new();
    let error = |library: &str| {
        bench.guest(library, &[], &[&format!("-Wl,-soname,{library}")]);
        bench.guest("p", &[library], &[]);
        bench.error("p")
    };
    let gbm = error("libgbm.so.1");
    assert!(gbm.contains("--pkg libgbm1,"), "{gbm}");
    assert!(!gbm.contains("OpenGL"), "{gbm}");
    let desktop = error("libGL.so.1");
    assert!(desktop.contains("--pkg libgl1,"), "{desktop}");
    assert!(desktop.contains("not on the board"), "{desktop}");
}

/// Reading them would never end.
#[test]
fn devices_and_pipes_are_no_libraries() {
    let bench = Bench::new();
    bench.guest("libone.so.1", &[], &[NAMES[0]]);
    let runpath = "-Wl,-rpath,$ORIGIN";
    bench.guest("program", &["libone.so.1"], &[runpath]);
    let library = bench.at("libone.so.1");
    for command in ["ln -sf /dev/zero", "rm -f \"$1\"; mkfifo"] {
        let script = format!("{command} \"$1\"");
        let mut sh = Command::new("sh");
        sh.args(["-c", &script, "sh"]).arg(&library);
        assert!(sh.status().unwrap().success());
        let found = bench.find("program");
        assert!(found.files.is_empty(), "{:?}", names(&found));
        assert_eq!(others(&found), ["libone.so.1"]);
    }
}

#[test]
fn libraries_that_need_each_other_come_once() {
    let bench = Bench::new();
    let runpath = "-Wl,-rpath,$ORIGIN";
    bench.guest("libtwo.so.1", &[], &[NAMES[1], runpath]);
    bench.guest("libone.so.1", &["libtwo.so.1"], &[NAMES[0], runpath]);
    bench.guest("libtwo.so.1", &["libone.so.1"], &[NAMES[1], runpath]);
    bench.guest("program", &["libone.so.1"], &[runpath]);
    let found = bench.find("program");
    let places = ["opt/gil/libone.so.1", "opt/gil/libtwo.so.1"];
    assert_eq!(names(&found), places);
}
