//! A picture of a display: read in the form that QEMU writes soonest (binary PPM, the
//! format of the program `ppm(5)`), written as PNG.

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError};

/// Most pixels in a row, and most rows: the guest chooses them.
const SIDE_MAX: u32 = 1 << 14;
const BYTES_OF_PIXEL: usize = 3;
/// QEMU writes rows of a multiple of so many bytes, which PPM does not have (`ppm_save`
/// of its ui/ui-qmp-cmds.c).
const ROWS_OF: usize = 4;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// What QEMU wrote is none.
    #[error("QEMU wrote no picture of the guest's display: {0}")]
    Form(&'static str),
    /// What QEMU wrote cannot be read.
    #[error(
        "the picture of the guest's display cannot be read ({0}): is the disk of the temporary files full?"
    )]
    Read(#[from] std::io::Error),
    /// It cannot be encoded.
    #[error("the picture of the guest's display cannot be encoded ({0})")]
    Encode(#[from] EncodingError),
}

/// A picture.
#[derive(Debug, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    /// Red, green and blue of each pixel, row by row.
    pixels: Vec<u8>,
}

impl Picture {
    /// The picture that this PPM file is.
    ///
    /// # Errors
    /// [`PictureError::Form`].
    pub fn of_ppm(mut file: Vec<u8>) -> Result<Self, PictureError> {
        let (header, [width, height]) = header(&file)?;
        if ![width, height]
            .iter()
            .all(|side| (1..=SIDE_MAX).contains(side))
        {
            return Err(PictureError::Form("it has an absurd size"));
        }
        let mut pixels = file.split_off(header);
        let row = width as usize * BYTES_OF_PIXEL;
        let padded = row.next_multiple_of(ROWS_OF);
        if padded != row && pixels.len() == padded * height as usize {
            let rows = pixels.chunks(padded);
            pixels = rows.flat_map(|padded| &padded[..row]).copied().collect();
        }
        if pixels.len() != row * height as usize {
            return Err(PictureError::Form("its size is not what it says"));
        }
        Ok(Self {
            width,
            height,
            pixels,
        })
    }

    /// It as a PNG file.
    ///
    /// # Errors
    /// [`PictureError::Encode`].
    pub fn png(&self) -> Result<Vec<u8>, PictureError> {
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, self.width, self.height);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(file)
    }
}

/// Bytes of the header, and the picture's sides. QEMU writes no comments there.
fn header(file: &[u8]) -> Result<(usize, [u32; 2]), PictureError> {
    let wrong = || PictureError::Form("it is no PPM file");
    let mut at = 0;
    let mut word = || {
        let rest = file.get(at..)?;
        let len = rest.iter().take(16).position(u8::is_ascii_whitespace)?;
        at += len + 1;
        std::str::from_utf8(&rest[..len]).ok()
    };
    let magic = word().ok_or_else(wrong)?;
    let mut number = || word()?.parse::<u32>().ok();
    let sides = [number().ok_or_else(wrong)?, number().ok_or_else(wrong)?];
    match (magic, number()) {
        ("P6", Some(255)) => Ok((at, sides)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_stays_the_same() {
        let pixels: Vec<u8> = (0..5 * 3 * 3).collect();
        let ppm = [b"P6\n5 3\n255\n", &pixels[..]].concat();
        let picture = Picture::of_ppm(ppm).unwrap();
        let png = picture.png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&png))
            .read_info()
            .unwrap();
        let mut back = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut back).unwrap();
        assert_eq!((info.width, info.height, back), (5, 3, pixels));
    }

    #[test]
    fn rows_end_where_they_should_though_qemu_pads_them() {
        let read = |pixels: &[u8]| {
            let file = [b"P6\n3 2\n255\n", pixels].concat();
            Picture::of_ppm(file).unwrap().pixels
        };
        let row = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let padded = [&row[..], &[0; 3]].concat();
        assert_eq!(read(&padded.repeat(2)), row.repeat(2));
        assert_eq!(read(&row.repeat(2)), row.repeat(2));
    }

    #[test]
    fn what_is_none_is_refused() {
        for wrong in [
            &b""[..],
            b"P6",
            b"P6\n",
            b"P5\n1 1\n255\nabc",
            b"P6\n1 1\n65535\nabc",
            b"P6\n1 1\n255\nab",
            b"P6\n1 1\n255\nabcd",
            b"P6\n0 1\n255\n",
            b"P6\n99999 99999\n255\nabc",
            b"P6\n-1 1\n255\nabc",
            b"P6\n99999999999999999999999999 1\n255\nabc",
        ] {
            assert!(Picture::of_ppm(wrong.to_vec()).is_err(), "{wrong:?}");
        }
    }
}
