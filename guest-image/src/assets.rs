//! gil's own files that a run needs. In order:
//!
//! 1. `GIL_HOME`, if set: a folder laid out as in 2.
//! 2. `../lib/gil` beside the folder of the `gil` binary (an installed gil):
//!    `libgil_qemu.so`, `gil-init`, the guest's libraries (those of the crate
//!    `gil-guest-names`), the same for 32-bit programs in `armhf/`, `driver/`,
//!    gem5's run scripts in `gem5/`.
//! 3. The checkout that this binary was built from: cargo builds what changed,
//!    into the target folder that the binary lies in.

mod unchanged;

use crate::arch::Arch;
use gil_run_support::checkout;
use gil_run_support::progress::Progress;
use gil_run_support::tool::{self, ToolError};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use unchanged::Note;

/// The places of gil's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    /// What the simulator loads; see [`HostPart`].
    pub host_part: PathBuf,
    /// The guest's init.
    pub init: PathBuf,
    /// Folder of the guest's libraries.
    pub libraries: PathBuf,
    /// The same for 32-bit programs, if the guest has any.
    pub libraries_armhf: Option<PathBuf>,
    /// Folder of the driver's sources.
    pub driver: PathBuf,
}

/// Which part of gil a simulator loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPart {
    /// QEMU's plugin.
    QemuPlugin,
    /// The folder of gem5's run scripts; what they load is in gem5 itself.
    Gem5Scripts,
}

impl HostPart {
    fn installed(self, home: &Path) -> PathBuf {
        home.join(match self {
            Self::QemuPlugin => PLUGIN,
            Self::Gem5Scripts => "gem5",
        })
    }

    fn built(self, checkout: &Path, profile: &Path) -> PathBuf {
        match self {
            Self::QemuPlugin => profile.join(PLUGIN),
            Self::Gem5Scripts => checkout.join("gem5-patches/configs"),
        }
    }
}

/// File name of QEMU's plugin.
const PLUGIN: &str = "libgil_qemu.so";

/// What cargo does, for people.
const COMPILES: &str = "compiling gil's parts for the guest and the simulator: minutes the first time, and again what changed";

/// Why some of them are missing.
#[derive(Debug, thiserror::Error)]
pub enum AssetError {
    /// Neither an installation nor a checkout.
    #[error(
        "gil's own files are not found: set GIL_HOME to the folder that has libgil_qemu.so, or build gil in its checkout"
    )]
    NoHome,
    /// One is missing.
    #[error("{} is missing: {mend}", path.display())]
    Missing {
        /// The file's path.
        path: PathBuf,
        /// The remedy.
        mend: &'static str,
    },
    /// The checkout has changed since this binary was built.
    #[error(
        "this gil is older than its checkout, and what it builds there would not understand it: run `{command}` in {}",
        checkout.display()
    )]
    Older {
        /// The command that builds it again.
        command: String,
        /// The checkout's root folder.
        checkout: PathBuf,
    },
    /// The binary was copied out of cargo's folder.
    #[error(
        "{} is a copy without gil's other files: run the gil in cargo's target folder, or set GIL_HOME to the folder that has libgil_qemu.so",
        .0.display()
    )]
    Copy(PathBuf),
    /// cargo failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// Finds gil's files, with those for 32-bit programs `if with_armhf` and `part`
/// of those for simulators; in a checkout, builds them first.
///
/// # Errors
/// [`AssetError`] names what is missing or does not build.
pub fn ensure(with_armhf: bool, part: HostPart, progress: &Progress) -> Result<Assets, AssetError> {
    let executable = std::env::current_exe().unwrap_or_default();
    progress.say("looking at gil's own files");
    if let Some(home) = home(&executable) {
        let files = installed(&home, with_armhf, part);
        return files.checked("install gil again, or unset GIL_HOME");
    }
    let checkout = checkout::root().ok_or(AssetError::NoHome)?;
    let profile = cargo_folder(&executable)?;
    if is_older(&checkout) {
        let command = match cargo_profile(profile) {
            "dev" => "cargo build".into(),
            "release" => "cargo build --release".into(),
            other => format!("cargo build --profile {other}"),
        };
        return Err(AssetError::Older { command, checkout });
    }
    let files = built(&checkout, profile, with_armhf, part);
    let paths: Vec<PathBuf> = files.made().collect();
    let name = format!("gil-built-{part:?}-{with_armhf}");
    // Looked at before cargo does: a change that it may have missed is seen.
    let note = Note::of(&checkout, profile, &name).ok();
    if !note.as_ref().is_some_and(|note| note.holds(&paths)) {
        progress.long(COMPILES, || build(&checkout, profile, with_armhf, part))?;
        note.inspect(|note| note.keep(&paths));
    }
    files.checked("run `cargo build --release` in gil's checkout")
}

