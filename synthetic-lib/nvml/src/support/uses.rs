//! How often the process has started NVML: as many ends are the end.

use crate::generated::types::*;
use gil_guest::api::CallResult;
use gil_guest::process::is_forked;
use std::sync::{Mutex, MutexGuard, PoisonError};

static USES: Mutex<u32> = Mutex::new(0);

fn uses() -> MutexGuard<'static, u32> {
    USES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether NVML is started, in this process.
///
/// # Errors
/// `NVML_ERROR_UNINITIALIZED`.
pub fn initialized() -> CallResult<()> {
    match *uses() > 0 && !is_forked() {
        true => Ok(()),
        false => Err(NVML_ERROR_UNINITIALIZED),
    }
}

/// One more use; the first one is a start.
///
/// # Errors
/// That of the start: there is no use then.
pub fn add(start: impl FnOnce() -> CallResult<()>) -> CallResult<()> {
    let mut uses = uses();
    // A forked child has no session: what begins one says so.
    if *uses == 0 || is_forked() {
        start()?;
    }
    *uses += 1;
    Ok(())
}

/// One use less.
///
/// # Errors
/// `NVML_ERROR_UNINITIALIZED` if there is none.
pub fn remove() -> CallResult<()> {
    let mut uses = uses();
    *uses = uses.checked_sub(1).ok_or(NVML_ERROR_UNINITIALIZED)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_ends_as_starts_are_the_end() {
        assert_eq!(initialized(), Err(NVML_ERROR_UNINITIALIZED));
        assert_eq!(remove(), Err(NVML_ERROR_UNINITIALIZED));
        assert_eq!(add(|| Err(NVML_ERROR_UNKNOWN)), Err(NVML_ERROR_UNKNOWN));
        assert_eq!(initialized(), Err(NVML_ERROR_UNINITIALIZED));
        assert_eq!(add(|| Ok(())), Ok(()));
        assert_eq!(add(|| Err(NVML_ERROR_UNKNOWN)), Ok(()));
        assert_eq!((remove(), initialized()), (Ok(()), Ok(())));
        assert_eq!(remove(), Ok(()));
        assert_eq!(initialized(), Err(NVML_ERROR_UNINITIALIZED));
    }
}
