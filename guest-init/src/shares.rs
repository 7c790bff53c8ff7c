//! Folders of the host in the guest: a FUSE file system each, whose requests a thread
//! passes to `gil run`. They take no simulated time but the guest's own.

use crate::config::Share;
use crate::{Error, system};
use gil_guest::Client;
use gil_wire::control::{Channel, Exchanged};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::sys::wait::{WaitPidFlag, waitpid};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The kernel's module, if the run needs it.
const MODULE: &str = "/usr/lib/gil/fuse.ko";
const DEVICE: &str = "/dev/fuse";

/// Bytes of a request in front of what is an operation's own.
const HEADER: usize = 40;
/// The kernel asks for this much beside the data that it writes at once.
const REQUEST_MAX: usize = (1 << 20) + 4096;
/// Bytes of the buffer for replies that contain no data: names and attributes.
const PLAIN_REPLY: usize = 8192;
/// Bytes of a reply in front of data.
const REPLY_HEADER: usize = 16;
/// Most data of one reply.
const DATA_MAX: usize = 1 << 20;

/// Operations, by their numbers in `linux/fuse.h`.
mod op {
    pub const FORGET: u32 = 2;
    pub const READ: u32 = 15;
    pub const READDIR: u32 = 28;
    pub const INTERRUPT: u32 = 36;
    pub const BATCH_FORGET: u32 = 42;
}

/// How often, and after which time, a file system is tried that processes which
/// were killed have not left yet.
const ATTEMPTS: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(1);

/// Folders that are mounted. On the host, the order of all that a run mounts
/// numbers them.
#[derive(Debug, Default)]
pub struct Shares(Vec<PathBuf>);

impl Shares {
    /// Mounts folders, the first one of which has this number.
    ///
    /// # Errors
    /// [`Error`] names the folder.
    pub fn mount(first: usize, shares: &[Share]) -> Result<Self, Error> {
        let mut mounted = Self::default();
        if shares.is_empty() {
            return Ok(mounted);
        }
        if !Path::new(DEVICE).exists() {
            system::load_module(MODULE.as_ref())?;
        }
        let client = gil_guest::client()?;
        for (number, share) in (first..).zip(shares) {
            mount_one(number as u8, share, client)?;
            mounted.0.push(share.at.clone());
        }
        Ok(mounted)
    }

    /// Unmounts them: what programs wrote is on the host then.
    ///
    /// # Errors
    /// [`Error::Share`].
    pub fn unmount(self) -> Result<(), Error> {
        // What was mounted in another one goes first.
        let failed = |at| move |errno| Error::Share { at, errno };
        self.0
            .into_iter()
            .rev()
            .try_for_each(|at| unmount(&at).map_err(failed(at)))
    }
}

fn mount_one(number: u8, share: &Share, client: &'static Client) -> Result<(), Error> {
    let at = &share.at;
    let failed = |errno| Error::Share {
        at: at.clone(),
        errno,
    };
    let failed_io =
        |error: io::Error| failed(Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)));
    fs::create_dir_all(at).map_err(failed_io)?;
    let device = File::options().read(true).write(true).open(DEVICE);
    let device = device.map_err(failed_io)?;
    let options = format!(
        "fd={},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions",
        device.as_raw_fd()
    );
    let mut flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    if share.read_only {
        flags |= MsFlags::MS_RDONLY;
    }
    let (name, kind) = (Some("gil"), Some("fuse"));
    mount(name, at, kind, flags, Some(options.as_str())).map_err(failed)?;
    quiet_thread(move || pass_on(&device, number, client)).map_err(failed_io)
}

/// Starts a thread that takes no signals: they are init's.
fn quiet_thread(body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let spawned = std::thread::Builder::new().spawn(body);
    before.thread_set_mask()?;
    spawned.map(drop)
}

