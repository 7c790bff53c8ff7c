//! `gil setup`: installs what the simulating side needs and this machine lacks. It says
//! what, shows the commands, asks, and runs them as root; nothing else of gil needs root.
//!
//! A QEMU that is new enough comes from Debian's backports where the release has none. The
//! machine's own sources say where these are, and stay as they are.

use crate::args::SetupArgs;
use crate::devices::{self, DevicesError};
use crate::simulator::qemu::{self, Version};
use gil_guest_image::apt::{self, Apt, AptError};
use gil_guest_image::arch::Arch;
use gil_guest_image::disk_image;
use gil_run_support::cache::{At, Cache, CacheError};
use gil_run_support::progress::Progress;
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// QEMU's package.
const QEMU: &str = "qemu-system-arm";
/// What a run calls, the package that has it, and what it is for.
const TOOLS: [(&str, &str, &str); 4] = [
    (
        Arch::Arm64.compiler(),
        "gcc-aarch64-linux-gnu",
        "a cross compiler, for the guest's driver",
    ),
    ("make", "make", "make, for the guest's driver"),
    (
        disk_image::READER,
        "erofs-utils",
        "erofs-utils, for the guest's disks",
    ),
    ("xz", "xz-utils", "xz, for the kernel's modules"),
];

/// Why this machine was not set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Nobody can be asked.
    #[error("nothing was installed: there is no terminal to ask at; give --yes to agree")]
    NoTerminal,
    /// The answer was not yes.
    #[error("nothing was installed")]
    Declined,
    /// Not root, and no way to be.
    #[error("nothing was installed: there is no sudo here; run these commands as root")]
    NoRoot,
    /// No Debian.
    #[error(
        "nothing was installed: there is no apt-get here, and gil setup knows Debian's packages only; install what is missing by hand"
    )]
    NoApt,
    /// A command does not run, or failed; its output stands above.
    #[error("`{command}` failed ({why}): mend what it says, and run gil setup again")]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        why: String,
    },
    /// All was installed, and something is missing yet.
    #[error("still missing: {0}; `gil doctor` says more")]
    Left(String),
    /// Neither the release nor its backports have it.
    #[error(
        "Debian {release} and its backports have no QEMU {}: install it or a later one by hand",
        qemu::OLDEST
    )]
    NoQemu {
        /// Debian's code name.
        release: String,
    },
    /// Debian's archive.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// Nobody knows which devices there are.
    #[error(transparent)]
    Devices(#[from] DevicesError),
    /// A file of gil's own.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// What this machine lacks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Lacks {
    /// In words.
    what: Vec<String>,
    /// Packages that have it.
    packages: Vec<&'static str>,
    /// And a QEMU.
    qemu: bool,
}

/// Where the missing QEMU comes from.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    /// The machine's release.
    Release,
    /// Its backports: the release's name, and a list of sources that has them.
    Backports(String, PathBuf),
}

/// Installs what is missing.
///
/// # Errors
/// [`SetupError`].
pub fn run(args: &SetupArgs) -> Result<(), SetupError> {
    let lacks = look(args.no_device)?;
    if lacks.what.is_empty() {
        say("nothing is missing\n");
        return Ok(());
    }
    say(&list("This machine lacks:", &lacks.what));
    if !is_in_path("apt-get") {
        return Err(SetupError::NoApt);
    }
    let has_sudo = !is_root() && is_in_path("sudo");
    let commands = commands(&lacks, &source(&lacks)?, has_sudo);
    let lines: Vec<_> = commands.iter().map(|command| command.join(" ")).collect();
    say(&list("These commands install it:", &lines));
    if !is_root() && !has_sudo {
        return Err(SetupError::NoRoot);
    }
    if !args.yes {
        ask()?;
    }
    commands.iter().try_for_each(|command| execute(command))?;
    match look(args.no_device)?.what {
        left if left.is_empty() => {
            say("all is installed; `gil doctor` shows it\n");
            Ok(())
        }
        left => Err(SetupError::Left(left.join(", "))),
    }
}

