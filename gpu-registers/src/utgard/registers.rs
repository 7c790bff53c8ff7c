//! Offsets and bits of Mali-400's registers, by `lima_regs.h` and `lima_device.c`.

/// Where units are.
pub mod unit {
    /// Geometry processor.
    pub const GP: u32 = 0x0000;
    /// L2 cache.
    pub const L2: u32 = 0x1000;
    /// Power management.
    pub const PMU: u32 = 0x2000;
    /// The GP's MMU; those of the PPs follow, [`MMU_STRIDE`] apart.
    pub const MMU: u32 = 0x3000;
    /// From one MMU to the next.
    pub const MMU_STRIDE: u32 = 0x1000;
    /// The first pixel processor; the others follow, [`PP_STRIDE`] apart.
    pub const PP: u32 = 0x8000;
    /// From one PP to the next.
    pub const PP_STRIDE: u32 = 0x2000;
}

/// Geometry processor.
pub mod gp {
    /// The vertex shader's commands: start and end.
    pub const VSCL: u32 = 0x00;
    /// The polygon list builder's commands: start and end.
    pub const PLBUCL: u32 = 0x08;
    /// The builder's heap: start and end.
    pub const PLBU_ALLOC: u32 = 0x10;
    /// A command, a bit each.
    pub const CMD: u32 = 0x20;
    /// Causes, raw.
    pub const INT_RAWSTAT: u32 = 0x24;
    /// Clears causes.
    pub const INT_CLEAR: u32 = 0x28;
    /// Causes that interrupt.
    pub const INT_MASK: u32 = 0x2c;
    /// Causes, masked.
    pub const INT_STAT: u32 = 0x30;
    /// Lowest address that may be written; kept.
    pub const WRITE_BOUND_LOW: u32 = 0x34;
    /// The first register of the performance counters.
    pub const PERF_CNT_0_ENABLE: u32 = 0x3c;
    /// The first counter's value: 0.
    pub const PERF_CNT_0_VALUE: u32 = 0x4c;
    /// The second's.
    pub const PERF_CNT_1_VALUE: u32 = 0x50;
    /// A limit; the driver uses it to see whether a reset is over.
    pub const PERF_CNT_0_LIMIT: u32 = 0x54;
    /// What it is at.
    pub const STATUS: u32 = 0x68;
    /// Product in bits 31:16, major and minor version below.
    pub const VERSION: u32 = 0x6c;

    /// Starts the vertex shader.
    pub const START_VS: u32 = 1 << 0;
    /// Starts the polygon list builder.
    pub const START_PLBU: u32 = 1 << 1;
    /// Takes the heap's registers.
    pub const UPDATE_PLBU_ALLOC: u32 = 1 << 4;
    /// Resets at once.
    pub const RESET: u32 = 1 << 5;
    /// Stops the bus.
    pub const STOP_BUS: u32 = 1 << 9;
    /// Resets once the bus is idle.
    pub const SOFT_RESET: u32 = 1 << 10;

    /// The vertex shader is at work.
    pub const VS_ACTIVE: u32 = 1 << 1;
    /// The bus is stopped.
    pub const BUS_STOPPED: u32 = 1 << 2;
    /// The builder is at work.
    pub const PLBU_ACTIVE: u32 = 1 << 3;
    /// The bus met an error.
    pub const BUS_ERROR: u32 = 1 << 6;

    /// Causes of the GP's interrupt.
    pub mod cause {
        /// The vertex shader is done.
        pub const VS_END: u32 = 1 << 0;
        /// The builder is done.
        pub const PLBU_END: u32 = 1 << 1;
        /// The builder's heap is full.
        pub const PLBU_OUT_OF_MEMORY: u32 = 1 << 2;
        /// The bus met an error.
        pub const AXI_BUS_ERROR: u32 = 1 << 11;
        /// The bus is stopped.
        pub const AXI_BUS_STOPPED: u32 = 1 << 12;
        /// A reset is over.
        pub const RESET_COMPLETED: u32 = 1 << 19;
        /// Those that say that a job failed: force hang, write bound, sync, bus, invalid
        /// commands, semaphores, pointer array.
        pub const ERRORS: u32 = 0x0070_6e40;
        /// All of them.
        pub const ALL: u32 = 0x0078_7fff;
    }
}

/// A pixel processor.
pub mod pp {
    /// The frame's registers.
    pub const FRAME: u32 = 0x0000;
    /// Behind the last write-back unit's registers.
    pub const FRAME_END: u32 = 0x0400;
    /// The first write-back unit's registers.
    pub const WRITE_BACK: u32 = 0x0100;
    /// From one write-back unit to the next.
    pub const WRITE_BACK_STRIDE: u32 = 0x0100;
    /// Product in bits 31:16, major and minor version below.
    pub const VERSION: u32 = 0x1000;
    /// What it is at.
    pub const STATUS: u32 = 0x1008;
    /// A command, a bit each.
    pub const CTRL: u32 = 0x100c;
    /// Causes, raw; a write sets bits.
    pub const INT_RAWSTAT: u32 = 0x1020;
    /// Clears causes.
    pub const INT_CLEAR: u32 = 0x1024;
    /// Causes that interrupt.
    pub const INT_MASK: u32 = 0x1028;
    /// Causes, masked.
    pub const INT_STAT: u32 = 0x102c;
    /// Lowest address that may be written; kept.
    pub const WRITE_BOUNDARY_LOW: u32 = 0x1044;
    /// The first register of the performance counters.
    pub const PERF_CNT_0_ENABLE: u32 = 0x1080;
    /// A limit; the driver uses it to see whether a reset is over.
    pub const PERF_CNT_0_LIMIT: u32 = 0x1088;
    /// The first counter's value: 0.
    pub const PERF_CNT_0_VALUE: u32 = 0x108c;
    /// The second's.
    pub const PERF_CNT_1_VALUE: u32 = 0x10ac;
    /// The last register of the performance counters.
    pub const PERFMON_BASE: u32 = 0x10b4;

