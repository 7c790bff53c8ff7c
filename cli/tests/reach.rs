//! The process that carries a connection of a guest to a server on loopback
//! (`--net host:PORT`), without a guest.

use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Two ends of a TCP connection, as QEMU has one to such a process.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// Carries a connection to this port, in this folder of a run; the guest's end.
fn carry(run: &Path, port: u16) -> (Child, TcpStream) {
    let name = run.join("gil-reach");
    if !name.exists() {
        symlink(env!("CARGO_BIN_EXE_gil"), &name).unwrap();
    }
    let (guest, end) = pair();
    let input = OwnedFd::from(end.try_clone().unwrap());
    let mut command = Command::new(name);
    command.arg(port.to_string());
    command
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(OwnedFd::from(end)));
    (command.spawn().unwrap(), guest)
}

/// A folder of a run that goes on until the file is closed.
fn run() -> (tempfile::TempDir, Flock<File>) {
    let folder = tempfile::tempdir().unwrap();
    let lock = File::create(folder.path().join("lock")).unwrap();
    let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno);
    (folder, lock.unwrap())
}

fn ends(child: &mut Child) -> bool {
    for _ in 0..3000 {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    false
}

/// A server that neither sends nor closes anything does not keep it.
#[test]
fn it_ends_with_the_run_whatever_the_server_does() {
    let (folder, lock) = run();
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    let (mut child, mut guest) = carry(folder.path(), port);
    guest.write_all(b"question").unwrap();
    let (mut accepted, _) = server.accept().unwrap();
    let mut question = [0; 8];
    accepted.read_exact(&mut question).unwrap();
    // QEMU is gone, and so is the run.
    drop((guest, lock));
    assert!(ends(&mut child), "it goes on");
}

#[test]
fn a_half_closed_connection_goes_on() {
    let (folder, _lock) = run();
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    let (mut child, mut guest) = carry(folder.path(), port);
    guest.shutdown(std::net::Shutdown::Write).unwrap();
    let (mut accepted, _) = server.accept().unwrap();
    assert_eq!(accepted.read(&mut [0; 1]).unwrap(), 0);
    accepted.write_all(b"answer").unwrap();
    drop(accepted);
    let mut answer = String::new();
    guest.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "answer");
    assert!(ends(&mut child), "it goes on");
}

#[test]
fn a_server_on_ipv6_is_reached() {
    let (folder, _lock) = run();
    let Ok(server) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return gil_need::skip("IPv6 on loopback", "the kernel has it not enabled");
    };
    let port = server.local_addr().unwrap().port();
    let (mut child, mut guest) = carry(folder.path(), port);
    let (mut accepted, _) = server.accept().unwrap();
    accepted.write_all(b"six").unwrap();
    drop(accepted);
    let mut answer = String::new();
    guest.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "six");
    drop(guest);
    assert!(ends(&mut child), "it goes on");
}
