//! Drivers of GPUs at the level of system calls. The board is a machine in QEMU with a
//! virtio GPU, which virgl draws on this machine's CPU: its render node is a real one.

use gil_tests::board_machine::{BoardMachine, lacks_gpu};
use gil_tests::picture::{Picture, is_kmscubes, shown};
use gil_tests::{
    Finished, Link, Run, Width, binary, guest_program, guest_program_of, native_program_with,
};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The examples that draw there.
const EXAMPLES: [(&str, Link); 5] = [
    ("gles-quads", Link::Gles),
    ("gles-shape", Link::Gles),
    ("gles-fog", Link::Gles),
    ("gles-rubik", Link::Gles),
    ("gles1-fog", Link::Gles1),
];
/// So many frames of each.
const FRAMES: &str = "5";

/// What is shown on the board's own display, in either way in which kmscube has buffers for
/// it, with a sum of the frame that is there at its end.
const CUBES: [&str; 2] = ["kmscube -c 3", "kmscube --surfaceless -c 3"];
/// What the shell of the board does after the examples: the other cube, and what Mesa says of
/// itself.
const THEN: &str = "kms_frame kmscube --surfaceless -c 3; echo EGLINFO; \
    (unset EGL_PLATFORM; eglinfo.aarch64-linux-gnu 2>/dev/null); echo EGLEND; ";

/// Whether this machine's QEMU has a GPU for its machines.
fn has_gpu() -> bool {
    let lacks = lacks_gpu();
    if let Some(what) = lacks {
        gil_need::skip(what, "it is in Debian's qemu-system-gui");
    }
    lacks.is_none()
}

fn examples() -> Vec<(PathBuf, &'static str)> {
    let program = |(name, link)| guest_program(&format!("examples/{name}/{name}.c"), link);
    EXAMPLES.map(|example| (program(example), FRAMES)).into()
}

/// What a program printed on the machine's console: its first line with the renderer, its
/// frames' sums, and its last line.
fn printed<'a>(console: &'a str, name: &str) -> Vec<&'a str> {
    let is_first = |line: &&str| !line.starts_with(name);
    let mut lines = console.lines().skip_while(is_first).peekable();
    let mut found: Vec<_> = lines.next().into_iter().collect();
    for line in lines {
        found.push(line);
        if line.starts_with(name) {
            break;
        }
    }
    found
}

#[test]
fn debians_mesa_in_the_guest_draws_what_it_draws_on_the_board() {
    if !has_gpu() {
        return;
    }
    let examples = examples();
    let shows = (kms_frame(), CUBES[0]);
    let first: Vec<_> = examples.iter().cloned().chain([shows]).collect();
    let board = BoardMachine::with_gpu(&first, THEN);
    let console = board.console();
    assert!(console.contains("features: +virgl"), "{console}");
    assert!(console.contains("renderD128"), "{console}");
    is_reached(&board);
    another_driver_is_refused(&board);
    for (program, _) in &examples {
        let there = on_the_board(&console, program);
        assert_eq!(from_the_guest(&board, program), there, "{program:?}");
    }
    let source = "examples/gles-shape/gles-shape.c";
    let narrow = guest_program_of(Width::Armhf, source, Link::Gles);
    let there = on_the_board(&console, &narrow);
    assert_eq!(from_the_guest(&board, &narrow), there, "of 32 bits");
    calls_are_seen(&board);
    the_display_has_the_frames_of_the_boards(&board, &console);
    eglinfo_says_what_it_says_on_the_board(&board, &console);
    what_the_guest_draws_itself_is_shown(&board);
    flips_wait_for_jobs(&board);
    flips_are_done_without_the_board(board);
}

fn kms_frame() -> PathBuf {
    guest_program("tests/guest/kms_frame.c", Link::Static)
}

/// A run of `gil run` with the driver and a display; where its picture will be.
fn with_display(board: &BoardMachine, folder: &Path, args: &[&str]) -> (gil_tests::Run, PathBuf) {
    let out = folder.join("screen.png");
    let shown = out.display().to_string();
    let options = ["--driver", "virtio_gpu", "--screen", &shown];
    (board.run(&[&options, args].concat()), out)
}

