//! The package of the simulating side: the command `gil` and all that a run needs but
//! for Debian's packages. An installed `gil` finds it beside its own folder
//! (`guest-image/src/assets.rs`), so that the tarball's folder can be anywhere.

use super::build::{self, output};
use super::debian::{self, About, VERSION, control};
use super::pack::{Packed, deb, gzip, tarball};
use super::target::{Glibc, TARGETS, Target};
use super::{DistError, elf, notices};
use crate::guest::{self, target_folder};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is built for a package, and what it needs.
pub struct Parts<'a> {
    /// The simulator's machine.
    pub target: &'a Target,
    /// The C library that the command needs.
    pub glibc: Glibc,
    /// What was built, where it goes below `/usr`.
    pub built: Vec<Packed>,
    /// Licences of what is linked in.
    pub notices: String,
}

/// The package's name.
pub const NAME: &str = "gil";
const DESCRIPTION: &str = "runs programs in a simulated ARM system with a real GPU
 gil boots Debian for arm64 in a simulator and runs programs in it, whose OpenCL
 calls a real device executes: this machine's, or that of a board in the network.
 On Debian 12, `gil setup` installs a newer QEMU.";
/// What a run calls, and the devices that serve its calls. Debian 12's QEMU is too old,
/// but there is no newer one for it until `gil setup` has looked for it.
const RELATIONS: &str = "Depends: libc6 (>= @GLIBC@), libgcc-s1, apt, dpkg, erofs-utils, \
    gcc-aarch64-linux-gnu, make, qemu-system-arm, xz-utils\n\
    Recommends: ocl-icd-libopencl1 | libopencl1, pocl-opencl-icd | opencl-icd, \
    libegl1, libgles1, libgles2, libgl1-mesa-dri\n\
    Suggests: clang, gcc, gcc-arm-linux-gnueabihf, libc6-dev-arm64-cross, \
    libc6-dev-armhf-cross, ocl-icd-opencl-dev, opencl-headers";
const README: &str = include_str!("files/README-gil");
const COPYRIGHT: &str = include_str!("files/copyright-gil");

/// Files of the sources, where they go, and the ends of their names.
const SOURCES: [(&str, &str, &[&str]); 6] = [
    (
        "synthetic-driver",
        "lib/gil/driver",
        &[".c", ".h", ".S", "Makefile", "Kbuild"],
    ),
    ("gem5-patches/configs", "lib/gil/gem5", &[".py"]),
    (
        "examples",
        "share/gil/examples",
        &[".c", ".cu", ".h", ".md", ".sh"],
    ),
    // Declarations for programs in CUDA.
    ("synthetic-lib/cudart/include", "share/gil/cuda", &[".h"]),
    // What `gil calibrate` compiles.
    (
        "benchmarks/programs",
        "share/gil/benchmarks/programs",
        &[".c", ".cu", ".h"],
    ),
    ("docs", "share/doc/gil", &[".md", ".svg", ".png"]),
];
/// A folder in them that is not packed.
const TESTS: &str = "synthetic-driver/tests";
/// Single files likewise.
const TEXTS: [(&str, &str); 6] = [
    ("README.md", "share/doc/gil/README.md"),
    ("CONTRIBUTING.md", "share/doc/gil/CONTRIBUTING.md"),
    ("CHANGELOG.md", "share/doc/gil/CHANGELOG.md"),
    ("LICENSE-APACHE", "share/doc/gil/LICENSE-APACHE"),
    ("LICENSE-GPL-2", "share/doc/gil/LICENSE-GPL-2"),
    ("LICENSE-MIT", "share/doc/gil/LICENSE-MIT"),
];
/// Where links in pages lead: in the sources, in the package.
const LINKS: [(&str, &str); 14] = [
    ("](../README.md", "](README.md"),
    ("](../CONTRIBUTING.md", "](CONTRIBUTING.md"),
    ("](../CHANGELOG.md", "](CHANGELOG.md"),
    ("](../examples/", "](../../gil/examples/"),
    ("](../../examples/", "](../../../gil/examples/"),
    // Of pages that lie beside the folder there, and in it here.
    ("](examples/", "](../../gil/examples/"),
    ("](docs/", "]("),
    // What is called otherwise there.
    ("scripts/guest-c++", "gil-guest-cc --c++"),
    ("scripts/guest-cc", "gil-guest-cc"),
    ("scripts/guest-nvcc", "gil-guest-nvcc"),
    (" examples/", " /usr/share/gil/examples/"),
    (
        " benchmarks/programs/",
        " /usr/share/gil/benchmarks/programs/",
    ),
    (
        "`benchmarks/programs/",
        "`/usr/share/gil/benchmarks/programs/",
    ),
    ("](../docs/", "](../../doc/gil/"),
];
/// Compiles programs for the guest.
const GUEST_CC: &str = "scripts/guest-cc";
/// And programs in CUDA.
const GUEST_NVCC: &str = "scripts/guest-nvcc";

