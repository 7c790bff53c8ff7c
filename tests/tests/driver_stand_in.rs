//! Debian's Mesa on the drivers lima and panfrost, on a board whose nodes stand in for
//! those of a Mali-400 and a Mali-T628: it checks each request, and that what each job
//! names is there. Nothing is drawn.

use gil_tests::stand_in::{Board, is_slowed_beside_another, jobs};
use gil_tests::{Finished, Link, Run, Width, both_widths, guest_program, guest_program_of};

/// The examples that submit jobs there, with so many frames each.
const EXAMPLES: [(&str, Link); 5] = [
    ("gles-quads", Link::Gles),
    ("gles-shape", Link::Gles),
    ("gles-fog", Link::Gles),
    ("gles-rubik", Link::Gles),
    ("gles1-fog", Link::Gles1),
];
const FRAMES: &str = "3";

/// What each job takes on two processors.
const TIMES_NS: [u64; 2] = [200_000, 900_000];

/// The examples submit their jobs, to the end; the board found what each of them names, and
/// the report has the times of the script.
fn draws(driver: &str, renderer: &str, processors: [&str; 2]) {
    let times = processors.iter().zip(TIMES_NS);
    let times: Vec<_> = times.map(|(it, ns)| format!("{it}={ns}")).collect();
    let board = Board::new(&times.join(";"), 30_000);
    for (name, link) in EXAMPLES {
        let before = processors.map(|it| jobs(&board.log(), it));
        let program = guest_program(&format!("examples/{name}/{name}.c"), link);
        let program = program.display().to_string();
        let run = board.run(driver, &[], &[&program, FRAMES]).ok();
        let first = run.stdout.lines().next().unwrap_or_default();
        assert!(first.ends_with(&format!(" on {renderer}")), "{run:#?}");
        assert!(run.stdout.contains(": PASS"), "{run:#?}");
        let mut gpu_ns = 0;
        for (n, processor) in processors.into_iter().enumerate() {
            let more = jobs(&board.log(), processor) - before[n];
            let frames: usize = FRAMES.parse().unwrap();
            assert!(more >= frames, "{name}: {more} jobs on {processor}");
            let executed_ns = TIMES_NS[n] * more as u64;
            let reported = |what| run.integer(&format!("/jobs/processors/{n}/{what}"));
            assert_eq!(reported("jobs"), more as i128, "{run:#?}");
            assert_eq!(reported("execution_ns"), executed_ns.into(), "{run:#?}");
            gpu_ns += executed_ns;
        }
        assert_eq!(run.integer("/simulated/gpu_ns"), gpu_ns.into(), "{run:#?}");
    }
}

/// How many ioctls programs called on the node, and how many calls waited for the board.
fn mirrored(run: &Finished) -> [i128; 2] {
    ["ioctls", "round_trips"].map(|what| run.integer(&format!("/mirrored/{what}")))
}

/// After the first frames, in which each buffer is waited for once before it comes with
/// others, a frame that is read waits for the board once. The smallest frames of lima have
/// four ioctls; of all, at most a fifth waits.
fn seldom_waits(driver: &str) {
    const FIRST: i128 = 10;
    const MORE: i128 = 20;
    let board = Board::new("", 30_000);
    let mut sum = [0, 0];
    for (name, link) in EXAMPLES {
        let program = guest_program(&format!("examples/{name}/{name}.c"), link);
        let program = program.display().to_string();
        let count = |frames: i128| {
            let run = board.run(driver, &[], &[&program, &frames.to_string()]);
            mirrored(&run.ok())
        };
        let (first, all) = (count(FIRST), count(FIRST + MORE));
        let [ioctls, round_trips] = [0, 1].map(|n| all[n] - first[n]);
        let text = format!("{driver}, {name}: {round_trips} of {ioctls}");
        // Which buffers are still used, and made anew therefore, is a matter of wall time.
        let (least, most) = (MORE - 5, MORE + 5);
        assert!((least..=most).contains(&round_trips), "{text}");
        sum = [sum[0] + ioctls, sum[1] + round_trips];
    }
    let [ioctls, round_trips] = sum;
    assert!(round_trips * 5 <= ioctls, "{driver}: {sum:?}");
}

#[test]
fn debians_lima_submits_the_examples_jobs() {
    draws("lima", "Mali400", ["gp", "pp"]);
    seldom_waits("lima");
}

#[test]
fn debians_panfrost_submits_the_examples_jobs() {
    draws("panfrost", "Mali-T620 (Panfrost)", ["slot1", "slot0"]);
    seldom_waits("panfrost");
}

