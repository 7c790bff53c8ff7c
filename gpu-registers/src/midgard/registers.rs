//! Offsets and bits of T6xx's registers, by `panfrost_regs.h`.

/// GPU control.
pub mod gpu {
    /// Product in bits 31:16, version (major 15:12, minor 11:4, status 3:0) below.
    pub const ID: u32 = 0x000;
    /// log2 of: bus width 31:24, cache size 23:16, associativity 15:8, line 7:0.
    pub const L2_FEATURES: u32 = 0x004;
    /// Bin size and hierarchy levels.
    pub const TILER_FEATURES: u32 = 0x00c;
    /// Coherency of core groups; slices of the L2 cache less one in bits 11:8.
    pub const MEM_FEATURES: u32 = 0x010;
    /// Bits of virtual (7:0) and physical addresses (15:8).
    pub const MMU_FEATURES: u32 = 0x014;
    /// Address spaces, a bit each.
    pub const AS_PRESENT: u32 = 0x018;
    /// Job slots, a bit each.
    pub const JS_PRESENT: u32 = 0x01c;
    /// Causes, raw.
    pub const INT_RAWSTAT: u32 = 0x020;
    /// Clears causes.
    pub const INT_CLEAR: u32 = 0x024;
    /// Causes that interrupt.
    pub const INT_MASK: u32 = 0x028;
    /// Causes, masked.
    pub const INT_STAT: u32 = 0x02c;
    /// A command: see [`command`].
    pub const CMD: u32 = 0x030;
    /// What the GPU is at; always idle here.
    pub const STATUS: u32 = 0x034;
    /// Power manager's key.
    pub const PWR_KEY: u32 = 0x050;
    /// Power manager's overrides, two words.
    pub const PWR_OVERRIDE0: u32 = 0x054;
    /// See [`PWR_OVERRIDE0`].
    pub const PWR_OVERRIDE1: u32 = 0x058;
    /// The first register of the performance counters.
    pub const PERFCNT_BASE_LO: u32 = 0x060;
    /// The last one.
    pub const PERFCNT_MMU_L2_EN: u32 = 0x07c;
    /// Cycles of the GPU's clock, two words.
    pub const CYCLE_COUNT_LO: u32 = 0x090;
    /// The system's timestamp, two words.
    pub const TIMESTAMP_LO: u32 = 0x098;
    /// Threads a core.
    pub const THREAD_MAX_THREADS: u32 = 0x0a0;
    /// Threads a work-group.
    pub const THREAD_MAX_WORKGROUP_SIZE: u32 = 0x0a4;
    /// Threads at a barrier.
    pub const THREAD_MAX_BARRIER_SIZE: u32 = 0x0a8;
    /// Registers, task queue, splits.
    pub const THREAD_FEATURES: u32 = 0x0ac;
    /// Formats of textures, four words.
    pub const TEXTURE_FEATURES_0: u32 = 0x0b0;
    /// Kinds of jobs that slot 0 takes; 16 words.
    pub const JS0_FEATURES: u32 = 0x0c0;
    /// Configuration of job manager, shaders, tiler, L2 and MMU: four words, kept.
    pub const JM_CONFIG: u32 = 0xf00;
    /// See [`JM_CONFIG`].
    pub const L2_MMU_CONFIG: u32 = 0xf0c;

    /// Values of [`CMD`].
    pub mod command {
        /// Resets once the bus is idle.
        pub const SOFT_RESET: u32 = 1;
        /// Resets at once.
        pub const HARD_RESET: u32 = 2;
        /// Clears the performance counters.
        pub const PERFCNT_CLEAR: u32 = 3;
        /// Writes the performance counters to memory; nothing is written here.
        pub const PERFCNT_SAMPLE: u32 = 4;
        /// Starts the cycle counter.
        pub const CYCLE_COUNT_START: u32 = 5;
        /// Stops it.
        pub const CYCLE_COUNT_STOP: u32 = 6;
        /// Cleans the caches.
        pub const CLEAN_CACHES: u32 = 7;
        /// Cleans and invalidates them.
        pub const CLEAN_INV_CACHES: u32 = 8;
    }

    /// Causes of the GPU's interrupt.
    pub mod cause {
        /// A fault of the GPU itself.
        pub const FAULT: u32 = 1 << 0;
        /// More than one.
        pub const MULTIPLE_FAULT: u32 = 1 << 7;
        /// A reset has ended.
        pub const RESET_COMPLETED: u32 = 1 << 8;
        /// A core has changed its power state.
        pub const POWER_CHANGED: u32 = 1 << 9;
        /// All cores have reached the state that was asked for.
        pub const POWER_CHANGED_ALL: u32 = 1 << 10;
        /// The counters are in memory.
        pub const PERFCNT_SAMPLE_COMPLETED: u32 = 1 << 16;
        /// The caches are clean.
        pub const CLEAN_CACHES_COMPLETED: u32 = 1 << 17;
        /// All of them.
        pub const ALL: u32 = FAULT
            | MULTIPLE_FAULT
            | RESET_COMPLETED
            | POWER_CHANGED
            | POWER_CHANGED_ALL
            | PERFCNT_SAMPLE_COMPLETED
            | CLEAN_CACHES_COMPLETED;
    }
}

