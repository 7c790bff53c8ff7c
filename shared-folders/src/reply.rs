//! A reply to the guest's kernel, as `linux/fuse.h` has it.

use crate::request::{FEATURES, op};
use nix::errno::Errno;
use nix::unistd::{getegid, geteuid};

/// Bytes in front of what is an operation's own.
const HEADER: usize = 16;
/// Place of the error.
const ERROR: usize = 4;
/// Place of owner and group in attributes.
const OWNER: usize = 68;
/// Attributes behind the header, of a file that was looked up, and of one that is
/// known.
const ENTRY: usize = HEADER + 40;
const ATTRIBUTES: usize = HEADER + 16;

/// Of INIT's reply.
const FLAGS: usize = HEADER + 12;
const MOST_WRITTEN: usize = HEADER + 20;
const MOST_PAGES: usize = HEADER + 28;

/// Bytes of data in one request, at most.
pub const DATA_MAX: u32 = 1 << 20;

/// Who owns what belongs to nobody that the guest knows.
const NOBODY: u32 = 65534;

/// An answer that is only an error.
pub fn error(unique: [u8; 8], errno: i32) -> [u8; HEADER] {
    let mut reply = [0; HEADER];
    reply[..4].copy_from_slice(&(HEADER as u32).to_le_bytes());
    reply[ERROR..8].copy_from_slice(&(-errno).to_le_bytes());
    reply[8..].copy_from_slice(&unique);
    reply
}

/// Whether a reply is this error.
pub fn is_error(reply: &[u8], errno: Errno) -> bool {
    let code = -(errno as i32);
    reply.get(ERROR..8) == Some(&code.to_le_bytes()[..])
}

/// Brings the reply to an operation into the form that the guest sees.
pub fn adapt(opcode: u32, reply: &mut [u8]) {
    if reply.len() < HEADER || reply[ERROR..8] != [0; 4] {
        return;
    }
    match opcode {
        op::LOOKUP | op::SYMLINK | op::MKNOD | op::MKDIR | op::LINK | op::CREATE => {
            show_owner(reply, ENTRY + OWNER);
        }
        op::GETATTR | op::SETATTR => show_owner(reply, ATTRIBUTES + OWNER),
        op::INIT => agree(reply),
        _ => {}
    }
}

/// What is this user's is root's in the guest.
fn show_owner(reply: &mut [u8], at: usize) {
    let own = [geteuid().as_raw(), getegid().as_raw()];
    for (own, at) in own.into_iter().zip([at, at + 4]) {
        if let Some(id) = reply.get_mut(at..at + 4) {
            let is_own = *id == own.to_le_bytes();
            let shown = if is_own { 0 } else { NOBODY };
            id.copy_from_slice(&shown.to_le_bytes());
        }
    }
}

/// The features of FUSE that are used; `fuse-backend-rs` leaves them to who uses it.
fn agree(reply: &mut [u8]) {
    if reply.len() < MOST_PAGES + 2 {
        return;
    }
    reply[FLAGS..FLAGS + 4].copy_from_slice(&FEATURES.to_le_bytes());
    reply[MOST_WRITTEN..MOST_WRITTEN + 4].copy_from_slice(&DATA_MAX.to_le_bytes());
    let pages = (DATA_MAX / 4096) as u16;
    reply[MOST_PAGES..MOST_PAGES + 2].copy_from_slice(&pages.to_le_bytes());
}
