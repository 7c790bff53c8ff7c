//! `cargo xtask guest`: builds what runs in the guest.

mod thin;

use crate::r#gen::GenError;
use gil_guest_names::Library;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a part of the guest is built for.
#[derive(Debug)]
struct Machine {
    /// Rust's name.
    target: &'static str,
    /// The bits of its pointers.
    bits: u32,
    /// Links for it.
    compiler: &'static str,
    /// What an assembler file begins with.
    syntax: &'static str,
    /// Jumps to the function that the macro's `target` names.
    jump: &'static str,
}

/// The guest's kernel and most of its programs.
const ARM64: Machine = Machine {
    target: "aarch64-unknown-linux-gnu",
    bits: 64,
    compiler: "aarch64-linux-gnu-gcc",
    syntax: "",
    jump: "\tadrp x16, :got:\\target
\tldr x17, [x16, :got_lo12:\\target]
\tbr x17
",
};

/// Its 32-bit programs.
const ARMHF: Machine = Machine {
    target: "armv7-unknown-linux-gnueabihf",
    bits: 32,
    compiler: "arm-linux-gnueabihf-gcc",
    syntax: "\t.syntax unified\n\t.arm\n\t.eabi_attribute Tag_ABI_VFP_args, 1\n",
    jump: "\tldr ip, 1f
0:\tldr pc, [pc, ip]
1:\t.word \\target\\()(GOT_PREL) + (. - 0b - 8)
",
};

/// 64-bit programs of Android, for which the compiler is its NDK's.
const ANDROID: Machine = Machine {
    target: "aarch64-linux-android",
    compiler: "aarch64-linux-android30-clang",
    ..ARM64
};

/// In the one warning that every build gives: `.cargo/config.toml` leaves out
/// helper functions, for which rustc has no stable option.
const KNOWN_WARNING: &str = "`-Ctarget-feature`: `outline-atomics`";

/// A crate that runs in the guest.
struct Part {
    package: &'static str,
    artifact: &'static str,
    /// Needs no library of the guest's.
    is_static: bool,
}

const INIT: Part = Part {
    package: "gil-init",
    artifact: "gil-init",
    is_static: true,
};

/// A shared library and the thin ones that jump to it.
struct Libraries {
    shared: Part,
    thin: &'static [Library],
}

/// The libraries of every guest.
const GILS_OWN: Libraries = Libraries {
    shared: Part {
        package: "gil-guest-library",
        artifact: gil_guest_names::SHARED,
        is_static: false,
    },
    thin: gil_guest_names::LIBRARIES,
};

/// What Android has: its loader opens one library.
const ANDROIDS: Libraries = Libraries {
    shared: GILS_OWN.shared,
    thin: &[gil_guest_names::ANDROID],
};

/// What a test's guests have in their place: `examples/toy-api`.
const WITH_TOY: Libraries = Libraries {
    shared: Part {
        package: "gil-toy-library",
        artifact: "libgil_with_toy.so",
        is_static: false,
    },
    thin: &[gil_guest_names::TOY],
};