fn look(no_device: bool) -> Result<Lacks, SetupError> {
    let mut lacks = Lacks::default();
    if let Err(error) = qemu::check() {
        lacks.qemu = true;
        let oldest = qemu::OLDEST;
        lacks.what.push(match error {
            qemu::QemuError::TooOld { found } => format!("QEMU {oldest} or later (here: {found})"),
            _ => format!("QEMU {oldest} or later, with plugins"),
        });
    }
    for (program, package, what) in TOOLS {
        if !is_in_path(program) {
            lacks.what.push(what.into());
            lacks.packages.push(package);
        }
    }
    if no_device {
        return Ok(lacks);
    }
    let served = devices::find()?;
    for served in served.iter().filter(|served| served.devices.is_empty()) {
        lacks.packages.extend(packages_for(&served.apis));
        lacks.what.push(format!(
            "a device for {}: this machine's CPU will do (--no-device leaves it out; runs then take --board)",
            served.title()
        ));
    }
    Ok(lacks)
}

/// The packages by which this machine's CPU is a device for these APIs.
fn packages_for(apis: &[&str]) -> Vec<&'static str> {
    let libraries = gil_guest_names::LIBRARIES.iter();
    let loaders = libraries.filter(|library| apis.contains(&library.title));
    let loaders = loaders.filter_map(|library| library.loader);
    let packages = loaders.flat_map(|loader| {
        let vendors = loader.vendors.map_or(&[][..], |it| it.cpu_packages);
        std::iter::once(loader.package).chain(vendors.iter().copied())
    });
    packages.collect()
}

