//! What has windows: where a program's native displays and windows come from.

use super::android::buffer;
use super::native::{Native, android, fbdev, gbm, wayland, x11};
use crate::generated::types::*;
use gil_gbm::format::{DRAWN, Format};
use gil_guest::api::CallResult;
use std::ffi::c_void;

/// `EGL_DEFAULT_DISPLAY`'s platform, where no window system is.
pub const DEFAULT: EGLenum = 0;

/// Whose windows a display has.
#[derive(Debug, Default)]
pub enum Platform {
    /// Nobody's.
    #[default]
    None,
    /// Surfaces of libgbm.
    Gbm,
    /// The whole screen, by `/dev/fb0`.
    Fbdev,
    /// An X server's.
    X11(x11::Display),
    /// A Wayland compositor's.
    Wayland(wayland::Display),
    /// Android's.
    Android,
}

/// The platform of a native display of which the program says no more, as EGL names it.
///
/// As Mesa does: what the variable `EGL_PLATFORM` says, else by what the display is, else
/// by the window system that the environment names.
///
/// # Safety
/// `native` is null, or the address of what the program's window system calls a display.
pub unsafe fn of_native(native: usize) -> EGLenum {
    let named = std::env::var("EGL_PLATFORM").ok();
    match named.as_deref() {
        _ if cfg!(target_os = "android") => return EGL_PLATFORM_ANDROID_KHR,
        Some("surfaceless") if native == 0 => return EGL_PLATFORM_SURFACELESS_MESA,
        Some("android") if native == 0 => return EGL_PLATFORM_ANDROID_KHR,
        Some("x11") => return EGL_PLATFORM_X11_KHR,
        Some("wayland") if native != 0 => return EGL_PLATFORM_WAYLAND_KHR,
        _ => {}
    }
    if gil_gbm::is_device(native as *const c_void) {
        return EGL_PLATFORM_GBM_KHR;
    }
    // SAFETY: the caller's.
    if unsafe { wayland::is_display(native) } {
        return EGL_PLATFORM_WAYLAND_KHR;
    }
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match native != 0 || is_set("DISPLAY") {
        true => EGL_PLATFORM_X11_KHR,
        false => DEFAULT,
    }
}

impl Platform {
    /// The windows of a native display; `None` if there is no such platform, or the display
    /// is not its own.
    pub fn new(platform: EGLenum, native: usize) -> Option<Self> {
        match platform {
            DEFAULT if fbdev::is_there() => Some(Self::Fbdev),
            DEFAULT | EGL_PLATFORM_SURFACELESS_MESA => Some(Self::None),
            EGL_PLATFORM_GBM_KHR => {
                let is_ours = match native {
                    0 => gbm::is_there(),
                    device => gil_gbm::is_device(device as *const c_void),
                };
                is_ours.then_some(Self::Gbm)
            }
            EGL_PLATFORM_WAYLAND_KHR => Some(Self::Wayland(wayland::Display::new(native))),
            EGL_PLATFORM_ANDROID_KHR if native == 0 => Some(Self::Android),
            EGL_PLATFORM_X11_KHR => Some(Self::X11(x11::Display::of_xlib(native))),
            EGL_PLATFORM_XCB_EXT => Some(Self::X11(x11::Display::of_xcb(native))),
            _ => None,
        }
    }

    /// Connects to the window system, if there is one.
    ///
    /// # Errors
    /// `EGL_NOT_INITIALIZED` if it is not there.
    pub fn connect(&self) -> CallResult<()> {
        match self {
            Self::X11(display) => display.server().map(drop).ok_or(EGL_NOT_INITIALIZED),
            Self::Wayland(display) => display.server().map(drop).ok_or(EGL_NOT_INITIALIZED),
            _ => Ok(()),
        }
    }

    /// Whether there are windows.
    pub fn has_windows(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// The format of windows that a configuration with these bits of red, green, blue and
    /// alpha draws to.
    pub fn format(&self, channels: [EGLint; 4]) -> Option<Format> {
        if let Self::Android = self {
            return buffer::format_of_bits(channels.map(EGLint::cast_unsigned));
        }
        let is_it = |format: &&Format| format.channels.map(u32::cast_signed) == channels;
        let format = *DRAWN.iter().find(is_it)?;
        let is_shown = match self {
            Self::None | Self::Android => false,
            Self::Gbm => true,
            Self::Fbdev => fbdev::format().is_some_and(|shown| shown.is_drawn_as(format)),
            Self::X11(display) => display.visual(format).is_some(),
            Self::Wayland(_) => wayland::shm_format(format).is_some(),
        };
        is_shown.then_some(format)
    }

    /// `EGL_NATIVE_VISUAL_ID` of such a configuration: libgbm's are the format's code,
    /// Android's its own number of it.
    pub fn visual(&self, format: Format) -> EGLint {
        match self {
            Self::None | Self::Fbdev | Self::Wayland(_) => 0,
            Self::Gbm => format.code.cast_signed(),
            Self::X11(display) => display.visual(format).unwrap_or(0).cast_signed(),
            Self::Android => buffer::number(format),
        }
    }

    /// What a program means by a native window that it hands to
    /// `eglCreatePlatformWindowSurface`: X11's is the address of the window's number.
    ///
    /// # Safety
    /// `native` is what the platform's extension asks for: EGL_EXT_platform_x11, _xcb.
    pub unsafe fn handed(&self, native: *mut c_void) -> usize {
        match self {
            // SAFETY: the caller's.
            Self::X11(display) if !native.is_null() => unsafe { display.number_at(native) },
            _ => native as usize,
        }
    }

    /// A native window, of which a configuration draws `drawn`.
    ///
    /// # Errors
    /// `EGL_BAD_NATIVE_WINDOW` if it is none.
    pub fn window(&self, native: usize, drawn: Format) -> CallResult<Box<dyn Native>> {
        match self {
            Self::None => Err(EGL_BAD_NATIVE_WINDOW),
            Self::Gbm => gbm::window(native),
            Self::Fbdev => fbdev::window(native),
            Self::X11(display) => display.window(native),
            Self::Wayland(display) => display.window(native, drawn),
            Self::Android => android::window(native, drawn),
        }
    }
}
