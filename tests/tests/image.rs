//! `gil image`: a guest as files. What boots from them is gem5 (`gem5.rs`).

use gil_tests::{Link, binary, guest_program};
use std::fs;
use std::process::Command;

#[test]
fn an_image_has_the_program_its_libraries_and_the_kernel_as_elf() {
    let program = guest_program("tests/guest/exits.c", Link::OpenCl);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = Command::new(binary("gil"))
        .args(["image", "--env", "A=image's own"])
        .arg(folder.path())
        .arg(&program)
        .args(["code", "7"])
        .output()
        .expect("gil starts");
    assert!(made.status.success(), "{made:?}");
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    assert!(said.contains("kernel.elf and initrd"), "{said}");
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["initrd", "kernel.elf"]);
    let kernel = fs::read(folder.path().join("kernel.elf")).expect("the kernel");
    assert!(kernel.starts_with(b"\x7fELF"));
    let initrd = fs::read(folder.path().join("initrd")).expect("the initramfs");
    let program = fs::read(program).expect("the program");
    for part in [
        &program[..],
        b"opt/gil/exits",
        b"libOpenCL.so.1",
        b"/libEGL_gil.so.0",
        b"gil.ko",
        b"image's own",
    ] {
        let name = String::from_utf8_lossy(&part[..part.len().min(20)]).into_owned();
        assert!(initrd.windows(part.len()).any(|at| at == part), "{name}");
    }
}

/// Mesa draws by the driver, whose module is told its name.
#[test]
fn an_image_has_the_driver_of_a_gpu() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = Command::new(binary("gil"))
        .args(["image", "--quiet", "--driver", "lima"])
        .arg(folder.path())
        .arg("true")
        .output()
        .expect("gil starts");
    assert!(made.status.success(), "{made:?}");
    // It is large.
    let has = |part: &str| {
        let mut grep = Command::new("grep");
        let grep = grep.args(["-qaF", part]).arg(folder.path().join("initrd"));
        grep.status().expect("grep starts").success()
    };
    for part in ["gil_mirror.ko", "lima_dri.so", "EGL_PLATFORM"] {
        assert!(has(part), "{part}");
    }
    // The file; its bare name is in the guest's init, too.
    assert!(!has("/libEGL_gil.so.0"));
}