/// Debian's kmscube, as it is: the sum of its last frame on the board, of that which a program
/// reads in the guest, and of the picture are one.
fn the_display_has_the_frames_of_the_boards(board: &BoardMachine, console: &str) {
    let sums = console.lines().filter(|line| line.starts_with("frame "));
    let sums: Vec<_> = sums.collect();
    assert_eq!(sums.len(), CUBES.len(), "{console}");
    let program = kms_frame().display().to_string();
    for (cube, on_board) in CUBES.into_iter().zip(sums) {
        // The first as an atomic client.
        let cube = cube.replace("kmscube -c", "kmscube --atomic -c");
        let folder = tempfile::tempdir().unwrap();
        let args = ["--pkg", "kmscube", &program];
        let args: Vec<_> = args.into_iter().chain(cube.split(' ')).collect();
        let (run, out) = with_display(board, folder.path(), &args);
        let run = run.finish().ok();
        let in_guest = run.stdout.lines().find(|line| line.starts_with("frame "));
        assert_eq!(in_guest, Some(on_board), "{cube}: {run:#?}");
        let picture = Picture::read(&out);
        let shown = format!("frame 1280x800 {:016x}", picture.sum());
        assert_eq!(shown, on_board, "{cube}");
        is_kmscubes(&picture);
    }
}

fn eglinfo_says_what_it_says_on_the_board(board: &BoardMachine, console: &str) {
    let lines = console
        .lines()
        .skip_while(|line| *line != "EGLINFO")
        .skip(1);
    let there: Vec<_> = lines.take_while(|line| *line != "EGLEND").collect();
    assert!(there.contains(&"EGL driver name: virtio_gpu"), "{console}");
    let folder = tempfile::tempdir().unwrap();
    let args = ["--pkg", "mesa-utils-bin", "eglinfo.aarch64-linux-gnu"];
    let (run, _) = with_display(board, folder.path(), &args);
    let run = run.finish();
    assert_eq!(run.stdout.lines().collect::<Vec<_>>(), there, "{run:#?}");
}

/// Dumb buffers are the guest's: the picture is that of QEMU's display with its own driver.
fn what_the_guest_draws_itself_is_shown(board: &BoardMachine) {
    let program = guest_program("tests/guest/kms_draw.c", Link::Static);
    let program = program.display().to_string();
    let folder = tempfile::tempdir().unwrap();
    let (run, out) = with_display(board, folder.path(), &[&program, "3"]);
    run.finish().ok();
    let (usual, _) = shown(&[&program, "3"]);
    assert_eq!(Picture::read(&out).sum(), usual.sum());
}

fn kms_flips() -> String {
    let program = guest_program("tests/guest/kms_flips.c", Link::Static);
    program.display().to_string()
}

/// A flip to a frame whose job has not ended is done when it has.
fn flips_wait_for_jobs(board: &BoardMachine) {
    let folder = tempfile::tempdir().unwrap();
    let (run, _) = with_display(board, folder.path(), &[&kms_flips()]);
    let run = run.finish().ok();
    let mut lines = run.stdout.lines();
    assert!(lines.all(|line| line.starts_with("ok ")), "{run:#?}");
}

/// The board goes as a program flips.
fn flips_are_done_without_the_board(board: BoardMachine) {
    let folder = tempfile::tempdir().unwrap();
    let (run, _) = with_display(&board, folder.path(), &[&kms_flips(), "until-it-is-gone"]);
    let (mut child, _reports) = run.start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().transpose().unwrap();
    assert_eq!(first.as_deref(), Some("ok the board is there"));
    drop(board);
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    assert_eq!(rest, ["ok flips are done without the board"]);
    assert!(child.wait().unwrap().success());
}

/// What is seen of the driver's calls is what `tests/tests/watch.rs` sees of the real one's,
/// by the names of its functions.
fn calls_are_seen(board: &BoardMachine) {
    let program = guest_program("tests/guest/drm_calls.c", Link::Static);
    let program = program.display().to_string();
    let options = ["--driver", "virtio_gpu", "--watch-driver", "virtio_gpu"];
    let run = board.run(&[&options[..], &[&program]].concat()).finish();
    assert_eq!(run.code, Some(0), "{run:#?}");
    let lines = run.stderr.lines();
    let calls = lines.filter_map(|line| line.split_once("pid ")?.1.split_once(": "));
    let calls: Vec<_> = calls.map(|(_, call)| call).collect();
    assert_eq!(calls, run.stdout.lines().collect::<Vec<_>>(), "{run:#?}");
}

