//! Buffers of a display driver, in the guest's RAM.

use crate::device::{Device, Handle};
use crate::format::Format;
use crate::virtio::{self, Made};
use gil_guest::Import;
use memmap2::{MmapMut, MmapOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A buffer's width and height are less: the product of any two fits.
pub const SIDE_MAX: u32 = 1 << 15;

/// Where a buffer comes from.
#[derive(Debug)]
enum Origin {
    /// A dumb buffer, made here.
    Dumb,
    /// A render node's, made here.
    Rendered,
    /// Another's, by its dma-buf.
    Imported,
}

/// How a picture lies in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Of a pixel.
    pub format: Format,
    /// Bytes from a row to the next.
    pub stride: u32,
    /// The first pixel's byte.
    pub offset: u32,
}

impl Layout {
    /// Bytes of a row's pixels.
    fn row(&self) -> u64 {
        u64::from(self.width) * u64::from(self.format.bits / 8)
    }

    /// Bytes up to the last row's end.
    pub fn end(&self) -> u64 {
        let rows = u64::from(self.height.max(1)) - 1;
        u64::from(self.offset) + rows * u64::from(self.stride) + self.row()
    }

    /// Whether rows lie over each other.
    pub fn overlaps(&self) -> bool {
        self.height > 1 && u64::from(self.stride) < self.row()
    }
}

/// A buffer.
#[derive(Debug)]
pub struct Buffer {
    handle: Handle,
    origin: Origin,
    /// How its picture lies.
    pub layout: Layout,
    /// Bytes of its memory, as far as it is known.
    size: u64,
    import: OnceLock<Result<Arc<Import>, gil_guest::Error>>,
    mapped: Mutex<Option<MmapMut>>,
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

impl Buffer {
    /// A new one.
    ///
    /// # Errors
    /// `EINVAL` for sizes out of bounds, and the display driver's.
    pub fn create(
        device: &Arc<Device>,
        (width, height): (u32, u32),
        format: Format,
    ) -> io::Result<Self> {
        if [width, height]
            .iter()
            .any(|side| !(1..SIDE_MAX).contains(side))
        {
            return Err(invalid());
        }
        let (origin, made) = memory(device.fd(), (width, height), format.bits)?;
        Ok(Self {
            handle: device.handle(|_| Ok(made.handle))?,
            origin,
            layout: Layout {
                width,
                height,
                format,
                stride: made.pitch,
                offset: 0,
            },
            size: made.size,
            import: OnceLock::new(),
            mapped: Mutex::default(),
        })
    }

    /// Another's, by its dma-buf.
    ///
    /// # Errors
    /// `EINVAL` for a layout beyond the memory, and the display driver's.
    pub fn import(
        device: &Arc<Device>,
        buffer: BorrowedFd<'_>,
        layout: Layout,
    ) -> io::Result<Self> {
        let sides = [layout.width, layout.height];
        let size = length(buffer)?;
        if sides.iter().any(|side| !(1..SIDE_MAX).contains(side)) || layout.end() > size {
            return Err(invalid());
        }
        let find = |fd: BorrowedFd<'_>| {
            let found = drm_ffi::gem::fd_to_handle(fd, buffer)?;
            Ok(found.handle)
        };
        Ok(Self {
            handle: device.handle(find)?,
            origin: Origin::Imported,
            layout,
            size,
            import: OnceLock::new(),
            mapped: Mutex::default(),
        })
    }

    /// The display driver's number of it.
    pub fn handle(&self) -> u32 {
        self.handle.number()
    }

    /// Its dma-buf.
    ///
    /// # Errors
    /// The display driver's.
    pub fn export(&self) -> io::Result<OwnedFd> {
        let flags = libc::O_CLOEXEC | libc::O_RDWR;
        let (fd, handle) = (self.handle.device().fd(), self.handle());
        let found = drm_ffi::gem::handle_to_fd(fd, handle, flags.unsigned_abs())?;
        // SAFETY: the driver made it for this call.
        Ok(unsafe { OwnedFd::from_raw_fd(found.fd) })
    }

    /// The number by which calls name it; made at the first use.
    ///
    /// # Errors
    /// [`gil_guest::Error`].
    pub fn import_once(&self) -> Result<&Arc<Import>, gil_guest::Error> {
        let import = self.import.get_or_init(|| {
            let exported = self.export();
            let exported = exported.map_err(|error| gil_guest::Error::driver(&error))?;
            let import = Import::new(exported.as_fd())?;
            if import.len() < self.layout.end() {
                return Err(gil_guest::Error::driver(&invalid()));
            }
            Ok(Arc::new(import))
        });
        import.as_ref().map_err(Clone::clone)
    }

    /// Works on its bytes through a mapping, which stays until [`unmap`](Self::unmap).
    ///
    /// # Errors
    /// The display driver's.
    pub fn map<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> io::Result<T> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let mapping = match &mut *mapped {
            Some(mapping) => mapping,
            none => none.insert(self.mapping()?),
        };
        Ok(work(mapping))
    }

    fn mapping(&self) -> io::Result<MmapMut> {
        let len = usize::try_from(self.size).map_err(|_| invalid())?;
        let mut options = MmapOptions::new();
        options.len(len);
        match self.origin {
            Origin::Dumb => {
                let fd = self.handle.device().fd();
                let place = drm_ffi::mode::dumbbuffer::map(fd, self.handle(), 0, 0)?;
                // SAFETY: what other processes and the board write there, they write at
                // times that the program chose; here it is bytes only.
                unsafe { options.offset(place.offset).map_mut(&fd) }
            }
            // SAFETY: the same.
            Origin::Rendered | Origin::Imported => unsafe { options.map_mut(&self.export()?) },
        }
    }

    /// Ends the mapping.
    pub fn unmap(&self) {
        *self.mapped.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Memory for a picture. Of a driver that has pixels of 32 bits only, it is that of fewer
/// pixels with as many bytes: a display does not show it, but it can be an image.
fn memory(
    device: BorrowedFd<'_>,
    (width, height): (u32, u32),
    bits: u32,
) -> io::Result<(Origin, Made)> {
    const WORD: u32 = 32;
    let words = (width * bits).div_ceil(WORD);
    let made = dumb(device, (width, height), bits);
    let made = made.or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) if bits < WORD => dumb(device, (words, height), WORD),
        _ => Err(error),
    });
    match made {
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            let made = virtio::create(device, words, height)?;
            Ok((Origin::Rendered, made))
        }
        made => Ok((Origin::Dumb, made?)),
    }
}

fn dumb(device: BorrowedFd<'_>, (width, height): (u32, u32), bits: u32) -> io::Result<Made> {
    let made = drm_ffi::mode::dumbbuffer::create(device, width, height, bits, 0)?;
    Ok(Made {
        handle: made.handle,
        pitch: made.pitch,
        size: made.size,
    })
}

/// Bytes of a dma-buf.
fn length(buffer: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: it moves the position of a descriptor that is the caller's.
    let end = unsafe { libc::lseek64(buffer.as_raw_fd(), 0, libc::SEEK_END) };
    u64::try_from(end).map_err(|_| io::Error::last_os_error())
}
