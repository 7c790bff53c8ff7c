//! Which recorded call a program's call is. Each thread calls in its own order; threads among each
//! other call in another order than in the recorded run where the guest's times changed.

use super::file::Recorded;
use gil_files::container::FileError;
use gil_files::difference::Difference;
use gil_wire::Op;
use gil_wire::message;
use std::collections::BTreeSet;

/// Among so many recorded calls that were not made a thread's next is looked for.
const EARLY_MAX: usize = 4096;

/// Calls that the guest's libraries make when they find that an operation has ended, and the board does
/// nothing at: how many there are, and where, depends on the guest's times.
const UNORDERED: [Op; 1] = [gil_wire::generated::cuda::GIL_RETIRE];

/// Whether a call has no place of its own among the others, and no answer.
pub(super) fn is_unordered(call: &message::Call<'_>) -> bool {
    UNORDERED.contains(&call.op) && !call.answer
}

/// Which calls of a recorded session were made.
#[derive(Default)]
pub(super) struct Order {
    /// The first call that was not made yet.
    next: usize,
    /// Later ones that were, since their threads called earlier than in the recorded run.
    early: BTreeSet<usize>,
    /// Whether there were any such.
    is_reordered: bool,
}

impl Order {
    /// The first call that was not made yet.
    pub(super) fn next(&self) -> usize {
        self.next
    }

    /// Whether a thread called earlier than in the recorded run.
    pub(super) fn is_reordered(&self) -> bool {
        self.is_reordered
    }

    /// Has all calls before this one be made, and no later ones.
    pub(super) fn go_to(&mut self, next: usize) {
        self.next = next;
    }

    /// Goes on to the next recorded call that a program makes at a place of its own.
    ///
    /// # Errors
    /// The recorded call is damaged.
    pub(super) fn pass(&mut self, calls: &[Recorded]) -> Result<(), FileError> {
        while let Some(recorded) = calls.get(self.next) {
            if !self.early.remove(&self.next) && !is_unordered(&recorded.head()?.call) {
                break;
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Which recorded call this one is: the next, or if that is another thread's, the next of its own
    /// thread.
    ///
    /// # Errors
    /// A recorded call is damaged.
    pub(super) fn recorded_of(
        &self,
        head: &message::Call<'_>,
        calls: &[Recorded],
    ) -> Result<usize, FileError> {
        let first = calls[self.next].head()?.call;
        if first.thread == head.thread && !self.is_reordered {
            return Ok(self.next);
        }
        let later = (self.next..calls.len()).take(EARLY_MAX);
        for at in later.filter(|at| !self.early.contains(at)) {
            let recorded = calls[at].head()?.call;
            if recorded.thread == head.thread && !is_unordered(&recorded) {
                let is_it = Difference::of_heads(head, &recorded).is_none();
                return Ok(if is_it { at } else { self.next });
            }
        }
        Ok(self.next)
    }

    /// Counts a recorded call as made.
    pub(super) fn made(&mut self, at: usize) {
        if at == self.next {
            self.next += 1;
        } else {
            self.early.insert(at);
            self.is_reordered = true;
        }
    }
}
