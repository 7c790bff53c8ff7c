//! dma-bufs as images: how a program describes one (`EGL_EXT_image_dma_buf_import`), and what
//! it may ask for (`EGL_EXT_image_dma_buf_import_modifiers`).

use crate::generated::types::*;
use gil_gbm::buffer::Layout;
use gil_gbm::format::Format;
use gil_guest::api::CallResult;
use std::ops::RangeInclusive;

/// The modifier of buffers whose rows lie one behind the other.
pub const LINEAR: u64 = 0;

/// The modifier of buffers that have no other description: here they are linear too.
const INVALID: u64 = 0x00ff_ffff_ffff_ffff;

/// The attributes of planes that no format here has.
const OTHER_PLANES: [RangeInclusive<EGLint>; 3] = [
    EGL_DMA_BUF_PLANE1_FD_EXT..=EGL_DMA_BUF_PLANE2_PITCH_EXT,
    EGL_DMA_BUF_PLANE3_FD_EXT..=EGL_DMA_BUF_PLANE3_PITCH_EXT,
    EGL_DMA_BUF_PLANE1_MODIFIER_LO_EXT..=EGL_DMA_BUF_PLANE3_MODIFIER_HI_EXT,
];

/// A program's list of attributes.
#[derive(Clone, Copy)]
struct Attributes<'a>(&'a [(EGLint, EGLint)]);

impl Attributes<'_> {
    fn find(self, wanted: EGLint) -> Option<u32> {
        let found = self.0.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| value.cast_unsigned())
    }

    fn need(self, wanted: EGLint) -> CallResult<u32> {
        self.find(wanted).ok_or(EGL_BAD_PARAMETER)
    }

    /// Pixels of a row, or rows.
    fn side(self, wanted: EGLint) -> CallResult<u32> {
        match self.need(wanted)? {
            side @ 1..=0x7fff_ffff => Ok(side),
            _ => Err(EGL_BAD_PARAMETER),
        }
    }

    /// The modifier, which is said in two halves or not at all.
    fn modifier(self) -> CallResult<Option<u64>> {
        let halves = [
            EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT,
            EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT,
        ];
        match halves.map(|half| self.find(half).map(u64::from)) {
            [None, None] => Ok(None),
            [Some(low), Some(high)] => Ok(Some(high << 32 | low)),
            _ => Err(EGL_BAD_PARAMETER),
        }
    }

    fn has_other_planes(self) -> bool {
        let is_other = |name: &EGLint| OTHER_PLANES.iter().any(|plane| plane.contains(name));
        self.0.iter().any(|(name, _)| is_other(name))
    }
}

/// The descriptor of a dma-buf, and how the picture lies in it.
///
/// # Errors
/// As those extensions say.
pub fn described(attributes: &[(EGLint, EGLint)]) -> CallResult<(EGLint, Layout)> {
    let list = Attributes(attributes);
    let fd = list.need(EGL_DMA_BUF_PLANE0_FD_EXT)?.cast_signed();
    let code = list.need(EGL_LINUX_DRM_FOURCC_EXT)?;
    let layout = Layout {
        width: list.side(EGL_WIDTH)?,
        height: list.side(EGL_HEIGHT)?,
        format: image_format(code).ok_or(EGL_BAD_MATCH)?,
        stride: list.need(EGL_DMA_BUF_PLANE0_PITCH_EXT)?,
        offset: list.need(EGL_DMA_BUF_PLANE0_OFFSET_EXT)?,
    };
    if list.has_other_planes() {
        return Err(EGL_BAD_ATTRIBUTE);
    }
    match list.modifier()? {
        None | Some(LINEAR | INVALID) if layout.overlaps() => Err(EGL_BAD_ACCESS),
        None | Some(LINEAR | INVALID) => Ok((fd, layout)),
        Some(_) => Err(EGL_BAD_MATCH),
    }
}

/// The format of a code, if images may have it.
fn image_format(code: u32) -> Option<Format> {
    Format::images().find(|format| format.code == code)
}

/// The codes of the formats that images may have.
pub fn formats() -> Vec<EGLint> {
    let codes = Format::images().map(|format| format.code.cast_signed());
    codes.collect()
}

/// Whether images may have the format of a code.
pub fn is_format(code: EGLint) -> bool {
    image_format(code.cast_unsigned()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const XRGB: EGLint = 0x3432_5258;

    fn list(changes: &[(EGLint, EGLint)]) -> Vec<(EGLint, EGLint)> {
        let mut list = vec![
            (EGL_WIDTH, 64),
            (EGL_HEIGHT, 32),
            (EGL_LINUX_DRM_FOURCC_EXT, XRGB),
            (EGL_DMA_BUF_PLANE0_FD_EXT, 5),
            (EGL_DMA_BUF_PLANE0_OFFSET_EXT, 0),
            (EGL_DMA_BUF_PLANE0_PITCH_EXT, 256),
        ];
        for &(name, value) in changes {
            list.retain(|(known, _)| *known != name);
            list.push((name, value));
        }
        list
    }

    #[test]
    fn a_buffer_is_described_as_the_extension_says() {
        let (fd, layout) = described(&list(&[])).unwrap();
        assert_eq!((fd, layout.stride, layout.end()), (5, 256, 31 * 256 + 256));
        for (change, code) in [
            ((EGL_WIDTH, 0), EGL_BAD_PARAMETER),
            ((EGL_HEIGHT, -1), EGL_BAD_PARAMETER),
            ((EGL_LINUX_DRM_FOURCC_EXT, 7), EGL_BAD_MATCH),
            ((EGL_LINUX_DRM_FOURCC_EXT, 0), EGL_BAD_MATCH),
            ((EGL_DMA_BUF_PLANE0_PITCH_EXT, 255), EGL_BAD_ACCESS),
            ((EGL_DMA_BUF_PLANE1_FD_EXT, 6), EGL_BAD_ATTRIBUTE),
            ((EGL_DMA_BUF_PLANE2_PITCH_EXT, 6), EGL_BAD_ATTRIBUTE),
            ((EGL_DMA_BUF_PLANE3_OFFSET_EXT, 6), EGL_BAD_ATTRIBUTE),
            ((EGL_DMA_BUF_PLANE3_MODIFIER_HI_EXT, 0), EGL_BAD_ATTRIBUTE),
            ((EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT, 0), EGL_BAD_PARAMETER),
            ((EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT, 0), EGL_BAD_PARAMETER),
        ] {
            assert_eq!(described(&list(&[change])).err(), Some(code), "{change:x?}");
        }
        assert_eq!(described(&list(&[])[1..]).err(), Some(EGL_BAD_PARAMETER));
    }

    #[test]
    fn modifiers_are_linear_or_refused() {
        let modifier = |value: u64| {
            let halves = [value as u32, (value >> 32) as u32].map(u32::cast_signed);
            list(&[
                (EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT, halves[0]),
                (EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT, halves[1]),
            ])
        };
        let tiled = 0x0100_0000_0000_0001;
        assert_eq!(described(&modifier(tiled)).err(), Some(EGL_BAD_MATCH));
        assert!(described(&modifier(LINEAR)).is_ok() && described(&modifier(INVALID)).is_ok());
    }
}
