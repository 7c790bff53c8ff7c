//! The device, behind a trait so that tests can replace the driver.

use crate::Error;
use crate::uapi::{self, Region};
use nix::errno::Errno;
use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

/// What the driver says of a submission that it handed to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A `STATUS_` number of [`uapi`].
    pub status: u32,
    /// Bytes of the answer.
    pub reply_len: usize,
    /// When the call ends, `CLOCK_MONOTONIC` nanoseconds.
    pub deadline_ns: u64,
    /// When the doorbell rang, `CLOCK_MONOTONIC` nanoseconds.
    pub now_ns: u64,
    /// The session's progress before the doorbell rang.
    pub progress: u64,
    /// A `WAIT_` number of [`uapi`].
    pub wait_kind: u32,
    /// `FLAG_` bits of [`uapi`].
    pub flags: u32,
}

/// One process's way to the board.
pub trait Device: Send + Sync {
    /// Hands a submission to the host, exactly once if it returns `Ok`.
    ///
    /// # Errors
    /// The driver's error; then the host saw nothing of it.
    fn submit(
        &self,
        request: &[u8],
        regions: &[Region],
        reply: &mut [u8],
    ) -> Result<Outcome, Errno>;

    /// Waits as `wait` says.
    ///
    /// # Errors
    /// `EINTR` if a signal came: calling it again with the same argument is
    /// right.
    fn wait(&self, wait: &uapi::Wait) -> Result<(), Errno>;

    /// Makes a dma-buf memory that regions name by its number: number and bytes.
    ///
    /// # Errors
    /// The driver's error.
    fn import(&self, buffer: BorrowedFd<'_>) -> Result<(u32, u64), Errno>;

    /// Pins memory of the program's; returns the import's number.
    ///
    /// # Errors
    /// The driver's error.
    fn pin(&self, place: *const c_void, len: usize) -> Result<u32, Errno>;

    /// Takes that number back.
    fn forget(&self, import: u32);

    /// Makes a sync file that signals at a time, `CLOCK_MONOTONIC` nanoseconds.
    ///
    /// # Errors
    /// The driver's error; `EINVAL` for more than [`uapi::FENCE_MAX_NS`] from now.
    fn fence(&self, deadline_ns: u64) -> Result<OwnedFd, Errno>;

    /// Called once in a forked child, where only async-signal-safe functions
    /// may be used.
    fn forked(&self);
}

/// `/dev/gil`, open.
#[derive(Debug)]
pub struct DeviceFile {
    // Never closed by a drop in a forked child: `forked` did that.
    file: OwnedFd,
}

impl DeviceFile {
    /// Opens the device and compares versions.
    ///
    /// # Errors
    /// [`Error::NotHere`] or [`Error::Version`].
    pub fn open() -> Result<Self, Error> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_CLOEXEC)
            .open(uapi::DEVICE_PATH)
            .map_err(|error| not_here(errno_of(&error)))?;
        let device = Self { file: file.into() };
        device.check_version()?;
        Ok(device)
    }

    fn check_version(&self) -> Result<(), Error> {
        let mut info = uapi::Info::default();
        // SAFETY: `info` has space for the structure that the ioctl writes.
        again(|| unsafe { uapi::ioc_info(self.fd(), &mut info) }).map_err(not_here)?;
        if info.abi_version == uapi::ABI_VERSION {
            return Ok(());
        }
        Err(Error::Version {
            ours: uapi::ABI_VERSION,
            theirs: info.abi_version,
        })
    }

    fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::ENODEV))
}

fn not_here(errno: Errno) -> Error {
    Error::NotHere {
        path: uapi::DEVICE_PATH,
        errno,
    }
}

/// Calls `f` until no signal interrupts it.
///
/// # Errors
/// Those of `f` but `EINTR`.
pub(crate) fn again<T>(mut f: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match f() {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

impl Device for DeviceFile {
    fn submit(
        &self,
        request: &[u8],
        regions: &[Region],
        reply: &mut [u8],
    ) -> Result<Outcome, Errno> {
        let mut submit = uapi::Submit {
            request: request.as_ptr() as usize as u64,
            reply: reply.as_mut_ptr() as usize as u64,
            regions: regions.as_ptr() as usize as u64,
            request_len: request.len() as u32,
            reply_cap: reply.len() as u32,
            region_count: regions.len() as u32,
            ..Default::default()
        };
        // SAFETY: the three addresses name slices that outlive the ioctl, and
        // the driver checks the regions' own addresses as it pins them.
        unsafe { uapi::ioc_submit(self.fd(), &mut submit) }?;
        Ok(Outcome {
            status: submit.status,
            reply_len: submit.reply_len as usize,
            deadline_ns: submit.deadline_ns,
            now_ns: submit.now_ns,
            progress: submit.progress,
            wait_kind: submit.wait_kind,
            flags: submit.flags,
        })
    }

    fn wait(&self, wait: &uapi::Wait) -> Result<(), Errno> {
        // SAFETY: the driver only reads the structure.
        unsafe { uapi::ioc_wait(self.fd(), wait) }.map(|_| ())
    }

    fn import(&self, buffer: BorrowedFd<'_>) -> Result<(u32, u64), Errno> {
        let mut arg = uapi::ImportArg {
            fd: buffer.as_raw_fd(),
            ..Default::default()
        };
        // SAFETY: the driver reads and writes the structure.
        again(|| unsafe { uapi::ioc_import(self.fd(), &mut arg) })?;
        Ok((arg.id, arg.len))
    }

    fn pin(&self, place: *const c_void, len: usize) -> Result<u32, Errno> {
        let mut arg = uapi::PinArg {
            addr: place.addr() as u64,
            len: len as u64,
            ..Default::default()
        };
        // SAFETY: the driver reads and writes the structure.
        again(|| unsafe { uapi::ioc_pin(self.fd(), &mut arg) })?;
        Ok(arg.id)
    }

    fn fence(&self, deadline_ns: u64) -> Result<OwnedFd, Errno> {
        let mut arg = uapi::FenceArg {
            deadline_ns,
            ..Default::default()
        };
        // SAFETY: the driver reads and writes the structure.
        again(|| unsafe { uapi::ioc_fence(self.fd(), &mut arg) })?;
        // SAFETY: it is open, and nobody else's.
        Ok(unsafe { OwnedFd::from_raw_fd(arg.fd) })
    }

    fn forget(&self, import: u32) {
        // SAFETY: it takes a number. What is not there cannot be forgotten.
        let _ = unsafe { uapi::ioc_forget(self.fd(), import as libc::c_int) };
    }

    fn forked(&self) {
        // SAFETY: close is async-signal-safe. The number is never used again:
        // the client of a forked child fails before it reaches its device.
        unsafe { libc::close(self.fd()) };
    }
}
