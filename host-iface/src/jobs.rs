//! Jobs on GPUs' processors, for the report: those that kernel drivers were asked to
//! start.

use crate::pace::Pace;
use gil_report::{Job, Jobs, Processor, Rate};
use gil_timing::{Contention, Engine};
use gil_wire::Op;
use gil_wire::api::{Api, api};
use gil_wire::driver::BACK_END;
use gil_wire::ending::Ending;
use std::collections::BTreeMap;

type Interval = gil_timing::Interval<Ending>;

/// Most processors that are reported: a guest may make up devices.
const PROCESSORS_MAX: usize = 64;
/// Most jobs that are listed: the first.
const LIST_MAX: usize = 1 << 16;
/// Slots of simulated time.
const SLOTS: u64 = 512;
/// Nanoseconds of the shortest slot: those of a run become longer with it.
const SLOT_NS: u64 = 1024;

/// Where a job is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    api: u16,
    device: u64,
    engine: u8,
}

impl Place {
    /// That of an operation of a kernel driver; none if it is another API's, or occupies
    /// nothing.
    pub fn of(op: Op, device: u64, engine: Engine) -> Option<Self> {
        let place = Self {
            api: op.api(),
            device,
            engine: engine.0,
        };
        let is_drivers = place.driver().is_some_and(|api| api.back_end == BACK_END);
        (is_drivers && engine != Engine::NONE).then_some(place)
    }

    fn driver(self) -> Option<&'static Api> {
        api(self.api)
    }

    /// The processor's name, by the driver's table.
    fn name(self) -> String {
        if !Engine(self.engine).is_processor() {
            return "GPU".into();
        }
        let number = self.engine - Engine::PROCESSOR_FIRST.0;
        let names = self.driver().map_or(&[][..], |api| api.processors);
        match names.get(usize::from(number)) {
            Some(name) => (*name).into(),
            None => format!("processor {number}"),
        }
    }
}

/// All jobs that ended, or whose end is known.
#[derive(Debug)]
pub struct Ended {
    contention: Contention,
    begin_ns: Option<u64>,
    end_ns: u64,
    slot_ns: u64,
    processors: BTreeMap<Place, Processor>,
    /// Each of them, if they are listed.
    list: Option<Vec<(Place, Interval)>>,
}

impl Ended {
    /// None yet.
    pub fn new(contention: Contention) -> Self {
        Self {
            contention,
            begin_ns: None,
            end_ns: 0,
            slot_ns: SLOT_NS,
            processors: BTreeMap::new(),
            list: None,
        }
    }

    /// None yet; the report will list each.
    pub fn listed(contention: Contention) -> Self {
        Self {
            list: Some(Vec::new()),
            ..Self::new(contention)
        }
    }

    /// A job's interval is known.
    pub fn add(&mut self, place: Place, interval: &Interval, pace: Pace) {
        let is_known = self.processors.contains_key(&place);
        if !is_known && self.processors.len() >= PROCESSORS_MAX {
            return;
        }
        let begin_ns = *self.begin_ns.get_or_insert(interval.submitted_ns);
        self.end_ns = self.end_ns.max(interval.end_ns);
        while interval.end_ns.saturating_sub(begin_ns) / self.slot_ns >= SLOTS {
            self.double_slots();
        }
        if let Some(list) = self.list.as_mut().filter(|list| list.len() < LIST_MAX) {
            list.push((place, *interval));
        }
        let slot_ns = self.slot_ns;
        let processor = self.processors.entry(place);
        let processor = processor.or_insert_with(|| Processor {
            driver: place.driver().map_or("", |api| api.name).into(),
            device: place.device,
            name: place.name(),
            engine: place.engine,
            ..Processor::default()
        });
        count(processor, interval);
        if let Some(hz) = pace.hz() {
            count_rate(&mut processor.rates, hz, interval);
        }
        // One that another session submitted before the first counts from there.
        let since = |at_ns: u64| at_ns.saturating_sub(begin_ns);
        let busy = (since(interval.start_ns), since(interval.end_ns));
        fill(&mut processor.busy_ns, slot_ns, busy);
    }

