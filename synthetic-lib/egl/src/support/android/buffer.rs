//! Buffers: their memory, and how their pictures lie there.

use super::abi::{self, Buffer};
use super::described;
use super::refusal::Refusal;
use gil_gbm::buffer::{Layout, SIDE_MAX};
use gil_gbm::format::Format;
use gil_guest::Import;
use nix::sys::statfs::fstatfs;
use std::ffi::c_int;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;

/// The formats that are drawn, as Android numbers them (`HAL_PIXEL_FORMAT_…` of
/// `system/graphics.h`) and by their four-character codes, the preferred of equal ones first.
const FORMATS: [(c_int, [u8; 4]); 4] = [(1, *b"AB24"), (2, *b"XB24"), (4, *b"RG16"), (5, *b"AR24")];

/// The file system of dma-bufs: `DMA_BUF_MAGIC` of `linux/magic.h`.
const DMA_BUF_MAGIC: u32 = u32::from_be_bytes(*b"DMAB");

/// The format that Android has by this number.
pub fn format(number: c_int) -> Option<Format> {
    let (_, code) = FORMATS.iter().find(|(hal, _)| *hal == number)?;
    Format::of(u32::from_le_bytes(*code))
}

/// The first of Android's formats with these bits of red, green, blue and alpha.
pub fn format_of_bits(channels: [u32; 4]) -> Option<Format> {
    let mut formats = FORMATS.iter().filter_map(|(hal, _)| format(*hal));
    formats.find(|format| format.channels == channels)
}

/// Android's number of a format; 0 if it has none.
pub fn number(wanted: Format) -> c_int {
    let found = FORMATS.iter().find(|(hal, _)| format(*hal) == Some(wanted));
    found.map_or(0, |(hal, _)| *hal)
}

/// Which dma-buf it is: the kernel numbers them, and uses no number again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity(u64);

/// A dma-buf.
#[derive(Debug)]
pub struct Memory {
    /// The program's number of it, for messages.
    fd: c_int,
    /// The same, open here.
    pub file: File,
    /// Which it is.
    pub identity: Identity,
}

impl Memory {
    /// That of a descriptor.
    ///
    /// # Errors
    /// [`Refusal::Descriptor`] if it is none.
    pub fn of(fd: c_int) -> Result<Self, Refusal> {
        Self::open(fd).ok_or(Refusal::Descriptor { fd })
    }

    fn open(fd: c_int) -> Option<Self> {
        if fd < 0 {
            return None;
        }
        // SAFETY: it is copied at once; the kernel finds whether it is open.
        let copy = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned();
        let file = File::from(copy.ok()?);
        let system = fstatfs(file.as_fd()).ok()?.filesystem_type().0;
        let identity = Identity(file.metadata().ok()?.ino());
        let is_dma_buf = system as u32 == DMA_BUF_MAGIC;
        is_dma_buf.then_some(Self { fd, file, identity })
    }
}

/// A buffer's memory, and how its picture lies there.
#[derive(Debug)]
pub struct Found {
    /// The memory.
    pub memory: Memory,
    /// The picture.
    pub layout: Layout,
}

/// What a buffer at an address is: as a gralloc described one of its dma-bufs, or else as
/// the buffer says of its first.
///
/// # Errors
/// [`Refusal`] if it is none that can be used.
///
/// # Safety
/// The address is null, or readable; so is the buffer's handle.
pub unsafe fn find(address: usize) -> Result<Found, Refusal> {
    // SAFETY: the caller's.
    let (buffer, fds) = unsafe {
        let buffer = abi::buffer(address)?;
        (buffer, buffer.descriptors()?)
    };
    let described = |fd: &c_int| {
        let memory = Memory::of(*fd).ok()?;
        let layout = described::of(memory.identity)?;
        Some(Found { memory, layout })
    };
    match fds.iter().find_map(described) {
        Some(found) => Ok(found),
        None => Ok(Found {
            memory: Memory::of(fds[0])?,
            layout: layout(buffer)?,
        }),
    }
}

/// How the picture lies, as the buffer says it.
fn layout(buffer: &Buffer) -> Result<Layout, Refusal> {
    let format = format(buffer.format).ok_or(Refusal::Format(buffer.format.cast_unsigned()))?;
    let sides = [buffer.width, buffer.height, buffer.stride].map(u32::try_from);
    let [Ok(width), Ok(height), Ok(stride)] = sides else {
        return Err(sides_of(buffer));
    };
    let stride = stride.checked_mul(format.bits / 8);
    let layout = stride.map(|stride| Layout {
        width,
        height,
        format,
        stride,
        offset: 0,
    });
    layout.filter(is_possible).ok_or_else(|| sides_of(buffer))
}

fn sides_of(buffer: &Buffer) -> Refusal {
    Refusal::Sides {
        width: buffer.width.into(),
        height: buffer.height.into(),
        stride: buffer.stride.into(),
        most: SIDE_MAX - 1,
    }
}

/// Whether a picture can lie so: its sides are bounded, and its rows do not overlap.
pub fn is_possible(layout: &Layout) -> bool {
    let sides = [layout.width, layout.height];
    let is_bounded = sides.iter().all(|side| (1..SIDE_MAX).contains(side));
    is_bounded && layout.stride >= layout.width * (layout.format.bits / 8)
}

impl Found {
    /// The memory, as calls name it.
    ///
    /// # Errors
    /// [`Refusal`] if gil's driver does not take it, or the picture does not fit.
    pub fn import(&self) -> Result<Import, Refusal> {
        let import = Import::new(self.memory.file.as_fd());
        let import = import.map_err(|error| Refusal::Memory {
            fd: self.memory.fd,
            error,
        })?;
        let (end, len) = (self.layout.end(), import.len());
        match end <= len {
            true => Ok(import),
            false => Err(Refusal::Short { end, len }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_has_the_format_that_android_draws_it_to() {
        for (channels, wanted) in [([8, 8, 8, 8], 1), ([8, 8, 8, 0], 2), ([5, 6, 5, 0], 4)] {
            let found = format_of_bits(channels).unwrap();
            assert_eq!((number(found), format(wanted)), (wanted, Some(found)));
        }
        assert_eq!(format_of_bits([10, 10, 10, 2]), None);
        // HAL_PIXEL_FORMAT_IMPLEMENTATION_DEFINED, and RGB_888.
        assert_eq!([format(0x22), format(3)], [None; 2]);
    }
}
