//! The chain of frames on the stack. This library is compiled with frame pointers: each
//! frame has the address of the one before it and the return address side by side.

/// Most bytes from a frame to the one before it.
const FRAME_MAX: usize = 1 << 20;

/// The return addresses of this thread's frames, the latest first. The chain ends where
/// one does not look like a frame.
#[inline(always)]
pub(super) fn returns() -> impl Iterator<Item = usize> {
    let mut frame = pointer();
    std::iter::from_fn(move || {
        if frame == 0 || !frame.is_multiple_of(size_of::<usize>()) {
            return None;
        }
        // SAFETY: `frame` is this thread's frame pointer, or was found where such a frame
        // has that of its caller and lies above it on the stack, no farther than a frame's
        // size: it is memory of the thread's stack that nobody writes meanwhile.
        let [before, at] = unsafe { *(frame as *const [usize; 2]) };
        let is_above = before > frame && before - frame <= FRAME_MAX;
        frame = if is_above { before } else { 0 };
        (at != 0).then_some(at)
    })
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn pointer() -> usize {
    let value: usize;
    // SAFETY: it reads a register.
    unsafe { std::arch::asm!("mov {}, x29", out(reg) value, options(nomem, nostack)) };
    value
}

#[cfg(target_arch = "arm")]
#[inline(always)]
fn pointer() -> usize {
    let value: usize;
    // SAFETY: it reads a register.
    unsafe { std::arch::asm!("mov {}, r11", out(reg) value, options(nomem, nostack)) };
    value
}

/// The library runs elsewhere only in tests, without frame pointers.
#[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
fn pointer() -> usize {
    0
}
