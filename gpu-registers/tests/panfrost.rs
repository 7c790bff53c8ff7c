//! What `panfrost.ko` of Linux 6.1 does to the registers, in the order of its own code.

#[path = "support/mod.rs"]
mod support;

use gil_gpu_registers::midgard::{Configuration, Midgard, status};
use gil_gpu_registers::{
    Access, Effect, Fault, FaultKind, Flush, Gpu, JobId, Lost, Model, NotRunning, Outcome, Pause,
    Processor, Reset, Space, Stop, Tables, Work,
};
use support::{Machine, Poll, Read, Step, Write};

const JOB_LINE: u32 = 1 << 0;
const MMU_LINE: u32 = 1 << 1;
const GPU_LINE: u32 = 1 << 2;

/// `panfrost_gpu_soft_reset`.
const SOFT_RESET: [Step; 6] = [
    Write(0x28, 0),
    Write(0x24, 0x100),
    Write(0x30, 1),
    Poll(0x20, 0x100, 0x100),
    Write(0x24, 0x30781),
    Write(0x28, 0x30081),
];

/// `panfrost_gpu_power_on`, with the quirks of T620 before it.
const POWER_ON: [Step; 9] = [
    Write(0xf04, 0x0205_0040),
    Read(0xf08, 0),
    Write(0xf08, 0),
    Write(0x1a0, 1),
    Read(0x160, 1),
    Write(0x180, 0xf),
    Read(0x140, 0xf),
    Write(0x190, 1),
    Read(0x150, 1),
];

/// `panfrost_mmu_reset` and `panfrost_job_enable_interrupts`.
const ENABLE_INTERRUPTS: [Step; 4] = [
    Write(0x2004, !0),
    Write(0x2008, !0),
    Write(0x1004, 0x7_0007),
    Write(0x1008, 0x7_0007),
];

/// `panfrost_gpu_init_features`.
const FEATURES: [Step; 22] = [
    Read(0x004, 0x0610_0206),
    Read(0x008, 0),
    Read(0x00c, 0x809),
    Read(0x010, 1),
    Read(0x014, 0x2830),
    Read(0x0a0, 0x100),
    Read(0x0a4, 0x100),
    Read(0x0a8, 0x100),
    Read(0x0ac, 0x0a04_0400),
    Read(0x300, 0),
    Read(0x018, 0xff),
    Read(0x01c, 7),
    Read(0x100, 0xf),
    Read(0x110, 1),
    Read(0x120, 1),
    Read(0x0b0, 0x00fe_001e),
    Read(0x0b4, 0xffff),
    Read(0x0b8, 0x9f81_ffff),
    Read(0x0c0, 0x20e),
    Read(0x0c4, 0x1fe),
    Read(0x0c8, 0x7e),
    Poll(0x000, 0xffff_0000, 0x0620_0000),
];

fn probed() -> Machine {
    let mut machine = Machine::new(Gpu::MaliT628);
    machine.run(&SOFT_RESET);
    machine.run(&FEATURES);
    machine.run(&POWER_ON);
    machine.run(&ENABLE_INTERRUPTS);
    assert_eq!(machine.effects(), [Effect::Reset(Reset::Gpu)]);
    assert_eq!(machine.lines, 0);
    machine
}

/// `panfrost_mmu_enable` of address space 0: flushes everything, sets the tables.
const ENABLE_SPACE: [Step; 11] = [
    Write(0x2410, 0x3f),
    Write(0x2414, 0),
    Poll(0x2428, 1, 0),
    Write(0x2418, 2),
    Write(0x2418, 5),
    Poll(0x2428, 1, 0),
    Write(0x2400, 0x4000_0007),
    Write(0x2404, 0),
    Write(0x2408, 0x4848_4848),
    Write(0x240c, 0x4848_4848),
    Write(0x2418, 1),
];

/// `panfrost_mmu_disable`.
const DISABLE_SPACE: [Step; 9] = [
    Write(0x2410, 0x3f),
    Write(0x2414, 0),
    Write(0x2418, 2),
    Write(0x2418, 5),
    Write(0x2400, 0),
    Write(0x2404, 0),
    Write(0x2408, 0),
    Write(0x240c, 0),
    Write(0x2418, 1),
];

const LPAE: Tables = Tables::Lpae { root: 0x4000_0000 };

