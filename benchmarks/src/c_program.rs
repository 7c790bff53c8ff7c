//! Programs in C: compiled for this machine and for the guest, and run there.

use crate::error::BenchError;
use gil_report::Report;
use gil_run_support::cache::Cache;
use gil_run_support::checkout;
use gil_run_support::process::is_asked_to_end_with_us;
use gil_run_support::text;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Compiles for the guest: in a checkout, and beside an installed `gil`.
const GUEST_CC: [&str; 2] = ["scripts/guest-cc", "gil-guest-cc"];
/// Where an installed `gil` has the sources, from the folder above its own.
const SOURCES: &str = "share/gil";
/// Most bytes of what a program wrote elsewhere.
const NATIVE_MAX: u64 = 1 << 20;

/// One program, for this machine and for the guest.
pub struct Built {
    /// For this machine.
    pub native: PathBuf,
    /// For the guest.
    pub guest: PathBuf,
}

/// Compiles the program `source`, a path in gil's repository and in what is installed, into
/// `folder`, with these libraries of this machine and of the guest.
///
/// # Errors
/// [`BenchError`] if it is not there, or a compiler is missing or refuses it.
pub fn build(
    source: &str,
    folder: &Path,
    native: &[&str],
    guest: &[&str],
) -> Result<Built, BenchError> {
    let (source, guest_cc) = places(source)?;
    let stem = source.file_stem().unwrap_or_default();
    let named = |machine: &str| format!("{}-{machine}", stem.display());
    let compile = |compiler: &Path, name: &str, libraries: &[&str]| {
        let program = folder.join(name);
        let mut compiler = Command::new(compiler);
        compiler.args(["-O2", "-o"]).arg(&program).arg(&source);
        run(compiler.args(libraries)).map(|_| program)
    };
    Ok(Built {
        native: compile(Path::new("cc"), &named("native"), native)?,
        guest: compile(&guest_cc, &named("guest"), guest)?,
    })
}

/// A program's source and the guest's compiler: of the checkout that is the current folder,
/// of an installed `gil`, or of the checkout that this binary was built from.
fn places(source: &str) -> Result<(PathBuf, PathBuf), BenchError> {
    let [in_checkout, installed] = GUEST_CC;
    if Path::new(source).is_file() {
        return Ok((source.into(), in_checkout.into()));
    }
    let own = std::env::current_exe()?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let home = folder.parent().unwrap_or(Path::new("/"));
    let packed = home.join(SOURCES).join(source);
    if packed.is_file() {
        return Ok((packed, folder.join(installed)));
    }
    let root = checkout::root().filter(|root| root.join(source).is_file());
    match root {
        Some(root) => Ok((root.join(source), root.join(in_checkout))),
        None => Err(BenchError::File {
            path: source.into(),
            what:
                "this command compiles that file: run it in a checkout of gil's sources, or install gil"
                    .into(),
        }),
    }
}

/// `gil run` that writes a report there; the caller adds the program.
///
/// # Errors
/// [`BenchError`] if this program is not there.
pub fn in_guest(json: &Path) -> Result<Command, BenchError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["run", "--quiet", "--json"]).arg(json);
    Ok(command)
}

/// The same with an agent of its own, which keeps what drivers compile, as the native
/// program's user does: neither compiles what it ran before.
///
/// # Errors
/// [`BenchError`] if this program or the cache is not there.
pub fn in_guest_with_kernels(json: &Path) -> Result<Command, BenchError> {
    let mut command = in_guest(json)?;
    let kernels = Cache::open()?.root().join("bench-kernels");
    command.arg("--shared-cache").arg(kernels);
    Ok(command)
}

/// Runs it to its end.
///
/// # Errors
/// [`BenchError`] with what it said if it fails.
pub fn run(command: &mut Command) -> Result<Duration, BenchError> {
    let start = Instant::now();
    let output = is_asked_to_end_with_us(command)
        .stdin(Stdio::null())
        .output()?;
    let took = start.elapsed();
    match output.status.success() {
        true => Ok(took),
        false => Err(failed(command, &output.stderr)),
    }
}

/// Runs it to its end; what it printed.
///
/// # Errors
/// [`BenchError`] with what it said if it fails.
pub fn said(command: &mut Command) -> Result<String, BenchError> {
    let output = is_asked_to_end_with_us(command)
        .stdin(Stdio::null())
        .output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(command, &output.stderr)),
    }
}

/// How many repetitions each of this many processes makes that share so many: at least 3.
pub fn shared(repetitions: u32, processes: u32) -> u32 {
    repetitions.div_ceil(processes).max(3)
}

/// Runs such a program in one process after the other, since what one takes differs from what
/// another takes by more than its repetitions do: by where its memory lies, and on which
/// processor it is executed. The first line is the device's name, and there once.
///
/// # Errors
/// As `run`'s.
pub fn pooled(
    processes: u32,
    run: impl Fn() -> Result<String, BenchError>,
) -> Result<String, BenchError> {
    let mut text = run()?;
    for _ in 1..processes {
        let more = run()?;
        let rest = more.split_once('\n').map_or("", |(_, rest)| rest);
        text += rest;
    }
    Ok(text)
}

/// The same as [`said`], of its standard error.
///
/// # Errors
/// As [`said`].
pub fn complained(command: &mut Command) -> Result<String, BenchError> {
    let output = is_asked_to_end_with_us(command)
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(failed(command, &output.stderr)),
    }
}

/// What a program wrote natively, elsewhere.
///
/// # Errors
/// [`BenchError::File`].
pub fn written(path: &Path) -> Result<String, BenchError> {
    let wrong = |what: String| BenchError::File {
        path: path.into(),
        what,
    };
    text::read(path, NATIVE_MAX).map_err(|error| {
        wrong(match error.kind() {
            io::ErrorKind::InvalidData => "it is no text: give what the program wrote".into(),
            io::ErrorKind::IsADirectory => "it is a folder: give what the program wrote".into(),
            io::ErrorKind::FileTooLarge => {
                format!("it has more than {NATIVE_MAX} bytes: give what the program wrote")
            }
            _ => error.to_string(),
        })
    })
}

/// The report of a run.
///
/// # Errors
/// [`BenchError`] if it is not there, or none.
pub fn report(json: &Path) -> Result<Report, BenchError> {
    let failed = |what: String| BenchError::File {
        path: json.into(),
        what,
    };
    let text = std::fs::read(json).map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
}

/// Runs it to its end; when each of its `count` lines came.
///
/// # Errors
/// [`BenchError`] with what it said if it writes another number of lines.
pub fn moments(command: &mut Command, count: usize) -> Result<Vec<Instant>, BenchError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    let mut child = is_asked_to_end_with_us(command).spawn()?;
    let mut moments = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            line?;
            moments.push(Instant::now());
        }
    }
    let output = child.wait_with_output()?;
    match moments.len() == count {
        true => Ok(moments),
        false => Err(failed(command, &output.stderr)),
    }
}

/// The error of a program that said this.
fn failed(command: &Command, stderr: &[u8]) -> BenchError {
    let said = String::from_utf8_lossy(stderr);
    // Behind what is wrong with a command `gil` says where its options are listed.
    let mut lines = said.lines().filter(|line| {
        let is_hint = line.starts_with("For more information") || line.trim().is_empty();
        !is_hint
    });
    BenchError::Program {
        command: command.get_program().to_string_lossy().into_owned(),
        said: lines.next_back().unwrap_or("it said nothing").into(),
    }
}
