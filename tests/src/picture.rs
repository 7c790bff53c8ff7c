//! Pictures of the guest's display.

use crate::{Finished, Run};
use std::path::Path;

/// A picture, as `gil run --screen` writes it.
pub struct Picture {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Picture {
    /// Reads a file.
    ///
    /// # Panics
    /// If it is no such picture.
    pub fn read(path: &Path) -> Self {
        Self::of(&std::fs::read(path).expect("a picture"))
    }

    /// Reads a file's bytes.
    ///
    /// # Panics
    /// If they are no such picture.
    pub fn of(png: &[u8]) -> Self {
        let decoder = png::Decoder::new(std::io::Cursor::new(png));
        let mut reader = decoder.read_info().expect("a picture's head");
        let mut pixels = vec![0; reader.output_buffer_size().expect("its size")];
        let info = reader.next_frame(&mut pixels).expect("its pixels");
        assert_eq!(info.color_type, png::ColorType::Rgb);
        Self {
            width: info.width,
            height: info.height,
            pixels,
        }
    }

    /// Its width and height.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// FNV-1a of red, green and blue, as `tests/guest/kms_frame.c` has it of a frame.
    pub fn sum(&self) -> u64 {
        self.pixels.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &it| {
            (sum ^ u64::from(it)).wrapping_mul(0x100_0000_01b3)
        })
    }

    /// Whether every pixel is black.
    pub fn is_black(&self) -> bool {
        self.pixels.iter().all(|&shade| shade == 0)
    }

    /// Red, green and blue of a pixel.
    pub fn at(&self, x: u32, y: u32) -> [u8; 3] {
        let place = (y as usize * self.width as usize + x as usize) * 3;
        [
            self.pixels[place],
            self.pixels[place + 1],
            self.pixels[place + 2],
        ]
    }
}

impl Picture {
    /// How many pixels are as asked for, and the box that they lie in: left, top, right and
    /// bottom.
    pub fn find(&self, is_it: impl Fn([u8; 3]) -> bool) -> (usize, [u32; 4]) {
        let (mut count, mut found) = (0, [u32::MAX, u32::MAX, 0, 0]);
        for y in 0..self.height {
            for x in 0..self.width {
                if is_it(self.at(x, y)) {
                    let [left, top, right, bottom] = found;
                    found = [left.min(x), top.min(y), right.max(x), bottom.max(y)];
                    count += 1;
                }
            }
        }
        (count, found)
    }
}

/// Runs a program with a display: the picture at its end, and what it printed.
///
/// # Panics
/// If it does not exit with 0.
pub fn shown(args: &[&str]) -> (Picture, Finished) {
    let work = tempfile::tempdir().expect("a folder");
    let out = work.path().join("out.png").display().to_string();
    let screen = ["--screen", &out];
    let run = Run::new(screen.iter().chain(args)).finish().ok();
    (Picture::read(Path::new(&out)), run)
}

/// That kmscube's picture is it: on grey, in the middle, a cube that is coloured by its
/// corners' places.
///
/// # Panics
/// If it is not.
pub fn is_kmscubes(picture: &Picture) {
    const GREY: [u8; 3] = [128; 3];
    let (width, height) = picture.size();
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let cube: Vec<_> = places.filter(|&(x, y)| picture.at(x, y) != GREY).collect();
    let middle = |side: fn(&(u32, u32)) -> u32| {
        let ends = (cube.iter().map(side).min(), cube.iter().map(side).max());
        (ends.0.unwrap_or(0) + ends.1.unwrap_or(0)) / 2
    };
    assert!(middle(|place| place.0).abs_diff(width / 2) < width / 16);
    assert!(middle(|place| place.1).abs_diff(height / 2) < height / 16);
    let share = cube.len() as f64 / f64::from(width * height);
    assert!((0.1..0.3).contains(&share), "{share}");
    for strongest in [0, 2] {
        let is_it = |&&(x, y): &&(u32, u32)| {
            let shades = picture.at(x, y);
            let others = (0..3).filter(|&shade| shade != strongest);
            others.map(|shade| shades[shade]).max().unwrap_or(255) + 40 < shades[strongest].max(40)
        };
        let count = cube.iter().filter(is_it).count();
        assert!(count > 1000, "{count} of shade {strongest}");
    }
}