/// Power: five blocks of registers, in each the domains 0x10 apart, two words each.
pub mod power {
    /// Shader cores that exist; tiler and L2 cache follow.
    pub const PRESENT: u32 = 0x100;
    /// Those that are powered.
    pub const READY: u32 = 0x140;
    /// A write powers up.
    pub const ON: u32 = 0x180;
    /// A write powers down.
    pub const OFF: u32 = 0x1c0;
    /// Those that change; none here, changes take no time.
    pub const TRANSITION: u32 = 0x200;
    /// Those that work.
    pub const ACTIVE: u32 = 0x240;
    /// From one domain's registers to the next's.
    pub const STRIDE: u32 = 0x10;
    /// Shader cores, tiler, L2 cache.
    pub const DOMAINS: u32 = 3;
}

/// Job control.
pub mod job {
    /// Causes: slot n done in bit n, failed in bit 16 + n.
    pub const INT_RAWSTAT: u32 = 0x1000;
    /// Clears causes, and samples [`JS_STATE`] of their slots.
    pub const INT_CLEAR: u32 = 0x1004;
    /// Causes that interrupt.
    pub const INT_MASK: u32 = 0x1008;
    /// Causes, masked.
    pub const INT_STAT: u32 = 0x100c;
    /// Slot n runs a job: bit n; has a next one: bit 16 + n. Sampled.
    pub const JS_STATE: u32 = 0x1010;
    /// How long interrupts are held back; kept.
    pub const THROTTLE: u32 = 0x1014;
    /// The first slot's registers.
    pub const SLOT0: u32 = 0x1800;
    /// From one slot's registers to the next's.
    pub const STRIDE: u32 = 0x80;
    /// Slots.
    pub const SLOTS: u8 = 3;

    /// GPU address of the running chain, two words.
    pub const HEAD: u32 = 0x00;
    /// GPU address of the job where it is or ended, two words.
    pub const TAIL: u32 = 0x08;
    /// Cores, two words.
    pub const AFFINITY: u32 = 0x10;
    /// Address space, flushes, chain flag.
    pub const CONFIG: u32 = 0x18;
    /// A command to the running chain.
    pub const COMMAND: u32 = 0x20;
    /// Its exception code.
    pub const STATUS: u32 = 0x24;
    /// The next chain's [`HEAD`].
    pub const HEAD_NEXT: u32 = 0x40;
    /// Its high word.
    pub const HEAD_NEXT_HI: u32 = 0x44;
    /// The next chain's [`AFFINITY`].
    pub const AFFINITY_NEXT: u32 = 0x50;
    /// Its high word.
    pub const AFFINITY_NEXT_HI: u32 = 0x54;
    /// The next chain's [`CONFIG`].
    pub const CONFIG_NEXT: u32 = 0x58;
    /// 1 starts the next chain when the slot is free.
    pub const COMMAND_NEXT: u32 = 0x60;
    /// The next chain's flush.
    pub const FLUSH_ID_NEXT: u32 = 0x70;

    /// In [`CONFIG`]: tells two chains of a slot apart, for stops of one of them.
    pub const CHAIN_FLAG: u32 = 1 << 11;
    /// The value of [`COMMAND_NEXT`] that starts.
    pub const START: u32 = 1;
}

/// The MMU.
pub mod mmu {
    /// Causes: page fault in address space n in bit n, bus fault in bit 16 + n.
    pub const INT_RAWSTAT: u32 = 0x2000;
    /// Clears causes.
    pub const INT_CLEAR: u32 = 0x2004;
    /// Causes that interrupt.
    pub const INT_MASK: u32 = 0x2008;
    /// Causes, masked.
    pub const INT_STAT: u32 = 0x200c;
    /// The first address space's registers.
    pub const AS0: u32 = 0x2400;
    /// From one address space's registers to the next's.
    pub const STRIDE: u32 = 0x40;
    /// Address spaces.
    pub const SPACES: u8 = 8;

    /// Tables' root and mode, two words; latched by [`UPDATE`].
    pub const TRANSTAB: u32 = 0x00;
    /// Memory attributes, two words.
    pub const MEMATTR: u32 = 0x08;
    /// The region to lock or flush, two words: its start, log2 of its size less one in
    /// bits 5:0.
    pub const LOCKADDR: u32 = 0x10;
    /// A command.
    pub const COMMAND: u32 = 0x18;
    /// The fault: exception code in bits 7:0, access in 9:8.
    pub const FAULTSTATUS: u32 = 0x1c;
    /// Its GPU address, two words.
    pub const FAULTADDRESS: u32 = 0x20;
    /// Bit 0: a command is at work; never here.
    pub const STATUS: u32 = 0x28;

    /// Latches tables and attributes.
    pub const UPDATE: u32 = 1;
    /// Holds accesses to the region; nothing here.
    pub const LOCK: u32 = 2;
    /// Lets them go on.
    pub const UNLOCK: u32 = 3;
    /// Flushes the region's translations.
    pub const FLUSH_PT: u32 = 4;
    /// Flushes the region's translations and data.
    pub const FLUSH_MEM: u32 = 5;
}
