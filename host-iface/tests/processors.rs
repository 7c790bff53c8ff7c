//! Jobs of a kernel driver on the processors of its GPU: those that overlap last longer,
//! and the report says what each processor did.

mod support;

use gil_host::Config;
use gil_host::config::Time;
use gil_report::Processor;
use gil_timing::Contention;
use gil_uapi::Status;
use gil_wire::api::described;
use gil_wire::envelope::{Class, Engine, Envelope, Queue};
use gil_wire::generated::{lima, virtio_gpu};
use gil_wire::{Op, ending::Ending};
use support::board::{self, Act, FakeBoard, Later};
use support::guest::Guest;
use support::times::CPU;

const GEOMETRY: Engine = Engine::PROCESSOR_FIRST;
const PIXEL: Engine = Engine(GEOMETRY.0 + 1);

/// A job of the script: its processor, when the program submits it, and what it takes on
/// the board, alone.
#[derive(Clone, Copy)]
struct Job {
    engine: Engine,
    entry: u64,
    duration: u64,
}

const fn job(engine: Engine, entry: u64, duration: u64) -> Job {
    Job {
        engine,
        entry,
        duration,
    }
}

/// The second begins while the first is at work, and the third behind the first.
const JOBS: [Job; 3] = [
    job(GEOMETRY, 1_000_000, 40_000),
    job(PIXEL, 1_010_000, 30_000),
    job(GEOMETRY, 1_020_000, 10_000),
];

fn measured(jobs: &[Job], call: &board::Call) -> Act {
    let event = call.event.unwrap_or_default();
    let duration_ns = jobs[event as usize - 1].duration;
    let later = Later {
        event,
        duration_ns,
        ending: Ending::Done,
        ..Later::default()
    };
    Act {
        cpu_ns: CPU,
        reports: match call.finish {
            true => vec![(event, duration_ns, vec![])],
            false => vec![],
        },
        later: vec![later],
        ..Act::default()
    }
}

/// A guest with these jobs under way, numbered from 1 on.
fn guest(op: Op, jobs: &'static [Job], time: Time, factor: f64) -> Guest {
    let board = FakeBoard::new(move |call| measured(jobs, call));
    board.objects.lock().unwrap().apis = Some(described(&[op.api()]));
    let config = Config {
        board: Some(board.address()),
        time,
        contention: Contention::new(factor).unwrap(),
        ..Config::default()
    };
    let mut guest = Guest::with(config, false);
    for (event, job) in (1..).zip(jobs) {
        guest.now_ns = job.entry;
        let queue = Queue {
            id: 1 + u64::from(job.engine.0),
            in_order: true,
            device: 1,
        };
        let envelope = Envelope {
            queue: Some(queue),
            engine: job.engine,
            signals: Some(event),
            observable: true,
            ..Envelope::new(op, Class::Enqueue, job.entry)
        };
        let seen = guest.submit(&[envelope], &[]);
        assert_eq!(seen.status, Status::Ok as u32);
    }
    guest
}

/// Until when a thread waits for a job.
fn deadline(guest: &mut Guest, op: Op, event: u64) -> u64 {
    let wait = Envelope {
        waits: vec![event].into(),
        ..Envelope::new(op, Class::Wait, guest.now_ns)
    };
    guest.submit(&[wait], &[]).deadline_ns
}

/// When each job of the script ends.
fn ends(time: Time, factor: f64) -> [u64; 3] {
    let op = lima::LIMA_GEM_SUBMIT;
    let mut guest = guest(op, &JOBS, time, factor);
    [1, 2, 3].map(|event| deadline(&mut guest, op, event))
}

#[test]
fn jobs_that_overlap_last_longer_by_the_factor() {
    let [first, second] = [0, 1].map(|n: usize| JOBS[n].entry + CPU);
    for time in [Time::Strict, Time::Async] {
        let alone = first + 40_000;
        assert_eq!(ends(time, 1.0), [alone, second + 30_000, alone + 10_000]);
        // The third begins while the second is still at work.
        let slowed = [alone, second + 63_000, alone + 21_000];
        assert_eq!(ends(time, 2.1), slowed);
    }
}

#[test]
fn the_report_has_each_processors_jobs() {
    let op = lima::LIMA_GEM_SUBMIT;
    let mut guest = guest(op, &JOBS, Time::Async, 2.1);
    deadline(&mut guest, op, 3);
    let report = guest.host.finish();
    let jobs = report.jobs.unwrap();
    assert_eq!(jobs.contention, 2.1);
    assert_eq!(jobs.begin_ns, JOBS[0].entry + CPU);
    assert_eq!(jobs.end_ns, JOBS[1].entry + CPU + 63_000);
    let of = |it: &Processor| {
        let whose = format!("{} {}", it.driver, it.name);
        (
            whose,
            it.jobs,
            [it.execution_ns, it.waiting_ns, it.response_ns],
        )
    };
    let found: Vec<_> = jobs.processors.iter().map(of).collect();
    // The third waits from its submission until the first has ended.
    let waiting = 20_000;
    let execution = 40_000 + 21_000;
    let expected = [
        (
            "lima geometry".into(),
            2,
            [execution, waiting, execution + waiting],
        ),
        ("lima pixel".into(), 1, [63_000, 0, 63_000]),
    ];
    assert_eq!(found, expected);
    for processor in &jobs.processors {
        let busy_ns: u64 = processor.busy_ns.iter().sum();
        assert_eq!(busy_ns, processor.execution_ns);
    }
    assert_eq!(report.simulated.gpu_ns, execution + 63_000);
}

/// A driver that does not say which processor executes a job.
#[test]
fn a_gpu_of_one_engine_is_reported_and_not_slowed() {
    const ONE: [Job; 2] = [
        job(Engine::GRAPHICS, 1_000_000, 5_000),
        job(Engine::GRAPHICS, 1_001_000, 5_000),
    ];
    let op = virtio_gpu::VIRTGPU_EXECBUFFER;
    let mut guest = guest(op, &ONE, Time::Async, 3.0);
    assert_eq!(deadline(&mut guest, op, 2), 1_010_000 + CPU);
    let jobs = guest.host.finish().jobs.unwrap();
    let [gpu] = &jobs.processors[..] else {
        panic!("one: {jobs:?}");
    };
    assert_eq!(gpu.name, "GPU");
    assert_eq!(
        (gpu.jobs, gpu.execution_ns, gpu.waiting_ns),
        (2, 10_000, 4_000)
    );
}

#[test]
fn without_a_drivers_jobs_there_is_no_section() {
    let board = FakeBoard::new(support::times::answers);
    let mut guest = support::times::guest(&board);
    guest.submit(&[support::guest::enqueue(1, 1_000_000)], &[]);
    guest.submit(&[support::times::waiting(Class::Wait, &[1])], &[]);
    assert_eq!(guest.host.finish().jobs, None);
}
