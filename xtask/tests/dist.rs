//! What `cargo xtask dist` packs, read back as the tools of boards read it. Neither the
//! agent nor the command is built here: any program of the machine's kind serves.

use ar::Archive as Ar;
use flate2::read::GzDecoder;
use pulldown_cmark::{Event, Parser, Tag};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use tar::Archive as Tar;
use xtask::dist::contents::{Sources, pack};
use xtask::dist::elf::{ElfError, check};
use xtask::dist::pack::Packed;
use xtask::dist::simulating::{self, Parts};
use xtask::dist::target::{BASELINE, Glibc, HOSTS, TARGETS, Target};

const DATE: u64 = 1_700_000_000;

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("a workspace").into()
}

/// A program for `target` that needs a C library.
fn program(target: &Target) -> Vec<u8> {
    let compiler = match target.debian {
        "arm64" => "aarch64-linux-gnu-gcc",
        _ => "arm-linux-gnueabihf-gcc",
    };
    let folder = tempfile::tempdir().unwrap();
    let (source, out) = (folder.path().join("a.c"), folder.path().join("a"));
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let status = Command::new(compiler)
        .arg("-o")
        .arg(&out)
        .arg(&source)
        .status();
    assert!(status.expect("scripts/setup was run").success());
    std::fs::read(&out).unwrap()
}

fn packed(target: &Target, agent: &[u8]) -> [(String, Vec<u8>); 2] {
    let sources = Sources {
        target,
        glibc: check(target, agent).unwrap(),
        agent: agent.into(),
        notices: "a crate".into(),
    };
    pack(&root(), &sources, DATE).unwrap()
}

#[derive(Debug)]
struct Entry {
    path: String,
    mode: u32,
    bytes: Vec<u8>,
}

/// The files of a tarball, all of which are root's and of one date.
fn entries(tarball: &[u8]) -> Vec<Entry> {
    let mut found = Vec::new();
    for entry in Tar::new(GzDecoder::new(tarball)).entries().unwrap() {
        let mut entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        assert_eq!(header.mtime().unwrap(), DATE);
        let mode = header.mode().unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if !path.ends_with('/') {
            found.push(Entry { path, mode, bytes });
        }
    }
    found
}

fn members(deb: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = Ar::new(deb);
    let mut found = Vec::new();
    while let Some(entry) = archive.next_entry() {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.header().identifier().into()).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        found.push((name, bytes));
    }
    found
}

fn names(entries: &[Entry]) -> Vec<(&str, u32)> {
    entries.iter().map(|e| (e.path.as_str(), e.mode)).collect()
}

