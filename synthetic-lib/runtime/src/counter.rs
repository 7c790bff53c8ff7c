//! The guest's counter. Its value at a call's entry travels with the call, so
//! that the bridge's own instructions can be deducted from the call's delay.

/// The virtual counter now.
///
/// On targets without the ARM generic timer, where the library only runs in
/// tests: monotonic nanoseconds.
#[inline]
pub fn entry() -> u64 {
    read()
}

/// The same, when a call was not just entered.
#[inline]
pub(crate) fn now() -> u64 {
    read()
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn read() -> u64 {
    let value: u64;
    // SAFETY: Linux lets user programs read CNTVCT_EL0; the barrier keeps the
    // read from moving before what the program did.
    unsafe {
        std::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack));
    }
    value
}

#[cfg(target_arch = "arm")]
#[inline]
fn read() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: Linux lets user programs read CNTVCT (cp15, c14) where the
    // architected timer is the clock source, as it is on every supported guest.
    unsafe {
        std::arch::asm!("isb", "mrrc p15, 1, {}, {}, c14", out(reg) low, out(reg) high,
            options(nomem, nostack));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
fn read() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` has space for one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn never_runs_backwards() {
        let first = super::entry();
        assert!(super::entry() >= first);
    }
}
