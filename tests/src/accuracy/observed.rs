//! What a run shows of its jobs: the report's list, and when the guest's kernel entered the
//! driver's handlers.

use super::devices::Span;
use super::gpus::Gpu;
use super::statistics::Sorted;
use crate::Finished;
use gil_report::Jobs;

/// A job, in nanoseconds of the guest's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The number of its processor among the GPU's.
    pub processor: usize,
    /// When the driver started it.
    pub submitted_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// When the driver's handler was entered then, or less than a microsecond before.
    pub handled_ns: u64,
}

/// How long after their jobs' ends interrupts came.
#[derive(Clone, Debug, Default)]
pub struct Interrupts {
    late_ns: Vec<f64>,
}

impl Interrupts {
    /// Those of jobs.
    pub fn of<'j>(jobs: impl Iterator<Item = &'j Job>) -> Self {
        let late_ns = jobs.map(|job| (job.handled_ns - job.end_ns) as f64);
        Self {
            late_ns: late_ns.collect(),
        }
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.late_ns.extend(&other.late_ns);
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.late_ns.len()
    }

    /// The latest, in nanoseconds.
    pub fn most_ns(&self) -> f64 {
        Sorted::of(self.late_ns.clone()).most()
    }

    /// What 99 of 100 do not exceed, in nanoseconds.
    pub fn p99_ns(&self) -> f64 {
        Sorted::of(self.late_ns.clone()).not_exceeded_by(0.99)
    }
}

/// A run's jobs, in the order in which the driver started them.
///
/// # Panics
/// If the run lists none, or one has no interrupt.
pub fn jobs(gpu: &Gpu, run: &Finished) -> Vec<Job> {
    let report = report(run);
    let entries = entries(&run.stdout);
    let job = |listed: &gil_report::Job| {
        let name = &report.processors[listed.processor].name;
        let mut named = gpu.processors.iter();
        let processor = named.position(|it| it.name == name).expect(name);
        let interrupt = gpu.processors[processor].interrupt;
        let mut handled = entries.iter().filter(|entry| entry.name == interrupt);
        let handled = handled.find(|entry| entry.until_ns > listed.end_ns);
        Job {
            processor,
            submitted_ns: listed.submitted_ns,
            end_ns: listed.end_ns,
            handled_ns: handled.expect("an interrupt").until_ns,
        }
    };
    let mut jobs: Vec<_> = report.list.iter().map(job).collect();
    assert!(!jobs.is_empty(), "no jobs are listed: {run:#?}");
    jobs.sort_by_key(|job| job.submitted_ns);
    jobs
}

fn report(run: &Finished) -> Jobs {
    let jobs = run.report["jobs"].clone();
    serde_json::from_value(jobs).unwrap_or_else(|error| panic!("{error}: {run:#?}"))
}

/// A line of the kernel's trace.
struct Entry<'t> {
    /// The interrupt.
    name: &'t str,
    /// The end of the microsecond in which its handler was entered.
    until_ns: u64,
}

/// In the order of time: lines such as
/// ` draw-83 [000] d.h.. 580.174001: irq_handler_entry: irq=31 name=panfrost-job`.
fn entries(text: &str) -> Vec<Entry<'_>> {
    let entry = |line| -> Option<Entry<'_>> {
        let (before, after): (&str, &str) = str::split_once(line, ": irq_handler_entry: ")?;
        let (seconds, micros) = before.rsplit(' ').next()?.split_once('.')?;
        let micros = seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
        Some(Entry {
            name: after.split_once("name=")?.1,
            until_ns: (micros + 1) * 1000,
        })
    };
    text.lines().filter_map(entry).collect()
}

/// When the last so many frames ended, and the one before them, where `ends` has the ends of
/// jobs by their numbers: each frame with the last of its jobs that ends frames, which is
/// one on each of those processors.
///
/// # Panics
/// If these have not as many jobs each, or too few.
pub fn ends_of_frames(
    gpu: &Gpu,
    jobs: &[Job],
    frames: usize,
    ends: &dyn Fn(usize) -> u64,
) -> Vec<u64> {
    let numbered = || jobs.iter().enumerate();
    let of = |processor| {
        let own = numbered().filter(move |(_, job)| job.processor == processor);
        own.map(|(n, _)| ends(n)).collect::<Vec<_>>()
    };
    let all = gpu.processors.iter().enumerate();
    let ending = all.filter(|(_, it)| it.ends_frames).map(|(n, _)| of(n));
    let ends = ending.reduce(|ends, others| {
        assert_eq!(ends.len(), others.len(), "frames of all processors");
        let both = ends.into_iter().zip(others);
        both.map(|(one, other)| one.max(other)).collect()
    });
    let mut ends = ends.unwrap_or_default();
    assert!(ends.len() > frames, "{} frames", ends.len());
    ends.split_off(ends.len() - frames - 1)
}

/// Compares the report's processors with the reference: jobs, execution and waiting.
///
/// # Panics
/// If they differ.
pub fn check_report(gpu: &Gpu, run: &Finished, jobs: &[Job], reference: &[Span]) {
    let report = report(run);
    for (number, processor) in gpu.processors.iter().enumerate() {
        let own = || {
            let both = jobs.iter().zip(reference);
            both.filter(|(job, _)| job.processor == number)
        };
        let mut reported = report.processors.iter();
        let reported = reported.find(|it| it.name == processor.name);
        let reported = reported.unwrap_or_else(|| panic!("{}: {run:#?}", processor.name));
        let sums = (
            own().count() as u64,
            own().map(|(_, span)| span.end_ns - span.start_ns).sum(),
            own()
                .map(|(job, span)| span.start_ns - job.submitted_ns)
                .sum(),
        );
        let seen = (reported.jobs, reported.execution_ns, reported.waiting_ns);
        assert_eq!(seen, sums, "{} {}", gpu.name, processor.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy::gpus::GPUS;

    #[test]
    fn a_traces_lines_are_read() {
        let text = "# tracer: nop\n  draw-83  [000] d.h.. 580.174001: irq_handler_entry: irq=31 name=panfrost-job\n";
        let entries = entries(text);
        assert_eq!(entries.len(), 1);
        let found = (entries[0].name, entries[0].until_ns);
        assert_eq!(found, ("panfrost-job", 580_174_002_000));
    }

    #[test]
    fn a_frame_ends_with_the_last_of_its_pixel_processors() {
        let job = |processor, end_ns| Job {
            processor,
            submitted_ns: 0,
            end_ns,
            handled_ns: end_ns,
        };
        let frame = |at| (0..5).map(move |n| job(n, at + 10 * (n as u64 % 4)));
        let jobs: Vec<_> = [100, 200, 300].into_iter().flat_map(frame).collect();
        let ends = ends_of_frames(&GPUS[1], &jobs, 1, &|n| jobs[n].end_ns);
        assert_eq!(ends, [230, 330]);
    }
}
