//! What the full-system tests share: the command `gil`, programs for the
//! guest, and what a run leaves behind.
//!
//! The tests run what `cargo build --release` built; `scripts/test` does that
//! first.

pub mod accuracy;
pub mod board_machine;
pub mod conformance;
pub mod cost;
pub mod coverage;
pub mod cuda;
pub mod nvml;
pub mod picture;
pub mod replayed;
pub mod scripted;
pub mod slurm;
pub mod stand_in;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ lies in the repository")
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A release binary of the workspace.
///
/// # Panics
/// If it is not built.
pub fn binary(name: &str) -> PathBuf {
    let path = target().join("release").join(name);
    assert!(
        path.exists(),
        "{} is missing: run scripts/test, or cargo build --release",
        path.display()
    );
    path
}

/// `gil run --quiet` with a report to read afterwards.
pub struct Run {
    command: Command,
    folder: TempDir,
}

impl Run {
    /// A run with these arguments behind `gil run`.
    pub fn new<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Self {
        Self::of(Command::new(binary("gil")), args)
    }

    /// The same behind another command, such as `taskset`.
    pub fn under<S: AsRef<OsStr>>(prefix: &[&str], args: impl IntoIterator<Item = S>) -> Self {
        let mut command = Command::new(prefix[0]);
        command.args(&prefix[1..]).arg(binary("gil"));
        Self::of(command, args)
    }

    fn of<S: AsRef<OsStr>>(mut command: Command, args: impl IntoIterator<Item = S>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        command
            .args(["run", "--quiet", "--json"])
            .arg(folder.path().join("report.json"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self { command, folder }
    }

    /// The command, to change it further.
    pub fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Starts it; the folder holds the report once it has ended.
    pub fn start(mut self) -> (Child, TempDir) {
        let child = self.command.spawn().expect("gil starts");
        (child, self.folder)
    }

    /// Runs it to its end.
    pub fn finish(self) -> Finished {
        let (child, folder) = self.start();
        Finished::of(child.wait_with_output().expect("gil ends"), &folder)
    }
}

/// What a run left behind.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; a signal has none.
    pub code: Option<i32>,
    /// The program's standard output.
    pub stdout: String,
    /// The program's standard error, then gil's own words.
    pub stderr: String,
    /// The report.
    pub report: serde_json::Value,
}

impl Finished {
    /// Reads what a run left in its folder.
    pub fn of(output: Output, folder: &TempDir) -> Self {
        let report = std::fs::read(folder.path().join("report.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or(serde_json::Value::Null);
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            report,
        }
    }

    /// This run, which must have exited with 0.
    ///
    /// # Panics
    /// With all it printed, if it did not.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// A number of the report, such as `/simulated/program_ns`.
    ///
    /// # Panics
    /// If the report has none there.
    pub fn number(&self, pointer: &str) -> f64 {
        self.report
            .pointer(pointer)
            .and_then(serde_json::Value::as_f64)
            .unwrap_or_else(|| panic!("no number at {pointer} in {:#}", self.report))
    }

    /// A whole number of the report.
    ///
    /// # Panics
    /// If the report has none there.
    pub fn integer(&self, pointer: &str) -> i128 {
        let value = self.report.pointer(pointer);
        value
            .and_then(serde_json::Value::as_u64)
            .map(i128::from)
            .or_else(|| value.and_then(serde_json::Value::as_i64).map(i128::from))
            .unwrap_or_else(|| panic!("no integer at {pointer} in {:#}", self.report))
    }
}

/// How a C program for the guest is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Without any library of the guest.
    Static,
    /// Against the guest's `libOpenCL.so.1`.
    OpenCl,
    /// With EGL and OpenGL ES from 2.0 on.
    Gles,
    /// With EGL and OpenGL ES 1.1.
    Gles1,
    /// Against that and the toy API's library.
    Toy,
    /// Against the guest's `libcuda.so.1`.
    Cuda,
    /// Against the guest's `libnvidia-ml.so.1`.
    Nvml,
    /// Against CUDA's and its `libcudart.so.13`.
    CudaRuntime,
}

/// Width of the pointers of a program in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 64 bits, as the guest's kernel.
    Arm64,
    /// 32 bits.
    Armhf,
}

impl Width {
    /// Its bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::Arm64 => 64,
            Self::Armhf => 32,
        }
    }

    /// Where a library of the guest's is built.
    pub fn library(self, name: &str) -> PathBuf {
        let rust = match self {
            Self::Arm64 => "aarch64-unknown-linux-gnu",
            Self::Armhf => "armv7-unknown-linux-gnueabihf",
        };
        target().join(rust).join("guest").join(name)
    }

    /// What `--file` takes so that gil's own library is OpenCL's loader to
    /// programs with `/direct` in their `LD_LIBRARY_PATH`.
    ///
    /// # Panics
    /// Never: OpenCL has a loader.
    pub fn in_place_of_the_loader(self) -> String {
        let library = gil_guest_names::OPENCL;
        let loader = library.loader.expect("OpenCL has one").file;
        format!("{}:/direct/{loader}", self.library(library.file).display())
    }

    /// Debian's package of this width.
    pub fn package(self, name: &str) -> String {
        match self {
            Self::Arm64 => name.into(),
            Self::Armhf => format!("{name}:armhf"),
        }
    }

    fn compiler(self, link: Link) -> Command {
        let mut command = match (link, self) {
            (Link::Static, Self::Arm64) => Command::new("aarch64-linux-gnu-gcc"),
            (Link::Static, Self::Armhf) => Command::new("arm-linux-gnueabihf-gcc"),
            (_, _) => Command::new(root().join("scripts/guest-cc")),
        };
        match (link, self) {
            (Link::Static, _) => command.arg("-static"),
            (_, Self::Armhf) => command.arg("--armhf"),
            (_, Self::Arm64) => &mut command,
        };
        command
    }

    fn folder(self) -> PathBuf {
        target().join("guest-programs").join(match self {
            Self::Arm64 => "arm64",
            Self::Armhf => "armhf",
        })
    }
}

