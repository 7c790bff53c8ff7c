//! A recorded fetch of several buffers, for a board whose jobs take other times. Which
//! buffers no job used was a matter of time on the recorded board, and the program goes on
//! from what came: those are asked for one by one, each behind its jobs, which ended there
//! as well, and the others not at all.

use gil_wire::driver::{FETCH, Fetch, Fetched};
use gil_wire::message::{Call, Done};
use nix::errno::Errno;

/// What a driver answers of a buffer in use that it is not to wait for.
const IN_USE: [i32; 3] = [
    Errno::EBUSY as i32,
    Errno::ETIME as i32,
    Errno::ETIMEDOUT as i32,
];

/// One buffer of a fetch.
#[derive(Debug)]
pub struct Part {
    /// The arguments of a fetch of it alone; `None`: a job used it, and it did not come.
    pub args: Option<Vec<u8>>,
    /// What the recorded board answered of it.
    pub recorded: i32,
}

/// The buffers of a fetch, in order; `None` of every other call, and of a damaged one.
pub fn parts(call: &Call<'_>, done: &Done<'_>) -> Option<Vec<Part>> {
    if !gil_wire::api::is_fetch(call.op) || call.op.entry() != FETCH {
        return None;
    }
    let fetch = Fetch::parse(call.args).ok()?;
    let results = Fetched::parse(done.result).ok()?.results;
    let is_whole = [fetch.buffers.len(), call.regions.len()]
        .iter()
        .all(|len| *len == results.len());
    let part = |(index, (buffer, recorded)): (usize, (u32, i32))| Part {
        // The first one was waited for.
        args: (index == 0 || !IN_USE.contains(&recorded.saturating_neg())).then(|| {
            let (file, buffers) = (fetch.file, vec![buffer]);
            Fetch { file, buffers }.encode()
        }),
        recorded,
    };
    let parts = fetch.buffers.iter().copied().zip(results).enumerate();
    is_whole.then(|| parts.map(part).collect())
}
