//! Windows and images: programs that draw to the guest's display, and what it shows.

use gil_tests::picture::{Picture, is_kmscubes, shown};
use gil_tests::{Finished, Link, Run, both_widths, guest_program_of};
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

/// Bytes that calls of this name had with them.
fn bytes_to_board(run: &Finished, name: &str) -> u64 {
    let entries = run.report["entries"].as_array().expect("a list of calls");
    let call = entries.iter().find(|call| call["name"] == name);
    call.and_then(|call| call["bytes_to_board"].as_u64())
        .expect("the call")
}

both_widths! {
    fn windows_and_images_of_libgbm_are_in_the_guests_memory(width: Width) {
        let program = guest_program_of(width, "tests/guest/gles_windows.c", Link::Gles);
        let package = width.package("libgbm1");
        let program = program.display().to_string();
        let (_, run) = shown(&["--pkg", &package, &program]);
        is_ok(&run, 48);
    }

    fn only_what_changed_of_an_image_is_sent(width: Width) {
        let program = guest_program_of(width, "tests/guest/gles_windows.c", Link::Gles);
        let package = width.package("libgbm1");
        let program = program.display().to_string();
        let (_, run) = shown(&["--pkg", &package, &program, "changes"]);
        is_ok(&run, 16);
        // All of it once, and two rows.
        assert_eq!(bytes_to_board(&run, "gilFillImage"), 64 * 48 * 4 + 2 * 64 * 4);
    }

    fn images_are_drawn_to_and_read_in_every_way(width: Width) {
        let program = guest_program_of(width, "tests/guest/gles_images.c", Link::Gles);
        let package = width.package("libgbm1");
        let program = program.display().to_string();
        let (_, run) = shown(&["--pkg", &package, &program]);
        is_ok(&run, 37);
    }

    fn buffers_are_images_in_every_format_and_for_every_texture(width: Width) {
        let program = guest_program_of(width, "tests/guest/gles_imports.c", Link::Gles);
        let package = width.package("libgbm1");
        let program = program.display().to_string();
        let (_, run) = shown(&["--pkg", &package, &program]);
        is_ok(&run, 62);
    }

    fn a_frame_buffer_device_is_a_window(width: Width) {
        let program = guest_program_of(width, "tests/guest/gles_windows.c", Link::Gles);
        let (picture, run) = shown(&[&program.display().to_string(), "fbdev"]);
        is_ok(&run, 6);
        assert!(run.stdout.contains("1280 x 800"), "{run:#?}");
        let places = [(0, 0), (1279, 0), (0, 799), (1279, 799), (639, 399), (640, 400)];
        let colours = places.map(|(x, y)| picture.at(x, y));
        let [red, green, blue, white] =
            [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]];
        assert_eq!(colours, [red, green, blue, white, red, white]);
    }
}

both_widths! {
    fn native_fences_are_files_of_the_guests_kernel(width: Width) {
        let program = guest_program_of(width, "tests/guest/egl_native_fences.c", Link::Gles);
        let run = Run::new([program.display().to_string()]).finish().ok();
        is_ok(&run, 55);
    }
}

both_widths! {
    /// Of a program that has them as Android's structures, and opens the driver as Android does.
    fn windows_and_buffers_of_android_are_dma_bufs(width: Width) {
        let program = guest_program_of(width, "tests/guest/gles_android.c", Link::OpenCl);
        let (_, run) = shown(&[&program.display().to_string()]);
        is_ok(&run, 82);
    }
}

/// Requests to the board for each frame of kmscube's.
const REQUESTS_MAX: f64 = 12.0;

/// Debian's kmscube, as it is, with these arguments, drawn by the board.
fn cube(args: &[&str]) -> Picture {
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
    // Without a surface it has no swaps, and so no frames.
    if !args.contains(&"--surfaceless") {
        let frames = |what: &str| run.integer(&format!("/frames/0/{what}")) as f64;
        assert!(frames("count") > 50.0, "{run:#?}");
        let each = frames("forwards") / frames("count");
        assert!(each <= REQUESTS_MAX, "{each} requests a frame");
    }
    Picture::read(&out)
}

