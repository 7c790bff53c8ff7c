//! A process with cases on this machine.

use super::PLATFORM;
use super::output::Printed;
use crate::conformance::Options;
use crate::conformance::suite::Suite;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs cases in one process.
///
/// # Errors
/// It cannot be started, or files cannot be written.
pub fn run(suite: &Suite, cases: &[String], options: &Options) -> io::Result<Printed> {
    let mut list = tempfile::NamedTempFile::new()?;
    writeln!(list, "{}", cases.join("\n"))?;
    let output = Command::new("timeout")
        .arg(options.timeout.as_secs().to_string())
        // What it prints comes line by line, whatever it ends with.
        .args(["stdbuf", "-oL"])
        .arg(&suite.program)
        .arg(format!("--deqp-caselist-file={}", list.path().display()))
        .args(super::words(options))
        .env(PLATFORM.0, PLATFORM.1)
        .current_dir(suite.program.parent().unwrap_or(Path::new(".")))
        .stdin(Stdio::null())
        .output()?;
    super::log(suite, "native", &output.stdout, &output.stderr, options)?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(Printed::read(
        &text,
        crate::conformance::native::code(output.status),
    ))
}
