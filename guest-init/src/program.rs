//! The program's process. It is forked first and executes the program after its start
//! was reported, so that the host knows its process number before its first call.

use crate::config::Config;
use crate::streams::Theirs;
use crate::{Error, explain};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::{ForkResult, Gid, Pid, Uid};
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// Everything that the child needs, made before the fork.
#[derive(Debug)]
pub struct Program {
    name: String,
    search: String,
    candidates: Vec<CString>,
    argv: Vec<CString>,
    env: Vec<CString>,
    cwd: PathBuf,
    streams: Theirs,
    uid: u32,
}

fn c_string(text: impl Into<String>) -> Result<CString, Error> {
    let text = text.into();
    CString::new(text.as_bytes()).map_err(|_| Error::Zero(text))
}

/// Where `execvp` would look for `name`.
fn candidates(name: &str, search: &str) -> Vec<String> {
    if name.contains('/') {
        return vec![name.into()];
    }
    let folder = |folder: &str| match folder {
        "" => name.into(),
        folder => format!("{folder}/{name}"),
    };
    search.split(':').map(folder).collect()
}

impl Program {
    /// What `config` asks for, with these streams.
    ///
    /// # Errors
    /// What can be found without trying.
    pub fn new(config: &Config, streams: Theirs) -> Result<Self, Error> {
        let name = config.argv.first().filter(|name| !name.is_empty());
        let name = name.ok_or(Error::NoProgram)?.clone();
        if !config.cwd.is_dir() {
            return Err(Error::Folder(config.cwd.clone()));
        }
        let search = config.search().to_owned();
        let pairs = config
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        Ok(Self {
            candidates: candidates(&name, &search)
                .into_iter()
                .map(c_string)
                .collect::<Result<_, _>>()?,
            argv: config.argv.iter().map(c_string).collect::<Result<_, _>>()?,
            env: pairs.map(c_string).collect::<Result<_, _>>()?,
            cwd: config.cwd.clone(),
            streams,
            uid: config.uid,
            name,
            search,
        })
    }

    /// Forks the process, which then waits.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn fork(&self) -> Result<Waiting, Error> {
        let pipe = || nix::unistd::pipe2(OFlag::O_CLOEXEC).map_err(Error::system("make a pipe"));
        let (gate, verdict) = (pipe()?, pipe()?);
        // SAFETY: init's other threads pass on requests of shared folders and hold
        // no lock that the child needs: C's library keeps its own usable.
        match unsafe { nix::unistd::fork() }.map_err(Error::system("fork"))? {
            ForkResult::Child => {
                drop(gate.1);
                self.become_program(gate.0, verdict.1)
            }
            ForkResult::Parent { child } => Ok(Waiting {
                pid: child,
                gate: gate.1,
                verdict: verdict.0,
            }),
        }
    }

    /// The child: waits for the gate, then executes the program, or says why
    /// not.
    fn become_program(&self, gate: OwnedFd, verdict: OwnedFd) -> ! {
        // An end of file is the go-ahead too: init is gone, and so is all.
        let _ = File::from(gate).read(&mut [0]);
        let errno = match self.settle() {
            Ok(()) => self.execute(),
            Err(errno) => errno,
        };
        let _ = File::from(verdict).write_all(&(errno as i32).to_le_bytes());
        // SAFETY: ends the child without init's own exit handlers.
        unsafe { libc::_exit(127) }
    }

    /// Streams, signals, folder and user, as a program expects them.
    fn settle(&self) -> Result<(), Errno> {
        for (from, to) in self.streams.streams.iter().zip(0..) {
            // SAFETY: both are descriptors of this child, which executes next.
            Errno::result(unsafe { libc::dup2(from.as_raw_fd(), to) })?;
        }
        SigSet::all().thread_unblock()?;
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        for signal in [Signal::SIGPIPE, Signal::SIGINT, Signal::SIGQUIT] {
            // SAFETY: the default action runs no code of ours.
            unsafe { sigaction(signal, &default) }?;
        }
        nix::unistd::setsid()?;
        if self.streams.is_terminal {
            // SAFETY: takes plain numbers; the result is checked.
            Errno::result(unsafe { libc::ioctl(0, libc::TIOCSCTTY as _, 0) })?;
        }
        nix::unistd::chdir(&self.cwd)?;
        if self.uid != 0 {
            nix::unistd::setgroups(&[])?;
            nix::unistd::setgid(Gid::from_raw(self.uid))?;
            nix::unistd::setuid(Uid::from_raw(self.uid))?;
        }
        Ok(())
    }

    /// As `execvp`: tries one candidate after the other. Returns why none ran.
    fn execute(&self) -> Errno {
        let mut denied = None;
        for path in &self.candidates {
            let Err(errno) = nix::unistd::execve(path, &self.argv, &self.env);
            match errno {
                Errno::EACCES => denied = Some(errno),
                Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::ENAMETOOLONG => {}
                errno => return errno,
            }
        }
        denied.unwrap_or(Errno::ENOENT)
    }

    /// The sentence for a failed execution.
    fn explain(&self, errno: Errno) -> Error {
        let path = |candidate: &CString| self.cwd.join(candidate.to_string_lossy().as_ref());
        match self.candidates.iter().map(path).find(|path| path.exists()) {
            Some(path) => explain::why_not(&path, errno),
            None => Error::NotFound {
                program: self.name.clone(),
                search: self.search.clone(),
            },
        }
    }
}

/// The forked process before it executes the program.
#[derive(Debug)]
pub struct Waiting {
    pid: Pid,
    gate: OwnedFd,
    verdict: OwnedFd,
}

impl Waiting {
    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// Lets it execute the program; its number.
    ///
    /// # Errors
    /// Why it could not.
    pub fn execute(self, program: &Program) -> Result<Pid, Error> {
        drop(self.gate);
        let mut verdict = [0; 4];
        match File::from(self.verdict).read_exact(&mut verdict) {
            // Closed by the execution itself.
            Err(_) => Ok(self.pid),
            Ok(()) => Err(program.explain(Errno::from_raw(i32::from_le_bytes(verdict)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_those_of_execvp() {
        assert_eq!(candidates("a/b", "/x:/y"), ["a/b"]);
        assert_eq!(candidates("a", "/x::/y"), ["/x/a", "a", "/y/a"]);
    }
}
