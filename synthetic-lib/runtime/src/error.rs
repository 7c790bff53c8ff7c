//! Errors between a library and the board.

use nix::errno::Errno;

/// A call that did not run, or whose answer cannot be used.
///
/// Every one is the guest's or the board's: the program gets its API's
/// documented error code and goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The board, or this session on it, is gone; every later call of the APIs that
    /// it served ends so.
    #[error("the board is gone, and all later calls fail; see what the board agent printed")]
    Lost,
    /// The host interface or the board would not run it.
    #[error("refused (status {status}): the arguments name what the board does not have")]
    Refused {
        /// The driver's status.
        status: u32,
    },
    /// The board has no back end for the call's API, or one of another release.
    #[error("the board does not serve this API: see what gil printed")]
    NotServed,
    /// There is no usable device.
    #[error("{path} cannot be used ({errno}): load gil.ko, and run inside a simulator with gil")]
    NotHere {
        /// The device's path.
        path: &'static str,
        /// The operating system's error.
        errno: Errno,
    },
    /// The driver speaks another version of the border.
    #[error(
        "gil.ko has border version {theirs}, this library {ours}: install both from one gil release"
    )]
    Version {
        /// This library's version.
        ours: u32,
        /// The driver's version.
        theirs: u32,
    },
    /// This process is a forked child of the one that opened the device.
    #[error(
        "a forked child cannot use its parent's GPU session: execute a program, or fork before the first GPU call"
    )]
    Forked,
    /// A bound of the border would be exceeded.
    #[error("the call needs {what} of {len}, more than {max}: split it")]
    Bounds {
        /// The bounded quantity.
        what: &'static str,
        /// The size that the call needs.
        len: usize,
        /// The bound.
        max: usize,
    },
    /// A pointer of the call names memory that is not accessible.
    #[error("the call names memory that is not accessible: check its pointers and sizes")]
    Fault,
    /// Its memory belongs to an operation that cannot end yet, and the caller
    /// would not wait for it.
    #[error("the call needs memory that an operation still uses: wait for that one's event first")]
    Unresolved,
    /// The driver would not take the submission.
    #[error("the driver did not take the call ({errno})")]
    Driver {
        /// The operating system's error.
        errno: Errno,
    },
    /// The answer does not decode.
    #[error("the answer does not decode ({0}): use the same gil release on both sides")]
    Answer(postcard::Error),
}

impl Error {
    /// Whether every later call of this API in this process fails too.
    pub const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Lost
                | Self::NotServed
                | Self::NotHere { .. }
                | Self::Version { .. }
                | Self::Forked
        )
    }

    /// An operating system's error of another driver, on whose memory a call depends.
    pub fn driver(error: &std::io::Error) -> Self {
        let errno = Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO));
        Self::Driver { errno }
    }

    /// What a failed submission means.
    pub(crate) fn of_submit(errno: Errno) -> Self {
        match errno {
            Errno::EPERM => Self::Forked,
            Errno::EFAULT => Self::Fault,
            Errno::ENODEV => Self::NotHere {
                path: crate::uapi::DEVICE_PATH,
                errno,
            },
            errno => Self::Driver { errno },
        }
    }
}