/// The same; its cube is coloured by its corners' places.
fn is_a_cube(args: &[&str]) {
    is_kmscubes(&cube(args));
}

#[test]
fn kmscube_shows_its_cube() {
    is_a_cube(&[]);
}

/// The display waits for the board's drawing, and the next frame for the display, each by
/// a fence.
#[test]
fn kmscube_and_the_display_wait_for_each_others_fences() {
    is_a_cube(&["--atomic"]);
}

#[test]
fn kmscube_draws_to_imported_buffers() {
    is_a_cube(&["--surfaceless"]);
}

/// Its sides have test pictures, which the CPU draws to buffers: one of colours, and two of
/// brightness and of hue (`R8`, `GR88`).
#[test]
fn kmscube_has_imported_pictures_on_its_sides() {
    for mode in ["rgba", "nv12-2img"] {
        let picture = cube(&["-M", mode]);
        let is_as = |shade: u8, is_strong| if is_strong { shade > 100 } else { shade < 40 };
        for bar in [
            [true, false, false],
            [false, false, true],
            [false, true, true],
        ] {
            let (count, _) =
                picture.find(|shades| (0..3).all(|which| is_as(shades[which], bar[which])));
            assert!(count > 5000, "{mode}: {count} of {bar:?}");
        }
    }
}

/// Of Debian's eglinfo: the platforms, each with what it says of EGL.
fn platforms(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("\n\n").flat_map(|part| part.split(" platform:"));
    parts.filter(|part| part.contains("EGL "))
}

#[test]
fn eglinfo_lists_what_the_board_has() {
    let packages = ["--pkg", "mesa-utils", "--pkg", "libgbm1"];
    // It fails if a window system is absent.
    let script = ["--", "sh", "-c", "eglinfo; test $? = 2"];
    let (_, run) = shown(&[packages, script].concat());
    let ours = platforms(&run.stdout).filter(|part| part.contains("EGL vendor string: gil: "));
    let ours: Vec<_> = ours.collect();
    assert_eq!(ours.len(), 3, "Android, libgbm, and none: {run:#?}");
    for one in ours {
        assert!(one.contains("OpenGL_ES"), "{one}");
    }
}

/// A script of the examples in a guest with a display and these packages; what it shows in the
/// end, and what it printed.
fn scripted(script: &str, packages: &[&str], args: &[&str]) -> (Picture, Finished) {
    scripted_with(&[], script, packages, args)
}

/// The same with options of gil's.
fn scripted_with(
    options: &[&str],
    script: &str,
    packages: &[&str],
    args: &[&str],
) -> (Picture, Finished) {
    let file = format!(
        "{}/../examples/desktops/{script}:/root/",
        env!("CARGO_MANIFEST_DIR")
    );
    let place = format!("/root/{script}");
    let packages = packages.iter().flat_map(|package| ["--pkg", package]);
    let end = ["--file", &file, "--", "sh", &place];
    let options = options.iter().copied();
    let all = options
        .chain(packages)
        .chain(end)
        .chain(args.iter().copied());
    shown(&all.collect::<Vec<_>>())
}

/// How many rows of a window the guest's EGL says to have changed, each time, as
/// libwayland-client prints it.
fn damaged_rows(run: &Finished) -> Vec<u32> {
    let rows = run.stderr.lines().filter_map(|line| {
        let (_, place) = line.split_once(".damage_buffer(0, ")?;
        let (_, rows) = place.split_once(", 2147483647, ")?;
        rows.strip_suffix(')')?.parse().ok()
    });
    rows.collect()
}

