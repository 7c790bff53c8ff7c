//! Pictures of windows: formats, and the parts in which they travel.

use std::ops::Range;

/// A window's or an image's pixel format, by the kernel's four-character codes (`drm_fourcc.h`):
/// little-endian words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `XR24`, `AR24`: blue first, 8 bits each.
    Bgra,
    /// `XB24`, `AB24`: red first, 8 bits each.
    Rgba,
    /// `RG16`: blue lowest, 5, 6 and 5 bits.
    Rgb565,
    /// `R8`: red alone, 8 bits.
    Red,
    /// `GR88`: red first, then green, 8 bits each.
    RedGreen,
}

/// The order of bytes in a picture that was read, four a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Red first.
    Rgba,
    /// Blue first.
    Bgra,
}

/// A code of four characters.
const fn code(characters: &[u8; 4]) -> u32 {
    u32::from_le_bytes(*characters)
}

const XR24: u32 = code(b"XR24");
const AR24: u32 = code(b"AR24");
const XB24: u32 = code(b"XB24");
const AB24: u32 = code(b"AB24");
const RG16: u32 = code(b"RG16");
const R8: u32 = code(b"R8  ");
const GR88: u32 = code(b"GR88");

impl Format {
    /// The format of a code, if pictures may have it.
    pub const fn of(code: u32) -> Option<Self> {
        match code {
            XR24 | AR24 => Some(Self::Bgra),
            XB24 | AB24 => Some(Self::Rgba),
            RG16 => Some(Self::Rgb565),
            R8 => Some(Self::Red),
            GR88 => Some(Self::RedGreen),
            _ => None,
        }
    }

    /// Whether pixels of a code have no alpha.
    pub const fn is_opaque(code: u32) -> bool {
        matches!(code, XR24 | XB24 | RG16 | R8 | GR88)
    }

    /// Bytes of a pixel.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Red => 1,
            Self::Rgb565 | Self::RedGreen => 2,
            Self::Bgra | Self::Rgba => 4,
        }
    }

    /// In which order a picture for it is best read.
    pub const fn order(self) -> Order {
        match self {
            Self::Bgra => Order::Bgra,
            Self::Rgba | Self::Rgb565 | Self::Red | Self::RedGreen => Order::Rgba,
        }
    }

    /// Whether a picture that was read so has its bytes.
    pub const fn is_read_as(self, order: Order) -> bool {
        matches!(
            (self, order),
            (Self::Bgra, Order::Bgra) | (Self::Rgba, Order::Rgba)
        )
    }

    /// Converts pixels that were read to this format, as many as there are of both.
    pub fn convert(self, order: Order, from: &[u8], to: &mut [u8]) {
        let (red, blue) = match order {
            Order::Rgba => (0, 2),
            Order::Bgra => (2, 0),
        };
        let pixels = from.as_chunks::<4>().0.iter();
        match self {
            Self::Bgra => {
                for (to, from) in to.as_chunks_mut::<4>().0.iter_mut().zip(pixels) {
                    *to = [from[blue], from[1], from[red], from[3]];
                }
            }
            Self::Rgba => {
                for (to, from) in to.as_chunks_mut::<4>().0.iter_mut().zip(pixels) {
                    *to = [from[red], from[1], from[blue], from[3]];
                }
            }
            Self::Rgb565 => {
                for (to, from) in to.as_chunks_mut::<2>().0.iter_mut().zip(pixels) {
                    let channel = |at: usize, bits: u32| u16::from(from[at] >> (8 - bits));
                    let word = channel(red, 5) << 11 | channel(1, 6) << 5 | channel(blue, 5);
                    *to = word.to_le_bytes();
                }
            }
            Self::Red => {
                for (to, from) in to.iter_mut().zip(pixels) {
                    *to = from[red];
                }
            }
            Self::RedGreen => {
                for (to, from) in to.as_chunks_mut::<2>().0.iter_mut().zip(pixels) {
                    *to = [from[red], from[1]];
                }
            }
        }
    }

    /// Converts pixels of this format to four bytes each, red first; opaque ones if their
    /// alpha says nothing.
    pub fn read(self, from: &[u8], to: &mut [u8], is_opaque: bool) {
        let to = to.as_chunks_mut::<4>().0.iter_mut();
        match self {
            Self::Rgb565 => {
                for (to, from) in to.zip(from.as_chunks::<2>().0) {
                    let word = u16::from_le_bytes(*from);
                    // The highest bits again below: all ones are 255.
                    let five = |at: u16| ((word >> at & 31) << 3 | (word >> at & 31) >> 2) as u8;
                    let green = word >> 5 & 63;
                    *to = [five(11), (green << 2 | green >> 4) as u8, five(0), 255];
                }
            }
            Self::Bgra | Self::Rgba => {
                let (red, blue) = if self == Self::Bgra { (2, 0) } else { (0, 2) };
                for (to, from) in to.zip(from.as_chunks::<4>().0) {
                    let alpha = if is_opaque { 255 } else { from[3] };
                    *to = [from[red], from[1], from[blue], alpha];
                }
            }
            Self::Red => {
                for (to, from) in to.zip(from) {
                    *to = [*from, 0, 0, 255];
                }
            }
            Self::RedGreen => {
                for (to, from) in to.zip(from.as_chunks::<2>().0) {
                    *to = [from[0], from[1], 0, 255];
                }
            }
        }
    }
}

