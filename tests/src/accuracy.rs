//! How near the frames of a GPU whose registers gil has are to an independent simulation of
//! the times that a script gives its jobs, and how soon the GPU's driver has its interrupts.

pub mod devices;
pub mod gpus;
mod observed;
mod statistics;

pub use observed::{Interrupts, Job};

use crate::stand_in::{Board, profile};
use crate::{Finished, Link, guest_program};
use devices::{Span, simulate};
use gil_stand_in_node::script::Script;
use gpus::Gpu;
use observed::{ends_of_frames, jobs};
use statistics::{Moments, Sorted, differences, gaps};

/// The examples that draw.
pub const EXAMPLES: [(&str, Link); 5] = [
    ("gles-quads", Link::Gles),
    ("gles-shape", Link::Gles),
    ("gles-fog", Link::Gles),
    ("gles-rubik", Link::Gles),
    ("gles1-fog", Link::Gles1),
];

/// How jobs' times are drawn, and how processors slow each other down.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Frames whose times are compared.
    pub frames: usize,
    /// The standard deviation of jobs' times, in hundredths of their mean.
    pub percent: u64,
    /// What times are drawn by.
    pub seed: u64,
    /// How many times as long a job lasts beside another processor's.
    pub factor: f64,
}

/// How far frame times are from the reference's, as shares of those.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameErrors {
    /// Of all frames.
    pub mean: f64,
    /// Of the worst.
    pub most: f64,
}

/// A program's frames.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The mean of frames' times in the run with contention, in nanoseconds.
    pub frame_ns: f64,
    /// The standard deviation of frames' times there, as a share of their mean.
    pub spread: f64,
    /// The same of the reference.
    pub reference_spread: f64,
    /// Of the run with contention.
    pub with_contention: FrameErrors,
    /// Of one whose processors do not slow each other down.
    pub without: FrameErrors,
    /// Of both runs: how long after a job's end its interrupt came.
    pub interrupts: Interrupts,
}

/// One run, and what the reference says to it.
struct Compared {
    jobs: Vec<Job>,
    reference: Vec<Span>,
}

/// Draws a program's frames on a stand-in board, with contention and without, and compares
/// them with the reference. Only the last frame is read, so that frames may overlap.
///
/// # Panics
/// If a run fails, or a processor's jobs do not last as long as the script says.
pub fn measure(gpu: &Gpu, (name, link): (&str, Link), setting: Setting) -> Measured {
    let times = gpu.script(setting.percent);
    let board = Board::seeded(&times, setting.seed, 30_000);
    let script: Script = times.parse().expect("a script");
    let script = script.with_seed(setting.seed);
    let program = guest_program(&format!("examples/{name}/{name}.c"), link);
    let program = format!("{}:/root/draw", program.display());
    let compared = |factor: f64| {
        let run = draw(&board, gpu, &program, (setting.frames, factor));
        compare(gpu, &run, &script, factor)
    };
    let (with, without) = (compared(setting.factor), compared(1.0));
    let frames = |jobs: &[Job], of: &dyn Fn(usize) -> u64| {
        gaps(&ends_of_frames(gpu, jobs, setting.frames, of))
    };
    let seen = |it: &Compared| frames(&it.jobs, &|n| it.jobs[n].handled_ns);
    let reference = frames(&with.jobs, &|n| with.reference[n].end_ns);
    let (moments, expected) = (Moments::of(&seen(&with)), Moments::of(&reference));
    Measured {
        frame_ns: moments.mean,
        spread: moments.deviation / moments.mean,
        reference_spread: expected.deviation / expected.mean,
        with_contention: errors(&seen(&with), &reference),
        without: errors(&seen(&without), &reference),
        interrupts: Interrupts::of(with.jobs.iter().chain(&without.jobs)),
    }
}

fn errors(seen: &[f64], reference: &[f64]) -> FrameErrors {
    let errors = differences(seen, reference);
    FrameErrors {
        mean: Moments::of(&errors).mean,
        most: Sorted::of(errors).most(),
    }
}

/// Draws one frame more than is compared: each lasts from the end of the one before.
fn draw(board: &Board, gpu: &Gpu, program: &str, (frames, factor): (usize, f64)) -> Finished {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = profile(folder.path(), factor);
    let script = format!(
        "mount -t tracefs none /sys/kernel/tracing && cd /sys/kernel/tracing && \
         echo mono >trace_clock && cd events/irq/irq_handler_entry && \
         echo 'name != \"arch_timer\"' >filter && echo 1 >enable && \
         /root/draw --last {} && echo 0 >enable && cat /sys/kernel/tracing/trace",
        frames + 1
    );
    let profile = profile.display().to_string();
    let options = [
        "--list-jobs",
        "--board-profile",
        &profile,
        "--file",
        program,
    ];
    let run = board.run_as(["--gpu", gpu.name], &options, &["sh", "-c", &script]);
    assert!(run.stdout.contains(": PASS"), "{run:#?}");
    run.ok()
}

/// The reference's times of a run's jobs; the report's processors agree with them.
fn compare(gpu: &Gpu, run: &Finished, script: &Script, factor: f64) -> Compared {
    let jobs = jobs(gpu, run);
    let mut counts = vec![0; gpu.processors.len()];
    let mut scripted = |job: &Job| {
        let number = counts[job.processor];
        counts[job.processor] += 1;
        devices::Job {
            processor: job.processor,
            submitted_ns: job.submitted_ns,
            alone_ns: script.time(gpu.processors[job.processor].script, number),
        }
    };
    let scripted: Vec<_> = jobs.iter().map(&mut scripted).collect();
    let reference = simulate(&scripted, factor);
    observed::check_report(gpu, run, &jobs, &reference);
    Compared { jobs, reference }
}
