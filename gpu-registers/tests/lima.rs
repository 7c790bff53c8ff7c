//! What `lima.ko` of Linux 6.1 does to the registers, in the order of its own code.

#[path = "support/mod.rs"]
mod support;

use gil_gpu_registers::{
    Access, Effect, Fault, FaultKind, Flush, Gpu, Lost, NotRunning, Outcome, Pause, Processor,
    Range, Reset, Space, Tables, Work,
};
use support::{Machine, Poll, Read, Step, Write};

const PP: [u32; 4] = [0x8000, 0xa000, 0xc000, 0xe000];
const MMU: [u32; 5] = [0x3000, 0x4000, 0x5000, 0x6000, 0x7000];
const EMPTY_VM: u32 = 0x5000_0000;
const VM: u32 = 0x5100_0000;

/// `lima_gp_hw_init`.
const GP_INIT: [Step; 6] = [
    Write(0x2c, 0),
    Write(0x28, 0x8_0000),
    Write(0x20, 0x400),
    Poll(0x24, 0x8_0000, 0x8_0000),
    Write(0x28, 0x78_7fff),
    Write(0x2c, 0x70_6e47),
];

/// `lima_pp_hw_init`.
fn pp_init(pp: u32) -> [Step; 7] {
    [
        Write(pp + 0x1028, 0),
        Write(pp + 0x1020, 0x1fff),
        Write(pp + 0x100c, 0x80),
        Poll(pp + 0x1008, 1, 0),
        Read(pp + 0x1020, 0x1000),
        Write(pp + 0x1024, 0x1fff),
        Write(pp + 0x1028, 0xf19),
    ]
}

/// `lima_mmu_hw_init`.
fn mmu_init(mmu: u32) -> [Step; 7] {
    [
        Write(mmu + 0x08, 6),
        Write(mmu + 0x08, 6),
        Read(mmu, 0),
        Write(mmu + 0x1c, 3),
        Write(mmu, EMPTY_VM),
        Write(mmu + 0x08, 0),
        Poll(mmu + 0x04, 1, 1),
    ]
}

/// `lima_l2_cache_init`, `lima_pmu_init`.
const CACHE_INIT: [Step; 8] = [
    Write(0x200c, 0),
    Write(0x201c, 0xffff),
    Read(0x2008, 0),
    Read(0x1004, 0x0611_0206),
    Write(0x1010, 1),
    Poll(0x1008, 1, 0),
    Write(0x101c, 3),
    Write(0x1018, 0x1c),
];

fn probed() -> Machine {
    let mut machine = Machine::new(Gpu::Mali400);
    machine.run(&CACHE_INIT);
    machine.run(&[Poll(0x6c, 0xffff_0000, 0x0b07_0000)]);
    machine.run(&GP_INIT);
    for pp in PP {
        machine.run(&[Poll(pp + 0x1000, 0xffff_0000, 0xcd07_0000)]);
        machine.run(&pp_init(pp));
    }
    for mmu in MMU {
        machine.run(&[Write(mmu, 0xcafe_babe), Read(mmu, 0xcafe_b000)]);
        machine.run(&mmu_init(mmu));
    }
    machine.effects();
    assert_eq!(machine.lines, 0);
    machine
}

/// What `lima_sched_run_job` does before a task: the cache, then the MMUs.
fn switch(mmus: &[u32]) -> Vec<Step> {
    let mut steps = vec![Write(0x1010, 1), Poll(0x1008, 1, 0)];
    for mmu in mmus {
        steps.extend([
            Write(mmu + 0x08, 2),
            Poll(mmu + 0x04, 4, 4),
            Write(*mmu, VM),
            Write(mmu + 0x08, 4),
            Write(mmu + 0x08, 3),
            Poll(mmu + 0x04, 4, 0),
        ]);
    }
    steps
}

/// `lima_gp_task_run`.
const GP_RUN: [Step; 8] = [
    Write(0x00, 0x1000),
    Write(0x04, 0x1100),
    Write(0x08, 0x2000),
    Write(0x0c, 0x2200),
    Write(0x10, 0x8000),
    Write(0x14, 0x1_8000),
    Write(0x20, 0x10),
    Write(0x20, 0x03),
];