/// The panel of its shell, a triangle of EGL's in a window that shines through, and the rings
/// that the other client draws.
#[test]
fn weston_composes_what_its_clients_draw() {
    let env = ["--env", "WAYLAND_DEBUG=client"];
    let (picture, run) = scripted_with(&env, "weston.sh", &["weston"], &[]);
    assert!(run.stdout.contains("GL renderer: "), "{run:#?}");
    let is_dark = |[red, green, blue]: [u8; 3]| red.max(green).max(blue) < 80;
    assert!(is_dark(picture.at(640, 8)) && !is_dark(picture.at(2, 798)));
    let strongest = |which: usize| {
        picture.find(|shades| {
            let others = (0..3).filter(|&other| other != which);
            shades[which] > 150 && others.clone().all(|other| shades[other] < 60)
        })
    };
    for corner in 0..3 {
        let (count, _) = strongest(corner);
        assert!(count > 100, "{count} of shade {corner}");
    }
    let (white, [left, top, right, bottom]) = picture.find(|shades| shades == [255; 3]);
    assert!(white > 2000, "the border of the other's window: {white}");
    assert!(right - left < 260 && bottom - top < 260);
    let drawn: Vec<_> = run.report["frames"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(drawn.len(), 2, "the compositor and its client: {drawn:#?}");
    // The triangle is in the middle half of its window, 250 pixels high.
    let damaged = damaged_rows(&run);
    assert_eq!(damaged.first(), Some(&250), "{run:#?}");
    let is_part = |rows: &u32| (1..200).contains(rows);
    assert!(
        damaged.len() > 2 && damaged[1..].iter().all(is_part),
        "{damaged:?}"
    );
}

/// A client that draws to buffers of a render node, and hands them over with a fence each: a
/// square of 128 by 128 pixels, whose corners are red, green, blue and yellow, on black.
#[test]
fn weston_shows_buffers_that_a_client_drew_to() {
    let client = "weston-simple-dmabuf-egl";
    let (picture, run) = scripted("weston.sh", &["weston"], &[client]);
    assert!(!run.stderr.contains("explicit sync"), "{run:#?}");
    let corners = [[255, 0, 0], [0, 255, 0], [255, 255, 0], [0, 0, 255]];
    let places = corners.map(|corner: [u8; 3]| {
        let (count, [x, y, ..]) = picture.find(|shades| {
            let mut pairs = shades.iter().zip(corner);
            pairs.all(|(shade, full)| shade.abs_diff(full) < 16)
        });
        assert!(count > 0, "{corner:?}: {run:#?}");
        (x, y)
    });
    let [red, green, yellow, blue] = places;
    let sides = [
        red.1 - green.1,
        yellow.0 - green.0,
        blue.0 - red.0,
        blue.1 - yellow.1,
    ];
    assert!(
        sides.iter().all(|side| (110..129).contains(side)),
        "{places:?}"
    );
    let (black, _) = picture.find(|shades| shades == [0; 3]);
    let around = 256 * 256 - 128 * 128;
    assert!(
        (around..around + 1000).contains(&black),
        "{black} are black"
    );
}

/// Three gears, in a window of 600 by 400 pixels: those of the first window, 300 by 300, fill
/// fewer columns.
#[test]
fn an_x_server_shows_what_a_client_draws() {
    let (picture, run) = scripted(
        "xorg.sh",
        &["xserver-xorg-core", "mesa-utils-extra", "xdotool"],
        &[],
    );
    assert!(run.stdout.contains("GL_RENDERER: "), "es2_info: {run:#?}");
    assert!(
        run.stdout.contains("EGL_VENDOR: gil: "),
        "es2_info: {run:#?}"
    );
    let gears = [[204, 26, 0], [0, 204, 51], [51, 51, 255]];
    let boxes = gears.map(|gear| {
        let (count, bounds) = picture.find(|shades| {
            let mut pairs = shades.iter().zip(gear);
            pairs.all(|(shade, full)| shade.abs_diff(full) < 40)
        });
        assert!(count > 1000, "{count} of {gear:?}: {run:#?}");
        bounds
    });
    let first_column = boxes.map(|[left, ..]| left).into_iter().min();
    let end = |which: usize| boxes.map(|bounds| bounds[which]).into_iter().max();
    let (Some(left), Some(right), Some(bottom)) = (first_column, end(2), end(3)) else {
        unreachable!("there are three");
    };
    let columns = right - left;
    assert!(columns > 300 && right < 600 && bottom < 400, "{boxes:?}");
}
