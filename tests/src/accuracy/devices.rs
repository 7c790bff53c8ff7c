//! A plain discrete-event simulation of a GPU's processors: a heap of moments, and what is
//! at work. It shares nothing with gil's timeline, which it is the reference for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A job as it reaches the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The number of its processor.
    pub processor: usize,
    /// When the driver starts it.
    pub submitted_ns: u64,
    /// What it takes where no other processor is at work.
    pub alone_ns: u64,
}

/// When a job is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its start.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

/// Executes jobs, each processor one at a time, in the order in which they were started. A
/// job that begins while another processor is at work lasts `factor` times as long; of
/// several that begin at the same moment, the first in the list is not slowed by the rest.
pub fn simulate(jobs: &[Job], factor: f64) -> Vec<Span> {
    let mut devices = Devices {
        jobs,
        factor,
        is: vec![Is::Waiting; jobs.len()],
        moments: jobs.iter().map(|job| Reverse(job.submitted_ns)).collect(),
    };
    devices.run();
    devices.is.into_iter().filter_map(Is::span).collect()
}

#[derive(Clone, Copy, Debug)]
enum Is {
    Waiting,
    AtWork(Span),
    Over(Span),
}

impl Is {
    fn span(self) -> Option<Span> {
        match self {
            Self::Waiting => None,
            Self::AtWork(span) | Self::Over(span) => Some(span),
        }
    }
}

struct Devices<'j> {
    jobs: &'j [Job],
    factor: f64,
    is: Vec<Is>,
    moments: BinaryHeap<Reverse<u64>>,
}

impl Devices<'_> {
    fn run(&mut self) {
        while let Some(Reverse(now_ns)) = self.moments.pop() {
            self.end(now_ns);
            self.begin(now_ns);
        }
    }

    fn end(&mut self, now_ns: u64) {
        for is in &mut self.is {
            if let Is::AtWork(span) = *is
                && span.end_ns <= now_ns
            {
                *is = Is::Over(span);
            }
        }
    }

    fn begin(&mut self, now_ns: u64) {
        for (n, job) in self.jobs.iter().enumerate() {
            let waits = matches!(self.is[n], Is::Waiting) && job.submitted_ns <= now_ns;
            if !waits || self.at_work().any(|other| other == job.processor) {
                continue;
            }
            let end_ns = now_ns.saturating_add(self.lasts_ns(job));
            self.is[n] = Is::AtWork(Span {
                start_ns: now_ns,
                end_ns,
            });
            self.moments.push(Reverse(end_ns));
        }
    }

    /// Processors.
    fn at_work(&self) -> impl Iterator<Item = usize> {
        let all = self.jobs.iter().zip(&self.is);
        let at_work = all.filter(|(_, is)| matches!(is, Is::AtWork(_)));
        at_work.map(|(job, _)| job.processor)
    }

    /// A job that begins now; its own processor is free.
    fn lasts_ns(&self, job: &Job) -> u64 {
        if self.at_work().next().is_none() {
            return job.alone_ns;
        }
        (job.alone_ns as f64 * self.factor).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(jobs: &[(usize, u64, u64)], factor: f64) -> Vec<(u64, u64)> {
        let job = |&(processor, submitted_ns, alone_ns)| Job {
            processor,
            submitted_ns,
            alone_ns,
        };
        let jobs: Vec<_> = jobs.iter().map(job).collect();
        let spans = simulate(&jobs, factor);
        spans.iter().map(|it| (it.start_ns, it.end_ns)).collect()
    }

    #[test]
    fn a_processor_executes_one_job_at_a_time() {
        let jobs = [(0, 10, 100), (0, 20, 50), (1, 30, 10)];
        let expected = [(10, 110), (110, 160), (30, 40)];
        assert_eq!(spans(&jobs, 1.0), expected);
    }

    #[test]
    fn who_begins_beside_another_is_slowed() {
        // The second begins beside the first, the third beside none, the fourth at the
        // moment at which the third ends.
        let jobs = [(0, 0, 100), (1, 50, 100), (0, 400, 10), (1, 410, 10)];
        let expected = [(0, 100), (50, 300), (400, 410), (410, 420)];
        assert_eq!(spans(&jobs, 2.5), expected);
    }

    #[test]
    fn of_those_that_begin_together_the_first_is_not_slowed() {
        let jobs = [(1, 5, 100), (2, 5, 101), (3, 5, 100)];
        assert_eq!(spans(&jobs, 2.1), [(5, 105), (5, 217), (5, 215)]);
    }
}
