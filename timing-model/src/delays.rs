//! What passes between a device's operations.

/// What it takes a device to begin an operation, beside the operation itself. Its
/// engine is free meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Nanoseconds from its submission until it can start: of the driver and of the
    /// device's wake-up.
    pub launch_ns: u64,
    /// Nanoseconds from the end of what it waits for, on its queue or by an event, until it
    /// can start.
    pub gap_ns: u64,
}

impl Delays {
    /// When an operation can start that was submitted then, as far as it alone is concerned.
    pub(crate) const fn launched(self, submit_ns: u64) -> u64 {
        submit_ns.saturating_add(self.launch_ns)
    }

    /// When it can start after what ended then. What never was has ended at 0.
    pub(crate) const fn after(self, end_ns: u64) -> u64 {
        match end_ns {
            0 => 0,
            _ => end_ns.saturating_add(self.gap_ns),
        }
    }
}