/// `panfrost_job_hw_submit` to a slot, in address space 0.
fn submit(slot: u32, head: u64) -> [Step; 7] {
    let base = 0x1800 + slot * 0x80;
    [
        Read(base + 0x60, 0),
        Write(base + 0x40, head as u32),
        Write(base + 0x44, (head >> 32) as u32),
        Write(base + 0x50, 0xf),
        Write(base + 0x54, 0),
        Write(base + 0x58, 0x0008_3300),
        Write(base + 0x60, 1),
    ]
}

fn ready() -> Machine {
    let mut machine = probed();
    machine.run(&ENABLE_SPACE);
    let space = Space(0);
    let flush = Flush::Space {
        space,
        first: 0,
        last: u64::MAX,
        memory: true,
    };
    let tables = Effect::Tables {
        space,
        tables: LPAE,
    };
    assert_eq!(machine.effects(), [Effect::Flush(flush), tables]);
    machine
}

/// Status, raw and masked causes that the job interrupt's handler reads and clears.
fn handle_job_irq(machine: &mut Machine, causes: u32) {
    assert_eq!(machine.lines & JOB_LINE, JOB_LINE);
    machine.run(&[Read(0x100c, causes), Write(0x1008, 0), Read(0x1000, causes)]);
    for slot in (0..3).filter(|slot| causes >> (16 + slot) & 1 != 0) {
        machine.write(0x1860 + slot * 0x80, 0);
    }
    machine.run(&[
        Write(0x1004, causes),
        Read(0x1000, 0),
        Write(0x1008, 0x7_0007),
    ]);
}

#[test]
fn the_driver_probes_it() {
    probed();
}

#[test]
fn a_lone_reset_raises_the_line_when_it_is_not_masked() {
    let mut machine = Machine::new(Gpu::MaliT628);
    machine.run(&[Write(0x30, 1), Write(0x28, 0x100), Read(0x2c, 0x100)]);
    assert_eq!(machine.lines, GPU_LINE);
    machine.run(&[Write(0x24, 0x100), Read(0x20, 0), Read(0x2c, 0)]);
    assert_eq!(machine.lines, 0);
}

#[test]
fn suspend_and_resume() {
    let mut machine = probed();
    machine.run(&[
        Write(0x1c0, 0xf),
        Read(0x200, 0),
        Read(0x140, 0),
        Write(0x1d0, 1),
        Read(0x210, 0),
        Write(0x1e0, 1),
        Read(0x220, 0),
    ]);
    machine.run(&SOFT_RESET);
    machine.run(&POWER_ON);
    machine.run(&ENABLE_INTERRUPTS);
}

#[test]
fn the_six_core_one_has_its_cores() {
    let mut machine = Machine::of(Model::MaliT628(Box::new(Midgard::new(Configuration::MP6))));
    machine.run(&SOFT_RESET);
    machine.run(&[
        Read(0x100, 0x3f),
        Read(0x120, 0x11),
        Write(0x1a0, 0x1),
        Read(0x160, 0x1),
        Write(0x180, 0xf),
        Read(0x140, 0xf),
    ]);
}

#[test]
fn cores_that_do_not_exist_stay_off() {
    let mut machine = probed();
    machine.run(&[
        Write(0x180, !0),
        Read(0x140, 0xf),
        Write(0x1b0, 1),
        Read(0x170, 0),
    ]);
}

#[test]
fn a_job_starts_and_is_done() {
    let mut machine = ready();
    machine.run(&submit(1, 0x1_0200_0000));
    let job = machine.job();
    assert_eq!(
        (job.processor, job.space, job.tables, job.start_ns),
        (Processor::JobSlot(1), Space(0), LPAE, machine.now_ns)
    );
    let chain = Work::Chain {
        head: 0x1_0200_0000,
        affinity: 0xf,
        config: 0x0008_3300,
        flush_id: 0,
    };
    assert_eq!(job.work, chain);
    machine.run(&[
        Read(0x18e0, 0),
        Read(0x18a4, 0x08),
        Read(0x1880, 0x0200_0000),
        Read(0x1884, 1),
    ]);
    assert_eq!(machine.model.running(), [job.id]);

    machine.finish(job.id, Outcome::Done).expect("it runs");
    handle_job_irq(&mut machine, 0x2);
    machine.run(&[Read(0x18a4, 0x01), Read(0x1010, 0)]);
    assert_eq!(machine.lines, 0);
    assert_eq!(
        machine.finish(job.id, Outcome::Done),
        Err(NotRunning(job.id))
    );
}

