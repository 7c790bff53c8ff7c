//! A bound on the memory of a session's process, for drivers that keep a program's
//! objects in it: a driver that gets no more memory reports that as an error of the
//! API, and the machine's other sessions go on.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process serves one session and nothing else.
static OF_ONE_SESSION: AtomicBool = AtomicBool::new(false);

/// Whether its memory is bounded.
static IS_BOUNDED: AtomicBool = AtomicBool::new(false);
/// Bytes that the bound leaves to what drivers allocate within other calls.
const RESERVE: usize = 48 << 20;
/// Bytes of a piece that comes from the allocator's free memory, if it has any.
const PIECE: usize = 64 << 10;

/// From now on this process serves one session.
pub(super) fn serves_one_session() {
    OF_ONE_SESSION.store(true, Ordering::Relaxed);
}

/// Lets a session's process have so many bytes of private memory beside what it has
/// now. Agents whose sessions are threads have no bound.
///
/// # Errors
/// The system's.
pub fn bound_memory(more: u64) -> io::Result<()> {
    if !OF_ONE_SESSION.load(Ordering::Relaxed) {
        return Ok(());
    }
    let (_, most) = getrlimit(Resource::RLIMIT_DATA)?;
    let bound = private_memory()?.saturating_add(more);
    // Some systems' bounds have 32 bits.
    #[allow(clippy::useless_conversion)]
    let bound = bound.try_into().unwrap_or(most).min(most);
    setrlimit(Resource::RLIMIT_DATA, bound, most)?;
    IS_BOUNDED.store(true, Ordering::Relaxed);
    Ok(())
}

/// Whether so much of the bound is left that the driver may make something large: within
/// such calls drivers were seen to crash at the bound.
pub fn has_memory() -> bool {
    if !IS_BOUNDED.load(Ordering::Relaxed) {
        return true;
    }
    // Some systems' bounds have 32 bits.
    #[allow(clippy::useless_conversion)]
    let bound = getrlimit(Resource::RLIMIT_DATA).map_or(u64::MAX, |(bound, _)| bound.into());
    let left = private_memory().map(|used| bound.saturating_sub(used));
    // What was freed may be the process's still.
    left.is_ok_and(|left| left >= RESERVE as u64) || can_allocate(RESERVE)
}

/// Whether the allocator has so many bytes, in pieces.
fn can_allocate(bytes: usize) -> bool {
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    (0..bytes.div_ceil(PIECE)).all(|_| {
        let mut piece = Vec::new();
        let is_there = piece.try_reserve_exact(PIECE).is_ok();
        pieces.push(piece);
        is_there
    })
}

/// Bytes of this process's data, as the system counts them for the bound.
fn private_memory() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let kib = kib.ok_or_else(|| io::Error::other("/proc/self/status says no VmData"))?;
    Ok(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_counts_this_process() {
        assert!(private_memory().unwrap() > 4096);
        // A test's process is no session's: its bound stays.
        let before = getrlimit(Resource::RLIMIT_DATA).unwrap();
        bound_memory(4096).unwrap();
        assert_eq!(getrlimit(Resource::RLIMIT_DATA).unwrap(), before);
        assert!(has_memory() && can_allocate(PIECE + 1));
    }
}
