//! How much longer a job takes while all processors of a device are at work than alone,
//! both measured in turn: the contention factor of a board's profile.

use crate::board::Board;
use crate::error::BenchError;
use crate::program::{Device, Worker};
use clap::Args;
use gil_board::cli::Confining;
use gil_board_client::agent;
use gil_board_client::profile::Contention;
use gil_wire::address::{Address, AddressError};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Jobs that are measured, one behind the other.
const JOBS: u32 = 8;
/// Jobs before them, for caches and clocks.
const WARM: u32 = 4;
/// Most sessions of the board at once.
const AT_ONCE_MAX: u32 = 64;

/// What to measure on.
#[derive(Clone, Debug, Args)]
pub struct ContentionArgs {
    /// Measure on the board whose agent listens here, instead of on this machine's
    /// device.
    #[arg(long, value_name = "ADDRESS", value_parser = elsewhere)]
    pub board: Option<Address>,
    /// Its key.
    #[arg(long, value_name = "FILE", requires = "board")]
    pub key: Option<PathBuf>,
    /// Jobs at once; as many as the device has processors, unless said otherwise.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(2..=i64::from(AT_ONCE_MAX)))]
    pub jobs: Option<u32>,
    /// How many times to measure.
    #[arg(long, value_name = "NUMBER", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub times: u32,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Contended {
    /// For the board's profile.
    pub contention: Contention,
    /// A job alone: the median of the repetitions' means.
    pub alone: Duration,
    /// One of those at once.
    pub at_once: Duration,
}

/// More than such a part of the factor between the least and the greatest ratio is another program's doing.
const SPREAD_MAX: f64 = 0.5;

impl Contended {
    /// What is to be thought of a factor whose ratios are far apart, if they are.
    pub fn doubt(&self) -> Option<String> {
        let Contention {
            factor,
            least,
            most,
            repetitions,
            ..
        } = self.contention;
        (most - least > factor * SPREAD_MAX).then(|| {
            let more = repetitions.saturating_mul(4).min(1000);
            format!(
                "the ratios are from {least} to {most}, so that the factor is not sure: leave the machine to the measurement, or measure more often, with --times {more}"
            )
        })
    }
}

fn elsewhere(text: &str) -> Result<Address, String> {
    match text {
        "local" => Err("leave it out to measure this machine's own device".into()),
        _ => text
            .parse()
            .map_err(|error: AddressError| error.to_string()),
    }
}

/// Measures the contention of a board's first device; `say` hears of the
/// progress. An agent of this run's own has its files in `folder`.
///
/// # Errors
/// [`BenchError`] says what cannot be measured.
pub fn contention(
    args: &ContentionArgs,
    folder: &Path,
    say: &dyn Fn(&str),
) -> Result<Contended, BenchError> {
    say("asking the board");
    let board = board(args, folder)?;
    let mut first = crate::API.worker(&board)?;
    let device = first.device()?;
    let count = at_once(args, &device)?;
    say(&format!("starting {count} programs on {}", device.name));
    let mut workers = vec![first];
    for _ in 1..count {
        workers.push(crate::API.worker(&board)?);
    }
    let mut pairs = Vec::new();
    for time in 1..=args.times {
        say(&format!(
            "measuring {count} jobs at once on {}, {time} of {}",
            device.name, args.times
        ));
        let alone = all_at_once(&mut workers[..1])?;
        pairs.push((alone, all_at_once(&mut workers)?));
    }
    Ok(summed_up(&pairs, count, device))
}

fn board(args: &ContentionArgs, folder: &Path) -> Result<Board, BenchError> {
    let wanted = match &args.board {
        Some(address) => agent::Board::At(address.clone()),
        None => agent::Board::Own,
    };
    let (key, within) = (args.key.clone(), agent::FIRST_CONTACT);
    let confining = Confining::default();
    let starting = agent::begin(&wanted, key.as_deref(), folder, &confining, within)?;
    let agent = starting.ready()?;
    Ok(Board { agent, key })
}

fn at_once(args: &ContentionArgs, device: &Device) -> Result<u32, BenchError> {
    match (args.jobs, device.processors) {
        (Some(jobs), _) => Ok(jobs),
        (None, 0 | 1) => Err(BenchError::OneProcessor(device.name.clone())),
        (None, processors) => Ok(processors.min(AT_ONCE_MAX)),
    }
}

