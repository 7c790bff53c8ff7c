//! The whole screen, by the kernel's frame buffer device. A window is a width and a height
//! (`struct fbdev_window`, as vendors' libraries for such systems have it), or none for all
//! of the screen.

use super::{Native, Place};
use crate::generated::types::*;
use gil_gbm::buffer::Layout;
use gil_gbm::format::Format;
use gil_guest::api::CallResult;
use memmap2::{MmapOptions, MmapRaw};
use std::ffi::{c_ulong, c_void};
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const DEVICE: &str = "/dev/fb0";

/// `FBIOGET_VSCREENINFO`, `FBIOGET_FSCREENINFO`, `FBIOPAN_DISPLAY` of `linux/fb.h`.
const GET_VARIABLE: c_ulong = 0x4600;
const GET_FIXED: c_ulong = 0x4602;
const PAN: c_ulong = 0x4606;

/// `struct fb_bitfield`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bits {
    offset: u32,
    length: u32,
    right: u32,
}

/// `struct fb_var_screeninfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Variable {
    width: u32,
    height: u32,
    virtual_width: u32,
    virtual_height: u32,
    x_offset: u32,
    y_offset: u32,
    bits: u32,
    grayscale: u32,
    red: Bits,
    green: Bits,
    blue: Bits,
    alpha: Bits,
    rest: [u32; 20],
}

/// `struct fb_fix_screeninfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Fixed {
    id: [u8; 16],
    memory: c_ulong,
    memory_len: u32,
    kind: u32,
    kind_aux: u32,
    visual: u32,
    x_pan: u16,
    y_pan: u16,
    y_wrap: u16,
    line_len: u32,
    registers: c_ulong,
    registers_len: u32,
    accelerator: u32,
    capabilities: u16,
    reserved: [u16; 2],
}

/// `struct fbdev_window`.
#[repr(C)]
struct FbdevWindow {
    width: u16,
    height: u16,
}

/// The device, open.
#[derive(Debug)]
struct Screen {
    file: File,
    fixed: Fixed,
    variable: Variable,
    format: Format,
}

impl Screen {
    fn open() -> Option<Self> {
        let file = File::options().read(true).write(true).open(DEVICE).ok()?;
        let (mut variable, mut fixed) = (Variable::default(), Fixed::default());
        // SAFETY: each has space for the structure that its request writes.
        let failed = unsafe {
            libc::ioctl(file.as_raw_fd(), GET_VARIABLE as _, &raw mut variable) < 0
                || libc::ioctl(file.as_raw_fd(), GET_FIXED as _, &raw mut fixed) < 0
        };
        let format = Format::of(code(&variable)?)?;
        (!failed).then_some(Self {
            file,
            fixed,
            variable,
            format,
        })
    }
}

/// The format's four-character code, if windows may have it.
fn code(variable: &Variable) -> Option<u32> {
    let offsets = [variable.red, variable.green, variable.blue].map(|it| (it.offset, it.length));
    let code = match (variable.bits, offsets) {
        (32, [(16, 8), (8, 8), (0, 8)]) => b"XR24",
        (32, [(0, 8), (8, 8), (16, 8)]) => b"XB24",
        (16, [(11, 5), (5, 6), (0, 5)]) => b"RG16",
        _ => return None,
    };
    Some(u32::from_le_bytes(*code))
}

/// Whether the device is there.
pub fn is_there() -> bool {
    Path::new(DEVICE).exists()
}

/// The screen's format.
pub fn format() -> Option<Format> {
    Screen::open().map(|screen| screen.format)
}

/// Most buffers, of which one is shown.
const BUFFERS: u32 = 2;

/// A window. The screen's memory has one picture, or several one below the other of which
/// one is shown.
#[derive(Debug)]
struct Window {
    screen: Screen,
    size: (u32, u32),
    memory: MmapRaw,
    buffers: u32,
    /// The buffer that is drawn to next.
    next: AtomicU32,
}

// SAFETY: the mapping is memory, which the board writes for whichever thread swaps.
unsafe impl Sync for Window {}

/// The window that the program describes.
///
/// # Errors
/// `EGL_BAD_NATIVE_WINDOW` if the screen has no such window.
pub fn window(native: usize) -> CallResult<Box<dyn Native>> {
    let screen = Screen::open().ok_or(EGL_BAD_NATIVE_WINDOW)?;
    let whole = (screen.variable.width, screen.variable.height);
    let wanted = match native {
        0 => whole,
        // SAFETY: the program's window, as vendors' headers have it.
        address => unsafe {
            let window = &*(address as *const FbdevWindow);
            (window.width.into(), window.height.into())
        },
    };
    let size = (wanted.0.min(whole.0), wanted.1.min(whole.1));
    if size.0 == 0 || size.1 == 0 {
        return Err(EGL_BAD_NATIVE_WINDOW);
    }
    let len = screen.fixed.memory_len as usize;
    let memory = MmapOptions::new().len(len).map_raw(&screen.file);
    let memory = memory.map_err(|_| EGL_BAD_ALLOC)?;
    let fits = len as u64 / (u64::from(whole.1) * u64::from(screen.fixed.line_len)).max(1);
    let pictures = u64::from(screen.variable.virtual_height / whole.1).min(fits);
    if pictures == 0 {
        return Err(EGL_BAD_NATIVE_WINDOW);
    }
    let buffers = BUFFERS.min(u32::try_from(pictures).unwrap_or(BUFFERS));
    Ok(Box::new(Window {
        screen,
        size,
        memory,
        buffers,
        next: AtomicU32::new(0),
    }))
}

impl Native for Window {
    /// There is one screen.
    fn identity(&self) -> usize {
        1
    }

    fn size(&self) -> (u32, u32) {
        self.size
    }

    fn format(&self) -> Format {
        self.screen.format
    }

    fn dequeue(&self) -> CallResult<usize> {
        Ok(self.next.load(Ordering::Relaxed) as usize)
    }

    fn target(&self, buffer: usize) -> CallResult<(Place, Layout)> {
        let row = buffer as u32 * self.screen.variable.height;
        let start: *mut c_void = self.memory.as_mut_ptr().cast();
        let layout = Layout {
            width: self.size.0,
            height: self.size.1,
            format: self.screen.format,
            stride: self.screen.fixed.line_len,
            offset: row * self.screen.fixed.line_len,
        };
        Ok((Place::Memory(start), layout))
    }

    fn queue(&self, buffer: usize, _: &[Range<u32>]) -> CallResult<()> {
        if self.buffers == 1 {
            return Ok(());
        }
        let mut shown = self.screen.variable;
        shown.y_offset = buffer as u32 * shown.height;
        // SAFETY: the kernel reads the structure.
        let panned = unsafe { libc::ioctl(self.screen.file.as_raw_fd(), PAN as _, &raw mut shown) };
        self.next
            .store((buffer as u32 + 1) % self.buffers, Ordering::Relaxed);
        match panned {
            0 => Ok(()),
            _ => Err(EGL_BAD_NATIVE_WINDOW),
        }
    }

    fn cancel(&self, _: usize) {}
}
