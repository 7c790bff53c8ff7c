//! Files attached to a message (`SCM_RIGHTS`).

use nix::cmsg_space;
use nix::sys::socket::{ControlMessageOwned, RecvMsg};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Most files that the kernel attaches to a message.
pub const MAX: usize = 253;

/// Room for all files of a message: of one that was truncated, those for which
/// there was room would stay open, and nobody would know their numbers.
pub fn space() -> Vec<u8> {
    cmsg_space!([RawFd; MAX])
}

/// Takes them out of a message, in order.
pub fn files<S>(message: &RecvMsg<'_, '_, S>) -> Vec<OwnedFd> {
    let mut files = Vec::new();
    for attached in message.cmsgs().into_iter().flatten() {
        if let ControlMessageOwned::ScmRights(numbers) = attached {
            // SAFETY: the kernel made these descriptors for this message, and
            // nobody else knows their numbers.
            let owned = |number| unsafe { OwnedFd::from_raw_fd(number) };
            files.extend(numbers.into_iter().map(owned));
        }
    }
    files
}
