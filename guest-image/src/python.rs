//! Python's modules in a package set, compiled as their packages' scripts would do.
//! Otherwise a guest would compile its imports at every start, which takes most of a
//! program's time to its first call.
//!
//! Debian's own Python compiles them, in the set's version and built for this machine: no
//! installed Python is needed, and none of the set's programs is executed.

use crate::apt::{self, Apt, AptError};
use crate::platforms::Platforms;
use crate::unpacked;
use gil_run_support::cache::{At, Cache};
use gil_run_support::progress::Progress;
use gil_run_support::tool::{self, ToolError};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where packages put Python, as `python3.11`.
const PROGRAMS: &str = "usr/bin";
/// The script that Python executes.
const COMPILE: &str = include_str!("python_modules.py");

/// Compiles the modules below `root`, for each Python that is there; beside
/// `root` there is room for more. Where this machine cannot have or run that
/// Python, modules stay as they are.
///
/// # Errors
/// [`AptError`] if something could not be downloaded or written.
pub fn compile(cache: &Cache, root: &Path, progress: &Progress) -> Result<(), AptError> {
    for version in versions(root) {
        progress.say(&format!("compiling the modules of {version}"));
        match compile_with(&version, cache, root, progress) {
            Err(error) if is_lacking(&error) => progress.note(&format!(
                "the guest compiles its modules of {version} at every start, which takes long: {error}"
            )),
            done => done?,
        }
    }
    Ok(())
}

/// Whether the next try would end in the same way.
fn is_lacking(error: &AptError) -> bool {
    match error {
        AptError::NoPackage { .. } | AptError::Conflict { .. } => true,
        AptError::Tool(error) => !matches!(error, ToolError::Full { .. }),
        _ => false,
    }
}

/// The names of the Pythons in `root`, which are the names of their packages.
fn versions(root: &Path) -> Vec<String> {
    let mut names = file_names(&root.join(PROGRAMS));
    names.retain(|name| is_version(name));
    names
}

fn is_version(name: &str) -> bool {
    let minor = name.strip_prefix("python3.").unwrap_or_default();
    !minor.is_empty() && minor.chars().all(|c| c.is_ascii_digit())
}

fn compile_with(
    version: &str,
    cache: &Cache,
    root: &Path,
    progress: &Progress,
) -> Result<(), AptError> {
    let beside = root.parent().unwrap_or(root);
    let folder = tempfile::tempdir_in(beside).at(beside)?;
    let host = Apt::open(cache, &[&apt::host_architecture()?], progress)?;
    // The interpreter with the library that parses, and no more.
    let debs = host.resolve(&[format!("{version}-minimal")], Platforms::Packages)?;
    unpacked::unpack(&host.fetch(&debs)?, folder.path(), progress)?;
    let mut command = interpreter(folder.path(), version);
    command.args(["-c", COMPILE]).arg(root);
    tool::run(&mut command, "compiling Python's modules", root)?;
    Ok(())
}

/// How the Python that is unpacked in `folder` is called: by its own loader, with
/// its own libraries, and without what the user's or the machine's settings add.
fn interpreter(folder: &Path, version: &str) -> Command {
    let program = folder.join(PROGRAMS).join(version);
    let libraries = library_folders(folder);
    let mut command = match libraries
        .iter()
        .find_map(|place| loader(&folder.join(place)))
    {
        Some(loader) => {
            let mut command = Command::new(loader);
            // Relative: a cache's path may have the colon that divides these.
            command.args(["--inhibit-cache", "--library-path", &libraries.join(":")]);
            command.arg(program);
            command
        }
        None => Command::new(program),
    };
    let alone = ["-I", "-S", "-X", "utf8", "-W", "ignore"];
    command.env_clear().current_dir(folder).args(alone);
    command
}

/// Where the libraries of unpacked packages are, as `usr/lib/x86_64-linux-gnu`.
fn library_folders(folder: &Path) -> Vec<String> {
    let of = |base: &'static str| {
        let names = file_names(&folder.join(base)).into_iter();
        names
            .filter(|name| name.contains("-linux-gnu"))
            .map(move |name| format!("{base}/{name}"))
    };
    ["lib", "usr/lib"].into_iter().flat_map(of).collect()
}

/// The dynamic loader among libraries, as `ld-linux-x86-64.so.2` or `ld64.so.1`.
fn loader(libraries: &Path) -> Option<PathBuf> {
    let mut names = file_names(libraries).into_iter();
    let name = names.find(|name| name.starts_with("ld") && name.contains(".so."))?;
    Some(libraries.join(name))
}