    fn double_slots(&mut self) {
        self.slot_ns *= 2;
        for processor in self.processors.values_mut() {
            let pairs = processor.busy_ns.chunks(2);
            processor.busy_ns = pairs.map(|pair| pair.iter().sum()).collect();
        }
    }

    /// What the report says of them; nothing if there were none.
    pub fn report(&self) -> Option<Jobs> {
        Some(Jobs {
            contention: self.contention.factor(),
            begin_ns: self.begin_ns?,
            end_ns: self.end_ns,
            slot_ns: self.slot_ns,
            processors: self.processors.values().cloned().collect(),
            list: self.list.iter().flatten().map(|it| self.job(it)).collect(),
        })
    }

    fn job(&self, (place, interval): &(Place, Interval)) -> Job {
        Job {
            processor: self.processors.range(..place).count(),
            submitted_ns: interval.submitted_ns,
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
        }
    }
}

fn count(processor: &mut Processor, interval: &Interval) {
    let response_ns = interval.end_ns.saturating_sub(interval.submitted_ns);
    let sums = [
        (
            &mut processor.execution_ns,
            interval.end_ns.saturating_sub(interval.start_ns),
        ),
        (
            &mut processor.waiting_ns,
            interval.start_ns.saturating_sub(interval.submitted_ns),
        ),
        (&mut processor.response_ns, response_ns),
    ];
    for (sum, own) in sums {
        *sum = sum.saturating_add(own);
    }
    processor.jobs += 1;
    processor.longest_response_ns = processor.longest_response_ns.max(response_ns);
}

/// Counts a job that began at this rate of the clock. A GPU has few rates.
fn count_rate(rates: &mut Vec<Rate>, hz: u64, interval: &Interval) {
    let at = rates.binary_search_by_key(&hz, |rate| rate.hz);
    let at = at.unwrap_or_else(|at| {
        let (jobs, execution_ns) = (0, 0);
        let new = Rate {
            hz,
            jobs,
            execution_ns,
        };
        rates.insert(at, new);
        at
    });
    let rate = &mut rates[at];
    rate.jobs += 1;
    let execution_ns = interval.end_ns.saturating_sub(interval.start_ns);
    rate.execution_ns = rate.execution_ns.saturating_add(execution_ns);
}