/// Mesa would draw on the guest's CPU instead.
fn another_driver_is_refused(board: &BoardMachine) {
    let run = board.run(&["--driver", "lima", "true"]).finish();
    assert_eq!(run.code, Some(125), "{run:#?}");
    assert!(run.stderr.contains("serves no lima"), "{run:#?}");
}

/// What an example printed when it ran on the board itself, with the GPU.
fn on_the_board<'a>(console: &'a str, program: &Path) -> Vec<&'a str> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let lines = printed(console, &name);
    let [first, frames @ .., last] = &lines[..] else {
        panic!("{name} printed nothing: {console}");
    };
    assert!(first.contains(" on virgl"), "{lines:#?}");
    assert_eq!(frames.len(), FRAMES.parse::<usize>().unwrap(), "{lines:#?}");
    assert!(last.contains("PASS"), "{lines:#?}");
    lines
}

/// What it prints in the guest, whose driver is the board's.
fn from_the_guest(board: &BoardMachine, program: &Path) -> Vec<String> {
    let program = program.display().to_string();
    let run = board.run(&["--driver", "virtio_gpu", &program, FRAMES]);
    let run = run.finish();
    assert_eq!(run.code, Some(0), "{run:#?}\n{}", board.console());
    assert!(run.integer("/simulated/gpu_ns") > 0, "{:#}", run.report);
    let calls = run.report.to_string();
    assert!(calls.contains("VIRTGPU_EXECBUFFER"), "{calls}");
    run.stdout.lines().map(str::to_owned).collect()
}

/// The agent answers whoever has its key, although the board has no OpenCL.
fn is_reached(board: &BoardMachine) {
    let mut gil = Command::new(binary("gil"));
    gil.args(["ping", "--count", "10", "--key"]);
    let output = gil.arg(board.key()).arg(board.address()).output().unwrap();
    assert!(output.status.success(), "{output:?}\n{}", board.console());
}

/// A driver's calls as one run's watch printed them, waits and polls apart.
#[derive(Debug, Default)]
struct Seen {
    /// Of each process, in the order in which they first called.
    calls: Vec<Vec<String>>,
    /// How often a process waited for a buffer; asking whether it is idle is no wait.
    waits: Vec<usize>,
    /// The command streams, in order, as words.
    streams: Vec<Vec<u32>>,
}

impl Seen {
    fn of(run: &Finished) -> Self {
        let mut processes = BTreeMap::new();
        let mut seen = Self::default();
        let mut handles = Handles::default();
        let lines = run.stderr.lines();
        let calls = lines.filter_map(|line| line.split_once("pid ")?.1.split_once(": "));
        for (process, call) in calls {
            let number = *processes.entry(process).or_insert_with(|| {
                seen.calls.push(Vec::new());
                seen.waits.push(0);
                seen.waits.len() - 1
            });
            if let Some(wait) = call.strip_prefix("VIRTGPU_WAIT(") {
                seen.waits[number] += usize::from(wait.contains("flags=0x0"));
                continue;
            }
            let (call, stream) = apart(call);
            seen.calls[number].push(handles.rename(number, &call));
            seen.streams.extend(stream);
        }
        seen
    }
}

/// A call without its command stream, and that.
fn apart(call: &str) -> (String, Option<Vec<u32>>) {
    let found = call.split_once(" bytes[").and_then(|(before, rest)| {
        let (bytes, behind) = rest.split_once(']')?;
        Some((format!("{before} bytes{behind}"), bytes))
    });
    let Some((call, bytes)) = found else {
        return (call.into(), None);
    };
    let bytes = bytes.split(", ").map(|byte| byte.trim_start_matches("0x"));
    let bytes: Vec<_> = bytes
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    let words = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    (call, Some(words.collect()))
}

/// Numbers of buffers, by when a process first used them.
#[derive(Default)]
struct Handles(BTreeMap<(usize, String), usize>);

