//! How long jobs take: for each processor a list of times, which its jobs take in turn,
//! written `gp=100000,200000;pp=never`, in nanoseconds. `90000~10` is a time that is drawn
//! for each job, of this mean and a standard deviation of 10 % of it.

use crate::draw::{Draw, Spread};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Of a processor that has no list.
const USUAL_NS: u64 = 1_000_000;
/// A job that does not end.
pub const NEVER: u64 = u64::MAX;
/// The processors of the devices. The jobs of pixel processors that run each for itself
/// take the times of `pp` where a processor has none of its own.
pub const PROCESSORS: [&str; 9] = [
    "gp", "pp", "slot0", "slot1", "unit", "pp0", "pp1", "pp2", "pp3",
];

/// The times of all processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    times: BTreeMap<String, Vec<Time>>,
    seed: u64,
}

/// A job's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    /// In nanoseconds, or [`NEVER`].
    Fixed(u64),
    Drawn(Spread),
}

/// A text that is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// No such processor.
    #[error("no processor is named {0:?}: they are {names}", names = PROCESSORS.join(", "))]
    Processor(String),
    /// No time.
    #[error("{0:?} is no time: write nanoseconds, nanoseconds~percent, or never")]
    Time(String),
}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let lists = text.split(';').filter(|list| !list.is_empty());
        let times = lists.map(list).collect::<Result<_, _>>()?;
        Ok(Self { times, seed: 0 })
    }
}

fn list(text: &str) -> Result<(String, Vec<Time>), ScriptError> {
    let (name, times) = text.split_once('=').unwrap_or((text, ""));
    if !PROCESSORS.contains(&name) {
        return Err(ScriptError::Processor(name.into()));
    }
    let times = times.split(',').map(time).collect::<Result<_, _>>()?;
    Ok((name.into(), times))
}

fn time(text: &str) -> Result<Time, ScriptError> {
    let number = |part: &str| part.parse().map_err(|_| ScriptError::Time(text.into()));
    match text.split_once('~') {
        _ if text == "never" => Ok(Time::Fixed(NEVER)),
        None => number(text).map(Time::Fixed),
        Some((mean, percent)) => Ok(Time::Drawn(Spread {
            mean_ns: number(mean)?,
            percent: number(percent)?,
        })),
    }
}

impl Script {
    /// The same, whose times are drawn with this seed; 0 unless said otherwise.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The processor whose times the jobs of one take: `pp` for one of the pixel processors
    /// that has none of its own.
    pub fn name<'p>(&self, processor: &'p str) -> &'p str {
        match processor.starts_with("pp") && !self.times.contains_key(processor) {
            true => "pp",
            false => processor,
        }
    }

    /// What the job of this number takes on a processor, from 0.
    pub fn time(&self, processor: &str, job: u64) -> u64 {
        let Some(times) = self.times.get(self.name(processor)) else {
            return USUAL_NS;
        };
        let index = job % times.len().max(1) as u64;
        match times.get(index as usize) {
            None => USUAL_NS,
            Some(Time::Fixed(ns)) => *ns,
            Some(Time::Drawn(spread)) => spread.time(&Draw {
                seed: self.seed,
                processor,
                job,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_takes_its_times_in_turn() {
        let script: Script = "gp=5,7;slot1=never".parse().unwrap();
        let gp: Vec<_> = (0..3).map(|job| script.time("gp", job)).collect();
        assert_eq!(gp, [5, 7, 5]);
        assert_eq!(script.time("slot1", 9), NEVER);
        assert_eq!(script.time("pp", 0), USUAL_NS);
        let script: Script = "pp=5,7;pp3=9".parse().unwrap();
        let second = ["pp", "pp0", "pp3", "slot1"].map(|it| script.time(it, 1));
        assert_eq!(second, [7, 7, 9, USUAL_NS]);
    }

    #[test]
    fn a_time_with_a_spread_is_drawn_for_each_job_by_the_seed() {
        let script: Script = "pp=1000~10,5".parse().unwrap();
        let times = |seed| {
            let script = script.clone().with_seed(seed);
            ["pp0", "pp1"].map(|it| [0, 1, 2, 3].map(|job| script.time(it, job)))
        };
        let [first, second] = times(1);
        assert_eq!((first[1], first[3]), (5, 5));
        assert_ne!(first[0], first[2]);
        assert_ne!(first, second, "each processor's are its own");
        assert!(first.iter().all(|ns| *ns < 1600), "{first:?}");
        assert_eq!(times(1), [first, second]);
        assert_ne!(times(1), times(2));
    }

    #[test]
    fn what_is_no_script_is_refused_in_one_sentence() {
        let refused = |text: &str| text.parse::<Script>().unwrap_err().to_string();
        assert!(refused("cpu=5").contains("gp, pp, slot0, slot1, unit"));
        assert!(refused("gp=soon").contains("nanoseconds"));
        assert!(refused("gp").contains("no time"));
        assert!(refused("gp=5~much").contains("nanoseconds~percent"));
    }
}