/// Adds the time from `start_ns` to `end_ns` to the slots that it is in.
fn fill(slots: &mut Vec<u64>, slot_ns: u64, (start_ns, end_ns): (u64, u64)) {
    let mut at_ns = start_ns;
    while at_ns < end_ns {
        let slot = at_ns / slot_ns;
        let until_ns = end_ns.min((slot + 1).saturating_mul(slot_ns));
        let slot = usize::try_from(slot).unwrap_or(usize::MAX);
        if slots.len() <= slot {
            slots.resize(slot + 1, 0);
        }
        slots[slot] += until_ns - at_ns;
        at_ns = until_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::generated::{lima, opencl, virtio_gpu};
    use proptest::prelude::*;

    const LIMA: Op = lima::LIMA_GEM_SUBMIT;

    fn place(engine: u8) -> Place {
        Place::of(LIMA, 1, Engine(engine)).unwrap()
    }

    fn interval(submitted_ns: u64, start_ns: u64, end_ns: u64) -> Interval {
        Interval {
            queued_ns: submitted_ns,
            submitted_ns,
            start_ns,
            end_ns,
            ending: Ending::Done,
        }
    }

    #[test]
    fn processors_have_the_names_of_the_drivers_table() {
        let names = [8, 9, 10, 4].map(|engine| place(engine).name());
        assert_eq!(names, ["geometry", "pixel", "pixel 1", "GPU"]);
        let gpu = Place::of(virtio_gpu::VIRTGPU_EXECBUFFER, 1, Engine(4));
        assert_eq!(gpu.map(Place::name), Some("GPU".into()));
        assert_eq!(Place::of(LIMA, 1, Engine::NONE), None);
        let opencl = Place::of(opencl::CL_ENQUEUE_ND_RANGE_KERNEL, 1, Engine(1));
        assert_eq!(opencl, None);
    }

    #[test]
    fn sums_are_of_all_jobs_of_a_processor() {
        let mut ended = Ended::new(Contention::new(2.1).unwrap());
        assert_eq!(ended.report(), None);
        ended.add(place(8), &interval(1000, 1000, 1500), Pace::default());
        ended.add(place(9), &interval(1100, 1500, 4000), Pace::default());
        ended.add(place(8), &interval(1200, 1500, 1800), Pace::default());
        let jobs = ended.report().unwrap();
        let span = (jobs.begin_ns, jobs.end_ns, jobs.slot_ns);
        assert_eq!((span, jobs.contention), ((1000, 4000, 1024), 2.1));
        let [geometry, pixel] = &jobs.processors[..] else {
            panic!("two");
        };
        let of = |it: &Processor| {
            let sums = (it.execution_ns, it.waiting_ns, it.response_ns);
            (it.jobs, sums, it.longest_response_ns)
        };
        assert_eq!(of(geometry), (2, (800, 300, 1100), 600));
        assert_eq!(of(pixel), (1, (2500, 400, 2900), 2900));
        assert_eq!(geometry.busy_ns, [800]);
        assert_eq!(pixel.busy_ns, [524, 1024, 952]);
        assert_eq!(jobs.list, [], "nobody asked for them");
    }

    #[test]
    fn each_job_is_listed_with_the_number_of_its_processor() {
        let mut ended = Ended::listed(Contention::NONE);
        ended.add(place(9), &interval(1000, 1100, 1500), Pace::default());
        ended.add(place(8), &interval(1200, 1200, 1800), Pace::default());
        let jobs = ended.report().unwrap();
        let all = jobs.list.iter().map(|job| {
            let name = &*jobs.processors[job.processor].name;
            (name, job.submitted_ns, job.start_ns, job.end_ns)
        });
        let expected = [("pixel", 1000, 1100, 1500), ("geometry", 1200, 1200, 1800)];
        assert_eq!(all.collect::<Vec<_>>(), expected);
    }

    proptest! {
        /// Slots have all of the execution, however long the run becomes.
        #[test]
        fn slots_hold_what_was_executed(
            jobs in prop::collection::vec((0u64..1_000_000, 0u64..100_000), 1..50),
        ) {
            let mut ended = Ended::new(Contention::NONE);
            let mut at_ns = 5;
            for (gap, duration) in jobs {
                let start_ns = at_ns + gap;
                ended.add(place(8), &interval(at_ns, start_ns, start_ns + duration), Pace::default());
                at_ns = start_ns + duration;
            }
            let jobs = ended.report().unwrap();
            let processor = &jobs.processors[0];
            let busy_ns: u64 = processor.busy_ns.iter().sum();
            prop_assert_eq!(busy_ns, processor.execution_ns);
            prop_assert!(processor.busy_ns.len() as u64 <= SLOTS);
            prop_assert!(processor.busy_ns.iter().all(|busy_ns| *busy_ns <= jobs.slot_ns));
        }
    }

    #[test]
    fn the_end_of_time_is_no_fault() {
        let mut ended = Ended::new(Contention::NONE);
        ended.add(place(8), &interval(0, 0, 10), Pace::default());
        ended.add(
            place(8),
            &interval(0, u64::MAX - 5, u64::MAX),
            Pace::default(),
        );
        let jobs = ended.report().unwrap();
        assert!(jobs.processors[0].busy_ns.len() as u64 <= SLOTS);
    }
}