/// Builds all that is packed, with this profile of cargo's for the command.
///
/// # Errors
/// [`DistError`].
pub fn parts<'a>(root: &Path, target: &'a Target, profile: &str) -> Result<Parts<'a>, DistError> {
    let folder = build::command(root, target, profile)?;
    let (gil, plugin) = (folder.join("gil"), folder.join("libgil_qemu.so"));
    let mut built = vec![
        Packed::program("bin/gil", read(&gil)?),
        Packed::text("lib/gil/libgil_qemu.so", read(&plugin)?),
    ];
    let needs = |part: &Packed| checked(target, part);
    let glibc = needs(&built[0])?.max(needs(&built[1])?);
    built.extend(guests(root, profile == build::PROFILE)?);
    built.push(example(root)?);
    built.extend(generated(&gil)?);
    Ok(Parts {
        target,
        glibc,
        built,
        notices: licences(root, target)?,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, DistError> {
    fs::read(path).map_err(|error| DistError::file(path, error))
}

fn checked(target: &Target, part: &Packed) -> Result<Glibc, DistError> {
    elf::check(target, &part.bytes).map_err(|error| DistError::Elf {
        path: (&part.path).into(),
        error,
    })
}

/// What runs in the guest: the init, and the libraries of each kind of program.
fn guests(root: &Path, remapped: bool) -> Result<Vec<Packed>, DistError> {
    let mut found = Vec::new();
    for path in guest::build(root, guest::Wanted::packed(remapped))? {
        found.push(of_guest(&path)?);
    }
    Ok(found)
}

/// A file that was built for the guest.
fn of_guest(path: &Path) -> Result<Packed, DistError> {
    let [arm64, armhf] = &TARGETS;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_for = |target: &Target| path.iter().any(|part| part == target.triple);
    let (target, to) = match is_for(armhf) {
        true => (armhf, "lib/gil/armhf"),
        false => (arm64, "lib/gil"),
    };
    let file = Packed::program(format!("{to}/{name}"), read(path)?);
    checked(target, &file)?;
    Ok(file)
}

/// The demo's program for the guest, so that a first run needs no compiler.
fn example(root: &Path) -> Result<Packed, DistError> {
    let folder = target_folder(root).join("packages");
    fs::create_dir_all(&folder).map_err(|error| DistError::file(&folder, error))?;
    let program = folder.join("matmul");
    let mut command = Command::new(root.join(GUEST_CC));
    command
        .arg("-o")
        .arg(&program)
        .arg("examples/matmul/matmul.c");
    output(command.current_dir(root), "the example was not compiled")?;
    let bytes = read(&program)?;
    fs::remove_file(&program).map_err(|error| DistError::file(&program, error))?;
    Ok(Packed::program("lib/gil/examples/matmul", bytes))
}

/// Completions and man pages, which the command prints.
fn generated(gil: &Path) -> Result<Vec<Packed>, DistError> {
    let mut found = Vec::new();
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/gil"),
        ("fish", "share/fish/vendor_completions.d/gil.fish"),
        ("zsh", "share/zsh/vendor-completions/_gil"),
    ] {
        let mut command = Command::new(gil);
        let text = output(
            command.args(["completions", shell]),
            "there are no completions",
        )?;
        found.push(Packed::text(path, text));
    }
    let folder = tempfile::tempdir().map_err(|error| DistError::file(gil, error))?;
    let mut command = Command::new(gil);
    output(
        command.arg("man").arg(folder.path()),
        "there are no man pages",
    )?;
    let packed = pages(folder.path()).map_err(|error| DistError::file(folder.path(), error))?;
    found.extend(packed);
    Ok(found)
}

fn pages(folder: &Path) -> io::Result<Vec<Packed>> {
    let page = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = format!("share/man/man1/{name}.gz");
        Ok(Packed::text(to, gzip(&fs::read(&path)?)?))
    };
    sorted(folder)?.into_iter().map(page).collect()
}