/// `lima_gp_soft_reset_async`, after a task, and its wait before the next.
fn gp_between() -> Vec<Step> {
    GP_INIT.to_vec()
}

fn pp_run(pp: u32, list: u32) -> Vec<Step> {
    let mut steps: Vec<Step> = (0..23).map(|i| Write(pp + i * 4, 0x100 + i)).collect();
    steps[0] = Write(pp, list);
    for unit in 0..3 {
        let base = pp + 0x100 * (unit + 1);
        steps.extend((0..12).map(|i| Write(base + i * 4, 0x1000 * unit + i)));
    }
    steps.push(Write(pp + 0x100c, 0x40));
    steps
}

#[test]
fn the_driver_probes_it() {
    let machine = probed();
    for space in 0..5 {
        let tables = machine.model.tables(Space(space));
        assert_eq!(tables, Tables::Directory { root: EMPTY_VM });
    }
    assert_eq!(machine.model.tables(Space(5)), Tables::Unmapped);
}

#[test]
fn before_a_task_cache_and_tables_are_told() {
    let mut machine = probed();
    machine.run(&switch(&MMU[..1]));
    let (space, root) = (Space(0), VM);
    let tables = Tables::Directory { root };
    let zap = Flush::Space {
        space,
        first: 0,
        last: u32::MAX.into(),
        memory: false,
    };
    assert_eq!(
        machine.effects(),
        [
            Effect::Flush(Flush::Caches),
            Effect::Tables { space, tables },
            Effect::Flush(zap),
        ]
    );
}

#[test]
fn a_gp_task_starts_and_is_done() {
    let mut machine = probed();
    machine.run(&switch(&MMU[..1]));
    machine.run(&GP_RUN);
    let job = machine.job();
    let range = |start, end| Range { start, end };
    let work = Work::Geometry {
        vertex: Some(range(0x1000, 0x1100)),
        plbu: Some(range(0x2000, 0x2200)),
        heap: range(0x8000, 0x1_8000),
    };
    assert_eq!((job.processor, job.work), (Processor::Gp, work));
    assert_eq!(job.tables, Tables::Directory { root: VM });
    machine.run(&[Read(0x68, 0xa)]);
    machine.finish(job.id, Outcome::Done).expect("it runs");
    assert_eq!(machine.lines, 1);
    machine.run(&[Read(0x30, 3), Read(0x68, 0), Write(0x28, 3)]);
    assert_eq!(machine.lines, 0);
    machine.run(&gp_between());
    let reset = Effect::Reset(Reset::Processor(Processor::Gp));
    assert_eq!(machine.effects(), [reset]);
    machine.run(&GP_RUN);
    assert!(machine.job().id > job.id);
}

#[test]
fn a_gp_that_was_started_for_one_part_reports_one_part() {
    let mut machine = probed();
    machine.run(&[Write(0x20, 0x02), Read(0x68, 0x8)]);
    let job = machine.job();
    let Work::Geometry { vertex, plbu, .. } = job.work else {
        panic!("geometry");
    };
    assert_eq!((vertex, plbu), (None, Some(Range::default())));
    machine.run(&[Write(0x20, 0x03)]);
    assert_eq!(machine.started(), [], "it is at work");
    machine.finish(job.id, Outcome::Done).expect("it runs");
    machine.run(&[Read(0x30, 2)]);
}

#[test]
fn a_full_heap_grows_and_the_gp_goes_on() {
    let mut machine = probed();
    machine.run(&GP_RUN);
    let job = machine.job().id;
    machine.pause(job, Pause::OutOfHeap).expect("it runs");
    assert_eq!(machine.lines, 1);
    machine.run(&[Read(0x30, 4), Write(0x2c, 0), Write(0x28, 4)]);
    assert_eq!(machine.lines, 0);
    // `lima_sched_recover_work`, `lima_gp_task_recover`.
    machine.run(&[
        Write(0x1010, 1),
        Write(0x3008, 4),
        Write(0x2c, 0x70_6e47),
        Write(0x10, 0x1_8000),
        Write(0x14, 0x2_8000),
        Write(0x20, 0x10),
    ]);
    let heap = Some(Range {
        start: 0x1_8000,
        end: 0x2_8000,
    });
    let effects = machine.effects();
    assert_eq!(effects.last(), Some(&Effect::Resume { job, heap }));
    machine.finish(job, Outcome::Done).expect("it runs");
    assert_eq!(machine.read(0x30), 3);
}