impl Handles {
    /// A call whose handles are renamed. Those of a list are numbers between brackets.
    fn rename(&mut self, process: usize, call: &str) -> String {
        let mut in_list = false;
        let renamed = call.split(", ").map(|part| {
            let (before, value) = part.rsplit_once(['=', '[']).unwrap_or(("", part));
            in_list |= part.contains("handles=[");
            let is_handle = in_list || before.ends_with("handle");
            in_list &= !part.ends_with(']');
            let digits = value.trim_end_matches([']', ')']);
            if !is_handle || digits == "0x0" {
                return part.to_owned();
            }
            let next = self.0.len();
            let name = self.0.entry((process, digits.into())).or_insert(next);
            format!("{before} #{name}")
        });
        renamed.collect::<Vec<_>>().join(", ")
    }
}

/// Command streams are the same but for the numbers of resources, which the board's driver
/// chose: each of one side's is always the same one of the other's.
fn streams_agree(own: &Seen, mirror: &Seen) {
    let creates = own.calls.iter().flatten();
    let resources = creates
        .filter(|call| call.starts_with("VIRTGPU_RESOURCE_CREATE("))
        .count();
    let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
    assert_eq!(own.streams.len(), mirror.streams.len());
    for (own, mirror) in own.streams.iter().zip(&mirror.streams) {
        assert_eq!(own.len(), mirror.len());
        for (&own, &mirror) in own.iter().zip(mirror).filter(|(own, mirror)| own != mirror) {
            assert_eq!(*there.entry(own).or_insert(mirror), mirror, "{own:#x}");
            assert_eq!(*back.entry(mirror).or_insert(own), own, "{mirror:#x}");
        }
    }
    assert!(there.len() <= resources, "{there:x?}");
}

/// The same frames, once by the kernel's own driver on QEMU's own GPU and once by the
/// mirror, on a board that has the same GPU: what Mesa asks of either is the same.
#[test]
fn the_mirror_is_asked_what_the_kernels_own_driver_is_asked() {
    if !has_gpu() {
        return;
    }
    let program = guest_program("examples/gles-rubik/gles-rubik.c", Link::Gles);
    let program = program.display().to_string();
    let watch = ["--watch-driver", "virtio_gpu", "--watch-bytes", "1000000"];
    let words = [&watch[..], &[&program, "3"]].concat();
    let own = Run::new([&["--qemu-gpu"], &words[..]].concat());
    let own = own.finish().ok();
    let board = BoardMachine::with_gpu(&[], "");
    let run = board.run(&[&["--driver", "virtio_gpu"], &words[..]].concat());
    let mirror = run.finish().ok();
    assert_eq!(own.stdout, mirror.stdout);
    let (own, mirror) = (Seen::of(&own), Seen::of(&mirror));
    assert!(own.streams.len() >= 3, "{:#?}", own.calls);
    assert_eq!(own.calls, mirror.calls);
    assert_eq!(own.waits, mirror.waits);
    streams_agree(&own, &mirror);
    both_levels_at_once(&board);
}

const BOTH: &str = "tests/guest/gles_and_cl.c";

/// One program computes by gil's library, on an agent of this machine, and draws by the
/// driver, on the board.
fn both_levels_at_once(board: &BoardMachine) {
    let program = guest_program(BOTH, Link::Gles).display().to_string();
    let (at, key) = (board.address(), board.key().display().to_string());
    let (at, key) = (format!("virtio_gpu={at}"), format!("virtio_gpu={key}"));
    let options = ["--driver", "virtio_gpu", "--board", &at, "--key", &key];
    let run = Run::new(
        options
            .iter()
            .chain(&["--board-timeout", "600", &program, "both"]),
    );
    let run = run.finish().ok();
    assert_eq!(run.stdout, natively(), "{}", run.stderr);
    let report = run.report.to_string();
    for call in ["VIRTGPU_EXECBUFFER", "clEnqueueNDRangeKernel"] {
        assert!(report.contains(call), "{call}: {:#}", run.report);
    }
    let boards = run.report.pointer("/boards").and_then(|it| it.as_array());
    let took = |board: &serde_json::Value| board["calls"].as_u64().unwrap_or(0) > 10;
    assert!(
        boards.is_some_and(|boards| boards.len() == 2 && boards.iter().all(took)),
        "{report}"
    );
}

/// What the program prints on this machine, whose OpenGL is the board's, too.
fn natively() -> String {
    let folder = tempfile::tempdir().unwrap();
    let libraries: Vec<_> = Link::Gles.libraries().iter().map(OsStr::new).collect();
    let program = native_program_with(BOTH, folder.path(), &libraries);
    let output = Command::new(program).arg("both").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