/// A test of programs of both widths, one each:
///
/// ```ignore
/// both_widths! {
///     fn vectors_are_added(width: Width) {
///         passes(&guest_program_of(width, "tests/guest/cl_vadd.c", Link::OpenCl));
///     }
/// }
/// ```
#[macro_export]
macro_rules! both_widths {
    ($($(#[$meta:meta])* fn $name:ident($width:ident: Width) $body:block)*) => { $(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn test($width: $crate::Width) $body

            #[test]
            fn arm64() {
                test($crate::Width::Arm64);
            }

            #[test]
            fn armhf() {
                test($crate::Width::Armhf);
            }
        }
    )* };
}

/// A 64-bit program: see [`guest_program_of`].
pub fn guest_program(source: &str, link: Link) -> PathBuf {
    guest_program_of(Width::Arm64, source, link)
}

/// Compiles a C program for the guest, once a run of the tests; the path of
/// its ELF.
///
/// # Panics
/// With the compiler's words, if it does not compile.
pub fn guest_program_of(width: Width, source: &str, link: Link) -> PathBuf {
    let source = root().join(source);
    let folder = width.folder();
    std::fs::create_dir_all(&folder).expect("a folder for guest programs");
    let out = folder.join(source.file_stem().expect("a file name"));
    // Tests run side by side: compile beside, then put in place at once.
    let partial = tempfile::NamedTempFile::new_in(&folder)
        .expect("a temporary file")
        .into_temp_path();
    let mut cc = width.compiler(link);
    cc.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .arg(root().join("synthetic-driver/uapi"))
        .arg("-o")
        .arg(&partial)
        .arg(&source);
    if link == Link::Toy {
        // The library needs libgil.so, which the guest has.
        cc.args(["-Wl,--allow-shlib-undefined", "-I"])
            .arg(root().join("examples/toy-api"))
            .arg(width.library(gil_guest_names::TOY.file));
    }
    let own = match link {
        Link::Cuda => Some(gil_guest_names::CUDA),
        Link::Nvml => Some(gil_guest_names::NVML),
        _ => None,
    };
    if let Some(own) = own {
        cc.arg("-Wl,--allow-shlib-undefined");
        cc.arg(width.library(own.file));
    }
    cc.args(link.libraries());
    let output = cc.output().expect("a cross compiler: run scripts/setup");
    assert!(
        output.status.success(),
        "{}: {}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    partial.persist(&out).expect("the program is put in place");
    out
}

impl Link {
    /// The compiler's arguments for the libraries of EGL, OpenGL ES and CUDA's runtime.
    pub fn libraries(self) -> &'static [&'static str] {
        match self {
            Self::Gles => &["-lEGL", "-lGLESv2"],
            Self::Gles1 => &["-lEGL", "-lGLESv1_CM"],
            Self::CudaRuntime => &["-lcudart", "-lcuda"],
            Self::Static | Self::OpenCl | Self::Toy | Self::Cuda | Self::Nvml => &[],
        }
    }
}

/// Compiles a C program for this machine, against its OpenCL.
///
/// # Panics
/// With the compiler's words, if it does not compile.
pub fn native_program(source: &str, folder: &Path) -> PathBuf {
    native_program_with(source, folder, &[])
}

/// The same with more of the compiler's arguments.
///
/// # Panics
/// As [`native_program`].
pub fn native_program_with(source: &str, folder: &Path, more: &[&OsStr]) -> PathBuf {
    let out = folder.join("native");
    let output = Command::new("cc")
        .args(["-O2", "-o"])
        .arg(&out)
        .arg(root().join(source))
        .args(more)
        .args(["-lOpenCL", "-pthread"])
        .output()
        .expect("cc: run scripts/setup");
    assert!(
        output.status.success(),
        "{source}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    out
}

/// Processes whose command line names `text`, such as a run's own folder.
pub fn processes_naming(text: &str) -> Vec<String> {
    let found = numbers_and_lines(text).into_iter();
    found.map(|(_, line)| line).collect()
}

/// The numbers of processes whose command line contains this text.
pub fn numbers_of_processes(text: &str) -> Vec<i32> {
    let found = numbers_and_lines(text).into_iter();
    found.map(|(number, _)| number).collect()
}

fn numbers_and_lines(text: &str) -> Vec<(i32, String)> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name(), command_line(&entry.path())?)))
        .filter_map(|(number, line)| Some((number.to_str()?.parse().ok()?, line)))
        .filter(|(_, line)| line.contains(text))
        .collect()
}

fn command_line(process: &Path) -> Option<String> {
    let line = std::fs::read(process.join("cmdline")).ok()?;
    Some(String::from_utf8_lossy(&line).replace('\0', " "))
}