#[test]
fn the_next_job_waits_for_the_slot_and_follows_without_an_acknowledgement() {
    let mut machine = ready();
    machine.run(&submit(1, 0x1000));
    let first = machine.job();
    machine.run(&submit(1, 0x2000));
    assert_eq!(machine.started(), []);
    machine.run(&[Read(0x18e0, 1), Read(0x1880, 0x1000)]);
    machine.finish(first.id, Outcome::Done).expect("it runs");
    let second = machine.job();
    assert_eq!(machine.read(0x1880), 0x2000);
    handle_job_irq(&mut machine, 0x2);
    assert_eq!(machine.read(0x1010), 0x2, "the second one runs");
    machine.finish(second.id, Outcome::Done).expect("it runs");
    handle_job_irq(&mut machine, 0x2);
    assert_eq!(machine.read(0x1010), 0);
}

#[test]
fn two_jobs_done_before_one_interrupt() {
    let mut machine = ready();
    machine.run(&submit(0, 0x1000));
    machine.run(&submit(0, 0x2000));
    let first = machine.job();
    machine.finish(first.id, Outcome::Done).expect("it runs");
    let second = machine.job();
    machine.finish(second.id, Outcome::Done).expect("it runs");
    handle_job_irq(&mut machine, 0x1);
    assert_eq!(machine.read(0x1010), 0);
}

#[test]
fn a_failed_job_holds_back_the_next_one_which_the_driver_starts_again() {
    let mut machine = ready();
    machine.run(&submit(1, 0x1000));
    machine.run(&submit(1, 0x2000));
    let first = machine.job();
    let fault = Outcome::Fault {
        status: 0x58,
        at: 0x1040,
    };
    machine.finish(first.id, fault).expect("it runs");
    assert_eq!(machine.started(), []);
    handle_job_irq(&mut machine, 0x2_0000);
    machine.run(&[
        Read(0x18a4, 0x58),
        Read(0x1880, 0x1000),
        Read(0x1888, 0x1040),
        Read(0x1010, 0),
    ]);
    assert_eq!(machine.started(), [], "the driver cancelled it");
    machine.write(0x18e0, 1);
    let Work::Chain { head, .. } = machine.job().work else {
        panic!("a chain");
    };
    assert_eq!(head, 0x2000);
}

#[test]
fn a_next_job_that_nobody_cancelled_starts_at_the_acknowledgement() {
    let mut machine = ready();
    machine.run(&submit(1, 0x1000));
    machine.run(&submit(1, 0x2000));
    let first = machine.job();
    let fault = Outcome::Fault {
        status: 0x42,
        at: 0x1000,
    };
    machine.finish(first.id, fault).expect("it runs");
    machine.write(0x1004, 0x2);
    assert_eq!(machine.started(), [], "that is not its cause");
    machine.write(0x1004, 0x2_0000);
    assert_eq!(machine.job().processor, Processor::JobSlot(1));
    assert_eq!(machine.read(0x1010), 0x2);
}

/// `panfrost_job_timedout`, then `panfrost_reset`.
#[test]
fn a_job_that_never_ends_is_stopped_and_the_gpu_reset() {
    let mut machine = ready();
    machine.run(&submit(0, 0x1000));
    let job = machine.job().id;
    machine.run(&[
        Read(0x1818, 0x0008_3300),
        Read(0x1824, 0x08),
        Write(0x1008, 0),
    ]);
    for slot in 0..3 {
        machine.write(0x1860 + slot * 0x80, 0);
        machine.write(0x1820 + slot * 0x80, 2);
    }
    let how = Stop::Soft;
    assert_eq!(machine.effects(), [Effect::Stop { job, how }]);
    machine.run(&SOFT_RESET);
    let why = Lost::Reset;
    assert_eq!(
        machine.effects(),
        [Effect::Lost { job, why }, Effect::Reset(Reset::Gpu)]
    );
    assert_eq!(machine.finish(job, Outcome::Done), Err(NotRunning(job)));
    machine.run(&POWER_ON);
    machine.run(&ENABLE_INTERRUPTS);
    machine.run(&ENABLE_SPACE);
    machine.effects();
    machine.run(&submit(0, 0x1000));
    assert!(machine.job().id > job);
}

