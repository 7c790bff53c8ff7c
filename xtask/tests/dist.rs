//! What `cargo xtask dist` packs, read back as the tools of boards read it. The
//! agent itself is not built here: any program of the machine's kind serves.

use ar::Archive as Ar;
use flate2::read::GzDecoder;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use tar::Archive as Tar;
use xtask::dist::contents::{Sources, pack};
use xtask::dist::elf::{ElfError, check};
use xtask::dist::target::{BASELINE, Glibc, TARGETS, Target};

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
    assert!(readme.contains(target.boards), "{readme}");
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
