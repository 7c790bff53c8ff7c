//! The tables' layouts and numbers are those of the kernel's headers, for 64- and 32-bit
//! programs: a C compiler compares them.

use gil_drivers::{Access, FOR_TESTS, Table, names, table};
use std::fmt::Write;
use std::process::Command;

/// A C file with an assertion for each offset, size and number of a table.
fn program(table: &Table) -> String {
    let mut text = format!("#include <stddef.h>\n#include <{}>\n", table.header);
    let mut says = |what: String| writeln!(text, "_Static_assert({what}, \"\");").unwrap();
    for it in table.structs() {
        says(format!("sizeof(struct {}) == {}", it.name, it.size));
        for (offset, field) in &it.fields {
            says(format!(
                "offsetof(struct {}, {}) == {offset}",
                it.name, field.name
            ));
        }
    }
    for ioctl in table.ioctls() {
        let how = match ioctl.access {
            Access::Read => "IOR",
            Access::Write => "IOW",
            Access::Both => "IOWR",
        };
        let how = match &table.device {
            Some(device) => format!("_{how}('{}', ", device.letter),
            None => format!("DRM_{how}(DRM_COMMAND_BASE + "),
        };
        let (name, number) = (table.request(ioctl), ioctl.number);
        says(format!(
            "{name} == {how}{number}, struct {})",
            ioctl.argument
        ));
    }
    text
}

fn compiles(compiler: &str, text: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("driver.c");
    std::fs::write(&source, text).unwrap();
    let compiler = Command::new(compiler)
        .arg("-fsyntax-only")
        // The sample's header is the tests' own.
        .args([
            "-I",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/guest"),
        ])
        .arg(source)
        .output();
    let output = compiler.map_err(|why| format!("{why}: run scripts/setup"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn layouts_and_numbers_are_the_kernels() {
    for name in names().chain([FOR_TESTS]) {
        let text = program(&table(name).unwrap());
        for compiler in ["aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc"] {
            compiles(compiler, &text).unwrap_or_else(|why| panic!("{name}, {compiler}: {why}"));
        }
        let wrong = text.replacen("== 0,", "== 1,", 1);
        assert!(
            compiles("aarch64-linux-gnu-gcc", &wrong).is_err(),
            "{name}: nothing is compared"
        );
    }
}