/// Why the guest's part was not built.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// A program would not run.
    #[error("{program} does not run ({error}): install it")]
    Start {
        /// The program's name.
        program: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The target cannot be added.
    #[error("rustup has no target {0} and cannot add it: check the name, and the network")]
    Target(String),
    /// Cargo or a linker failed; its output stands above.
    #[error("{0} was not built: see above")]
    Build(&'static str),
    /// A library of an API that nobody described.
    #[error("api/{0}.toml is missing: describe the API, or take it out of synthetic-lib/names")]
    NoApi(&'static str),
    /// A description is wrong.
    #[error(transparent)]
    Description(#[from] GenError),
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file's path.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
}

/// The parts to build.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The libraries of 32-bit programs, too.
    pub armhf: bool,
    /// The libraries of `examples/toy-api`, too.
    pub toy: bool,
    /// Those of Android, too, if its NDK's compiler is in the path.
    pub android: bool,
    /// For a package: no file names a folder of this machine.
    pub remapped: bool,
}

impl Wanted {
    /// What a package has.
    pub fn packed(remapped: bool) -> Self {
        Self {
            armhf: true,
            toy: false,
            android: false,
            remapped,
        }
    }
}

/// Builds every part with the profile `guest`; returns the files.
///
/// # Errors
/// [`GuestError`].
pub fn build(root: &Path, wanted: Wanted) -> Result<Vec<PathBuf>, GuestError> {
    ensure_target(root, ARM64.target)?;
    let mut files = vec![build_part(root, &ARM64, &INIT, wanted)?];
    let machines: &[Machine] = match wanted.armhf {
        true => &[ARM64, ARMHF],
        false => &[ARM64],
    };
    for machine in machines {
        ensure_target(root, machine.target)?;
        files.extend(build_libraries(root, machine, &GILS_OWN, wanted)?);
        if wanted.toy {
            files.extend(build_libraries(root, machine, &WITH_TOY, wanted)?);
        }
    }
    if wanted.android {
        ensure_target(root, ANDROID.target)?;
        files.extend(build_libraries(root, &ANDROID, &ANDROIDS, wanted)?);
    }
    Ok(files)
}

/// The shared library and the thin ones, side by side.
fn build_libraries(
    root: &Path,
    machine: &Machine,
    libraries: &Libraries,
    wanted: Wanted,
) -> Result<Vec<PathBuf>, GuestError> {
    let shared = build_part(root, machine, &libraries.shared, wanted)?;
    let mut files = thin::build(root, &shared, libraries.thin, machine)?;
    files.insert(0, shared);
    Ok(files)
}

/// Adds Rust's target unless it is there.
///
/// # Errors
/// [`GuestError::Target`].
pub(crate) fn ensure_target(root: &Path, target: &str) -> Result<(), GuestError> {
    let mut list = Command::new("rustup");
    list.args(["target", "list", "--installed"])
        .current_dir(root)
        .stdout(Stdio::piped());
    let list = list.output().map_err(|error| start("rustup", error))?;
    let installed = String::from_utf8_lossy(&list.stdout);
    if installed.lines().any(|line| line.trim() == target) {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    let added = add
        .args(["target", "add", target])
        .current_dir(root)
        .status();
    match added.map_err(|error| start("rustup", error))?.success() {
        true => Ok(()),
        false => Err(GuestError::Target(target.into())),
    }
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> GuestError + '_ {
    |error| GuestError::Io {
        path: path.into(),
        error,
    }
}

fn start(program: &str, error: std::io::Error) -> GuestError {
    GuestError::Start {
        program: program.into(),
        error,
    }
}

fn build_part(
    root: &Path,
    machine: &Machine,
    part: &Part,
    wanted: Wanted,
) -> Result<PathBuf, GuestError> {
    let cargo = std::env::var("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(&cargo);
    command
        .args(["rustc", "--quiet", "--profile", "guest"])
        .args(["--package", part.package, "--target", machine.target])
        .current_dir(root);
    let folder = part_folder(root, wanted);
    command.arg("--target-dir").arg(&folder);
    if wanted.remapped {
        let flags: Vec<_> = remapped(root).collect();
        let flags = format!("target.{}.rustflags={flags:?}", machine.target);
        command.env_remove("RUSTFLAGS").args(["--config", &flags]);
    }
    if part.is_static {
        // Of the program alone: so it shares its dependencies with the libraries.
        command.args(["--", "-C", "target-feature=+crt-static"]);
    }
    command.stdout(Stdio::inherit());
    let output = command.output().map_err(|error| start(&cargo, error))?;
    eprint!("{}", told(&String::from_utf8_lossy(&output.stderr)));
    match output.status.success() {
        true => Ok(folder
            .join(machine.target)
            .join("guest")
            .join(part.artifact)),
        false => Err(GuestError::Build(part.package)),
    }
}

/// Flags with which a program names no folder of the machine that built it: the
/// same sources make the same bytes in any.
pub(crate) fn remapped(root: &Path) -> impl Iterator<Item = String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let folders = std::iter::once((root.to_path_buf(), "/gil"));
    let folders = folders.chain(home.map(|home| (home, "/cargo")));
    folders.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()))
}

/// What cargo wrote but for the known warning. An empty line ends each.
pub(crate) fn told(written: &str) -> String {
    let parts = written.split_inclusive("\n\n");
    parts.filter(|part| !part.contains(KNOWN_WARNING)).collect()
}

/// The target folder of the parts. Those whose folders are remapped have their own: cargo
/// would take those of other flags for the same, and build all again each time.
fn part_folder(root: &Path, wanted: Wanted) -> PathBuf {
    let target = target_folder(root);
    match wanted.remapped {
        true => target.join("remapped"),
        false => target,
    }
}

/// Cargo's target folder.
pub(crate) fn target_folder(root: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root.join(folder),
        None => root.join("target"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_known_warning_is_told() {
        let known = format!("warning: unstable feature specified for {KNOWN_WARNING}\n  |\n\n");
        let error = "error: expected one of `;` or `}`\n --> src/lib.rs:1:1\n\n";
        assert_eq!(told(&format!("{known}{error}{known}")), error);
        assert_eq!(told("error: no network"), "error: no network");
        assert_eq!(told(&known), "");
    }
}
