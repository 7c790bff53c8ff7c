//! The guest's display: `gil run --screen`, `--screen-every`, `--display`.

use gil_tests::picture::{Picture, is_kmscubes, shown};
use gil_tests::{Link, Run, guest_program};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::thread;

const BLACK: [u8; 3] = [0; 3];
const WHITE: [u8; 3] = [255; 3];
const RED: [u8; 3] = [255, 0, 0];
const GREEN: [u8; 3] = [0, 255, 0];
const BLUE: [u8; 3] = [0, 0, 255];

/// Fills the upper half of 1280x800 pixels with white through `/dev/fb0`.
const FILL: &str =
    "tr '\\0' '\\377' </dev/zero | dd of=/dev/fb0 bs=2048000 count=1 iflag=fullblock 2>/dev/null";

/// What the pictures of these tests are to be.
trait Drawn {
    /// Whether each pixel is what `tests/guest/kms_draw.c` draws.
    fn is_kms_draws(&self) -> bool;

    /// Whether it is what [`FILL`] leaves.
    fn is_filled(&self) -> bool;
}

impl Drawn for Picture {
    fn is_kms_draws(&self) -> bool {
        let (width, height) = self.size();
        let expected = |x, y| {
            let is_frame = x < 8 || y < 8 || x >= width - 8 || y >= height - 8;
            match (is_frame, x < width / 2, y < height / 2) {
                (true, _, _) => BLACK,
                (_, true, true) => RED,
                (_, false, true) => GREEN,
                (_, true, false) => BLUE,
                (_, false, false) => WHITE,
            }
        };
        let mut places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        places.all(|(x, y)| self.at(x, y) == expected(x, y))
    }

    fn is_filled(&self) -> bool {
        let shades = [
            self.at(0, 0),
            self.at(1279, 399),
            self.at(0, 400),
            self.at(1279, 799),
        ];
        self.size() == (1280, 800) && shades == [WHITE, WHITE, BLACK, BLACK]
    }
}

fn kms_draw() -> String {
    let program = guest_program("tests/guest/kms_draw.c", Link::Static);
    program.display().to_string()
}

/// The picture of a run with these arguments behind `--screen OUT`, and what it printed.
fn screen_of(args: &[&str]) -> (Picture, String) {
    let (picture, run) = shown(args);
    assert!(!run.stderr.contains("gil: "), "{}", run.stderr);
    (picture, run.stdout)
}

#[test]
fn what_a_program_showed_is_on_the_picture() {
    let program = kms_draw();
    for args in [
        &[&program[..]][..],
        &["--boot", &program],
        &[&program, "20"],
    ] {
        let (picture, said) = screen_of(args);
        assert!(picture.is_kms_draws(), "{args:?}");
        assert_eq!(
            (picture.size(), said.lines().next()),
            ((1280, 800), Some("1280x800"))
        );
    }
}

#[test]
fn the_display_has_the_size_that_was_asked_for() {
    for size in ["200x200", "801x601", "4095x2160"] {
        let (picture, said) = screen_of(&["--screen-size", size, &kms_draw()]);
        let (width, height) = picture.size();
        assert!(
            picture.is_kms_draws() && said == format!("{width}x{height}\n"),
            "{said}"
        );
        assert_eq!(format!("{width}x{height}"), size);
    }
}

#[test]
fn what_a_program_wrote_to_the_framebuffer_stays_on_it() {
    let (picture, _) = screen_of(&["sh", "-c", FILL]);
    assert!(picture.is_filled());
}

/// The kernel's console comes back between them.
#[test]
fn the_program_that_drew_last_is_seen() {
    let program = kms_draw();
    let file = format!("{program}:/draw");
    for (script, is_fill) in [
        ("/draw; echo end", false),
        ("/draw; FILL", true),
        ("FILL; /draw", false),
    ] {
        let script = script.replace("FILL", FILL);
        let (picture, _) = screen_of(&["--file", &file, "sh", "-c", &script]);
        assert_eq!(picture.is_filled(), is_fill, "{script}");
        assert_eq!(picture.is_kms_draws(), !is_fill, "{script}");
    }
}

#[test]
fn without_a_mode_the_consoles_black_is_seen() {
    let (picture, said) = screen_of(&["ls", "/dev/dri/card0", "/dev/fb0"]);
    assert_eq!(said, "/dev/dri/card0\n/dev/fb0\n");
    assert_eq!(picture.size(), (1280, 800));
    assert!(picture.is_black());
}

#[test]
fn two_runs_at_once_have_a_display_each() {
    let other = thread::spawn(|| screen_of(&["sh", "-c", FILL]));
    assert!(screen_of(&[&kms_draw()]).0.is_kms_draws());
    assert!(other.join().unwrap().0.is_filled());
}

#[test]
fn without_the_option_there_is_no_display() {
    let run = Run::new(["sh", "-c", "ls -d /dev/dri /dev/fb* 2>/dev/null"]).finish();
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:#?}");
}