#[test]
fn a_job_that_was_stopped_softly_resumes_at_its_tail() {
    let mut machine = ready();
    machine.run(&submit(0, 0x1000));
    let job = machine.job().id;
    machine.run(&[Write(0x1820, 2), Write(0x1820, 2)]);
    let how = Stop::Soft;
    assert_eq!(machine.effects(), [Effect::Stop { job, how }]);
    machine
        .finish(job, Outcome::Stopped { at: 0x1_0000_1080 })
        .expect("it runs");
    handle_job_irq(&mut machine, 0x1_0000);
    machine.run(&[Read(0x1824, 0x03), Read(0x1808, 0x1080), Read(0x180c, 1)]);
}

/// `panfrost_job_close`.
#[test]
fn a_process_dies_in_mid_job() {
    let mut machine = ready();
    machine.run(&submit(1, 0x1000));
    machine.run(&submit(1, 0x2000));
    let job = machine.job().id;
    machine.run(&[Write(0x18e0, 0), Write(0x18a0, 3)]);
    let how = Stop::Hard;
    assert_eq!(machine.effects(), [Effect::Stop { job, how }]);
    machine.finish(job, Outcome::Terminated).expect("it runs");
    handle_job_irq(&mut machine, 0x2_0000);
    machine.run(&[Read(0x18a4, 0x04), Read(0x1010, 0)]);
    assert_eq!(machine.started(), []);
}

#[test]
fn stops_of_a_flagged_chain_meet_that_chain_only() {
    let mut machine = ready();
    machine.run(&submit(0, 0x1000)[..6]);
    machine.run(&[Write(0x1858, 0x800), Write(0x1860, 1)]);
    let job = machine.job().id;
    machine.run(&[Write(0x1820, 4), Write(0x1820, 5)]);
    assert_eq!(machine.effects(), []);
    machine.run(&[Write(0x1820, 6), Write(0x1820, 7)]);
    let stop = |how| Effect::Stop { job, how };
    assert_eq!(machine.effects(), [stop(Stop::Soft), stop(Stop::Hard)]);
}

#[test]
fn an_address_space_that_does_not_exist_is_a_configuration_fault() {
    let mut machine = ready();
    machine.run(&submit(0, 0x1000)[..6]);
    machine.run(&[Write(0x1858, 0xf), Write(0x1860, 1), Read(0x1824, 0x40)]);
    assert_eq!(machine.started(), []);
    handle_job_irq(&mut machine, 0x1_0000);
}

fn write_fault(address: u64) -> Fault {
    Fault::new(FaultKind::Translation(3), address, Access::Write)
}

/// `panfrost_mmu_irq_handler` until it has read the fault and cleared its cause.
fn handle_mmu_irq(machine: &mut Machine, fault_status: u32, address: u32) {
    assert_eq!(machine.lines & MMU_LINE, MMU_LINE);
    machine.run(&[
        Read(0x200c, 1),
        Write(0x2008, 0),
        Read(0x2000, 1),
        Read(0x241c, fault_status),
        Read(0x2420, address),
        Read(0x2424, 0),
        Write(0x2004, 0x1_0001),
    ]);
}

#[test]
fn a_growing_heap_lets_its_job_go_on() {
    let mut machine = ready();
    machine.run(&submit(1, 0x1000));
    let job = machine.job().id;
    let fault = write_fault(0x20_0000);
    machine.pause(job, Pause::Fault(fault)).expect("it runs");
    handle_mmu_irq(&mut machine, 0x3c3, 0x20_0000);

    // The driver maps 2 MiB there and flushes the range.
    machine.memory.put_u64(0x4000_0000, 0x4000_1003);
    machine.memory.put_u64(0x4000_1000, 0x4000_2003);
    machine.memory.put_u64(0x4000_2008, 0x8000_00c1);
    machine.run(&[
        Write(0x2410, 0x20_0014),
        Write(0x2414, 0),
        Write(0x2418, 2),
        Write(0x2418, 4),
        Write(0x2008, !0),
    ]);
    let flush = Flush::Space {
        space: Space(0),
        first: 0x20_0000,
        last: 0x3f_ffff,
        memory: false,
    };
    assert_eq!(
        machine.effects(),
        [Effect::Flush(flush), Effect::Resume { job, heap: None }]
    );
    assert_eq!(machine.lines, 0);
    machine.finish(job, Outcome::Done).expect("it runs");
}

