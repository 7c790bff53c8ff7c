//! `gil doctor`: what a run needs, whether the machine has it, and the command that
//! installs it.

use crate::devices::{self, Served};
use crate::simulator::qemu;
use gil_guest_image::apt;
use gil_guest_image::arch::Arch;
use gil_guest_image::assets::{self, HostPart};
use gil_guest_image::disk_image;
use gil_guest_image::memory;
use gil_run_support::cache::Cache;
use gil_run_support::progress::Progress;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// One requirement, looked at.
struct Finding {
    name: String,
    /// What is there, or what is wrong.
    state: Result<String, String>,
    /// The command that mends it.
    mend: &'static str,
}

const SETUP: &str = "gil setup";
const INSTALL: &str = "install gil again";
const BUILD: &str = "cargo build --release";
const LIST: &str = "gil board --list";

/// A line for every requirement, and whether all are met.
pub fn run() -> (String, bool) {
    let findings = look();
    let mut text = String::new();
    for finding in &findings {
        let _ = match &finding.state {
            Ok(what) => writeln!(text, "ok       {}: {what}", finding.name),
            Err(why) => writeln!(
                text,
                "missing  {}: {why}\n         mend it: {}",
                finding.name, finding.mend
            ),
        };
    }
    let are_met = findings.iter().all(|finding| finding.state.is_ok());
    (text, are_met)
}

fn look() -> Vec<Finding> {
    let tool = |name: &str, program, args: &[&str]| Finding {
        name: name.into(),
        state: version(program, args),
        mend: SETUP,
    };
    let mut findings = vec![
        Finding {
            name: "QEMU".into(),
            state: qemu::check()
                .map(|v| format!("{v}, with plugins"))
                .map_err(one_line),
            mend: SETUP,
        },
        Finding {
            name: "guest's display".into(),
            state: qemu::check_display().map(str::to_owned).map_err(one_line),
            mend: SETUP,
        },
        tool("cross compiler", Arch::Arm64.compiler(), &["--version"]),
        tool("make", "make", &["--version"]),
        tool("unpacker of modules", "xz", &["--version"]),
        tool("package fetcher", "apt-get", &["--version"]),
        tool("package unpacker", "dpkg-deb", &["--version"]),
        tool("maker of disks", disk_image::READER, &["-V"]),
        guest_memory(),
        cache(),
    ];
    findings.extend(archive());
    findings.extend(own_files());
    findings.extend(devices());
    findings
}

fn one_line(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The first line that a program says about itself.
fn version(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program} cannot be run ({error})"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match (output.status.success(), text.lines().next()) {
        (true, Some(line)) => Ok(line.to_owned()),
        _ => Err(format!("{program} does not say its version")),
    }
}

/// Whether the usual guest fits.
fn guest_memory() -> Finding {
    Finding {
        name: "memory".into(),
        state: memory::of_this_machine().map_err(one_line),
        mend: "give guests less with --memory",
    }
}

fn cache() -> Finding {
    let state = Cache::open().map_err(one_line).and_then(|cache| {
        tempfile::tempfile_in(cache.root()).map_err(|error| format!("not writable ({error})"))?;
        let is_filled = cache.root().join("kernel").is_dir();
        let filled = if is_filled { "" } else { ", still empty" };
        Ok(format!("{}{filled}", cache.root().display()))
    });
    Finding {
        name: "cache".into(),
        state,
        mend: "set GIL_CACHE to a folder that you may write to",
    }
}

/// Looked at with a state of apt's in the cache: not without one.
fn archive() -> Option<Finding> {
    let cache = Cache::open().ok()?;
    let look = || -> Result<String, apt::AptError> {
        let apt = apt::Apt::open(&cache, &["arm64"], &Progress::new(true))?;
        apt.sources()?;
        Ok(format!(
            "{} among this machine's apt sources",
            apt.release()
        ))
    };
    Some(Finding {
        name: "Debian archive".into(),
        state: look().map_err(one_line),
        mend: "add Debian's archive to this machine's apt sources",
    })
}

/// The plugin and the guest's parts; in a checkout also what builds them.
fn own_files() -> Vec<Finding> {
    let Some(assets) = assets::expected(HostPart::QemuPlugin) else {
        return vec![Finding {
            name: "gil's files".into(),
            state: Err("neither installed nor in a checkout".into()),
            mend: "set GIL_HOME to the folder that has libgil_qemu.so",
        }];
    };
    let is_built = assets::are_built();
    let mend = if is_built { BUILD } else { INSTALL };
    let mut findings = vec![file("QEMU plugin", &assets.host_part, mend)];
    if is_built {
        findings.push(Finding {
            name: "cargo".into(),
            state: version("cargo", &["--version"]),
            mend: "install Rust with rustup",
        });
        findings.push(guest_target("Rust for the guest", Arch::Arm64));
        findings.push(guest_target("Rust for its 32-bit programs", Arch::Armhf));
        findings.push(Finding {
            name: "linker for them".into(),
            state: version(Arch::Armhf.compiler(), &["--version"]),
            mend: "./scripts/setup",
        });
    } else {
        findings.push(file("guest's init", &assets.init, INSTALL));
        for (_, path) in assets.library_files() {
            findings.push(file("guest's library", &path, INSTALL));
        }
    }
    findings.push(file("driver's sources", &assets.driver, INSTALL));
    findings
}

fn file(name: &str, path: &Path, mend: &'static str) -> Finding {
    let state = match path.exists() {
        true => Ok(path.display().to_string()),
        false => Err(format!("{} is not there", path.display())),
    };
    Finding {
        name: name.into(),
        state,
        mend,
    }
}

/// rustc knows where a target's libraries are, whoever installed them.
fn guest_target(name: &str, arch: Arch) -> Finding {
    let target = arch.target();
    let args = ["--print", "target-libdir", "--target", target];
    let state = version("rustc", &args).and_then(|folder| match Path::new(&folder).is_dir() {
        true => Ok(target.to_owned()),
        false => Err(format!("{target} is not installed")),
    });
    let mend = match arch {
        Arch::Arm64 => "rustup target add aarch64-unknown-linux-gnu",
        Arch::Armhf => "rustup target add armv7-unknown-linux-gnueabihf",
    };
    Finding {
        name: name.into(),
        state,
        mend,
    }
}

/// What an agent of this machine finds for each of its back ends.
fn devices() -> Vec<Finding> {
    let of = |served: Served| Finding {
        name: format!("{} devices", served.title()),
        state: match served.devices.is_empty() {
            true => Err("none on this machine (only --board ADDR can be used)".into()),
            false => Ok(names(&served)),
        },
        mend: SETUP,
    };
    match devices::find() {
        Ok(all) => all.into_iter().map(of).collect(),
        Err(error) => vec![Finding {
            name: "devices".into(),
            state: Err(error.to_string()),
            mend: LIST,
        }],
    }
}

fn names(served: &Served) -> String {
    let names: Vec<_> = served.devices.iter().map(|it| it.name.as_str()).collect();
    names.join(", ")
}