    /// Stops the bus.
    pub const STOP_BUS: u32 = 1 << 0;
    /// Flushes the PP's caches.
    pub const FLUSH_CACHES: u32 = 1 << 3;
    /// Resets at once.
    pub const FORCE_RESET: u32 = 1 << 5;
    /// Starts a frame.
    pub const START_RENDERING: u32 = 1 << 6;
    /// Resets once the bus is idle.
    pub const SOFT_RESET: u32 = 1 << 7;

    /// A frame is rendered.
    pub const RENDERING_ACTIVE: u32 = 1 << 0;
    /// The bus is stopped.
    pub const BUS_STOPPED: u32 = 1 << 4;

    /// Causes of the PP's interrupt.
    pub mod cause {
        /// The frame is done.
        pub const END_OF_FRAME: u32 = 1 << 0;
        /// The bus met an error.
        pub const BUS_ERROR: u32 = 1 << 4;
        /// The bus is stopped.
        pub const BUS_STOP: u32 = 1 << 5;
        /// A reset is over.
        pub const RESET_COMPLETED: u32 = 1 << 12;
        /// Those that say that a frame failed: force hang, bus, write boundary, invalid
        /// command, call stack.
        pub const ERRORS: u32 = 0x0f18;
        /// All of them.
        pub const ALL: u32 = 0x1fff;
    }
}

/// An MMU.
pub mod mmu {
    /// The page directory's guest physical address; bits 11:0 read as 0.
    pub const DTE_ADDR: u32 = 0x00;
    /// What it is at.
    pub const STATUS: u32 = 0x04;
    /// A command.
    pub const COMMAND: u32 = 0x08;
    /// The GPU address of the last page fault.
    pub const PAGE_FAULT_ADDR: u32 = 0x0c;
    /// Invalidates the translation of one page.
    pub const ZAP_ONE_LINE: u32 = 0x10;
    /// Causes, raw.
    pub const INT_RAWSTAT: u32 = 0x14;
    /// Clears causes.
    pub const INT_CLEAR: u32 = 0x18;
    /// Causes that interrupt.
    pub const INT_MASK: u32 = 0x1c;
    /// Causes, masked.
    pub const INT_STATUS: u32 = 0x20;

    /// Addresses are translated.
    pub const PAGING_ENABLED: u32 = 1 << 0;
    /// A page fault waits.
    pub const PAGE_FAULT_ACTIVE: u32 = 1 << 1;
    /// Accesses are held.
    pub const STALL_ACTIVE: u32 = 1 << 2;
    /// Nothing is under way.
    pub const IDLE: u32 = 1 << 3;
    /// No access waits to be repeated.
    pub const REPLAY_BUFFER_EMPTY: u32 = 1 << 4;
    /// The page fault was a write.
    pub const PAGE_FAULT_IS_WRITE: u32 = 1 << 5;

    /// Values of [`COMMAND`].
    pub mod command {
        /// Translates addresses.
        pub const ENABLE_PAGING: u32 = 0;
        /// Does not.
        pub const DISABLE_PAGING: u32 = 1;
        /// Holds accesses.
        pub const ENABLE_STALL: u32 = 2;
        /// Lets them go on.
        pub const DISABLE_STALL: u32 = 3;
        /// Invalidates all translations.
        pub const ZAP_CACHE: u32 = 4;
        /// Repeats the access that faulted.
        pub const PAGE_FAULT_DONE: u32 = 5;
        /// Resets.
        pub const HARD_RESET: u32 = 6;
    }

    /// An access met no page.
    pub const PAGE_FAULT: u32 = 1 << 0;
    /// A table is not in memory.
    pub const READ_BUS_ERROR: u32 = 1 << 1;
}

/// L2 cache.
pub mod l2 {
    /// log2 of: bus width 31:24, size 23:16, ways 15:8, line 7:0.
    pub const SIZE: u32 = 0x04;
    /// What it is at: idle.
    pub const STATUS: u32 = 0x08;
    /// A command: bit 0 invalidates all.
    pub const COMMAND: u32 = 0x10;
    /// Invalidates a page.
    pub const CLEAR_PAGE: u32 = 0x14;
    /// Outstanding reads; kept.
    pub const MAX_READS: u32 = 0x18;
    /// Enables it; kept.
    pub const ENABLE: u32 = 0x1c;
    /// What the first performance counter counts; kept.
    pub const PERFCNT_SRC0: u32 = 0x20;
    /// What the second counts; kept.
    pub const PERFCNT_SRC1: u32 = 0x28;
}

/// Power management. Domains: GP bit 0, L2 bit 1, PPn bit 2 + n.
pub mod pmu {
    /// Powers domains up.
    pub const POWER_UP: u32 = 0x00;
    /// Powers domains down.
    pub const POWER_DOWN: u32 = 0x04;
    /// Domains that are off.
    pub const STATUS: u32 = 0x08;
    /// Causes that interrupt; kept, there is no line.
    pub const INT_MASK: u32 = 0x0c;
    /// Bit 0: the command is done.
    pub const INT_RAWSTAT: u32 = 0x10;
    /// Clears it.
    pub const INT_CLEAR: u32 = 0x18;
    /// Cycles between domains; kept.
    pub const SW_DELAY: u32 = 0x1c;
}
