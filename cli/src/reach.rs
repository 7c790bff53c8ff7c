//! One connection of the guest to a server on this machine's loopback (`--net host:PORT`).
//! QEMU starts this for each: what the guest sends comes on standard input, and what it
//! receives goes to standard output, which are one socket.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{Shutdown, shutdown};
use std::ffi::OsStr;
use std::io;
use std::net::{self, Ipv4Addr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::ExitCode;
use std::thread;

/// The name under which this program does it, in the run's folder.
pub const NAME: &str = "gil-reach";

/// The port, if that is what this process is for.
pub fn wanted() -> Option<u16> {
    let mut words = std::env::args_os();
    let name = words.next()?;
    let port = words.next()?;
    let is_it = Path::new(&name).file_name() == Some(OsStr::new(NAME));
    is_it.then(|| port.to_str()?.parse().ok()).flatten()
}

/// Carries the connection to its end. Without a server it ends at once, as it does
/// where nobody listens.
pub fn carry(port: u16) -> ExitCode {
    match carry_all(port) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads what could be said: the socket is the guest's.
        Err(_) => ExitCode::FAILURE,
    }
}

fn carry_all(port: u16) -> io::Result<()> {
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    server.set_nodelay(true)?;
    thread::spawn(end_with_the_guest);
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

/// Ends this process once QEMU has closed its end whole, or has itself ended: a server
/// may never close its own.
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