#[test]
fn a_package_has_the_agent_its_service_and_its_licences() {
    for target in &TARGETS {
        let agent = program(target);
        let [_, (name, deb)] = packed(target, &agent);
        assert!(name.ends_with(&format!("_{}.deb", target.debian)), "{name}");
        let members = members(&deb);
        let parts: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(parts, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
        let data = entries(&members[2].1);
        assert_eq!(
            names(&data),
            [
                ("lib/systemd/system/gil-board.service", 0o644),
                ("usr/bin/gil-board", 0o755),
                ("usr/lib/sysusers.d/gil-board.conf", 0o644),
                ("usr/share/doc/gil-board/BOARDS.md", 0o644),
                ("usr/share/doc/gil-board/LICENSES-OF-CRATES", 0o644),
                ("usr/share/doc/gil-board/copyright", 0o644),
            ]
        );
        let packed = &data[1].bytes;
        assert!(check(target, packed).is_ok() && *packed == agent);
    }
}

#[test]
fn a_package_says_its_machine_and_starts_nothing_without_a_key() {
    for target in &TARGETS {
        let agent = program(target);
        let glibc = check(target, &agent).unwrap();
        let [_, (_, deb)] = packed(target, &agent);
        let control = entries(&members(&deb)[1].1);
        let expected = [
            ("control", 0o644),
            ("postinst", 0o755),
            ("postrm", 0o755),
            ("prerm", 0o755),
        ];
        assert_eq!(names(&control), expected);
        let text = String::from_utf8_lossy(&control[0].bytes).into_owned();
        assert!(text.contains(&format!("\nArchitecture: {}\n", target.debian)));
        assert!(text.contains(&format!("libc6 (>= {glibc})")), "{text}");
        let postinst = String::from_utf8_lossy(&control[1].bytes).into_owned();
        let starts = postinst.find("systemctl try-restart").unwrap();
        assert!(postinst[..starts].contains("if [ -s /etc/gil/board.key ]"));
        assert!(!postinst.contains("enable --now gil-board.service"));
    }
}

/// Debian's own tool takes it.
#[test]
fn dpkg_reads_the_package() {
    let target = &TARGETS[1];
    let [_, (name, deb)] = packed(target, &program(target));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, deb).unwrap();
    let field = |field: &str| {
        let mut dpkg = Command::new("dpkg-deb");
        let output = dpkg.arg("--field").arg(&path).arg(field).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(field("Package"), "gil-board");
    assert_eq!(field("Architecture"), "armhf");
    let mut extract = Command::new("dpkg-deb");
    let status = extract.arg("--extract").arg(&path).arg(folder.path());
    assert!(status.status().unwrap().success());
    assert!(folder.path().join("usr/bin/gil-board").is_file());
}

#[test]
fn a_tarball_has_all_in_one_folder() {
    let target = &TARGETS[0];
    let [(name, tarball), _] = packed(target, &program(target));
    let folder = name.strip_suffix(".tar.gz").unwrap();
    let entries = entries(&tarball);
    let files = [
        "BOARDS.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "LICENSES-OF-CRATES",
        "README",
        "gil-board",
        "gil-board.service",
        "gil-board.sysusers",
    ];
    let expected: Vec<_> = files.iter().map(|f| format!("{folder}/{f}")).collect();
    let paths: Vec<_> = entries.iter().map(|entry| entry.path.clone()).collect();
    assert_eq!(paths, expected);
    let readme = String::from_utf8_lossy(&entries[4].bytes).into_owned();
    assert!(!readme.contains("@BOARDS@") && !readme.contains("@GLIBC@"));
    assert!(readme.contains(target.machines), "{readme}");
}

#[test]
fn the_same_files_make_the_same_bytes() {
    let agent = program(&TARGETS[0]);
    assert_eq!(packed(&TARGETS[0], &agent), packed(&TARGETS[0], &agent));
}

#[test]
fn what_a_board_cannot_run_is_not_packed() {
    let [arm64, armhf] = &TARGETS;
    let agent = program(arm64);
    assert!(matches!(
        check(armhf, &agent),
        Err(ElfError::Machine { .. })
    ));
    assert!(matches!(check(arm64, b"text"), Err(ElfError::Damaged(_))));
    let needs = check(arm64, &agent).unwrap();
    assert!(Glibc(2, 17) <= needs && needs <= BASELINE, "{needs}");
    assert_eq!(Glibc::of_symbol("GLIBC_2.4"), Some(Glibc(2, 4)));
    assert!(Glibc(2, 4) < Glibc(2, 34));
    assert_eq!(Glibc::of_symbol("GCC_3.5"), None);
}

/// The packages of the simulating side, with a text for what is built.
fn simulating_side() -> [(String, Vec<u8>); 2] {
    let parts = Parts {
        target: &HOSTS[0],
        glibc: Glibc(2, 34),
        built: vec![
            Packed::program("bin/gil", "gil"),
            Packed::text("lib/gil/libgil_qemu.so", "plugin"),
        ],
        notices: "a crate".into(),
    };
    simulating::pack(&root(), &parts, DATE).unwrap()
}

#[test]
fn the_tarball_and_the_package_of_the_simulating_side_have_the_same_files() {
    let [(tarball_name, tarball), (deb_name, deb)] = simulating_side();
    assert!(deb_name.ends_with("_amd64.deb"), "{deb_name}");
    let folder = tarball_name.strip_suffix(".tar.gz").unwrap();
    let unpacked: Vec<_> = entries(&tarball)
        .into_iter()
        .map(|entry| {
            (
                entry.path.replacen(folder, "usr", 1),
                entry.mode,
                entry.bytes,
            )
        })
        .collect();
    let installed: Vec<_> = entries(&members(&deb)[2].1)
        .into_iter()
        .map(|entry| (entry.path, entry.mode, entry.bytes))
        .collect();
    assert_eq!(unpacked, installed);
    let mode = |path: &str| {
        let found = installed.iter().find(|(at, _, _)| at == path);
        found.map(|(_, mode, _)| *mode)
    };
    for (path, expected) in [
        ("usr/bin/gil", 0o755),
        ("usr/bin/gil-guest-cc", 0o755),
        ("usr/bin/gil-guest-nvcc", 0o755),
        ("usr/lib/gil/driver/Kbuild", 0o644),
        ("usr/lib/gil/driver/disk.c", 0o644),
        ("usr/lib/gil/driver/uapi/gil.h", 0o644),
        ("usr/lib/gil/gem5/gil_se.py", 0o644),
        ("usr/share/doc/gil/INSTALL.md", 0o644),
        ("usr/share/doc/gil/LICENSE-GPL-2", 0o644),
        ("usr/share/doc/gil/LICENSES-OF-CRATES", 0o644),
        ("usr/share/gil/benchmarks/programs/kernels.c", 0o644),
        ("usr/share/gil/cuda/api/cuda_runtime_api.h", 0o644),
        ("usr/share/gil/cuda/cuda_runtime.h", 0o644),
        ("usr/share/gil/examples/common/example.h", 0o644),
        ("usr/share/gil/examples/matmul/matmul.c", 0o644),
    ] {
        assert_eq!(mode(path), Some(expected), "{path}");
    }
    for (path, _, _) in &installed {
        assert!(
            !path.contains("driver/tests") && !path.ends_with(".mod.c"),
            "{path}"
        );
    }
    // Examples that are one program, scripts, and no crates.
    let examples = installed.iter();
    let examples = examples.filter_map(|(path, _, _)| path.strip_prefix("usr/share/gil/examples/"));
    for (name, _) in examples.filter_map(|path| path.split_once('/')) {
        let program = root().join(format!("examples/{name}/{name}.c"));
        let is_other = ["common", "cuda", "desktops"].contains(&name);
        assert!(is_other || program.exists(), "{name}");
    }
    assert_eq!(simulating_side(), simulating_side());
}

#[test]
fn the_driver_that_is_packed_is_whole() {
    let [(_, tarball), _] = simulating_side();
    let packed = entries(&tarball);
    let list = Command::new("git")
        .args(["ls-files", "synthetic-driver"])
        .current_dir(root())
        .output()
        .expect("git");
    let list = String::from_utf8(list.stdout).unwrap();
    let is_kbuilds = |path: &&str| {
        let ends = [".c", ".h", ".S", "/Kbuild", "/Makefile"];
        !path.contains("/tests/") && ends.iter().any(|end| path.ends_with(end))
    };
    let sources: Vec<_> = list.lines().filter(is_kbuilds).collect();
    assert!(sources.len() > 10, "{sources:?}");
    for source in sources {
        let to = source.replacen("synthetic-driver", "lib/gil/driver", 1);
        assert!(packed.iter().any(|entry| entry.path.ends_with(&to)), "{to}");
    }
}

/// Where a page's relative links lead, without their anchors.
fn links(page: &str) -> Vec<String> {
    let targets = Parser::new(page).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url),
        _ => None,
    });
    let files = targets.filter_map(|target| Some(target.split('#').next()?.to_owned()));
    files
        .filter(|file| !file.is_empty() && !file.contains("://"))
        .collect()
}