/// Passes on the kernel's requests until the file system is unmounted.
fn pass_on(mut device: &File, number: u8, client: &Client) {
    let mut message = vec![0; 1 + REQUEST_MAX];
    let mut reply = vec![0; REPLY_HEADER + DATA_MAX];
    message[0] = number;
    loop {
        let len = match device.read(&mut message[1..]) {
            Ok(len) => len,
            Err(error) if is_passing(&error) => continue,
            Err(_) => return,
        };
        let message = &message[..=len];
        let room = &mut reply[..room_for(&message[1..])];
        let len = match client.exchange(Channel::Files, message, room) {
            Ok(Exchanged::Answered { len }) => len as usize,
            Ok(_) | Err(_) => refuse(&message[1..], room),
        };
        // Nobody waits for it any more if that fails.
        if len > 0 {
            let _ = device.write(&room[..len]);
        }
    }
}

/// A signal came, or whoever asked is gone.
fn is_passing(error: &io::Error) -> bool {
    let errno = error.raw_os_error();
    [libc::EINTR, libc::EAGAIN, libc::ENOENT]
        .map(Some)
        .contains(&errno)
}

fn word(request: &[u8], at: usize) -> u32 {
    let bytes = request
        .get(at..at + 4)
        .and_then(|word| word.try_into().ok());
    bytes.map_or(0, u32::from_le_bytes)
}

/// Bytes that the reply may have: its pages are named to the host one by one.
fn room_for(request: &[u8]) -> usize {
    match word(request, 4) {
        op::READ | op::READDIR => {
            let len = word(request, HEADER + 16) as usize;
            REPLY_HEADER + len.min(DATA_MAX)
        }
        _ => PLAIN_REPLY,
    }
}

/// Nobody serves the folder any more: an error, unless the request has no reply;
/// its length.
fn refuse(request: &[u8], reply: &mut [u8]) -> usize {
    let opcode = word(request, 4);
    if [op::FORGET, op::BATCH_FORGET, op::INTERRUPT].contains(&opcode) {
        return 0;
    }
    let unique = request.get(8..16).unwrap_or(&[0; 8]);
    reply[..4].copy_from_slice(&(REPLY_HEADER as u32).to_le_bytes());
    reply[4..8].copy_from_slice(&(-libc::EIO).to_le_bytes());
    reply[8..REPLY_HEADER].copy_from_slice(unique);
    REPLY_HEADER
}

fn unmount(at: &Path) -> Result<(), Errno> {
    for _ in 0..ATTEMPTS {
        match umount2(at, MntFlags::empty()) {
            Err(Errno::EBUSY) => {}
            other => return other,
        }
        // Processes that were killed, and hold files there, end.
        let _ = waitpid(None, Some(WaitPidFlag::WNOHANG));
        std::thread::sleep(PAUSE);
    }
    Err(Errno::EBUSY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(opcode: u32, size: u32) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + 24];
        bytes[4..8].copy_from_slice(&opcode.to_le_bytes());
        bytes[8..16].copy_from_slice(&[9; 8]);
        bytes[HEADER + 16..HEADER + 20].copy_from_slice(&size.to_le_bytes());
        bytes
    }

    #[test]
    fn a_reply_has_room_for_the_data_that_is_asked_for() {
        assert_eq!(room_for(&request(op::READ, 4096)), 4112);
        assert_eq!(room_for(&request(op::READDIR, u32::MAX)), DATA_MAX + 16);
        assert_eq!(room_for(&request(3, 4096)), PLAIN_REPLY);
        assert_eq!(room_for(&[]), PLAIN_REPLY);
    }

    #[test]
    fn what_nobody_answers_is_an_error_of_input_and_output() {
        let mut reply = [0; 16];
        assert_eq!(refuse(&request(op::READ, 1), &mut reply), 16);
        assert_eq!(reply[..8], [16, 0, 0, 0, 0xfb, 0xff, 0xff, 0xff]);
        assert_eq!(reply[8..], [9; 8]);
        assert_eq!(refuse(&request(op::FORGET, 1), &mut reply), 0);
    }
}
