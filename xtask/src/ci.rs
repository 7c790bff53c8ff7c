//! The checks: one table.

use crate::audit::{self, AuditError};
use crate::r#gen::{self, GenError};
use crate::links::{self, LinksError};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// For the command line.
    pub name: &'static str,
    /// For people.
    pub about: &'static str,
    run: fn(&Path) -> Result<(), CiError>,
}

/// Every check, quickest first.
pub const CHECKS: &[Check] = &[
    Check {
        name: "fmt",
        about: "the code is formatted",
        run: |root| cargo(root, "fmt", &["fmt", "--all", "--check"]),
    },
    Check {
        name: "locks",
        about: "the lock files are what the manifests ask for",
        run: locks,
    },
    Check {
        name: "gen",
        about: "the generated files are what api/ says",
        run: |root| Ok(r#gen::check(root)?),
    },
    Check {
        name: "audit",
        about: "every test that docs/SECURITY.md names exists",
        run: |root| Ok(audit::check(root)?),
    },
    Check {
        name: "links",
        about: "the links of all pages lead somewhere, and the book has all pages",
        run: |root| Ok(links::check(root)?),
    },
    Check {
        name: "abi",
        about: "the descriptions agree with the real headers",
        run: abi,
    },
    Check {
        name: "clippy",
        about: "clippy has nothing to say",
        run: |root| {
            let all = [
                "clippy",
                "--workspace",
                "--all-targets",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ];
            cargo(root, "clippy", &all)
        },
    },
    Check {
        name: "unit",
        about: "unit tests, without full systems",
        run: |root| {
            cargo(
                root,
                "unit",
                &["test", "--workspace", "--exclude", "gil-tests", "--quiet"],
            )
        },
    },
    Check {
        name: "narrow",
        about: "unit tests of the agent, for boards of 32 bits, under emulation",
        run: |root| {
            let agent = ["test", "--package", "gil-board", "--lib", "--quiet"];
            let target = ["--target", "armv7-unknown-linux-gnueabihf"];
            cargo(root, "narrow", &[&agent[..], &target[..]].concat())
        },
    },
];

/// Why a check failed.
#[derive(Debug, thiserror::Error)]
pub enum CiError {
    /// No check has this name.
    #[error("there is no check \"{0}\": `cargo xtask ci --list` prints all")]
    Unknown(String),
    /// A program would not run.
    #[error("{program} does not run ({error}): install it")]
    Start {
        /// The program's name.
        program: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// A program said no; its output stands above.
    #[error("the check \"{0}\" failed: see above")]
    Failed(&'static str),
    /// The generated files.
    #[error(transparent)]
    Gen(#[from] GenError),
    /// The audit page.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The pages.
    #[error(transparent)]
    Links(#[from] LinksError),
}

/// Runs the checks of these names, or all; reports each one's result to `say`.
///
/// # Errors
/// The first check that fails.
pub fn run(root: &Path, names: &[String], say: &mut dyn FnMut(String)) -> Result<(), CiError> {
    for check in selected(names)? {
        let began = Instant::now();
        (check.run)(root)?;
        say(format!(
            "{:<8} ok, {:.1} s",
            check.name,
            began.elapsed().as_secs_f64()
        ));
    }
    Ok(())
}

fn selected(names: &[String]) -> Result<Vec<&'static Check>, CiError> {
    if names.is_empty() {
        return Ok(CHECKS.iter().collect());
    }
    let find = |name: &String| {
        let check = CHECKS.iter().find(|check| check.name == *name);
        check.ok_or_else(|| CiError::Unknown(name.clone()))
    };
    names.iter().map(find).collect()
}

fn cargo(root: &Path, check: &'static str, args: &[&str]) -> Result<(), CiError> {
    let cargo = std::env::var("CARGO").unwrap_or("cargo".into());
    succeed(check, Command::new(cargo).args(args).current_dir(root))
}

/// The fuzz targets are a workspace of their own, whose lock file nothing else reads before
/// the dependencies' licences are checked.
fn locks(root: &Path) -> Result<(), CiError> {
    let cargo = std::env::var("CARGO").unwrap_or("cargo".into());
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let mut metadata = Command::new(&cargo);
        metadata.args(["metadata", "--locked", "--format-version", "1"]);
        metadata.args(["--manifest-path", manifest]);
        metadata.current_dir(root).stdout(Stdio::null());
        succeed("locks", &mut metadata)?;
    }
    Ok(())
}

/// Environment: folders of headers that only a vendor has, with colons between.
const HEADERS: &str = "GIL_API_HEADERS";

/// Compiles each API's generated program for pointers of either width; it
/// compares as it compiles. Without a header that only a vendor has, its API is passed over.
fn abi(root: &Path) -> Result<(), CiError> {
    let own = std::env::var("CC").unwrap_or("cc".into());
    for program in r#gen::abi_programs(root)? {
        if let Some(header) = &program.vendors
            && !has_header(&own, header)
        {
            gil_need::skip(
                header,
                format_args!("{HEADERS} names no folder that has it"),
            );
            continue;
        }
        for (compiler, bits) in [(own.as_str(), 64), (COMPILER_32, 32)] {
            if program.pointers.is_some_and(|only| only != bits) {
                continue;
            }
            let mut compiler = checking(compiler);
            if let Some(headers) = &program.headers {
                compiler.arg("-I").arg(headers);
            }
            succeed("abi", compiler.arg(&program.path))?;
        }
    }
    Ok(())
}

/// A compiler that only looks.
fn checking(compiler: &str) -> Command {
    let mut command = Command::new(compiler);
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
    // A cross compiler finds the APIs' headers, which are the same for
    // every machine, only behind its own.
    command.args(["-idirafter", "/usr/include"]);
    let folders = std::env::var_os(HEADERS).unwrap_or_default();
    for folder in std::env::split_paths(&folders).filter(|it| it.is_absolute()) {
        command.arg("-isystem").arg(folder);
    }
    command
}

fn has_header(compiler: &str, header: &str) -> bool {
    let mut look = checking(compiler);
    look.args(["-include", header, "-x", "c", "/dev/null"]);
    let status = look.stderr(Stdio::null()).stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Compiles for the guest's 32-bit programs.
const COMPILER_32: &str = "arm-linux-gnueabihf-gcc";

fn succeed(check: &'static str, command: &mut Command) -> Result<(), CiError> {
    let status = command.status().map_err(|error| CiError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        error,
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(CiError::Failed(check)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_found_by_name() {
        let names = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            selected(&names).map(|checks| checks.iter().map(|c| c.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["abi", "fmt"]).unwrap(), ["abi", "fmt"]);
        assert_eq!(names(&[]).unwrap().len(), CHECKS.len());
        assert!(
            names(&["lint"])
                .unwrap_err()
                .to_string()
                .contains("\"lint\"")
        );
    }
}