#[test]
fn a_fault_that_nobody_mends_ends_the_job_when_the_space_goes() {
    let mut machine = ready();
    machine.run(&submit(1, 0x1000));
    let job = machine.job().id;
    let fault = write_fault(0xdead_0000);
    machine.pause(job, Pause::Fault(fault)).expect("it runs");
    handle_mmu_irq(&mut machine, 0x3c3, 0xdead_0000);
    machine.run(&DISABLE_SPACE);
    let effects = machine.effects();
    let why = Lost::Unmapped;
    assert!(effects.contains(&Effect::Lost { job, why }), "{effects:?}");
    machine.write(0x2008, !0x1_0001);
    assert_eq!(machine.lines & MMU_LINE, 0);
    handle_job_irq(&mut machine, 0x2_0000);
    assert_eq!(machine.read(0x18a4), 0x43, "a write failed");
    assert_eq!(machine.model.running(), []);

    // `panfrost_mmu_as_get` of a faulty space.
    machine.run(&[Write(0x2004, 0x1_0001), Write(0x2008, !0)]);
    machine.run(&ENABLE_SPACE);
    assert_eq!(machine.lines, 0);
    assert_eq!(machine.model.tables(Space(0)), LPAE);
}

#[test]
fn two_jobs_that_fault_in_one_space_are_reported_one_after_the_other() {
    let mut machine = ready();
    machine.run(&submit(0, 0x1000));
    machine.run(&submit(1, 0x2000));
    let jobs: Vec<JobId> = machine.started().iter().map(|job| job.id).collect();
    let read = Fault::new(FaultKind::Translation(1), 0x5000, Access::Read);
    let run = Fault::new(FaultKind::Permission(4), 0x6000, Access::Execute);
    machine.pause(jobs[0], Pause::Fault(read)).expect("it runs");
    machine.pause(jobs[1], Pause::Fault(run)).expect("it runs");
    handle_mmu_irq(&mut machine, 0x2c1, 0x5000);
    machine.run(&[Write(0x2008, !0), Read(0x241c, 0x1c8), Read(0x2420, 0x6000)]);
    assert_eq!(machine.lines, MMU_LINE);
}

#[test]
fn a_table_outside_memory_is_a_bus_fault() {
    let mut machine = ready();
    machine.run(&submit(0, 0x1000));
    let job = machine.job();
    let memory = &machine.memory;
    let fault = machine
        .model
        .translate(job.space, 0x1000, Access::Read, memory)
        .expect_err("no tables");
    assert_eq!(fault.kind, FaultKind::TableBus(1));
    machine.pause(job.id, Pause::Fault(fault)).expect("it runs");
    machine.run(&[Read(0x2000, 0x1_0000), Read(0x241c, 0x2d1)]);
}

/// `panfrost_perfcnt_enable_locked` and `panfrost_perfcnt_dump_locked`.
#[test]
fn counters_are_sampled_as_nothing() {
    let mut machine = probed();
    machine.run(&[
        Write(0x24, 0x3_0000),
        Write(0x30, 3),
        Write(0x30, 8),
        Read(0x2c, 0x2_0000),
        Write(0x24, 0x2_0000),
        Write(0x6c, !0),
        Read(0x6c, !0),
        Write(0x68, 1),
        Write(0x30, 4),
        Read(0x2c, 0x1_0000),
        Write(0x30, 7),
        Write(0x24, 0x3_0000),
        Read(0x2c, 0),
    ]);
    let flush = || Effect::Flush(Flush::Caches);
    assert_eq!(machine.effects(), [flush(), flush()]);
}

#[test]
fn the_cycle_counter_counts_while_it_is_started() {
    let mut machine = Machine::new(Gpu::MaliT628);
    machine.write(0x30, 5);
    let start = machine.now_ns;
    let count = |machine: &Machine, ns| machine.model.read(start + ns, 0x90);
    assert_eq!(count(&machine, 1_000), 600);
    machine.write(0x30, 6);
    assert_eq!(count(&machine, 1_000_000), 60);
    assert_eq!(machine.read(0x90), 60);
    assert_eq!(machine.model.read(1_000_000_000, 0x98), 24_000_000);
}

