//! The program's three streams: pipes to init, or a terminal of the guest's own.

use crate::config::{Config, Live};
use crate::{Error, system};
use gil_wire::control::Stream;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::pty::openpty;
use nix::unistd::pipe2;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

/// What the program gets.
#[derive(Debug)]
pub struct Theirs {
    /// Standard input, output and error.
    pub streams: [OwnedFd; 3],
    /// They are a terminal, which becomes the program's own.
    pub is_terminal: bool,
}

/// What init keeps.
#[derive(Debug)]
pub struct Ours {
    /// What the program writes.
    pub outputs: Vec<(Stream, OwnedFd)>,
    /// Where what the user types is written.
    pub input: Option<OwnedFd>,
    /// The program's end of the terminal, which stays while the program has it
    /// closed.
    pub terminal: Option<OwnedFd>,
}

/// Opens them as `config` asks for.
///
/// # Errors
/// [`Error::Input`] and [`Error::System`].
pub fn open(config: &Config) -> Result<(Theirs, Ours), Error> {
    match config.input {
        Some(Live::Terminal) => terminal(),
        Some(Live::Pipe) => {
            let (read, write) = pipe()?;
            pipes(read, Some(write))
        }
        None => pipes(open_input(config.stdin.as_deref())?, None),
    }
}

fn pipes(stdin: OwnedFd, input: Option<OwnedFd>) -> Result<(Theirs, Ours), Error> {
    let (out, err) = (pipe()?, pipe()?);
    let theirs = Theirs {
        streams: [stdin, out.1, err.1],
        is_terminal: false,
    };
    let ours = Ours {
        outputs: vec![(Stream::Out, out.0), (Stream::Err, err.0)],
        input,
        terminal: None,
    };
    Ok((theirs, ours))
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    pipe2(OFlag::O_CLOEXEC).map_err(Error::system("make a pipe"))
}

fn terminal() -> Result<(Theirs, Ours), Error> {
    let ends = openpty(None, None).map_err(Error::system("make a terminal"))?;
    for end in [&ends.master, &ends.slave] {
        let close = FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC);
        fcntl(end, close).map_err(Error::system("set up a terminal"))?;
    }
    let copy = |end: &OwnedFd| end.try_clone().map_err(Error::Children);
    let theirs = Theirs {
        streams: [copy(&ends.slave)?, copy(&ends.slave)?, copy(&ends.slave)?],
        is_terminal: true,
    };
    let ours = Ours {
        outputs: vec![(Stream::Out, copy(&ends.master)?)],
        input: Some(ends.master),
        terminal: Some(ends.slave),
    };
    Ok((theirs, ours))
}

fn open_input(path: Option<&Path>) -> Result<OwnedFd, Error> {
    match path {
        None => system::empty_input().map_err(Error::system("open /dev/null")),
        Some(path) => match File::open(path) {
            Ok(file) => Ok(file.into()),
            Err(error) => Err(Error::Input {
                path: path.into(),
                error,
            }),
        },
    }
}
