//! The status that an agent reports to an operator.

use crate::identity::DeviceInfo;
use serde::{Deserialize, Serialize};

/// Most sessions that a status lists.
pub const MAX_LISTED: usize = 256;

/// What was done, by a session or by all since the agent's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Calls, answered or not.
    pub calls: u64,
    /// Calls that were not run: refused or lost.
    pub errors: u64,
    /// Bytes that came from the peer, those in shared memory included.
    pub received: u64,
    /// Bytes that went to the peer, those in shared memory included.
    pub sent: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        // What a session's process counts, a guest's code may have written.
        self.calls = self.calls.saturating_add(other.calls);
        self.errors = self.errors.saturating_add(other.errors);
        self.received = self.received.saturating_add(other.received);
        self.sent = self.sent.saturating_add(other.sent);
    }
}

/// A session that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// As in the agent's log.
    pub number: u64,
    /// The session's peer.
    pub peer: String,
    /// Seconds since its connection was accepted.
    pub age_s: u64,
    /// The session's counters.
    pub counts: Counts,
}

/// An agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its release.
    pub version: String,
    /// Seconds since its start.
    pub uptime_s: u64,
    /// The board's devices.
    pub devices: Vec<DeviceInfo>,
    /// How many sessions may be open.
    pub max_sessions: u64,
    /// The number of open sessions.
    pub open_sessions: u64,
    /// The first [`MAX_LISTED`] of them.
    pub sessions: Vec<SessionStatus>,
    /// Sessions since the start, open ones included.
    pub all_sessions: u64,
    /// Connections that became none.
    pub refused: u64,
    /// Sessions whose process ended by itself.
    pub crashed: u64,
    /// The counters of all sessions.
    pub totals: Counts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_each_to_its_own() {
        let mut sum = Counts {
            calls: 2,
            errors: 3,
            received: 5,
            sent: 7,
        };
        sum += Counts {
            calls: 10,
            errors: 20,
            received: 30,
            sent: 40,
        };
        let wanted = Counts {
            calls: 12,
            errors: 23,
            received: 35,
            sent: 47,
        };
        assert_eq!(sum, wanted);
        let most = Counts {
            calls: u64::MAX,
            errors: u64::MAX,
            received: u64::MAX,
            sent: u64::MAX,
        };
        sum += most;
        assert_eq!(sum, most);
    }
}
