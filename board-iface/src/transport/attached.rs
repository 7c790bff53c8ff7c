//! Files that came attached to a message (`SCM_RIGHTS`).

use nix::sys::socket::{ControlMessageOwned, RecvMsg};
use std::os::fd::{FromRawFd, OwnedFd};

/// Takes them out of a message, in order.
pub fn files<S>(message: &RecvMsg<'_, '_, S>) -> Vec<OwnedFd> {
    let mut files = Vec::new();
    // Truncated if the peer attached more than there was room for: the kernel
    // closed those.
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