#[test]
fn read_only_registers_keep_their_values() {
    let mut machine = probed();
    machine.run(&[
        Write(0x000, 0),
        Poll(0x000, 0xffff_0000, 0x0620_0000),
        Write(0x140, 0),
        Read(0x140, 0xf),
        Write(0x2428, 1),
        Read(0x2428, 0),
        Write(0x1824, 7),
        Read(0x1824, 0),
        Write(0x3ffc, 7),
        Read(0x3ffc, 0),
    ]);
}

#[test]
fn a_store_that_is_not_aligned_does_nothing() {
    let mut machine = probed();
    let before = machine.model.words().to_vec();
    for offset in [0x2a, 0x31, 0x18e1, 0x3fff, u32::MAX] {
        machine.write(offset, 1);
    }
    assert!(machine.effects().is_empty());
    assert!(before == machine.model.words());
}

#[test]
fn a_checkpoint_in_mid_job_goes_on() {
    let mut machine = ready();
    machine.run(&submit(1, 0x1000));
    machine.run(&submit(1, 0x2000));
    let job = machine.job().id;
    let fault = write_fault(0x20_0000);
    machine.pause(job, Pause::Fault(fault)).expect("it runs");
    machine.restore();
    handle_mmu_irq(&mut machine, 0x3c3, 0x20_0000);
    machine.restore();
    machine.finish(job, Outcome::Done).expect("it runs");
    assert!(machine.job().id > job);
}

#[test]
fn a_line_that_stays_high_after_an_answer_is_told_again() {
    let mut machine = Machine::new(Gpu::MaliT628);
    machine.run(&[Write(0x28, !0), Write(0x30, 7), Write(0x30, 4)]);
    let high = |high| Effect::Interrupt { line: 2, high };
    assert_eq!(machine.lines_told(), [high(true)]);
    machine.write(0x24, 0x1_0000);
    assert_eq!(machine.lines_told(), [high(true)]);
    machine.write(0x24, 0x2_0000);
    assert_eq!(machine.lines_told(), [high(false)]);
    machine.write(0x24, 0x2_0000);
    assert_eq!(machine.lines_told(), []);
}

#[test]
fn a_store_to_the_raw_causes_raises_those_that_exist() {
    let mut machine = Machine::new(Gpu::MaliT628);
    machine.run(&[
        Write(0x28, !0),
        Write(0x20, !0),
        Read(0x20, 0x3_0781),
        Read(0x2c, 0x3_0781),
        Write(0x2c, 0),
        Read(0x2c, 0x3_0781),
    ]);
    assert_eq!(machine.lines, GPU_LINE);
}

#[test]
fn a_gpu_is_found_by_its_name() {
    assert_eq!(Gpu::named("mali-t628"), Some(Gpu::MaliT628));
    assert_eq!(Gpu::named("mali-400"), Some(Gpu::Mali400));
    assert_eq!(Gpu::named("none"), None);
    for gpu in Gpu::ALL {
        let words = gpu.model().words().len();
        assert_eq!(words as u32 * 4, gpu.window());
    }
}

#[test]
fn a_reset_takes_tables_registers_and_counters() {
    let mut machine = ready();
    machine.run(&submit(1, 0x1000)[..6]);
    machine.run(&[Write(0x30, 5), Write(0x30, 6)]);
    assert_ne!(machine.read(0x90), 0);
    assert_ne!(machine.read(0x98), 0);
    machine.run(&[
        Write(0x30, 2),
        Read(0x2400, 0),
        Read(0x18c0, 0),
        Read(0x1008, 0),
        Read(0x140, 0),
        Read(0x90, 0),
        Read(0x00, 0x0620_0010),
    ]);
    assert_eq!(machine.model.tables(Space(0)), Tables::Unmapped);
    assert_eq!(machine.model.read(machine.now_ns + 1_000, 0x90), 0);
}

