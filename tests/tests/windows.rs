//! Windows and images: programs that draw to the guest's display, and what it shows.

use gil_tests::{Finished, Link, Run, Width, both_widths, guest_program_of};
use std::path::Path;
use std::process::Stdio;

/// Every line of a program's says "ok".
fn is_ok(run: &Finished, points: usize) {
    let lines: Vec<_> = run.stdout.lines().collect();
    let right = lines.iter().filter(|line| line.starts_with("ok ")).count();
    assert!(
        !run.stdout.contains("FAILED") && right >= points,
        "{run:#?}"
    );
}

/// Red, green and blue of a picture's pixels, and its size.
struct Picture {
    size: (u32, u32),
    pixels: Vec<u8>,
}

impl Picture {
    fn read(path: &Path) -> Self {
        let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        Self {
            size: (info.width, info.height),
            pixels,
        }
    }

    fn at(&self, x: u32, y: u32) -> [u8; 3] {
        let place = (y as usize * self.size.0 as usize + x as usize) * 3;
        self.pixels[place..place + 3].try_into().unwrap()
    }

    /// Pixels of which `is_it` is true: how many, and the box that they are in.
    fn extent(&self, is_it: impl Fn([u8; 3]) -> bool) -> (usize, [u32; 4]) {
        let (width, height) = self.size;
        let mut found = (0, [width, height, 0, 0]);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            if is_it(self.at(x, y)) {
                let [left, top, right, bottom] = found.1;
                let around = [left.min(x), top.min(y), right.max(x), bottom.max(y)];
                found = (found.0 + 1, around);
            }
        }
        found
    }
}

/// Runs a program with a display; what it printed, and the picture at its end.
fn shown(args: &[&str]) -> (Finished, Picture) {
    let work = tempfile::tempdir().unwrap();
    let out = work.path().join("screen.png");
    let screen = ["--screen", out.to_str().unwrap()];
    let run = Run::new(screen.iter().chain(args).copied()).finish().ok();
    let picture = Picture::read(&out);
    (run, picture)
}

both_widths! {
    fn windows_and_images_of_libgbm_are_in_the_guests_memory(width: Width) {
        let program = guest_program_of(width, "tests/guest/gles_windows.c", Link::Gles);
        let package = width.package("libgbm1");
        let program = program.display().to_string();
        let (run, _) = shown(&["--pkg", &package, &program]);
        is_ok(&run, 40);
    }

    fn a_frame_buffer_device_is_a_window(width: Width) {
        let program = guest_program_of(width, "tests/guest/gles_windows.c", Link::Gles);
        let (run, picture) = shown(&[&program.display().to_string(), "fbdev"]);
        is_ok(&run, 6);
        assert!(run.stdout.contains("1280 x 800"), "{run:#?}");
        let places = [(0, 0), (1279, 0), (0, 799), (1279, 799), (639, 399), (640, 400)];
        let colours = places.map(|(x, y)| picture.at(x, y));
        let [red, green, blue, white] =
            [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]];
        assert_eq!(colours, [red, green, blue, white, red, white]);
    }
}

/// Debian's kmscube, as it is, with these arguments: its cube stands in the middle of a
/// grey picture, and its faces have their colours.
fn is_a_cube(args: &[&str]) {
    let work = tempfile::tempdir().unwrap();
    let out = work.path().join("screen.png");
    let options = [
        "-i",
        "--screen",
        out.to_str().unwrap(),
        "--pkg",
        "kmscube",
        "--",
        "kmscube",
    ];
    // It ends when there is something to read for it, an end too.
    let all = options.iter().chain(args).copied();
    let mut run = Run::new(all.chain(["-c", "60"]));
    run.command().stdin(Stdio::piped());
    let (mut child, folder) = run.start();
    let silent = child.stdin.take();
    let run = Finished::of(child.wait_with_output().unwrap(), &folder).ok();
    drop(silent);
    assert!(run.stdout.contains("gil: "), "the vendor: {run:#?}");
    let picture = Picture::read(&out);
    assert_eq!(picture.size, (1280, 800));
    const GREY: [u8; 3] = [128; 3];
    for corner in [(0, 0), (1279, 0), (0, 799), (1279, 799)] {
        assert_eq!(picture.at(corner.0, corner.1), GREY, "{corner:?}");
    }
    let (count, [left, top, right, bottom]) = picture.extent(|pixel| pixel != GREY);
    assert!(
        (150_000..400_000).contains(&count),
        "{count} pixels of the cube"
    );
    let middle = ((left + right) / 2, (top + bottom) / 2);
    assert!(
        middle.0.abs_diff(640) < 80 && middle.1.abs_diff(400) < 80,
        "{middle:?}"
    );
    for channel in 0..3 {
        let is_bright = |pixel: [u8; 3]| pixel[channel] > 140 && pixel != GREY;
        let (bright, _) = picture.extent(is_bright);
        assert!(bright > 1000, "channel {channel}: {bright} bright pixels");
    }
}

#[test]
fn kmscube_shows_its_cube() {
    is_a_cube(&[]);
}

#[test]
fn kmscube_draws_to_imported_buffers() {
    is_a_cube(&["--surfaceless"]);
}
