//! The kernel's own panfrost and lima, which drive a GPU whose registers are gil's, and
//! Debian's Mesa on them. The board stands in for a GPU: it reads what each job names,
//! executes what needs no shader, and takes scripted times. Nothing is drawn.

use gil_tests::stand_in::{Board, is_slowed_beside_another, jobs};
use gil_tests::{Link, Run, Width, both_widths, guest_program, guest_program_of};

const EXAMPLES: [(&str, Link); 5] = [
    ("gles-quads", Link::Gles),
    ("gles-shape", Link::Gles),
    ("gles-fog", Link::Gles),
    ("gles-rubik", Link::Gles),
    ("gles1-fog", Link::Gles1),
];
const FRAMES: usize = 200;

/// The examples submit their frames to the end; the board executes each job once.
fn draws(gpu: &str, renderer: &str, times: &[(&str, u64)]) {
    let script: Vec<_> = times.iter().map(|(it, ns)| format!("{it}={ns}")).collect();
    let board = Board::new(&script.join(";"), 30_000);
    for (name, link) in EXAMPLES {
        let before: Vec<_> = times.iter().map(|it| jobs(&board.log(), it.0)).collect();
        let program = guest_program(&format!("examples/{name}/{name}.c"), link);
        let program = program.display().to_string();
        let frames = FRAMES.to_string();
        let run = board.run_as(["--gpu", gpu], &[], &[&program, &frames]).ok();
        let first = run.stdout.lines().next().unwrap_or_default();
        assert!(first.ends_with(&format!(" on {renderer}")), "{run:#?}");
        assert!(run.stdout.contains(": PASS"), "{run:#?}");
        for ((processor, ns), before) in times.iter().zip(before) {
            let more = jobs(&board.log(), processor) - before;
            assert!(more >= FRAMES, "{name}: {more} jobs on {processor}");
            let all = run.integer("/simulated/gpu_ns");
            assert!(all >= i128::from(*ns) * more as i128, "{name}: {all} ns");
        }
    }
}

#[test]
fn the_kernels_panfrost_submits_the_examples_jobs() {
    let times = [("slot1", 20_000), ("slot0", 90_000)];
    draws("mali-t628", "Mali-T620 (Panfrost)", &times);
}

#[test]
fn the_kernels_lima_submits_the_examples_jobs() {
    draws("mali-400", "Mali400", &[("gp", 20_000), ("pp", 90_000)]);
}

/// A program that calls the driver directly, to its end; the board's log.
fn says(width: Width, (source, arguments): (&str, &[&str]), times: &str) -> String {
    let board = Board::new(times, 30_000);
    let program = guest_program_of(width, source, Link::Static);
    let program = program.display().to_string();
    let words = [&[&*program], arguments].concat();
    let run = board.run_as(["--gpu", "mali-t628"], &[], &words).ok();
    assert!(run.stdout.contains("ok "), "{run:#?}");
    assert!(!run.stdout.contains("not ok"), "{run:#?}");
    board.log()
}

both_widths! {
    /// The same program as with gil's driver in the kernel's place: interrupts come within
    /// 20 us of the script's times, and refusals are the real driver's.
    fn jobs_end_when_the_script_says_and_refusals_are_the_kernels(width: Width) {
        let program: (_, &[_]) = ("tests/guest/panfrost_jobs.c", &["3000"]);
        let log = says(width, program, "slot0=3000000;slot1=3000000");
        assert!(log.contains(" fails: no value's place at GPU address 0x1000"), "{log}");
    }

    fn what_panfrosts_jobs_write_is_there_however_it_is_waited_for(width: Width) {
        says(width, ("tests/guest/panfrost_data.c", &[]), "slot0=300000;slot1=300000");
    }
}

/// A job descriptor: its GPU address, type and status.
type Header = (u64, u32, u32);

/// Types of jobs, as Mesa's `pandecode` prints them, by number (its `genxml/common.xml`).
const TYPES: [(&str, u32); 8] = [
    ("Null", 1),
    ("Write value", 2),
    ("Cache flush", 3),
    ("Compute", 4),
    ("Vertex", 5),
    ("Geometry", 6),
    ("Tiler", 7),
    ("Fragment", 9),
];

/// What Mesa decoded of each job when it had ended.
fn traced(text: &str) -> Vec<Header> {
    let mut all: Vec<Header> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Job Header (") {
            let address = rest.split(')').next().unwrap_or_default();
            all.push((u64::from_str_radix(address, 16).unwrap(), 0, 0));
        }
        let Some(header) = all.last_mut() else {
            continue;
        };
        if let Some(status) = line.strip_prefix("  Exception Status: ") {
            header.2 = status.parse().unwrap();
        }
        // The first in a header is the job's.
        if let (0, Some(name)) = (header.1, line.strip_prefix("  Type: ")) {
            let found = TYPES.iter().find(|it| it.0 == name);
            header.1 = found.unwrap_or_else(|| panic!("{name}")).1;
        }
    }
    all
}

/// What the board executed, in order.
fn executed(log: &str) -> Vec<Header> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    };
    let header = |line: &str| {
        let rest = line.split("job header at ").nth(1)?;
        let (address, rest) = rest.split_once(": type ")?;
        let (kind, status) = rest.split_once(", status ")?;
        Some((number(address), number(kind) as u32, number(status) as u32))
    };
    log.lines().filter_map(header).collect()
}

