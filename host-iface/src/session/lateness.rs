//! How much later than on the target a thread calls, because the guest's library takes longer
//! than the driver that it stands for.

use super::calls::Call;
use gil_wire::message::Posted;

/// A program that calls nothing for so long does something else, and may look at the clock: what
/// the guest's library took before shortens nothing that comes.
const PAUSE_NS: u64 = 20_000;

/// What a guest's library took, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// For posts before the thread was on time again.
    pub(super) before_ns: u64,
    /// Since then, less what the driver takes for what was answered.
    pub(super) late_ns: i64,
    /// Guest nanoseconds at which something ended that the thread has seen.
    pub(super) seen_ns: u64,
}

/// What is known of it between the answers of a session's board.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    /// Nanoseconds that the guest's library took for the calls that the board has, and whose
    /// time there no answer has said yet.
    spent_ns: u64,
    /// What the driver takes of that for calls that were answered at once.
    due_ns: i64,
    /// What the library took before the thread was on time again, for calls of which no answer
    /// says the time yet.
    before_ns: u64,
    /// When what the thread has seen to end last did.
    seen_ns: u64,
    /// Whether the board says what calls take for which nobody waits.
    tells_posts: bool,
    /// Guest nanoseconds when the last call came.
    last_ns: u64,
}

impl Lateness {
    /// A call came, for which the guest's library took what it says.
    pub(super) fn spend(&mut self, call: &Call<'_>) {
        let mut spent_ns = call.spent_ns();
        if call.entry_ns.saturating_sub(self.last_ns) > PAUSE_NS {
            self.is_on_time();
            // It may say what those before took.
            spent_ns = spent_ns.min(call.submission.now_ns().saturating_sub(call.entry_ns));
        }
        self.spent_ns = self.spent_ns.saturating_add(spent_ns);
        self.last_ns = match call.is_last {
            true => call.submission.now_ns(),
            false => call.entry_ns,
        };
    }

    /// What the library took for all calls whose time an answer says now, which `posted` are
    /// of. Nothing of an API whose profile has all that in `submit_ns`.
    pub(super) fn take_spent(&mut self, posted: &[Posted]) -> Spent {
        self.tells_posts |= !posted.is_empty();
        let late_ns = self.late_ns();
        let before_ns = std::mem::take(&mut self.before_ns);
        (self.spent_ns, self.due_ns) = (0, 0);
        match self.tells_posts {
            true => Spent {
                before_ns,
                late_ns,
                seen_ns: self.seen_ns,
            },
            false => Spent::default(),
        }
    }

    /// What the library took, less what the driver takes for what was answered at once: that
    /// is less, or the library is a kernel's driver and says nothing.
    fn late_ns(&self) -> i64 {
        let spent_ns = i64::try_from(self.spent_ns).unwrap_or(i64::MAX);
        spent_ns.saturating_sub(self.due_ns).max(0)
    }

    /// An answer came at once: the driver takes so long for its call.
    pub(super) fn owe(&mut self, due_ns: i64) {
        self.due_ns = due_ns;
    }

    /// The thread has waited, as it would on the target, or done something else: no later is it
    /// any more, but what the library took for posts is still in the driver's place.
    pub(super) fn is_on_time(&mut self) {
        let spent_ns = u64::try_from(self.late_ns()).unwrap_or(0);
        self.before_ns = self.before_ns.saturating_add(spent_ns.min(self.spent_ns));
        (self.spent_ns, self.due_ns) = (0, 0);
    }

    /// The thread has seen something end: what it calls then is behind that.
    pub(super) fn has_seen(&mut self, end_ns: u64) {
        self.seen_ns = self.seen_ns.max(end_ns);
    }
}