/// What is in a folder, in order; nothing if there is none.
fn file_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// The version of this machine's Debian.
    fn version(cache: &Cache) -> String {
        let arch = apt::host_architecture().unwrap();
        let apt = Apt::open(cache, &[&arch], &Progress::new(true)).unwrap();
        let library = apt.dependency("libpython3-stdlib", "libpython3.").unwrap();
        let names = library.strip_prefix("lib").unwrap().split('-');
        names.map(str::to_owned).next().unwrap()
    }

    /// A package set with a Python and these modules.
    fn tree(version: &str, modules: &[(&str, &str)]) -> tempfile::TempDir {
        let work = tempfile::tempdir().unwrap();
        let python = work.path().join("root/usr/bin").join(version);
        for (path, text) in [(python, "")].into_iter().chain(
            modules
                .iter()
                .map(|(name, text)| (work.path().join("root").join(name), *text)),
        ) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        work
    }

    fn compiled(folder: &Path, version: &str, module: &str) -> PathBuf {
        let tag = version.replace("python", "cpython-").replace('.', "");
        folder
            .join("__pycache__")
            .join(format!("{module}.{tag}.pyc"))
    }

    #[test]
    fn modules_are_compiled_without_being_run() {
        let cache = Cache::open().unwrap();
        let _lock = cache.lock(&Progress::new(true)).unwrap();
        let version = version(&cache);
        let runs = "open(__file__ + '.ran', 'w')\nraise SystemExit(1)\n";
        let work = tree(
            &version,
            &[
                ("usr/lib/python3/dist-packages/a/runs.py", runs),
                ("usr/lib/python3/dist-packages/a/old.py", "print 'Python 2'"),
                ("usr/lib/python3/dist-packages/a/bytes.py", "\0"),
                ("usr/share/b/private.py", "x = 1"),
                ("usr/share/b/text.txt", "x = 1"),
            ],
        );
        compile(&cache, &work.path().join("root"), &Progress::new(true)).unwrap();

        let root = work.path().join("root");
        let a = root.join("usr/lib/python3/dist-packages/a");
        let bytes = fs::read(compiled(&a, &version, "runs")).unwrap();
        // PEP 552: by a hash, and checked.
        assert_eq!(bytes[4..8], [3, 0, 0, 0]);
        let name = b"/usr/lib/python3/dist-packages/a/runs.py";
        assert!(bytes.windows(name.len()).any(|part| part == name));
        assert!(!compiled(&a, &version, "old").exists());
        assert!(!compiled(&a, &version, "bytes").exists());
        assert!(!a.join("runs.py.ran").exists());
        let b = root.join("usr/share/b");
        assert!(compiled(&b, &version, "private").exists());
        assert_eq!(file_names(work.path()), ["root"]);
    }

    #[test]
    fn compiled_modules_stay_inside() {
        let cache = Cache::open().unwrap();
        let _lock = cache.lock(&Progress::new(true)).unwrap();
        let version = version(&cache);
        let work = tree(&version, &[("a/in.py", "x = 1"), ("b/in.py", "x = 1")]);
        let (root, out) = (work.path().join("root"), work.path().join("out"));
        fs::create_dir(&out).unwrap();
        fs::write(out.join("out.py"), "x = 1").unwrap();
        let outside = out.join("out.py");
        let links = [
            ("a/__pycache__", out.as_path()),
            ("b/folder", &out),
            ("b/absolute.py", &outside),
            ("b/relative.py", Path::new("../../out/out.py")),
            ("b/nowhere.py", Path::new("nowhere")),
            ("b/to_guest.py", Path::new("/a/in.py")),
        ];
        for (at, target) in links {
            symlink(target, root.join(at)).unwrap();
        }
        compile(&cache, &root, &Progress::new(true)).unwrap();

        assert_eq!(file_names(&out), ["out.py"]);
        let modules = ["in", "to_guest"].map(|name| compiled(&root.join("b"), &version, name));
        let names = modules.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
        assert_eq!(file_names(&root.join("b/__pycache__")), names);
    }

    #[test]
    fn a_set_without_python_costs_nothing() {
        let work = tree("python3", &[("usr/bin/python3.11-config", "")]);
        assert_eq!(versions(&work.path().join("root")), [""; 0]);
        let work = tree("python3.11", &[("usr/bin/python3-x", "")]);
        assert_eq!(versions(&work.path().join("root")), ["python3.11"]);
    }

    #[test]
    fn without_its_python_a_set_stays_as_it_is() {
        let cache = Cache::open().unwrap();
        let _lock = cache.lock(&Progress::new(true)).unwrap();
        let work = tree("python3.0", &[("a/in.py", "x = 1")]);
        let root = work.path().join("root");
        compile(&cache, &root, &Progress::new(true)).unwrap();
        assert_eq!(file_names(&root.join("a")), ["in.py"]);
        assert_eq!(file_names(work.path()), ["root"]);
    }

    #[test]
    fn only_what_another_try_would_not_mend_is_gone_without() {
        let failed = ToolError::Missing { tool: "x".into() };
        assert!(is_lacking(&failed.into()));
        let full = ToolError::Full { place: "/".into() };
        assert!(!is_lacking(&full.into()));
        let network = AptError::Network { detail: "".into() };
        assert!(!is_lacking(&network));
    }
}
