//! The user's terminal, while the guest's is another end of it: raw, so that each key is
//! the guest's, and again as it was in the end, whatever ends this process.

use gil_wire::input::Size;
use nix::errno::Errno;
use nix::sys::termios::{self, SetArg};
use signal_hook::consts::SIGQUIT;
use signal_hook::low_level;
use std::io::{self, IsTerminal};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The settings that it had.
static BEFORE: OnceLock<libc::termios> = OnceLock::new();
/// Whether it has others now.
static IS_RAW: AtomicBool = AtomicBool::new(false);

/// Restores the terminal as it is dropped.
#[must_use]
pub struct Restored(());

/// Whether standard input is one.
pub fn is_there() -> bool {
    io::stdin().is_terminal()
}

/// From now on, signals that end this process restore it, too; the others that do
/// so are handled in `signals`.
///
/// # Errors
/// Those of installing a signal handler.
pub fn guard() -> io::Result<Restored> {
    let ended = || {
        restore();
        let _ = low_level::emulate_default_handler(SIGQUIT);
    };
    // SAFETY: `restore` reads two statics without a lock and makes one system call.
    unsafe { low_level::register(SIGQUIT, ended) }?;
    Ok(Restored(()))
}

impl Drop for Restored {
    fn drop(&mut self) {
        restore();
    }
}

/// Makes it raw, unless it is.
///
/// # Errors
/// Those of the terminal.
pub fn make_raw() -> io::Result<()> {
    if IS_RAW.load(Ordering::Relaxed) {
        return Ok(());
    }
    let before = termios::tcgetattr(io::stdin())?;
    let before = *BEFORE.get_or_init(|| before.into());
    let mut raw = before.into();
    termios::cfmakeraw(&mut raw);
    IS_RAW.store(true, Ordering::Relaxed);
    Ok(termios::tcsetattr(io::stdin(), SetArg::TCSANOW, &raw)?)
}

/// Makes it what it was before, unless it is.
pub fn restore() {
    let Some(before) = BEFORE.get() else {
        return;
    };
    if IS_RAW.swap(false, Ordering::Relaxed) {
        // SAFETY: `before` is what tcgetattr gave.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, before) };
    }
}

/// The size of a terminal's window; `None` if `of` is not a terminal.
pub fn size(of: &impl AsFd) -> Option<Size> {
    let mut window = MaybeUninit::<libc::winsize>::zeroed();
    let terminal = of.as_fd().as_raw_fd();
    // SAFETY: `window` is laid out as TIOCGWINSZ writes it.
    let done = unsafe { libc::ioctl(terminal, libc::TIOCGWINSZ, window.as_mut_ptr()) };
    Errno::result(done).ok()?;
    // SAFETY: the call wrote it; all zeroes were valid before, too.
    let window = unsafe { window.assume_init() };
    Some(Size {
        rows: window.ws_row,
        columns: window.ws_col,
    })
}