#[test]
fn every_link_of_a_packed_page_leads_to_a_packed_file() {
    let [(_, tarball), _] = simulating_side();
    let entries = entries(&tarball);
    let pages: Vec<_> = entries
        .iter()
        .filter(|entry| entry.path.ends_with(".md"))
        .collect();
    assert!(pages.len() > 20);
    for page in pages {
        let text = String::from_utf8_lossy(&page.bytes);
        let folder = Path::new(&page.path).parent().unwrap();
        for link in links(&text) {
            let mut target = PathBuf::new();
            for part in folder.join(&link).components() {
                match part {
                    Component::ParentDir => assert!(target.pop()),
                    part => target.push(part),
                }
            }
            let is_there = |entry: &Entry| Path::new(&entry.path).starts_with(&target);
            assert!(entries.iter().any(is_there), "{}: {link}", page.path);
        }
    }
}

#[test]
fn the_simulating_side_names_its_licences_and_what_it_calls() {
    let [_, (name, deb)] = simulating_side();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, &deb).unwrap();
    let mut dpkg = Command::new("dpkg-deb");
    let output = dpkg.arg("--field").arg(&path).output().unwrap();
    let control = String::from_utf8_lossy(&output.stdout).into_owned();
    for word in [
        "Package: gil\n",
        "libc6 (>= 2.34)",
        "qemu-system-arm",
        "pocl-opencl-icd",
        "libgl1-mesa-dri",
    ] {
        assert!(control.contains(word), "{word} in {control}");
    }
    let data = entries(&members(&deb)[2].1);
    let copyright = data.iter().find(|entry| entry.path.ends_with("/copyright"));
    let copyright = String::from_utf8_lossy(&copyright.unwrap().bytes).into_owned();
    for (file, licence) in [
        ("lib/gil/libgil_qemu.so", "GPL-2.0-or-later"),
        ("lib/gil/driver/*", "GPL-2.0-only"),
    ] {
        let part = copyright.split("\n\n").find(|part| part.contains(file));
        assert!(part.unwrap().contains(licence), "{copyright}");
    }
    assert!(!copyright.contains("@MIT@"));
}