#[test]
fn four_pps_render_and_each_has_its_line() {
    let mut machine = probed();
    machine.run(&switch(&MMU[1..]));
    machine.effects();
    for (pp, list) in PP.into_iter().zip(0x9000..) {
        machine.run(&pp_run(pp, list));
    }
    let jobs = machine.started();
    assert_eq!(jobs.len(), 4);
    for (index, job) in (0_u8..).zip(&jobs) {
        assert_eq!(job.processor, Processor::Pp(index));
        assert_eq!(job.space, Space(index + 1));
        let Work::Pixels(frame) = &job.work else {
            panic!("a frame");
        };
        assert_eq!(frame.frame[0], 0x9000 + u32::from(index));
        assert_eq!(frame.frame[22], 0x116);
        assert_eq!(frame.write_back[2][11], 0x200b);
    }
    for (index, job) in jobs.iter().enumerate().rev() {
        let base = PP[index];
        machine.run(&[Read(base + 0x1008, 1)]);
        machine.finish(job.id, Outcome::Done).expect("it runs");
        assert_eq!(machine.lines, 1 << (2 * index + 2));
        machine.run(&[Read(base + 0x102c, 1), Write(base + 0x1024, 1)]);
        assert_eq!(machine.lines, 0);
    }
    for pp in PP {
        machine.run(&pp_init(pp));
    }
}

/// `lima_gp_hard_reset`.
const GP_HARD_RESET: [Step; 10] = [
    Write(0x54, 0xc0ff_e000),
    Write(0x2c, 0),
    Write(0x20, 0x200),
    Poll(0x68, 4, 4),
    Write(0x20, 0x20),
    Write(0x54, 0xc01a_0000),
    Read(0x54, 0xc01a_0000),
    Write(0x54, 0),
    Write(0x28, 0x78_7fff),
    Write(0x2c, 0x70_6e47),
];

/// `lima_pp_hard_reset`.
fn pp_hard_reset(pp: u32) -> [Step; 10] {
    [
        Write(pp + 0x1088, 0xc0ff_e000),
        Write(pp + 0x1028, 0),
        Write(pp + 0x100c, 1),
        Poll(pp + 0x1008, 0x10, 0x10),
        Write(pp + 0x100c, 0x20),
        Write(pp + 0x1088, 0xc01a_0000),
        Read(pp + 0x1088, 0xc01a_0000),
        Write(pp + 0x1088, 0),
        Write(pp + 0x1024, 0x1fff),
        Write(pp + 0x1028, 0xf19),
    ]
}

#[test]
fn a_gp_that_hangs_is_reset() {
    let mut machine = probed();
    machine.run(&GP_RUN);
    let job = machine.job().id;
    machine.run(&GP_HARD_RESET);
    let why = Lost::Reset;
    let reset = Effect::Reset(Reset::Processor(Processor::Gp));
    assert_eq!(machine.effects(), [Effect::Lost { job, why }, reset]);
    assert_eq!(machine.finish(job, Outcome::Done), Err(NotRunning(job)));
    assert_eq!(machine.lines, 0);
    machine.run(&GP_RUN);
    machine.job();
}

#[test]
fn a_pp_that_hangs_is_reset_with_its_neighbours() {
    let mut machine = probed();
    machine.run(&pp_run(PP[2], 0x9000));
    let job = machine.job().id;
    for pp in PP {
        machine.run(&pp_hard_reset(pp));
    }
    let why = Lost::Reset;
    let effects = machine.effects();
    assert!(effects.contains(&Effect::Lost { job, why }));
    machine.run(&pp_run(PP[2], 0x9000));
    machine.job();
}