#[test]
fn each_address_space_has_its_own_tables_and_faults() {
    let mut machine = probed();
    let base = 0x2400 + 5 * 0x40;
    machine.run(&[
        Write(base, 0x7000_0003),
        Write(base + 4, 1),
        Write(base + 0x18, 1),
    ]);
    let root = 0x1_7000_0000;
    assert_eq!(machine.model.tables(Space(5)), Tables::Lpae { root });
    assert_eq!(machine.model.tables(Space(0)), Tables::Unmapped);
    assert_eq!(machine.model.tables(Space(8)), Tables::Unmapped);
    machine.run(&submit(0, 0x1000)[..6]);
    machine.run(&[Write(0x1858, 5), Write(0x1860, 1)]);
    let job = machine.job();
    assert_eq!((job.space, job.tables), (Space(5), Tables::Lpae { root }));
    let fault = write_fault(0x9_0000_1000);
    machine.pause(job.id, Pause::Fault(fault)).expect("it runs");
    machine.run(&[
        Read(0x200c, 1 << 5),
        Read(base + 0x1c, 0x3c3),
        Read(base + 0x20, 0x1000),
        Read(base + 0x24, 9),
        Read(0x241c, 0),
    ]);
    machine.run(&[Write(base, 2), Write(base + 0x18, 1), Write(base + 0x18, 3)]);
    let resume = Effect::Resume {
        job: job.id,
        heap: None,
    };
    assert_eq!(machine.effects().last(), Some(&resume), "all is mapped now");
}

#[test]
fn a_flush_that_mends_nothing_reports_the_fault_again() {
    let mut machine = ready();
    machine.memory.page(0x4000_0000);
    machine.run(&submit(1, 0x1000));
    let job = machine.job().id;
    let fault = Fault::new(FaultKind::Translation(1), 0x20_0000, Access::Write);
    machine.pause(job, Pause::Fault(fault)).expect("it runs");
    handle_mmu_irq(&mut machine, 0x3c1, 0x20_0000);
    machine.run(&[Write(0x2008, !0)]);
    assert_eq!(machine.lines, 0);
    machine.run(&[Write(0x2418, 4), Read(0x2000, 1), Read(0x241c, 0x3c1)]);
    assert_eq!(machine.lines, MMU_LINE);
    assert_eq!(machine.effects().len(), 1, "the flush");
}

#[test]
fn a_change_of_power_is_a_cause() {
    let mut machine = probed();
    machine.run(&[
        Write(0x24, !0),
        Write(0x18c, 1),
        Write(0x198, 1),
        Write(0x1b0, 1),
        Read(0x20, 0),
        Write(0x1c0, 1),
        Read(0x20, 0x600),
        Read(0x140, 0xe),
        Write(0x24, !0),
        Write(0x184, 1),
        Read(0x144, 0),
        Read(0x20, 0x600),
    ]);
}

#[test]
fn a_start_moves_the_next_registers() {
    let mut machine = ready();
    machine.run(&[
        Write(0x18d4, 5),
        Write(0x18f0, 7),
        Write(0x18c0, 0x1000),
        Write(0x18c4, 3),
        Write(0x18d0, 0xf),
        Write(0x18d8, 0x3300),
        Write(0x18e0, 1),
        Read(0x18c0, 0),
        Read(0x18c4, 0),
        Read(0x1880, 0x1000),
        Read(0x1884, 3),
        Read(0x1888, 0x1000),
        Read(0x188c, 3),
        Read(0x1890, 0xf),
        Read(0x1894, 5),
        Read(0x1898, 0x3300),
    ]);
    let Work::Chain {
        affinity, flush_id, ..
    } = machine.job().work
    else {
        panic!("a chain");
    };
    assert_eq!((affinity, flush_id), (0x5_0000_000f, 7));
}

#[test]
fn the_sampled_state_has_running_and_next_jobs_of_the_cleared_slots() {
    let mut machine = ready();
    for slot in [0, 1] {
        machine.run(&submit(slot, 0x1000));
        machine.run(&submit(slot, 0x2000));
    }
    machine.run(&[
        Read(0x1010, 0),
        Write(0x1004, 0x2),
        Read(0x1010, 0x2_0002),
        Write(0x1860, 0),
        Write(0x1004, 0x1_0001),
        Read(0x1010, 0x2_0003),
    ]);
}

#[test]
fn faults_of_a_board_are_those_that_the_registers_have() {
    let kinds =
        (1..=4).flat_map(|level| [FaultKind::Translation(level), FaultKind::TableBus(level)]);
    let kinds = kinds.chain([FaultKind::Unmapped, FaultKind::Permission(0)]);
    for kind in kinds {
        for access in [Access::Read, Access::Write, Access::Execute] {
            let fault = Fault::new(kind, 0x1234, access);
            let code = status::of_access(&fault);
            assert_eq!(status::to_fault(code, 0x1234), fault);
        }
    }
    let odd = status::to_fault(0xe8, 0);
    assert_eq!(odd.kind, FaultKind::Translation(1));
}