#[test]
fn pictures_are_taken_at_regular_simulated_times() {
    let work = tempfile::tempdir().unwrap();
    let out = work.path().join("out.png");
    let script = format!("sleep 0.35; {FILL}; sleep 100.3");
    let options = ["--screen", out.to_str().unwrap(), "--screen-every", "10s"];
    let run = Run::new(options.into_iter().chain(["sh", "-c", &script]))
        .finish()
        .ok();
    assert_eq!(run.stderr, "");
    let path = |number: u32| work.path().join(format!("out-{number:04}.png"));
    assert!((1..=10).all(|number| Picture::read(&path(number)).is_filled()));
    assert!(!path(11).exists() && Picture::read(&out).is_filled());
}

#[test]
fn a_run_that_is_ended_leaves_what_was_seen() {
    let work = tempfile::tempdir().unwrap();
    let out = work.path().join("out.png");
    let script = format!("{FILL}; sleep 1; echo drawn; while :; do :; done");
    let args = ["--screen", out.to_str().unwrap(), "sh", "-c", &script];
    let (mut child, _folder) = Run::new(args).start();
    let mut drawn = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut drawn).unwrap();
    assert_eq!(drawn, "drawn\n");
    let pid = Pid::from_raw(child.id().cast_signed());
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    assert!(Picture::read(&out).is_filled());
}

#[test]
fn what_cannot_be_is_said_before_the_run() {
    let work = tempfile::tempdir().unwrap();
    let folder = work.path().to_str().unwrap();
    for (options, said) in [
        (
            &["--screen", "/nowhere/out.png"][..],
            "--screen /nowhere/out.png cannot be written",
        ),
        (&["--screen", folder], "--screen"),
        (
            &["--screen", "o.png", "--screen-size", "0x0"],
            "such as 1920x1080",
        ),
        (
            &["--screen", "o.png", "--screen-size", "99999x99999"],
            "such as 1920x1080",
        ),
        (
            &["--screen", "o.png", "--screen-every", "1us"],
            "100ms or 2s",
        ),
        (&["--screen-size", "640x480"], "--screen"),
        (&["--screen-every", "1s"], "--screen"),
        (
            &["--sim", "gem5", "--screen", "o.png"],
            "--screen is an option of QEMU",
        ),
        (
            &["--sim", "gem5", "--display"],
            "--display is an option of QEMU",
        ),
    ] {
        let run = Run::new(options.iter().chain(&["true"])).finish();
        assert_eq!(run.code, Some(125), "{options:?}: {run:#?}");
        assert!(run.stderr.contains(said), "{options:?}: {}", run.stderr);
        assert!(!run.report["program"]["started"].as_bool().unwrap_or(false));
    }
    assert!(!Path::new("o.png").exists());
}

/// The body of an answer to `GET`.
fn get(host: &str, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|end| end == b"\r\n\r\n")
        .unwrap();
    answer.split_off(end + 4)
}

#[test]
fn a_page_shows_the_display_while_the_program_runs() {
    let script = format!("{FILL}; sleep 1; echo drawn; read line");
    let mut run = Run::new(["--display", "-i", "sh", "-c", &script]);
    run.command().stdin(Stdio::piped());
    let (mut child, _folder) = run.start();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let address = line.trim().rsplit("http://").next().unwrap();
    let (host, path) = address.split_at(address.find('/').unwrap());
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut drawn = String::new();
    stdout.read_line(&mut drawn).unwrap();
    assert_eq!(drawn, "drawn\n", "{line}");
    let page = get(host, path);
    assert!(String::from_utf8_lossy(&page).contains("screen.png"));
    assert!(Picture::of(&get(host, &format!("{path}screen.png"))).is_filled());
    assert!(get(host, "/screen.png").is_empty());
    drop(child.stdin.take());
    assert!(child.wait().is_ok());
    assert!(TcpStream::connect(host).is_err());
}

/// Debian's own program, with Debian's renderer for the guest's CPU: libgbm and GLVND
/// pass gil over. Its standard input stays open, whose end it takes for a key.
#[test]
fn kmscube_draws_a_cube_with_the_guests_cpu() {
    let script = "sleep 99 | kmscube -c 10";
    let packages = ["--package-platforms", "--pkg", "kmscube"];
    let renderer = ["--pkg", "libgl1-mesa-dri"];
    let mesa = "__EGL_VENDOR_LIBRARY_FILENAMES=/usr/share/glvnd/egl_vendor.d/50_mesa.json";
    let passed_over = ["--env", "GBM_BACKENDS_PATH=/none", "--env", mesa];
    let program = ["sh", "-c", script];
    let args = [&packages[..], &renderer, &passed_over, &program].concat();
    let (picture, _) = screen_of(&args);
    is_kmscubes(&picture);
}