/// Mesa decodes its jobs when they have ended, with the status that the GPU wrote.
#[test]
fn mesas_trace_names_the_boards_jobs_in_order_with_their_status() {
    let board = Board::new("slot1=20000;slot0=90000", 30_000);
    let program = guest_program("examples/gles-rubik/gles-rubik.c", Link::Gles);
    let file = format!("{}:/root/draw", program.display());
    let script =
        "cd /root && PAN_MESA_DEBUG=trace,sync ./draw 5 >/dev/null && cat pandecode.dump.*";
    let options = ["--file", &file];
    let run = board.run_as(["--gpu", "mali-t628"], &options, &["sh", "-c", script]);
    let traced = traced(&run.ok().stdout);
    assert!(traced.len() > 20, "{traced:?}");
    assert_eq!(executed(&board.log()), traced);
}

#[test]
fn a_job_beside_another_lasts_by_the_boards_profile() {
    is_slowed_beside_another(["--gpu", "mali-t628"]);
}

/// The kernel's driver gives such a job up after a while, resets the GPU, and goes on.
#[test]
fn a_job_that_does_not_end_is_the_drivers_to_give_up() {
    let board = Board::new("slot1=20000;slot0=never,90000", 300);
    let program = guest_program("examples/gles-quads/gles-quads.c", Link::Gles);
    let file = format!("{}:/root/draw", program.display());
    let script = "/root/draw 3 && dmesg | grep -c 'gpu sched timeout, js=0'";
    let options = ["--file", &file];
    let run = board.run_as(["--gpu", "mali-t628"], &options, &["sh", "-c", script]);
    let run = run.ok();
    assert!(run.stdout.contains(": PASS"), "{run:#?}");
    let last = run.stdout.lines().last().unwrap();
    assert!(last.parse::<u32>().unwrap() > 1, "{run:#?}");
}

/// Two programs at once; then the driver is unloaded, loaded again, and draws.
#[test]
fn two_programs_draw_and_the_driver_can_be_loaded_again() {
    for (gpu, module) in [("mali-t628", "panfrost"), ("mali-400", "lima")] {
        let board = Board::new("slot1=20000;slot0=90000;gp=20000;pp=90000", 30_000);
        let program = guest_program("examples/gles-quads/gles-quads.c", Link::Gles);
        let file = format!("{}:/root/draw", program.display());
        let script = format!(
            "/root/draw 20 & /root/draw 20; wait; rmmod {module} && ! ls /dev/dri 2>/dev/null && \
             insmod /usr/lib/gil/{module}.ko && /root/draw 2"
        );
        let options = ["--file", &file];
        let run = board.run_as(["--gpu", gpu], &options, &["sh", "-c", &script]);
        let run = run.ok();
        assert_eq!(run.stdout.matches(": PASS").count(), 3, "{run:#?}");
    }
}

/// A start register's store and the driver's function that does it: as many of each, on
/// Mali-400 one for the four pixel processors.
#[test]
fn the_same_starts_are_seen_by_the_drivers_symbols() {
    let board = Board::new("slot1=20000;slot0=90000;gp=20000;pp=90000", 30_000);
    let program = guest_program("examples/gles-quads/gles-quads.c", Link::Gles);
    let program = program.display().to_string();
    for (gpu, functions, starts) in [
        ("mali-t628", &["panfrost:panfrost_job_run"][..], &[1][..]),
        (
            "mali-400",
            &["lima:lima_gp_task_run", "lima:lima_pp_task_run"],
            &[1, 4],
        ),
    ] {
        let options: Vec<_> = functions.iter().flat_map(|it| ["--watch", it]).collect();
        let run = board
            .run_as(["--gpu", gpu], &options, &[&program, "5"])
            .ok();
        let seen = |function: &&str| run.stderr.matches(&format!("{function}(")).count();
        let seen = functions.iter().map(seen).zip(starts);
        let all: usize = seen.map(|(count, starts)| count * starts).sum();
        let processors = run.report.pointer("/jobs/processors").unwrap();
        let jobs = processors.as_array().unwrap().iter().map(|it| &it["jobs"]);
        let jobs: u64 = jobs.map(|it| it.as_u64().unwrap()).sum();
        assert!(all > 9, "{run:#?}");
        assert_eq!(all as u64, jobs, "{gpu}");
    }
}

#[test]
fn a_board_that_has_no_such_gpu_is_refused_before_the_guest_boots() {
    let run = Run::new(["--gpu", "mali-t628", "true"]).finish();
    assert_eq!(run.code, Some(125), "{run:#?}");
    assert!(run.stderr.contains("serves no panfrost driver"), "{run:#?}");
    assert!(
        run.stderr.contains("or leave --driver or --gpu out"),
        "{run:#?}"
    );
}

/// The guest's driver would give up job after job, of which Mesa notices nothing.
#[test]
fn a_board_that_is_lost_in_mid_job_ends_the_run() {
    let board = Board::new("slot1=20000;slot0=90000,90000,never", 60_000);
    let program = guest_program("examples/gles-quads/gles-quads.c", Link::Gles);
    let program = program.display().to_string();
    let run = board.run_as(
        ["--gpu", "mali-t628"],
        &["--board-timeout", "2"],
        &[&program, "20"],
    );
    assert_eq!(run.code, Some(125), "{run:#?}");
    assert!(
        run.stderr.contains("is not executed: the board is gone"),
        "{run:#?}"
    );
    assert!(!run.stdout.contains("PASS"), "{run:#?}");
}
