//! The user's terminal, while it is the guest's or shows the run: each key arrives as it is
//! pressed. It is again as it was in the end, whatever ends this process.

use gil_wire::input::Size;
use nix::errno::Errno;
use nix::sys::termios::{self, LocalFlags, SetArg, Termios};
use signal_hook::consts::{SIGCONT, SIGQUIT, SIGTSTP};
use signal_hook::low_level;
use std::io::{self, IsTerminal};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The terminal, and the settings that it had.
static BEFORE: OnceLock<(OwnedFd, libc::termios)> = OnceLock::new();
/// Those that it has while it is the guest's or shows the run.
static CHANGED: OnceLock<libc::termios> = OnceLock::new();
/// Whether it has them now.
static IS_CHANGED: AtomicBool = AtomicBool::new(false);
/// Whether a view covers what it showed.
static IS_COVERED: AtomicBool = AtomicBool::new(false);
/// Whether it had them, and whether a view covered it, when this process was stopped, until
/// it is so again.
static WAS_CHANGED: AtomicBool = AtomicBool::new(false);
static WAS_COVERED: AtomicBool = AtomicBool::new(false);
/// Whether the view is gone from it, since this process was stopped.
static IS_EMPTY: AtomicBool = AtomicBool::new(false);

/// Another screen, without a cursor.
const COVER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// The cursor and the first screen again, in the colours that it had.
const UNCOVER: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// Restores the terminal as it is dropped.
#[must_use]
pub struct Restored(());

/// Whether standard input is one.
pub fn is_there() -> bool {
    io::stdin().is_terminal()
}

/// From now on, signals that end or stop this process restore it, too; the others that do
/// so are handled in `signals`. Once it goes on in the foreground, the terminal is as it was
/// when it stopped.
///
/// # Errors
/// Those of installing a signal handler.
pub fn guard() -> io::Result<Restored> {
    let ended = || {
        restore();
        let _ = low_level::emulate_default_handler(SIGQUIT);
    };
    let stopped = || {
        WAS_CHANGED.fetch_or(IS_CHANGED.load(Ordering::Relaxed), Ordering::Relaxed);
        WAS_COVERED.fetch_or(IS_COVERED.load(Ordering::Relaxed), Ordering::Relaxed);
        restore();
        stop();
        // Where nobody could continue it, the kernel has not stopped it.
        resume();
    };
    // SAFETY: `restore` reads statics without a lock and makes two system calls.
    unsafe { low_level::register(SIGQUIT, ended) }?;
    // SAFETY: so do `stop` and `resume`.
    unsafe { low_level::register(SIGTSTP, stopped) }?;
    // SAFETY: as above.
    unsafe { low_level::register(SIGCONT, resume) }?;
    Ok(Restored(()))
}

impl Drop for Restored {
    fn drop(&mut self) {
        restore();
    }
}

/// Makes the one that is standard input raw, unless it is.
///
/// # Errors
/// Those of the terminal.
pub fn make_raw() -> io::Result<()> {
    change(io::stdin().as_fd(), termios::cfmakeraw)
}

/// Covers this one with an empty screen for a view. Keys that send signals still do. What a
/// panic says comes when the terminal is restored.
///
/// # Errors
/// Those of the terminal.
pub fn cover(terminal: BorrowedFd<'_>) -> io::Result<()> {
    change(terminal, |settings| {
        settings.local_flags -= LocalFlags::ICANON | LocalFlags::ECHO;
    })?;
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        say(panic);
    }));
    IS_COVERED.store(true, Ordering::Relaxed);
    nix::unistd::write(terminal, COVER)?;
    Ok(())
}

/// Changes its settings, unless they are changed.
fn change(terminal: BorrowedFd<'_>, how: impl FnOnce(&mut Termios)) -> io::Result<()> {
    if IS_CHANGED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut settings = termios::tcgetattr(terminal)?;
    let before = settings.clone().into();
    let own = terminal.try_clone_to_owned()?;
    BEFORE.get_or_init(|| (own, before));
    how(&mut settings);
    IS_CHANGED.store(true, Ordering::Relaxed);
    termios::tcsetattr(terminal, SetArg::TCSANOW, &settings)?;
    let changed = termios::tcgetattr(terminal)?.into();
    CHANGED.get_or_init(|| changed);
    Ok(())
}

