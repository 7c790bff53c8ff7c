//! Text that kernels print. Drivers write it to the process's standard output, which is
//! a pipe; the agent's own output goes elsewhere. Only the time assigns text to a kernel,
//! so kernels that may print take turns ([`Turn`]).

use gil_wire::message::PRINTED_MAX;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{dup, dup2_stdout, pipe2, read};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Ends a text that is cut.
const CUT: &[u8] = b"\n(gil: what this kernel printed is cut here)\n";
const READ_SIZE: usize = 1 << 16;

static CAPTURE: OnceLock<Capture> = OnceLock::new();

/// The process's standard output, as drivers write it.
struct Capture {
    pipe: OwnedFd,
    text: Mutex<Text>,
    turn: Mutex<()>,
    /// Where standard output went before: a reader there still waits for it.
    _before: OwnedFd,
}

/// Text so far, bounded.
#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    cut: bool,
}

impl Text {
    fn add(&mut self, bytes: &[u8]) {
        let room = PRINTED_MAX as usize - CUT.len() - self.bytes.len();
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.cut |= bytes.len() > room;
    }

    fn take(&mut self) -> Vec<u8> {
        let text = std::mem::take(self);
        let mut bytes = text.bytes;
        if text.cut {
            bytes.extend_from_slice(CUT);
        }
        bytes
    }
}

/// Takes standard output away from the process, for good: what it prints from
/// here on is what kernels print.
///
/// # Errors
/// The system's. Then nothing has changed, or kernels' text is lost.
pub fn capture() -> io::Result<()> {
    let (pipe, write) = pipe2(OFlag::O_CLOEXEC)?;
    fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    let before = dup(io::stdout())?;
    fcntl(&before, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
    dup2_stdout(&write)?;
    let capture = CAPTURE.get_or_init(|| Capture {
        pipe,
        text: Mutex::default(),
        turn: Mutex::default(),
        _before: before,
    });
    let drain = || capture.drain();
    std::thread::Builder::new()
        .name("printed".into())
        .spawn(drain)?;
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Capture {
    /// Takes text out of the pipe for ever, so that no writer waits for long.
    fn drain(&self) {
        loop {
            let mut fds = [PollFd::new(self.pipe.as_fd(), PollFlags::POLLIN)];
            if let Ok(1..) = poll(&mut fds, PollTimeout::NONE) {
                drop(self.fill());
            }
        }
    }

    /// Takes what is in the pipe.
    fn fill(&self) -> MutexGuard<'_, Text> {
        let mut text = lock(&self.text);
        let mut room = vec![0; READ_SIZE];
        while let Ok(len @ 1..) = read(&self.pipe, &mut room) {
            text.add(&room[..len]);
        }
        text
    }
}

/// The right to run kernels that may print.
pub struct Turn {
    capture: &'static Capture,
    _turn: MutexGuard<'static, ()>,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

/// Waits for a turn; none if standard output is the process's own.
pub fn turn() -> Option<Turn> {
    let capture = CAPTURE.get()?;
    let turn = Turn {
        _turn: lock(&capture.turn),
        capture,
    };
    let nobodys = turn.take();
    if !nobodys.is_empty() {
        tracing::debug!(bytes = nobodys.len(), "text of nobody's on standard output");
    }
    Some(turn)
}

/// What was printed since this was last asked, where a driver says when it prints: between
/// kernels, and behind them. Nothing if standard output is the process's own.
pub fn take() -> Vec<u8> {
    let turn = CAPTURE.get().map(|capture| Turn {
        _turn: lock(&capture.turn),
        capture,
    });
    turn.map(|turn| turn.take()).unwrap_or_default()
}

impl Turn {
    /// What was printed since this was last asked, by kernels that have ended.
    pub fn take(&self) -> Vec<u8> {
        // SAFETY: flushes every stream of C's; some drivers print through them.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        self.capture.fill().take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_bounded_and_says_so() {
        let mut text = Text::default();
        text.add(b"one ");
        text.add(b"two");
        assert_eq!(text.take(), b"one two");
        for _ in 0..3 {
            text.add(&vec![b'x'; 1 << 19]);
        }
        let cut = text.take();
        assert_eq!(cut.len() as u64, PRINTED_MAX);
        assert!(cut.ends_with(CUT));
        assert_eq!(text.take(), b"");
    }
}
