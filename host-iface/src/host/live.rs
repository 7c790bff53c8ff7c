//! Tells how the run does, whenever the monitor's peer asks. Nothing is counted for it
//! before the first question.

use super::State;
use crate::busy::Busy;
use gil_report::{Live, Queue};
use gil_wire::monitor::Event;
use std::sync::{Mutex, PoisonError, Weak};

/// Answers one question; nothing once the host interface is gone. While a doorbell is
/// served, the answer waits for its end.
pub(super) fn answer(state: &Weak<Mutex<State>>) {
    let Some(state) = state.upgrade() else {
        return;
    };
    let live = state.lock().unwrap_or_else(PoisonError::into_inner).live();
    let json = serde_json::to_string(&live).unwrap_or_default();
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    // After the report nothing is said.
    if state.report.is_none() {
        state.events.tell(Event::Live { json });
    }
}

impl State {
    fn live(&mut self) -> Live {
        let now_ns = self.stats.now_ns();
        let busy = self.stats.busy.get_or_insert_with(Busy::default);
        let engines = busy.until(now_ns);
        Live {
            report: self.stats.so_far(&self.boards),
            doorbell_ns: self.stats.doorbell_ns(),
            frames: self.stats.frames.count(),
            engines,
            queue: self.queue(now_ns),
        }
    }

    fn queue(&self, now_ns: u64) -> Queue {
        let sessions = self.sessions.values().filter(|it| it.uses_board());
        let all = sessions.map(|session| session.queue(now_ns));
        all.fold(Queue::default(), |sum, one| Queue {
            sessions: sum.sessions + one.sessions,
            operations: sum.operations + one.operations,
            at_board: sum.at_board + one.at_board,
            kept_bytes: sum.kept_bytes.saturating_add(one.kept_bytes),
            ahead_ns: sum.ahead_ns.max(one.ahead_ns),
        })
    }
}