fn is_in_path(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Where QEMU is to be had. If that is not the release itself, writes a list of sources into
/// the cache, where it stays: the commands that are shown may be run later, and by hand.
fn source(lacks: &Lacks) -> Result<Source, SetupError> {
    if !lacks.qemu {
        return Ok(Source::Release);
    }
    let cache = Cache::open()?;
    let own = apt::host_architecture().map_err(AptError::from)?;
    let apt = Apt::open(&cache, &[&own], &Progress::new(false))?;
    if apt.candidate(QEMU)?.is_some_and(|found| will_do(&found)) {
        return Ok(Source::Release);
    }
    let release = apt.release().to_owned();
    let Some(sources) = apt.with_backports()? else {
        return Err(SetupError::NoQemu { release });
    };
    let list = cache.root().join("backports.list");
    fs::write(&list, sources).at(&list)?;
    Ok(Source::Backports(release, list))
}

/// Of a package's version, `1:7.2+dfsg-7`.
fn will_do(version: &str) -> bool {
    let upstream = version.split_once(':').map_or(version, |(_, rest)| rest);
    Version::first_in(upstream).is_some_and(|found| found >= qemu::OLDEST)
}

/// The commands that install it, as words.
fn commands(lacks: &Lacks, source: &Source, by_sudo: bool) -> Vec<Vec<String>> {
    let mut packages = lacks.packages.clone();
    if lacks.qemu && *source == Source::Release {
        packages.push(QEMU);
    }
    let mut all = Vec::new();
    if !packages.is_empty() {
        all.push(words(&["apt-get", "update"]));
        all.push([words(&INSTALL), words(&packages)].concat());
    }
    if let Source::Backports(release, list) = source {
        let options = own_sources(list);
        all.push([words(&["apt-get"]), options.clone(), words(&["update"])].concat());
        let target = format!("{release}-backports");
        let what = words(&["--target-release", &target, QEMU]);
        all.push([words(&INSTALL), options, what].concat());
        all.push(words(&["rm", "-r", INDEXES]));
    }
    if by_sudo {
        all.iter_mut()
            .for_each(|command| command.insert(0, "sudo".into()));
    }
    all
}

/// Asks nothing: it was asked here.
const INSTALL: [&str; 6] = [
    "env",
    "DEBIAN_FRONTEND=noninteractive",
    "apt-get",
    "install",
    "--yes",
    "--no-install-recommends",
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Where apt keeps the indexes of these sources meanwhile, beside those of the machine's
/// own sources: it creates what is missing in its own folder only.
const INDEXES: &str = "/var/lib/apt/gil-lists";

/// apt's options with which it reads the list's sources in place of the machine's.
fn own_sources(list: &Path) -> Vec<String> {
    let options = [
        format!("Dir::Etc::sourcelist={}", list.display()),
        "Dir::Etc::sourceparts=/dev/null".into(),
        format!("Dir::State::lists={INDEXES}"),
    ];
    let pairs = options.map(|option| ["-o".to_owned(), option]);
    pairs.into_iter().flatten().collect()
}

fn list(title: &str, lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("{title}\n{lines}")
}

fn ask() -> Result<(), SetupError> {
    if !io::stdin().is_terminal() {
        return Err(SetupError::NoTerminal);
    }
    say("Run them? [y/N] ");
    let mut answer = String::new();
    // An end of input is no yes.
    let _ = io::stdin().lock().read_line(&mut answer);
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(SetupError::Declined),
    }
}

fn execute(command: &[String]) -> Result<(), SetupError> {
    let failed = |why: String| SetupError::Failed {
        command: command.join(" "),
        why,
    };
    let status = Command::new(&command[0]).args(&command[1..]).status();
    let status = status.map_err(|error| failed(error.to_string()))?;
    match ExitStatus::success(&status) {
        true => Ok(()),
        false => Err(failed(status.to_string())),
    }
}

fn say(text: &str) {
    // A closed pipe is the reader's wish.
    let _ = io::stdout().write_all(text.as_bytes());
    let _ = io::stdout().flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(packages: &[&'static str], qemu: bool) -> Lacks {
        Lacks {
            what: vec!["something".into()],
            packages: packages.into(),
            qemu,
        }
    }

    fn lines(lacks: &Lacks, source: &Source, by_sudo: bool) -> Vec<String> {
        let commands = commands(lacks, source, by_sudo);
        commands.iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn what_the_release_has_is_one_installation() {
        let install = "env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends make qemu-system-arm";
        let found = lines(&lacks(&["make"], true), &Source::Release, false);
        assert_eq!(found, ["apt-get update", install]);
        let found = lines(&lacks(&["make"], true), &Source::Release, true);
        assert_eq!(found[1], format!("sudo {install}"));
    }

    #[test]
    fn backports_are_read_from_a_list_of_their_own() {
        let source = Source::Backports("bookworm".into(), "/tmp/x.list".into());
        let found = lines(&lacks(&[], true), &source, false);
        assert_eq!(found.len(), 3, "{found:?}");
        for line in &found[..2] {
            assert!(
                line.contains("-o Dir::Etc::sourcelist=/tmp/x.list"),
                "{line}"
            );
            assert!(
                line.contains("-o Dir::Etc::sourceparts=/dev/null"),
                "{line}"
            );
        }
        assert!(found[1].ends_with("--target-release bookworm-backports qemu-system-arm"));
        // What root wrote.
        assert_eq!(found[2], "rm -r /var/lib/apt/gil-lists");
        let more = lines(&lacks(&["make"], true), &source, false);
        assert!(more[1].ends_with(" make"), "{more:?}");
    }

    /// It runs before there is a gil, so it finds the backports by itself.
    #[test]
    fn the_script_for_a_checkout_installs_the_same_qemu_in_the_same_way() {
        let script = include_str!("../../scripts/setup");
        let has = |text: &str| assert!(script.contains(text), "scripts/setup lacks {text}");
        has(&format!("readonly oldest_qemu={}\n", qemu::OLDEST));
        for option in own_sources(Path::new("$list")) {
            has(&option);
        }
        has("--target-release \"$release-backports\" \"${qemu_packages[@]}\"\n");
        has(&format!("readonly qemu_packages=(\n  {QEMU} "));
        has(&INSTALL[..2].join(" "));
        has(&INSTALL[2..].join(" "));
    }

    #[test]
    fn debians_versions_are_compared() {
        assert!(!will_do("1:7.2+dfsg-7+deb12u16"));
        assert!(will_do("1:10.0.2+ds-2+deb13u1~bpo12+1"));
        assert!(will_do("9.2.0"));
        assert!(!will_do("unknown"));
    }
}