/// As [`ensure`] of all, but builds nothing and checks nothing.
pub fn expected(part: HostPart) -> Option<Assets> {
    let executable = std::env::current_exe().ok()?;
    if let Some(home) = home(&executable) {
        return Some(installed(&home, true, part));
    }
    Some(built(&checkout::root()?, executable.parent()?, true, part))
}

/// Whether they are those of the checkout, and not of an installation.
pub fn are_built() -> bool {
    let executable = std::env::current_exe().unwrap_or_default();
    home(&executable).is_none() && checkout::root().is_some()
}

fn home(executable: &Path) -> Option<PathBuf> {
    if let Some(home) = std::env::var_os("GIL_HOME").filter(|v| !v.is_empty()) {
        return Some(home.into());
    }
    let home = executable.parent()?.parent()?.join("lib/gil");
    home.is_dir().then_some(home)
}

fn installed(home: &Path, with_armhf: bool, part: HostPart) -> Assets {
    Assets {
        libraries_armhf: with_armhf.then(|| home.join("armhf")),
        host_part: part.installed(home),
        init: home.join("gil-init"),
        libraries: home.into(),
        driver: home.join("driver"),
    }
}

/// In a checkout: the host's files beside the binary, the guest's under the
/// same target folder.
fn built(checkout: &Path, profile: &Path, with_armhf: bool, part: HostPart) -> Assets {
    let folder = |arch: Arch| target_folder(profile).join(arch.target()).join("guest");
    Assets {
        host_part: part.built(checkout, profile),
        init: folder(Arch::Arm64).join("gil-init"),
        libraries: folder(Arch::Arm64),
        libraries_armhf: with_armhf.then(|| folder(Arch::Armhf)),
        driver: checkout.join("synthetic-driver"),
    }
}

fn target_folder(profile: &Path) -> &Path {
    profile.parent().unwrap_or(profile)
}

fn build(
    checkout: &Path,
    profile: &Path,
    with_armhf: bool,
    part: HostPart,
) -> Result<(), ToolError> {
    let mut guest = cargo(checkout, profile);
    guest.args(["run", "--quiet", "--release", "--package", "xtask"]);
    guest.args(["--", "guest"]);
    if with_armhf {
        guest.arg("--armhf");
    }
    tool::run(&mut guest, "building the guest's programs", profile)?;
    if part != HostPart::QemuPlugin {
        return Ok(());
    }
    let mut host = cargo(checkout, profile);
    // Named together, their crates have the features of the build that made this binary,
    // and are not compiled again.
    host.args(["build", "--quiet", "--package", "gil-cli"])
        .args(["--package", "gil-qemu-plugin", "--lib"])
        .args(["--profile", cargo_profile(profile)]);
    tool::run(&mut host, "building the QEMU plugin", profile)?;
    Ok(())
}

/// The folder that cargo built this binary in.
fn cargo_folder(executable: &Path) -> Result<&Path, AssetError> {
    let is_cargos = |folder: &&Path| {
        let marks = [".cargo-lock", ".fingerprint"];
        marks.iter().any(|mark| folder.join(mark).exists())
    };
    let copy = || AssetError::Copy(executable.into());
    executable.parent().filter(is_cargos).ok_or_else(copy)
}

/// Sources of what gil's parts say to each other, as this binary has them.
const SPOKEN: [(&str, &str); 4] = [
    (
        "wire-protocol/src/hello.rs",
        include_str!("../../wire-protocol/src/hello.rs"),
    ),
    (
        "wire-protocol/src/message.rs",
        include_str!("../../wire-protocol/src/message.rs"),
    ),
    (
        "wire-protocol/src/monitor.rs",
        include_str!("../../wire-protocol/src/monitor.rs"),
    ),
    (
        "wire-protocol/src/generated/mod.rs",
        include_str!("../../wire-protocol/src/generated/mod.rs"),
    ),
];

