//! The memory that a host on the same machine shares with this side.
//!
//! The host changes these bytes at any time, so there is never a Rust reference to
//! them. They are copied through raw pointers, or passed to a driver as data. The file
//! is checked before it is mapped, so that no access can fail: it must be the kernel's
//! temporary memory, sealed against shrinking, and long enough.

use super::{Bytes, KEPT_LEN, OFFER_LEN, WINDOW_LEN};
use crate::attached;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::socket::{MsgFlags, recvmsg};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Why an offered window is not used.
#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    /// The offer came through something that forwards bytes only.
    #[error("no file came with the offer of a window")]
    NoFile,
    /// A length out of bounds.
    #[error("a window of {0} bytes was offered: from 1 to {WINDOW_LEN} are accepted")]
    Length(u64),
    /// Not a plain memory file.
    #[error("the window's file is not the kernel's temporary memory: make it with memfd_create")]
    Kind,
    /// Its owner could take the memory away.
    #[error("the window's file is not sealed against shrinking (F_SEAL_SHRINK)")]
    Unsealed,
    /// It is shorter than the offer says.
    #[error("the window's file has {found} bytes, {offered} were offered")]
    Short {
        /// As offered.
        offered: u64,
        /// Of the file.
        found: u64,
    },
    /// The system's word.
    #[error("the window cannot be mapped: {0}")]
    System(#[from] io::Error),
}

/// An offer as it came.
#[derive(Debug)]
pub struct Offer {
    len: u64,
    file: Option<OwnedFd>,
}

impl Offer {
    /// Receives the rest of an offer: nothing of it may have been read.
    ///
    /// # Errors
    /// What the system says; `UnexpectedEof` at the connection's end.
    pub fn receive(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut bytes = [0; OFFER_LEN];
        let (mut have, mut file) = (0, None);
        while have < OFFER_LEN {
            let (count, came) = receive_some(socket, &mut bytes[have..])?;
            file = came.or(file);
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            have += count;
        }
        let len = u64::from_le_bytes(bytes);
        Ok(Self { len, file })
    }
}

/// Receives bytes and the last of the files attached to them.
fn receive_some(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = attached::space();
    let mut data = [IoSliceMut::new(bytes)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = loop {
        match recvmsg::<()>(socket.as_raw_fd(), &mut data, Some(&mut space), flags) {
            Err(Errno::EINTR) => {}
            other => break other?,
        }
    };
    let file = attached::files(&message).pop();
    Ok((message.bytes, file))
}

/// A window, mapped.
#[derive(Debug)]
pub struct Taken(Bytes);

impl Taken {
    /// Maps what was offered, if it is safe to.
    ///
    /// # Errors
    /// [`WindowError`]; the connection goes on without a window.
    pub fn map(offer: Offer) -> Result<Arc<Self>, WindowError> {
        let file = File::from(offer.file.ok_or(WindowError::NoFile)?);
        let offered = offer.len;
        if offered == 0 || offered > WINDOW_LEN {
            return Err(WindowError::Length(offered));
        }
        let of_system = |errno: Errno| WindowError::System(errno.into());
        // Files of huge pages can be sealed, and still fail when touched.
        if fstatfs(&file).map_err(of_system)?.filesystem_type() != TMPFS_MAGIC {
            return Err(WindowError::Kind);
        }
        let seals = fcntl(&file, FcntlArg::F_GET_SEALS).map_err(|_| WindowError::Unsealed)?;
        if !SealFlag::from_bits_truncate(seals).contains(SealFlag::F_SEAL_SHRINK) {
            return Err(WindowError::Unsealed);
        }
        // After the seal was seen: the file cannot become shorter now.
        let found = file.metadata()?.len();
        if found < offered {
            return Err(WindowError::Short { offered, found });
        }
        Ok(Arc::new(Self(Bytes::map(&file, offered)?)))
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some of the window, if it has that many bytes.
    pub fn part(self: &Arc<Self>, at: u64, len: usize) -> Option<Part> {
        self.0.address(at, len)?;
        Some(Part {
            window: self.clone(),
            at: at as usize,
            len,
        })
    }
}

/// The beginning of a window, whose pages stay.
#[derive(Clone, Debug)]
pub struct Kept {
    window: Arc<Taken>,
    /// Its bytes.
    pub len: usize,
    /// How many of them there are up to the end of the part that was asked.
    pub end: usize,
}

impl Kept {
    /// Where it is, as long as this or a clone of it lives.
    pub fn start(&self) -> *mut u8 {
        self.window.0.0.as_mut_ptr()
    }
}

/// Some bytes of a window, which stays mapped as long as this lives.
#[derive(Clone, Debug)]
pub struct Part {
    window: Arc<Taken>,
    at: usize,
    len: usize,
}

impl Part {
    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where they are: for drivers, never for a reference.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.window.0.0.as_mut_ptr().wrapping_add(self.at)
    }

    /// The window's bytes whose pages stay ([`KEPT_LEN`]), if the part lies within them.
    pub fn kept(&self) -> Option<Kept> {
        let len = KEPT_LEN.min(self.window.len()) as usize;
        let end = self.at + self.len;
        (end <= len).then(|| Kept {
            window: self.window.clone(),
            len,
            end,
        })
    }

    /// Appends a copy of the bytes to `out`, which has room for them.
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        out.reserve(self.len);
        // SAFETY: the part lies within the mapping (checked when it was made);
        // the vector has room for its bytes, is no part of it, and has them
        // initialised by the copy.
        unsafe {
            let end = out.spare_capacity_mut().as_mut_ptr().cast();
            std::ptr::copy_nonoverlapping(self.as_mut_ptr().cast_const(), end, self.len);
            out.set_len(out.len() + self.len);
        }
    }

    /// Copies `bytes` to the part's beginning.
    ///
    /// # Panics
    /// If they are more than it has.
    pub fn put(&self, bytes: &[u8]) {
        assert!(bytes.len() <= self.len, "more bytes than the part has");
        // SAFETY: the part lies within the mapping and has as many bytes;
        // `bytes` is a Rust slice, so no part of it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.as_mut_ptr(), bytes.len()) };
    }
}
