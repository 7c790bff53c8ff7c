//! What a gralloc says of the buffers that it allocates: the functions of
//! `include/gil_buffers.h`, which it calls in each process that has a buffer. The layout
//! goes to the board with the calls that need it.

use super::buffer::{Identity, Memory, is_possible};
use super::refusal::Refusal;
use crate::generated::types::EGL_BAD_PARAMETER;
use gil_gbm::buffer::{Layout, SIDE_MAX};
use gil_gbm::format::Format;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io::{Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most buffers that are described at a time.
const MOST: usize = 1 << 16;

static DESCRIBED: Mutex<BTreeMap<Identity, Layout>> = Mutex::new(BTreeMap::new());

fn described() -> MutexGuard<'static, BTreeMap<Identity, Layout>> {
    DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How the picture of a dma-buf lies, if a gralloc said so.
pub fn of(identity: Identity) -> Option<Layout> {
    described().get(&identity).copied()
}

/// What a function of C returns: 0, or a negative error of the operating system's.
fn status(ended: Result<(), Refusal>) -> c_int {
    let Err(refusal) = ended else {
        return 0;
    };
    let code = match &refusal {
        Refusal::Descriptor { .. } => libc::EBADF,
        Refusal::Format(_) => libc::EOPNOTSUPP,
        Refusal::Many(_) => libc::ENOSPC,
        _ => libc::EINVAL,
    };
    refusal.noted(EGL_BAD_PARAMETER);
    -code
}

/// A layout of which nothing is believed yet.
fn checked(
    (width, height): (u32, u32),
    (stride, offset): (u32, u32),
    format: u32,
) -> Result<Layout, Refusal> {
    let known = Format::of(format).filter(|format| format.is_drawn());
    let layout = Layout {
        width,
        height,
        format: known.ok_or(Refusal::Format(format))?,
        stride,
        offset,
    };
    match is_possible(&layout) {
        true => Ok(layout),
        false => Err(Refusal::Sides {
            width: width.into(),
            height: height.into(),
            stride: stride.into(),
            most: SIDE_MAX - 1,
        }),
    }
}

fn keep(fd: c_int, layout: Layout) -> Result<(), Refusal> {
    let mut memory = Memory::of(fd)?;
    let len = memory.file.seek(SeekFrom::End(0)).unwrap_or(0);
    let end = layout.end();
    if end > len {
        return Err(Refusal::Short { end, len });
    }
    let mut described = described();
    if described.len() >= MOST && !described.contains_key(&memory.identity) {
        return Err(Refusal::Many(MOST));
    }
    described.insert(memory.identity, layout);
    Ok(())
}

/// `gilDescribeBuffer`.
#[unsafe(export_name = "gil_gilDescribeBuffer")]
pub extern "C" fn describe(
    fd: c_int,
    width: u32,
    height: u32,
    stride: u32,
    offset: u32,
    format: u32,
) -> c_int {
    let layout = checked((width, height), (stride, offset), format);
    status(layout.and_then(|layout| keep(fd, layout)))
}

/// `gilForgetBuffer`.
#[unsafe(export_name = "gil_gilForgetBuffer")]
pub extern "C" fn forget(fd: c_int) -> c_int {
    status(Memory::of(fd).map(|memory| {
        described().remove(&memory.identity);
    }))
}

#[cfg(test)]
mod tests {
    use super::super::refusal;
    use super::*;
    use std::ffi::CStr;
    use std::os::fd::AsRawFd;

    const XB24: u32 = u32::from_le_bytes(*b"XB24");

    #[test]
    fn a_layout_is_checked_before_it_is_believed() {
        let layout = checked((64, 32), (256, 8), XB24).unwrap();
        assert_eq!((layout.end(), layout.format.bits), (8 + 32 * 256, 32));
        for (sides, strides, format) in [
            ((0, 32), (256, 0), XB24),
            ((64, SIDE_MAX), (256, 0), XB24),
            ((64, 32), (255, 0), XB24),
            ((u32::MAX, u32::MAX), (u32::MAX, u32::MAX), XB24),
            ((64, 32), (256, 0), 7),
        ] {
            assert!(checked(sides, strides, format).is_err(), "{sides:?}");
        }
    }

    #[test]
    fn what_is_no_dma_buf_is_refused_with_a_sentence() {
        let file = std::fs::File::open("/dev/null").unwrap();
        for fd in [file.as_raw_fd(), -1, 1 << 20] {
            assert_eq!(describe(fd, 64, 32, 256, 0, XB24), -libc::EBADF);
            assert_eq!(forget(fd), -libc::EBADF);
            // SAFETY: the text stays until the next refusal.
            let text = unsafe { CStr::from_ptr(refusal::last()) }.to_str().unwrap();
            assert!(text.starts_with(&format!("descriptor {fd} is no dma-buf")));
        }
        assert_eq!(describe(-1, 64, 32, 256, 0, 7), -libc::EOPNOTSUPP);
    }
}