#[test]
fn a_failed_frame_has_its_causes() {
    let mut machine = probed();
    machine.run(&pp_run(PP[0], 0x9000));
    let job = machine.job().id;
    let fault = Outcome::Fault {
        status: 0x200,
        at: 0,
    };
    machine.finish(job, fault).expect("it runs");
    machine.run(&[Read(0x902c, 0x200), Read(0x9008, 0)]);
}

#[test]
fn a_fault_without_a_known_cause_is_a_bus_error() {
    let mut machine = probed();
    machine.run(&GP_RUN);
    let job = machine.job().id;
    let fault = Outcome::Fault { status: 3, at: 0 };
    machine.finish(job, fault).expect("it runs");
    machine.run(&[Read(0x30, 0x800), Read(0x68, 0x40)]);
}

/// `lima_mmu_irq_handler`, then the reset of `lima_sched_timedout_job`.
#[test]
fn a_page_fault_is_reported_and_reset() {
    let mut machine = probed();
    machine.run(&switch(&MMU[..1]));
    machine.run(&GP_RUN);
    let job = machine.job().id;
    let fault = Fault::new(FaultKind::Translation(2), 0x1234_5678, Access::Write);
    machine.pause(job, Pause::Fault(fault)).expect("it runs");
    assert_eq!(machine.lines, 2);
    machine.run(&[
        Read(0x3020, 1),
        Read(0x300c, 0x1234_5678),
        Poll(0x3004, 0x23, 0x23),
        Write(0x301c, 0),
        Write(0x3018, 1),
    ]);
    assert_eq!(machine.lines, 0);
    machine.run(&GP_HARD_RESET);
    machine.run(&[
        Poll(0x3004, 2, 2),
        Write(0x301c, 0),
        Write(0x3000, 0xcafe_babe),
    ]);
    machine.run(&mmu_init(0x3000)[1..]);
    machine.run(&[Poll(0x3004, 2, 0)]);
    let why = Lost::Reset;
    assert!(machine.effects().contains(&Effect::Lost { job, why }));
}

#[test]
fn a_page_fault_that_is_done_lets_the_job_go_on() {
    let mut machine = probed();
    machine.run(&pp_run(PP[1], 0x9000));
    let job = machine.job().id;
    let fault = Fault::new(FaultKind::Translation(1), 0x1000, Access::Read);
    machine.pause(job, Pause::Fault(fault)).expect("it runs");
    assert_eq!(machine.lines, 1 << 5);
    machine.run(&[Write(0x5008, 5), Read(0x5004, 0x19), Write(0x5008, 5)]);
    assert_eq!(machine.effects(), [Effect::Resume { job, heap: None }]);
    machine.finish(job, Outcome::Done).expect("it runs");
}

#[test]
fn tables_outside_memory_are_a_bus_error() {
    let mut machine = probed();
    machine.run(&pp_run(PP[0], 0x9000));
    let job = machine.job();
    let memory = &machine.memory;
    let fault = machine
        .model
        .translate(job.space, 0x9000, Access::Read, memory)
        .expect_err("no memory");
    machine.pause(job.id, Pause::Fault(fault)).expect("it runs");
    machine.run(&[Read(0x4020, 2), Poll(0x4004, 2, 0)]);
}

/// `lima_pmu_hw_fini` and `lima_pmu_hw_init`: suspend and resume.
#[test]
fn power_goes_and_comes() {
    let mut machine = probed();
    machine.run(&[
        Write(0x2004, 0x3f),
        Write(0x2018, 1),
        Read(0x2008, 0x3f),
        Read(0x2010, 0),
        Write(0x2000, 0x3f),
        Poll(0x2010, 1, 1),
        Write(0x2018, 1),
        Read(0x2008, 0),
    ]);
}

#[test]
fn power_that_goes_takes_the_job() {
    let mut machine = probed();
    machine.run(&pp_run(PP[0], 0x9000));
    let job = machine.job().id;
    machine.write(0x2004, 1 << 3);
    assert_eq!(machine.effects(), [], "that is PP1's");
    machine.write(0x2004, 1 << 2);
    let why = Lost::Power;
    assert_eq!(machine.effects(), [Effect::Lost { job, why }]);
    machine.run(&[Read(0x9008, 0), Read(0x902c, 0)]);
}