/// EGL says which driver it found. The program ends with an error: there is no display.
#[test]
fn eglinfo_names_the_driver() {
    let board = Board::new("", 30_000);
    for driver in ["lima", "panfrost"] {
        let options = ["--pkg", "mesa-utils-bin"];
        let run = board.run(driver, &options, &["eglinfo.aarch64-linux-gnu"]);
        let line = format!("EGL driver name: {driver}\n");
        assert!(run.stdout.contains(&line), "{run:#?}");
    }
}

/// What a program says of a driver's own calls, in simulated time, on a board whose jobs
/// take these times; the board's log.
fn says(width: Width, program: (&str, &str, &[&str]), (times, limit_ms): (&str, u64)) -> String {
    let (driver, source, arguments) = program;
    let board = Board::new(times, limit_ms);
    let path = guest_program_of(width, source, Link::Static);
    let path = path.display().to_string();
    let words = [&[&*path], arguments].concat();
    let run = board.run(driver, &[], &words).ok();
    assert!(run.stdout.contains("ok "), "{run:#?}");
    assert!(!run.stdout.contains("not ok"), "{run:#?}");
    board.log()
}

/// That of the one job that failed.
fn failure(log: &str) -> &str {
    let mut failed = log.lines().filter(|line| line.contains(" fails: "));
    let first = failed.next().unwrap_or_default();
    assert_eq!(failed.next(), None, "{log}");
    first
}

const PANFROST_JOBS: &str = "tests/guest/panfrost_jobs.c";
const PANFROST_DATA: &str = "tests/guest/panfrost_data.c";
const PANFROST_FETCH: &str = "tests/guest/panfrost_fetch.c";
const SAMPLE_GPU_JOBS: &str = "tests/guest/sample_gpu_jobs.c";
const LIMA_JOBS: &str = "tests/guest/lima_jobs.c";

both_widths! {
    fn panfrosts_jobs_end_when_the_script_says_and_refusals_have_their_errno(width: Width) {
        let times = ("slot0=3000000;slot1=3000000", 30_000);
        let log = says(width, ("panfrost", PANFROST_JOBS, &["3000"]), times);
        let wanted = "no value's place at GPU address 0x1000";
        assert!(failure(&log).ends_with(wanted), "{log}");
    }

    fn what_panfrosts_jobs_write_is_there_however_it_is_waited_for(width: Width) {
        let times = ("slot0=300000;slot1=300000", 30_000);
        says(width, ("panfrost", PANFROST_DATA, &[]), times);
    }

    fn nothing_is_lost_while_threads_submit_wait_and_free(width: Width) {
        let times = ("slot0=300000;slot1=300000", 30_000);
        says(width, ("panfrost", PANFROST_FETCH, &[]), times);
    }

    fn limas_jobs_end_when_the_script_says_and_refusals_have_their_errno(width: Width) {
        let times = ("gp=2000000;pp=5000000", 30_000);
        let log = says(width, ("lima", LIMA_JOBS, &["2000", "5000"]), times);
        let wanted = "no polygon list's command at GPU address 0x1000";
        assert!(failure(&log).ends_with(wanted), "{log}");
    }
}

both_widths! {
    /// A vendor's driver that is no DRM driver has a device and calls of its own, by a table
    /// of the same form.
    fn a_driver_that_is_no_drm_driver_has_its_own_device(width: Width) {
        let times = ("unit=2000000", 30_000);
        let log = says(width, ("sample_gpu", SAMPLE_GPU_JOBS, &["2000"]), times);
        assert!(jobs(&log, "unit") >= 5, "{log}");
    }
}

/// It is for tests: `--driver` does not list it.
#[test]
fn the_sample_is_no_users_driver() {
    let run = Run::new(["--driver", "none", "true"]).finish();
    assert!(
        run.stderr.contains("there are lima, panfrost, virtio_gpu"),
        "{run:#?}"
    );
    assert!(!run.stderr.contains("sample"), "{run:#?}");
}

#[test]
fn panfrosts_jobs_that_do_not_end_are_given_up() {
    let program = ("panfrost", PANFROST_JOBS, &["never"][..]);
    says(Width::Arm64, program, ("slot1=never", 300));
}

/// By a board's profile, a job lasts longer beside another, and only there.
#[test]
fn a_job_beside_another_lasts_by_the_boards_profile() {
    is_slowed_beside_another(["--driver", "panfrost"]);
}
