//! Arrays: what a description means in bytes, rows and slices.

/// `CUDA_ARRAY3D_LAYERED`: the slices are layers.
pub const LAYERED: u32 = 0x01;
/// `CUDA_ARRAY3D_CUBEMAP`: the slices are the faces of cubes.
pub const CUBEMAP: u32 = 0x04;
/// What is offered: layers, cubes, surfaces, gathers.
const OFFERED: u32 = 0x0f;
/// `CUDA_ARRAY3D_COLOR_ATTACHMENT`, `_SPARSE`, `_DEFERRED_MAPPING`, `_VIDEO_ENCODE_DECODE`, and
/// `_DEPTH_TEXTURE`, of other APIs, or of memory that is mapped by hand.
const KNOWN: u32 = 0x01ff;

/// Why a description is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is against CUDA's documentation.
    Value,
    /// What it asks for is not offered.
    NotOffered,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Elements of a row.
    pub width: u64,
    /// Rows; 0 if the array has one dimension.
    pub height: u64,
    /// Slices or layers; 0 for none.
    pub depth: u64,
    /// `CUarray_format`.
    pub format: i32,
    /// Numbers of an element: 1, 2 or 4.
    pub channels: u32,
    /// `CUDA_ARRAY3D_…`.
    pub flags: u32,
}

/// Bytes of an element, by `CUarray_format` and the number of its channels.
///
/// # Errors
/// [`Wrong`].
pub fn element(format: i32, channels: u32) -> Result<u64, Wrong> {
    let each = match format {
        // CU_AD_FORMAT_UNSIGNED_INT8, SIGNED_INT8.
        0x01 | 0x08 => 1,
        // UNSIGNED_INT16, SIGNED_INT16, HALF.
        0x02 | 0x09 | 0x10 => 2,
        // UNSIGNED_INT32, SIGNED_INT32, FLOAT.
        0x03 | 0x0a | 0x20 => 4,
        // UNORM_INT8X1 to SNORM_INT16X4, which say how many channels they have.
        0xc0..=0xcb => {
            let kind = format - 0xc0;
            let own = [1, 2, 4][(kind % 3) as usize];
            let bytes = [1, 2][(kind / 3 % 2) as usize];
            return match channels == own {
                true => Ok(u64::from(own) * bytes),
                false => Err(Wrong::Value),
            };
        }
        // UNORM_INT_101010_2, block-compressed formats, and those with planes.
        0x50 | 0x91..=0xbf => return Err(Wrong::NotOffered),
        _ => return Err(Wrong::Value),
    };
    match channels {
        1 | 2 | 4 => Ok(u64::from(channels) * each),
        _ => Err(Wrong::Value),
    }
}

impl Layout {
    /// As the wire has it.
    pub fn words(&self) -> Vec<u64> {
        vec![
            self.width,
            self.height,
            self.depth,
            u64::from(self.format.cast_unsigned()),
            self.channels.into(),
            self.flags.into(),
        ]
    }

    /// From the wire; `None` if these words are no layout.
    pub fn of(words: &[u64]) -> Option<Self> {
        let &[width, height, depth, format, channels, flags] = words else {
            return None;
        };
        Some(Self {
            width,
            height,
            depth,
            format: u32::try_from(format).ok()?.cast_signed(),
            channels: u32::try_from(channels).ok()?,
            flags: u32::try_from(flags).ok()?,
        })
    }

    /// Bytes of a row, rows of a slice, slices.
    ///
    /// # Errors
    /// [`Wrong`], if no array has such a layout.
    pub fn size(&self) -> Result<[u64; 3], Wrong> {
        let element = element(self.format, self.channels)?;
        if self.flags & !KNOWN != 0 {
            return Err(Wrong::Value);
        }
        if self.flags & !OFFERED != 0 {
            return Err(Wrong::NotOffered);
        }
        let row = self.width.checked_mul(element).ok_or(Wrong::Value)?;
        let rows = self.height.max(1);
        let slices = self.depth.max(1);
        let all = row
            .checked_mul(rows)
            .and_then(|slice| slice.checked_mul(slices));
        let is_layered = self.flags & (LAYERED | CUBEMAP) != 0;
        let has_slices_alone = self.height == 0 && self.depth != 0 && !is_layered;
        match self.width == 0 || has_slices_alone || all.is_none() {
            true => Err(Wrong::Value),
            false => Ok([row, rows, slices]),
        }
    }

