//! The execution status of an event: below 0 it failed, with that error.

use gil_wire::ending::Ending;

/// `CL_COMPLETE`.
const COMPLETE: i32 = 0;

/// How an operation ended whose event has this status.
pub const fn ending(status: i32) -> Ending {
    match status {
        ..COMPLETE => Ending::Failed(status),
        COMPLETE.. => Ending::Done,
    }
}

/// The status of an event whose operation has this ending.
#[inline]
pub const fn of(ending: Ending) -> i32 {
    match ending {
        Ending::Done => COMPLETE,
        Ending::Failed(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_below_zero_is_a_failure() {
        let all = [i32::MIN, -1, 0, 1].map(ending);
        let wanted = [Ending::Failed(i32::MIN), Ending::Failed(-1)];
        assert_eq!(
            (&all[..2], &all[2..]),
            (&wanted[..], &[Ending::Done; 2][..])
        );
        assert_eq!(all.map(of), [i32::MIN, -1, 0, 0]);
    }
}
