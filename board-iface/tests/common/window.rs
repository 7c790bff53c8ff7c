//! A client's side of the window: files to offer, and offering them.

use super::Client;
use gil_transport::window::{CAPABILITY, MAPPED, WINDOW_LEN};
use gil_wire::address::Address;
use gil_wire::hello::{HELLO_LEN, Hello};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

pub fn memory(len: u64, seals: SealFlag) -> File {
    let file = File::from(memfd_create(c"test", MFdFlags::MFD_ALLOW_SEALING).unwrap());
    file.set_len(len).unwrap();
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals)).unwrap();
    file
}

pub fn sealed(len: u64) -> File {
    memory(len, SealFlag::F_SEAL_SHRINK)
}

/// Connects and offers a window; the agent's answer.
pub fn offer(address: &Address, file: Option<&File>, len: u64) -> (u8, Client) {
    let Address::Unix(path) = address else {
        panic!("{address} is no Unix socket");
    };
    let mut stream = UnixStream::connect(path).unwrap();
    let limit = Some(Duration::from_secs(60));
    stream.set_read_timeout(limit).unwrap();
    let ours = Hello::ours().with_capabilities(CAPABILITY);
    // In one go: the agent must not lose the file that comes right behind.
    stream.write_all(&ours.encode()).unwrap();
    let files: Vec<_> = file.iter().map(|file| file.as_raw_fd()).collect();
    let attached: Vec<_> = match files.is_empty() {
        true => vec![],
        false => vec![ControlMessage::ScmRights(&files)],
    };
    let bytes = len.to_le_bytes();
    let data = [IoSlice::new(&bytes)];
    sendmsg::<()>(
        stream.as_raw_fd(),
        &data,
        &attached,
        MsgFlags::empty(),
        None,
    )
    .unwrap();
    let mut hello = [0; HELLO_LEN];
    stream.read_exact(&mut hello).unwrap();
    assert_eq!(Hello::decode(&hello), Ok(ours));
    let mut answer = [9];
    stream.read_exact(&mut answer).unwrap();
    let mut client = Client::new(Box::new(stream));
    client.window = file
        .filter(|_| answer[0] == MAPPED)
        .map(|file| file.try_clone().unwrap());
    (answer[0], client)
}

/// A client with a window of the usual size.
pub fn client(address: &Address) -> Client {
    let (answer, client) = offer(address, Some(&sealed(WINDOW_LEN)), WINDOW_LEN);
    assert_eq!(answer, MAPPED);
    client
}
