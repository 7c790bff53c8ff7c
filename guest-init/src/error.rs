//! Errors before the program runs, as `gil run` reports them.

use nix::errno::Errno;
use std::path::PathBuf;

/// Why the program could not be run, or its end not be reported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file system could not be mounted.
    #[error("cannot mount {kind} on {target} in the guest ({errno}): use a kernel that has it")]
    Mount {
        /// The file system.
        kind: &'static str,
        /// The folder that it is mounted on.
        target: &'static str,
        /// The operating system's error.
        errno: Errno,
    },
    /// A disk, or all of them as one root, could not be mounted.
    #[error(
        "cannot mount {at} in the guest ({errno}): use gil_disk.ko and the kernel's modules of one `gil run`"
    )]
    Layer {
        /// The folder that it is mounted on.
        at: PathBuf,
        /// The operating system's error.
        errno: Errno,
    },
    /// What the root is made of cannot be read or made.
    #[error("cannot use {path} in the guest ({error}): build the image with `gil run`")]
    Root {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The description of the run is not there.
    #[error("cannot read {path} in the guest ({error}): build the image with `gil run`")]
    ConfigRead {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The description of the run is not understood.
    #[error(
        "{path} in the guest is not understood ({error}): use init and `gil run` of one release"
    )]
    ConfigParse {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        error: serde_json::Error,
    },
    /// There is no driver.
    #[error("the driver {path} cannot be read in the guest ({error}): put it into the image")]
    ModuleRead {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The kernel does not take the driver.
    #[error(
        "the guest's kernel refuses the driver {path} ({errno}): build it for this very kernel"
    )]
    ModuleLoad {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        errno: Errno,
    },
    /// The host interface cannot be spoken to.
    #[error(transparent)]
    Device(#[from] gil_guest::Error),
    /// The run names no program.
    #[error("no program to run: name one after `gil run`")]
    NoProgram,
    /// A string for the kernel has a zero byte in it.
    #[error("{0:?} contains a zero byte, which cannot be passed to a program: leave it out")]
    Zero(String),
    /// The program is nowhere.
    #[error(
        "{program} is not in the guest (looked for in {search}): add its package with --pkg or its file with --file"
    )]
    NotFound {
        /// As it was named.
        program: String,
        /// The folders, or the path itself.
        search: String,
    },
    /// The program may not be executed.
    #[error("{path} cannot be executed in the guest ({errno}): make it an executable file")]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        errno: Errno,
    },
    /// Its arguments and environment.
    #[error(
        "the arguments and the environment of {path} are larger than the guest's kernel takes, 128 KiB each and 2 MiB in all: pass them in a file (--file, --stdin)"
    )]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The program is of a kind that the kernel does not execute.
    #[error("{path} is not a program for this guest: it is {found}")]
    Format {
        /// The file.
        path: PathBuf,
        /// The actual kind of the file.
        found: String,
    },
    /// The program's interpreter is not there.
    #[error(
        "{path} needs {interpreter}, which is not in the guest: add the package that has it with --pkg"
    )]
    Interpreter {
        /// The file.
        path: PathBuf,
        /// The interpreter that it names.
        interpreter: String,
    },
    /// The working folder is not there.
    #[error(
        "the working folder {0} is not in the guest: name one that is, or share yours, as in --share .:{0}"
    )]
    Folder(PathBuf),
    /// A folder of the host cannot be mounted, or does not take what was written.
    #[error(
        "the shared folder {at} cannot be used in the guest ({errno}): name a folder of the guest that can be made, and see that the disk on the host is not full"
    )]
    Share {
        /// Where it is mounted.
        at: PathBuf,
        /// The operating system's error.
        errno: Errno,
    },
    /// The display's last picture cannot be asked for.
    #[error("the picture of the guest's display cannot be asked for ({0}): leave --screen out")]
    Display(std::io::Error),
    /// The GPU's clock cannot be kept at its highest rate.
    #[error("the clock of the guest's GPU cannot be set ({0}): leave --gpu out")]
    Rate(std::io::Error),
    /// The network cannot be used.
    #[error("the guest's network cannot be set up ({0}): leave --net out")]
    Network(Errno),
    /// What was to be copied to the host is not there.
    #[error(
        "--out {0} is not in the guest now that the program has ended: check that the program makes it, and where (a path that is not absolute begins at --workdir)"
    )]
    NoOutput(PathBuf),
    /// It has no contents.
    #[error("--out {0} is neither a file nor a folder in the guest: name one of these")]
    NoContents(PathBuf),
    /// The host's disk is full.
    #[error(
        "--out {0} does not fit on the disk of the host ({1}): free some of it, or name a place on another disk"
    )]
    Full(PathBuf, std::io::Error),
    /// What was to be copied to the host cannot be copied.
    #[error(
        "--out {path} cannot be copied from the guest ({error}): see what the program left there, and where it is to go on the host"
    )]
    Output {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The standard input is not there.
    #[error("the standard input {path} cannot be opened in the guest ({error})")]
    Input {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The end of the program would go unnoticed.
    #[error("the guest cannot watch for the program's end ({0}): give it more memory")]
    Children(std::io::Error),
    /// A system call failed that does not fail.
    #[error("the guest cannot {what} ({errno}): give it more memory")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The operating system's error.
        errno: Errno,
    },
}

impl Error {
    /// An error of a system call that should not fail.
    pub fn system(what: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::System { what, errno }
    }

    /// The exit code of `gil run`, as `env` has it.
    pub const fn code(&self) -> u8 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. }
            | Self::TooLong { .. }
            | Self::Format { .. }
            | Self::Interpreter { .. } => 126,
            _ => 125,
        }
    }
}
