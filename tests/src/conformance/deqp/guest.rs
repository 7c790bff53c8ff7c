//! A process with cases in the guest.

use super::PLATFORM;
use super::output::Printed;
use crate::conformance::Options;
use crate::conformance::suite::Suite;
use crate::{Run, Width};
use std::io;
use std::path::Path;

/// The program's folder in the guest.
const FOLDER: &str = "/conformance";
/// Its list of cases.
const LIST: &str = "/conformance/cases.txt";
/// The folder of libraries there.
const LIBRARIES: &str = "/tmp/libraries";
/// A line before the program's exit code.
const MARK: &str = "gil-conformance: ended ";
/// Debian's packages with what the programs need.
const PACKAGES: [&str; 4] = ["libegl1", "libgles2", "libstdc++6", "coreutils"];

/// Runs cases in one process, in a guest of its own.
///
/// # Errors
/// Files that cannot be read or written.
pub fn run(
    suite: &Suite,
    width: Width,
    cases: &[String],
    options: &Options,
) -> io::Result<Printed> {
    let folder = tempfile::tempdir()?;
    let list = folder.path().join("cases.txt");
    std::fs::write(&list, cases.join("\n") + "\n")?;
    let name = suite.program.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let mut words = vec!["--timeout".into(), options.timeout.as_secs().to_string()];
    for package in PACKAGES {
        words.extend(["--pkg".into(), width.package(package)]);
    }
    let beside = suite.program.parent().unwrap_or(Path::new("."));
    let mut files = vec![
        (suite.program.clone(), format!("{FOLDER}/{name}")),
        (list, LIST.into()),
    ];
    files.extend(data(beside)?);
    for (from, to) in files {
        words.extend(["--file".into(), format!("{}:{to}", from.display())]);
    }
    let (variable, platform) = PLATFORM;
    words.extend(["--env".into(), format!("{variable}={platform}")]);
    words.extend(options.run.iter().cloned());
    let script = script(&name, &super::words(options));
    words.extend(["--".into(), "sh".into(), "-c".into(), script]);
    let run = Run::new(words).finish();
    let (stdout, stderr) = (run.stdout.as_bytes(), run.stderr.as_bytes());
    super::log(suite, "guest", stdout, stderr, options)?;
    Ok(Printed::read(&run.stdout, code(&run.stdout).or(run.code)))
}

/// What runs the program. It opens the libraries under the names that only packages for
/// developers have.
fn script(name: &str, options: &[String]) -> String {
    format!(
        "cd {FOLDER}; mkdir {LIBRARIES}
for library in libEGL.so.1 libGLESv2.so.2; do
  ln -s /usr/lib/*/$library {LIBRARIES}/${{library%.*}}
done
LD_LIBRARY_PATH={LIBRARIES} stdbuf -oL ./{name} --deqp-caselist-file={LIST} {}
code=$?; echo; echo \"{MARK}$code\"",
        options.join(" ")
    )
}

/// The program's exit code, if the guest lived to say it.
fn code(stdout: &str) -> Option<i32> {
    let line = stdout.lines().find_map(|line| line.strip_prefix(MARK))?;
    line.trim().parse().ok()
}

/// The folders beside a program with what its cases read, and their places in the guest.
fn data(beside: &Path) -> io::Result<Vec<(std::path::PathBuf, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(beside)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() && name.starts_with("gles") {
            found.push((entry.path(), format!("{FOLDER}/{name}")));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_not_that_of_another_command() {
        let script = script("deqp-egl", &["--deqp-x".into()]);
        assert!(script.contains(" --deqp-x\ncode=$?; echo; "));
        assert!(script.contains("/${library%.*}\n"));
    }

    #[test]
    fn the_programs_own_code_counts() {
        assert_eq!(code("x\n\ngil-conformance: ended 139\n"), Some(139));
        assert_eq!(code("x\n"), None);
    }
}