/// The mean time of a job while all of these have the device work. Each is measured
/// between jobs that are not, and goes on until all are.
fn all_at_once(workers: &mut [Box<dyn Worker + Send>]) -> Result<Duration, BenchError> {
    let count = workers.len();
    let (begin, measured) = (Barrier::new(count), AtomicUsize::new(0));
    let one = |worker: &mut Box<dyn Worker + Send>| {
        begin.wait();
        let took = worker.work(WARM).and_then(|_| worker.work(JOBS));
        measured.fetch_add(1, Ordering::Relaxed);
        let took = took?;
        while measured.load(Ordering::Relaxed) < count {
            worker.work(1)?;
        }
        Ok(took)
    };
    let one = &one;
    let took: Result<Vec<Duration>, BenchError> = std::thread::scope(|scope| {
        let threads = workers.iter_mut();
        let threads: Vec<_> = threads
            .map(|worker| scope.spawn(move || one(worker)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|joined| joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let all: Duration = took?.iter().sum();
    Ok(all / JOBS / u32::try_from(count).unwrap_or(u32::MAX))
}

fn summed_up(pairs: &[(Duration, Duration)], count: u32, device: Device) -> Contended {
    let factor = |(alone, at_once): &(Duration, Duration)| match alone.is_zero() {
        true => 1.0,
        false => at_once.as_secs_f64() / alone.as_secs_f64(),
    };
    let mut factors: Vec<f64> = pairs.iter().map(factor).collect();
    factors.sort_by(f64::total_cmp);
    let at = |place: usize| rounded(factors.get(place).copied().unwrap_or(1.0));
    let repetitions = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
    let contention = Contention {
        // Jobs do not become faster by others: less is the measurement's spread.
        factor: at(factors.len() / 2).max(1.0),
        least: at(0),
        most: at(factors.len().saturating_sub(1)),
        repetitions,
        processors: count,
        jobs: u64::from(repetitions) * u64::from(JOBS) * u64::from(count + 1),
        device: device.name,
    };
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    Contended {
        contention,
        alone: median(pairs.iter().map(|pair| pair.0).collect()),
        at_once: median(pairs.iter().map(|pair| pair.1).collect()),
    }
}

/// Four digits: more are none of what was measured.
fn rounded(factor: f64) -> f64 {
    (factor * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(u64, u64)]) -> Contention {
        let time = Duration::from_micros;
        let pairs = pairs.iter().map(|pair| (time(pair.0), time(pair.1)));
        let pairs: Vec<_> = pairs.collect();
        let device = Device {
            name: "a GPU".into(),
            processors: 4,
        };
        summed_up(&pairs, 4, device).contention
    }

    #[test]
    fn the_factor_is_the_median_of_the_repetitions() {
        let found = of(&[(1460, 3059), (1000, 2000), (1000, 3000)]);
        assert_eq!((found.factor, found.least, found.most), (2.095, 2.0, 3.0));
        assert_eq!((found.repetitions, found.jobs), (3, 3 * 8 * 5));
    }

    #[test]
    fn ratios_that_are_far_apart_are_doubted() {
        let doubt = |pairs: &[(u64, u64)]| {
            let contended = Contended {
                contention: of(pairs),
                alone: Duration::ZERO,
                at_once: Duration::ZERO,
            };
            contended.doubt()
        };
        assert_eq!(doubt(&[(1000, 2000), (1000, 2200), (1000, 2900)]), None);
        let said = doubt(&[(1000, 707), (1000, 1263), (1000, 2471)]).unwrap();
        assert!(
            said.contains("from 0.707 to 2.471") && said.ends_with("--times 12"),
            "{said}"
        );
    }

    #[test]
    fn this_machine_is_no_address() {
        assert!(elsewhere("local").unwrap_err().contains("leave it out"));
        assert!(
            elsewhere("nowhere")
                .unwrap_err()
                .contains("tcp://HOST:PORT")
        );
        assert!(elsewhere("tcp://127.0.0.1:5").is_ok());
    }

    #[test]
    fn a_factor_is_never_below_1() {
        let found = of(&[(1000, 990), (0, 0)]);
        assert_eq!((found.factor, found.least, found.most), (1.0, 0.99, 1.0));
    }

    /// Works as long as it is asked to; `fails` where it does not.
    struct Scripted {
        job: Duration,
        fails: bool,
    }

    impl Worker for Scripted {
        fn device(&mut self) -> Result<Device, BenchError> {
            Err(BenchError::OneProcessor("none".into()))
        }

        fn work(&mut self, jobs: u32) -> Result<Duration, BenchError> {
            match self.fails {
                true => Err(BenchError::OneProcessor("none".into())),
                false => Ok(self.job * jobs),
            }
        }
    }

    fn workers(fails: bool) -> Vec<Box<dyn Worker + Send>> {
        let times = [10, 20, 30].map(Duration::from_millis);
        let each = |job: Duration| -> Box<dyn Worker + Send> {
            let fails = fails && job.as_millis() == 20;
            Box::new(Scripted { job, fails })
        };
        times.into_iter().map(each).collect()
    }

    #[test]
    fn the_mean_is_of_all_jobs_at_once() {
        let mean = all_at_once(&mut workers(false)).unwrap();
        assert_eq!(mean, Duration::from_millis(20));
        assert!(all_at_once(&mut workers(true)).is_err(), "and nobody waits");
    }
}