#[test]
fn units_that_do_not_exist_read_as_nothing() {
    let mut machine = probed();
    for offset in [0x1_0000, 0x2_8000, u32::MAX - 3] {
        machine.write(offset, !0);
        assert_eq!(machine.model.read(0, offset), 0);
    }
    assert!(machine.effects().is_empty());
}

#[test]
fn a_reset_keeps_versions_and_takes_the_rest() {
    let mut machine = probed();
    machine.run(&GP_RUN);
    machine.run(&[
        Write(0x20, 0x200),
        Poll(0x24, 0x1000, 0x1000),
        Write(0x20, 0x20),
        Read(0x24, 0x8_0000),
        Read(0x68, 0),
        Read(0x2c, 0),
        Read(0x10, 0),
        Read(0x6c, 0x0b07_0101),
        Write(0x900c, 1),
        Poll(0x9020, 0x20, 0x20),
        Write(0x900c, 0x40),
        Write(0x8000, 7),
        Write(0x900c, 0x80),
        Read(0x9020, 0x1000),
        Read(0x9008, 0),
        Read(0x8000, 0),
        Read(0x9000, 0xcd07_0101),
    ]);
    let pps = machine.started();
    assert!(pps.iter().all(|job| job.processor == Processor::Gp));
}

#[test]
fn an_mmu_tells_its_tables_and_resets() {
    let mut machine = probed();
    let space = Space(2);
    machine.run(&[Write(0x5008, 1), Read(0x5004, 0x18), Write(0x5008, 0)]);
    let root = EMPTY_VM;
    let told = |tables| Effect::Tables { space, tables };
    let directory = Tables::Directory { root };
    assert_eq!(machine.effects(), [told(Tables::Identity), told(directory)]);
    machine.run(&[
        Write(0x5010, 0x1234_5678),
        Write(0x5008, 6),
        Read(0x5000, 0),
        Read(0x5004, 0x18),
        Read(0x501c, 0),
    ]);
    let zap = Flush::Space {
        space,
        first: 0x1234_5000,
        last: 0x1234_5fff,
        memory: false,
    };
    assert_eq!(
        machine.effects(),
        [
            Effect::Flush(zap),
            Effect::Reset(Reset::Mmu(space)),
            told(Tables::Identity),
        ]
    );
}

#[test]
fn a_stall_waits_for_no_page_fault() {
    let mut machine = probed();
    machine.run(&GP_RUN);
    let job = machine.job().id;
    let fault = Fault::new(FaultKind::Permission(2), 0x1000, Access::Write);
    machine.pause(job, Pause::Fault(fault)).expect("it runs");
    machine.run(&[
        Write(0x3008, 2),
        Read(0x3004, 0x33),
        Write(0x3008, 5),
        Read(0x3004, 0x19),
    ]);
    assert_eq!(machine.effects(), [Effect::Resume { job, heap: None }]);
}

#[test]
fn the_cache_and_the_power_unit_keep_their_settings() {
    let mut machine = probed();
    machine.run(&[
        Read(0x101c, 3),
        Read(0x1018, 0x1c),
        Write(0x1020, 5),
        Read(0x1020, 5),
        Read(0x1010, 0),
        Read(0x201c, 0xffff),
        Write(0x1010, 2),
    ]);
    assert!(machine.effects().is_empty(), "no command");
    machine.write(0x1014, 0x1000);
    assert_eq!(machine.effects(), [Effect::Flush(Flush::Caches)]);
}

#[test]
fn a_pp_flushes_resets_and_starts_nothing_while_its_bus_is_stopped() {
    let mut machine = probed();
    machine.run(&[
        Write(0xf00c, 8),
        Write(0xf00c, 1),
        Write(0xf00c, 0x40),
        Write(0xf00c, 0x20),
    ]);
    let reset = Effect::Reset(Reset::Processor(Processor::Pp(3)));
    assert_eq!(machine.effects(), [Effect::Flush(Flush::Caches), reset]);
    machine.run(&pp_run(PP[3], 0x9000));
    machine.job();
    machine.write(0xf00c, 0x40);
    assert_eq!(machine.started(), [], "it renders already");
}
