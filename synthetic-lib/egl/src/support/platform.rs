//! What has windows: where a program's native displays and windows come from.

use crate::generated::types::*;
use gil_gbm::format::{DRAWN, Format};
use std::ffi::c_void;

/// Whose windows a display has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// Nobody's.
    #[default]
    None,
    /// Surfaces of libgbm.
    Gbm,
}

impl Platform {
    /// The platform, as EGL names it, of a native display; `None` if it is nobody's.
    pub fn of_native(native: usize) -> Option<(EGLenum, Self)> {
        let is_gbm = gil_gbm::is_device(native as *const c_void);
        is_gbm.then_some((EGL_PLATFORM_GBM_KHR, Self::Gbm))
    }

    /// Whether there are windows.
    pub fn has_windows(self) -> bool {
        self != Self::None
    }

    /// The format of windows that a configuration with these bits of red, green, blue and
    /// alpha draws to.
    pub fn format(self, channels: [EGLint; 4]) -> Option<Format> {
        let is_it = |format: &&Format| format.channels.map(u32::cast_signed) == channels;
        DRAWN
            .iter()
            .find(is_it)
            .filter(|_| self.has_windows())
            .copied()
    }

    /// `EGL_NATIVE_VISUAL_ID` of such a configuration: libgbm's are the format's code.
    pub fn visual(self, format: Format) -> EGLint {
        match self {
            Self::None => 0,
            Self::Gbm => format.code.cast_signed(),
        }
    }
}