fn licences(root: &Path, target: &Target) -> Result<String, DistError> {
    let [arm64, armhf] = TARGETS.map(|target| target.triple);
    let parts = [
        ("gil-cli", target.triple),
        ("gil-qemu-plugin", target.triple),
        ("gil-init", arm64),
        ("gil-guest-library", arm64),
        ("gil-guest-library", armhf),
    ];
    notices::third_party(root, NAME, &parts)
}

/// The tarball and the Debian package, each with its file name.
///
/// # Errors
/// A file of the sources that cannot be read.
pub fn pack(root: &Path, parts: &Parts, date: u64) -> io::Result<[(String, Vec<u8>); 2]> {
    let debian = parts.target.debian;
    let stem = format!("{NAME}-{VERSION}-linux-{debian}");
    let files = files(root, parts)?;
    let below_usr = |file: &Packed| Packed {
        path: format!("usr/{}", file.path),
        ..file.clone()
    };
    let data: Vec<_> = files.iter().map(below_usr).collect();
    let about = About {
        name: NAME,
        target: parts.target,
        relations: RELATIONS.replace("@GLIBC@", &parts.glibc.to_string()),
        description: DESCRIPTION,
    };
    let control = [control(&about, &data)];
    Ok([
        (
            format!("{stem}.tar.gz"),
            tarball(&format!("{stem}/"), &files, date)?,
        ),
        (
            format!("{NAME}_{VERSION}_{debian}.deb"),
            deb(&control, &data, date)?,
        ),
    ])
}

fn files(root: &Path, parts: &Parts) -> io::Result<Vec<Packed>> {
    let mut files = parts.built.clone();
    for (to, script) in [
        ("bin/gil-guest-cc", GUEST_CC),
        ("bin/gil-guest-nvcc", GUEST_NVCC),
    ] {
        files.push(Packed::program(to, fs::read(root.join(script))?));
    }
    for (from, to, ends) in SOURCES {
        add(root, Path::new(from), to, ends, &mut files)?;
    }
    for (from, to) in TEXTS {
        files.push(Packed::text(to, fs::read(root.join(from))?));
    }
    let mit = fs::read_to_string(root.join("LICENSE-MIT"))?;
    let copyright = COPYRIGHT.replace("@MIT@", &debian::field(&mit));
    let readme = README
        .replace("@MACHINES@", parts.target.machines)
        .replace("@GLIBC@", &parts.glibc.to_string());
    let doc = |name: &str, text: &str| Packed::text(format!("share/doc/gil/{name}"), text);
    files.push(doc("copyright", &copyright));
    files.push(doc("LICENSES-OF-CRATES", &parts.notices));
    files.push(doc("README", &readme));
    files.iter_mut().for_each(lead_home);
    Ok(files)
}

/// Has a page's links lead to the files that are packed with it.
fn lead_home(file: &mut Packed) {
    if file.path.ends_with(".md")
        && let Ok(text) = str::from_utf8(&file.bytes)
    {
        let text = LINKS
            .iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        file.bytes = text.into_bytes();
    }
}

/// Adds the files below the folder `from` of the sources whose names end in one of
/// `ends`.
fn add(
    root: &Path,
    from: &Path,
    to: &str,
    ends: &[&str],
    files: &mut Vec<Packed>,
) -> io::Result<()> {
    for path in sorted(&root.join(from))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (from, to) = (from.join(&*name), format!("{to}/{name}"));
        let is_hidden = name.starts_with('.');
        if path.is_dir() {
            if !is_hidden && from != Path::new(TESTS) && !holds_crates(&path)? {
                add(root, &from, &to, ends, files)?;
            }
        } else if !is_hidden && !is_made(&path) && ends.iter().any(|end| name.ends_with(end)) {
            files.push(Packed::text(to, fs::read(&path)?));
        }
    }
    Ok(())
}

/// Whether it is an example that is built by cargo.
fn holds_crates(folder: &Path) -> io::Result<bool> {
    let inside = sorted(folder)?;
    Ok(inside.iter().any(|path| path.join("Cargo.toml").exists()))
}

/// What kbuild leaves beside the driver's sources.
fn is_made(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".mod.c")
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort_by(|a, b| OsStr::cmp(a.as_os_str(), b.as_os_str()));
    Ok(paths)
}