/// Whether parts that are built from the checkout now would speak otherwise
/// than this binary.
fn is_older(checkout: &Path) -> bool {
    SPOKEN.iter().any(|(path, ours)| {
        let theirs = fs::read_to_string(checkout.join(path));
        theirs.is_ok_and(|theirs| theirs != *ours)
    })
}

/// The profile whose files lie in this folder.
fn cargo_profile(folder: &Path) -> &str {
    match folder.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => "dev",
        Some(name) => name,
    }
}

fn cargo(checkout: &Path, profile: &Path) -> Command {
    let mut command = Command::new("cargo");
    command
        .current_dir(checkout)
        .env("CARGO_TARGET_DIR", target_folder(profile));
    command
}

impl Assets {
    /// The folders of the guest's libraries, one for each architecture.
    pub fn library_folders(&self) -> impl Iterator<Item = (Arch, &Path)> {
        let armhf = self.libraries_armhf.iter();
        std::iter::once((Arch::Arm64, self.libraries.as_path()))
            .chain(armhf.map(|path| (Arch::Armhf, path.as_path())))
    }

    /// The files of the guest's libraries, of each architecture.
    pub fn library_files(&self) -> impl Iterator<Item = (Arch, PathBuf)> {
        self.library_folders().flat_map(|(arch, folder)| {
            gil_guest_names::files(arch.bits()).map(move |name| (arch, folder.join(name)))
        })
    }

    /// What cargo makes of them.
    fn made(&self) -> impl Iterator<Item = PathBuf> {
        let libraries = self.library_files().map(|(_, path)| path);
        [&self.host_part, &self.init]
            .into_iter()
            .cloned()
            .chain(libraries)
    }

    fn checked(self, mend: &'static str) -> Result<Self, AssetError> {
        let missing = self
            .made()
            .chain([self.driver.clone()])
            .find(|path| !path.exists());
        match missing {
            Some(path) => Err(AssetError::Missing { path, mend }),
            None => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_named() {
        let home = tempfile::tempdir().unwrap();
        let error = installed(home.path(), false, HostPart::QemuPlugin)
            .checked("do this")
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("libgil_qemu.so is missing: do this"),
            "{text}"
        );
    }

    #[test]
    fn a_changed_checkout_makes_the_binary_an_older_one() {
        assert!(!is_older(&checkout::root().unwrap()));
        let other = tempfile::tempdir().unwrap();
        assert!(!is_older(other.path()));
        for (path, text) in SPOKEN {
            let at = other.path().join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(&at, text).unwrap();
            assert!(!is_older(other.path()), "{path}");
            fs::write(&at, format!("{text}//")).unwrap();
            assert!(is_older(other.path()), "{path}");
            fs::write(&at, text).unwrap();
        }
    }

    #[test]
    fn a_copied_binary_is_told_from_one_that_cargo_built() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("gil");
        let error = cargo_folder(&copy).unwrap_err().to_string();
        assert!(error.contains("is a copy"), "{error}");
        fs::write(folder.path().join(".cargo-lock"), "").unwrap();
        assert_eq!(cargo_folder(&copy).unwrap(), folder.path());
    }

    #[test]
    fn the_guests_files_lie_in_the_same_target_folder() {
        let assets = built(
            Path::new("/c"),
            Path::new("/t/debug"),
            true,
            HostPart::QemuPlugin,
        );
        assert_eq!(assets.host_part, Path::new("/t/debug/libgil_qemu.so"));
        assert_eq!(
            assets.init,
            Path::new("/t/aarch64-unknown-linux-gnu/guest/gil-init")
        );
        let libraries: Vec<_> = assets.library_files().collect();
        for (arch, target) in [
            (Arch::Arm64, "aarch64-unknown-linux-gnu"),
            (Arch::Armhf, "armv7-unknown-linux-gnueabihf"),
        ] {
            for name in gil_guest_names::files(arch.bits()) {
                let path = Path::new("/t").join(target).join("guest").join(name);
                assert!(libraries.contains(&(arch, path)), "{libraries:?}");
            }
        }
    }
}