/// Makes it what it was before, unless it is.
pub fn restore() {
    let Some((terminal, before)) = BEFORE.get() else {
        return;
    };
    let terminal = terminal.as_raw_fd();
    if IS_COVERED.swap(false, Ordering::Relaxed) {
        // SAFETY: the bytes are a constant, and the file descriptor is never closed.
        unsafe { libc::write(terminal, UNCOVER.as_ptr().cast(), UNCOVER.len()) };
    }
    if IS_CHANGED.swap(false, Ordering::Relaxed) {
        // SAFETY: `before` is what tcgetattr gave.
        unsafe { libc::tcsetattr(terminal, libc::TCSANOW, before) };
    }
}

/// Stops this process as Ctrl-Z does one that has no handler: the kernel stops none whose
/// group is orphaned, since nobody could continue it (`setpgid(2)`).
fn stop() {
    // SAFETY: an action of zeros is the default one, and a set of zeros is made empty; the
    // calls are allowed in a handler (`signal-safety(7)`).
    unsafe {
        let default: libc::sigaction = std::mem::zeroed();
        let mut own: libc::sigaction = std::mem::zeroed();
        let mut set: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, SIGTSTP);
        libc::sigaction(SIGTSTP, &default, &mut own);
        libc::raise(SIGTSTP);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, &mut before);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        libc::sigaction(SIGTSTP, &own, std::ptr::null_mut());
    }
}

/// Makes it what it was when this process stopped: changed, and covered or not. In the
/// background it is the shell's.
fn resume() {
    let Some((terminal, _)) = BEFORE.get() else {
        return;
    };
    let terminal = terminal.as_raw_fd();
    // SAFETY: the file descriptor is never closed.
    if unsafe { libc::tcgetpgrp(terminal) != libc::getpgrp() } {
        return;
    }
    if WAS_CHANGED.swap(false, Ordering::Relaxed) {
        IS_CHANGED.store(true, Ordering::Relaxed);
        if let Some(changed) = CHANGED.get() {
            // SAFETY: `changed` is what tcgetattr gave.
            unsafe { libc::tcsetattr(terminal, libc::TCSANOW, changed) };
        }
    }
    if WAS_COVERED.swap(false, Ordering::Relaxed) {
        // SAFETY: the bytes are a constant, and the file descriptor is never closed.
        unsafe { libc::write(terminal, COVER.as_ptr().cast(), COVER.len()) };
        IS_EMPTY.store(true, Ordering::Relaxed);
        IS_COVERED.store(true, Ordering::Relaxed);
    }
}

/// Whether a view covers it.
pub fn is_covered() -> bool {
    IS_COVERED.load(Ordering::Relaxed)
}

/// Whether all of the view is to be drawn, since this process was stopped; says so once.
pub fn is_empty() -> bool {
    IS_EMPTY.swap(false, Ordering::Relaxed)
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

#[cfg(test)]
mod tests {
    use super::*;
    use nix::pty::{OpenptyResult, openpty};

    #[test]
    fn a_panic_uncovers_the_terminal_before_it_says_anything() {
        let OpenptyResult { master, slave } = openpty(None, None).unwrap();
        let before = termios::tcgetattr(&slave).unwrap();
        cover(slave.as_fd()).unwrap();
        assert!(termios::tcgetattr(&slave).unwrap() != before);
        std::thread::spawn(|| panic!("as it should"))
            .join()
            .unwrap_err();
        assert!(termios::tcgetattr(&slave).unwrap() == before);
        let mut shown = [0; 64];
        let count = nix::unistd::read(&master, &mut shown).unwrap();
        assert_eq!(&shown[..count], [COVER, UNCOVER].concat());
    }
}
