//! Pixel formats of buffers, by the kernel's four-character codes (`drm_fourcc.h`).

use drm_fourcc::DrmFourcc;

/// A format that windows may have: one plane of little-endian words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Its code.
    pub code: u32,
    /// Bits of a pixel.
    pub bits: u32,
    /// Bits of red, green, blue and alpha.
    pub channels: [u32; 4],
}

const fn format(code: DrmFourcc, bits: u32, channels: [u32; 4]) -> Format {
    Format {
        code: code as u32,
        bits,
        channels,
    }
}

/// Formats that EGL draws to, the preferred of equal ones first.
pub const DRAWN: [Format; 5] = [
    format(DrmFourcc::Xrgb8888, 32, [8, 8, 8, 0]),
    format(DrmFourcc::Argb8888, 32, [8, 8, 8, 8]),
    format(DrmFourcc::Xbgr8888, 32, [8, 8, 8, 0]),
    format(DrmFourcc::Abgr8888, 32, [8, 8, 8, 8]),
    format(DrmFourcc::Rgb565, 16, [5, 6, 5, 0]),
];

/// Formats of images beside those: planes of video, masks.
const CHANNELS: [Format; 2] = [
    format(DrmFourcc::R8, 8, [8, 0, 0, 0]),
    format(DrmFourcc::Gr88, 16, [8, 8, 0, 0]),
];

/// Formats that only programs fill.
const OTHERS: [Format; 2] = [
    format(DrmFourcc::Xrgb2101010, 32, [10, 10, 10, 0]),
    format(DrmFourcc::Argb2101010, 32, [10, 10, 10, 2]),
];

impl Format {
    /// The format of a code, or of one of libgbm's two old numbers.
    pub fn of(code: u32) -> Option<Self> {
        let code = match code {
            0 => DrmFourcc::Xrgb8888 as u32,
            1 => DrmFourcc::Argb8888 as u32,
            code => code,
        };
        let mut all = Self::images().chain(OTHERS);
        all.find(|format| format.code == code)
    }

    /// The formats that EGL's images may have.
    pub fn images() -> impl Iterator<Item = Self> {
        DRAWN.into_iter().chain(CHANNELS)
    }

    /// Whether EGL's images may have it.
    pub fn is_image(self) -> bool {
        Self::images().any(|format| format == self)
    }

    /// Whether EGL draws to it.
    pub fn is_drawn(self) -> bool {
        DRAWN.contains(&self)
    }

    /// Whether a configuration for `other` also draws to this: they differ in alpha, or in the
    /// order of their channels.
    pub fn is_drawn_as(self, other: Self) -> bool {
        self.is_drawn() && self.channels[..3] == other.channels[..3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_numbers_and_codes_name_formats() {
        assert_eq!(Format::of(0), Format::of(0x3432_5258), "XR24");
        assert_eq!(Format::of(1), Format::of(0x3432_5241), "AR24");
        assert_eq!(Format::of(0x3631_4752).map(|it| it.bits), Some(16), "RG16");
        assert_eq!(Format::of(2), None);
        let mask = Format::of(DrmFourcc::R8 as u32).unwrap();
        assert!(!mask.is_drawn() && mask.is_image());
        let deep = Format::of(DrmFourcc::Xrgb2101010 as u32).unwrap();
        assert!(!deep.is_image());
    }
}