/// Most bands of a picture: a call has 64 regions.
const BANDS_MAX: u32 = 60;

/// How many rows a band of a picture has.
pub const fn band_rows(height: u32) -> u32 {
    match height.div_ceil(BANDS_MAX) {
        0 => 1,
        rows => rows,
    }
}

/// A picture's bands of so many rows each, from the top; the last may have fewer.
pub fn bands(height: u32, rows: u32) -> impl Iterator<Item = Range<u32>> {
    let ends = move |start: u32| start..height.min(start.saturating_add(rows));
    (0..height).step_by(rows.max(1) as usize).map(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_the_whole_picture_and_few() {
        for height in [1, 59, 60, 61, 800, 1080, 32768] {
            let bands: Vec<_> = bands(height, band_rows(height)).collect();
            assert!(bands.len() <= BANDS_MAX as usize, "{height}");
            assert_eq!(bands[0].start, 0);
            assert_eq!(bands.last().unwrap().end, height);
            assert!(bands.windows(2).all(|two| two[0].end == two[1].start));
        }
        assert_eq!(bands(0, band_rows(0)).count(), 0);
        assert_eq!(bands(5, 0).count(), 5, "no rows are no hang");
    }

    #[test]
    fn pixels_are_converted() {
        let pixel = [0xff, 0x81, 0x08, 0x40];
        let mut four = [0; 4];
        Format::Bgra.convert(Order::Rgba, &pixel, &mut four);
        assert_eq!(four, [0x08, 0x81, 0xff, 0x40]);
        Format::Rgba.convert(Order::Bgra, &pixel, &mut four);
        assert_eq!(four, [0x08, 0x81, 0xff, 0x40]);
        let mut two = [0; 2];
        Format::Rgb565.convert(Order::Rgba, &pixel, &mut two);
        assert_eq!(u16::from_le_bytes(two), 31 << 11 | 32 << 5 | 1);
        assert!(Format::of(code(b"XR30")).is_none());
        let mut back = [0; 4];
        Format::Rgb565.read(&two, &mut back, true);
        assert_eq!(back, [0xff, 0x82, 0x08, 0xff]);
        Format::Bgra.read(&[1, 2, 3, 4], &mut back, false);
        assert_eq!(back, [3, 2, 1, 4]);
        Format::Bgra.read(&[1, 2, 3, 4], &mut back, true);
        assert_eq!(back, [3, 2, 1, 255]);
    }

    #[test]
    fn channels_that_a_picture_lacks_are_none() {
        let (red, both) = (Format::of(R8).unwrap(), Format::of(GR88).unwrap());
        assert_eq!((red.bytes(), both.bytes()), (1, 2));
        let mut back = [0; 8];
        red.read(&[7, 8], &mut back, true);
        assert_eq!(back, [7, 0, 0, 255, 8, 0, 0, 255]);
        both.read(&[7, 8, 9, 10], &mut back, true);
        assert_eq!(back, [7, 8, 0, 255, 9, 10, 0, 255]);
        let mut two = [0; 2];
        red.convert(Order::Bgra, &back, &mut two);
        assert_eq!(two, [0, 0], "blue first");
        red.convert(Order::Rgba, &back, &mut two);
        assert_eq!(two, [7, 9]);
        both.convert(Order::Rgba, &back, &mut two);
        assert_eq!(two, [7, 8]);
    }
}
