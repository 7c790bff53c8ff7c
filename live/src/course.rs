//! The course of a run: what was said of it last, and what changed in the last seconds.

use crate::Lines;
use gil_report::{Live, Report};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Wall time over which rates are taken.
const WINDOW: Duration = Duration::from_secs(2);
/// No answer for so long: the board is busy with a call.
const LONG: Duration = Duration::from_secs(1);

/// What is known of a run.
#[derive(Debug, Default)]
pub struct Course {
    /// The program and its arguments.
    pub title: String,
    /// The last lines that the program wrote.
    pub lines: Lines,
    /// Wall time since the program's start.
    now: Duration,
    /// What was said, from the earliest in the window to the last.
    said: VecDeque<(Duration, Live)>,
    is_over: bool,
}

/// An engine and the share of simulated time in which it was busy.
#[derive(Debug, PartialEq)]
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) share: f64,
}

impl Course {
    /// That of a program, of which nothing is known yet.
    pub fn new(title: String) -> Self {
        Self {
            title,
            ..Self::default()
        }
    }

    /// So much wall time has passed since the program's start.
    pub fn pass(&mut self, now: Duration) {
        self.now = now;
    }

    /// The host interface says this.
    pub fn say(&mut self, live: Live) {
        self.said.push_back((self.now, live));
        let since = self.now.saturating_sub(WINDOW);
        // The last one before the window is where it begins.
        while self.said.get(1).is_some_and(|(at, _)| *at <= since) {
            self.said.pop_front();
        }
    }

    /// The run is over, and this is its report.
    pub fn end(&mut self, report: Report) {
        let mut live = self.last().cloned().unwrap_or_default();
        live.doorbell_ns = report.wall.total_ns;
        live.frames = match report.frames.is_empty() {
            true => live.frames,
            false => report.frames.iter().map(|frames| frames.count).sum(),
        };
        live.queue = Default::default();
        live.report = report;
        self.say(live);
        self.is_over = true;
    }

    /// What was said last.
    pub(crate) fn last(&self) -> Option<&Live> {
        self.said.back().map(|(_, live)| live)
    }

    /// How the run does, in a word or a sentence.
    pub(crate) fn state(&self) -> String {
        let silent = self.said.back().map(|(at, _)| self.now.saturating_sub(*at));
        match silent {
            _ if self.is_over => "ended".into(),
            Some(silent) if silent >= LONG => {
                format!("a call keeps the board busy for {} s", silent.as_secs())
            }
            Some(_) => "running".into(),
            None => "starting".into(),
        }
    }

    /// Calls in a second of wall time and in all, by the APIs' titles.
    pub(crate) fn calls(&self) -> Vec<(&'static str, f64, u64)> {
        let (first, last) = (self.said.front(), self.said.back());
        let before = first.map(|(_, live)| by_api(live)).unwrap_or_default();
        let all = last.map(|(_, live)| by_api(live)).unwrap_or_default();
        let seconds = self.seconds();
        let rate = |title, all: u64| {
            let before = before.get(title).copied().unwrap_or(0);
            per(all.saturating_sub(before) as f64, seconds)
        };
        let all = all.into_iter();
        all.map(|(title, all)| (title, rate(title, all), all))
            .collect()
    }

    /// How busy engines were in the last simulated time.
    pub(crate) fn engines(&self) -> Vec<Share> {
        let (Some((_, first)), Some((_, last))) = (self.said.front(), self.said.back()) else {
            return Vec::new();
        };
        let passed_ns = |live: &Live| live.report.simulated.program_ns;
        let passed = passed_ns(last).saturating_sub(passed_ns(first));
        let share = |engine: &gil_report::Busy| {
            let is_it = |it: &&gil_report::Busy| {
                (it.process, it.device, &it.name) == (engine.process, engine.device, &engine.name)
            };
            let before = first.engines.iter().find(is_it);
            let before_ns = before.map_or(0, |before| before.busy_ns);
            let busy_ns = engine.busy_ns.saturating_sub(before_ns);
            per(busy_ns as f64, passed as f64).min(1.0)
        };
        let all = last.engines.iter();
        all.map(|engine| Share {
            name: name(engine, &last.engines),
            share: share(engine),
        })
        .collect()
    }

    /// Wall seconds between the first and the last that was said.
    fn seconds(&self) -> f64 {
        let at = |said: Option<&(Duration, Live)>| said.map_or(Duration::ZERO, |(at, _)| *at);
        let (first, last) = (at(self.said.front()), at(self.said.back()));
        last.saturating_sub(first).as_secs_f64()
    }
}

/// An engine's name, with its device and process where others have the same.
fn name(engine: &gil_report::Busy, all: &[gil_report::Busy]) -> String {
    let mut name = engine.name.clone();
    if all.iter().any(|other| other.device != engine.device) {
        name += &format!(", device {}", engine.device);
    }
    if let Some(process) = engine.process {
        name += &format!(" of {process}");
    }
    name
}

fn by_api(live: &Live) -> BTreeMap<&'static str, u64> {
    let mut all = BTreeMap::new();
    for entry in &live.report.entries {
        let title = gil_wire::api::api(entry.api).map_or("unknown", |api| api.title);
        *all.entry(title).or_default() += entry.count;
    }
    all
}

fn per(what: f64, each: f64) -> f64 {
    match each > 0.0 {
        true => what / each,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_report::{Busy, Entry};

    fn live(calls: u64, program_ns: u64, busy_ns: u64) -> Live {
        let mut live = Live::default();
        live.report.entries = vec![Entry {
            api: 1,
            count: calls,
            ..Entry::default()
        }];
        live.report.simulated.program_ns = program_ns;
        live.engines = vec![Busy {
            name: "compute".into(),
            busy_ns,
            ..Busy::default()
        }];
        live
    }

    fn course(said: &[(u64, Live)]) -> Course {
        let mut course = Course::new("prog".into());
        for (ms, live) in said {
            course.pass(Duration::from_millis(*ms));
            course.say(live.clone());
        }
        course
    }

    #[test]
    fn rates_are_those_of_the_last_seconds() {
        let said = [
            (0, live(0, 0, 0)),
            (1000, live(1000, 1000, 0)),
            (4000, live(1600, 3000, 500)),
        ];
        let course = course(&said);
        assert_eq!(course.calls(), [("OpenCL", 200.0, 1600)]);
        let busy = course.engines();
        assert_eq!((busy[0].name.as_str(), busy[0].share), ("compute", 0.25));
    }

    #[test]
    fn where_no_time_passed_nothing_is_divided_by_it() {
        let course = course(&[(5, live(7, 100, 90))]);
        assert_eq!(course.calls(), [("OpenCL", 0.0, 7)]);
        assert_eq!(course.engines()[0].share, 0.0);
        assert!(Course::default().calls().is_empty());
    }

    #[test]
    fn a_long_call_is_seen() {
        let mut course = course(&[(500, live(1, 1, 0))]);
        assert_eq!(course.state(), "running");
        course.pass(Duration::from_millis(3600));
        assert_eq!(course.state(), "a call keeps the board busy for 3 s");
        course.end(Report::default());
        assert_eq!(course.state(), "ended");
    }

    #[test]
    fn engines_of_several_devices_say_whose_they_are() {
        let mut said = live(1, 10, 5);
        said.engines.push(Busy {
            device: 1,
            process: Some(42),
            ..said.engines[0].clone()
        });
        let course = course(&[(0, said)]);
        let names: Vec<_> = course.engines().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["compute, device 0", "compute, device 1 of 42"]);
    }
}
