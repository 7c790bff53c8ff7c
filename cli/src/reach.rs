//! One connection of the guest to a server on this machine's loopback (`--net host:PORT`).
//! QEMU starts this for each: what the guest sends comes on standard input, and what it
//! receives goes to standard output, which are one socket.

use gil_run_support::folder;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{Shutdown, shutdown};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

/// The name under which this program does it, in the run's folder.
pub const NAME: &str = "gil-reach";

/// Most connections at a time: each is a process.
const MOST: i64 = 256;
/// The file in the run's folder of which each connection locks a byte.
const COUNTED: &str = "connections";

/// What this process carries.
pub struct Connection {
    port: u16,
    /// The run's folder.
    run: PathBuf,
}

/// The connection, if that is what this process is for.
pub fn wanted() -> Option<Connection> {
    let mut words = std::env::args_os();
    let name = PathBuf::from(words.next()?);
    let port = words.next()?.to_str()?.parse().ok()?;
    let run = name.parent()?.into();
    let is_it = name.file_name() == Some(OsStr::new(NAME));
    is_it.then_some(Connection { port, run })
}

/// Carries the connection to its end. Without a server it ends at once, as it does
/// where nobody listens, and as it does beyond the bound of connections.
pub fn carry(connection: Connection) -> ExitCode {
    match carry_all(connection) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads what could be said: the socket is the guest's.
        Err(_) => ExitCode::FAILURE,
    }
}

fn carry_all(Connection { port, run }: Connection) -> io::Result<()> {
    let _counted = count(&run)?;
    let mut server = TcpStream::connect(&places(port)[..])?;
    server.set_nodelay(true)?;
    thread::spawn(end_with_the_guest);
    thread::spawn(move || {
        folder::wait_for_end(&run);
        std::process::exit(0);
    });
    let mut to_server = server.try_clone()?;
    let sending = thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut to_server);
        let _ = to_server.shutdown(net::Shutdown::Write);
    });
    // Not `Stdout`, which waits for ends of lines.
    let mut guest = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
    io::copy(&mut server, &mut guest)?;
    shutdown(io::stdout().as_raw_fd(), Shutdown::Write)?;
    let _ = sending.join();
    Ok(())
}

/// Loopback, of either version of IP.
fn places(port: u16) -> [SocketAddr; 2] {
    [
        (Ipv4Addr::LOCALHOST, port).into(),
        (Ipv6Addr::LOCALHOST, port).into(),
    ]
}

/// A file that counts this connection among the run's for as long as it is open. An error
/// if there are too many.
fn count(run: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true).mode(0o600);
    options.custom_flags(OFlag::O_NOFOLLOW.bits());
    let file = options.open(run.join(COUNTED))?;
    match (0..MOST).any(|place| is_free(&file, place)) {
        true => Ok(file),
        false => Err(io::ErrorKind::QuotaExceeded.into()),
    }
}

/// Whether nobody had this byte of the file locked; it is now.
fn is_free(file: &File, place: i64) -> bool {
    let lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: place as libc::off_t,
        l_len: 1,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLK(&lock)).is_ok()
}

/// Ends this process once QEMU has closed its end while something was on its way to it: a
/// server may never close its own.
fn end_with_the_guest() {
    let stdout = io::stdout();
    loop {
        let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
        match poll(&mut fds, PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            Err(_) | Ok(_) => std::process::exit(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_while_they_last() {
        let run = tempfile::tempdir().unwrap();
        let mut all: Vec<_> = (0..MOST).map(|_| count(run.path()).unwrap()).collect();
        assert!(count(run.path()).is_err());
        all.swap_remove(17);
        all.push(count(run.path()).unwrap());
        assert!(count(run.path()).is_err());
    }
}