    /// The most levels that such an array can have.
    pub fn levels(&self) -> u32 {
        let is_layered = self.flags & (LAYERED | CUBEMAP) != 0;
        let depth = if is_layered { 0 } else { self.depth };
        self.width.max(self.height).max(depth).max(1).ilog2() + 1
    }

    /// That of a level of an array with mipmaps.
    pub fn level(&self, level: u32) -> Self {
        let half = |size: u64| match size {
            0 => 0,
            size => size.checked_shr(level).unwrap_or(0).max(1),
        };
        let is_layered = self.flags & (LAYERED | CUBEMAP) != 0;
        Self {
            width: half(self.width),
            height: half(self.height),
            depth: match is_layered {
                true => self.depth,
                false => half(self.depth),
            },
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Layout = Layout {
        width: 10,
        height: 6,
        depth: 0,
        format: 0x20,
        channels: 4,
        flags: 0,
    };

    #[test]
    fn rows_have_elements() {
        assert_eq!(PLAIN.size(), Ok([160, 6, 1]));
        let line = Layout {
            height: 0,
            format: 0x02,
            channels: 2,
            ..PLAIN
        };
        assert_eq!(line.size(), Ok([40, 1, 1]));
        let r#box = Layout { depth: 3, ..PLAIN };
        assert_eq!(r#box.size(), Ok([160, 6, 3]));
        let layers = Layout {
            height: 0,
            depth: 5,
            flags: LAYERED,
            ..PLAIN
        };
        assert_eq!(layers.size(), Ok([160, 1, 5]));
        assert_eq!(Layout::of(&r#box.words()), Some(r#box));
        assert_eq!(Layout::of(&[1, 2, 3]), None);
        assert_eq!(Layout::of(&[1, 1, 1, 1 << 32, 1, 0]), None);
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let wrong = |layout: Layout| layout.size().unwrap_err();
        for layout in [
            Layout { width: 0, ..PLAIN },
            Layout { format: 4, ..PLAIN },
            Layout {
                channels: 3,
                ..PLAIN
            },
            Layout {
                flags: 0x200,
                ..PLAIN
            },
            Layout {
                height: 0,
                depth: 2,
                ..PLAIN
            },
            Layout {
                width: u64::MAX / 8,
                ..PLAIN
            },
            Layout {
                format: 0xc1,
                ..PLAIN
            },
        ] {
            assert_eq!(wrong(layout), Wrong::Value, "{layout:?}");
        }
        for layout in [
            Layout {
                format: 0x91,
                ..PLAIN
            },
            Layout {
                flags: 0x40,
                ..PLAIN
            },
        ] {
            assert_eq!(wrong(layout), Wrong::NotOffered, "{layout:?}");
        }
    }

    #[test]
    fn formats_say_their_channels() {
        // CU_AD_FORMAT_UNORM_INT8X4, UNORM_INT16X2, SNORM_INT16X4.
        assert_eq!(element(0xc2, 4), Ok(4));
        assert_eq!(element(0xc4, 2), Ok(4));
        assert_eq!(element(0xcb, 4), Ok(8));
        assert_eq!(element(0xc6, 1), Ok(1));
    }

    #[test]
    fn levels_become_smaller() {
        let r#box = Layout { depth: 4, ..PLAIN };
        let level = r#box.level(2);
        assert_eq!((level.width, level.height, level.depth), (2, 1, 1));
        let layers = Layout {
            flags: LAYERED,
            ..r#box
        };
        assert_eq!(layers.level(3).depth, 4);
        assert_eq!(PLAIN.level(64).width, 1);
        assert_eq!(PLAIN.level(1).depth, 0);
        assert_eq!((PLAIN.levels(), layers.levels()), (4, 4));
        let deep = Layout { depth: 16, ..PLAIN };
        assert_eq!(deep.levels(), 5);
    }
}
